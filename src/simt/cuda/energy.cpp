#include <exception>

#include "laneway/simt/cuda/support.hpp"
#include "simt/cuda/nvml_library.hpp"
#include "simt/cuda/nvml_meter.hpp"

namespace laneway::cuda_backend {

namespace {

nvml_functions load_meter() {
    nvml_functions found;
    const nvml_library nvml;
    nvml.load("nvmlInit_v2", found.begin);
    nvml.load("nvmlDeviceGetHandleByPciBusId_v2", found.find);
    nvml.load("nvmlDeviceGetTotalEnergyConsumption", found.read);
    return found;
}

}  // namespace

std::optional<double> consumed_joules(int index) {
    try {
        static const nvml_meter meter(load_meter());
        return meter.joules(pci_address(index));
    } catch (const std::exception&) {  // no such GPU
        return std::nullopt;
    }
}

}  // namespace laneway::cuda_backend
