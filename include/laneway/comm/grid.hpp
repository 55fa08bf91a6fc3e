// Sizing the persistent grids of a job, and all that its programs need of the resources for communication.
#pragma once

#include <algorithm>

#include "laneway/comm/comm_plan.hpp"
#include "laneway/comm/routes.hpp"
#include "laneway/simt/machine.hpp"

namespace laneway {

/// What the shape of a program's grids depends on.
struct grid_traits {
    int cuda_warps;       ///< of a GPU's block
    bool has_flushers;    ///< see roles.hpp
    double server_share;  ///< of a GPU's blocks

    template <class Program>
    static grid_traits of() {
        return {Program::cuda_warps, Program::has_flushers, Program::server_share};
    }
};

/// What the size of chunks depends on.
struct message_traits {
    std::size_t record_bytes;         ///< of the longest that is carried: the smallest payload of a chunk
    std::size_t aggregation_buffers;  ///< that a block has for each PE

    template <class Routes>
    static message_traits of() {
        using sizes = buffer_sizes<typename route_list<Routes>::carried>;
        // Without messages as with the smallest: see slot_bytes.
        return {std::max<std::size_t>(sizes::record_bytes, 1),
                std::max<std::size_t>(sizes::template count<route_list<Routes>>, 1)};
    }
};

/// What the mailbox program of these routes needs of the resources for communication.
template <class Routes>
comm_needs needs_of(std::uint32_t chunk_bytes) {
    using list = route_list<Routes>;
    return {buffer_sizes<typename list::carried>::slot_bytes(chunk_bytes), list::replies, list::answer_words,
            list::forwards ? list::message_bytes : 0};
}

/// All that the sizes of a program depend on.
struct program_traits {
    grid_traits grid;
    message_traits messages;
    std::size_t (*shared_bytes)(std::size_t chunk_bytes, int n_pes);
    comm_needs (*needs)(std::uint32_t chunk_bytes);

    template <class Program>
    static program_traits of() {
        using routes = typename Program::routes_type;
        return {grid_traits::of<Program>(), message_traits::of<routes>(), &Program::shared_bytes, &needs_of<routes>};
    }
};

using resident_blocks_on = int (*)(const machine&, int pe, const launch_shape&);
std::vector<pe_outline> outline_of(const machine& machine, std::uint64_t held_bytes, resident_blocks_on resident);
/// The PEs of a machine as the sizing of `Program` sees them. `held_bytes`: what the caller's own buffers take on each,
/// beside those of the machine's services.
template <class Program>
std::vector<pe_outline> outline_of(const machine& machine, std::uint64_t held_bytes = 0) {
    return outline_of(machine, held_bytes, [](const laneway::machine& all, int pe, const launch_shape& shape) {
        return all.resident_blocks<Program>(pe, shape);
    });
}

/// Payload of a chunk for each type of message of a job, at most: the sizes that a plan may choose from, the preferred
/// one first. The shared memory of GPUs must hold two buffers for each of many PEs and types. Throws usage_error where
/// the messages are too large.
std::vector<std::uint32_t> chunk_sizes(const message_traits& messages, std::size_t n_pes, bool on_gpus,
                                       const options& options);

/// More working lanes than a PE of the machine can have.
std::uint64_t max_lanes(const machine& machine, const options& options);

/// Grid of every PE for a program whose blocks need `shared_bytes`. On GPUs: all blocks that are resident at once, of
/// which a share serves where there are several PEs. Throws usage_error where a PE cannot hold the least grid.
std::vector<pe_grid> size_grids(const grid_traits& program, const std::vector<pe_outline>& pes, const options& options,
                                std::size_t shared_bytes);

/// All sizes of a program on these PEs. Throws usage_error as chunk_sizes, size_grids and plan_comm do.
comm_plan plan_program(const program_traits& program, const std::vector<pe_outline>& pes, const options& options);

}  // namespace laneway
