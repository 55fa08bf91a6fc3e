// A graph with its arcs turned round.
#pragma once

#include "laneway/graph/csr.hpp"

namespace laneway::graph {

/// The arcs that lead to each vertex: row v has their tails, ascending, parallel arcs each, in the order of `graph`.
/// With `weights` an arc keeps its weight, where the graph has weights; else the result has none.
template <class Vertex>
basic_csr<Vertex> transpose(const basic_csr<Vertex>& graph, bool weights = false);

}  // namespace laneway::graph
