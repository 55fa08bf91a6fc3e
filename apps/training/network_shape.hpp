// How a network is laid out, and in which order gradients are added: the same for any number of PEs.
//
// Which rows of gradients there are is decided by a binary tree over the batch's 16 shards: a row is the sum of a
// subtree all of whose shards are one PE's. So rows are added up in the order of the tree. Each layer's weights are cut
// into pieces, which are shared out: the piece's owner adds up its rows.
#pragma once

#include "laneway/base/config.hpp"
#include "training/training.hpp"

namespace laneway::apps {

struct layer_shape {
    std::uint32_t inputs = 0;
    std::uint32_t outputs = 0;
    std::uint32_t first_input = 0;   ///< among the units of a sample
    std::uint32_t first_output = 0;  ///< the same
    std::uint64_t first_weight = 0;

    static constexpr std::uint64_t piece = 256;  ///< weights

    [[nodiscard]] LANEWAY_FN std::uint64_t weights() const { return (std::uint64_t{inputs} + 1) * outputs; }
    [[nodiscard]] LANEWAY_FN std::uint64_t pieces() const { return (weights() + piece - 1) / piece; }
    [[nodiscard]] LANEWAY_FN std::uint64_t piece_begin(std::uint64_t number) const {
        return first_weight + (number < pieces() ? number * piece : weights());
    }
};

/// A subtree of the tree over shards, all of one PE.
struct shard_subtree {
    int pe = 0;
    std::uint32_t first_shard = 0;
    int level = 0;  ///< it has 2^level shards
};

/// Adds up the sums of subtrees, from left to right, in the tree's order: of two that are siblings the sum is next.
class tree_sum {
public:
    LANEWAY_FN void add(float value, int level) {
        for (; depth_ > 0 && levels_[depth_ - 1] == level; ++level) value = values_[--depth_] + value;
        values_[depth_] = value;
        levels_[depth_++] = level;
    }
    /// When a whole subtree has been added.
    [[nodiscard]] LANEWAY_FN float total() const { return values_[0]; }

private:
    float values_[6] = {};
    int levels_[6] = {};
    int depth_ = 0;
};

struct network_shape {
    static constexpr int max_layers = 8;
    static constexpr std::uint32_t n_shards = 16;

    int n_pes = 1;
    int n_layers = 0;
    int n_rows = 0;
    layer_shape layers[max_layers];
    shard_subtree rows[n_shards];
    std::uint32_t samples = 0;  ///< of the batch
    std::uint32_t units = 0;    ///< of a sample: inputs and the outputs of all layers
    std::uint64_t weights = 0;
    float scale = 0;  ///< of an output's error, so that gradients can be added to weights

    /// Throws usage_error for what cannot be.
    network_shape(const training_options& options, int pes);

    [[nodiscard]] LANEWAY_FN std::uint32_t first_shard(int pe) const {
        return n_shards * static_cast<std::uint32_t>(pe) / static_cast<std::uint32_t>(n_pes);
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t shard_samples() const { return samples / n_shards; }
    [[nodiscard]] LANEWAY_FN std::uint32_t first_sample(int pe) const { return first_shard(pe) * shard_samples(); }
    [[nodiscard]] LANEWAY_FN std::uint32_t samples_of(int pe) const { return first_sample(pe + 1) - first_sample(pe); }

    /// Of the PE that has most: what each has room for.
    [[nodiscard]] LANEWAY_FN std::uint32_t max_samples() const {
        return (n_shards + static_cast<std::uint32_t>(n_pes) - 1) / static_cast<std::uint32_t>(n_pes) * shard_samples();
    }

    /// Pieces of a layer that a PE owns: from this one to before that of the next PE.
    [[nodiscard]] LANEWAY_FN std::uint64_t first_piece(int layer, int pe) const {
        return layers[layer].pieces() * static_cast<std::uint64_t>(pe) / static_cast<std::uint64_t>(n_pes);
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t pieces_of(int layer, int pe) const {
        return first_piece(layer, pe + 1) - first_piece(layer, pe);
    }
    [[nodiscard]] LANEWAY_FN int owner_of(int layer, std::uint64_t number) const {
        int pe = 0;
        while (first_piece(layer, pe + 1) <= number) ++pe;
        return pe;
    }
};

}  // namespace laneway::apps
