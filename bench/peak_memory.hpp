// The most memory that a benchmark's devices and its process have held at once.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#include "laneway/base/error.hpp"
#include "laneway/base/report.hpp"

namespace laneway::bench {

/// Of a device of the run; its program may give all of it back when it ends.
inline std::uint64_t device_peak_bytes(const run_report& report) {
    if (report.device_bytes.empty()) throw device_fault("the run does not tell what its devices held");
    return *std::max_element(report.device_bytes.begin(), report.device_bytes.end());
}
/// Starts anew what host_peak_bytes counts, where the system can.
inline void forget_host_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }
/// The most that this process has held since then, or since it began.
inline std::uint64_t host_peak_bytes() {
    std::ifstream lines("/proc/self/status");
    std::string word;
    while (lines >> word) {
        std::uint64_t kibibytes = 0;
        if (word == "VmHWM:" && lines >> kibibytes) return kibibytes * 1024;
    }
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) == 0) return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    throw device_fault("the system does not tell what the process has held");
}

}  // namespace laneway::bench
