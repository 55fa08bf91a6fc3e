// Nodes of unbalanced trees, as the benchmark defines them.
#pragma once

#include <cmath>

#include "recursion/uts.hpp"

namespace laneway::apps {

inline constexpr std::uint32_t max_uts_children = 100;  ///< of nodes of geometric trees

LANEWAY_FN sha1_digest uts_root(const uts_tree& tree) {
    const std::uint32_t message[5] = {0, 0, 0, 0, static_cast<std::uint32_t>(tree.seed)};
    return sha1(message);
}
LANEWAY_FN sha1_digest uts_child(const sha1_digest& parent, std::uint32_t number) {
    const std::uint32_t message[6] = {parent.words[0], parent.words[1], parent.words[2],
                                      parent.words[3], parent.words[4], number};
    return sha1(message);
}

/// A number in [0, 1) that belongs to a node.
LANEWAY_FN double uts_draw(const sha1_digest& node) {
    return static_cast<double>(node.words[4] & 0x7fffffff) / 2147483648.0;
}

/// Mean number of children of a node of a geometric tree.
LANEWAY_FN double uts_mean(const uts_tree& tree, std::uint32_t depth) {
    if (depth == 0) return tree.branching;
    const double at = depth, end = tree.depth;
    switch (tree.shape) {
        case uts_shape::exponential: return tree.branching * std::pow(at, -std::log(tree.branching) / std::log(end));
        case uts_shape::cyclic:
            return depth > 5 * tree.depth ? 0 : std::pow(tree.branching, std::sin(2.0 * 3.141592653589793 * at / end));
        case uts_shape::fixed: return depth < tree.depth ? tree.branching : 0;
        default: return tree.branching * (1.0 - at / end);
    }
}

/// Children of a node.
LANEWAY_FN std::uint32_t uts_children(const uts_tree& tree, const sha1_digest& node, std::uint32_t depth) {
    if (depth >= tree.deepest) return 0;
    // A hybrid tree is a linear one in its upper half and a binomial one below.
    const bool is_binomial =
        tree.shape == uts_shape::binomial || (tree.shape == uts_shape::hybrid && 2 * depth >= tree.depth);
    if (is_binomial) {
        if (depth == 0) return static_cast<std::uint32_t>(tree.branching);
        return uts_draw(node) < tree.probability ? tree.children : 0;
    }
    const double p = 1.0 / (1.0 + uts_mean(tree, depth));
    const double drawn = std::floor(std::log(1 - uts_draw(node)) / std::log(1 - p));
    return drawn < max_uts_children ? static_cast<std::uint32_t>(drawn) : max_uts_children;
}

}  // namespace laneway::apps
