// Unbalanced tree search: counts the nodes of a tree whose shape is drawn from hashes and known to nobody beforehand.
//
// Olivier and others, UTS: An Unbalanced Tree Search Benchmark, LCPC 2006. A node is a SHA-1 digest; that of its child
// i is the digest of its own and i. How many children it has is drawn from the digest: binomial trees have `branching`
// at the root and `children` with probability `probability` elsewhere; in geometric trees the number has a geometric
// distribution whose mean depends on the depth.
#pragma once

#include "recursion/recursion.hpp"
#include "recursion/sha1.hpp"

namespace laneway::apps {

enum class uts_shape : std::uint32_t { binomial, linear, exponential, cyclic, fixed, hybrid };

struct uts_tree {
    uts_shape shape = uts_shape::fixed;
    double branching = 4;            ///< of the root; geometric trees: mean elsewhere too
    std::uint32_t depth = 6;         ///< of geometric trees: where the shape ends; see uts.cpp
    std::uint32_t children = 4;      ///< of binomial trees
    double probability = 15.0 / 64;  ///< that a node of a binomial tree has them
    std::int32_t seed = 0;
    std::uint32_t deepest = ~std::uint32_t{0};  ///< nodes at this depth have no children: the first levels of a tree
};

struct uts_count {
    std::uint64_t nodes = 0;
    std::uint64_t leaves = 0;
    std::uint64_t depth = 0;  ///< of the deepest node; the root has 0

    friend bool operator==(const uts_count&, const uts_count&) = default;
};

struct uts_result {
    uts_count count;
    recursion_report report;
};

/// Counts a tree. A node of more than `levels` levels below the root ends the run with too_deep; 0: what is enough for
/// trees of the benchmark. Work moves between PEs. Throws as channel_graph::run does.
uts_result uts(const uts_tree& tree, const recursion_options& options = {}, std::uint32_t levels = 0);
/// The same on devices that are open.
uts_result uts(runtime& rt, const uts_tree& tree, const recursion_options& options, std::uint32_t levels);

/// The same by one thread of the host with a stack. Reference.
uts_count uts_by_stack(const uts_tree& tree);

/// A tree of the benchmark by its name ("T1", "T3", "T1L", "T1XXL", ...) with its published numbers of nodes and leaves
/// and its depth; throws usage_error for others.
struct uts_sample {
    const char* name;
    uts_tree tree;
    uts_count count;

    /// Enough for all of it: a tree that draws its own depth may be deeper than others of its shape.
    [[nodiscard]] std::uint32_t levels() const { return static_cast<std::uint32_t>(count.depth) + 1; }
};
const uts_sample& uts_sample_of(const std::string& name);

}  // namespace laneway::apps
