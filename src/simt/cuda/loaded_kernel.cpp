// Kernels in machine code that was made while the process runs.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "laneway/simt/cuda/check.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/environment.hpp"

namespace laneway::cuda_backend {

namespace {

int attribute_of(int index, cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, index), "cudaDeviceGetAttribute");
    return value;
}

/// With this setting a library is loaded on all GPUs that the process uses, and one of another architecture would
/// refuse the code.
void refuse_eager_loading(int device_index) {
    const char* const loading = std::getenv("CUDA_MODULE_LOADING");
    if (loading == nullptr || std::string_view(loading) != "EAGER") return;
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    for (int other = 0; other < devices; ++other) {
        if (architecture(other) == architecture(device_index)) continue;
        throw cuda_error("linked code: GPUs " + std::to_string(device_index) + " and " + std::to_string(other) +
                         " are of different architectures, for which CUDA_MODULE_LOADING must not be EAGER");
    }
}

std::size_t stack_of(const void* kernel) {
    cudaFuncAttributes found{};
    check(cudaFuncGetAttributes(&found, kernel), "cudaFuncGetAttributes");
    return found.localSizeBytes;
}

/// The driver takes the stacks of all threads that a GPU can hold when the kernel is launched, which then would fail.
/// It has those of the kernel before.
void refuse_large_stacks(int device_index, const std::string& device, const void* kernel, const void* before) {
    const std::size_t stack = stack_of(kernel), had = stack_of(before);
    const auto threads = static_cast<std::size_t>(attribute_of(device_index, cudaDevAttrMultiProcessorCount)) *
                         static_cast<std::size_t>(attribute_of(device_index, cudaDevAttrMaxThreadsPerMultiProcessor));
    std::size_t free = 0, all = 0;
    check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
    if (stack <= had || stack - had <= free / threads) return;
    throw cuda_error("linked code: stacks of " + std::to_string(stack) + " bytes for " + std::to_string(threads) +
                     " threads do not fit into the " + std::to_string(free >> 20) + " MiB that are free on " + device);
}

}  // namespace

int architecture(int index) {
    return 10 * attribute_of(index, cudaDevAttrComputeCapabilityMajor) +
           attribute_of(index, cudaDevAttrComputeCapabilityMinor);
}

std::shared_ptr<const void> load_kernel(int device_index, std::span<const std::byte> code, const launch_shape& shape,
                                        const void* like) {
    const device_scope scope(device_index);
    const std::string device = "cuda:" + std::to_string(device_index);
    refuse_eager_loading(device_index);
    const char* name = nullptr;
    check(cudaFuncGetName(&name, like), "the name of a kernel");
    cudaLibrary_t library = nullptr;
    check(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          ("loading linked code on " + device).c_str());
    const std::shared_ptr<void> loaded(library, [](void* p) { cudaLibraryUnload(static_cast<cudaLibrary_t>(p)); });
    cudaKernel_t kernel = nullptr;
    check(cudaLibraryGetKernel(&kernel, library, name), "looking for a kernel in linked code");
    refuse_large_stacks(device_index, device, kernel, like);
    const std::shared_ptr<const void> mine(
        kernel, [loaded, device_index](const void* unloaded) { forget_kernel(device_index, unloaded); });
    // What takes a kernel's address takes such a handle as well. This also gives it its shared memory.
    const int resident = resident_blocks(device_index, shape, kernel);
    if (resident < shape.blocks) {
        throw cuda_error("linked code: " + device + " holds " + std::to_string(resident) + " of its blocks, and " +
                         std::to_string(shape.blocks) + " wait for each other");
    }
    return mine;
}

}  // namespace laneway::cuda_backend
