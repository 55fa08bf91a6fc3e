// What an arc does to a distance: the device part of shortest paths and breadth-first search.
#pragma once

#include "laneway/flow/balance.hpp"
#include "laneway/flow/priority_worklist.hpp"

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
        return {begin, static_cast<std::uint32_t>(offsets[id + 1] - begin)};
    }

    template <class Ctx, class Emit>
    LANEWAY_FN void visit(Ctx& ctx, std::uint64_t arc, Key key, Emit&& emit) const {
        const std::uint64_t distance = std::uint64_t{key} + (weights == nullptr ? 1 : weights[arc]);
        if (distance >= worklist_word<Key>::unreached) {
            ctx.store(overflowed, 1u, order::relaxed, scope::device);  // read by the host after the run
            return;
        }
        emit(static_cast<std::uint64_t>(heads[arc]), static_cast<Key>(distance));
    }
};

}  // namespace laneway::apps
