// Running a functor over one scheme of aggregation, and what it cost.
#pragma once

#include <memory>
#include <vector>

#include "block_direct.hpp"
#include "device_indirect.hpp"
#include "hierarchy.hpp"
#include "host_indirect.hpp"
#include "laneway/comm/grid.hpp"
#include "laneway/runtime.hpp"
#include "program.hpp"
#include "warp_direct.hpp"

namespace laneway::study {

/// What a run cost beside its report.
struct study_result {
    run_report report;
    std::uint64_t chunks = 0;
    std::size_t buffer_bytes =
        0;  ///< of one PE, at most: aggregation buffers in shared, PE and host memory, and queues

    /// Mean over the chunks that left; 0 where there were none.
    [[nodiscard]] double messages_per_chunk() const {
        return chunks == 0 ? 0.0 : static_cast<double>(report.carried) / static_cast<double>(chunks);
    }
};

/// Adds a scheme's helpers to the grid of a PE. Throws usage_error where none would be left to post.
inline study_grid with_helpers(const machine& machine, int pe, const pe_grid& grid, int helper_warps) {
    study_grid made;
    made.grid = grid;
    if (grid.one_lane()) {
        made.workers = made.helpers = grid.shape.blocks;
        return made;
    }
    made.lanes = grid.warp_lanes();
    made.helper_warps = machine.n_pes() == 1 ? 0 : helper_warps;
    made.helpers = made.worker_blocks() * made.helper_warps;
    made.workers = made.worker_blocks() * (grid.shape.warps_per_block - made.helper_warps);
    if (grid.server_blocks == 0) --made.workers;  // the control warp
    if (grid.server_warps_a_block > 0) throw usage_error("the study of aggregation has whole blocks that serve");
    if (made.workers < 1) throw usage_error(machine.device(pe)->name() + ": too few warps for helping ones");
    return made;
}

/// Runs `functor(ctx, box)` on every working lane of every PE, with messages aggregated by `Scheme<Message>`, and
/// returns when every message has been served by `handler(ctx, message)` on the PE it was posted to. A functor that may
/// run over any scheme posts with walk (walks.hpp). `runtime` was made with options.job. Throws as runtime::run does.
template <template <class> class Scheme, class Message, class Handler, class Functor>
study_result run_study(runtime& runtime, const study_options& options, const Handler& handler, const Functor& functor) {
    using scheme = Scheme<Message>;
    using program = study_program<scheme, Message, Handler, Functor>;
    machine& machine = runtime.machine();
    using carried = typename carried_of<scheme, Message>::type;
    const int max_lanes = machine.has_gpus() ? program::cuda_warps * 32 : checked::context::warp_lanes * 32;
    const auto buffer_bytes_of = [&](std::uint32_t chunk_bytes) {
        return scheme::shared_bytes(chunk_shape<carried>::fitting(chunk_bytes), machine.n_pes(), max_lanes);
    };
    const auto pes = outline_of<program>(machine);
    const auto sizes =
        chunk_sizes(message_traits::of<routes<route<carried, Handler>>>(), pes.size(), machine.has_gpus(), options.job);
    const comm_plan plan = plan_comm(options.job, pes, sizes, [&](std::uint32_t chunk_bytes) -> comm_draft {
        return {{chunk_shape<carried>::fitting(chunk_bytes).bytes(), second_hops<scheme>, 0, 0},
                size_grids(grid_traits::of<program>(), pes, options.job,
                           sizeof(loop_state) + buffer_bytes_of(chunk_bytes))};
    });
    const auto shape = chunk_shape<carried>::fitting(plan.chunk_bytes);
    const std::size_t buffers = buffer_bytes_of(plan.chunk_bytes);
    std::vector<study_grid> grids;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        const pe_grid& grid = plan.grids[static_cast<std::size_t>(pe)];
        grids.push_back(with_helpers(machine, pe, grid, scheme::helper_warps(options, grid.shape.warps_per_block)));
    }
    comm_resources resources(machine, options.job, plan);
    typename scheme::memory memory(machine, options, shape, grids);
    std::vector<buffer<std::uint32_t>> warps_done;
    std::vector<program> programs;
    std::vector<launch_shape> shapes;
    std::uint64_t ranks = 0;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        const study_grid& grid = grids[static_cast<std::size_t>(pe)];
        warps_done.emplace_back(machine.device(pe), 1);
        const links_ref links = resources.links(pe);
        const auto view = memory.view_of(pe, resources);
        work_counters* tally = links.work;
        if constexpr (through_host<scheme>) tally = view.tally;
        programs.push_back({links, resources.termination(pe, {}), view, shape, handler, functor, tally,
                            warps_done.back().data(), ranks, 0, grid.workers, grid.helpers, grid.helper_warps,
                            grid.grid.server_blocks});
        shapes.push_back(grid.grid.shape);
        ranks += static_cast<std::uint64_t>(grid.workers) * static_cast<std::uint64_t>(grid.lanes);
    }
    for (auto& p : programs) p.ranks = ranks;
    memory.reset();
    study_result result;
    const double seconds =
        machine.run(programs, shapes, options.job.timeout_seconds, [&] { return resources.ring_fills(); });
    result.report = resources.report(seconds);
    result.chunks = result.report.chunks();
    if constexpr (through_host<scheme>) {
        memory.account(result.report);
        result.chunks = memory.chunks();
    }
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        const auto blocks = static_cast<std::size_t>(grids[static_cast<std::size_t>(pe)].worker_blocks());
        result.buffer_bytes = std::max(result.buffer_bytes, blocks * buffers + memory.bytes(pe));
    }
    return result;
}

}  // namespace laneway::study
