// What the benchmarks of queues of one PE share: every warp puts values in and takes as many out, its own or others',
// turn by turn, by whole warps or by each lane for itself; a value counts once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench_support.hpp"
#include "laneway/simt/checked/context.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway::bench {

/// The arguments of these benchmarks.
inline std::map<std::string, std::string> passing_defaults() {
    return {{"devices", "cpu:1"}, {"groups", "warps;lanes"}, {"blocks", "0"}, {"warps", "32"}, {"values-log2", "0"},
            {"runs", "5"},        {"timeout", "60"},         {"json", ""}};
}

/// Whether whole warps pass values, of `groups`.
inline bool passes_by_warps(const std::string& group) {
    if (group != "warps" && group != "lanes") throw usage_error("groups: warps or lanes, not " + group);
    return group == "warps";
}

/// The grid, and how many values its lanes pass.
struct passing_job {
    launch_shape shape;
    std::uint64_t lanes = 0;
    std::uint64_t each = 0;  ///< values of a lane

    [[nodiscard]] std::uint64_t values() const { return lanes * each; }
    /// Of the values 1 to values().
    [[nodiscard]] std::uint64_t sum() const { return values() * (values() + 1) / 2; }
};

/// From the arguments `blocks` (0: all multiprocessors of a GPU, or two of a CPU device), `warps` (of a GPU's block)
/// and `values-log2` (0: 28 on a GPU, else 20).
inline passing_job passing_job_for(const arguments& args, const machine& machine) {
    const device_kind kind = machine.device(0)->id().kind;
    const bool gpu = kind == device_kind::cuda;
    passing_job made;
    made.shape.blocks = static_cast<int>(args.number("blocks", 0, 1 << 20));
    if (made.shape.blocks == 0) made.shape.blocks = gpu ? machine.device(0)->multiprocessors() : 2;
    made.shape.warps_per_block = gpu ? static_cast<int>(args.number("warps", 1, 32)) : 1;
    const int width = gpu ? 32 : kind == device_kind::checked ? checked::context::warp_lanes : 1;
    made.lanes = static_cast<std::uint64_t>(made.shape.blocks * made.shape.warps_per_block * width);
    const std::uint64_t log2 = args.number("values-log2", 0, 40);
    made.each = std::max<std::uint64_t>(1, (std::uint64_t{1} << (log2 != 0 ? log2 : gpu ? 28 : 20)) / made.lanes);
    return made;
}

/// Runs a program of one PE on a grid that must be resident; seconds.
template <class Program>
double run_passing(machine& machine, const Program& program, const launch_shape& shape, double timeout_s) {
    const int fits = machine.resident_blocks<Program>(0, shape);
    if (fits < shape.blocks) throw usage_error("blocks: at most " + std::to_string(fits) + " are resident");
    return machine.run(std::vector{program}, std::vector{shape}, timeout_s, [] { return std::string{}; });
}

/// Times `seconds()` as often as the argument `runs` says, after a first run that warms up, prints a line and writes
/// one.
template <class Seconds>
void report_passing(const arguments& args, const passing_job& job,
                    std::vector<std::pair<std::string, std::string>> text, json_lines& json, Seconds&& seconds) {
    std::vector<double> times;
    for (std::uint64_t i = 0; i <= args.number("runs", 1); ++i) {
        const double time = seconds();
        if (i > 0) times.push_back(time);
    }
    const auto spread = spread_of(times);
    const auto values = static_cast<double>(job.values());
    std::string name;
    for (const auto& part : text) name += part.second + "  ";
    std::printf("%-48s %10.3f M values/s (%.3f to %.3f)\n", name.c_str(), values / spread.median / 1e6,
                values / spread.most / 1e6, values / spread.least / 1e6);
    json.write(text, {{"values", values},
                      {"blocks", static_cast<double>(job.shape.blocks)},
                      {"warps_per_block", static_cast<double>(job.shape.warps_per_block)},
                      {"rate", values / spread.median},
                      {"median_s", spread.median},
                      {"min_s", spread.least},
                      {"max_s", spread.most}});
}

}  // namespace laneway::bench
