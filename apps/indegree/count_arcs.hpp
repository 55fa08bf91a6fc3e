// Counting the arcs that lead to each vertex: the device part.
#pragma once

#include "graph/graph_part.hpp"
#include "laneway/memory/symmetric.hpp"

namespace laneway::apps {

/// One more arc leads to this vertex of the own PE.
struct count_arc {
    symmetric_ref<std::uint64_t> in_degree;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t row) const {
        atomic_add(ctx, in_degree[row], 1, scope::device);
    }
};

/// A PE's rows of the graph.
template <class Vertex>
struct counted_graph {
    symmetric_ref<graph_rows<Vertex>> rows;  ///< one element

    /// Tells the owner of the arc's head.
    template <class Ctx, class Box>
    LANEWAY_FN status post(Ctx& ctx, Box& box, const graph_rows<Vertex>& own, std::uint64_t arc) const {
        const std::uint64_t head = own.heads[arc];
        const int owner = own.ranges.owner(ctx, head);
        return box.post(ctx, owner, static_cast<std::uint32_t>(head - own.ranges.starts[owner]));
    }
};

/// A lane takes a vertex and posts from a loop over its list, which ends earlier for some lanes than for others. A warp
/// takes the next vertices when its longest list is done, so that only the last lists of all keep others waiting.
template <class Vertex>
struct walk_lists {
    counted_graph<Vertex> graph;

    template <class Ctx, class Lists, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Lists& lists, Box& box) const {
        const graph_rows<Vertex>& own = *graph.rows.local(ctx);
        lists.for_each(ctx, [&](std::uint64_t row) {
            for (std::uint64_t arc = own.offsets[row]; arc < own.offsets[row + 1]; ++arc) {
                if (graph.post(ctx, box, own, arc) != status::ok) return;
            }
        });
    }
};

/// Lanes post an arc each, in step.
template <class Vertex>
struct walk_arcs {
    counted_graph<Vertex> graph;

    template <class Ctx, class Arcs, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Arcs& arcs, Box& box) const {
        const graph_rows<Vertex>& own = *graph.rows.local(ctx);
        arcs.for_each(ctx, [&](std::uint64_t arc) {
            (void)graph.post(ctx, box, own, arc);  // a run that ends refuses further posts at once
        });
    }
};

}  // namespace laneway::apps
