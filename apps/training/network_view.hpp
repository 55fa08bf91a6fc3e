// What the warps of a PE compute of a network, wherever its numbers are.
#pragma once

#include "parallel/working_warp.hpp"
#include "training/network_shape.hpp"

namespace laneway::apps {

/// What a PE computes, in a step. `Floats`: pointer to floats, as symmetric_ref::local gives. All lanes of a warp call
/// all members together, and what one has stored is seen by the others of its warp when it returns.
template <class Floats>
struct network_view {
    const network_shape& shape;
    Floats weights;  ///< of this step
    Floats units;    ///< [sample][unit]: inputs and what layers gave
    Floats deltas;   ///< [sample][unit]: how the loss falls with what layers gave before they rectified
    Floats targets;  ///< [sample][output]
    Floats rows;     ///< [row][weight]: sums of gradients

    /// What a layer gives for this warp's samples.
    template <class Ctx>
    LANEWAY_FN void forward(Ctx& ctx, const working_warp& mine, int number) const {
        const layer_shape& layer = shape.layers[number];
        const auto first = weights + layer.first_weight, biases = first + std::uint64_t{layer.inputs} * layer.outputs;
        each_sample(ctx, mine, [&](std::uint64_t sample) {
            const auto in = units + (sample * shape.units + layer.first_input);
            const auto out = units + (sample * shape.units + layer.first_output);
            each(ctx, layer.outputs, [&](std::uint32_t o) {
                float sum = biases[o];
                for (std::uint32_t i = 0; i < layer.inputs; ++i) {
                    const float value = in[i], weight = first[std::uint64_t{i} * layer.outputs + o];
                    sum += value * weight;
                }
                out[o] = number + 1 == shape.n_layers || sum > 0 ? sum : 0.0f;
            });
        });
    }

    /// Errors of this warp's samples: sums of squares to `squares`, one a sample, and what they say of the outputs.
    template <class Ctx, class Doubles>
    LANEWAY_FN void errors(Ctx& ctx, const working_warp& mine, Doubles squares) const {
        const layer_shape& layer = shape.layers[shape.n_layers - 1];
        each_sample(ctx, mine, [&](std::uint64_t sample) {
            const std::uint64_t first = sample * shape.units + layer.first_output;
            const auto error = [&](std::uint32_t o) {
                const float given = units[first + o], wanted = targets[sample * layer.outputs + o];
                return given - wanted;
            };
            each(ctx, layer.outputs, [&](std::uint32_t o) { deltas[first + o] = error(o) * shape.scale; });
            if (ctx.lane() != 0) return;
            double sum = 0;
            for (std::uint32_t o = 0; o < layer.outputs; ++o) sum += double{error(o)} * double{error(o)};
            squares[sample] = sum;
        });
    }

    /// From the deltas of a layer's outputs those of its inputs, for this warp's samples.
    template <class Ctx>
    LANEWAY_FN void backward(Ctx& ctx, const working_warp& mine, int number) const {
        const layer_shape& layer = shape.layers[number];
        const auto first = weights + layer.first_weight;
        each_sample(ctx, mine, [&](std::uint64_t sample) {
            const std::uint64_t in = sample * shape.units + layer.first_input;
            const auto behind = deltas + (sample * shape.units + layer.first_output);
            each(ctx, layer.inputs, [&](std::uint32_t i) {
                const float given = units[in + i];
                float sum = 0;
                for (std::uint32_t o = 0; o < layer.outputs && given > 0; ++o) {
                    const float weight = first[std::uint64_t{i} * layer.outputs + o], delta = behind[o];
                    sum += weight * delta;
                }
                deltas[in + i] = sum;
            });
        });
    }

    /// The PE's rows of a piece of a layer: all deltas of the layer's outputs are there.
    template <class Ctx>
    LANEWAY_FN void gradient(Ctx& ctx, int number, std::uint64_t piece) const {
        const layer_shape& layer = shape.layers[number];
        each_weight(ctx, layer, piece, [&](std::uint64_t weight) {
            const auto i = static_cast<std::uint32_t>((weight - layer.first_weight) / layer.outputs);
            const auto o = static_cast<std::uint32_t>((weight - layer.first_weight) % layer.outputs);
            for (int row = 0; row < shape.n_rows; ++row) {
                const shard_subtree& tree = shape.rows[row];
                if (tree.pe != ctx.pe()) continue;
                tree_sum sum;
                const std::uint32_t before = tree.first_shard - shape.first_shard(ctx.pe());
                for (std::uint32_t s = 0; s < 1u << tree.level; ++s) sum.add(of_shard(layer, before + s, i, o), 0);
                rows[static_cast<std::uint64_t>(row) * shape.weights + weight] = sum.total();
            }
        });
    }

    /// Of a piece of a layer `store(weight, value)` the new weights: all rows of it are here.
    template <class Ctx, class Store>
    LANEWAY_FN void update(Ctx& ctx, int number, std::uint64_t piece, Store&& store) const {
        each_weight(ctx, shape.layers[number], piece, [&](std::uint64_t weight) {
            tree_sum sum;
            for (int row = 0; row < shape.n_rows; ++row) {
                const float value = rows[static_cast<std::uint64_t>(row) * shape.weights + weight];
                sum.add(value, shape.rows[row].level);
            }
            const float old = weights[weight];
            store(weight, sum.total() + old);
        });
    }

private:
    /// The gradient of the weight from input i to output o, where i may be the bias, by a shard: one of the PE's.
    LANEWAY_FN float of_shard(const layer_shape& layer, std::uint32_t shard, std::uint32_t i, std::uint32_t o) const {
        float sum = 0;
        for (std::uint32_t s = 0; s < shape.shard_samples(); ++s) {
            const std::uint64_t first = (std::uint64_t{shard} * shape.shard_samples() + s) * shape.units;
            const float delta = deltas[first + layer.first_output + o];
            if (i == layer.inputs) {
                sum += delta;
            } else {
                const float value = units[first + layer.first_input + i];
                sum += value * delta;
            }
        }
        return sum;
    }

    template <class Ctx, class Use>
    LANEWAY_FN void each_sample(Ctx& ctx, const working_warp& mine, Use&& use) const {
        for (std::uint64_t s = mine.number; s < shape.samples_of(ctx.pe()); s += mine.warps) use(s);
        ctx.sync(full_warp<Ctx>);
    }
    template <class Ctx, class Use>
    static LANEWAY_FN void each(const Ctx& ctx, std::uint32_t n, Use&& use) {
        for (auto k = static_cast<std::uint32_t>(ctx.lane()); k < n; k += Ctx::warp_lanes) use(k);
    }
    template <class Ctx, class Use>
    static LANEWAY_FN void each_weight(Ctx& ctx, const layer_shape& layer, std::uint64_t piece, Use&& use) {
        const std::uint64_t end = layer.piece_begin(piece + 1);
        const auto lane = static_cast<std::uint64_t>(ctx.lane());
        for (std::uint64_t weight = layer.piece_begin(piece) + lane; weight < end; weight += Ctx::warp_lanes)
            use(weight);
        ctx.sync(full_warp<Ctx>);
    }
};

}  // namespace laneway::apps
