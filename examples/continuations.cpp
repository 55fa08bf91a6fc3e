// Fibonacci numbers by fork-join: a call forks two others, and a continuation adds their results when both are done.
// Memory is bounded, however many calls there are.
//
// Usage: continuations [DEVICES] [N]     for example cpu:2 20, cuda 40; N, 20 by default, is 0 to 90
#include <iostream>

#include "laneway/base/error.hpp"
#include "laneway/fork_join.hpp"

namespace {

struct add {
    struct arguments {
        std::uint64_t left, right;
    };
    using result = std::uint64_t;
    static constexpr bool follows = true;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& sum, Task& task) const {
        task.finish(ctx, sum.left + sum.right);
    }
};

struct fib {
    using arguments = std::uint32_t;
    using result = std::uint64_t;
    static constexpr std::uint32_t children = 2;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t n, Task& task) const {
        if (n < 2) return task.finish(ctx, n);
        auto fork = task.fork(ctx, lw::task<fib>, 2, lw::task<add>);
        if (!fork) return;  // no room now: the function is called again
        fork.spawn(ctx, n - 1, &fork->left);
        fork.spawn(ctx, n - 2, &fork->right);
        fork.sync(ctx);
    }
};

}  // namespace

int main(int argc, char** argv) {
    try {
        lw::options options;
        if (argc > 1) options.devices = argv[1];
        const int n = argc > 2 ? std::stoi(argv[2]) : 20;
        if (n < 0 || n > 90) throw lw::usage_error("N is 0 to 90");
        lw::runtime runtime(options);
        const auto arguments = static_cast<std::uint32_t>(n);
        lw::fork_join program(runtime, {.levels = arguments + 1}, fib{}, add{});
        std::cout << "fibonacci(" << n << ") = " << program.run<fib>({arguments})[0] << '\n';
    } catch (const lw::error& error) {
        std::cerr << "continuations: " << error.what() << '\n';
        return dynamic_cast<const lw::usage_error*>(&error) != nullptr ? 2 : 1;
    }
}
