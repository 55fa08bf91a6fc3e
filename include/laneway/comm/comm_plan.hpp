// How much memory comm_resources takes: the one place that knows the sizes of its parts, for those that choose,
// allocate and report them. Pure arithmetic: it needs no device.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/comm/roles.hpp"
#include "laneway/simt/device_list.hpp"
#include "laneway/simt/environment.hpp"

namespace laneway {

/// Grid of one PE and how its blocks share the roles.
struct pe_grid {
    launch_shape shape;
    int server_blocks = 0;
    bool flushers = false;  ///< the last warp of each working block only flushes, see roles
    device_kind kind = device_kind::cpu;
    int server_warps_a_block = 0;  ///< of every block, where no whole block serves

    /// Warps of one lane: every warp has all roles.
    [[nodiscard]] bool one_lane() const { return kind == device_kind::cpu; }
    [[nodiscard]] int warp_lanes() const;
    [[nodiscard]] server_layout servers() const { return {server_blocks, server_warps_a_block}; }
    [[nodiscard]] int server_warps() const;
    [[nodiscard]] int worker_warps() const;
    [[nodiscard]] std::uint32_t worker_blocks() const {
        return static_cast<std::uint32_t>(shape.blocks - server_blocks);
    }
    [[nodiscard]] std::uint64_t worker_lanes() const {
        return static_cast<std::uint64_t>(worker_warps()) * static_cast<std::uint64_t>(warp_lanes());
    }
    friend bool operator==(const pe_grid&, const pe_grid&) = default;
};

/// What a program needs of the resources for communication, beside rings for requests.
struct comm_needs {
    std::uint32_t slot_bytes = 0;    ///< largest payload of a chunk
    bool replies = false;            ///< rings for replies as well
    std::uint32_t answer_words = 0;  ///< words of 32 bits of the longest answer to a call; 0: no calls
    std::size_t forward_bytes = 0;   ///< largest message that handlers forward; 0: none
    friend bool operator==(const comm_needs&, const comm_needs&) = default;
};

/// A PE as sizes depend on it: one of a machine, or one that a test describes.
struct pe_outline {
    device_kind kind = device_kind::cpu;
    std::string name;
    std::function<int(const launch_shape&)> resident_blocks;  ///< blocks that a GPU holds at once
    std::uint64_t held_bytes = 0;                             ///< what the library's buffers take there already
    /// Of its blocks that serve, at least, also where it is the only PE: what components ask for; 0: nothing.
    double server_share = 0;
};

/// Sizes of all parts of comm_resources. Memory counts for the PE that reads it, wherever it lies, and
/// staging for the PE that writes it; a block's aggregation buffers count though on a GPU they lie in its shared
/// memory. What allocators round up to does not count.
struct comm_plan {
    std::uint32_t chunk_bytes = 0;  ///< payload of a chunk, at most
    comm_needs needs;
    std::vector<pe_grid> grids;
    std::vector<std::uint32_t> ring_slots;  ///< of each ring into the PE
    std::uint64_t forward_slots = 0;
    std::uint32_t samples = 0;  ///< of termination detection, on PE 0
    std::vector<std::uint64_t> held_bytes;
    int shut_pe = -1;  ///< injected fault: a PE that takes nothing from host threads
    transport_model transport = transport_model::mapped;

    [[nodiscard]] std::size_t n_pes() const { return grids.size(); }
    /// Of each PE's grid.
    [[nodiscard]] std::vector<launch_shape> shapes() const;
    /// On all PEs.
    [[nodiscard]] std::uint64_t worker_lanes() const;
    /// Slots, words and flags of a ring into the PE.
    [[nodiscard]] std::uint64_t ring_bytes(std::size_t pe) const;
    /// Credits of a ring into the PE; their reader is the ring's source.
    [[nodiscard]] std::uint64_t credit_bytes(std::size_t pe) const;
    /// Slots for answers that one other PE writes for this one's lanes.
    [[nodiscard]] std::uint64_t answer_bytes(std::size_t pe) const;
    [[nodiscard]] std::uint64_t forward_bytes() const;
    /// Words of a round of termination detection from a PE's parent, and to it.
    [[nodiscard]] static std::uint64_t command_bytes();
    [[nodiscard]] static std::uint64_t reply_bytes();
    /// Everything that counts for the PE: what options::buffer_bytes bounds.
    [[nodiscard]] std::uint64_t bytes(std::size_t pe) const;

    friend bool operator==(const comm_plan&, const comm_plan&) = default;

private:
    [[nodiscard]] std::uint64_t ring_set_bytes(std::size_t pe) const;
    [[nodiscard]] std::uint64_t termination_bytes(std::size_t pe) const;
    [[nodiscard]] std::uint64_t children(std::size_t pe) const;
    [[nodiscard]] std::uint64_t staging_bytes(std::size_t pe) const;
};

/// What a program asks for where chunks have at most so many bytes.
struct comm_draft {
    comm_needs needs;
    std::vector<pe_grid> grids;
};

/// Chooses the sizes that options leave open so that no PE takes more than options.buffer_bytes. In this order:
/// 1. The forward queue has 262,144 slots, halved until it takes half of the bound at most.
/// 2. Rings have their default slots, halved while there is no room, but not below 16.
/// 3. Chunks are the next of `chunk_sizes`, which fall, and rings have their default slots again at first.
/// 4. Steps 2 and 3 again, but rings may have as few as 2 slots.
/// 5. The forward queue is halved further, but not below 4,096 slots.
/// The chosen sizes are those that `draft` was called for last. Throws usage_error where even the least is too much; it
/// names the option, those that were set by hand, a PE and what that needs at least.
comm_plan plan_comm(const options& options, const std::vector<pe_outline>& pes,
                    const std::vector<std::uint32_t>& chunk_sizes,
                    const std::function<comm_draft(std::uint32_t chunk_bytes)>& draft);

}  // namespace laneway
