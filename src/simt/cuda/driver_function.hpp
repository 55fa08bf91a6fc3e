// Functions of CUDA's driver, found while the program runs: it starts on hosts without a driver as well.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

#include "laneway/base/error.hpp"
#include "laneway/simt/cuda/check.hpp"

namespace laneway::cuda_backend {

/// The function of this name; its type is that of its declaration in cuda.h. Throws cuda_error where the driver is
/// older.
template <class Function>
Function driver_function(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult outcome{};
    check(cudaGetDriverEntryPointByVersion(name, &found, CUDART_VERSION, cudaEnableDefault, &outcome), name);
    if (found == nullptr) throw cuda_error(std::string("the driver has no ") + name);
    return reinterpret_cast<Function>(found);
}

}  // namespace laneway::cuda_backend
