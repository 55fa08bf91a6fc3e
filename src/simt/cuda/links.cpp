#include <exception>

#include "laneway/simt/cuda/support.hpp"
#include "simt/cuda/nvml_library.hpp"
#include "simt/cuda/nvml_links.hpp"

namespace laneway::cuda_backend {

namespace {

nvml_link_functions load_links() {
    nvml_link_functions found;
    const nvml_library nvml;
    nvml.load("nvmlInit_v2", found.begin);
    nvml.load("nvmlDeviceGetHandleByPciBusId_v2", found.find);
    nvml.load("nvmlDeviceGetNvLinkState", found.state);
    nvml.load("nvmlDeviceGetNvLinkRemotePciInfo_v2", found.remote);
    return found;
}

}  // namespace

std::optional<bool> joined_by_nvlink(int one, int other) {
    try {
        static const nvml_links links(load_links());
        return links.join(pci_address(one), pci_address(other));
    } catch (const std::exception&) {  // no such GPU
        return std::nullopt;
    }
}

}  // namespace laneway::cuda_backend
