// Streams of GPUs: operations enter a stream of CUDA, and events are CUDA's, from a pool.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "laneway/base/fault_text.hpp"
#include "laneway/base/timeline.hpp"
#include "laneway/base/wait_limit.hpp"
#include "laneway/simt/cuda/check.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/device_stream.hpp"
#include "simt/cuda/driver_function.hpp"
#include "simt/cuda/stream_pool.hpp"
#include "simt/cuda/stream_waits.hpp"

namespace laneway::cuda_backend {

namespace {

/// A place in a stream whose time a timeline wants.
struct open_stamp {
    cudaEvent_t native = nullptr;
    std::function<void(std::uint64_t ns)> seen;
};

/// Whether work still goes on, as CUDA answers a question about it. That is no error: whoever asks for the last one
/// next, a function of the application in a stream for one, does not get it.
bool goes_on(cudaError_t answer) {
    if (answer != cudaErrorNotReady) return false;
    cudaGetLastError();
    return true;
}

/// What the driver lets a stream do with words of memory.
struct stream_words_calls {
    decltype(&cuStreamWriteValue64) write = driver_function<decltype(&cuStreamWriteValue64)>("cuStreamWriteValue64");
    decltype(&cuStreamWaitValue64) wait = driver_function<decltype(&cuStreamWaitValue64)>("cuStreamWaitValue64");

    static const stream_words_calls& get() {
        static const stream_words_calls found;
        return found;
    }

    static void check(CUresult answer, const char* call) {
        if (answer == CUDA_SUCCESS) return;
        throw cuda_error(std::string(call) + ": the driver answers " + std::to_string(static_cast<int>(answer)));
    }
};

CUdeviceptr address_of(const std::uint64_t* word) { return reinterpret_cast<CUdeviceptr>(word); }

/// An event of the host's that ends when the GPU has come to `native`.
struct open_mark {
    event mark;
    std::exception_ptr failed;  ///< what it fails with then in any case
    std::shared_ptr<void> native;
    std::vector<event> awaited;  ///< the GPU has waited for these since the mark before; they may have failed
};

/// A word that the GPU waits for, between two events.
struct open_wait {
    value_wait of;
    std::shared_ptr<void> begun;
    std::shared_ptr<void> counted;  ///< among those of all streams
    std::shared_ptr<void> over;
    std::optional<wait_limit> limit;  ///< from when it was seen to have begun
    bool late = false;
};

/// The engine's thread asks CUDA what has ended. CUDA could call a function of the host instead; but such functions
/// stand in the stream themselves, so that what follows waits for a thread of the host, and are not called after an
/// error.
class gpu_stream final : public stream_backend {
public:
    explicit gpu_stream(const stream_place& place)
        : place_(place), index_(place.device->id().index), pool_(stream_pool::of(place.device)),
          words_(pool_->take_words()), owned_(pool_->take_stream()), stream_(static_cast<cudaStream_t>(owned_.get())) {
        check(cudaSetDevice(index_), "cudaSetDevice");  // for good
        env_.pe = place.pe;
        env_.n_pes = place.n_pes;
        env_.timeout_ns = static_cast<std::uint64_t>(place.job.timeout_seconds * 1e9);
        env_.control = words_->control;
        env_.fault = words_->fault;
        env_.host_stop = &words_->fault->written;  // no lane of a kernel that is alone looks at it
        check(cudaMemsetAsync(words_->control, 0, sizeof(pe_control), stream_), "cudaMemsetAsync");
    }
    ~gpu_stream() override {
        for (const open_stamp& left : stamps_) timed_.push_back(left.native);
        if (base_ != nullptr) timed_.push_back(base_);
        for (const cudaEvent_t made : timed_) cudaEventDestroy(made);
    }
    gpu_stream(const gpu_stream&) = delete;
    gpu_stream& operator=(const gpu_stream&) = delete;

    void copy(void* to, const void* from, std::size_t bytes) override {
        if (bytes == 0) return;
        begin();
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
    }
    void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t row_bytes,
                   std::size_t rows) override {
        if (row_bytes == 0 || rows == 0) return;
        begin();
        check(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, row_bytes, rows, cudaMemcpyDefault, stream_),
              "cudaMemcpy2DAsync");
    }
    void launch(const pe_program& program, const launch_shape& shape) override {
        begin();
        pe_environment env = env_;
        void* arguments[] = {const_cast<void*>(program.data()), &env};  // CUDA copies both
        check(cudaLaunchKernel(program.kernel(), dim3(static_cast<unsigned>(shape.blocks)),
                               dim3(static_cast<unsigned>(shape.warps_per_block * 32)), arguments, shape.shared_bytes,
                               stream_),
              "launching a kernel of a stream");
    }
    void record(const event& mark, const std::exception_ptr& failed) override {
        if (failed && !busy_) return mark.fail(failed);  // also when the engine has ended, and looks no more
        begin();
        auto native = mark_here();
        marks_.push_back({mark, failed, native, std::exchange(awaited_, {})});
        unmarked_ = false;
        if (!failed) mark.enter_queue(std::move(native));
    }
    void wait(const event& mark) override {
        const auto native = mark.native();
        begin();
        check(cudaStreamWaitEvent(stream_, static_cast<cudaEvent_t>(native.get()), 0), "cudaStreamWaitEvent");
        awaited_.push_back(mark);
    }
    void write_value(std::uint64_t* word, std::uint64_t value) override {
        begin();
        stream_words_calls::check(stream_words_calls::get().write(stream_, address_of(word), value, 0),
                                  "cuStreamWriteValue64");
    }
    void wait_value(const value_wait& of) override {
        begin();
        waits_.push_back({of, mark_here(), stream_waits::get().open(place_.job.timeout_seconds), {}, {}});
        stream_words_calls::check(
            stream_words_calls::get().wait(stream_, address_of(of.word), of.value, CU_STREAM_WAIT_VALUE_GEQ),
            "cuStreamWaitValue64");
        waits_.back().over = mark_here();
    }
    void call(const std::function<void(void* native)>& call) override {
        begin();
        call(stream_);
        check(cudaSetDevice(index_), "cudaSetDevice");  // it may have left another one current, or a context of its own
    }
    /// By events that take the time, which others do not.
    void stamp(std::function<void(std::uint64_t ns)> seen) override {
        begin();
        if (base_ == nullptr) set_base();
        open_stamp made{timed_event(), std::move(seen)};
        check(cudaEventRecord(made.native, stream_), "cudaEventRecord");
        stamps_.push_back(std::move(made));
    }
    /// Needs no current device, which cannot be set any more after some errors.
    stream_engine::outlook look(bool again) override {
        while (!stamps_.empty() && !again && end_stamp()) {
        }
        const bool ended_some = end_marks(again);
        while (!waits_.empty() && !again && end_wait()) {
        }
        if (marks_.empty() && busy_ && !(again && unmarked_)) {
            const cudaError_t code = unmarked_ ? cudaStreamQuery(stream_) : cudaSuccess;  // else the last mark says it
            busy_ = goes_on(code);
            if (!busy_) note(failure_of(code));
            while (!busy_ && !stamps_.empty() && end_stamp()) {
            }
        }
        return {busy_, ended_some, std::exchange(news_, {})};
    }

private:
    /// An operation: makes the GPU the current device of the engine's thread, which stays there. A device for each call
    /// costs more than some calls.
    void begin() {
        enter();
        busy_ = unmarked_ = true;
    }
    void enter() {
        int current = 0;
        check(cudaGetDevice(&current), "cudaGetDevice");
        if (current != index_) check(cudaSetDevice(index_), "cudaSetDevice");
    }
    /// What the first stamp is counted from. The host waits for it once: how late it is told is the error. Aside, as in
    /// the stream it may be behind a wait for a word, which this thread is to end at its deadline.
    void set_base() {
        base_ = timed_event();
        check(cudaEventRecord(base_, pool_->aside()), "cudaEventRecord");
        check(cudaEventSynchronize(base_), "cudaEventSynchronize");
        base_ns_ = timeline::now_ns();
    }
    cudaEvent_t timed_event() {
        if (!timed_.empty()) {
            const cudaEvent_t free = timed_.back();
            timed_.pop_back();
            return free;
        }
        cudaEvent_t made = nullptr;
        check(cudaEventCreate(&made), "cudaEventCreate");
        return made;
    }
    /// Tells the time of the first stamp, if the GPU has come there. Each is counted from the one before, as CUDA gives
    /// times as floats; one that failed is not told, and neither are those behind it.
    bool end_stamp() {
        const cudaError_t code = cudaEventQuery(stamps_.front().native);
        if (goes_on(code)) return false;
        open_stamp ended = std::move(stamps_.front());
        stamps_.pop_front();
        float ms = 0;
        if (code == cudaSuccess && cudaEventElapsedTime(&ms, base_, ended.native) == cudaSuccess) {
            base_ns_ += static_cast<std::uint64_t>(std::max(ms, 0.0f) * 1e6);
            ended.seen(base_ns_);
            timed_.push_back(std::exchange(base_, ended.native));
        } else {
            cudaGetLastError();
            timed_.push_back(ended.native);
        }
        return true;
    }

    /// Ends the marks that the GPU has come to, or, `known_only`, is known to have come to. Whether there were any.
    bool end_marks(bool known_only) {
        bool ended_some = false;
        do {
            for (; passed_ > 0; --passed_, ended_some = true) {
                if (!end_mark()) return ended_some;
            }
        } while (!known_only && ask());
        return ended_some;
    }
    /// Whether the GPU has come to marks that it was not known to have come to. One speaks for those before it, so that
    /// each question is about twice as many as the one before.
    bool ask() {
        for (std::size_t n = 1; n <= marks_.size(); n *= 2) {
            const cudaError_t code = cudaEventQuery(static_cast<cudaEvent_t>(marks_[n - 1].native.get()));
            if (goes_on(code)) break;
            passed_ = n;
            passed_with_ = code;
        }
        return passed_ > 0;
    }
    /// The first one, which the GPU has come to, unless something that it has waited for is not known to have ended.
    bool end_mark() {
        const open_mark& first = marks_.front();
        std::exception_ptr why = failure_of(passed_with_);
        for (const event& other : first.awaited) {
            // The GPU is past it; whether it has failed its own engine tells at once.
            if (!other.done()) return false;
            if (!why) why = other.failure();
        }
        note(why);
        if (!why) why = failure_;  // of an event that the stream has waited for before, say
        if (first.failed) why = first.failed;
        const open_mark ended = std::move(marks_.front());
        marks_.pop_front();
        why ? ended.mark.fail(why) : ended.mark.complete();
        return true;
    }
    [[nodiscard]] std::shared_ptr<void> mark_here() {
        auto native = pool_->take_event();
        check(cudaEventRecord(static_cast<cudaEvent_t>(native.get()), stream_), "cudaEventRecord");
        return native;
    }
    /// Ends the first wait, if the GPU is past it. Past its deadline the stream fails, and the GPU gets the value from
    /// aside: a stream that waits for ever would hold up whoever frees memory.
    bool end_wait() {
        open_wait& first = waits_.front();
        if (!first.over || !goes_on(cudaEventQuery(static_cast<cudaEvent_t>(first.over.get())))) {
            waits_.pop_front();
            return true;
        }
        if (first.late || goes_on(cudaEventQuery(static_cast<cudaEvent_t>(first.begun.get())))) return false;
        const wait_limit::seconds seconds(place_.job.timeout_seconds);
        if (!first.limit) first.limit.emplace(seconds);
        if (!first.limit->is_over()) return false;
        first.late = true;
        late_ = std::make_exception_ptr(timeout_error(first.of.late(place_.device->name(), seconds.count())));
        note(late_);
        enter();
        stream_words_calls::check(
            stream_words_calls::get().write(pool_->aside(), address_of(first.of.word), first.of.value, 0),
            "cuStreamWriteValue64");
        return false;
    }
    void note(const std::exception_ptr& why) {
        if (why && !failure_) failure_ = news_ = why;
    }
    /// What an answer of CUDA's about the stream means, and what its kernels have reported.
    [[nodiscard]] std::exception_ptr failure_of(cudaError_t code) const {
        if (code != cudaSuccess) {
            cudaGetLastError();
            return std::make_exception_ptr(cuda_error(place_.device->name() + ": " + cudaGetErrorString(code)));
        }
        const fault_record& record = *words_->fault;
        if (std::atomic_ref(words_->fault->written).load(std::memory_order_acquire) == 0) return late_;
        const std::string text = describe(record, {place_.device->name(), place_.n_pes, place_.job.timeout_seconds, 0});
        if (record.code == status::timeout) return std::make_exception_ptr(timeout_error(text));
        return std::make_exception_ptr(device_fault(text));
    }

    stream_place place_;
    int index_;
    std::shared_ptr<stream_pool> pool_;
    std::shared_ptr<stream_words> words_;
    pe_environment env_;
    std::shared_ptr<void> owned_;  ///< the engine keeps the backend until nothing of it goes on
    cudaStream_t stream_;
    std::deque<open_mark> marks_;
    std::size_t passed_ = 0;                 ///< of them the GPU is known to have come to,
    cudaError_t passed_with_ = cudaSuccess;  ///< and CUDA's answer about them
    std::deque<open_wait> waits_;
    std::exception_ptr late_;  ///< of a wait
    std::deque<open_stamp> stamps_;
    std::vector<cudaEvent_t> timed_;  ///< that no stamp has
    cudaEvent_t base_ = nullptr;      ///< the stamp that was told last, or the first one's beginning
    std::uint64_t base_ns_ = 0;       ///< when that was, by the host's clock
    std::vector<event> awaited_;      ///< since the last mark
    std::exception_ptr failure_;      ///< the stream's first
    std::exception_ptr news_;         ///< the same, not yet told
    bool busy_ = true;                ///< with clearing the control word
    bool unmarked_ = true;            ///< something has been given to it since the last mark
};

}  // namespace

std::shared_ptr<stream_backend> open_stream(const stream_place& place) { return std::make_shared<gpu_stream>(place); }

std::shared_ptr<void> keep_stream_pool(const std::shared_ptr<device>& gpu) { return stream_pool::of(gpu); }

peer_finding find_peer(int from, int to) {
    peer_finding found;
    int value = 0;
    check(cudaDeviceCanAccessPeer(&value, from, to), "cudaDeviceCanAccessPeer");
    found.access = value != 0;
    check(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrNativeAtomicSupported, from, to),
          "cudaDeviceGetP2PAttribute");
    found.native_atomics = value != 0;
    check(cudaDeviceGetP2PAttribute(&found.rank, cudaDevP2PAttrPerformanceRank, from, to), "cudaDeviceGetP2PAttribute");
    return found;
}

bool lanes_reach(int index, const void* memory) {
    cudaPointerAttributes of{};
    check(cudaPointerGetAttributes(&of, memory), "cudaPointerGetAttributes");
    int pageable = 0;
    switch (of.type) {
        case cudaMemoryTypeDevice: return of.device == index || find_peer(index, of.device).access;
        case cudaMemoryTypeUnregistered:
            check(cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, index), "cudaDeviceGetAttribute");
            return pageable != 0;
        default: return true;
    }
}

std::optional<int> gpu_of(const void* memory) {
    cudaPointerAttributes of{};
    check(cudaPointerGetAttributes(&of, memory), "cudaPointerGetAttributes");
    return of.type == cudaMemoryTypeDevice ? std::optional(of.device) : std::nullopt;
}

std::string pci_address(int index) {
    char text[32] = {};
    check(cudaDeviceGetPCIBusId(text, sizeof text, index), "cudaDeviceGetPCIBusId");
    return text;
}

std::shared_ptr<void> pin_host_memory(void* memory, std::size_t bytes) {
    check(cudaHostRegister(memory, bytes, cudaHostRegisterPortable), "cudaHostRegister");
    return {memory, [](void* pinned) { cudaHostUnregister(pinned); }};
}

}  // namespace laneway::cuda_backend
