// Graphs of channels that cannot run, kernels that misbehave, and graphs that do not end: what they are told.
#pragma once

#include <stdexcept>

#include "laneway/channel_graph.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

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

/// The same on one lane of a whole block.
struct misbehave_together : misbehave {
    static constexpr task_width width = task_width::block;

    template <class Ctx, class Worker>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint32_t& what, channel_node& node, Worker& worker) const {
        if (worker.lane() != worker.lanes() - 1) return outcome::done;
        return misbehave::operator()(ctx, what, node);
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

struct consume_all {
    using element = std::uint32_t;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const std::uint32_t&, channel_node&) const {}
};

class channel_misuse_test : public testing::TestWithParam<std::string> {
protected:
    static options one_round() {
        options o = options_of(GetParam(), 1);
        o.gpu_blocks = 0;
        return o;
    }
    /// What a graph of `misbehave` says.
    template <class Error, class Kernel = misbehave>
    static std::string message_of(std::uint32_t what, std::uint32_t levels = 2, double seconds = never_seconds,
                                  std::uint64_t stack_bytes = 0) {
        options o = one_round();
        o.timeout_seconds = seconds;
        runtime rt(o);
        channel_graph graph(rt, {.stack_bytes = stack_bytes});
        const auto to = graph.channel<std::uint32_t>({.width = 64, .levels = levels, .at_once = 3, .name = "mischief"});
        const auto kernel = graph.kernel(Kernel{to});
        graph.connect(to, kernel);
        graph.init(to, {misbehave::nothing, what});
        try {
            graph.run(kernel);
        } catch (const Error& e) {
            return e.what();
        }
        return "nothing was thrown";
    }
    /// The same of a run with two such graphs, of which the second one does it.
    template <class Error>
    static std::string message_of_second(std::uint32_t what, double seconds = never_seconds,
                                         std::uint64_t stack_bytes = 0) {
        options o = one_round();
        o.timeout_seconds = seconds;
        runtime rt(o);
        channel_graph first(rt), second(rt, {.stack_bytes = stack_bytes});
        const auto peace = first.channel<std::uint32_t>({.width = 64, .at_once = 3, .name = "peace"});
        const auto to = second.channel<std::uint32_t>({.width = 64, .levels = 2, .at_once = 3, .name = "mischief"});
        const auto kernel = first.kernel(misbehave{peace}), other = second.kernel(misbehave{to});
        first.connect(peace, kernel);
        second.connect(to, other);
        first.init(peace, {misbehave::nothing});
        second.init(to, {misbehave::nothing, what});
        return thrown<Error>([&] { rt.run(first.component(kernel), second.component(other)); });
    }
    /// What such a message says without the lane that it begins with, which is one of the first PE.
    template <class Error, class Kernel = misbehave>
    static std::string cause_of(std::uint32_t what, std::uint32_t levels = 2, std::uint64_t stack_bytes = 0) {
        return cause_in(message_of<Error, Kernel>(what, levels, never_seconds, stack_bytes));
    }
    static std::string cause_in(const std::string& text) {
        const std::string device = GetParam().substr(0, GetParam().find(':')) + ":";
        const std::size_t lane = text.find(" lane "), colon = text.find(": ", lane);
        EXPECT_TRUE(text.starts_with("PE 0 (" + device)) << text;
        EXPECT_NE(text.find(" block "), std::string::npos) << text;
        if (lane == std::string::npos || colon == std::string::npos) return text;
        return text.substr(colon + 2);
    }
};

TEST_P(channel_misuse_test, GraphsThatCannotRunAreRefused) {
    runtime rt(one_round());
    const auto refused = [&](auto&& use) -> std::string {
        try {
            channel_graph graph(rt);
            use(graph);
        } catch (const usage_error& e) {
            return e.what();
        }
        return "nothing was refused";
    };
    const consume_all count{};
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

TEST_P(channel_misuse_test, AComponentIsOfAGraphThatCanRunAndTakenOnce) {
    runtime rt(one_round());
    channel_graph graph(rt), other(rt);
    const auto to = graph.channel<std::uint32_t>({.width = 8, .name = "lost"});
    const auto kernel = graph.kernel(consume_all{});
    EXPECT_EQ(thrown<usage_error>([&] { (void)graph.component(kernel); }),
              "channel 0 \"lost\" has no consumer: see connect()");
    graph.connect(to, kernel);
    EXPECT_EQ(thrown<usage_error>([&] { (void)other.component(kernel); }), "the kernel belongs to another graph");
    auto part = graph.component(kernel);
    EXPECT_EQ(rt.run(part).items, 0u) << "a body might have left something";
    graph.init(to, {1, 2, 3});
    EXPECT_EQ(thrown<usage_error>([&] { (void)rt.run(part, graph.component(kernel)); }),
              "a component may be given to a run once only");
    EXPECT_EQ(rt.run(part).items, 3u) << "what a run was refused for is there for the next";
    EXPECT_EQ(rt.run(part).items, 0u);
    graph.init(to, {1});
    graph.forget_init();
    EXPECT_EQ(rt.run(part).items, 0u);
}

TEST_P(channel_misuse_test, WhatIsLostIsNamed) {
    // In queues, and on stacks of warps and of blocks.
    for (const std::uint64_t stack_bytes : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
        const std::string lost = "channel 0 \"mischief\": 3 elements were reserved and never freed, 3 at level 1";
        EXPECT_EQ(message_of<device_fault>(misbehave::leaks, 2, never_seconds, stack_bytes), lost);
        EXPECT_EQ((message_of<device_fault, misbehave_together>(misbehave::leaks, 2, never_seconds, stack_bytes)),
                  lost);
    }
    for (const std::uint64_t stack_bytes : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
        const std::string twice =
            "an element of a channel was freed twice while freeing an element of a channel: channel 0, level 1; "
            "channel 0 is \"mischief\"";
        EXPECT_EQ(cause_of<device_fault>(misbehave::frees_twice, 2, stack_bytes), twice);
        EXPECT_EQ((cause_of<device_fault, misbehave_together>(misbehave::frees_twice, 2, stack_bytes)), twice);
    }
    EXPECT_EQ(cause_of<device_fault>(misbehave::too_many),
              "more elements at once than the channel is made for while producing into a channel: channel 0 gives 3; "
              "channel 0 is \"mischief\"");
    EXPECT_EQ(cause_of<device_fault>(misbehave::for_ever, 5),
              "deeper than the channel has levels while producing into a channel: channel 0 has 5 levels; "
              "channel 0 is \"mischief\"");
}

TEST_P(channel_misuse_test, WhichOfTwoGraphsAChannelIsOfIsTold) {
    for (const std::uint64_t stack_bytes : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
        EXPECT_EQ(message_of_second<device_fault>(misbehave::leaks, never_seconds, stack_bytes),
                  "channel 0 \"mischief\" of graph 1: 3 elements were reserved and never freed, 3 at level 1");
        EXPECT_EQ(
            cause_in(message_of_second<device_fault>(misbehave::frees_twice, never_seconds, stack_bytes)),
            "an element of a channel was freed twice while freeing an element of a channel: channel 0 of graph 1, "
            "level 1; channel 0 of graph 1 is \"mischief\"");
    }
    EXPECT_EQ(cause_in(message_of_second<device_fault>(misbehave::too_many)),
              "more elements at once than the channel is made for while producing into a channel: channel 0 of graph 1 "
              "gives 3; channel 0 of graph 1 is \"mischief\"");
    EXPECT_EQ(cause_in(message_of_second<device_fault>(misbehave::for_ever)),
              "deeper than the channel has levels while producing into a channel: channel 0 of graph 1 has 2 levels; "
              "channel 0 of graph 1 is \"mischief\"");
}

TEST_P(channel_misuse_test, ADeadlineTellsWhichGraphHoldsWhat) {
    runtime rt([] {
        options o = options_of(GetParam(), 0);
        o.timeout_seconds = is_checked(GetParam()) ? 0.02 : 2;
        return o;
    }());
    channel_graph first(rt), second(rt);
    const auto a = first.channel<std::uint32_t>(4), b = second.channel<std::uint32_t>(4);
    const auto kernel = first.kernel(count_down{a}), other = second.kernel(count_down{b});
    first.connect(a, kernel);
    second.connect(b, other);
    first.init(a, {0});
    second.init(b, {2, 2, 2, 2});
    const std::string late = thrown<timeout_error>([&] { rt.run(first.component(kernel), second.component(other)); });
    EXPECT_NE(late.find("; channel 0 of graph 0: 0 elements"), std::string::npos) << late;
    EXPECT_NE(late.find("; channel 0 of graph 1: 4 elements, 4 at level 0 (full)"), std::string::npos) << late;
    second.init(b, {2, 2, 2, 2});
    const std::string alone = thrown<timeout_error>([&] { second.run(other); });
    EXPECT_NE(alone.find("; channel 0: 4 elements"), std::string::npos) << alone;
}

TEST_P(channel_misuse_test, BehindARunThatFailedTheNextFindsNothingOfIt) {
    runtime rt(one_round());
    channel_graph graph(rt);
    const auto to = graph.channel<std::uint32_t>({.width = 8, .levels = 2, .at_once = 3});
    const auto kernel = graph.kernel(misbehave{to});
    graph.connect(to, kernel);
    for (const std::uint32_t what : {misbehave::leaks, misbehave::fails, misbehave::frees_twice}) {
        graph.init(to, {misbehave::nothing, what, what});
        EXPECT_THROW(graph.run(kernel), device_fault);
        for (int again = 0; again < 2; ++again) {
            graph.init(to, std::vector<std::uint32_t>(8, misbehave::nothing), rt.n_pes() - 1);
            EXPECT_EQ(graph.run(kernel).items, 8u);
            EXPECT_EQ(graph.statistics().consumed, 8u);
        }
    }
}

TEST_P(channel_misuse_test, WhatAKernelReportsOrThrowsIsTold) {
    EXPECT_EQ(cause_of<device_fault>(misbehave::fails),
              "the application reported an error while running application code: number 77");
#if !defined(__CUDACC__)
    EXPECT_EQ(cause_of<lane_error>(misbehave::throws), "exception in the functor: a kernel threw");
#endif
}

TEST_P(channel_misuse_test, AGraphThatSpawnsForEverEndsAtItsDeadlineAndSaysWhatItHolds) {
    const double seconds = is_checked(GetParam()) ? 0.02 : 0.5;
    for (const int i : {0, 1, 2, 3}) {
        const std::uint64_t stack_bytes = i % 2 == 0 ? 0 : 1 << 20;
        const std::string text =
            i < 2 ? message_of<timeout_error>(misbehave::for_ever, 1, seconds, stack_bytes)
                  : message_of<timeout_error, misbehave_together>(misbehave::for_ever, 1, seconds, stack_bytes);
        const bool meets = i >= 2 && text.find("waiting for the other warps of the block") != std::string::npos;
        EXPECT_TRUE(meets || text.find("waiting for all work to be done") != std::string::npos) << text;
        EXPECT_NE(text.find("; channel 0 \"mischief\": "), std::string::npos) << text;
        EXPECT_NE(text.find(" at level 0"), std::string::npos) << text;
        EXPECT_EQ(text.find(" 0 elements"), std::string::npos) << text;
        const bool kept = text.find(" kept by warps)") != std::string::npos;
        const bool on_gpu = GetParam().find("cuda") != std::string::npos;  // its warps may have none at the deadline
        EXPECT_TRUE(stack_bytes != 0 ? kept || on_gpu : !kept) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    }
}

TEST_P(channel_misuse_test, ACycleThatHasNoRoomEndsAtTheDeadlineAndSaysSo) {
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

LANEWAY_ON_DEVICES(channel_misuse_test, device_lists());

}  // namespace
}  // namespace laneway::test
