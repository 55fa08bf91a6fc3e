// The persistent kernel of GPUs; support.hpp launches it.
#pragma once

#include <cuda_runtime.h>

#include "laneway/simt/cuda/context.cuh"

namespace laneway::cuda_backend {

/// Blocks of a program that a multiprocessor should hold at once, at least: with it ptxas bounds a lane's registers.
template <class Program>
inline constexpr int cuda_blocks_of = 1;
template <class Program>
requires requires { Program::cuda_blocks; }
inline constexpr int cuda_blocks_of<Program> = Program::cuda_blocks;

template <class Program>
__global__ void __launch_bounds__(Program::cuda_warps * 32, cuda_blocks_of<Program>)
    persistent_kernel(const __grid_constant__ Program program, const __grid_constant__ pe_environment env) {
    if (env.control == nullptr) return;  // see launch_for_nothing
    context ctx(env);
    program(ctx);
}

/// The kernel by which CUDA's runtime names it. Its arguments: the program, and the PE's environment.
template <class Program>
const void* kernel_of() {
    return reinterpret_cast<const void*>(&persistent_kernel<Program>);
}

}  // namespace laneway::cuda_backend
