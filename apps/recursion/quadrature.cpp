#include "recursion/quadrature.hpp"

namespace laneway::apps {

namespace {

struct integrate {
    using arguments = simpson_interval;
    using result = double;
    static constexpr std::uint32_t children = 2;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const simpson_interval& whole, Task& task) const {
        simpson_interval left, right;
        double area = 0;
        if (halve(whole, left, right, area)) return task.finish(ctx, area);
        auto fork = task.fork(ctx, laneway::task<integrate>, 2, laneway::task<add_both<double>>);
        if (!fork) return;
        fork.spawn(ctx, left, &fork->left);
        fork.spawn(ctx, right, &fork->right);
        fork.sync(ctx);
    }
};

}  // namespace

quadrature_result quadrature(double from, double to, double tolerance, const recursion_options& options) {
    runtime rt(options.job);
    return quadrature(rt, from, to, tolerance, options);
}

quadrature_result quadrature(runtime& rt, double from, double to, double tolerance, const recursion_options& options) {
    if (!(tolerance > 0)) throw usage_error("the tolerance of a quadrature is above 0");
    fork_join program(rt, fork_join_options_of(options, max_quadrature_depth + 1), integrate{}, add_both<double>{});
    quadrature_result made;
    made.area = program.template run<integrate>({first_interval(from, to, tolerance)})[0];
    made.report = report_of(program);
    // A tree whose inner nodes have two children each, and one continuation.
    made.intervals = made.report.run.items - made.report.run.items / 3;
    return made;
}

}  // namespace laneway::apps
