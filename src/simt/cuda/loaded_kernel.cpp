// Kernels in machine code that was made while the process runs.
#include <cuda_runtime_api.h>

#include <string>

#include "laneway/simt/cuda/check.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "laneway/simt/environment.hpp"

namespace laneway::cuda_backend {

int architecture(int index) {
    int major = 0, minor = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index), "cudaDeviceGetAttribute");
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index), "cudaDeviceGetAttribute");
    return 10 * major + minor;
}

std::shared_ptr<const void> load_kernel(int device_index, std::span<const std::byte> code, const launch_shape& shape,
                                        const void* like) {
    const device_scope scope(device_index);
    const std::string device = "cuda:" + std::to_string(device_index);
    const char* name = nullptr;
    check(cudaFuncGetName(&name, like), "the name of a kernel");
    cudaLibrary_t library = nullptr;
    check(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          ("loading linked code on " + device).c_str());
    const std::shared_ptr<void> loaded(library, [](void* p) { cudaLibraryUnload(static_cast<cudaLibrary_t>(p)); });
    cudaKernel_t kernel = nullptr;
    check(cudaLibraryGetKernel(&kernel, library, name), "looking for a kernel in linked code");
    // What takes a kernel's address takes such a handle as well. This also gives it its shared memory.
    const int resident = resident_blocks(device_index, shape, kernel);
    if (resident < shape.blocks) {
        throw cuda_error("linked code: " + device + " holds " + std::to_string(resident) + " of its blocks, and " +
                         std::to_string(shape.blocks) + " wait for each other");
    }
    return {loaded, kernel};
}

}  // namespace laneway::cuda_backend
