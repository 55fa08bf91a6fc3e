// Graphs of channels: every element is consumed once whatever the width, cycles end, and graphs that cannot run, leak
// or never end say so.
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

/// Misbehaves as it is told by the element.
struct misbehave {
    enum : std::uint32_t { nothing, leaks, frees_twice, too_many, for_ever, throws, fails };
    using element = std::uint32_t;
    channel<std::uint32_t> to;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint32_t& what, channel_node& node) const {
        if (what == nothing) return outcome::done;
#if !defined(__CUDACC__)
        if (what == throws) throw std::domain_error("a kernel threw");
#endif
        if (what == fails) {
            (void)fail(ctx, status::handler_failed, operation::user_code, -1, 77);
            return outcome::done;
        }
        const auto some = node.talloc(ctx, to, what == too_many ? 4 : 3);
        if (!some) return outcome::yield;
        for (std::uint32_t i = 0; i < 3; ++i) some[i] = what == for_ever ? for_ever : nothing;
        if (what == for_ever) node.enq(ctx, some);
        if (what == frees_twice) {
            node.tfree(ctx, some);
            node.tfree(ctx, some, 2);
        }
        return outcome::done;
    }
};

/// Puts an element back into its own channel, one less.
struct count_down {
    using element = std::uint32_t;
    channel<std::uint32_t> ring;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint32_t& n, channel_node& node) const {
        if (n == 0) return outcome::done;
        const auto next = node.talloc(ctx, ring);
        if (!next) return outcome::yield;
        next[0] = n - 1;
        node.enq(ctx, next);
        return outcome::done;
    }
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
    static options one_round() {
        options o = options_of(GetParam(), 1);
        o.gpu_blocks = 0;
        return o;
    }
    /// What a graph of `misbehave` says.
    template <class Error>
    static std::string message_of(std::uint32_t what, std::uint32_t levels = 2, double seconds = never_seconds,
                                  std::uint64_t stack_bytes = 0) {
        options o = one_round();
        o.timeout_seconds = seconds;
        runtime rt(o);
        channel_graph graph(rt, {.stack_bytes = stack_bytes});
        const auto to = graph.channel<std::uint32_t>({.width = 64, .levels = levels, .at_once = 3, .name = "mischief"});
        const auto kernel = graph.kernel(misbehave{to});
        graph.connect(to, kernel);
        graph.init(to, {misbehave::nothing, what});
        try {
            graph.run(kernel);
        } catch (const Error& e) {
            return e.what();
        }
        return "nothing was thrown";
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
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const std::uint32_t mine = n - static_cast<std::uint32_t>(pe);
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
        graph.run_body(produce_ranks{to}, kernel);
        EXPECT_EQ(total(counted, rt.n_pes()), 999 + graph.statistics().produced);
        EXPECT_GT(graph.statistics().produced, 1u);
    });
}

TEST_P(channel_graph_test, GraphsThatCannotRunAreRefused) {
    runtime rt(one_round());
    const auto counted = rt.allocate<std::uint64_t>(1);
    const auto refused = [&](auto&& use) -> std::string {
        try {
            channel_graph graph(rt);
            use(graph);
        } catch (const usage_error& e) {
            return e.what();
        }
        return "nothing was refused";
    };
    const count_all count{counted.ref()};
    using number = std::uint32_t;
    EXPECT_EQ(refused([&](auto& g) { g.run(g.kernel(count)); }), "the graph has no channel");
    EXPECT_EQ(refused([&](auto& g) {
                  const auto c = g.template channel<number>(8);
                  const auto k = g.kernel(count);
                  g.connect(c, k);
                  g.run(k);
              }),
              "the graph has no source: give a channel elements by init()");
    EXPECT_EQ(refused([&](auto& g) {
                  const auto c = g.template channel<number>({.width = 8, .name = "lost"});
                  g.init(c, {1});
                  g.run(g.kernel(count));
              }),
              "channel 0 \"lost\" has no consumer: see connect()");
    EXPECT_EQ(refused([&](auto& g) {
                  const auto c = g.template channel<number>(8);
                  const auto k = g.kernel(count), other = g.kernel(count);
                  g.connect(c, k);
                  g.init(c, {1});
                  g.run(other);
              }),
              "channel 0: its consumer is not among the kernels given to run()");
    EXPECT_EQ(refused([&](auto& g) {
                  const auto c = g.template channel<number>(8);
                  g.connect(c, g.kernel(count));
                  g.connect(c, g.kernel(count));
              }),
              "channel 0 has a consumer already: a channel has just one");
    EXPECT_EQ(refused([&](auto& g) { g.template channel<number>({.width = 3, .at_once = 4}); }),
              "channel 0: a width of 3 is below the minimum, 4: so many elements may be reserved at once");
    EXPECT_EQ(refused([&](auto& g) { g.template channel<number>({.levels = 0}); }),
              "channel 0: a channel has one level at least");
    EXPECT_EQ(refused([&](auto& g) {
                  const auto c = g.template channel<number>(4);
                  const auto k = g.kernel(count);
                  g.connect(c, k);
                  g.init(c, {1, 2, 3, 4, 5});
                  g.run(k);
              }),
              "channel 0: 5 elements to begin with, and a level has room for 4");
    EXPECT_EQ(refused([&](auto& g) {
                  for (int i = 0; i < 17; ++i) g.template channel<number>(4);
              }),
              "a graph has at most 16 channels");
    EXPECT_EQ(refused([&](auto& g) { g.init(g.template channel<number>(4), {1}, 99); }), "PE 99 does not exist");
}

TEST_P(channel_graph_test, WhatIsLostIsNamed) {
    const auto starts = [](const std::string& text, const std::string& with) {
        EXPECT_NE(text.find(with), std::string::npos) << text;
    };
    // In queues, and on stacks of warps.
    for (const std::uint64_t stack_bytes : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
        EXPECT_EQ(message_of<device_fault>(misbehave::leaks, 2, never_seconds, stack_bytes),
                  "channel 0 \"mischief\": 3 elements were reserved and never freed, 3 at level 1");
    }
    starts(message_of<device_fault>(misbehave::frees_twice),
           "an element of a channel was freed twice while freeing an element of a channel: channel 0, level 1");
    starts(message_of<device_fault>(misbehave::too_many),
           "more elements at once than the channel is made for while producing into a channel: channel 0 gives 3");
    starts(message_of<device_fault>(misbehave::for_ever, 5),
           "deeper than the channel has levels while producing into a channel: channel 0 has 5 levels");
    starts(message_of<device_fault>(misbehave::frees_twice, 2, never_seconds, 1 << 20),
           "an element of a channel was freed twice while freeing an element of a channel: channel 0, level 1");
    starts(message_of<device_fault>(misbehave::fails), "77");
#if !defined(__CUDACC__)
    starts(message_of<lane_error>(misbehave::throws), "a kernel threw");
#endif
}

TEST_P(channel_graph_test, AGraphThatSpawnsForEverEndsAtItsDeadlineAndSaysWhatItHolds) {
    const double seconds = is_checked(GetParam()) ? 0.02 : 2;
    for (const std::uint64_t stack_bytes : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
        const std::string text = message_of<timeout_error>(misbehave::for_ever, 1, seconds, stack_bytes);
        EXPECT_NE(text.find("waiting for all work to be done"), std::string::npos) << text;
        EXPECT_NE(text.find("; channel 0 \"mischief\": "), std::string::npos) << text;
        EXPECT_NE(text.find(" at level 0"), std::string::npos) << text;
        EXPECT_EQ(text.find(" 0 elements"), std::string::npos) << text;
        const bool kept = text.find(" kept by warps)") != std::string::npos;
        const bool on_gpu = GetParam().find("cuda") != std::string::npos;  // its warps may have none at the deadline
        EXPECT_TRUE(stack_bytes != 0 ? kept || on_gpu : !kept) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    }
}

TEST_P(channel_graph_test, ACycleThatHasNoRoomEndsAtTheDeadlineAndSaysSo) {
    runtime rt([] {
        options o = options_of(GetParam(), 0);
        o.timeout_seconds = is_checked(GetParam()) ? 0.02 : 2;
        return o;
    }());
    channel_graph graph(rt);
    const auto ring = graph.channel<std::uint32_t>(4);
    const auto kernel = graph.kernel(count_down{ring});
    graph.connect(ring, kernel);
    graph.init(ring, {2, 2, 2, 2}, rt.n_pes() - 1);
    try {
        graph.run(kernel);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const timeout_error& late) {
        EXPECT_NE(std::string(late.what()).find("; channel 0: 4 elements, 4 at level 0 (full)"), std::string::npos)
            << late.what();
    }
    graph.init(ring, {2, 2}, rt.n_pes() - 1);
    EXPECT_EQ(graph.run(kernel).items, 6u);
}

LANEWAY_ON_DEVICES(channel_graph_test, device_lists());

}  // namespace
}  // namespace laneway::test
