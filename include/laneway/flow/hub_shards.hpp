// Hubs: vertices with so many arcs that one warp must not have them alone.
//
// A hub's arcs are cut into shards. A shard is an id of the worklist like a vertex, numbered after the PE's vertices:
// whoever takes the hub lowers the keys of its shards, and they spread over all blocks as any other work does. What the
// arcs of a shard add at least to a key is part of the shard's key: where a hub's arcs are in the order of what they
// add, most shards wait until the hub's key does not fall any more.
#pragma once

#include "laneway/flow/balance.hpp"

namespace laneway {

/// Most arcs that a worker takes at once; a vertex with more is a hub.
inline constexpr std::uint32_t shard_arcs = 512;

/// Device view of one PE's hubs; PE memory.
struct hub_shards_ref {
    const std::uint32_t* hubs = nullptr;         ///< n_hubs ids of vertices, ascending
    const std::uint32_t* first_shard = nullptr;  ///< n_hubs + 1
    const std::uint64_t* first_arc = nullptr;    ///< of each shard
    const std::uint32_t* arc_count = nullptr;    ///< of each shard
    const std::uint32_t* least = nullptr;        ///< what each shard's arcs add at least; null: not known
    std::uint32_t n_hubs = 0;

    [[nodiscard]] LANEWAY_FN std::uint32_t min_of(std::uint64_t shard) const {
        return least == nullptr ? 0 : least[shard];
    }

    [[nodiscard]] LANEWAY_FN arc_range arcs(std::uint32_t shard) const { return {first_arc[shard], arc_count[shard]}; }

    /// Shards of a hub, as a range of shard numbers. `id` must be a hub.
    [[nodiscard]] LANEWAY_FN arc_range of(std::uint32_t id) const {
        std::uint32_t low = 0;
        std::uint32_t high = n_hubs - 1;
        while (low < high) {
            const std::uint32_t middle = (low + high) / 2;
            if (hubs[middle] < id) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return {first_shard[low], first_shard[low + 1] - first_shard[low]};
    }
};

}  // namespace laneway
