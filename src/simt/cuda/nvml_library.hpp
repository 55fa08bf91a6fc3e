// NVML comes with the driver, not with the toolkit: it is loaded where it is there.
#pragma once

#include <dlfcn.h>

namespace laneway::cuda_backend {

/// Functions of NVML by their names; nullptr where there is none.
class nvml_library {
public:
    template <class Function>
    void load(const char* name, Function*& function) const {
        if (library_ != nullptr) function = reinterpret_cast<Function*>(dlsym(library_, name));
    }

private:
    void* library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);  // stays, as what is found in it does
};

}  // namespace laneway::cuda_backend
