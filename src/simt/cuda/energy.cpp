// NVML comes with the driver, not with the toolkit: it is loaded where it is there.
#include <dlfcn.h>

#include <exception>
#include <type_traits>

#include "laneway/simt/cuda/support.hpp"
#include "simt/cuda/nvml_meter.hpp"

namespace laneway::cuda_backend {

namespace {

nvml_functions load_nvml() {
    nvml_functions found;
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return found;
    const auto load = [library](const char* name, auto& function) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    load("nvmlInit_v2", found.begin);
    load("nvmlDeviceGetHandleByPciBusId_v2", found.find);
    load("nvmlDeviceGetTotalEnergyConsumption", found.read);
    return found;
}

}  // namespace

std::optional<double> consumed_joules(int index) {
    try {
        static const nvml_meter meter(load_nvml());
        return meter.joules(pci_address(index));
    } catch (const std::exception&) {  // no such GPU
        return std::nullopt;
    }
}

}  // namespace laneway::cuda_backend
