#include "recursion/fibonacci.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "laneway/base/error.hpp"

namespace laneway::apps {

namespace {

struct fibonacci_call {
    using arguments = std::uint32_t;
    using result = std::uint64_t;
    static constexpr std::uint32_t children = 2;

    std::uint32_t grain;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t n, Task& task) const {
        if (n <= grain) return task.finish(ctx, fibonacci_by_calls(n));
        auto fork = task.fork(ctx, laneway::task<fibonacci_call>, 2, laneway::task<add_both<std::uint64_t>>);
        if (!fork) return;
        fork.spawn(ctx, n - 1, &fork->left);
        fork.spawn(ctx, n - 2, &fork->right);
        fork.sync(ctx);
    }
};

/// The numbers whose sum is fibonacci(n): so many, the largest first, where they are above the grain.
std::vector<std::uint32_t> split(std::uint32_t n, std::uint32_t grain, std::uint64_t most) {
    std::vector<std::uint32_t> all{n};
    while (all.size() < most && all.front() > std::max(grain, 1u)) {
        const std::uint32_t first = all.front();
        all.erase(all.begin());
        for (const std::uint32_t next : {first - 1, first - 2}) {
            all.insert(std::lower_bound(all.begin(), all.end(), next, std::greater<>()), next);
        }
    }
    return all;
}

/// Calls of the tree: 2 fibonacci(n + 1) - 1.
std::uint64_t calls_of(std::uint32_t n) {
    std::uint64_t a = 0, b = 1;
    for (std::uint32_t i = 0; i < n; ++i) a = std::exchange(b, a + b);
    return 2 * b - 1;
}

}  // namespace

fibonacci_result fibonacci(std::uint32_t n, const recursion_options& options) {
    runtime rt(options.job);
    return fibonacci(rt, n, options);
}

fibonacci_result fibonacci(runtime& rt, std::uint32_t n, const recursion_options& options) {
    if (n > 90) throw usage_error("fibonacci(" + std::to_string(n) + ") is beyond 64 bits: n is at most 90");
    const std::uint32_t grain = std::max(options.grain, 1u);
    fork_join program(rt, fork_join_options_of(options, n > grain ? n - grain + 1 : 1), fibonacci_call{grain},
                      add_both<std::uint64_t>{});
    fibonacci_result made;
    const auto roots = split(n, grain, roots_for(rt, program.width()));
    const auto values = call_all<fibonacci_call>(program, options, roots);
    made.value = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
    made.calls = calls_of(n);
    made.report = report_of(program, roots.size());
    return made;
}

}  // namespace laneway::apps
