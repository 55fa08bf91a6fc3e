// Graphs from arrays in memory. What is checked of an array is what is taken, whoever changes it meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "laneway/graph/csr.hpp"
#include "laneway/graph/read.hpp"

namespace laneway::graph {

/// Weights as a graph holds them; empty: every arc weighs 1.
struct whole_weights {
    std::vector<std::uint32_t> values;
    std::uint64_t scale = 1;  ///< a power of ten: an arc weighs value / scale
    bool rounded = false;     ///< whether some weight had more decimals than `scale` has
};

/// Weights from numbers: std::int64_t, std::uint64_t, float or double. Real numbers count as the shortest decimals that
/// stand for them and are scaled as `read_graph` scales a file's. `name(place)` is what the error calls a weight.
/// Throws usage_error for one that is negative, infinite, no number or over 2^32 - 1, or of which rounding would leave
/// less than two digits.
template <class Number>
whole_weights make_weights(std::span<const Number> numbers, const std::function<std::string(std::uint64_t)>& name);

/// A graph from compressed sparse rows: the arcs of vertex v are [offsets[v], offsets[v + 1]). Order, self-loops and
/// parallel arcs stay. `ids` numbers as many vertices as there are rows. Throws usage_error, in the words of
/// scipy.sparse, for offsets that do not rise from 0 to the number of heads, heads outside the graph, another number of
/// weights, a scale that is no power of ten, and ids that do not rise.
graph from_csr(std::span<const std::int64_t> offsets, std::span<const std::int64_t> heads, whole_weights weights,
               numbering ids, id_width width = id_width::automatic);

/// A graph from arcs in any order; those of a vertex keep theirs. `mirrored`: each arc also backwards, but for
/// self-loops. Throws usage_error for arrays of different lengths, ends outside 0..ids.vertices - 1, and more vertices
/// than 2^24 and 1,024 for each arc.
graph from_arcs(std::span<const std::int64_t> tails, std::span<const std::int64_t> heads, const whole_weights& weights,
                numbering ids, bool mirrored);

}  // namespace laneway::graph
