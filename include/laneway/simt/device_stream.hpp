// An ordered queue of operations of one device: copies, kernels, events. Host only.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "laneway/base/options.hpp"
#include "laneway/simt/device.hpp"
#include "laneway/simt/event.hpp"
#include "laneway/simt/pe_program.hpp"
#include "laneway/simt/stream_engine.hpp"
#include "laneway/simt/stream_recorder.hpp"
#include "laneway/simt/user_code.hpp"

namespace laneway {

/// A word that a stream waits for. As CUDA compares it: the word counts as no less than the value where it is less than
/// 2^63 ahead of it.
struct value_wait {
    const std::uint64_t* word = nullptr;
    std::uint64_t value = 0;
    std::string stream;  ///< name

    [[nodiscard]] bool is_over(std::uint64_t found) const { return static_cast<std::int64_t>(found - value) >= 0; }
    /// What its timeout_error says.
    [[nodiscard]] std::string late(const std::string& device, double seconds) const;
};

/// What carries out the operations of a stream, on the engine's thread: a CPU device does them then and there, a GPU
/// gets them into a stream of CUDA.
class stream_backend {
public:
    virtual ~stream_backend() = default;
    /// Any of the two may be memory of the host or of a device of the same kind as this one.
    virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
    virtual void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                           std::size_t row_bytes, std::size_t rows) = 0;
    virtual void launch(const pe_program& program, const launch_shape& shape) = 0;
    /// Ends the event when all operations so far have ended: with `failed`, where that is not null.
    virtual void record(const event& mark, const std::exception_ptr& failed) = 0;
    /// Of an event that another stream of a GPU has recorded; never called on CPU devices.
    virtual void wait(const event&) {}
    /// See device_stream.
    virtual void write_value(std::uint64_t* word, std::uint64_t value) = 0;
    /// The same; never called on CPU devices.
    virtual void wait_value(const value_wait&) {}
    /// See device_stream::call.
    virtual void call(const std::function<void(void* native)>& call) { call(nullptr); }
    /// Calls `seen` with the time, by the host's clock, at which all operations so far have ended; not at all where
    /// they fail.
    virtual void stamp(std::function<void(std::uint64_t ns)> seen);
    /// See stream_engine::add.
    virtual stream_engine::outlook look(bool) { return {}; }
};

/// Where a stream's kernels run.
struct stream_place {
    std::shared_ptr<laneway::device> device;
    int pe = 0;  ///< what its lanes take themselves for
    int n_pes = 1;
    options job;          ///< deadline of each kernel, seed, and the size of its grid
    stream_log log = {};  ///< of what its operations do
};

/// Opens what carries out a stream's operations; throws cuda_error where CUDA refuses it.
std::shared_ptr<stream_backend> open_stream_backend(const stream_place& place);

/// A body with the frame that a launch needs.
template <class Body>
struct stream_program {
    static constexpr int cuda_warps = 8;
    Body body;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto lanes = static_cast<std::uint64_t>(Ctx::warp_lanes);
        const std::uint64_t warps = static_cast<std::uint64_t>(ctx.n_blocks()) * static_cast<unsigned>(ctx.n_warps());
        const std::uint64_t warp = static_cast<std::uint64_t>(ctx.block()) * static_cast<unsigned>(ctx.n_warps()) +
                                   static_cast<unsigned>(ctx.warp());
        ctx.set_rank({.local = warp * lanes + static_cast<unsigned>(ctx.lane()),
                      .local_size = warps * lanes,
                      .size = warps * lanes});
        run_user_code(ctx, {user_code::functor}, body, ctx);
    }
};

/// Operations are done in the order in which they are given; each call returns at once. An operation that fails ends
/// the stream: what follows is left out, and its events fail as well. A GPU is told of what follows before it has
/// failed: then operations behind a kernel that reports a fault, and those of streams that wait for it on GPUs, may
/// still be done, but their events fail. A stream may go before its operations are done. One thread at a time.
class device_stream {
public:
    /// `name` and the device name it in messages; `on_failure` gets what the first failing operation threw.
    device_stream(std::shared_ptr<stream_engine> engine, const stream_place& place, std::string name,
                  std::function<void(std::exception_ptr)> on_failure);

    [[nodiscard]] const laneway::device& device() const { return *place_.device; }
    [[nodiscard]] const std::string& name() const { return name_; }
    /// Not that of any other stream while something refers to this one.
    [[nodiscard]] const void* identity() const { return queue_.get(); }
    /// Whether a timeline takes what its operations do; then `label` says what the next ones are about.
    [[nodiscard]] bool is_recorded() const { return place_.log.kept_in != nullptr; }
    void label(std::string next) { label_ = std::move(next); }

    /// Both ranges stay as they are until the copy is done; see stream_backend::copy.
    void copy(void* to, const void* from, std::size_t bytes);
    /// `rows` pieces of `row_bytes`, which begin so many bytes behind each other.
    void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t row_bytes,
                   std::size_t rows);
    /// Copies of any number, `bytes` in all, as one operation: `calls` is called once, and calls the backend for each.
    void copies(std::size_t bytes, std::function<void(stream_backend& by)> calls);
    /// What follows is done after the event. Where both are of GPUs the GPU waits, and no thread of the host.
    void wait(const event& mark);
    /// Stores a value in a word that lanes and other streams look at meanwhile, behind all that was given so far: who
    /// acquires it sees that. The device must reach the word.
    void write_value(std::uint64_t* word, std::uint64_t value);
    /// What follows is done when the word is no less than the value, and sees what came with it. The stream fails with
    /// timeout_error when it has waited for the deadline of its place. A GPU waits by itself, without a kernel and
    /// without a thread of the host; past the deadline the library gives it the value, so that it can end.
    void wait_value(const std::uint64_t* word, std::uint64_t value);
    /// Happens when all that was given so far is done; it fails when nothing of that goes on any more.
    [[nodiscard]] event record();
    /// Calls `call` of the host in its turn, with the stream's cudaStream_t, to which it may add kernels and copies;
    /// null on a CPU device, where what it does is done when it returns. On a GPU that one is the current device then.
    void call(std::function<void(void* native)> call);
    /// Calls `body(ctx)` on every lane of a grid of `blocks`, 0: as many as suit the device. The lanes' ranks are those
    /// of the grid; they reach memory of this device and of the host.
    template <class Body, bool with_cuda = compiled_with_cuda>
    void run(const Body& body, int blocks = 0) {
        static_assert(trivially_copyable<Body>, "a body is copied to the device: it holds values and pointers only");
        launch(pe_program::of<stream_program<Body>, with_cuda>({body}),
               shape(stream_program<Body>::cuda_warps, blocks));
    }
    /// Warps of the grid that run() makes.
    [[nodiscard]] std::uint64_t warps(int blocks = 0) const;
    /// Operations that have not been carried out yet, or, of a GPU, not been handed to it.
    [[nodiscard]] std::size_t waiting() const { return engine_->waiting(queue_); }

private:
    struct opening;

    [[nodiscard]] launch_shape shape(int cuda_warps, int blocks) const;
    void launch(pe_program program, const launch_shape& shape);
    void push(stream_work kind, std::size_t bytes, std::function<void(stream_backend&)> work);

    std::shared_ptr<stream_engine> engine_;
    std::shared_ptr<stream_engine::queue> queue_;
    stream_place place_;
    std::string name_;
    std::string label_;
    std::shared_ptr<opening> opening_;
};

}  // namespace laneway
