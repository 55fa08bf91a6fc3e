// A GPU of a peer's process: error codes as exceptions, memory that is freed.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "laneway/base/error.hpp"

namespace laneway::bench {

inline void check(cudaError_t code, const char* what) {
    if (code != cudaSuccess) throw cuda_error(std::string(what) + ": " + cudaGetErrorString(code));
}

/// Words of device memory.
class device_words {
public:
    explicit device_words(std::uint64_t count) {
        check(cudaMalloc(&data_, count * sizeof(std::uint64_t)), "device memory");
        clear(count);
    }
    device_words(const device_words&) = delete;
    device_words& operator=(const device_words&) = delete;
    ~device_words() { (void)cudaFree(data_); }  // a failure shows at the next call

    [[nodiscard]] std::uint64_t* data() const { return data_; }
    void clear(std::uint64_t count) { check(cudaMemset(data_, 0, count * sizeof(std::uint64_t)), "device memory"); }
    [[nodiscard]] std::uint64_t read(std::uint64_t index) const {
        std::uint64_t word = 0;
        check(cudaMemcpy(&word, data_ + index, sizeof word, cudaMemcpyDeviceToHost), "device memory");
        return word;
    }

private:
    std::uint64_t* data_ = nullptr;
};

/// Blocks of `threads` that fill the current GPU, with so much dynamic shared memory each.
template <class Kernel>
int full_grid(Kernel kernel, int threads, std::size_t shared_bytes = 0) {
    int device = 0, processors = 0, blocks = 0;
    check(cudaGetDevice(&device), "device");
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "device");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes), "occupancy");
    return processors * blocks;
}

/// The GPU's clock.
__device__ inline std::uint64_t device_now_ns() {
    std::uint64_t ns = 0;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

/// Calls `arrived()` until it is true. After 30 s the kernel ends with an error, which the host sees.
template <class Arrived>
__device__ void wait_until(Arrived&& arrived) {
    constexpr std::uint64_t limit_ns = 30'000'000'000;
    const std::uint64_t begin = device_now_ns();
    while (!arrived()) {
        if (device_now_ns() - begin > limit_ns) __trap();
    }
}

/// How the benchmarks name GPUs 0 to n - 1.
inline std::string gpu_names(int n) { return n == 1 ? "cuda:0" : "cuda:0-" + std::to_string(n - 1); }

}  // namespace laneway::bench
