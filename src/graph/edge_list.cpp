#include "build.hpp"
#include "edge_lines.hpp"
#include "formats.hpp"
#include "id_set.hpp"

namespace laneway::graph {
namespace {

edge_lines read_lines(text_source& source) {
    edge_lines lines = read_edge_lines(source, [](std::uint64_t id) { return id; });
    if (lines.arcs.size() == 0) source.fail("the file holds no arc");
    return lines;
}

graph finish(const text_source& source, edge_lines& lines, numbering ids, const read_options& options) {
    graph result = build_graph(source, lines.arcs, std::move(ids), !options.directed.value_or(true), options.ids);
    result.weight_scale = lines.weights.scale();
    return result;
}

}  // namespace

graph read_edge_list(text_source& source, const read_options& options) {
    edge_lines lines = read_lines(source);
    return finish(source, lines, contiguous(0, lines.greatest + 1), options);
}

graph read_snap(text_source& source, const read_options& options) {
    edge_lines lines = read_lines(source);
    id_set ids = id_set::of_arcs(lines.arcs, lines.least, lines.greatest);
    lines.arcs.map_ids([&](std::uint64_t id) { return ids.find(id); });
    return finish(source, lines, ids.release(), options);
}

}  // namespace laneway::graph
