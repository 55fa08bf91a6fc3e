// CUDA's streams in which nothing goes on, kept for the next to use them: to make and destroy one takes longer than to
// launch a short kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <vector>

#include "laneway/simt/cuda/check.hpp"

namespace laneway::cuda_backend {

/// Of all GPUs, as long as the process lives.
class kept_streams {
public:
    static kept_streams& all() {
        static auto* const found = new kept_streams;  // outlives whoever gives one back when the process ends
        return *found;
    }

    /// A stream of a GPU, the current one, of which nobody else knows.
    cudaStream_t take(int gpu) {
        {
            const std::lock_guard lock(mutex_);
            auto& free = free_[gpu];
            if (!free.empty()) {
                const cudaStream_t last = free.back();
                free.pop_back();
                return last;
            }
        }
        cudaStream_t made = nullptr;
        check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreate");
        return made;
    }
    /// All that the stream has begun is over, and has ended well.
    void give_back(int gpu, cudaStream_t stream) {
        const std::lock_guard lock(mutex_);
        free_[gpu].push_back(stream);
    }

private:
    std::mutex mutex_;
    std::map<int, std::vector<cudaStream_t>> free_;
};

}  // namespace laneway::cuda_backend
