// How long warps of a peer's kernels compute, as apps/parallel/computing_time.hpp counts it.
#pragma once

#include "gpu.cuh"

namespace laneway::bench {

/// The time that a warp is in a kernel, added to the GPU's clock on average of the kernel's warps: as computing_time in
/// apps/parallel does, so that waves, imbalance and gaps count as blocked here as there.
class warp_time {
public:
    static constexpr unsigned fraction_bits = 16;  ///< of a nanosecond

    __device__ explicit warp_time(std::uint64_t* clock) : clock_(clock), begin_(device_now_ns()) {}
    __device__ void add() const {
        __syncwarp();
        if (threadIdx.x % 32 != 0) return;
        const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / 32);
        const std::uint64_t part = ((device_now_ns() - begin_) << fraction_bits) / warps;
        atomicAdd(reinterpret_cast<unsigned long long*>(clock_), static_cast<unsigned long long>(part));
    }

private:
    std::uint64_t* clock_;
    std::uint64_t begin_;
};

/// Seconds that warps were in kernels since the last call, on average. The GPU has nothing to do.
inline double take_seconds(device_words& clock) {
    const auto ticks = static_cast<double>(clock.read(0));
    clock.clear(1);
    check(cudaDeviceSynchronize(), "clearing a clock");
    return ticks / (1u << warp_time::fraction_bits) * 1e-9;
}

}  // namespace laneway::bench
