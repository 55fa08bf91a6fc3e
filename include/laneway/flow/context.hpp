// The context of a dataflow: its devices, its threads, and its first error. Host only.
//
//   lw::flow::context ctx;                                           // every GPU, or CPU devices
//   lw::flow::router to_devices(ctx, lw::flow::any_available());
//   lw::flow::link feed(ctx, ctx.host(), to_devices, {.packet_bytes = 1 << 20});
//   ...
//   for (const auto& device : ctx.devices()) ctx.start_worker(device, [=](lw::device_stream& stream) { ... });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/flow/endpoint.hpp"
#include "laneway/simt/device_stream.hpp"

namespace laneway::flow {

struct context_core;
class topology;

/// Opens the devices of options::devices, with streams and workers on each. options::timeout_seconds is the deadline of
/// each wait and of each kernel's waits. The first error of a stream, a kernel or a worker, and a deadline that passes,
/// ends the whole dataflow: operations that have not begun are left out, and all that waits for something gets the
/// error, when those that had begun have ended. What goes on for another timeout_seconds is left behind, and the
/// context's memory with it. Any thread; the context ends after all that refers to it. Endpoints of other contexts are
/// refused.
class context {
public:
    explicit context(const options& options = {});
    /// Ends what still goes on: workers that wait get an error. One that does not return within a second of the end of
    /// all operations is left behind.
    ~context();
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    [[nodiscard]] endpoint host() const;
    /// One endpoint a device, in the order of the list.
    [[nodiscard]] const std::vector<endpoint>& devices() const;
    /// Another endpoint of the same device, or of the host.
    [[nodiscard]] endpoint add_endpoint(const endpoint& of, const std::string& name);
    /// What the driver says of the paths between devices.
    [[nodiscard]] const topology& paths() const;

    /// A stream of the endpoint's device; `name` for messages. Operations of the host's are copies and calls.
    [[nodiscard]] device_stream make_stream(const endpoint& of, const std::string& name);
    /// Memory of the endpoint's device, or of the host where devices can copy from it fastest.
    template <class T>
    [[nodiscard]] std::shared_ptr<T> allocate(const endpoint& of, std::size_t count) {
        auto bytes = allocate_bytes(of, count, sizeof(T));
        return {bytes, reinterpret_cast<T*>(bytes.get())};
    }
    /// Lets GPUs copy from and to memory of the caller as fast as from their own driver's, for as long as the owner
    /// lives. Null where there are no GPUs and where CUDA refuses it, for memory that is pinned already or cannot be
    /// written to, say: copies are right there, too, only slower.
    [[nodiscard]] std::shared_ptr<void> pin(const void* memory, std::size_t bytes);

    /// The most memory that a device has held at once so far; that of the host is not counted.
    [[nodiscard]] std::uint64_t peak_bytes(const endpoint& of) const;

    /// Calls `work(stream)` on a thread of its own, with a stream of the endpoint's device. The worker is over when
    /// what it gave the stream is done too. What it or the stream throws ends the dataflow, and names the endpoint.
    void start_worker(const endpoint& of, std::function<void(device_stream& stream)> work);
    /// Ends what still goes on, as the destructor does. The context takes nothing more. More than once is no error.
    void close();
    /// Waits until all workers that have been started so far are over; throws the dataflow's first error, or
    /// timeout_error naming a worker.
    void join();

    /// Waits for an event; throws what it failed with, the dataflow's first error, or timeout_error: "`what` did not
    /// end within 60 s".
    void wait(const event& mark, const std::string& what = "an operation") const;
    /// Ends the dataflow with an error, unless it has one.
    void fail(const std::exception_ptr& why);
    /// Throws the dataflow's first error, if it has one.
    void check() const;

    [[nodiscard]] const std::shared_ptr<context_core>& core() const { return core_; }

private:
    [[nodiscard]] std::shared_ptr<std::byte> allocate_bytes(const endpoint& of, std::size_t count, std::size_t size);

    std::shared_ptr<context_core> core_;
};

}  // namespace laneway::flow
