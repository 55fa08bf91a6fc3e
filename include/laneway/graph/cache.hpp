// Graphs kept in binary form, so that a second load takes no parsing.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "laneway/graph/csr.hpp"
#include "laneway/graph/read.hpp"

namespace laneway::graph {

/// `read_graph` through a cache: takes the graph from `directory` if an entry for this source (path, inode, size and
/// times of the last writing and change of each of its files) and these options is there and whole, else reads the
/// source and writes the entry. Creates the directory. Where the entry cannot be written, `tell` is called, if there is
/// one, with a line that says why: the graph is there all the same. Errors: those of read_graph; usage_error where the
/// directory cannot be made or its name is empty.
graph read_graph_cached(const std::filesystem::path& source, const read_options& options,
                        const std::filesystem::path& directory,
                        const std::function<void(const std::string&)>& tell = {});

/// The entry that `read_graph_cached` uses. The source must exist.
std::filesystem::path cache_entry(const std::filesystem::path& source, const read_options& options,
                                  const std::filesystem::path& directory);

/// Writes `graph` to `file`: complete or not at all, whoever writes it at the same time. Throws usage_error.
void write_cache(const graph& graph, const std::filesystem::path& file);

/// The graph that `write_cache` put into `file`; nothing if it is missing, cut off, altered, of another version, or no
/// graph at all.
std::optional<graph> read_cache(const std::filesystem::path& file);

}  // namespace laneway::graph
