// What a context and all that refers to it share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "laneway/base/wait_limit.hpp"
#include "laneway/flow/context.hpp"
#include "laneway/flow/layout.hpp"
#include "laneway/flow/topology.hpp"

namespace laneway::flow {

/// `why` again, with who it happened to in front of what it says. Its type stays where it is one of the library's.
std::exception_ptr named_failure(const std::exception_ptr& why, const std::string& who);

/// Where the pieces of a kernel's copy lie: filled by the host, and read by lanes of a device.
struct run_table {
    static constexpr std::size_t runs = 4096;
    std::shared_ptr<layout_run> host;
    std::shared_ptr<layout_run> device;
};

/// copy_load of a device, as its links change it.
struct device_load {
    std::atomic<int> by_engine = 0;
    std::atomic<int> by_kernel = 0;
};

struct context_core : std::enable_shared_from_this<context_core> {
    explicit context_core(const options& o);
    ~context_core();
    context_core(const context_core&) = delete;
    context_core& operator=(const context_core&) = delete;

    void fail(const std::exception_ptr& why);
    /// Throws the first error, when nothing goes on any more that the dataflow has begun; see drain.
    void check() const;
    /// The deadline, for messages: "60 s".
    [[nodiscard]] std::string seconds() const;
    /// See context::wait; `describe` gives the message of timeout_error.
    void wait(const event& mark, const std::function<std::string()>& describe);

    /// Throws usage_error for an endpoint of another context.
    void require_own(const endpoint& one) const;
    [[nodiscard]] endpoint make_endpoint(int device, const std::string& name, std::shared_ptr<router_core> router = {});
    /// `copies`: a stream of copies, which go on beside a CPU device's kernels.
    [[nodiscard]] device_stream make_stream(int device, const std::string& name, bool copies);
    /// Where streams of a device, or of the host, and links to it write down what they do.
    [[nodiscard]] stream_log log_of(int device) const { return {job.timeline, job_number_, device}; }
    [[nodiscard]] std::shared_ptr<std::byte> allocate(int device, std::size_t bytes);
    /// One that nobody uses; it can be used again when its last owner goes.
    [[nodiscard]] std::shared_ptr<run_table> take_run_table(int device);
    /// The same of memory for a link's buffer, with any contents: links come and go more often than it is worth to pin
    /// and free memory. What nobody uses is given back with the context, or where there is no more memory.
    [[nodiscard]] std::shared_ptr<std::byte> take_buffer(int device, std::size_t bytes);
    /// Of a device, or of the host.
    [[nodiscard]] device_load& load_of(int device) { return loads_[place(device)]; }
    /// Whether kernels of the device reach memory that belongs to endpoints `from` and `to`.
    [[nodiscard]] bool lanes_reach(int device, const endpoint& from, const void* there, const endpoint& to,
                                   const void* here) const;
    [[nodiscard]] bool is_gpu(int device) const;
    [[nodiscard]] bool has_gpus() const;
    /// Throws usage_error for a second link between the same two as long as the first one lives.
    void add_link(const endpoint& source, const endpoint& destination, const std::string& name,
                  const std::shared_ptr<void>& link);

    struct worker {
        std::string name;
        std::thread thread;
        bool done = false;
    };
    using workers = std::vector<std::shared_ptr<worker>>;
    std::shared_ptr<worker> start_worker(const endpoint& of, std::function<void(device_stream&)> work);
    /// Waits until some workers have returned, and what they gave their streams is done.
    void join(const workers& some);
    /// Those that have been started so far and not been joined.
    [[nodiscard]] workers running() const;
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
    /// After fail(): waits until nothing goes on that the dataflow has begun, on any device. What still does at the
    /// deadline, which all callers share, is left behind, and the memory of all devices with it, as it may use any of
    /// that. A thread of an engine does not wait: what it waited for might be itself.
    void drain() const;
    /// The one way to give up: see device::abandon.
    void abandon() const;
    void call_worker(worker& one, const endpoint& of, const std::function<void(device_stream&)>& work);
    [[nodiscard]] std::size_t place(int device) const {
        return device == host_memory ? devices.size() - 1 : static_cast<std::size_t>(device);
    }

    const std::uint64_t number_;                ///< of the context, in the process
    int job_number_ = 0;                        ///< in the timeline, where there is one
    std::vector<std::shared_ptr<void>> pools_;  ///< of GPUs' streams
    std::vector<engines> engines_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::exception_ptr failure_;
    wait_limit drained_by_{wait_limit::seconds(0)};  ///< set with the failure
    bool closed_ = false;
    std::uint32_t next_id_ = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::weak_ptr<void>> links_;  ///< by source, destination
    workers workers_;
    std::vector<device_load> loads_;  ///< of each device
    std::mutex unused_mutex_;
    std::map<int, std::vector<run_table>> tables_;  ///< that nobody uses, by device
    /// The same, by device and size.
    std::map<std::pair<int, std::size_t>, std::vector<std::shared_ptr<std::byte>>> buffers_;
};

}  // namespace laneway::flow
