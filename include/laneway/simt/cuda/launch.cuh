// Launching persistent kernels on GPUs.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>
#include <thread>

#include "laneway/simt/cuda/check.hpp"
#include "laneway/simt/cuda/context.cuh"
#include "laneway/simt/running.hpp"

namespace laneway::cuda_backend {

template <class Program>
__global__ void __launch_bounds__(Program::cuda_warps * 32, 1)
    persistent_kernel(const __grid_constant__ Program program, const __grid_constant__ pe_environment env) {
    context ctx(env);
    program(ctx);
}

/// Loads the kernel on the device and returns how many blocks of it are resident at once. Must run on every device
/// before the first persistent launch: loading waits for the GPU.
template <class Program>
int resident_blocks(int device_index, const launch_shape& shape) {
    const device_scope scope(device_index);
    void (*const kernel)(Program, pe_environment) = persistent_kernel<Program>;
    check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes)),
        "shared memory of a block");
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "loading a kernel");
    int per_multiprocessor = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, shape.warps_per_block * 32,
                                                        shape.shared_bytes),
          "occupancy of a kernel");
    int multiprocessors = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device_index),
          "cudaDeviceGetAttribute");
    return per_multiprocessor * multiprocessors;
}

/// One kernel of one PE. Launched cooperatively: either all blocks are resident or the launch fails.
template <class Program>
class kernel_run final : public running {
public:
    kernel_run(int device_index, const pe_environment& env, const launch_shape& shape, const Program& program)
        : device_(device_index) {
        const device_scope scope(device_);
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
        Program program_copy = program;
        pe_environment env_copy = env;
        void* arguments[] = {&program_copy, &env_copy};
        check(cudaLaunchCooperativeKernel(
                  reinterpret_cast<const void*>(&persistent_kernel<Program>), dim3(static_cast<unsigned>(shape.blocks)),
                  dim3(static_cast<unsigned>(shape.warps_per_block * 32)), arguments, shape.shared_bytes, stream_),
              "launching a persistent kernel");
    }
    ~kernel_run() override {
        if (joined_) cudaStreamDestroy(stream_);  // destroying a stream whose kernel runs on would wait for it
    }

    bool done(std::chrono::microseconds) override {
        // The host spins: a GPU job is over in milliseconds, and a sleeping host would double its time.
        const cudaError_t code = cudaStreamQuery(stream_);
        if (code == cudaErrorNotReady) {
            std::this_thread::yield();
            return false;
        }
        check_run(code);
        return true;
    }
    void join() override {
        joined_ = true;
        check_run(cudaStreamSynchronize(stream_));
    }

private:
    void check_run(cudaError_t code) const {
        if (code != cudaSuccess) check(code, ("running a kernel on cuda:" + std::to_string(device_)).c_str());
    }

    int device_;
    cudaStream_t stream_ = nullptr;
    bool joined_ = false;
};

}  // namespace laneway::cuda_backend
