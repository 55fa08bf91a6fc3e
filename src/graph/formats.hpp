// One reader a format. Each takes an opened file, whole, and throws usage_error naming file and line.
#pragma once

#include "laneway/graph/read.hpp"
#include "laneway/input/text_source.hpp"

namespace laneway::graph {

graph read_dimacs(text_source& source, const read_options& options);
graph read_edge_list(text_source& source, const read_options& options);
graph read_snap(text_source& source, const read_options& options);
graph read_matrix_market(text_source& source, const read_options& options);
graph read_metis(text_source& source, const read_options& options);
graph read_ldbc(const std::filesystem::path& path, const read_options& options);

/// The files that an LDBC graph given by any one of them consists of: vertices, edges, and properties if there are.
struct ldbc_files {
    std::filesystem::path vertices;
    std::filesystem::path edges;
    std::filesystem::path properties;  ///< empty where there is none
};

/// The pair that `path` (.v or .e, also .gz or .xz) belongs to; nothing where the name or its other half is missing.
std::optional<ldbc_files> find_ldbc_files(const std::filesystem::path& path);

/// The format that names and content speak for. Throws usage_error where they speak for none.
file_format guess_format(const text_source& source);

}  // namespace laneway::graph
