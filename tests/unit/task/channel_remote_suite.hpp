// Elements that kernels produce for other PEs: each is consumed once where it was sent, however few rooms there are; no
// ring or tree over PEs blocks itself; and what cannot be sent, or waits for ever, is named.
#pragma once

#include <numeric>
#include <set>

#include "laneway/channel_graph.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

struct traveller {
    std::uint32_t hops;
    std::uint32_t stride;  ///< PEs from one hop to the next
};
/// Goes round the PEs by two channels in turn, and counts its hops where it comes by.
struct travel {
    using element = traveller;
    static constexpr bool receives = true;
    channel<traveller> here, there;
    symmetric_ref<std::uint64_t> counted;

    template <class Ctx, class Node>
    LANEWAY_FN outcome operator()(Ctx& ctx, const traveller& at, Node& node) const {
        if (at.hops != 0) {
            const int to = (ctx.pe() + static_cast<int>(at.stride)) % ctx.n_pes();
            if (!node.forward(ctx, to, at.hops % 2 == 0 ? here : there, {at.hops - 1, at.stride})) {
                return outcome::yield;
            }
        }
        atomic_add(ctx, counted[0], 1);
        return outcome::done;
    }
};

/// Counts the leaves of Fibonacci's tree, each child of which goes to a PE of its own.
struct branch {
    std::uint32_t n;
    std::uint32_t made;  ///< children that have been sent
};
struct grow_branches {
    using element = branch;
    static constexpr bool receives = true;
    channel<branch> branches;
    symmetric_ref<std::uint64_t> leaves;

    template <class Ctx, class Node>
    LANEWAY_FN outcome operator()(Ctx& ctx, branch& at, Node& node) const {
        if (at.n <= 2) {
            atomic_add(ctx, leaves[0], 1);
            return outcome::done;
        }
        for (; at.made < 2; ++at.made) {
            const std::uint32_t child = at.n - 1 - at.made;
            const int to = static_cast<int>(child + at.made) % ctx.n_pes();
            if (!node.send(ctx, to, branches, {child, 0})) return outcome::yield;
        }
        return outcome::done;
    }
};

/// Adds up what it gets; `closed`: never takes any.
struct add_up {
    using element = std::uint64_t;
    static constexpr bool receives = true;
    symmetric_ref<std::uint64_t> sum;
    bool closed = false;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint64_t& n, channel_node&) const {
        if (closed) return outcome::yield;
        atomic_add(ctx, sum[0], n);
        return outcome::done;
    }
};
/// Sends each element on to the last PE.
struct send_to_last {
    using element = std::uint32_t;
    channel<std::uint64_t> to;

    template <class Ctx, class Node>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint32_t& n, Node& node) const {
        return node.send(ctx, ctx.n_pes() - 1, to, n) ? outcome::done : outcome::yield;
    }
};
/// Knows the channels that the user has made, and serves no others.
struct of_two_channels {
    LANEWAY_FN std::uint32_t operator()(const channel_load& load) const { return load.channel < 2 ? load.ready : 0; }
};
/// Each lane of a body sends until there is no room, and keeps what it has sent.
struct send_ranks {
    channel<std::uint64_t> to;
    symmetric_ref<std::uint64_t> sent;

    template <class Ctx, class Graph>
    LANEWAY_FN void operator()(Ctx& ctx, Graph& graph) const {
        for (std::uint64_t i = 1; i < 4; ++i) {
            if (!graph.send(ctx, static_cast<int>(ctx.rank() + i) % ctx.n_pes(), to, ctx.rank() + i)) return;
            atomic_add(ctx, sent[0], ctx.rank() + i);
        }
    }
};

/// Misbehaves as it is told by the element.
struct missend {
    enum : std::uint32_t { nothing, no_pe, not_received, too_deep, put_back };
    using element = std::uint32_t;
    static constexpr bool receives = true;
    channel<std::uint32_t> own, of_other;

    template <class Ctx, class Node>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint32_t& what, Node& node) const {
        if (what == no_pe) return node.send(ctx, ctx.n_pes(), own, nothing) ? outcome::done : outcome::yield;
        if (what == not_received) return node.send(ctx, 0, of_other, nothing) ? outcome::done : outcome::yield;
        if (what == too_deep) return node.send(ctx, 0, own, what) ? outcome::done : outcome::yield;
        if (what == put_back)
            return node.forward(ctx, 0, own, what) && node.has_forwarded() ? outcome::yield : outcome::done;
        return outcome::done;
    }
};
struct ignore {
    using element = std::uint32_t;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const std::uint32_t&, channel_node&) const {}
};

class channel_remote_test : public testing::TestWithParam<std::string> {
protected:
    static std::uint64_t total(const symmetric_array<std::uint64_t>& counted, int pes) {
        std::uint64_t sum = 0;
        for (int pe = 0; pe < pes; ++pe) sum += counted.copy_out(pe)[0];
        return sum;
    }
    static options one_round(double seconds = never_seconds) {
        options o = options_of(GetParam(), 1);
        o.gpu_blocks = 0;
        o.timeout_seconds = seconds;
        return roomy(o);
    }
    /// A round's options, with chunks that an element and its header fit into.
    static options roomy(options o) {
        o.chunk_bytes = std::max<std::size_t>(o.chunk_bytes, 32);
        return o;
    }
    /// What a graph of `missend` says.
    static std::string message_of(std::uint32_t what, std::uint32_t levels = 1) {
        runtime rt(one_round());
        channel_graph graph(rt);
        const auto own = graph.channel<std::uint32_t>({.width = 64, .levels = levels, .name = "post"});
        const auto other = graph.channel<std::uint32_t>({.width = 64, .name = "local"});
        const auto kernel = graph.kernel(missend{own, other});
        const auto local = graph.kernel(ignore{});
        graph.connect(own, kernel);
        graph.connect(other, local);
        graph.init(own, {what});
        try {
            graph.run(kernel, local);
        } catch (const device_fault& e) {
            return e.what();
        }
        return "nothing was thrown";
    }
    /// Sends travellers round all PEs, more of them than there are rooms.
    template <class Policy>
    static void go_round(const options& o, const Policy& policy, std::uint32_t each) {
        runtime rt(roomy(o));
        const auto pes = static_cast<std::uint64_t>(rt.n_pes());
        const auto counted = rt.allocate<std::uint64_t>(1);
        const auto seed = static_cast<std::uint32_t>(o.seed);
        channel_graph graph(rt, {.rooms = 1 + seed % 3});
        const auto here = graph.channel<traveller>({.width = 64, .name = "here"});
        const auto there = graph.channel<traveller>({.width = 64, .name = "there"});
        const auto kernel = graph.kernel(travel{here, there, counted.ref()});
        graph.connect(here, kernel);
        graph.connect(there, kernel);
        for (int again = 0; again < 2; ++again) {
            std::uint64_t hops = 0, between = 0;
            for (std::uint32_t i = 0; i < each * pes; ++i) {
                const traveller one{1 + (i + seed) % 9, 1 + i % 3};
                graph.init(i % 2 == 0 ? here : there, {one}, static_cast<int>(i % pes));
                hops += one.hops + 1;
                between += one.stride % pes == 0 ? 0 : one.hops;
            }
            EXPECT_EQ(graph.run_with(policy, kernel).items, hops);
            EXPECT_EQ(total(counted, rt.n_pes()), hops * static_cast<std::uint64_t>(again + 1));
            const channel_statistics statistics = graph.statistics();
            EXPECT_EQ(statistics.sent, between);
            EXPECT_EQ(statistics.received, between);
            EXPECT_EQ(statistics.produced, hops);
            EXPECT_EQ(statistics.consumed, hops + statistics.yields);
        }
    }
};

TEST_P(channel_remote_test, RingsOverPesNeverWaitForThemselves) {
    every_round(GetParam(), [&](const options& o) { go_round(o, deepest_or_fullest_first{}, 8); });
}

TEST_P(channel_remote_test, SchedulersAndPoliciesServeWhatComesFromOtherPes) {
    every_fourth_round(GetParam(), [&](const options& o) {
        if (o.seed % 3 == 0) {
            go_round(o, warp_scheduler<>{}, 4);
        } else if (o.seed % 3 == 1) {
            go_round(o, host_scheduler<>{}, 4);
        } else {
            go_round(o, of_two_channels{}, 8);
        }
    });
}

TEST_P(channel_remote_test, ATreeOverPesEndsWithOneRoom) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(roomy(o));
        const auto leaves = rt.allocate<std::uint64_t>(1);
        channel_graph graph(rt, {.rooms = 1u << o.seed % 3});
        const std::uint32_t n = is_checked(GetParam()) ? 6 + static_cast<std::uint32_t>(o.seed % 3) : 12;
        const auto branches = graph.channel<branch>({.width = 1, .levels = n});
        const auto kernel = graph.kernel(grow_branches{branches, leaves.ref()});
        graph.connect(branches, kernel);
        std::uint64_t a = 1, b = 1;
        for (std::uint32_t i = 2; i < n; ++i) a = std::exchange(b, a + b);
        for (int pe = 0; pe < rt.n_pes(); ++pe) graph.init(branches, {{n, 0}}, pe);
        const auto pes = static_cast<std::uint64_t>(rt.n_pes());
        EXPECT_EQ(graph.run(kernel).items, pes * (2 * b - 1));
        EXPECT_EQ(total(leaves, rt.n_pes()), pes * b);
    });
}

TEST_P(channel_remote_test, AFullPeLetsOthersWaitAndLosesNothing) {
    every_fourth_round(GetParam(), [&](const options& o) {
        runtime rt(roomy(o));
        const auto sum = rt.allocate<std::uint64_t>(1);
        channel_graph graph(rt, {.rooms = 2});
        const auto from = graph.channel<std::uint32_t>(64);
        const auto to = graph.channel<std::uint64_t>(8);
        const auto sender = graph.kernel(send_to_last{to});
        const auto adder = graph.kernel(add_up{sum.ref()});
        graph.connect(from, sender);
        graph.connect(to, adder);
        std::vector<std::uint32_t> numbers(50);
        std::iota(numbers.begin(), numbers.end(), 1);
        for (int pe = 0; pe < rt.n_pes(); ++pe) graph.init(from, numbers, pe);
        graph.run(sender, adder);
        EXPECT_EQ(sum.copy_out(rt.n_pes() - 1)[0], 1275u * static_cast<std::uint64_t>(rt.n_pes()));
        EXPECT_EQ(graph.statistics().received, 50u * static_cast<std::uint64_t>(rt.n_pes() - 1));
    });
}

TEST_P(channel_remote_test, WhatAWarpSendsIsConsumedByAWarp) {
    every_fourth_round(GetParam(), [&](options o) {
        o.chunk_bytes = 1024;
        runtime rt(o);
        const auto sum = rt.allocate<std::uint64_t>(1);
        channel_graph graph(rt, {.rooms = 1024});
        const auto from = graph.channel<std::uint32_t>(1024);
        const auto to = graph.channel<std::uint64_t>(1024);
        const auto sender = graph.kernel(send_to_last{to});
        const auto adder = graph.kernel(add_up{sum.ref()});
        graph.connect(from, sender);
        graph.connect(to, adder);
        graph.init(from, std::vector<std::uint32_t>(512, 1));
        graph.run(sender, adder);
        EXPECT_EQ(sum.copy_out(rt.n_pes() - 1)[0], 512u);
        const channel_statistics statistics = graph.statistics();
        // What came in rooms counts for the channel that it was sent to.
        ASSERT_EQ(statistics.channels.size(), 2u);
        for (const auto& one : statistics.channels) EXPECT_EQ(one.levels[0].produced, 512u);
        EXPECT_EQ(statistics.channels[0].stalls, 0u);
        EXPECT_EQ(statistics.channels[1].stalls, statistics.yields) << "rooms";
        if (is_checked(GetParam())) {
            EXPECT_GT(4 * statistics.full_dispatches, 3 * statistics.dispatches);
        }
    });
}

TEST_P(channel_remote_test, LanesOfABodySendToAllPes) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(roomy(o));
        const auto sum = rt.allocate<std::uint64_t>(1), sent = rt.allocate<std::uint64_t>(1);
        channel_graph graph(rt, {.rooms = o.seed % 2 == 0 ? 4u : 1024u});
        const auto to = graph.channel<std::uint64_t>(64);
        const auto adder = graph.kernel(add_up{sum.ref()});
        graph.connect(to, adder);
        rt.run(send_ranks{to, sent.ref()}, graph.component(adder));
        EXPECT_EQ(total(sum, rt.n_pes()), total(sent, rt.n_pes()));
        EXPECT_GT(total(sum, rt.n_pes()), 0u);
    });
}

TEST_P(channel_remote_test, ASessionCarriesWhatHostThreadsBegan) {
    repeat_rounds(GetParam(), few_rounds(GetParam(), 4), [&](const options& o) {
        runtime rt(roomy(o));
        channel_graph graph(rt, {.rooms = 2});
        const auto from = graph.channel<std::uint32_t>(64);
        const auto answers = graph.channel<std::uint64_t>(64);
        const auto sum = rt.allocate<std::uint64_t>(1);
        const auto sender = graph.kernel(send_to_last{answers});
        const auto adder = graph.kernel(add_up{sum.ref()});
        graph.connect(from, sender);
        graph.connect(answers, adder);
        auto service = graph.service(sender, adder);
        auto session = rt.start(service);
        for (std::uint32_t i = 1; i <= 40; ++i) service.enqueue(from, i, static_cast<int>(i) % rt.n_pes());
        session.quiesce();
        for (std::uint32_t i = 41; i <= 50; ++i) service.enqueue(from, i);
        session.stop();
        EXPECT_EQ(sum.copy_out(rt.n_pes() - 1)[0], 1275u);
    });
}

TEST_P(channel_remote_test, MistakesAreNamed) {
    const auto holds = [](const std::string& text, const std::string& part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    holds(message_of(missend::no_pe), "no such PE while producing into a channel");
    holds(message_of(missend::not_received),
          "a channel whose kernel does not receive what is sent while producing into a channel of PE 0: channel 1");
    holds(message_of(missend::too_deep, 3),
          "deeper than the channel has levels while producing into a channel: channel 0 has 3 levels");
    holds(message_of(missend::put_back),
          "an element was forwarded, and put back while freeing an element of a channel: channel 0");
    runtime rt(one_round());
    EXPECT_THROW(channel_graph(rt, {.rooms = 0}), usage_error);
    EXPECT_THROW(channel_graph(rt, {.rooms = (1u << 16) + 1}), usage_error);
    channel_graph graph(rt);
    const auto kernel = graph.kernel(ignore{});
    const auto receiver = graph.kernel(missend{{0}, {1}});
    for (int i = 0; i < 9; ++i) graph.connect(graph.channel<std::uint32_t>(4), receiver);
    graph.init(channel<std::uint32_t>{0}, {0});
    try {
        graph.run(receiver, kernel);
        ADD_FAILURE() << "nothing was refused";
    } catch (const usage_error& e) {
        holds(e.what(), "another one for each whose kernel receives among them");
    }
}

TEST_P(channel_remote_test, WhoWaitsForeverIsNamedWithWhatIsFull) {
    runtime rt(one_round(is_checked(GetParam()) ? 0.02 : 2));
    const auto sum = rt.allocate<std::uint64_t>(1);
    channel_graph graph(rt, {.rooms = 2});
    const auto from = graph.channel<std::uint32_t>(64);
    const auto to = graph.channel<std::uint64_t>({.width = 8, .name = "sums"});
    const auto sender = graph.kernel(send_to_last{to});
    const auto adder = graph.kernel(add_up{sum.ref(), true});
    graph.connect(from, sender);
    graph.connect(to, adder);
    const auto expect_named = [&](const std::string& of, const std::string& text) {
        EXPECT_NE(text.find("; sent to channel 1 \"sums\"" + of + " of PE " + std::to_string(rt.n_pes() - 1) +
                            " and not consumed: 2; PE 0 has 2 of 2 rooms" + of + " out (all)"),
                  std::string::npos)
            << text;
        EXPECT_NE(text.find("channel 0" + of + ": 3 elements"), std::string::npos) << text;
    };
    graph.init(from, {1, 2, 3, 4, 5});
    expect_named("", thrown<timeout_error>([&] { graph.run(sender, adder); }));
    channel_graph idle(rt);
    const auto kernel = idle.kernel(ignore{});
    idle.connect(idle.channel<std::uint32_t>(4), kernel);
    graph.init(from, {1, 2, 3, 4, 5});
    expect_named(" of graph 1",
                 thrown<timeout_error>([&] { rt.run(idle.component(kernel), graph.component(sender, adder)); }));
}

LANEWAY_ON_DEVICES(channel_remote_test, device_lists());

}  // namespace
}  // namespace laneway::test
