#include "timeline_clocks.hpp"

#include <algorithm>

namespace laneway {

namespace {

std::int64_t difference(std::uint64_t host_ns, std::uint64_t device_ns) {
    return static_cast<std::int64_t>(host_ns - device_ns);
}

}  // namespace

timeline_clocks::timeline_clocks(const std::vector<run_record>& runs,
                                 const std::vector<std::vector<std::string>>& devices)
    : devices_(devices) {
    for (const run_record& run : runs) {
        for (std::size_t pe = 0; pe < run.pes.size(); ++pe) {
            if (run.pes[pe].samples.empty()) continue;
            const auto& samples = run.pes[pe].samples;
            const bounds said{difference(run.begin_ns, samples.front().time_ns),
                              difference(run.end_ns, samples.back().time_ns)};
            const auto [known, first] = known_.try_emplace({run.job, pe}, said);
            if (first) continue;
            known->second = {std::max(known->second.low, said.low), std::min(known->second.high, said.high)};
        }
    }
}

const char* timeline_clocks::kind(const run_record& run, std::size_t pe) const {
    const std::string& device = devices_[static_cast<std::size_t>(run.job)][pe];
    if (device.starts_with("cuda")) return "aligned";
    return device.starts_with("checked") ? "virtual" : "host";
}

/// Where clocks drift apart, no distance suits all runs: then each has what it says itself.
timeline_clocks::bounds timeline_clocks::bounds_of(const run_record& run, std::size_t pe) const {
    const auto known = known_.find({run.job, pe});
    if (known == known_.end()) return {0, 0};
    if (known->second.low <= known->second.high) return known->second;
    const auto& samples = run.pes[pe].samples;
    return {difference(run.begin_ns, samples.front().time_ns), difference(run.end_ns, samples.back().time_ns)};
}

std::uint64_t timeline_clocks::error_ns(const run_record& run, std::size_t pe) const {
    if (*kind(run, pe) != 'a') return 0;
    const bounds all = bounds_of(run, pe);
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, (all.high - all.low) / 2));
}

std::uint64_t timeline_clocks::host_ns(const run_record& run, std::size_t pe, std::uint64_t device_ns) const {
    std::uint64_t time = device_ns;
    const auto& samples = run.pes[pe].samples;
    if (*kind(run, pe) == 'a') {
        const bounds all = bounds_of(run, pe);
        time = device_ns + static_cast<std::uint64_t>(all.low + (all.high - all.low) / 2);
    } else if (*kind(run, pe) == 'v') {
        const double whole = samples.empty() ? 0 : static_cast<double>(samples.back().time_ns);
        const double part = whole > 0 ? std::min(1.0, static_cast<double>(device_ns) / whole) : 0;
        time = run.begin_ns + static_cast<std::uint64_t>(part * static_cast<double>(run.end_ns - run.begin_ns));
    }
    return std::clamp(time, run.begin_ns, std::max(run.begin_ns, run.end_ns));
}

}  // namespace laneway
