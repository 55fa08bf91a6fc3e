#include "training/training.hpp"

#include <algorithm>
#include <cmath>

#include "parallel/equal_lanes.hpp"
#include "training/network.hpp"

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

void require_sound(const training_options& options, int pes) {
    const auto& widths = options.widths;
    if (widths.size() < 2 || widths.size() > network_shape::max_layers + 1) {
        throw usage_error("training: " + std::to_string(widths.size()) + " widths, where a network has 2 to " +
                          std::to_string(network_shape::max_layers + 1));
    }
    for (const std::uint32_t width : widths) {
        if (width == 0 || width > 1u << 15) {
            throw usage_error("training: a layer of " + std::to_string(width) + " units, where it has 1 to 32768");
        }
    }
    if (options.samples == 0 || options.samples % network_shape::n_shards != 0 || options.samples > 1u << 20) {
        throw usage_error("training: a batch of " + std::to_string(options.samples) +
                          " samples, where it is a multiple of 16, at most 1048576");
    }
    if (pes > static_cast<int>(network_shape::n_shards)) {
        throw usage_error("training: " + std::to_string(pes) + " PEs, where the batch has 16 shards");
    }
    if (options.rate && !(std::abs(*options.rate) < 1e6f))
        throw usage_error("training: the rate is a number below 1e6");
}

}  // namespace

network_shape::network_shape(const training_options& options, int pes) : n_pes(pes), samples(options.samples) {
    require_sound(options, pes);
    n_layers = static_cast<int>(options.widths.size()) - 1;
    for (int l = 0; l < n_layers; ++l) {
        const std::uint32_t inputs = options.widths[static_cast<std::size_t>(l)];
        const std::uint32_t outputs = options.widths[static_cast<std::size_t>(l) + 1];
        layers[l] = {inputs, outputs, units, units + inputs, weights};
        units += inputs;
        weights += layers[l].weights();
    }
    units += options.widths.back();
    scale = -options.rate.value_or(rate_for(options.widths)) / static_cast<float>(samples);
    for (int pe = 0; pe < pes; ++pe) {
        for (std::uint32_t shard = first_shard(pe); shard < first_shard(pe + 1);) {
            int level = 0;
            while (shard % (2u << level) == 0 && shard + (2u << level) <= first_shard(pe + 1)) ++level;
            rows[n_rows++] = {pe, shard, level};
            shard += 1u << level;
        }
    }
}

float rate_for(const std::vector<std::uint32_t>& widths) {
    return 4.0f / static_cast<float>(*std::max_element(widths.begin(), widths.end()));
}

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
    : units(std::uint64_t{shape.most_samples()} * shape.units) {
    const std::size_t inputs = shape.layers[0].inputs, outputs = shape.layers[shape.n_layers - 1].outputs;
    const std::size_t first = shape.first_sample(pe), count = shape.samples_of(pe);
    for (std::size_t s = 0; s < count; ++s) {
        std::copy_n(data.inputs.begin() + static_cast<std::ptrdiff_t>((first + s) * inputs), inputs,
                    units.begin() + static_cast<std::ptrdiff_t>(s * shape.units));
    }
    targets.assign(data.targets.begin() + static_cast<std::ptrdiff_t>(first * outputs),
                   data.targets.begin() + static_cast<std::ptrdiff_t>((first + count) * outputs));
    targets.resize(shape.most_samples() * outputs);
}

network::network(runtime& rt, const training_options& options, const training_data& data)
    : shape_(options, rt.n_pes()), a_(rt.allocate<float>(shape_.weights)), b_(rt.allocate<float>(shape_.weights)),
      units_(rt.allocate<float>(std::uint64_t{shape_.most_samples()} * shape_.units)),
      deltas_(rt.allocate<float>(units_.size())),
      targets_(rt.allocate<float>(std::uint64_t{shape_.most_samples()} * options.widths.back())),
      rows_(rt.allocate<float>(static_cast<unsigned>(shape_.n_rows) * shape_.weights)),
      squares_(rt.allocate<double>(std::uint64_t{options.steps} * shape_.most_samples())),
      clock_(rt.allocate<std::uint64_t>(1)),
      updated_(rt.allocate<std::uint64_t>(static_cast<unsigned>(shape_.n_layers))) {
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const batch_share mine(shape_, data, pe);
        a_.copy_in(pe, data.weights);
        units_.copy_in(pe, mine.units);
        targets_.copy_in(pe, mine.targets);
    }
}

network_ref network::ref() const {
    return {shape_,      {a_.ref(), b_.ref()}, units_.ref(), deltas_.ref(), targets_.ref(),
            rows_.ref(), squares_.ref(),       clock_.ref(), updated_.ref()};
}

training_result network::take(std::uint32_t steps) const {
    training_result result;
    std::vector<std::vector<double>> squares(steps);
    for (int pe = 0; pe < shape_.n_pes; ++pe) {
        const auto mine = squares_.copy_out(pe);
        for (std::size_t step = 0; step < steps; ++step) {
            const auto first = mine.begin() + static_cast<std::ptrdiff_t>(step * shape_.most_samples());
            squares[step].insert(squares[step].end(), first, first + shape_.samples_of(pe));
        }
        result.computing_seconds += seconds_of(clock_.copy_out(pe)[0]) / shape_.n_pes;
    }
    for (const auto& of_step : squares) result.losses.push_back(loss_of(of_step));
    result.weights = (steps % 2 == 0 ? a_ : b_).copy_out(0);
    return result;
}

double loss_of(const std::vector<double>& squares) {
    double sum = 0;
    for (const double square : squares) sum += square;
    return 0.5 * sum / static_cast<double>(squares.size());
}

namespace {

training_result train_in_style(const training_options& options, const training_data& data) {
    if (options.style == communication_style::stream_triggered) return train_by_streams(options, data);
    runtime rt(options.job);
    require_equal_lanes(rt, "training");
    const network net(rt, options, data);
    served_run made;
    switch (options.style) {
        case communication_style::triggered: made.seconds = train_by_triggers(rt, net, options.steps); break;
        case communication_style::service_warps: made = train_by_service(rt, net, options.steps, false); break;
        case communication_style::service_host: made = train_by_service(rt, net, options.steps, true); break;
        default: made.seconds = train_by_host(rt, net, options.steps); break;
    }
    training_result result = net.take(options.steps);
    result.seconds = made.seconds;
    result.requests = made.requests;
    return result;
}

}  // namespace

training_result training(const training_options& options, const training_data& data) {
    require_common(options.style, "training");
    require_fit(options, data);
    training_result result = train_in_style(options, data);
    require_finite(result.losses);
    return result;
}

}  // namespace laneway::apps
