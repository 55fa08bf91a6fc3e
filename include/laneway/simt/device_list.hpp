// Which devices a job runs on: finding them and parsing "cuda:0-3,cpu:2".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace laneway {

enum class device_kind { cuda, cpu, checked };

/// One PE's device. CPU devices are numbered from 0 in the order they are listed.
struct device_id {
    device_kind kind = device_kind::cpu;
    int index = 0;

    friend bool operator==(const device_id&, const device_id&) = default;
};

/// "cuda:0", "cpu:1", "checked:0".
std::string to_string(const device_id& id);

/// One line of `laneway devices`: a device that can be used, or a reason why a kind cannot.
struct device_finding {
    std::string name;         ///< "cuda:0", "cpu"
    std::string description;  ///< "NVIDIA H200, 132 multiprocessors, 139 GiB"
    bool usable = true;
    std::string reason;  ///< why not, where it is not usable
};

/// Everything that was looked for on this host, found or not. Never throws for a missing driver or GPU.
std::vector<device_finding> find_devices();

/// Parses a device list. "cuda": every GPU; "cuda:0-3"; "cpu": one CPU device a core; "cpu:4": four CPU devices;
/// "checked:4": four CPU devices under the seeded scheduler; parts joined by commas. Empty: every GPU, else "cpu".
/// Throws usage_error for nonsense, a GPU that does not exist or is named twice, and checked devices beside others.
std::vector<device_id> parse_devices(std::string_view text);

}  // namespace laneway
