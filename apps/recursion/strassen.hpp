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

/// Rows of the largest block that one lane multiplies, and of the largest that the lanes of a block do together.
inline constexpr std::uint32_t strassen_block = 16, max_strassen_block = 1024;
/// What suits matrices of n rows: a lane's blocks on CPU devices; on GPUs the largest ones of which there are enough
/// tiles for all multiprocessors.
std::uint32_t strassen_grain(std::uint32_t n, bool on_gpus);

/// The product of two matrices of n rows; n is the grain times a power of two. `grain`: rows of the blocks that are
/// multiplied by the definition, a power of two: up to strassen_block by one lane, up to max_strassen_block by the
/// lanes of a block together, 128 by 256 elements at a time; 0 is strassen_grain. PEs share the first seven products.
/// Throws as channel_graph::run does.
strassen_result strassen(const word_matrix& a, const word_matrix& b, std::uint32_t n,
                         const recursion_options& options = {});
/// The same on devices that are open.
strassen_result strassen(runtime& rt, const word_matrix& a, const word_matrix& b, std::uint32_t n,
                         const recursion_options& options);

/// The product by its definition. Reference.
word_matrix product_by_definition(const word_matrix& a, const word_matrix& b, std::uint32_t n);

}  // namespace laneway::apps
