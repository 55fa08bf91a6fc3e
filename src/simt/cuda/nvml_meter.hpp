// Reading NVML's meter of energy.
#pragma once

#include <optional>
#include <string>

namespace laneway::cuda_backend {

/// The three functions of nvml.h that are needed, by its binary interface; nullptr: not found.
struct nvml_functions {
    int (*begin)() = nullptr;                                              ///< nvmlInit_v2
    int (*find)(const char* pci_address, void** device) = nullptr;         ///< nvmlDeviceGetHandleByPciBusId_v2
    int (*read)(void* device, unsigned long long* millijoules) = nullptr;  ///< nvmlDeviceGetTotalEnergyConsumption
};

/// The meters of all GPUs.
class nvml_meter {
public:
    explicit nvml_meter(const nvml_functions& functions) : functions_(functions) {
        const bool found = functions.begin != nullptr && functions.find != nullptr && functions.read != nullptr;
        ready_ = found && functions.begin() == success;
    }
    /// Joules since the GPU's driver was loaded; empty where NVML is not there, does not know the GPU, or cannot read.
    [[nodiscard]] std::optional<double> joules(const std::string& pci_address) const {
        void* device = nullptr;
        unsigned long long millijoules = 0;
        if (!ready_ || functions_.find(pci_address.c_str(), &device) != success) return std::nullopt;
        if (functions_.read(device, &millijoules) != success) return std::nullopt;
        return static_cast<double>(millijoules) / 1e3;
    }

private:
    static constexpr int success = 0;
    nvml_functions functions_;
    bool ready_ = false;
};

}  // namespace laneway::cuda_backend
