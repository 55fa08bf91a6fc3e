// Components with work of their own beside each other in one program: worklists, item worklists, graphs of channels,
// fork-join programs, and a mailbox and a body with them. Each does its work as it does alone.
#pragma once

#include "laneway/fork_join.hpp"
#include "unit/flow/item_trees.hpp"
#include "unit/run/component_job.hpp"
#include "unit/run/path_graph.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

/// All of a worklist's work runs at once.
constexpr threshold_policy no_threshold{};

/// Elements that are above 1 become two of about half their size; those of 1 are counted.
template <int Number>
struct halve {
    using element = std::uint32_t;
    channel<std::uint32_t> parts;
    symmetric_ref<std::uint64_t> ones;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint32_t& n, channel_node& node) const {
        if (n == 1) {
            atomic_add(ctx, ones[0], 1);
            return outcome::done;
        }
        const auto next = node.talloc(ctx, parts, 2);
        if (!next) return outcome::yield;
        next[0] = n / 2;
        next[1] = n - n / 2;
        node.enq(ctx, next);
        return outcome::done;
    }
};

/// A graph that halves, with its sum. Those of different numbers are different kernels.
template <int Number = 0>
struct halving {
    explicit halving(runtime& rt, std::uint64_t stack_bytes = 0, std::uint32_t width = 4)
        : ones(rt.allocate<std::uint64_t>(1)), graph(rt, {.stack_bytes = stack_bytes}),
          parts(graph.channel<std::uint32_t>({.width = width, .levels = 12, .at_once = 2})),
          kernel(graph.kernel(halve<Number>{parts, ones.ref()})) {
        graph.connect(parts, kernel);
    }

    symmetric_array<std::uint64_t> ones;
    channel_graph graph;
    channel<std::uint32_t> parts;
    kernel_node<halve<Number>> kernel;
};

/// Each lane leaves an element where it finds room, and posts how much that is and one more.
struct leave_and_post {
    channel<std::uint32_t> to;
    template <class Ctx, class Channels, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Channels& channels, Box& box) const {
        const auto made = channels.talloc(ctx, to);
        if (made) {
            made[0] = 5;
            channels.enq(ctx, made);
        }
        (void)box.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), up{made ? 6u : 1u});
    }
};
/// The same for each index.
struct leave_index {
    channel<std::uint32_t> to;
    template <class Ctx, class Channels, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t, Channels& channels, Box& box) const {
        leave_and_post{to}(ctx, channels, box);
    }
};
/// Each lane leaves an element in one of two graphs.
struct leave_in_both {
    channel<std::uint32_t> first, second;
    template <class Ctx, class First, class Second>
    LANEWAY_FN void operator()(Ctx& ctx, First& one, Second& other) const {
        leave(ctx, one, first), leave(ctx, other, second);
    }
    template <class Ctx, class Channels>
    LANEWAY_FN void leave(Ctx& ctx, Channels& channels, channel<std::uint32_t> to) const {
        const auto made = channels.talloc(ctx, to);
        if (!made) return;
        made[0] = 3;
        channels.enq(ctx, made);
    }
};

struct add_leaves {
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
/// Leaves of the tree of halves.
struct count_leaves {
    using arguments = std::uint32_t;
    using result = std::uint64_t;
    static constexpr std::uint32_t children = 2;
    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t n, Task& task) const {
        if (n == 1) return task.finish(ctx, 1);
        auto fork = task.fork(ctx, laneway::task<count_leaves>, 2, laneway::task<add_leaves>);
        if (!fork) return;
        fork.spawn(ctx, n / 2, &fork->left);
        fork.spawn(ctx, n - n / 2, &fork->right);
        fork.sync(ctx);
    }
};

/// Items in a tree, which move between PEs.
class tree_job {
public:
    tree_job(runtime& rt, bool priorities)
        : n_pes_(rt.n_pes()), list_(rt.machine(), applications(rt), with(priorities)) {}
    [[nodiscard]] auto& list() { return list_; }
    void prepare() {
        for (auto& sums : sums_) sums.fill_bytes(0);
        for (const auto& [pe, item] : starts()) list_.start_with(pe, {item});
    }
    void check() const {
        const expected_tree expected(rules, starts(), n_pes_);
        EXPECT_EQ(list_.work().done, expected.work.done);
        for (std::size_t pe = 0; pe < sums_.size(); ++pe) {
            EXPECT_EQ(sums_[pe].copy_out()[0].keys, expected.sums[pe].keys) << "PE " << pe;
        }
    }

private:
    static constexpr tree_rules rules{2, 3, 2};
    static item_worklist_options with(bool priorities) {
        item_worklist_options o;
        o.items = 2048;
        o.reserve_items = 8192;
        o.priorities = priorities;
        if (priorities) o.policy = {4, 4, 1};
        return o;
    }
    [[nodiscard]] std::vector<std::pair<int, tree_item>> starts() const {
        std::vector<std::pair<int, tree_item>> all;
        for (std::uint64_t i = 0; i < 3; ++i) {
            all.emplace_back(static_cast<int>(i) % n_pes_, tree_item{i + 11, rules.depth});
        }
        return all;
    }
    std::vector<tree_application> applications(runtime& rt) {
        std::vector<tree_application> all;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            sums_.emplace_back(rt.machine().device(pe), 1);
            all.push_back({rules, sums_.back().data()});
        }
        return all;
    }

    int n_pes_;
    std::vector<buffer<tree_sums>> sums_;
    item_worklist<tree_application> list_;
};

class work_together_test : public testing::TestWithParam<std::string> {
protected:
    static options roomy(options o) {
        o.chunk_bytes = 512;
        return o;
    }
    static void expect_path(const runtime& rt, const path_graph& path, const worklist<std::uint32_t, path_arcs>& list) {
        path_keys keys(path.vertices);
        keys.propose(0, 0);
        keys.expect(rt, list);
    }
};

TEST_P(work_together_test, AGraphBesideAMailboxAndABody) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(roomy(o));
        halving<> halves(rt, o.seed % 2 == 0 ? 0u : 8192u, 64);
        auto weight = rt.allocate<std::uint64_t>(1);
        const auto box = rt.mailbox<up>(add_to{weight.ref(), 0});
        auto part = halves.graph.component(halves.kernel);
        for (std::uint64_t runs = 1; runs <= 2; ++runs) {
            halves.graph.init(halves.parts, {9, 1}, rt.n_pes() - 1);
            const run_report report = rt.run(leave_and_post{halves.parts}, part, box);
            EXPECT_EQ(report.posted, report.direct + report.carried);
            const std::uint64_t ones = total(halves.ones, rt.n_pes(), 0), posts = report.posted;
            halves.ones.clear();
            // Each post says 1, and 5 more where its lane left an element.
            EXPECT_EQ(total(weight, rt.n_pes(), 0), posts + ones - 10);
            weight.clear();
            EXPECT_GE(ones, 15u);
            const std::uint64_t produced = halves.graph.statistics().produced;
            EXPECT_EQ(produced, (ones - 10) / 5 * 9 + 18) << "a tree of n leaves has 2n - 1 elements";
        }
    });
}

TEST_P(work_together_test, AGraphInForEach) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(roomy(o));
        halving<> halves(rt, 0, 1024);
        const auto weight = rt.allocate<std::uint64_t>(1);
        const auto box = rt.mailbox<up>(add_to{weight.ref(), 0});
        (void)rt.for_each(70, leave_index{halves.parts}, halves.graph.component(halves.kernel), box);
        const std::uint64_t ones = total(halves.ones, rt.n_pes(), 0);
        EXPECT_EQ(total(weight, rt.n_pes(), 0), 70 + ones);
        EXPECT_GT(ones, 0u);
        EXPECT_EQ(ones % 5, 0u);
    });
}

TEST_P(work_together_test, TwoGraphs) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(roomy(o));
        halving<0> one(rt, o.seed % 2 == 0 ? 0u : 8192u);
        halving<1> other(rt, o.seed % 3 == 0 ? 0u : 8192u);
        one.graph.init(one.parts, {17}), other.graph.init(other.parts, {6, 7}, rt.n_pes() - 1);
        (void)rt.run(leave_in_both{one.parts, other.parts}, one.graph.component(one.kernel),
                     other.graph.component(other.kernel));
        const auto left = [&](const auto& halves, std::uint64_t first) {
            const std::uint64_t ones = total(halves.ones, rt.n_pes(), 0);
            EXPECT_GE(ones, first);
            EXPECT_EQ((ones - first) % 3, 0u);
        };
        left(one, 17), left(other, 13);
        // Without a body, and with nothing to begin with in one of them.
        one.ones.clear();
        one.graph.init(one.parts, {8});
        (void)rt.run(one.graph.component(one.kernel), other.graph.component(other.kernel));
        EXPECT_EQ(total(one.ones, rt.n_pes(), 0), 8u);
        EXPECT_EQ(other.graph.statistics().produced, 0u);
    });
}

TEST_P(work_together_test, AWorklistBesideAGraphAndAForkJoinProgram) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(roomy(o));
        const path_graph path(rt);
        auto list = path.list(rt.machine());
        halving<> halves(rt, o.seed % 2 == 0 ? 0u : 8192u);
        fork_join program(rt, {.levels = 8, .width = 4}, count_leaves{}, add_leaves{});
        auto calls = program.component<count_leaves>({19, 1, 40});
        for (int runs = 0; runs < 2; ++runs) {
            list.start_with({0});
            halves.graph.init(halves.parts, {31});
            (void)rt.run(list, halves.graph.component(halves.kernel), calls);
            expect_path(rt, path, list);
            EXPECT_EQ(total(halves.ones, rt.n_pes(), 0), 31u);
            halves.ones.clear();
            EXPECT_EQ(calls.results(), (std::vector<std::uint64_t>{19, 1, 40}));
        }
    });
}

TEST_P(work_together_test, AWorklistBesideItemsOneWithAThreshold) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(roomy(o));
        const path_graph path(rt);
        auto list = path.list(rt.machine());
        const bool has_list_one = o.seed % 2 == 0;
        if (!has_list_one) list.set_policy(no_threshold);
        tree_job tree(rt, !has_list_one);
        halving<> halves(rt);
        for (int runs = 0; runs < 2; ++runs) {
            list.start_with({0});
            tree.prepare();
            halves.graph.init(halves.parts, {11});
            const run_report report = rt.run(list, halves.graph.component(halves.kernel), tree.list());
            EXPECT_GT(report.rises, 0u);
            expect_path(rt, path, list);
            tree.check();
        }
        EXPECT_EQ(total(halves.ones, rt.n_pes(), 0), 22u);
    });
}

TEST_P(work_together_test, AWorklistBesideAGraphInASession) {
    repeat_rounds(GetParam(), few_rounds(GetParam(), 4), [&](const options& o) {
        runtime rt(roomy(o));
        const path_graph path(rt);
        auto list = path.list(rt.machine());
        halving<> halves(rt);
        auto service = halves.graph.service(halves.kernel);
        auto session = rt.start(list, service);
        for (std::uint32_t epochs = 1; epochs <= 2; ++epochs) {
            session.post(list.proposal(0, 0));
            service.enqueue(halves.parts, 13, rt.n_pes() - 1);
            session.quiesce();
            expect_path(rt, path, list);
            EXPECT_EQ(total(halves.ones, rt.n_pes(), 0), 13 * epochs);
        }
        session.stop();
    });
}

TEST_P(work_together_test, TwoThresholdsAreRefused) {
    runtime rt(roomy(options_for(GetParam())));
    const path_graph path(rt);
    auto list = path.list(rt.machine());
    tree_job tree(rt, true);
    list.start_with({0});
    tree.prepare();
    const std::string told =
        "2 components with thresholds in one run or session: one may have a threshold; of the others all work runs at "
        "once (threshold_policy::first, item_worklist_options::priorities)";
    EXPECT_EQ(thrown<usage_error>([&] { (void)rt.run(list, tree.list()); }), told);
    EXPECT_EQ(thrown<usage_error>([&] { (void)rt.start(list, tree.list()); }), told);
    (void)rt.run(list);
    expect_path(rt, path, list);
    (void)rt.run(tree.list());
    tree.check();
}

LANEWAY_ON_DEVICES(work_together_test, device_lists());

}  // namespace
}  // namespace laneway::test
