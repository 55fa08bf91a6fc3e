// The undirected graph below a directed one.
#pragma once

#include "laneway/graph/csr.hpp"

namespace laneway::graph {

/// Whether every arc has one that leads back, as often as it occurs; self-loops lead back themselves. Compares sums of
/// 64-bit hashes, so one asymmetric graph in 2^64 is taken for symmetric. No memory, one pass.
template <class Vertex>
bool is_symmetric(const basic_csr<Vertex>& graph);

/// The simple undirected graph: an arc each way between two different vertices that any arc joins, heads ascending, no
/// weights. Memory: that of three such graphs, while it runs.
template <class Vertex>
basic_csr<Vertex> undirected(const basic_csr<Vertex>& graph);

}  // namespace laneway::graph
