// The two ways of breadth-first search, and which of them suits a graph.
#pragma once

#include "graph/degrees.hpp"

namespace laneway::apps {

enum class bfs_method {
    automatic,    ///< the one that suits the graph, see suitable_method
    levels,       ///< one level after the other, from either side: for graphs of few levels
    asynchronous  ///< each PE at its own pace: for graphs of many
};

/// The way that a graph with such degrees is searched faster on so many PEs: never `automatic`. By levels where they
/// are likely to be few, so that barriers cost less than looking at fewer arcs saves: where vertices with far more arcs
/// than most have a share of all arcs, as in social networks, or where all have many and their numbers differ as they
/// do at random. Equal numbers are those of grids and meshes, few those of roads, and both have many levels.
[[nodiscard]] bfs_method suitable_method(const degrees& of, int n_pes);

}  // namespace laneway::apps
