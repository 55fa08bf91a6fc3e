#include "training/network_shape.hpp"

#include <algorithm>
#include <cmath>

namespace laneway::apps {

namespace {

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

}  // namespace laneway::apps
