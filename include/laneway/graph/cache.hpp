// Graphs kept in binary form, so that a second load takes no parsing.
#pragma once

#include <filesystem>
#include <optional>

#include "laneway/graph/csr.hpp"
#include "laneway/graph/read.hpp"

namespace laneway::graph {

/// `read_graph` through a cache: takes the graph from `directory` if an entry for this source (path, inode, size and
/// times of the last writing and change of each of its files) and these options is there and whole, else reads the
/// source and writes the entry. Creates the directory. Errors: those of read_graph; usage_error where the entry cannot
/// be written or the directory's name is empty.
graph read_graph_cached(const std::filesystem::path& source, const read_options& options,
                        const std::filesystem::path& directory);

/// The entry that `read_graph_cached` uses. The source must exist.
std::filesystem::path cache_entry(const std::filesystem::path& source, const read_options& options,
                                  const std::filesystem::path& directory);

/// Writes `graph` to `file`: complete or not at all, whoever writes it at the same time. Throws usage_error.
void write_cache(const graph& graph, const std::filesystem::path& file);

/// The graph that `write_cache` put into `file`; nothing if it is missing, cut off, altered, of another version, or no
/// graph at all.
std::optional<graph> read_cache(const std::filesystem::path& file);

}  // namespace laneway::graph
