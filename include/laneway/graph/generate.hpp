// Synthetic graphs: the same seed gives the same graph on every machine and with any number of threads.
#pragma once

#include <cstdint>

#include "laneway/graph/csr.hpp"

namespace laneway::graph {

/// A road-like graph: a grid of 4 neighbours from which edges are removed at random. Vertex y * width + x.
struct grid_options {
    std::uint64_t width = 0;
    std::uint64_t height = 0;
    double keep = 0.62;                 ///< share of the grid's edges that stay, 0 to 1; unused where `arcs` is given
    std::uint64_t arcs = 0;             ///< exact number of arcs to keep, even: each edge is two arcs; 0: use `keep`
    std::uint32_t max_weight = 10'000;  ///< weights are uniform over 1..max_weight, equal in both directions
    std::uint64_t seed = 1;
};

/// Symmetric weighted graph of width * height vertices. Throws usage_error for no vertices, more than 2^32 - 1 of
/// them, more arcs than the grid has, an odd number of arcs, a share outside 0..1 or a greatest weight of 0.
graph generate_grid(const grid_options& options);

/// A power-law graph: Kronecker (R-MAT) arcs with the Graph500 probabilities .57, .19, .19, .05 and vertices
/// renamed by a random permutation. Self-loops and parallel arcs stay, as Graph500 keeps them.
struct kronecker_options {
    unsigned scale = 0;              ///< 2^scale vertices, at most 31
    std::uint64_t arcs = 0;          ///< exact number; even where symmetric
    bool symmetric = true;           ///< every arc also backwards, with the same weight
    std::uint32_t max_weight = 255;  ///< weights are uniform over 1..max_weight
    std::uint64_t seed = 1;
};

/// Weighted graph of 2^scale vertices. Method: Chakrabarti et al., SDM 2004; Graph500 specification, section 3.
/// Throws usage_error for a scale over 31, an odd number of symmetric arcs or a greatest weight of 0.
graph generate_kronecker(const kronecker_options& options);

/// A graph whose arcs go from any vertex to any with the same probability. Self-loops and parallel arcs stay.
struct uniform_options {
    std::uint64_t vertices = 0;      ///< 1 to 2^32 - 1
    std::uint64_t arcs = 0;          ///< exact number; even where symmetric
    bool symmetric = true;           ///< every arc also backwards, with the same weight
    std::uint32_t max_weight = 255;  ///< weights are uniform over 1..max_weight
    std::uint64_t seed = 1;
};

/// Weighted graph. Method: Erdős and Rényi's G(n, m), as the uniform graphs of the GAP benchmark suite (Beamer and
/// others, 2015). Throws usage_error for an impossible number of vertices, an odd number of symmetric arcs or a
/// greatest weight of 0.
graph generate_uniform(const uniform_options& options);

}  // namespace laneway::graph
