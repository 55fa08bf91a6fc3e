// A graph with its arcs turned round.
#pragma once

#include "laneway/graph/csr.hpp"

namespace laneway::graph {

/// The arcs that lead to each vertex: row v has their tails, ascending, parallel arcs each. No weights.
template <class Vertex>
basic_csr<Vertex> transpose(const basic_csr<Vertex>& graph);

}  // namespace laneway::graph
