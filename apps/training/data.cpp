#include "training/data.hpp"

#include <algorithm>
#include <cmath>

namespace laneway::apps {

namespace {

/// Numbers in [-1, 1), the same on all machines.
class numbers {
public:
    explicit numbers(std::uint64_t seed) : state_(seed) {}
    float next() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<float>(static_cast<std::int64_t>(state_) >> 40) * 0x1p-23f;
    }

private:
    std::uint64_t state_;
};

std::vector<float> random_weights(const network_shape& shape, std::uint64_t seed) {
    numbers from(seed);
    std::vector<float> made;
    for (int l = 0; l < shape.n_layers; ++l) {
        const layer_shape& layer = shape.layers[l];
        const float most = std::sqrt(2.0f / static_cast<float>(layer.inputs));
        for (std::uint64_t w = 0; w < layer.weights(); ++w) made.push_back(most * from.next());
    }
    return made;
}

/// What the network gives for a sample.
std::vector<float> outputs_of(const network_shape& shape, const std::vector<float>& weights,
                              std::vector<float> values) {
    for (int l = 0; l < shape.n_layers; ++l) {
        const layer_shape& layer = shape.layers[l];
        const float* weight = weights.data() + layer.first_weight;
        std::vector<float> next(weight + std::uint64_t{layer.inputs} * layer.outputs, weight + layer.weights());
        for (const float value : values) {
            for (float& sum : next) sum += value * *weight++;
        }
        if (l + 1 < shape.n_layers) {
            for (float& sum : next) sum = sum > 0 ? sum : 0.0f;
        }
        values = next;
    }
    return values;
}

}  // namespace

training_data::training_data(const training_options& options) {
    const network_shape shape(options, 1);
    weights = random_weights(shape, 1);
    const std::vector<float> teacher = random_weights(shape, 2);
    numbers from(3);
    for (std::uint32_t s = 0; s < options.samples; ++s) {
        std::vector<float> sample(options.widths.front());
        for (float& value : sample) value = from.next();
        const auto wanted = outputs_of(shape, teacher, sample);
        inputs.insert(inputs.end(), sample.begin(), sample.end());
        targets.insert(targets.end(), wanted.begin(), wanted.end());
    }
}

void require_fit(const training_options& options, const training_data& data) {
    const network_shape shape(options, 1);
    const std::size_t samples = options.samples;
    if (data.weights.size() == shape.weights && data.inputs.size() == samples * options.widths.front() &&
        data.targets.size() == samples * options.widths.back()) {
        return;
    }
    throw usage_error("training: the data are of other widths or another batch than the options");
}

void require_finite(const std::vector<double>& losses) {
    for (std::size_t step = 0; step < losses.size(); ++step) {
        if (std::isfinite(losses[step])) continue;
        throw usage_error("training: the loss of step " + std::to_string(step) +
                          " is not finite: the rate is too large for these widths");
    }
}

batch_share::batch_share(const network_shape& shape, const training_data& data, int pe)
    : units(std::uint64_t{shape.max_samples()} * shape.units) {
    const std::size_t inputs = shape.layers[0].inputs, outputs = shape.layers[shape.n_layers - 1].outputs;
    const std::size_t first = shape.first_sample(pe), count = shape.samples_of(pe);
    for (std::size_t s = 0; s < count; ++s) {
        std::copy_n(data.inputs.begin() + static_cast<std::ptrdiff_t>((first + s) * inputs), inputs,
                    units.begin() + static_cast<std::ptrdiff_t>(s * shape.units));
    }
    targets.assign(data.targets.begin() + static_cast<std::ptrdiff_t>(first * outputs),
                   data.targets.begin() + static_cast<std::ptrdiff_t>((first + count) * outputs));
    targets.resize(shape.max_samples() * outputs);
}

double loss_of(const std::vector<double>& squares) {
    double sum = 0;
    for (const double square : squares) sum += square;
    return 0.5 * sum / static_cast<double>(squares.size());
}

}  // namespace laneway::apps
