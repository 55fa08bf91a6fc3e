// The network that all styles train: what each PE has of it, and what its warps compute.
//
// A PE has all weights, twice, as a step reads one set while the next is written; its samples of the batch; and
// gradients as rows of all weights (network_shape.hpp).
#pragma once

#include "laneway/runtime.hpp"
#include "parallel/computing_time.hpp"
#include "parallel/served_run.hpp"
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

/// Device view of a network in symmetric memory.
struct network_ref {
    network_shape shape;
    symmetric_ref<float> weights[2];
    symmetric_ref<float> units;
    symmetric_ref<float> deltas;
    symmetric_ref<float> targets;
    symmetric_ref<float> rows;
    symmetric_ref<double> squares;         ///< [step][sample]: of the errors
    symmetric_ref<std::uint64_t> clock;    ///< of computing_time
    symmetric_ref<std::uint64_t> updated;  ///< of each layer: pieces of weights that have come, of all steps

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN auto view(const Ctx& ctx, std::uint32_t step) const {
        using floats = decltype(rows.local(ctx));
        return network_view<floats>{
            shape,          weights[step % 2].local(ctx), units.local(ctx), deltas.local(ctx), targets.local(ctx),
            rows.local(ctx)};
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN auto squares_of(const Ctx& ctx, std::uint32_t step) const {
        return squares.local(ctx) + std::uint64_t{step} * shape.most_samples();
    }
    template <class Ctx>
    LANEWAY_FN void add(Ctx& ctx, const computing_time& spent) const {
        spent.add_to(ctx, working_warp::of_run(ctx).warps, address(ctx, clock[0], ctx.pe()));
    }
    /// The forward pass of a step and the errors, within one run: each layer once all of its new weights have come, for
    /// which `agent` waits, of a component that raises signals. False where the run is ending.
    template <class Ctx, class Agent>
    LANEWAY_FN bool forward(Ctx& ctx, Agent& agent, std::uint32_t step, computing_time& spent) const {
        const auto net = view(ctx, step);
        const auto mine = working_warp::of_run(ctx);
        for (int layer = 0; layer < shape.n_layers; ++layer) {
            const std::uint64_t all_pieces = step * shape.layers[layer].pieces();
            if (!all_go_on(ctx, agent.wait_signal(ctx, updated[static_cast<unsigned>(layer)], all_pieces)))
                return false;
            spent.of(ctx, [&] { net.forward(ctx, mine, layer); });
        }
        spent.of(ctx, [&] { net.errors(ctx, mine, squares_of(ctx, step)); });
        return true;
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t in_row(int row, std::uint64_t weight) const {
        return static_cast<std::uint64_t>(row) * shape.weights + weight;
    }
};

/// In symmetric memory, on the host.
class network {
public:
    network(runtime& rt, const training_options& options, const training_data& data);

    [[nodiscard]] network_ref ref() const;
    [[nodiscard]] const network_shape& shape() const { return shape_; }
    /// What came of it, but for the seconds of runs.
    [[nodiscard]] training_result take(std::uint32_t steps) const;

private:
    network_shape shape_;
    symmetric_array<float> a_;
    symmetric_array<float> b_;
    symmetric_array<float> units_;
    symmetric_array<float> deltas_;
    symmetric_array<float> targets_;
    symmetric_array<float> rows_;
    symmetric_array<double> squares_;
    symmetric_array<std::uint64_t> clock_;
    symmetric_array<std::uint64_t> updated_;
};

/// A PE's part of the batch.
struct batch_share {
    std::vector<float> units;    ///< [sample][unit], of which the inputs are set
    std::vector<float> targets;  ///< [sample][output]

    batch_share(const network_shape& shape, const training_data& data, int pe);
};

/// Throws usage_error for data of other sizes than the options'.
void require_fit(const training_options& options, const training_data& data);
/// Throws usage_error where the loss of a step is not finite.
void require_finite(const std::vector<double>& losses);

/// The loss of a step, of the squares of all samples in their order.
double loss_of(const std::vector<double>& squares);

// One function a style. In symmetric memory each returns the seconds of its runs.
double train_by_host(runtime& rt, const network& net, std::uint32_t steps);
double train_by_triggers(runtime& rt, const network& net, std::uint32_t steps);
served_run train_by_service(runtime& rt, const network& net, std::uint32_t steps, bool by_host_threads);
training_result train_by_streams(const training_options& options, const training_data& data);

}  // namespace laneway::apps
