#include <limits>
#include <utility>

#include "build.hpp"
#include "edge_lines.hpp"
#include "formats.hpp"
#include "id_set.hpp"

namespace laneway::graph {
namespace {

graph finish(const text_source& source, edge_lines& lines, numbering ids, const read_options& options) {
    graph result = build_graph(lines.arcs, std::move(ids), !options.directed.value_or(true), options.ids);
    scale_weights(source, lines.weights, result);
    return result;
}

}  // namespace

graph read_edge_list(text_source& source, const read_options& options) {
    edge_lines lines = read_edge_lines(source, options.unweighted, [](std::uint64_t&, std::uint64_t&, arc_buffer&) {});
    if (lines.arcs.size() == 0) source.fail("the file holds no arc");
    check_vertices(source, {lines.greatest + 1, lines.greatest_line}, lines.arcs.size(), options.ids);
    return finish(source, lines, contiguous(0, lines.greatest + 1), options);
}

// Ids are kept as written while they fit in 32 bits; from the first that does not, all are replaced by their places in
// a table, so that the arcs never need more than that.
graph read_snap(text_source& source, const read_options& options) {
    id_table table;
    bool replaced = false;
    const auto replace = [&](std::uint64_t id) { return table.insert(id); };
    const auto ends = [&](std::uint64_t& tail, std::uint64_t& head, arc_buffer& arcs) {
        if (!replaced && (tail | head) <= std::numeric_limits<std::uint32_t>::max()) return;
        if (!std::exchange(replaced, true)) arcs.map_ids(replace);
        tail = replace(tail);
        head = replace(head);
    };
    edge_lines lines = read_edge_lines(source, options.unweighted, ends);
    if (lines.arcs.size() == 0) source.fail("the file holds no arc");
    const bool dense = !replaced && id_set::dense(lines.least, lines.greatest, lines.arcs.size());
    if (!dense && !replaced) lines.arcs.map_ids(replace);
    numbering ids = dense ? id_set::number_dense(lines.arcs, lines.least, lines.greatest)
                          : id_set::number_places(lines.arcs, table);
    check_width(source, {ids.vertices, 0}, options.ids);
    return finish(source, lines, std::move(ids), options);
}

}  // namespace laneway::graph
