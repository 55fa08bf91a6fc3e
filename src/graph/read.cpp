#include "laneway/graph/read.hpp"

#include <array>
#include <string>
#include <utility>

#include "formats.hpp"
#include "laneway/base/error.hpp"

namespace laneway::graph {

file_format parse_format(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, file_format>, 6> formats{{
        {"dimacs", file_format::dimacs},
        {"edge_list", file_format::edge_list},
        {"snap", file_format::snap},
        {"matrix_market", file_format::matrix_market},
        {"metis", file_format::metis},
        {"ldbc", file_format::ldbc},
    }};
    std::string known;
    for (const auto& [known_name, value] : formats) {
        if (name == known_name) return value;
        known += (known.empty() ? "" : ", ") + std::string(known_name);
    }
    throw usage_error("format " + shown(name) + " is none of " + known);
}

std::vector<std::filesystem::path> source_files(const std::filesystem::path& path, const read_options& options) {
    if (options.format && *options.format != file_format::ldbc) return {path};
    const auto pair = find_ldbc_files(path);
    if (!pair) return {path};
    if (pair->properties.empty()) return {pair->vertices, pair->edges};
    return {pair->vertices, pair->edges, pair->properties};
}

graph read_graph(const std::filesystem::path& path, const read_options& options) {
    if (options.format ? *options.format == file_format::ldbc : find_ldbc_files(path).has_value())
        return read_ldbc(path, options);
    text_source source(path);
    switch (options.format ? *options.format : guess_format(source)) {
        case file_format::dimacs: return read_dimacs(source, options);
        case file_format::edge_list: return read_edge_list(source, options);
        case file_format::snap: return read_snap(source, options);
        case file_format::matrix_market: return read_matrix_market(source, options);
        case file_format::metis: return read_metis(source, options);
        case file_format::ldbc: break;
    }
    return read_ldbc(path, options);
}

}  // namespace laneway::graph
