// Graphs of channels: every element is consumed once whatever the width, and cycles end. What cannot run, leaks or
// never ends: channel_misuse_suite.hpp.
#pragma once

#include "laneway/channel_graph.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

/// Fibonacci numbers by counting ones; see examples/channels.cpp.
struct count_ones {
    using element = std::uint32_t;
    channel<std::uint32_t> numbers;
    symmetric_ref<std::uint64_t> result;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, std::uint32_t& n, channel_node& node) const {
        if (n <= 2) {
            atomic_add(ctx, result[0], 1);
            return outcome::done;
        }
        const auto next = node.talloc(ctx, numbers, 2);
        if (!next) return outcome::yield;
        next[0] = n - 1;
        next[1] = n - 2;
        node.enq(ctx, next);
        return outcome::done;
    }
};

/// Numbers go from kernel to kernel until they are 1: even ones are halved, odd ones tripled.
struct collatz {
    std::uint64_t value;
    std::uint32_t start;
};
struct step {
    using element = collatz;
    channel<collatz> even, odd;
    symmetric_ref<std::uint32_t> steps;  ///< one a start

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const collatz& at, channel_node& node) const {
        if (at.value == 1) return outcome::done;
        const std::uint64_t next = at.value % 2 == 0 ? at.value / 2 : 3 * at.value + 1;
        const auto to = node.talloc(ctx, next % 2 == 0 ? even : odd);
        if (!to) return outcome::yield;
        // No other lane has this start: the order that the channel gives is all that there is.
        ++*local(ctx, steps[at.start]);
        to[0] = {next, at.start};
        node.enq(ctx, to);
        return outcome::done;
    }
};
/// The same, as another kernel.
struct step_odd : step {};

/// Each lane of a body produces its rank.
struct produce_ranks {
    channel<std::uint32_t> to;
    template <class Ctx, class Graph>
    LANEWAY_FN void operator()(Ctx& ctx, Graph& graph) const {
        const auto made = graph.talloc(ctx, to);
        if (!made) return;
        made[0] = 1;
        graph.enq(ctx, made);
    }
};
struct count_all {
    using element = std::uint32_t;
    symmetric_ref<std::uint64_t> counted;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const std::uint32_t& n, channel_node&) const {
        atomic_add(ctx, counted[0], n);
    }
};

/// One element makes as many others as a channel holds.
struct burst {
    using element = std::uint32_t;
    static constexpr std::uint32_t many = 1024;
    channel<std::uint32_t> to;
    symmetric_ref<std::uint64_t> counted;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint32_t& is_first, channel_node& node) const {
        if (is_first == 0) {
            atomic_add(ctx, counted[0], 1);
            return outcome::done;
        }
        const auto next = node.talloc(ctx, to, many);
        if (!next) return outcome::yield;
        for (std::uint32_t i = 0; i < many; ++i) next[i] = 0;
        node.enq(ctx, next);
        return outcome::done;
    }
};

/// Serves what is least deep first, unlike the library.
struct shallow_first {
    LANEWAY_FN std::uint32_t operator()(const lw::channel_load& load) const { return load.levels - load.level; }
};

/// A part of its work at a time, which it counts in its element; each part produces an element that counts itself.
struct by_parts {
    using element = std::uint32_t;
    channel<std::uint32_t> parts;
    symmetric_ref<std::uint64_t> counted;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, std::uint32_t& left, channel_node& node) const {
        if (left == 0) {
            atomic_add(ctx, counted[0], 1);
            return outcome::done;
        }
        const auto next = node.talloc(ctx, parts);
        if (!next) return outcome::yield;
        next[0] = 0;
        node.enq(ctx, next);
        return --left == 0 ? outcome::done : outcome::again;
    }
};

class channel_graph_test : public testing::TestWithParam<std::string> {
protected:
    static std::uint64_t total(const symmetric_array<std::uint64_t>& counted, int pes) {
        std::uint64_t sum = 0;
        for (int pe = 0; pe < pes; ++pe) sum += counted.copy_out(pe)[0];
        return sum;
    }
    /// Elements of count_ones at each level below one number, added.
    static void add_calls(std::vector<std::uint64_t>& of_levels, std::uint32_t n, std::size_t level = 0) {
        ++of_levels[level];
        for (std::uint32_t i = 1; n > 2 && i <= 2; ++i) add_calls(of_levels, n - i, level + 1);
    }
    static options one_round() {
        options o = options_of(GetParam(), 1);
        o.gpu_blocks = 0;
        return o;
    }
};

TEST_P(channel_graph_test, RecursionEndsAtEveryWidthFromTheLeast) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const auto result = rt.allocate<std::uint64_t>(1);
        channel_graph graph(rt);
        const std::uint32_t n = is_checked(GetParam()) ? 8 + o.seed % 4 : 17;
        const std::uint32_t width = std::uint32_t{2} << (o.seed % 4 == 3 ? 9 : o.seed % 4);
        const auto numbers = graph.channel<std::uint32_t>({.width = width, .levels = n, .at_once = 2});
        const auto kernel = graph.kernel(count_ones{numbers, result.ref()});
        graph.connect(numbers, kernel);
        std::uint64_t expected = 0, tasks = 0;
        std::vector<std::uint64_t> calls(n);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const std::uint32_t mine = n - static_cast<std::uint32_t>(pe);
            add_calls(calls, mine);
            std::uint64_t a = 1, b = 1;
            for (std::uint32_t i = 2; i < mine; ++i) a = std::exchange(b, a + b);
            expected += b;
            tasks += 2 * b - 1;
            graph.init(numbers, {mine}, pe);
        }
        const run_report report = graph.run(kernel);
        EXPECT_EQ(total(result, rt.n_pes()), expected) << "width " << width;
        EXPECT_EQ(report.items, tasks);
        const channel_statistics statistics = graph.statistics();
        EXPECT_EQ(statistics.produced, tasks);
        EXPECT_EQ(statistics.consumed, tasks + statistics.yields);
        EXPECT_LE(statistics.full_dispatches, statistics.dispatches);
        EXPECT_LE(statistics.dispatches, statistics.consumed);
        EXPECT_GE(statistics.peak, 1u);
        EXPECT_LE(statistics.peak, std::bit_ceil(width));
        ASSERT_EQ(statistics.channels.size(), 1u);
        const auto& levels = statistics.channels[0].levels;
        ASSERT_EQ(levels.size(), n);
        EXPECT_EQ(statistics.stalls, statistics.yields);
        EXPECT_EQ(levels[0].stalls, 0u);
        for (std::size_t l = 0; l < n; ++l) {
            EXPECT_EQ(levels[l].produced, calls[l]) << l;
            // An element is put back as often as what it produces finds no space one level deeper.
            EXPECT_EQ(levels[l].consumed, calls[l] + (l + 1 < n ? levels[l + 1].stalls : 0)) << l;
            EXPECT_EQ(levels[l].peak > 0, calls[l] > 0) << l;
            EXPECT_LE(levels[l].peak, std::min<std::uint64_t>(width, calls[l])) << l;
        }
    });
}

/// Two elements one level deeper for each, and one in another channel for each of the last level.
struct grow {
    using element = std::uint32_t;  ///< levels below
    channel<std::uint32_t> tree, leaves;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint32_t& below, channel_node& node) const {
        const auto next = below == 0 ? node.talloc(ctx, leaves) : node.talloc(ctx, tree, 2);
        if (!next) return outcome::yield;
        for (std::uint32_t i = 0; i < next.size(); ++i) next[i] = below == 0 ? 1 : below - 1;
        node.enq(ctx, next);
        return outcome::done;
    }
};

TEST_P(channel_graph_test, WhatChannelsDidIsToldByChannelAndLevel) {
    every_fourth_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const auto counted = rt.allocate<std::uint64_t>(1);
        // With memory for what warps keep, little of it comes to a channel.
        const bool keeps = o.seed % 2 == 0;
        channel_graph graph(rt, {.stack_bytes = keeps ? 1u << 16 : 0});
        const auto leaves = graph.channel<std::uint32_t>({.width = 128, .name = "leaves"});
        const auto tree = graph.channel<std::uint32_t>({.width = 128, .levels = 5, .at_once = 2, .name = "tree"});
        const auto grows = graph.kernel(grow{tree, leaves});
        const auto counts = graph.kernel(count_all{counted.ref()});
        graph.connect(tree, grows);
        graph.connect(leaves, counts);
        graph.init(tree, {4, 4, 4}, rt.n_pes() - 1);
        graph.run(grows, counts);
        EXPECT_EQ(total(counted, rt.n_pes()), 3u * 16);
        const channel_statistics all = graph.statistics();
        ASSERT_EQ(all.channels.size(), 2u);
        const one_channel_statistics &of_leaves = all.channels[0], &of_tree = all.channels[1];
        EXPECT_EQ(of_leaves.name + " " + of_tree.name, "leaves tree");
        EXPECT_EQ(std::vector({of_leaves.produced, of_leaves.consumed}), (std::vector<std::uint64_t>{48, 48}));
        EXPECT_EQ(std::vector({of_tree.produced, of_tree.consumed}), (std::vector<std::uint64_t>{93, 93}));
        EXPECT_EQ(of_leaves.kept + of_tree.kept, all.kept);
        EXPECT_EQ(all.kept > 0, keeps);
        EXPECT_EQ(of_tree.peak, std::max({of_tree.levels[0].peak, of_tree.levels[1].peak, of_tree.levels[2].peak,
                                          of_tree.levels[3].peak, of_tree.levels[4].peak}));
        // Nothing is consumed before the first look.
        EXPECT_EQ(of_tree.levels[0], (channel_level_statistics{3, 3, 0, 3}));
        for (std::size_t l = 0; l < 5 && !keeps; ++l) {
            EXPECT_EQ(of_tree.levels[l].produced, 3u << l);
            EXPECT_EQ(of_tree.levels[l].consumed, 3u << l);
        }
        EXPECT_LE(all.dispatches, of_leaves.dispatches + of_tree.dispatches);
        for (const auto& one : all.channels) {
            std::uint64_t in_channel = 0;
            for (const auto& level : one.levels) in_channel += level.produced;
            EXPECT_EQ(in_channel + one.kept, one.produced);
            EXPECT_GE(one.dispatches, (one.consumed + 31) / 32);
            EXPECT_LE(one.dispatches, one.consumed);
            if (GetParam().starts_with("cpu")) {  // a warp is one lane
                EXPECT_EQ(one.dispatches, one.consumed);
            }
        }
    });
}

/// Whatever has been in its queues: each run begins with another number of elements, until positions have gone round.
TEST_P(channel_graph_test, RunsGoOnWhereTheOneBeforeHasEnded) {
    every_fourth_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const auto counted = rt.allocate<std::uint64_t>(1);
        channel_graph graph(rt, {.stack_bytes = o.seed % 2 == 0 ? 0u : 8192u});
        const auto leaves = graph.channel<std::uint32_t>({.width = 16, .levels = 1});
        const auto tree = graph.channel<std::uint32_t>({.width = 16, .levels = 3, .at_once = 2});
        const auto grows = graph.kernel(grow{tree, leaves});
        const auto counts = graph.kernel(count_all{counted.ref()});
        graph.connect(tree, grows);
        graph.connect(leaves, counts);
        std::uint64_t before = 0, sum = 0;
        for (std::uint32_t run = 1; run <= 7; ++run) {
            const std::uint64_t n = run == 4 ? 16 : 2 * run;
            graph.init(tree, std::vector<std::uint32_t>(n, 2), rt.n_pes() - 1);
            if (run % 3 == 0) graph.init(leaves, std::vector<std::uint32_t>(run, 1), 0);
            graph.run(grows, counts);
            sum += 4 * n + (run % 3 == 0 ? run : 0);
            EXPECT_EQ(total(counted, rt.n_pes()), sum) << "run " << run;
            const channel_statistics did = graph.statistics();
            EXPECT_EQ(did.consumed, 11 * n + (run % 3 == 0 ? run : 0) + did.yields) << "of this run";
            if (run > 1) {
                EXPECT_EQ(fills(rt), before + 2 * static_cast<unsigned>(rt.n_pes())) << "counts, and PEs' requests";
            }
            before = fills(rt);
        }
    });
}

TEST_P(channel_graph_test, AsManyElementsAsAChannelHoldsMayBeReservedAtOnce) {
    options o = one_round();
    o.cpu_threads = 4;  // a shard each, if the channel were wide enough
    runtime rt(o);
    const auto counted = rt.allocate<std::uint64_t>(1);
    channel_graph graph(rt);
    const auto to = graph.channel<std::uint32_t>({.width = burst::many, .levels = 2, .at_once = burst::many});
    const auto kernel = graph.kernel(burst{to, counted.ref()});
    graph.connect(to, kernel);
    graph.init(to, {1});
    graph.run(kernel);
    EXPECT_EQ(total(counted, rt.n_pes()), burst::many);
    EXPECT_THROW((void)graph.channel<std::uint32_t>({.width = 1u << 28, .at_once = (1u << 26) + 1}), usage_error);
}

TEST_P(channel_graph_test, ElementsGoRoundACycleOfTwoKernelsOnce) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const std::uint32_t starts = is_checked(GetParam()) ? 12 : 40;
        const auto steps = rt.allocate<std::uint32_t>(starts);
        channel_graph graph(rt);
        // Little more than the elements: then the space of each channel waits for the other's elements.
        const std::uint32_t width = o.seed % 2 == 0 ? 128 : starts + 3;
        const auto even = graph.channel<collatz>(width), odd = graph.channel<collatz>(width);
        const auto halve = graph.kernel(step{even, odd, steps.ref()});
        const auto triple = graph.kernel(step_odd{{even, odd, steps.ref()}});
        graph.connect(even, halve);
        graph.connect(odd, triple);
        for (int again = 0; again < 2; ++again) {
            for (std::uint32_t i = 0; i < starts; ++i)
                graph.init(i % 2 == 0 ? odd : even, {{i + 1, i}}, rt.n_pes() - 1);
            // Kernels have the numbers that the graph gave, in whatever order they are named.
            if (again == 0) {
                graph.run(halve, triple);
            } else {
                graph.run(triple, halve);
            }
            const auto counted = steps.copy_out(rt.n_pes() - 1);
            for (std::uint32_t i = 0; i < starts; ++i) {
                std::uint32_t expected = 0;
                for (std::uint64_t x = i + 1; x != 1; ++expected) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
                ASSERT_EQ(counted[i], expected * (again + 1)) << i + 1;
            }
        }
    });
}

TEST_P(channel_graph_test, WarpsKeepWhatTheyProduceWhateverThereIsOfRoom) {
    std::uint64_t kept = 0;
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const auto result = rt.allocate<std::uint64_t>(1);
        channel_graph graph(rt, {.stack_bytes = std::uint64_t{256} << 5 * o.seed % 12});  // large ones among the first
        const std::uint32_t n = is_checked(GetParam()) ? 8 + o.seed % 4 : 17;
        const auto numbers = graph.channel<std::uint32_t>({.width = 2, .levels = n, .at_once = 2});
        const auto kernel = graph.kernel(count_ones{numbers, result.ref()});
        graph.connect(numbers, kernel);
        std::uint64_t a = 1, b = 1;
        for (std::uint32_t i = 2; i < n; ++i) a = std::exchange(b, a + b);
        for (int pe = 0; pe < rt.n_pes(); ++pe) graph.init(numbers, {n}, pe);
        const run_report report = graph.run(kernel);
        EXPECT_EQ(total(result, rt.n_pes()), b * static_cast<std::uint64_t>(rt.n_pes()));
        EXPECT_EQ(report.items, (2 * b - 1) * static_cast<std::uint64_t>(rt.n_pes()));
        const channel_statistics did = graph.statistics();
        EXPECT_GE(did.produced, report.items);  // a warp may reserve more for others than it can give
        EXPECT_EQ(did.consumed, report.items + did.yields);
        kept += did.kept;
    });
    EXPECT_GT(kept, 0u);
}

TEST_P(channel_graph_test, AKernelMayDoItsWorkByParts) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const auto counted = rt.allocate<std::uint64_t>(1);
        channel_graph graph(rt, {.stack_bytes = o.seed % 2 == 0 ? 0u : 8192u});
        const auto parts = graph.channel<std::uint32_t>({.width = 8, .levels = 2});
        const auto kernel = graph.kernel(by_parts{parts, counted.ref()});
        graph.connect(parts, kernel);
        graph.init(parts, {1, 2, 3, 4, 5}, rt.n_pes() - 1);
        EXPECT_EQ(graph.run(kernel).items, 5u + 15);
        EXPECT_EQ(total(counted, rt.n_pes()), 15u);
    });
}

TEST_P(channel_graph_test, APolicyOfTheUserDecidesTheOrderAndNotTheResult) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const auto result = rt.allocate<std::uint64_t>(1);
        channel_graph graph(rt);
        const auto numbers = graph.channel<std::uint32_t>({.width = 4, .levels = 12, .at_once = 2, .at_least = 1});
        const auto kernel = graph.kernel(count_ones{numbers, result.ref()});
        graph.connect(numbers, kernel);
        graph.init(numbers, {9, 6});
        graph.run_with(shallow_first{}, kernel);
        EXPECT_EQ(total(result, rt.n_pes()), 34u + 8);
    });
}

TEST_P(channel_graph_test, LanesOfABodyProduce) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const auto counted = rt.allocate<std::uint64_t>(1);
        channel_graph graph(rt);
        const auto to = graph.channel<std::uint32_t>({.width = 1 << 16});
        const auto kernel = graph.kernel(count_all{counted.ref()});
        graph.connect(to, kernel);
        graph.init(to, {1000});
        rt.run(produce_ranks{to}, graph.component(kernel));
        EXPECT_EQ(total(counted, rt.n_pes()), 999 + graph.statistics().produced);
        EXPECT_GT(graph.statistics().produced, 1u);
    });
}

LANEWAY_ON_DEVICES(channel_graph_test, device_lists());

}  // namespace
}  // namespace laneway::test
