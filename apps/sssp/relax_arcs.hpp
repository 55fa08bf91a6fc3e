// What an arc does to a distance: the device part of shortest paths and breadth-first search.
#pragma once

#include "laneway/flow/worklist_ref.hpp"

namespace laneway::apps {

/// One PE's rows of the graph, in its memory. Heads are vertices of the whole graph.
template <class Vertex, class Key>
struct relax_arcs {
    const std::uint64_t* offsets = nullptr;  ///< count + 1
    const Vertex* heads = nullptr;
    const std::uint32_t* weights = nullptr;  ///< null: every arc weighs 1
    std::uint32_t* overflowed = nullptr;     ///< PE memory: set where a distance does not fit the key

    LANEWAY_FN arc_range arcs(std::uint32_t id) const {
        const std::uint64_t begin = offsets[id];
        const std::uint64_t count = offsets[id + 1] - begin;
        return {begin, count < 0xffffffff ? static_cast<std::uint32_t>(count) : 0xffffffff};  // a hub, see hub_shards
    }

    template <class Ctx>
    LANEWAY_FN proposal<Key> visit(Ctx& ctx, std::uint64_t arc, Key key) const {
        const std::uint64_t distance = std::uint64_t{key} + (weights == nullptr ? 1 : weights[arc]);
        if (distance < worklist_word<Key>::unreached) return {heads[arc], static_cast<Key>(distance)};
        ctx.store(overflowed, 1u, order::relaxed, scope::device);  // read by the host after the run
        return {heads[arc], worklist_word<Key>::unreached};
    }
};

}  // namespace laneway::apps
