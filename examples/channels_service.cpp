// How many steps does the Collatz sequence take from a number? A graph of channels that stays on the devices answers
// host threads: two ask, and two others take the answers.
//
// Usage: channels_service [DEVICES]     for example cpu:2, cuda
#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/channel_graph.hpp"

namespace {

struct walk {
    std::uint64_t start;
    std::uint64_t value;
    std::uint32_t steps;
};
struct answer {
    std::uint64_t start;
    std::uint32_t steps;
};

/// Walks a sequence to its end. Where there is no room for the answer, the element keeps how far it is.
struct walk_on {
    using element = walk;
    lw::channel<answer> answers;

    template <class Ctx>
    LANEWAY_FN lw::outcome operator()(Ctx& ctx, walk& at, lw::channel_node& node) const {
        for (; at.value != 1; ++at.steps) at.value = at.value % 2 == 0 ? at.value / 2 : 3 * at.value + 1;
        const auto found = node.talloc(ctx, answers);
        if (!found) return lw::outcome::yield;
        found[0] = {at.start, at.steps};
        node.enq(ctx, found);
        return lw::outcome::done;
    }
};

constexpr std::uint64_t numbers = 10'000;

std::uint64_t ask_for_all(lw::runtime& runtime) {
    lw::channel_graph graph(runtime);
    const auto walks = graph.channel<walk>(4096);
    const auto answers = graph.channel<answer>(4096);
    const auto kernel = graph.kernel(walk_on{answers});
    graph.connect(walks, kernel);
    auto service = graph.service(kernel, graph.host_kernel(answers));  // host threads consume the answers
    auto session = runtime.start(service);

    const auto pes = static_cast<std::uint64_t>(runtime.n_pes());
    std::atomic<std::uint64_t> steps = 0;
    const auto ask = [&](std::uint64_t parity) {
        for (std::uint64_t n = 1 + parity; n <= numbers; n += 2) {
            service.enqueue(walks, {n, n, 0}, static_cast<int>(n % pes));
        }
    };
    const auto take = [&] {
        for (std::uint64_t i = 0; i < numbers / 2; ++i) steps += service.take(answers).steps;
    };
    std::vector<std::thread> threads;
    for (const std::uint64_t parity : {0, 1}) {
        threads.emplace_back(ask, parity);
        threads.emplace_back(take);
    }
    for (std::thread& t : threads) t.join();
    session.stop();
    return steps;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        lw::options options;
        if (argc > 1) options.devices = argv[1];
        lw::runtime runtime(options);
        std::cout << numbers << " sequences, " << ask_for_all(runtime) << " steps\n";
    } catch (const lw::error& error) {
        std::cerr << "channels_service: " << error.what() << '\n';
        return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
    }
}
