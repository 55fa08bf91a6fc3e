// Reading graphs from files: DIMACS, PACE, SNAP, GAP, Matrix Market, METIS and LDBC, plain or compressed.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "laneway/graph/csr.hpp"

namespace laneway::graph {

/// How a file writes its arcs. Every format but LDBC is told from its content, LDBC by its file names.
enum class file_format {
    dimacs,         ///< `p sp n m` and `a u v w`, 1-based, directed; `p tw n m` and `u v` (PACE), undirected;
                    ///< `a u v w` with no `p` line: ids start at 0 if the file uses 0, else at 1
    edge_list,      ///< GAP `.el`, `.wel`: `u v` or `u v w`, ids 0 to the greatest one used, directed
    snap,           ///< like edge_list with `#` comments; only the ids that occur are vertices
    matrix_market,  ///< coordinate matrices; a symmetric one is undirected
    metis,          ///< METIS/Chaco adjacency lines, with or without vertex sizes, vertex weights, arc weights
    ldbc,           ///< LDBC Graphalytics `.v` and `.e` side by side; directed if a `.properties` beside them says so,
                    ///< else undirected, as libgrape-lite reads such pairs
};

/// Width of the vertex ids in memory; `automatic` takes 32 bits where they suffice.
enum class id_width { automatic, bits32, bits64 };

struct read_options {
    std::optional<file_format> format = {};  ///< guessed where empty
    id_width ids = id_width::automatic;
    std::optional<bool> directed = {};  ///< false: each line stands for both directions; empty: what the format says
    bool unweighted = false;            ///< take the arcs alone: weights may then be any numbers
};

/// The format called "dimacs", "edge_list", "snap", "matrix_market", "metis" or "ldbc"; usage_error for other names.
file_format parse_format(std::string_view name);

/// The graph in a plain, gzip or xz file (told by its first bytes); of an LDBC pair either path will do.
///
/// Arcs keep the file's order within a vertex; self-loops and parallel arcs stay. A self-loop that stands for both
/// directions is one arc. Weights are whole numbers from 0 to 2^32 - 1. SNAP, GAP, LDBC and Matrix Market files may
/// write decimals: all weights are then multiplied by `weight_scale`, the least power of ten that makes them whole;
/// where 32 bits cannot hold that, by the greatest that fits, rounded to nearest, which `weights_rounded` tells.
///
/// Memory: at most three times the result. Throws usage_error, one line naming file and line, for anything else, as for
/// a weight that is negative, complex or over the limit, or of which rounding would leave less than two digits.
graph read_graph(const std::filesystem::path& path, const read_options& options = {});

/// The files that read_graph opens for `path`: itself, or those of an LDBC graph. Files that are not there are left out
/// of the latter.
std::vector<std::filesystem::path> source_files(const std::filesystem::path& path, const read_options& options);

}  // namespace laneway::graph
