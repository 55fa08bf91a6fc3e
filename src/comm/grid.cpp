#include "laneway/comm/grid.hpp"

#include <algorithm>

#include "laneway/base/error.hpp"

namespace laneway {

std::vector<pe_outline> outline_of(const machine& machine, std::uint64_t held_bytes, resident_blocks_on resident) {
    std::vector<pe_outline> pes;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        const device& device = *machine.device(pe);
        const auto blocks = [&machine, pe, resident](const launch_shape& shape) {
            return resident(machine, pe, shape);
        };
        pes.push_back({device.id().kind, device.name(), blocks, held_bytes + machine.service_bytes(pe)});
    }
    return pes;
}

std::vector<std::uint32_t> chunk_sizes(const message_traits& messages, std::size_t n_pes, bool on_gpus,
                                       const options& options) {
    constexpr std::size_t default_bytes = 16'384, min_bytes = 512, gpu_buffer_bytes = 192 * 1024;
    constexpr std::size_t cpu_rings_bytes = 512 * 1024;  // one chunk of each ring into a PE: all of them share one host
    const bool set = options.chunk_bytes != 0;
    std::size_t bytes = set ? options.chunk_bytes : default_bytes;
    if (!on_gpus && !set) bytes = std::min(bytes, std::max(cpu_rings_bytes / n_pes, messages.record_bytes));
    if (on_gpus) bytes = std::min(bytes, gpu_buffer_bytes / 2 / n_pes / messages.aggregation_buffers);
    bytes = std::min<std::size_t>(bytes, 1u << 30);
    if (bytes < messages.record_bytes) {
        throw usage_error("messages of " + std::to_string(messages.record_bytes) + " bytes are too large for " +
                          std::to_string(n_pes) + " PEs: a chunk may have " + std::to_string(bytes) +
                          " bytes, see chunk_bytes");
    }
    std::vector<std::uint32_t> sizes{static_cast<std::uint32_t>(bytes)};
    const std::size_t least = set ? bytes : std::max(min_bytes, messages.record_bytes);
    while (sizes.back() / 2 >= least) sizes.push_back(sizes.back() / 2);
    return sizes;
}

std::uint64_t max_lanes(const machine& machine, const options& options) {
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

namespace {

/// Sets aside what serves of a grid whose warps are wide.
void set_servers(pe_grid& grid, double share, bool in_every_block) {
    const auto part_of = [share](int all) { return std::max(1, static_cast<int>(all * share)); };
    if (!in_every_block || share <= share_for_nothing) {
        grid.server_blocks = grid.kind == device_kind::checked ? 1 : part_of(grid.shape.blocks);
        return;
    }
    // Each block keeps a warp for its own part of the work, block 0 beside the control warp.
    const int most = grid.shape.warps_per_block - 2 - (grid.flushers ? 1 : 0);
    grid.server_warps_a_block = std::min(most, part_of(grid.shape.warps_per_block));
}

}  // namespace

std::vector<pe_grid> size_grids(const grid_traits& program, const std::vector<pe_outline>& pes, const options& options,
                                std::size_t shared_bytes) {
    std::vector<pe_grid> grids;
    if (options.cpu_threads < 1 || options.cpu_threads > 1024) throw usage_error("cpu_threads: between 1 and 1024");
    for (const auto& pe : pes) {
        pe_grid grid;
        grid.kind = pe.kind;
        grid.flushers = program.has_flushers;
        grid.shape.shared_bytes = shared_bytes;
        switch (pe.kind) {
            case device_kind::cpu: grid.shape.blocks = options.cpu_threads; break;
            case device_kind::checked:
                grid.shape.blocks = options.checked_blocks;
                grid.shape.warps_per_block = options.checked_warps;
                break;
            case device_kind::cuda:
                grid.shape.warps_per_block = program.cuda_warps;
                grid.shape.blocks = pe.resident_blocks(grid.shape);
                if (options.gpu_blocks > 0) grid.shape.blocks = std::min(grid.shape.blocks, options.gpu_blocks);
                break;
        }
        // A PE that is alone serves only for what asks for it.
        const bool asks = pe.server_share > (grid.shape.blocks > 1 ? 0 : share_for_flushers);
        const bool alone = asks && pes.size() == 1, serves = asks || pes.size() > 1;
        const double wanted = alone ? pe.server_share : std::max(program.server_share, pe.server_share);
        const double server_share = options.server_share != 0 ? options.server_share : wanted;
        if (!(server_share > 0 && server_share < 1)) throw usage_error("server_share: between 0 and 1");
        if (serves && !grid.one_lane()) set_servers(grid, server_share, options.servers_in_every_block);
        // Where warps are wide, block 0 loses one warp to control and must keep another for its own part of the work.
        const bool narrow = !grid.one_lane() && grid.shape.warps_per_block < 2;
        if (narrow || grid.worker_warps() < 1 || (serves && grid.server_warps() < 1)) {
            throw usage_error(pe.name + ": too few blocks or warps for a serving and a working one");
        }
        grids.push_back(grid);
    }
    return grids;
}

comm_plan plan_program(const program_traits& program, const std::vector<pe_outline>& pes, const options& options) {
    const bool on_gpus = std::any_of(pes.begin(), pes.end(), [](const auto& p) { return p.kind == device_kind::cuda; });
    const auto sizes = chunk_sizes(program.messages, pes.size(), on_gpus, options);
    return plan_comm(options, pes, sizes, [&](std::uint32_t chunk_bytes) -> comm_draft {
        const std::size_t shared_bytes = program.shared_bytes(chunk_bytes, static_cast<int>(pes.size()));
        return {program.needs(chunk_bytes), size_grids(program.grid, pes, options, shared_bytes)};
    });
}

}  // namespace laneway
