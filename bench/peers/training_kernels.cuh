// Kernels of a training step, for a process that has a GPU of its own: the arithmetic of apps/training.
#pragma once

#include "gpu.cuh"
#include "parallel/computing_time.hpp"
#include "training/network_view.hpp"

namespace laneway::bench {

inline constexpr int training_threads = 256;  ///< of a block

/// A lane of a kernel: as much of a context as network_view and computing_time ask for.
class kernel_lane {
public:
    static constexpr int warp_lanes = 32;

    __device__ explicit kernel_lane(int pe) : pe_(pe) {}
    __device__ int pe() const { return pe_; }
    __device__ int lane() const { return static_cast<int>(threadIdx.x % warp_lanes); }
    __device__ void sync(lane_mask mask) const { __syncwarp(mask); }
    __device__ std::uint64_t now_ns() const { return device_now_ns(); }
    /// Relaxed, in the scope of the device, whatever is asked for.
    __device__ void fetch_add(std::uint64_t* word, std::uint64_t value, order, scope) const {
        atomicAdd(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(value));
    }

private:
    int pe_;
};

/// What a PE has, in its own memory.
struct pe_memory {
    float* weights[2];  ///< a step reads one set while it writes the other
    float* units;
    float* deltas;
    float* targets;
    float* gradient;  ///< of all weights: the PE's own, then that of all PEs
    double* squares;  ///< [step][sample]: of the errors
    std::uint64_t* clock;
};

/// What the kernels of a step share.
struct training_step {
    apps::network_shape shape;  ///< with one row of gradients, the PE's own
    pe_memory memory;
    int pe;
    std::uint32_t step;

    [[nodiscard]] __device__ apps::network_view<float*> view() const {
        return {shape, memory.weights[step % 2], memory.units, memory.deltas, memory.targets, memory.gradient};
    }
    [[nodiscard]] __device__ static apps::working_warp this_warp() {
        const std::uint64_t lane = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
        const std::uint64_t lanes = std::uint64_t{gridDim.x} * blockDim.x;
        return {lane / kernel_lane::warp_lanes, lanes / kernel_lane::warp_lanes};
    }
    template <class Work>
    __device__ void measured(kernel_lane& lane, Work&& work) const {
        apps::computing_time spent;
        spent.of(lane, work);
        spent.add_to(lane, this_warp().warps, memory.clock);
    }
};

/// Forward through all layers, and the outputs' errors.
__global__ void __launch_bounds__(training_threads) forward_pass(const __grid_constant__ training_step all) {
    const auto mine = training_step::this_warp();
    kernel_lane lane(all.pe);
    all.measured(lane, [&] {
        const auto net = all.view();
        for (int layer = 0; layer < all.shape.n_layers; ++layer) net.forward(lane, mine, layer);
        net.errors(lane, mine, all.memory.squares + std::uint64_t{all.step} * all.shape.max_samples());
    });
}

/// The PE's gradient of a layer, and the deltas in front of it.
__global__ void __launch_bounds__(training_threads)
    backward_pass(const __grid_constant__ training_step all, int layer) {
    const auto mine = training_step::this_warp();
    kernel_lane lane(all.pe);
    all.measured(lane, [&] {
        const auto net = all.view();
        for (std::uint64_t p = mine.number; p < all.shape.layers[layer].pieces(); p += mine.warps) {
            net.gradient(lane, layer, p);
        }
        if (layer > 0) net.backward(lane, mine, layer);
    });
}

/// All new weights of a layer, for the PE itself.
__global__ void __launch_bounds__(training_threads)
    update_weights(const __grid_constant__ training_step all, int layer) {
    const auto mine = training_step::this_warp();
    kernel_lane lane(all.pe);
    float* const next = all.memory.weights[(all.step + 1) % 2];
    for (std::uint64_t p = mine.number; p < all.shape.layers[layer].pieces(); p += mine.warps) {
        all.view().update(lane, layer, p, [&](std::uint64_t weight, float value) { next[weight] = value; });
    }
}

}  // namespace laneway::bench
