// What NVML says of NVLink between GPUs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace laneway::cuda_backend {

/// nvmlPciInfo_t of nvml.h.
struct nvml_pci_info {
    char legacy_address[16];
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned pci_device;
    unsigned pci_subsystem;
    char address[32];
};

/// The functions of nvml.h that are needed, by its binary interface; nullptr: not found.
struct nvml_link_functions {
    int (*begin)() = nullptr;                                          ///< nvmlInit_v2
    int (*find)(const char* pci_address, void** device) = nullptr;     ///< nvmlDeviceGetHandleByPciBusId_v2
    int (*state)(void* device, unsigned link, int* active) = nullptr;  ///< nvmlDeviceGetNvLinkState
    /// nvmlDeviceGetNvLinkRemotePciInfo_v2
    int (*remote)(void* device, unsigned link, nvml_pci_info* end) = nullptr;
};

/// The links of all GPUs.
class nvml_links {
public:
    explicit nvml_links(const nvml_link_functions& functions) : functions_(functions) {
        const bool found = functions.begin != nullptr && functions.find != nullptr && functions.state != nullptr &&
                           functions.remote != nullptr;
        ready_ = found && functions.begin() == success;
    }
    /// Whether links lead from the one GPU to the other, or from both to a switch; empty where NVML cannot say.
    [[nodiscard]] std::optional<bool> join(const std::string& one, const std::string& other) const {
        const auto ends = ends_of(one), others = ends_of(other);
        if (!ends || !others) return std::nullopt;
        const auto to = place_of(other);
        return std::any_of(ends->begin(), ends->end(), [&](const link_end& end) {
            if (end.place == to) return true;
            const auto is_same = [&](const link_end& its) { return its.place == end.place; };
            return !end.is_gpu && std::any_of(others->begin(), others->end(), is_same);
        });
    }

private:
    static constexpr int success = 0, wrong_argument = 2, not_supported = 3;
    static constexpr unsigned max_links = 64;  // NVML refuses those that a GPU does not have

    using pci_place = std::array<unsigned, 3>;  ///< domain, bus and device
    struct link_end {
        pci_place place{};
        bool is_gpu = false;
    };

    static pci_place place_of(const std::string& address) {
        pci_place place{};
        if (std::sscanf(address.c_str(), "%x:%x:%x", &place[0], &place[1], &place[2]) != 3) return {};
        return place;
    }

    /// Of the active links of a GPU.
    [[nodiscard]] std::optional<std::vector<link_end>> ends_of(const std::string& address) const {
        void* device = nullptr;
        if (!ready_ || functions_.find(address.c_str(), &device) != success) return std::nullopt;
        std::vector<link_end> ends;
        for (unsigned link = 0; link < max_links; ++link) {
            int active = 0;
            const int answer = functions_.state(device, link, &active);
            if (answer == wrong_argument || answer == not_supported) break;
            if (answer != success) return std::nullopt;
            if (active == 0) continue;
            nvml_pci_info far{};
            if (functions_.remote(device, link, &far) != success) return std::nullopt;
            const pci_place place{far.domain, far.bus, far.device};
            if (place == pci_place{}) return std::nullopt;  // as a virtual machine hides it
            void* gpu = nullptr;
            ends.push_back({place, functions_.find(far.address, &gpu) == success});
        }
        return ends;
    }

    nvml_link_functions functions_;
    bool ready_ = false;
};

}  // namespace laneway::cuda_backend
