// Strassen's product of matrices (Numerische Mathematik 1969): seven products of sums of quadrants in place of eight
// products of quadrants, again and again.
//
// As in the thesis, each product goes its own way down to small blocks, whose sums it gathers from the operands and
// whose product it adds to the result by atomic operations; so no matrix is stored in between.
#pragma once

#include <vector>

#include "recursion/recursion.hpp"

namespace laneway::apps {

/// A square matrix of integers modulo 2^32, row by row.
using word_matrix = std::vector<std::uint32_t>;

struct strassen_result {
    word_matrix product;
    recursion_report report;
};

/// The product of two matrices of n rows; n is the grain times a power of two. `grain`: rows of the blocks that are
/// multiplied by the definition, a power of two: up to strassen_block, which is the default, by one lane, up to
/// max_strassen_block by the lanes of a block together, 128 by 256 elements at a time. PEs share the first seven
/// products. Throws as channel_graph::run does.
inline constexpr std::uint32_t strassen_block = 16, max_strassen_block = 1024;
strassen_result strassen(const word_matrix& a, const word_matrix& b, std::uint32_t n,
                         const recursion_options& options = {});
/// The same on devices that are open.
strassen_result strassen(runtime& rt, const word_matrix& a, const word_matrix& b, std::uint32_t n,
                         const recursion_options& options);

/// The product by its definition. Reference.
word_matrix product_by_definition(const word_matrix& a, const word_matrix& b, std::uint32_t n);

}  // namespace laneway::apps
