// The paths between the devices of a context, as the driver describes them. Host only.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "laneway/flow/endpoint.hpp"
#include "laneway/simt/device.hpp"

namespace laneway::flow {

/// How bytes get from one endpoint's memory to another's.
enum class path_kind {
    same_memory,   ///< both are CPU devices or the host, or one GPU
    host_to_gpu,   ///< between the host's memory and a GPU's
    nvlink,        ///< GPUs that reach each other's memory over NVLink, as NVML says; else with atomics that work there
    pcie,          ///< GPUs that reach each other's memory in another way
    through_host,  ///< GPUs that do not: the driver copies by way of the host
};

constexpr const char* to_string(path_kind kind) {
    switch (kind) {
        case path_kind::same_memory: return "same memory";
        case path_kind::host_to_gpu: return "host to GPU";
        case path_kind::nvlink: return "NVLink";
        case path_kind::pcie: return "PCIe, peer access";
        case path_kind::through_host: return "through the host";
    }
    return "unknown";
}

struct path_info {
    path_kind kind = path_kind::same_memory;
    bool peer_access = true;  ///< kernels of the one reach memory of the other
    int rank = 0;             ///< the driver's rating among the paths between GPUs, 0 the best
};

/// Any thread.
class topology {
public:
    explicit topology(std::vector<std::shared_ptr<device>> devices);

    /// Numbers of devices, or host_memory; throws usage_error for others.
    [[nodiscard]] const path_info& path(int from, int to) const;
    /// Bytes a second of large copies, measured at the first question of the process about two such devices; takes some
    /// ten milliseconds then. The devices do nothing else meanwhile if the number is to mean something.
    [[nodiscard]] double bandwidth(int from, int to) const;
    /// A line for each pair of devices: "cuda:0 -> cuda:1: NVLink".
    [[nodiscard]] std::vector<std::string> lines() const;

private:
    [[nodiscard]] std::size_t place(int from, int to) const;
    [[nodiscard]] std::string name(int device) const;
    [[nodiscard]] double measure(int from, int to) const;

    std::vector<std::shared_ptr<device>> devices_;
    std::vector<path_info> paths_;  ///< (n + 1) × (n + 1), the host first
};

}  // namespace laneway::flow
