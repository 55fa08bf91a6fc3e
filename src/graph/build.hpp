// From arcs in file order to a graph.
#pragma once

#include "arc_buffer.hpp"
#include "laneway/graph/csr.hpp"
#include "laneway/graph/read.hpp"
#include "laneway/input/text_source.hpp"

namespace laneway::graph {

/// Most vertices that a file with `arcs` arcs may claim: a header alone must not make the reader allocate.
constexpr std::uint64_t vertex_limit(std::uint64_t arcs) {
    constexpr std::uint64_t without_arcs = std::uint64_t{1} << 24, each_arc = 1024;
    return without_arcs + (arcs < (std::uint64_t{1} << 40) ? arcs : std::uint64_t{1} << 40) * each_arc;
}

/// How many vertices a file says that it has, and where.
struct vertex_claim {
    std::uint64_t vertices;
    std::uint64_t line;  ///< that says so or names the greatest; 0 where they have been counted
};

/// Throws usage_error that names the line where the vertices do not fit in the width asked for.
void check_width(const text_source& source, const vertex_claim& claim, id_width width);

/// The same, and where they are more than vertex_limit(arcs).
void check_vertices(const text_source& source, const vertex_claim& claim, std::uint64_t arcs, id_width width);

/// Sorts arcs by tail, stably, by counting. Ids lie below ids.vertices, which fit in the width asked for. `mirrored`:
/// each arc also backwards, but for self-loops. Frees the buffer as it goes.
graph build_graph(arc_buffer& arcs, numbering ids, bool mirrored, id_width width);

/// The same for arcs and vertices that were checked; ids of 64 bits where `wide`.
graph sort_into_graph(arc_buffer& arcs, numbering ids, bool mirrored, bool wide);

/// Numbering of ids first..first + vertices - 1.
inline numbering contiguous(std::uint64_t first, std::uint64_t vertices) {
    numbering ids;
    ids.first = first;
    ids.vertices = vertices;
    return ids;
}

}  // namespace laneway::graph
