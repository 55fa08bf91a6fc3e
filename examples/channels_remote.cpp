// Collatz sequences that go from PE to PE: a number x belongs to PE x mod P, so each step sends a sequence to another
// device, whose kernel takes the next one.
//
// Usage: channels_remote [DEVICES] [N]     for example cpu:3 1000, cuda 100000; N, 1000 by default, is 1 to 1000000
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/channel_graph.hpp"

namespace {

struct walk {
    std::uint64_t at;
    std::uint64_t steps;
};

struct go_on {
    using element = walk;
    static constexpr bool receives = true;  // its elements may come from other PEs
    lw::channel<walk> walks;
    lw::symmetric_ref<std::uint64_t> steps;

    template <class Ctx, class Node>
    LANEWAY_FN lw::outcome operator()(Ctx& ctx, const walk& one, Node& node) const {
        if (one.at == 1) {
            lw::atomic_add(ctx, steps[0], one.steps);
            return lw::outcome::done;
        }
        const std::uint64_t next = one.at % 2 == 0 ? one.at / 2 : 3 * one.at + 1;
        const int owner = static_cast<int>(next % static_cast<std::uint64_t>(ctx.n_pes()));
        // It takes the room of its own element with it, where that has come from another PE.
        return node.forward(ctx, owner, walks, {next, one.steps + 1}) ? lw::outcome::done : lw::outcome::yield;
    }
};

void run(lw::runtime& runtime, std::uint64_t numbers) {
    const auto steps = runtime.allocate<std::uint64_t>(1);
    const auto pes = static_cast<std::uint64_t>(runtime.n_pes());
    lw::channel_graph graph(runtime, {.rooms = 256});
    const auto walks = graph.channel<walk>({.width = 1 << 20, .name = "walks"});
    const auto kernel = graph.kernel(go_on{walks, steps.ref()});
    graph.connect(walks, kernel);
    std::vector<std::vector<walk>> first(pes);
    for (std::uint64_t x = 1; x <= numbers; ++x) first[x % pes].push_back({x, 0});
    for (int pe = 0; pe < runtime.n_pes(); ++pe) graph.init(walks, first[static_cast<std::size_t>(pe)], pe);
    graph.run(kernel);
    std::uint64_t sum = 0;
    for (int pe = 0; pe < runtime.n_pes(); ++pe) sum += steps.copy_out(pe)[0];
    const auto statistics = graph.statistics();
    std::cout << numbers << " sequences, " << sum << " steps\n";
    std::cerr << statistics.sent << " elements sent to other PEs, " << statistics.received << " received\n";
}

}  // namespace

int main(int argc, char** argv) {
    try {
        lw::options options;
        if (argc > 1) options.devices = argv[1];
        const int n = argc > 2 ? std::stoi(argv[2]) : 1000;
        if (n < 1 || n > 1000000) throw lw::usage_error("N is 1 to 1000000");
        lw::runtime runtime(options);
        run(runtime, static_cast<std::uint64_t>(n));
    } catch (const lw::error& error) {
        std::cerr << "channels_remote: " << error.what() << '\n';
        return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
    }
}
