// What an arc does to a distance: the device part of shortest paths and breadth-first search.
#pragma once

#include "laneway/flow/worklist_ref.hpp"

namespace laneway::apps {

/// One PE's rows of the graph, in its memory. Heads are vertices of the whole graph.
template <class Vertex, class Key>
struct relax_arcs {
    const std::uint64_t* offsets = nullptr;  ///< count + 1
    const Vertex* heads = nullptr;
    const std::uint32_t* weights = nullptr;  ///< of arc & weight_mask
    std::uint64_t weight_mask = 0;           ///< all ones; 0 where all arcs have the same weight

    LANEWAY_FN arc_range arcs(std::uint32_t id) const {
        const std::uint64_t begin = offsets[id];
        const std::uint64_t count = offsets[id + 1] - begin;
        return {begin, count < 0xffffffff ? static_cast<std::uint32_t>(count) : 0xffffffff};  // a hub, see hub_shards
    }

    /// Loads and calculates without a branch, so that warps have the loads of several arcs on their way at once.
    template <class Ctx>
    LANEWAY_FN proposal<Key> visit(Ctx&, std::uint64_t arc, Key key) const {
        const std::uint64_t distance = std::uint64_t{key} + weights[arc & weight_mask];
        const bool fits = distance < worklist_word<Key>::unreached;
        return {heads[arc], fits ? static_cast<Key>(distance) : worklist_word<Key>::too_great};
    }
};

}  // namespace laneway::apps
