#include "recursion/quadrature.hpp"

#include <vector>

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

/// An interval, and where its halves are among those of the tree's top; 0: it has none.
struct top_interval {
    simpson_interval whole;
    std::size_t left = 0, right = 0;
};

/// The top of the tree, with so many leaves at most.
std::vector<top_interval> split(const simpson_interval& whole, std::uint64_t most) {
    std::vector<top_interval> all{{whole}};
    for (std::size_t i = 0; i < all.size() && all.size() / 2 + 1 < most; ++i) {
        simpson_interval left, right;
        double area = 0;
        if (halve(all[i].whole, left, right, area)) continue;
        all[i].left = all.size();
        all[i].right = all.size() + 1;
        all.push_back({left});
        all.push_back({right});
    }
    return all;
}

/// Adds up what the leaves have, as continuations do: so the result is the same to the bit. They come from the right,
/// since a half's place is behind that of its whole.
double sum_of(const std::vector<top_interval>& all, const std::vector<double>& of_leaves) {
    std::vector<double> areas(all.size());
    std::size_t leaf = of_leaves.size();
    for (std::size_t i = all.size(); i-- > 0;) {
        areas[i] = all[i].left == 0 ? of_leaves[--leaf] : areas[all[i].left] + areas[all[i].right];
    }
    return areas[0];
}

}  // namespace

quadrature_result quadrature(double from, double to, double tolerance, const recursion_options& options) {
    runtime rt(options.job);
    return quadrature(rt, from, to, tolerance, options);
}

quadrature_result quadrature(runtime& rt, double from, double to, double tolerance, const recursion_options& options) {
    if (!(tolerance > 0)) throw usage_error("the tolerance of a quadrature is above 0");
    fork_join program(rt, fork_join_options_of(options, max_quadrature_depth + 1), integrate{}, add_both<double>{});
    quadrature_result made;
    const auto top = split(first_interval(from, to, tolerance), roots_for(rt, program.width()));
    std::vector<simpson_interval> roots;
    for (const auto& one : top) {
        if (one.left == 0) roots.push_back(one.whole);
    }
    made.area = sum_of(top, call_all<integrate>(program, options, roots));
    made.report = report_of(program, roots.size());
    // Trees whose inner nodes have two children each, and one continuation; and the host's inner nodes.
    const std::uint64_t inner = (made.report.run.items - roots.size()) / 3;
    made.intervals = 2 * inner + roots.size() + (top.size() - roots.size());
    return made;
}

}  // namespace laneway::apps
