// What benchmarks of the training step are told.
#pragma once

#include "bench_support.hpp"
#include "training/training.hpp"

namespace laneway::bench {

/// Of --widths, --samples, --steps and --rate.
inline apps::training_options training_options_of(const arguments& args) {
    apps::training_options made;
    made.widths.clear();
    for (const std::uint64_t width : args.numbers("widths", ',', 1, 1u << 15)) {
        made.widths.push_back(static_cast<std::uint32_t>(width));
    }
    made.samples = static_cast<std::uint32_t>(args.number("samples", 16, 1u << 20));
    made.steps = static_cast<std::uint32_t>(args.number("steps", 1, 1u << 20));
    if (!args.text("rate").empty()) made.rate = static_cast<float>(args.real("rate"));
    return made;
}

}  // namespace laneway::bench
