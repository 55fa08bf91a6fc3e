// Launching persistent kernels on GPUs.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "laneway/simt/cuda/check.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/environment.hpp"
#include "laneway/simt/running.hpp"
#include "simt/cuda/kept_streams.hpp"
#include "simt/cuda/stream_waits.hpp"

namespace laneway::cuda_backend {

namespace {

/// One kernel of one PE.
class kernel_run final : public running {
public:
    kernel_run(int device_index, const pe_environment& env, const launch_shape& shape, const void* kernel,
               const void* program)
        : device_(device_index) {
        const device_scope scope(device_);
        stream_ = kept_streams::all().take(device_);
        pe_environment env_copy = env;
        void* arguments[] = {const_cast<void*>(program), &env_copy};  // CUDA copies both
        const cudaError_t code = cudaLaunchCooperativeKernel(kernel, dim3(static_cast<unsigned>(shape.blocks)),
                                                             dim3(static_cast<unsigned>(shape.warps_per_block * 32)),
                                                             arguments, shape.shared_bytes, stream_);
        if (code != cudaSuccess) cudaStreamDestroy(stream_);
        check(code, "launching a persistent kernel");
    }
    ~kernel_run() override {
        if (ended_well_) {
            kept_streams::all().give_back(device_, stream_);
        } else if (joined_) {  // destroying a stream whose kernel runs on would wait for it
            cudaStreamDestroy(stream_);
        }
    }

    bool done(std::chrono::microseconds wait) override {
        const cudaError_t code = cudaStreamQuery(stream_);
        if (code == cudaErrorNotReady) {
            // Most jobs are over in milliseconds, and a sleeping host would double their time; a program that stays
            // leaves the core to others.
            const auto run = std::chrono::steady_clock::now() - launched_;
            if (run < spin_time) {
                std::this_thread::yield();
            } else {
                std::this_thread::sleep_for(wait < sleep_time ? wait : sleep_time);
            }
            return false;
        }
        check_run(code);
        return true;
    }
    void join() override {
        joined_ = true;
        check_run(cudaStreamSynchronize(stream_));
        ended_well_ = true;
    }

private:
    static constexpr std::chrono::milliseconds spin_time{100};
    static constexpr std::chrono::microseconds sleep_time{50};  // a two-thousandth of the spin time

    void check_run(cudaError_t code) const {
        if (code != cudaSuccess) check(code, ("running a kernel on cuda:" + std::to_string(device_)).c_str());
    }

    int device_;
    cudaStream_t stream_ = nullptr;
    std::chrono::steady_clock::time_point launched_ = std::chrono::steady_clock::now();
    bool joined_ = false;
    bool ended_well_ = false;
};

/// Launches a kernel on the current GPU without an environment, so that it returns at once: its code is loaded then,
/// and the driver makes the stacks that its threads need. For these it waits until all that streams of the GPU have
/// begun is over, for ever if a stream waits for what the kernel is to do. So that is not left to the launch that
/// matters, and comes when no stream of the library waits.
void launch_for_nothing(const launch_shape& shape, const void* kernel) {
    alignas(std::max_align_t) static std::byte any_program[32 * 1024];  // CUDA copies as much as the kernel takes
    pe_environment nothing;
    void* arguments[] = {any_program, &nothing};
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    const cudaError_t code =
        cudaLaunchCooperativeKernel(kernel, dim3(1), dim3(static_cast<unsigned>(shape.warps_per_block * 32)), arguments,
                                    shape.shared_bytes, stream);
    cudaStreamDestroy(stream);  // does not wait
    check(code, "launching a kernel for the first time");
}

/// Kernels of GPUs that have been launched for nothing.
class first_launches {
public:
    static first_launches& get() {
        static first_launches all;
        return all;
    }
    /// Launches a kernel on the current GPU, this one, unless that has been done. Others that plan the same one wait
    /// for it; one that fails is tried again by the next.
    void require(int device_index, const launch_shape& shape, const void* kernel) {
        std::once_flag* done = nullptr;
        {
            const std::lock_guard lock(mutex_);
            done = &done_[{device_index, kernel}];
        }
        std::call_once(*done, [&] {
            stream_waits::get().when_none("cuda:" + std::to_string(device_index),
                                          [&] { launch_for_nothing(shape, kernel); });
        });
    }
    void forget(int device_index, const void* kernel) {
        const std::lock_guard lock(mutex_);
        done_.erase({device_index, kernel});
    }

private:
    std::mutex mutex_;
    std::map<std::pair<int, const void*>, std::once_flag> done_;
};

}  // namespace

int resident_blocks(int device_index, const launch_shape& shape, const void* kernel) {
    const device_scope scope(device_index);
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
    if (per_multiprocessor > 0) first_launches::get().require(device_index, shape, kernel);
    return per_multiprocessor * multiprocessors;
}

void forget_kernel(int device_index, const void* kernel) { first_launches::get().forget(device_index, kernel); }

std::unique_ptr<running> launch(int device_index, const pe_environment& env, const launch_shape& shape,
                                const void* kernel, const void* program) {
    return std::make_unique<kernel_run>(device_index, env, shape, kernel, program);
}

}  // namespace laneway::cuda_backend
