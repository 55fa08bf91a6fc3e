// Streams of GPUs: operations enter a stream of CUDA, and events are CUDA's, from a pool.
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "laneway/base/fault_text.hpp"
#include "laneway/simt/cuda/check.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/device_stream.hpp"

namespace laneway::cuda_backend {

namespace {

/// Events of one GPU that are used again and again: making one takes longer than recording it.
class event_pool : public std::enable_shared_from_this<event_pool> {
public:
    explicit event_pool(int device) : device_(device) {}
    ~event_pool() {
        for (cudaEvent_t event : free_) cudaEventDestroy(event);
    }
    event_pool(const event_pool&) = delete;
    event_pool& operator=(const event_pool&) = delete;

    /// Comes back to the pool when its last owner goes.
    std::shared_ptr<void> take() {
        cudaEvent_t event = nullptr;
        {
            const std::lock_guard lock(mutex_);
            if (!free_.empty()) {
                event = free_.back();
                free_.pop_back();
            }
        }
        if (event == nullptr) {
            const device_scope scope(device_);
            check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
        }
        return {event, [pool = shared_from_this()](void* used) {
                    const std::lock_guard lock(pool->mutex_);
                    pool->free_.push_back(static_cast<cudaEvent_t>(used));
                }};
    }

    /// The pool of a GPU, for as long as one of its streams lives.
    static std::shared_ptr<event_pool> of(int device) {
        static std::mutex mutex;
        static std::vector<std::weak_ptr<event_pool>> pools;
        const std::lock_guard lock(mutex);
        const auto at = static_cast<std::size_t>(device);
        if (pools.size() <= at) pools.resize(at + 1);
        auto pool = pools[at].lock();
        if (!pool) pools[at] = pool = std::make_shared<event_pool>(device);
        return pool;
    }

private:
    int device_;
    std::mutex mutex_;
    std::vector<cudaEvent_t> free_;
};

/// What lanes of the stream's kernels look at. A callback may be the last to use it.
struct scene {
    explicit scene(const stream_place& p)
        : place(p), control(p.device, 1), fault(allocate_pinned(sizeof(fault_record))) {}

    [[nodiscard]] fault_record& record() const { return *reinterpret_cast<fault_record*>(fault.get()); }
    [[nodiscard]] std::exception_ptr failure() const {
        if (std::atomic_ref(record().written).load(std::memory_order_acquire) == 0) return {};
        const std::string text = describe(record(), {place.device->name(), place.n_pes, place.job.timeout_seconds, 0});
        if (record().code == status::timeout) return std::make_exception_ptr(timeout_error(text));
        return std::make_exception_ptr(device_fault(text));
    }

    stream_place place;
    buffer<pe_control> control;
    std::shared_ptr<std::byte> fault;
};

/// For the host function behind an event.
struct marked {
    event mark;
    std::shared_ptr<scene> where;
};

// CUDA calls it on a thread of its own, on which nothing of CUDA may be called: what it wakes only takes locks.
void CUDART_CB tell_end(void* argument) {
    const std::unique_ptr<marked> ended(static_cast<marked*>(argument));
    if (const auto why = ended->where->failure()) {
        ended->mark.fail(why);
    } else {
        ended->mark.complete();
    }
}

class gpu_stream final : public stream_backend {
public:
    explicit gpu_stream(const stream_place& place)
        : index_(place.device->id().index), pool_(event_pool::of(index_)), scene_(std::make_shared<scene>(place)) {
        const device_scope scope(index_);
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
        env_.pe = place.pe;
        env_.n_pes = place.n_pes;
        env_.timeout_ns = static_cast<std::uint64_t>(place.job.timeout_seconds * 1e9);
        env_.control = scene_->control.data();
        env_.fault = &scene_->record();
        env_.host_stop = &scene_->record().written;  // no lane of a kernel that is alone looks at it
    }
    /// Waits for what is in the stream, as it uses the scene, which goes with CUDA's help and so by no callback.
    ~gpu_stream() override {
        using clock = std::chrono::steady_clock;
        const auto limit = clock::now() + std::chrono::duration<double>(scene_->place.job.timeout_seconds);
        while (cudaStreamQuery(stream_) == cudaErrorNotReady) {
            if (clock::now() > limit) {
                keep_for_good(scene_);
                return;
            }
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        cudaStreamDestroy(stream_);
    }
    gpu_stream(const gpu_stream&) = delete;
    gpu_stream& operator=(const gpu_stream&) = delete;

    void copy(void* to, const void* from, std::size_t bytes) override {
        if (bytes == 0) return;
        const device_scope scope(index_);
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
    }
    void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t row_bytes,
                   std::size_t rows) override {
        if (row_bytes == 0 || rows == 0) return;
        const device_scope scope(index_);
        check(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, row_bytes, rows, cudaMemcpyDefault, stream_),
              "cudaMemcpy2DAsync");
    }
    void launch(const pe_program& program, const launch_shape& shape) override {
        const device_scope scope(index_);
        pe_environment env = env_;
        void* arguments[] = {const_cast<void*>(program.data()), &env};  // CUDA copies both
        check(cudaLaunchKernel(program.kernel(), dim3(static_cast<unsigned>(shape.blocks)),
                               dim3(static_cast<unsigned>(shape.warps_per_block * 32)), arguments, shape.shared_bytes,
                               stream_),
              "launching a kernel of a stream");
    }
    void record(const event& mark) override {
        const device_scope scope(index_);
        auto native = pool_->take();
        check(cudaEventRecord(static_cast<cudaEvent_t>(native.get()), stream_), "cudaEventRecord");
        mark.enter_queue(std::move(native));
        auto argument = std::make_unique<marked>(marked{mark, scene_});
        check(cudaLaunchHostFunc(stream_, tell_end, argument.get()), "cudaLaunchHostFunc");
        (void)argument.release();  // tell_end owns it now
    }
    void wait(const event& mark) override {
        const auto native = mark.native();
        const device_scope scope(index_);
        check(cudaStreamWaitEvent(stream_, static_cast<cudaEvent_t>(native.get()), 0), "cudaStreamWaitEvent");
    }
    [[nodiscard]] void* native() const override { return stream_; }

private:
    int index_;
    std::shared_ptr<event_pool> pool_;
    std::shared_ptr<scene> scene_;
    pe_environment env_;
    cudaStream_t stream_ = nullptr;
};

}  // namespace

std::shared_ptr<stream_backend> open_stream(const stream_place& place) { return std::make_shared<gpu_stream>(place); }

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
