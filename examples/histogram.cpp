// How many steps does the Collatz sequence take from each number below a million? Lanes follow the
// sequences and post the length of each to the device that owns its bin. The answer is the same on any devices.
//
// Usage: histogram [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
#include <algorithm>
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"

namespace {

constexpr std::uint64_t bins = 1024;  // the longest sequence from below a million takes 524 steps

/// Runs on the device that owns the bin.
struct add_one {
    lw::symmetric_ref<std::uint64_t> table;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t index) const {
        lw::atomic_add(ctx, table[index], 1);
    }
};

/// Runs once for each i, in any lane. Bin b belongs to PE b mod n_pes.
struct post_length {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i, Box& box) const {
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        std::uint64_t steps = 0;
        for (std::uint64_t x = i + 1; x != 1; ++steps) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
        // Lanes arrive here one by one: a post needs no company. Where it fails, the run is ending.
        (void)box.post(ctx, static_cast<int>(steps % pes), steps / pes);
    }
};

void print(const lw::run_report& report) {
    for (const auto& device : report.devices) std::cout << device << ' ';
    std::cout << "| " << report.posted << " messages posted, " << report.direct << " to the own device, "
              << report.carried << " carried in " << report.chunks() << " chunks, " << report.served << " served\n";
}

}  // namespace

int main(int argc, char** argv) {
    try {
        lw::options options;
        if (argc > 1) options.devices = argv[1];
        lw::runtime runtime(options);
        const auto table = runtime.allocate<std::uint64_t>(bins);  // the same size on every PE
        const auto box = runtime.mailbox<std::uint64_t>(add_one{table.ref()});
        print(runtime.for_each(999'999, post_length{}, box));  // returns when nothing is left anywhere

        const auto pes = static_cast<std::uint64_t>(runtime.n_pes());
        std::uint64_t counted = 0;
        std::uint64_t longest = 0;
        std::uint64_t steps = 0;
        for (std::uint64_t pe = 0; pe < pes; ++pe) {
            const auto part = table.copy_out(static_cast<int>(pe));
            for (std::uint64_t i = 0; i < part.size(); ++i) {
                counted += part[i];
                steps += part[i] * (i * pes + pe);
                if (part[i] != 0) longest = std::max(longest, i * pes + pe);
            }
        }
        std::cout << counted << " numbers, " << steps << " steps, longest sequence " << longest << " steps\n";
    } catch (const lw::error& error) {
        std::cerr << "histogram: " << error.what() << '\n';
        return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
    }
}
