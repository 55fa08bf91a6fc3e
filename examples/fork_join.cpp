// Many small tasks on all devices: how long do the Collatz sequences of a hundred thousand numbers get, asked in one
// batch; and Fibonacci's numbers by their definition, where each task spawns two others. The answers are the same on
// any devices.
//
// Usage: fork_join [DEVICES]     for example cpu:2, cuda, cuda:0-3; empty: every GPU, else one CPU device a core
#include <algorithm>
#include <iostream>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/runtime.hpp"
#include "laneway/task/task_pool.hpp"

namespace {

/// Steps until the sequence of a number reaches 1.
struct collatz {
    using arguments = std::uint64_t;
    using result = std::uint32_t;

    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& first) const {
        result steps = 0;
        for (std::uint64_t n = first; n > 1; n = n % 2 == 0 ? n / 2 : 3 * n + 1) ++steps;
        return steps;
    }
};

struct two_terms {
    std::uint64_t left, right;
};
struct add_terms {
    using arguments = two_terms;
    using result = std::uint64_t;

    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& terms) const {
        return terms.left + terms.right;
    }
};

/// The results of the two that it spawns become the arguments of the one that follows.
struct fibonacci {
    using arguments = std::uint64_t;
    using result = std::uint64_t;
    static constexpr bool spawns = true;

    template <class Ctx, class Worker>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& n, Worker& worker) const {
        if (n < 2 || worker.lane() != 0) return n;
        two_terms* const terms = worker.then(ctx, lw::task<add_terms>, {0, 0});
        if (terms == nullptr || !worker.spawn(ctx, lw::task<fibonacci>, n - 1, &terms->left) ||
            !worker.spawn(ctx, lw::task<fibonacci>, n - 2, &terms->right)) {
            worker.fail(1);  // the pool has no room for more
        }
        return 0;
    }
};

void ask(lw::runtime& runtime) {
    lw::task_pool pool(collatz{}, fibonacci{}, add_terms{});
    auto session = runtime.start(pool);
    auto number = pool.submit<fibonacci>(20);  // returns at once

    std::vector<std::uint64_t> first(100'000);
    for (std::uint64_t i = 0; i < first.size(); ++i) first[i] = i + 1;
    const auto sequences = pool.submit_many<collatz>(first);
    const auto steps = sequences.get();
    const auto longest = std::max_element(steps.begin(), steps.end());
    std::cout << first[static_cast<std::size_t>(longest - steps.begin())] << " takes " << *longest << " steps\n";

    std::cout << "fibonacci(20) = " << number.get() << '\n';
    session.stop();
}

}  // namespace

int main(int argc, char** argv) try {
    lw::options options;
    if (argc > 1) options.devices = argv[1];
    lw::runtime runtime(options);
    ask(runtime);
} catch (const lw::error& error) {
    std::cerr << "fork_join: " << error.what() << '\n';
    return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
}
