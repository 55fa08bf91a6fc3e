// When something was that a device has written down, by the host's clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "laneway/base/timeline.hpp"

namespace laneway {

/// CPU devices have the host's clock. A GPU's clock has one distance to it, of which each run says something: the first
/// sample was taken after the host began the run, the last one before it knew of the end. Checked devices have a
/// virtual time, which is stretched over the time that the run took.
class timeline_clocks {
public:
    /// `devices`: of each job.
    timeline_clocks(const std::vector<run_record>& runs, const std::vector<std::vector<std::string>>& devices);

    /// Within the run.
    [[nodiscard]] std::uint64_t host_ns(const run_record& run, std::size_t pe, std::uint64_t device_ns) const;
    /// "host", "aligned" or "virtual".
    [[nodiscard]] const char* kind(const run_record& run, std::size_t pe) const;
    /// Of an aligned clock: how far it may be off. Of others 0.
    [[nodiscard]] std::uint64_t error_ns(const run_record& run, std::size_t pe) const;

private:
    struct bounds {
        std::int64_t low, high;  ///< of what is added to the device's time
    };
    [[nodiscard]] bounds bounds_of(const run_record& run, std::size_t pe) const;

    const std::vector<std::vector<std::string>>& devices_;
    std::map<std::pair<int, std::size_t>, bounds> known_;  ///< by job and PE, of all runs together
};

}  // namespace laneway
