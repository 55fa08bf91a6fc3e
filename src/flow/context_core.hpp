// What a context and all that refers to it share.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "laneway/flow/context.hpp"
#include "laneway/flow/topology.hpp"

namespace laneway::flow {

/// `why` again, with who it happened to in front of what it says. Its type stays where it is one of the library's.
std::exception_ptr named_failure(const std::exception_ptr& why, const std::string& who);

struct context_core : std::enable_shared_from_this<context_core> {
    explicit context_core(const options& o);
    ~context_core();
    context_core(const context_core&) = delete;
    context_core& operator=(const context_core&) = delete;

    void fail(const std::exception_ptr& why);
    /// Throws the first error, when nothing is being done any more.
    void check() const;
    /// The deadline, for messages: "60 s".
    [[nodiscard]] std::string seconds() const;
    /// See context::wait; `describe` gives the message of timeout_error.
    void wait(const event& mark, const std::function<std::string()>& describe);

    [[nodiscard]] endpoint make_endpoint(int device, const std::string& name, std::shared_ptr<router_core> router = {});
    /// `copies`: a stream of copies, which go on beside a CPU device's kernels.
    [[nodiscard]] device_stream make_stream(int device, const std::string& name, bool copies);
    [[nodiscard]] std::shared_ptr<std::byte> allocate(int device, std::size_t bytes);
    [[nodiscard]] bool is_gpu(int device) const;
    [[nodiscard]] bool has_gpus() const;
    /// Throws usage_error for a second link between the same two as long as the first one lives.
    void add_link(const endpoint& source, const endpoint& destination, const std::string& name,
                  const std::shared_ptr<void>& link);
    /// Calls `call` on the host's engine, where CUDA may be called: the last owner of a thing may go in a callback of
    /// CUDA's, where it may not.
    void call_later(std::function<void()> call);

    void start_worker(const endpoint& of, std::function<void(device_stream&)> work);
    void join();
    void close();

    options job;
    std::vector<std::shared_ptr<device>> devices;  ///< of the list, then one that stands for the host
    std::vector<endpoint> device_endpoints;
    std::unique_ptr<endpoint> host_endpoint;
    std::unique_ptr<topology> paths;

private:
    struct engines {
        std::shared_ptr<stream_engine> kernels;
        std::shared_ptr<stream_engine> copies;
    };
    struct worker {
        std::string name;
        std::thread thread;
        bool done = false;
    };
    [[nodiscard]] std::size_t place(int device) const {
        return device == host_memory ? devices.size() - 1 : static_cast<std::size_t>(device);
    }

    std::vector<engines> engines_;
    std::shared_ptr<stream_engine::queue> later_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::exception_ptr failure_;
    std::uint32_t next_id_ = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::weak_ptr<void>> links_;  ///< by source, destination
    std::vector<std::shared_ptr<worker>> workers_;
};

}  // namespace laneway::flow
