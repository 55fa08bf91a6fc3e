// Sizing the persistent grids of a job.
#pragma once

#include <algorithm>

#include "laneway/base/error.hpp"
#include "laneway/comm/post_office.hpp"
#include "laneway/comm/routes.hpp"

namespace laneway {

/// Payload of a chunk for each type of message of a job, at most: what the options allow, less where a GPU's shared
/// memory would not hold two buffers for each of many PEs and types.
template <class Routes>
std::uint32_t fit_chunks(const machine& machine, const options& options) {
    using list = route_list<Routes>;
    constexpr std::size_t gpu_buffer_bytes = 192 * 1024;
    const auto pes = static_cast<std::size_t>(machine.n_pes());
    std::size_t bytes = options.chunk_bytes;
    if (machine.has_gpus()) bytes = std::min(bytes, gpu_buffer_bytes / 2 / pes / list::bins);
    if (bytes < list::record_bytes) {
        throw usage_error("messages of " + std::to_string(list::record_bytes) + " bytes are too large for " +
                          std::to_string(pes) + " PEs and chunks of " + std::to_string(options.chunk_bytes) +
                          " bytes: a chunk may have " + std::to_string(bytes));
    }
    return static_cast<std::uint32_t>(std::min<std::size_t>(bytes, 1u << 30));
}

/// What the mailbox program of these routes needs of a post office.
template <class Routes>
office_needs needs_of(std::uint32_t chunk_bytes) {
    using list = route_list<Routes>;
    return {list::slot_bytes(chunk_bytes), list::replies, list::answer_words,
            list::posts_onward ? list::message_bytes : 0};
}

/// More working lanes than a PE of the machine can have.
inline std::uint64_t most_lanes(const machine& machine, const options& options) {
    constexpr std::uint64_t lanes_a_multiprocessor = 2048;
    auto most = static_cast<std::uint64_t>(std::max(options.cpu_threads, 1));
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        const device& d = *machine.device(pe);
        std::uint64_t lanes = 0;
        if (d.is_gpu()) lanes = static_cast<std::uint64_t>(d.multiprocessors()) * lanes_a_multiprocessor;
        if (d.id().kind == device_kind::checked) {
            lanes = static_cast<std::uint64_t>(std::max(options.checked_blocks * options.checked_warps, 1)) *
                    checked::context::warp_lanes;
        }
        most = std::max(most, lanes);
    }
    return most;
}

/// Grid of every PE for `Program`, whose blocks need `shared_bytes`. On GPUs: all blocks that are resident at once, of
/// which a share serves where there are several PEs. Throws usage_error where a PE cannot hold the least grid.
template <class Program>
std::vector<pe_grid> size_grids(const machine& machine, const options& options, std::size_t shared_bytes) {
    std::vector<pe_grid> grids;
    const bool alone = machine.n_pes() == 1;
    if (options.cpu_threads < 1 || options.cpu_threads > 1024) throw usage_error("cpu_threads: between 1 and 1024");
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        pe_grid grid;
        grid.flushers = Program::has_flushers;
        grid.shape.shared_bytes = shared_bytes;
        switch (machine.device(pe)->id().kind) {
            case device_kind::cpu: grid.shape.blocks = options.cpu_threads; break;
            case device_kind::checked:
                grid.one_lane = false;
                grid.shape.blocks = options.checked_blocks;
                grid.shape.warps_per_block = options.checked_warps;
                grid.server_blocks = alone ? 0 : 1;
                break;
            case device_kind::cuda:
                grid.one_lane = false;
                grid.shape.warps_per_block = Program::cuda_warps;
                grid.shape.blocks = machine.resident_blocks<Program>(pe, grid.shape);
                if (options.gpu_blocks > 0) grid.shape.blocks = std::min(grid.shape.blocks, options.gpu_blocks);
                grid.server_blocks =
                    alone ? 0 : std::max(1, static_cast<int>(grid.shape.blocks * options.server_share));
                break;
        }
        // Where warps are wide, block 0 loses one warp to control and must keep another for its own part of the work.
        const bool narrow = !grid.one_lane && grid.shape.warps_per_block < 2;
        if (narrow || grid.worker_warps() < 1 || (!alone && grid.server_warps() < 1)) {
            throw usage_error(machine.device(pe)->name() + ": too few blocks or warps for a serving and a working one");
        }
        grids.push_back(grid);
    }
    return grids;
}

}  // namespace laneway
