// What the programs of this folder have in common: options, and what a run tells.
#pragma once

#include <algorithm>

#include "laneway/base/options.hpp"
#include "laneway/base/report.hpp"
#include "laneway/fork_join.hpp"

namespace laneway::apps {

struct recursion_options {
    options job;
    std::uint32_t width = 0;                ///< of channels; 0: chosen by the library
    std::uint64_t memory_bytes = 64 << 20;  ///< of channels on a PE
    std::uint32_t grain = 0;                ///< what one lane, or block, does by itself; 0: the program's own choice
    /// Who decides what warps serve. Where not every warp does, warps keep nothing, and no work moves between PEs.
    channel_scheduler scheduler = channel_scheduler::every_warp;
};

struct recursion_report {
    run_report run;
    channel_statistics channels;
    std::uint32_t width = 0;  ///< that was used
    std::uint64_t roots = 1;  ///< calls that the host has made, on all PEs in turn
};

/// The options of a fork-join program so many levels deep.
inline fork_join_options fork_join_options_of(const recursion_options& options, std::uint32_t levels) {
    return {levels, options.width, options.memory_bytes};
}

/// Calls `run(policy)` with the library's policy, by which `who` decides.
template <class Run>
auto run_by(channel_scheduler who, const Run& run) {
    if (who == channel_scheduler::one_warp) return run(warp_scheduler<>{});
    if (who == channel_scheduler::host_thread) return run(host_scheduler<>{});
    return run(deepest_or_fullest_first{});
}
/// Calls a function of a fork-join program once for each of the arguments.
template <class Function, class Program>
auto call_all(Program& program, const recursion_options& options,
              const std::vector<typename Function::arguments>& all) {
    return run_by(options.scheduler,
                  [&](const auto& policy) { return program.template run_with<Function>(policy, all); });
}

template <class Program>
recursion_report report_of(const Program& program, std::uint64_t roots = 1) {
    return {program.report(), program.statistics(), program.width(), roots};
}

/// Calls that a tree is split into at its top, so that every PE has several: their trees differ in size. One PE has the
/// whole tree as one call. Not more than the first level has room for.
inline std::uint64_t roots_for(const runtime& rt, std::uint32_t width) {
    constexpr std::uint32_t each = 16;
    return rt.n_pes() == 1 ? 1 : static_cast<std::uint64_t>(rt.n_pes()) * std::min(width, each);
}

/// Two results that a continuation adds up.
template <class Number>
struct add_both {
    struct arguments {
        Number left, right;
    };
    using result = Number;
    static constexpr bool follows = true;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& sum, Task& task) const {
        task.finish(ctx, sum.left + sum.right);
    }
};

}  // namespace laneway::apps
