// Turning CUDA's error codes into exceptions.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

#include "laneway/base/error.hpp"

namespace laneway::cuda_backend {

inline void check(cudaError_t code, const char* what, std::source_location where = std::source_location::current()) {
    if (code == cudaSuccess) return;
    cudaGetLastError();  // clears the sticky-free errors, so that a later call does not report this one again
    throw cuda_error(std::string(what) + ": " + cudaGetErrorString(code), where);
}

/// Makes a device current for the enclosing scope.
class device_scope {
public:
    explicit device_scope(int index) {
        check(cudaGetDevice(&before_), "cudaGetDevice");
        check(cudaSetDevice(index), "cudaSetDevice");
    }
    ~device_scope() { cudaSetDevice(before_); }
    device_scope(const device_scope&) = delete;
    device_scope& operator=(const device_scope&) = delete;

private:
    int before_ = 0;
};

}  // namespace laneway::cuda_backend
