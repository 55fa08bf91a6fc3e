// Fibonacci numbers by their definition, as a graph of one channel and one kernel: Figure 4-5 of Orr, Fine-grain Task
// Aggregation and Coordination on GPUs, 2016.
//
// Usage: channels [DEVICES] [N]     for example cpu:2 20, cuda 40; N, 20 by default, is 1 to 90
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/channel_graph.hpp"

namespace {

struct fib {
    using element = int;
    lw::channel<int> numbers;
    lw::symmetric_ref<std::uint64_t> result;

    template <class Ctx>
    LANEWAY_FN lw::outcome operator()(Ctx& ctx, int& n, lw::channel_node& node) const {
        if (n <= 2) {
            lw::atomic_add(ctx, result[0], 1);
            return lw::outcome::done;
        }
        const auto next = node.talloc(ctx, numbers, 2);
        if (!next) return lw::outcome::yield;  // no space now: the kernel is called again for this n
        next[0] = n - 1;
        next[1] = n - 2;
        node.enq(ctx, next);
        return lw::outcome::done;
    }
};

std::uint64_t run(lw::runtime& runtime, int n) {
    const auto result = runtime.allocate<std::uint64_t>(1);
    lw::channel_graph graph(runtime);
    const auto numbers = graph.channel<int>({.width = 32768, .levels = 90, .at_once = 2});
    const auto kernel = graph.kernel(fib{numbers, result.ref()});
    graph.connect(numbers, kernel);
    graph.init(numbers, {n});
    graph.run(kernel);
    return result.copy_out(0)[0];
}

}  // namespace

int main(int argc, char** argv) {
    try {
        lw::options options;
        if (argc > 1) options.devices = argv[1];
        const int n = argc > 2 ? std::stoi(argv[2]) : 20;
        if (n < 1 || n > 90) throw lw::usage_error("N is 1 to 90");
        lw::runtime runtime(options);
        std::cout << "fibonacci(" << n << ") = " << run(runtime, n) << '\n';
    } catch (const lw::error& error) {
        std::cerr << "channels: " << error.what() << '\n';
        return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
    }
}
