// Dividing the vertices of a graph among PEs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "laneway/graph/csr.hpp"

namespace laneway::graph {

/// Contiguous ranges of vertices with nearly equal numbers of arcs: part p owns [result[p], result[p + 1]).
/// The result has n_parts + 1 ascending entries from 0 to n; each cut is the best one possible. A graph without arcs
/// is divided by vertices. Ranges may be empty. Throws usage_error for zero parts.
template <class Vertex>
std::vector<std::uint64_t> equal_arc_ranges(const basic_csr<Vertex>& graph, std::uint64_t n_parts);

/// How many pieces of a dealt division each part gets.
inline constexpr std::uint64_t dealt_pieces = 8;

/// Part of each vertex, where the vertices are cut into dealt_pieces * n_parts ranges as by equal_arc_ranges, which are
/// dealt to the parts in turn. What spreads from one vertex soon meets all parts, and not one part after the other.
template <class Vertex>
std::vector<std::uint32_t> dealt_parts(const basic_csr<Vertex>& graph, std::uint64_t n_parts);

/// An order of the vertices in which every part is contiguous.
template <class Vertex>
struct part_order {
    std::vector<Vertex> new_id;         ///< n entries: place of old vertex v; vertices of a part keep their order
    std::vector<std::uint64_t> ranges;  ///< n_parts + 1 entries: part p owns new ids [ranges[p], ranges[p + 1])
};

/// Order for a given part of each vertex, as METIS computes it. Throws usage_error for a part not below n_parts.
template <class Vertex>
part_order<Vertex> order_by_part(std::span<const std::uint32_t> parts, std::uint64_t n_parts);

/// The same graph with vertex v called new_id[v]; arcs keep their order within a vertex. Throws usage_error unless
/// `new_id` is a permutation of 0..n-1.
template <class Vertex>
basic_csr<Vertex> relabel(const basic_csr<Vertex>& graph, std::span<const Vertex> new_id);

}  // namespace laneway::graph
