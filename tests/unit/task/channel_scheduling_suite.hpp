// Schedulers: where one warp, or a thread of the host, decides what all warps serve, graphs do the same as where each
// decides for itself, at every width from the least.
#pragma once

#include "laneway/channel_graph.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

/// What channels of these tests hold.
struct token {
    std::uint32_t n;
    std::uint32_t laps;
};
struct split_token {
    using element = token;
    channel<token> tree;
    symmetric_ref<std::uint64_t> leaves;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const token& at, channel_node& node) const {
        if (at.n <= 2) {
            atomic_add(ctx, leaves[0], 1);
            return outcome::done;
        }
        const auto next = node.talloc(ctx, tree, 2);
        if (!next) return outcome::yield;
        next[0] = {at.n - 1, 0};
        next[1] = {at.n - 2, 0};
        node.enq(ctx, next);
        return outcome::done;
    }
};
/// Goes back and forth between two channels.
struct pass_token {
    using element = token;
    channel<token> to;
    symmetric_ref<std::uint64_t> laps;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const token& at, channel_node& node) const {
        if (at.laps == 0) return outcome::done;
        const auto next = node.talloc(ctx, to);
        if (!next) return outcome::yield;
        atomic_add(ctx, laps[0], 1);
        next[0] = {at.n, at.laps - 1};
        node.enq(ctx, next);
        return outcome::done;
    }
};
struct pass_back : pass_token {};

class channel_scheduling_test : public testing::TestWithParam<std::string> {
protected:
    static std::uint64_t total(const symmetric_array<std::uint64_t>& words, int pes) {
        std::uint64_t sum = 0;
        for (int pe = 0; pe < pes; ++pe) sum += words.copy_out(pe)[0];
        return sum;
    }
    /// A recursion on each PE, and the statistics of it.
    template <class Policy>
    static channel_statistics recursion(const options& o, const Policy& policy, std::uint32_t n) {
        runtime rt(o);
        const auto leaves = rt.allocate<std::uint64_t>(1);
        channel_graph graph(rt);
        const std::uint32_t width = std::uint32_t{2} << o.seed % 3 * 4;
        const auto tree = graph.channel<token>({.width = width, .levels = n, .at_once = 2});
        const auto kernel = graph.kernel(split_token{tree, leaves.ref()});
        graph.connect(tree, kernel);
        std::uint64_t a = 1, b = 1;
        for (std::uint32_t i = 2; i < n; ++i) a = std::exchange(b, a + b);
        for (int pe = 0; pe < rt.n_pes(); ++pe) graph.init(tree, {token{n, 0}}, pe);
        const run_report report = graph.run_with(policy, kernel);
        EXPECT_EQ(total(leaves, rt.n_pes()), b * static_cast<unsigned>(rt.n_pes())) << "width " << width;
        EXPECT_EQ(report.items, (2 * b - 1) * static_cast<unsigned>(rt.n_pes()));
        return graph.statistics();
    }
    /// Elements in a cycle of two channels with little more room than they need.
    template <class Policy>
    static void cycle(const options& o, const Policy& policy) {
        runtime rt(o);
        const auto laps = rt.allocate<std::uint64_t>(1);
        channel_graph graph(rt);
        const auto there = graph.channel<token>(24), back = graph.channel<token>(24);
        const auto first = graph.kernel(pass_token{back, laps.ref()});
        const auto second = graph.kernel(pass_back{{there, laps.ref()}});
        graph.connect(there, first);
        graph.connect(back, second);
        graph.init(there, std::vector<token>(11, {0, 9}), rt.n_pes() - 1);
        graph.run_with(policy, second, first);
        EXPECT_EQ(total(laps, rt.n_pes()), 99u);
    }
    [[nodiscard]] static std::uint32_t depth(const options& o) {
        return static_cast<std::uint32_t>(is_checked(GetParam()) ? 6 + o.seed % 4 : 14);
    }
};

TEST_P(channel_scheduling_test, OneWarpDecidesForAll) {
    std::uint64_t dispatches = 0;
    every_fourth_round(GetParam(), [&](const options& o) {
        const auto did = recursion(o, warp_scheduler<>{}, depth(o));
        EXPECT_EQ(did.consumed, did.produced + did.yields);
        dispatches += did.dispatches;
        cycle(o, warp_scheduler<>{});
    });
    EXPECT_GT(dispatches, 0u);
}

TEST_P(channel_scheduling_test, AThreadOfTheHostDecidesForAll) {
    repeat_rounds(GetParam(), few_rounds(GetParam(), 10), [&](const options& o) {
        const auto did = recursion(o, host_scheduler<>{}, depth(o));
        EXPECT_EQ(did.consumed, did.produced + did.yields);
        cycle(o, host_scheduler<>{});
    });
}

/// Serves what is least deep first, unlike the library.
struct least_deep_first {
    LANEWAY_FN std::uint32_t operator()(const lw::channel_load& load) const { return load.levels - load.level; }
};

TEST_P(channel_scheduling_test, APolicyIsThatOfTheUser) {
    options o = options_of(GetParam(), 2);
    o.gpu_blocks = 2;
    recursion(o, warp_scheduler<least_deep_first>{}, 8);
    recursion(o, host_scheduler<least_deep_first>{}, 8);
}

#if !defined(__CUDACC__)
struct throwing_policy {
    std::uint32_t operator()(const lw::channel_load&) const { throw std::domain_error("the policy threw"); }
};

TEST_P(channel_scheduling_test, WhatAPolicyThrowsEndsTheRunAndIsTold) {
    runtime rt(options_of(GetParam(), 2));
    channel_graph graph(rt);
    const auto tokens = graph.channel<token>(8);
    const auto kernel = graph.kernel(pass_token{tokens, {}});
    graph.connect(tokens, kernel);
    for (int run = 0; run < 2; ++run) {
        graph.init(tokens, {token{1, 0}});
        try {
            graph.run_with(host_scheduler<throwing_policy>{}, kernel);
            ADD_FAILURE() << "nothing was thrown";
        } catch (const std::domain_error& e) {
            EXPECT_STREQ(e.what(), "the policy threw");
        }
    }
    graph.init(tokens, {token{1, 0}});
    EXPECT_EQ(graph.run_with(host_scheduler<>{}, kernel).items, 1u);
}
#endif

/// Gives the host what it is given.
struct give_back {
    using element = token;
    channel<token> out;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const token& at, channel_node& node) const {
        const auto to = node.talloc(ctx, out);
        if (!to) return outcome::yield;
        to[0] = at;
        node.enq(ctx, to);
        return outcome::done;
    }
};

TEST_P(channel_scheduling_test, OneWarpDecidesInASessionThatComesAndGoes) {
    options o = options_of(GetParam(), 1);
    o.timeout_seconds = 60;
    runtime rt(o);
    channel_graph graph(rt);
    const auto in = graph.channel<token>(8), out = graph.channel<token>(8);
    const auto kernel = graph.kernel(give_back{out});
    graph.connect(in, kernel);
    auto service = graph.service_with({4, 4}, warp_scheduler<>{}, kernel, graph.host_kernel(out));
    auto session = rt.start(service);
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < 30; ++i) {
        service.enqueue(in, {i, 0}, static_cast<int>(i) % rt.n_pes());
        if (i % 10 == 9) session.release();
    }
    session.stop();
    while (const auto got = service.try_take(out)) sum += got->n + 100;
    EXPECT_EQ(sum, 30u * 29 / 2 + 3000);
}

LANEWAY_ON_DEVICES(channel_scheduling_test, device_lists());

}  // namespace
}  // namespace laneway::test
