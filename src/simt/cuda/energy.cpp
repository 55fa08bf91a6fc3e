// NVML comes with the driver, not with the toolkit: it is loaded where it is there.
#include <dlfcn.h>

#include <exception>

#include "laneway/simt/cuda/support.hpp"

namespace laneway::cuda_backend {

namespace {

/// The three functions of nvml.h that are needed, by its binary interface.
class nvml {
public:
    static const nvml& instance() {
        static const nvml made;
        return made;
    }
    [[nodiscard]] std::optional<double> joules(const std::string& pci_address) const {
        void* device = nullptr;
        unsigned long long millijoules = 0;
        if (!ready_ || find_(pci_address.c_str(), &device) != success) return std::nullopt;
        if (read_(device, &millijoules) != success) return std::nullopt;
        return static_cast<double>(millijoules) / 1e3;
    }

private:
    static constexpr int success = 0;

    nvml() {
        void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return;
        const auto begin = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
        find_ = reinterpret_cast<find_function>(dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
        read_ = reinterpret_cast<read_function>(dlsym(library, "nvmlDeviceGetTotalEnergyConsumption"));
        ready_ = begin != nullptr && find_ != nullptr && read_ != nullptr && begin() == success;
    }

    using find_function = int (*)(const char* pci_address, void** device);
    using read_function = int (*)(void* device, unsigned long long* millijoules);
    find_function find_ = nullptr;
    read_function read_ = nullptr;
    bool ready_ = false;
};

}  // namespace

std::optional<double> consumed_joules(int index) {
    try {
        return nvml::instance().joules(pci_address(index));
    } catch (const std::exception&) {  // no such GPU
        return std::nullopt;
    }
}

}  // namespace laneway::cuda_backend
