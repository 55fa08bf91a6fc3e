// What a post office takes: the one place that knows the sizes of its parts, for who chooses them, who allocates them
// and who reports them. Pure arithmetic: it needs no device.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/simt/device_list.hpp"
#include "laneway/simt/environment.hpp"

namespace laneway {

/// Grid of one PE and how its blocks share the roles.
struct pe_grid {
    launch_shape shape;
    int server_blocks = 0;
    bool flushers = false;  ///< the last warp of each working block only flushes, see roles
    device_kind kind = device_kind::cpu;

    /// Warps of one lane: every warp has all roles.
    [[nodiscard]] bool one_lane() const { return kind == device_kind::cpu; }
    [[nodiscard]] int warp_lanes() const;
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

/// What a program needs of its post office, beside rings for requests.
struct office_needs {
    std::uint32_t slot_bytes = 0;    ///< largest payload of a chunk
    bool replies = false;            ///< rings for replies as well
    std::uint32_t answer_words = 0;  ///< words of 32 bits of the longest answer to a call; 0: no calls
    std::size_t onward_bytes = 0;    ///< largest message that handlers post onward; 0: none
    friend bool operator==(const office_needs&, const office_needs&) = default;
};

/// A PE as sizes depend on it: one of a machine, or one that a test describes.
struct pe_outline {
    device_kind kind = device_kind::cpu;
    std::string name;
    std::function<int(const launch_shape&)> resident_blocks;  ///< blocks that a GPU holds at once
    std::uint64_t held_bytes = 0;                             ///< what the library's buffers take there already
};

/// Sizes of all parts of a post office. Memory counts for the PE that reads it, wherever it lies; a block's bins count
/// though on a GPU they lie in its shared memory. What allocators round up to does not count.
struct office_plan {
    std::uint32_t chunk_bytes = 0;  ///< payload of a chunk, at most
    office_needs needs;
    std::vector<pe_grid> grids;
    std::vector<std::uint32_t> ring_slots;  ///< of each ring into the PE
    std::uint64_t onward_slots = 0;
    std::uint32_t samples = 0;  ///< of waves, on PE 0
    std::vector<std::uint64_t> held_bytes;

    [[nodiscard]] std::size_t n_pes() const { return grids.size(); }
    /// Slots, words and flags of a ring into the PE.
    [[nodiscard]] std::uint64_t ring_bytes(std::size_t pe) const;
    /// Credits of a ring into the PE; their reader is the ring's source.
    [[nodiscard]] std::uint64_t credit_bytes(std::size_t pe) const;
    /// Slots for answers that one other PE writes for this one's lanes.
    [[nodiscard]] std::uint64_t answer_bytes(std::size_t pe) const;
    [[nodiscard]] std::uint64_t onward_bytes() const;
    /// Words of a wave to and from one PE other than PE 0, which coordinates.
    [[nodiscard]] static std::uint64_t command_bytes();
    [[nodiscard]] static std::uint64_t reply_bytes();
    /// Everything that counts for the PE: what options::buffer_bytes bounds.
    [[nodiscard]] std::uint64_t bytes(std::size_t pe) const;

    friend bool operator==(const office_plan&, const office_plan&) = default;

private:
    [[nodiscard]] std::uint64_t mesh_bytes(std::size_t pe) const;
    [[nodiscard]] std::uint64_t wave_bytes(std::size_t pe) const;
};

/// What a program asks for where chunks have at most so many bytes.
struct office_draft {
    office_needs needs;
    std::vector<pe_grid> grids;
};

/// Chooses the sizes that options leave open so that no PE takes more than options.buffer_bytes. In this order:
/// 1. The onward list has 262,144 places, halved until it takes half of the bound at most.
/// 2. Rings have their usual slots, halved while there is no room, but not below 16.
/// 3. Chunks are the next of `chunk_sizes`, which fall, and rings have their usual slots again at first.
/// 4. Steps 2 and 3 again, but rings may have as few as 2 slots.
/// 5. The onward list is halved further, but not below 4,096 places.
/// The chosen sizes are those that `draft` was called for last. Throws usage_error where even the least is too much; it
/// names the option, those that were set by hand, a PE and what that needs at least.
office_plan plan_office(const options& options, const std::vector<pe_outline>& pes,
                        const std::vector<std::uint32_t>& chunk_sizes,
                        const std::function<office_draft(std::uint32_t chunk_bytes)>& draft);

}  // namespace laneway
