// By one thread, in plain loops: what all styles must give.
#include "training/data.hpp"

namespace laneway::apps {

namespace {

/// Units and deltas of a sample, layer by layer.
struct sample_pass {
    std::vector<std::vector<float>> units;
    std::vector<std::vector<float>> deltas;
    double square = 0;
};

sample_pass pass(const network_shape& shape, const std::vector<float>& weights, const float* inputs,
                 const float* targets) {
    sample_pass made;
    made.units.emplace_back(inputs, inputs + shape.layers[0].inputs);
    for (int l = 0; l < shape.n_layers; ++l) {
        const layer_shape& layer = shape.layers[l];
        const float* w = weights.data() + layer.first_weight;
        std::vector<float> next(w + std::size_t{layer.inputs} * layer.outputs, w + layer.weights());
        for (std::uint32_t i = 0; i < layer.inputs; ++i) {
            for (float& sum : next) sum += made.units.back()[i] * *w++;
        }
        for (float& value : next) value = l + 1 == shape.n_layers || value > 0 ? value : 0.0f;
        made.units.push_back(next);
    }
    made.deltas.resize(made.units.size());
    for (std::size_t o = 0; o < made.units.back().size(); ++o) {
        const float error = made.units.back()[o] - targets[o];
        made.square += double{error} * double{error};
        made.deltas.back().push_back(error * shape.scale);
    }
    for (auto l = static_cast<std::size_t>(shape.n_layers) - 1; l > 0; --l) {
        const float* w = weights.data() + shape.layers[l].first_weight;
        for (const float unit : made.units[l]) {
            float sum = 0;
            for (const float delta : made.deltas[l + 1]) sum += *w++ * delta;
            made.deltas[l].push_back(unit > 0 ? sum : 0.0f);
        }
    }
    return made;
}

/// Gradients of all weights by samples [first, first + count), in the order of the weights.
std::vector<float> gradient_of(const network_shape& shape, const std::vector<sample_pass>& batch, std::size_t first,
                               std::size_t count) {
    std::vector<float> sums(shape.weights, 0.0f);
    for (std::size_t s = first; s < first + count; ++s) {
        float* sum = sums.data();
        for (std::size_t l = 0; l < static_cast<std::size_t>(shape.n_layers); ++l) {
            for (const float unit : batch[s].units[l]) {
                for (const float delta : batch[s].deltas[l + 1]) *sum++ += unit * delta;
            }
            for (const float delta : batch[s].deltas[l + 1]) *sum++ += delta;
        }
    }
    return sums;
}

std::vector<float> tree_of(const network_shape& shape, const std::vector<sample_pass>& batch, std::size_t first_shard,
                           std::size_t shards) {
    const std::size_t each = shape.shard_samples();
    if (shards == 1) return gradient_of(shape, batch, first_shard * each, each);
    auto left = tree_of(shape, batch, first_shard, shards / 2);
    const auto right = tree_of(shape, batch, first_shard + shards / 2, shards / 2);
    for (std::size_t w = 0; w < left.size(); ++w) left[w] += right[w];
    return left;
}

}  // namespace

training_result training_by_one(const training_options& options, const training_data& data) {
    require_fit(options, data);
    const network_shape shape(options, 1);
    training_result result;
    result.weights = data.weights;
    for (std::uint32_t step = 0; step < options.steps; ++step) {
        std::vector<sample_pass> batch;
        std::vector<double> squares;
        for (std::size_t s = 0; s < shape.samples; ++s) {
            batch.push_back(pass(shape, result.weights, data.inputs.data() + s * options.widths.front(),
                                 data.targets.data() + s * options.widths.back()));
            squares.push_back(batch.back().square);
        }
        result.losses.push_back(loss_of(squares));
        const auto sums = tree_of(shape, batch, 0, network_shape::n_shards);
        for (std::size_t w = 0; w < sums.size(); ++w) result.weights[w] += sums[w];
    }
    require_finite(result.losses);
    return result;
}

}  // namespace laneway::apps
