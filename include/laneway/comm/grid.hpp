// Sizing the persistent grids of a job.
#pragma once

#include <algorithm>

#include "laneway/base/error.hpp"
#include "laneway/comm/bin.hpp"
#include "laneway/comm/post_office.hpp"

namespace laneway {

/// Shape of the chunks of a job: as large as the options allow, smaller where a GPU's shared memory would not hold two
/// buffers for each of many PEs.
template <class Message>
chunk_shape<Message> fit_chunks(const machine& machine, const options& options) {
    constexpr std::size_t gpu_buffer_bytes = 192 * 1024;
    std::size_t bytes = options.chunk_bytes;
    if (machine.has_gpus()) bytes = std::min(bytes, gpu_buffer_bytes / 2 / static_cast<std::size_t>(machine.n_pes()));
    if (bytes < sizeof(Message)) {
        throw usage_error("messages of " + std::to_string(sizeof(Message)) + " bytes are too large for " +
                          std::to_string(machine.n_pes()) + " PEs and chunks of " +
                          std::to_string(options.chunk_bytes) + " bytes: a chunk may have " + std::to_string(bytes));
    }
    return chunk_shape<Message>::fitting(bytes);
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
