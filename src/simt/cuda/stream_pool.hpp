// What streams of a GPU take: CUDA's streams and events, and words in memory, kept for the next to use them.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "laneway/base/fault_text.hpp"
#include "laneway/simt/cuda/check.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/device_stream.hpp"
#include "simt/cuda/kept_streams.hpp"

namespace laneway::cuda_backend {

/// Of each stream; kernels look at them.
struct stream_words {
    pe_control* control = nullptr;  ///< memory of the GPU
    fault_record* fault = nullptr;  ///< of the host
};

/// What streams of one GPU use again and again, as making it takes long: CUDA's streams and events, and words in memory
/// whose allocation waits for kernels.
class stream_pool : public std::enable_shared_from_this<stream_pool> {
public:
    explicit stream_pool(std::shared_ptr<device> gpu) : device_(std::move(gpu)) {
        add_words();
        aside_ = take_stream();
    }
    ~stream_pool() {
        for (cudaEvent_t event : events_) cudaEventDestroy(event);
    }
    stream_pool(const stream_pool&) = delete;
    stream_pool& operator=(const stream_pool&) = delete;

    /// Comes back to the pool when its last owner goes.
    std::shared_ptr<void> take_event() {
        cudaEvent_t event = nullptr;
        {
            const std::lock_guard lock(mutex_);
            if (!events_.empty()) {
                event = events_.back();
                events_.pop_back();
            }
        }
        if (event == nullptr) {
            const device_scope scope(device_->id().index);
            check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
        }
        return {event, [pool = shared_from_this()](void* used) {
                    const std::lock_guard lock(pool->mutex_);
                    pool->events_.push_back(static_cast<cudaEvent_t>(used));
                }};
    }

    /// The same; nothing goes on in it, neither now nor when it comes back.
    std::shared_ptr<void> take_stream() {
        const device_scope scope(device_->id().index);
        return {kept_streams::all().take(device_->id().index), [gpu = device_](void* used) {
                    kept_streams::all().give_back(gpu->id().index, static_cast<cudaStream_t>(used));
                }};
    }

    /// The same. The fault record is empty; the control word is as its last user has left it.
    std::shared_ptr<stream_words> take_words() {
        const std::lock_guard lock(mutex_);
        if (words_.empty()) add_words();
        const stream_words taken = words_.back();
        words_.pop_back();
        ::new (taken.fault) fault_record{};
        return {new stream_words(taken), [pool = shared_from_this()](stream_words* used) {
                    const std::lock_guard again(pool->mutex_);
                    pool->words_.push_back(*used);
                    delete used;
                }};
    }

    /// For what must not wait behind the operations of a stream.
    [[nodiscard]] cudaStream_t aside() const { return static_cast<cudaStream_t>(aside_.get()); }

    /// The pool of an opened GPU, for as long as somebody keeps it.
    static std::shared_ptr<stream_pool> of(const std::shared_ptr<device>& gpu) {
        static std::mutex mutex;
        static std::map<const device*, std::weak_ptr<stream_pool>> pools;
        const std::lock_guard lock(mutex);
        std::erase_if(pools, [](const auto& known) { return known.second.expired(); });
        auto& known = pools[gpu.get()];
        auto pool = known.lock();
        if (!pool) known = pool = std::make_shared<stream_pool>(gpu);
        return pool;
    }

private:
    static constexpr std::size_t streams = 256;  ///< that one allocation is enough for

    void add_words() {
        controls_.emplace_back(device_, streams);
        faults_.push_back(allocate_host_visible(device_, streams * sizeof(fault_record)));
        auto* const faults = reinterpret_cast<fault_record*>(faults_.back().get());
        for (std::size_t i = 0; i < streams; ++i) words_.push_back({controls_.back().data() + i, faults + i});
    }

    std::shared_ptr<device> device_;
    std::shared_ptr<void> aside_;
    std::mutex mutex_;
    std::vector<cudaEvent_t> events_;
    std::vector<buffer<pe_control>> controls_;
    std::vector<std::shared_ptr<std::byte>> faults_;
    std::vector<stream_words> words_;
};

}  // namespace laneway::cuda_backend
