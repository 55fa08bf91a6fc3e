// Graphs of channels in sessions: host threads produce and consume while the devices do; nothing is lost however narrow
// channels, inboxes and result rings are; and what goes wrong is told to whoever waits.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "laneway/channel_graph.hpp"
#include "laneway/fork_join.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

struct square_answer {
    std::uint64_t number;
    std::uint64_t squared;
    std::uint32_t pe;
};

/// Gives each number and its square to the host, by way of another channel.
struct square_numbers {
    using element = std::uint64_t;
    channel<square_answer> squares;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint64_t& n, channel_node& node) const {
        const auto to = node.talloc(ctx, squares);
        if (!to) return outcome::yield;
        to[0] = {n, n * n, static_cast<std::uint32_t>(ctx.pe())};
        node.enq(ctx, to);
        return outcome::done;
    }
};

/// Counts the leaves of Fibonacci's tree, by levels.
struct split {
    std::uint32_t n;
};
struct count_leaves {
    using element = split;
    channel<split> splits;
    symmetric_ref<std::uint64_t> leaves;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const split& at, channel_node& node) const {
        if (at.n <= 2) {
            atomic_add(ctx, leaves[0], 1);
            return outcome::done;
        }
        const auto next = node.talloc(ctx, splits, 2);
        if (!next) return outcome::yield;
        next[0] = {at.n - 1};
        next[1] = {at.n - 2};
        node.enq(ctx, next);
        return outcome::done;
    }
};

/// Does as it is told.
struct misbehave_in_session {
    enum : std::uint32_t { nothing, leaks, for_ever, throws };
    using element = std::uint32_t;
    channel<std::uint32_t> to;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint32_t& what, channel_node& node) const {
        if (what == nothing) return outcome::done;
#if !defined(__CUDACC__)
        if (what == throws) throw std::domain_error("a kernel threw");
#endif
        const auto some = node.talloc(ctx, to);
        if (!some) return outcome::yield;
        some[0] = what;
        if (what == for_ever) node.enq(ctx, some);
        return outcome::done;
    }
};

/// Passes an element on, or keeps its space for ever.
struct give_and_leak {
    static constexpr std::uint32_t leaks = 666;
    using element = std::uint32_t;
    channel<std::uint32_t> to;

    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint32_t& n, channel_node& node) const {
        const auto some = node.talloc(ctx, to);
        if (!some) return outcome::yield;
        some[0] = n;
        if (n != leaks) node.enq(ctx, some);
        return outcome::done;
    }
};

/// Fibonacci numbers by functions, and what a function for another type of result does for them.
struct sum_of_calls {
    struct arguments {
        std::uint64_t left, right;
    };
    using result = std::uint64_t;
    static constexpr bool follows = true;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& both, Task& task) const {
        task.finish(ctx, both.left + both.right);
    }
};
struct called_number {
    static constexpr std::uint32_t lost = 99;  ///< never finishes

    using arguments = std::uint32_t;
    using result = std::uint64_t;
    static constexpr std::uint32_t children = 2;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t n, Task& task) const {
        if (n == lost) return;
        if (n < 2) return task.finish(ctx, n);
        auto fork = task.fork(ctx, laneway::task<called_number>, 2, laneway::task<sum_of_calls>);
        if (!fork) return;
        fork.spawn(ctx, n - 1, &fork->left);
        fork.spawn(ctx, n - 2, &fork->right);
        fork.sync(ctx);
    }
};
/// Depths that functions and their continuations are told: two digits each, the first call's last.
struct depth_behind {
    struct arguments {
        std::uint32_t of_child;
    };
    using result = std::uint32_t;
    static constexpr bool follows = true;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& told, Task& task) const {
        task.finish(ctx, told.of_child * 100 + task.depth());
    }
};
struct told_depth {
    using arguments = std::uint32_t;
    using result = std::uint32_t;
    static constexpr std::uint32_t children = 1;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t below, Task& task) const {
        if (below == 0) return task.finish(ctx, task.depth());
        auto fork = task.fork(ctx, laneway::task<told_depth>, 1, laneway::task<depth_behind>);
        if (!fork) return;
        fork.spawn(ctx, below - 1, &fork->of_child);
        fork.sync(ctx);
    }
};
struct pe_of_call {
    int pe;
    std::uint32_t asked;
};
struct called_for_pe {
    using arguments = std::uint32_t;
    using result = pe_of_call;

    template <class Ctx, class Task>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t n, Task& task) const {
        task.finish(ctx, {ctx.pe(), n});
    }
};

class channel_service_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] static options job(std::uint64_t round = 1, double seconds = 60) {
        options o = options_of(GetParam(), round);
        o.timeout_seconds = seconds;
        o.lease_seconds = round % 2 == 0 ? 1e-6 : 0;
        return o;
    }
    /// The message of what `use` throws.
    template <class Error, class Use>
    static std::string thrown_by(const Use& use) {
        try {
            use();
        } catch (const Error& e) {
            return e.what();
        }
        return "nothing was thrown";
    }
    static void expect_in(const std::string& text, const std::string& part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    }
};

TEST_P(channel_service_test, HostThreadsProduceAndConsumeAndLoseNothing) {
    // Turns of host threads are not those of a seed, which so says less than elsewhere.
    const std::uint64_t rounds = is_checked(GetParam()) ? (rounds_of(GetParam()) + 9) / 10 : 6;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        SCOPED_TRACE("seed " + std::to_string(round + 1));
        runtime rt(job(round));
        channel_graph graph(rt);
        const std::uint32_t width = std::uint32_t{1} << (round % 4 * 3);
        const auto numbers = graph.channel<std::uint64_t>(width);
        const auto squares = graph.channel<square_answer>(width);
        const auto kernel = graph.kernel(square_numbers{squares});
        const auto to_host = graph.host_kernel(squares);
        graph.connect(numbers, kernel);
        const std::uint32_t slots = std::uint32_t{1} << (round % 3 * 4);
        auto service = graph.service_with({slots, slots}, deepest_or_fullest_first{}, kernel, to_host);
        auto session = rt.start(service);
        const std::uint64_t producers = 3, each = is_checked(GetParam()) ? 12 : 60, epochs = 2, all = producers * each;
        std::vector<std::uint32_t> seen(epochs * all);
        std::mutex mutex;
        for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
            std::vector<std::thread> threads;
            for (std::uint64_t p = 0; p < producers; ++p) {
                threads.emplace_back([&, p] {
                    for (std::uint64_t i = 0; i < each; ++i) {
                        const std::uint64_t n = epoch * all + p * each + i;
                        service.enqueue(numbers, n, static_cast<int>(n % static_cast<unsigned>(rt.n_pes())));
                    }
                });
            }
            // Together they wait for as many as there will be.
            for (int c = 0; c < 2; ++c) {
                threads.emplace_back([&] {
                    for (std::uint64_t i = 0; i < all / 2; ++i) {
                        const square_answer got = service.take(squares);
                        const std::lock_guard lock(mutex);
                        ASSERT_LT(got.number, seen.size());
                        ++seen[got.number];
                        EXPECT_EQ(got.squared, got.number * got.number);
                        EXPECT_EQ(got.pe, got.number % static_cast<unsigned>(rt.n_pes()));
                    }
                });
            }
            for (auto& t : threads) t.join();
            EXPECT_EQ(session.quiesce().posted, all);
            if (epoch == 0) session.release();
        }
        EXPECT_FALSE(service.try_take(squares));
        session.stop();
        EXPECT_EQ(seen, std::vector<std::uint32_t>(epochs * all, 1));
        const channel_statistics did = service.statistics();
        EXPECT_EQ(did.produced, 2 * epochs * all);
        EXPECT_EQ(did.consumed, did.produced + did.yields);
        if (testing::Test::HasFailure()) return;
    }
}

TEST_P(channel_service_test, ResultsThatNobodyWaitsForAreKept) {
    runtime rt(job());
    channel_graph graph(rt);
    const auto numbers = graph.channel<std::uint64_t>(16);
    const auto squares = graph.channel<square_answer>(16);
    const auto kernel = graph.kernel(square_numbers{squares});
    const auto to_host = graph.host_kernel(squares);
    graph.connect(numbers, kernel);
    graph.init(numbers, {1000, 1001}, rt.n_pes() - 1);
    auto service = graph.service_with({4, 4}, deepest_or_fullest_first{}, kernel, to_host);
    auto session = rt.start(service);
    // Many more than result rings, inboxes and channels hold.
    const std::uint64_t many = 80;
    for (std::uint64_t i = 0; i < many; ++i) service.enqueue(numbers, i);
    session.quiesce();
    std::vector<std::uint64_t> squared;
    for (int i = 0; i < 40; ++i) {
        const auto got = service.try_take(squares);
        ASSERT_TRUE(got) << "what was enqueued before quiesce is done behind it";
        squared.push_back(got->number);
    }
    session.stop();
    while (const auto got = service.try_take(squares)) squared.push_back(got->number);
    std::sort(squared.begin(), squared.end());
    ASSERT_EQ(squared.size(), many + 2);
    for (std::uint64_t i = 0; i < many + 2; ++i) ASSERT_EQ(squared[i], i < many ? i : 1000 + i - many);
    // The same graph again: the elements to begin with were those of the first session.
    auto second = rt.start(service);
    service.enqueue(numbers, 5);
    EXPECT_EQ(service.take(squares).squared, 25u);
    second.stop();
    EXPECT_EQ(service.statistics().produced, 2u);
}

TEST_P(channel_service_test, RecursionsOfManyHostThreadsEndAtTheLeastWidth) {
    const std::uint64_t rounds = is_checked(GetParam()) ? (rounds_of(GetParam()) + 9) / 10 : 4;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        SCOPED_TRACE("seed " + std::to_string(round + 1));
        runtime rt(job(round));
        const auto leaves = rt.allocate<std::uint64_t>(1);
        channel_graph graph(rt);
        const auto splits = graph.channel<split>({.width = 2, .levels = 10, .at_once = 2});
        const auto kernel = graph.kernel(count_leaves{splits, leaves.ref()});
        graph.connect(splits, kernel);
        auto service = graph.service(kernel);
        auto session = rt.start(service);
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < 4; ++i) service.enqueue(splits, {9}, i % rt.n_pes());
            });
        }
        for (auto& t : threads) t.join();
        session.stop();
        std::uint64_t counted = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) counted += leaves.copy_out(pe)[0];
        ASSERT_EQ(counted, 12u * 34);
    }
}

TEST_P(channel_service_test, HostThreadsCallFunctionsAndEachGetsItsOwnResults) {
    const std::uint64_t rounds = is_checked(GetParam()) ? (rounds_of(GetParam()) + 9) / 10 : 4;
    const std::uint64_t numbers[] = {0, 1, 1, 2, 3, 5, 8, 13, 21};
    for (std::uint64_t round = 0; round < rounds; ++round) {
        SCOPED_TRACE("seed " + std::to_string(round + 1));
        runtime rt(job(round));
        fork_join program(rt, {.levels = 9, .width = round % 2 == 0 ? 2u : 64u}, called_number{}, sum_of_calls{},
                          called_for_pe{});
        const std::uint32_t slots = 2u << (round % 3 * 3);
        auto service = program.service<called_number, called_for_pe>({slots, slots});
        auto session = rt.start(service);
        const std::uint32_t each = 9;
        std::vector<std::thread> threads;
        for (std::uint32_t t = 0; t < 3; ++t) {
            threads.emplace_back([&, t] {
                std::vector<fork_future<std::uint64_t>> asked;
                for (std::uint32_t i = 0; i < each; ++i) asked.push_back(service.submit<called_number>((t + i) % 9));
                (void)service.submit<called_number>(8);  // whose result nobody wants
                const auto told = service.submit<called_for_pe>(t).get();
                EXPECT_EQ(told.asked, t);
                EXPECT_LT(static_cast<unsigned>(told.pe), static_cast<unsigned>(rt.n_pes()));
                for (std::uint32_t i = each; i-- > 0;) EXPECT_EQ(asked[i].get(), numbers[(t + i) % 9]);
                EXPECT_EQ(asked[0].get(), numbers[t]) << "again";
            });
        }
        for (auto& t : threads) t.join();
        EXPECT_EQ(session.quiesce().posted, 3u * (each + 2));
        session.stop();
        const auto did = service.statistics().channels;
        ASSERT_EQ(did.size(), 3u + 2 + 2);
        EXPECT_EQ(did[3].name + ", " + did[6].name, "calls of function 0, answers of function 2");
        EXPECT_EQ(did[3].levels[0].produced, 3u * (each + 1));
        EXPECT_EQ(did[4].levels[0].produced, 3u);
        EXPECT_EQ(did[2].levels[1].consumed, 3u) << "one level below the calls of the host";
        if (testing::Test::HasFailure()) return;
    }
}

TEST_P(channel_service_test, CallsOutliveTheSessionThatHasDoneThem) {
    runtime rt(job());
    fork_join program(rt, {.levels = 9, .width = 64}, called_number{}, sum_of_calls{}, called_for_pe{});
    auto service = program.service<called_number, called_for_pe>();
    EXPECT_EQ(thrown_by<usage_error>([&] { (void)service.submit<called_number>(3); }),
              "host threads use a graph, or call a fork-join program, while its session runs, from runtime::start to "
              "stop");
    auto session = rt.start(service);
    std::vector<fork_future<pe_of_call>> told;
    for (std::uint32_t i = 0; i < 6; ++i) told.push_back(service.submit<called_for_pe>(i));
    const auto seven = service.submit<called_number>(7), eight = service.submit<called_number>(8);
    session.quiesce();
    EXPECT_TRUE(seven.is_done()) << "what was submitted before quiesce is done behind it";
    session.stop();
    EXPECT_EQ(eight.get(), 21u);
    std::vector<int> of_pe(static_cast<std::size_t>(rt.n_pes()));
    for (const auto& one : told) ++of_pe[static_cast<std::size_t>(one.get().pe)];
    EXPECT_EQ(of_pe, std::vector<int>(of_pe.size(), 6 / rt.n_pes())) << "in turn";
    const fork_future<std::uint64_t> none;
    EXPECT_EQ(thrown_by<usage_error>([&] { (void)none.get(); }), "this future has no call");
    // The program itself can still run, and serve the next session; what that one ends without is told.
    EXPECT_EQ(program.run<called_number>({6}), std::vector<std::uint64_t>{8});
    fork_future<std::uint64_t> lost;
    {
        auto second = rt.start(service);
        EXPECT_EQ(service.submit<called_number>(5).get(), 5u);
        lost = service.submit<called_number>(called_number::lost);
        second.quiesce();
        EXPECT_FALSE(lost.is_done());
        EXPECT_EQ(thrown_by<device_fault>([&] { second.stop(); }),
                  "channel 5 \"answers of function 0\": 1 element was reserved and never freed, 1 at level 0");
    }
    auto third = rt.start(service);
    EXPECT_EQ(thrown_by<usage_error>([&] { (void)lost.get(); }),
              "the session of this call has ended, and its result has not been taken before the next");
    EXPECT_EQ(seven.get(), 13u);
    third.stop();
}

TEST_P(channel_service_test, WhoWaitsForACallWhileTheSessionIsStoppedGetsItsResult) {
    runtime rt(job());
    fork_join program(rt, {.levels = 16, .width = 64}, called_number{}, sum_of_calls{});
    auto service = program.service<called_number>();
    for (int round = 0; round < 3; ++round) {
        auto session = rt.start(service);
        std::atomic<int> submitted = 0;
        std::vector<std::thread> threads;
        for (int t = 0; t < 2; ++t) {
            threads.emplace_back([&] {
                const auto call = service.submit<called_number>(15);
                ++submitted;
                EXPECT_NO_THROW(EXPECT_EQ(call.get(), 610u));
            });
        }
        while (submitted != 2) std::this_thread::yield();
        EXPECT_NO_THROW(session.stop());
        for (auto& t : threads) t.join();
    }
}

TEST_P(channel_service_test, FunctionsAreAsDeepAsInARun) {
    runtime rt(job());
    fork_join program(rt, {.levels = 3, .width = 2}, told_depth{}, depth_behind{});
    EXPECT_EQ(program.run<told_depth>({2}), std::vector<std::uint32_t>{2'02'01});
    auto service = program.service<told_depth>();
    auto session = rt.start(service);
    EXPECT_EQ(service.submit<told_depth>(2).get(), 2'02'01u);
    session.stop();
}

TEST_P(channel_service_test, ChannelsOfWhatNoWarpKeepsHaveAllMemory) {
    const std::vector<channel_plan> plans{{{.width = 1, .levels = 8}, 32}};
    const fork_join_options options{.levels = 8, .memory_bytes = 1 << 20};
    const fork_join_plan run = plan_fork_join(plans, options, 1 << 20);
    const fork_join_plan service = plan_fork_join(plans, options, 1 << 20, false);
    EXPECT_GE(service.width, 2 * run.width);
    EXPECT_GT(run.stack_bytes, service.stack_bytes);
}

TEST_P(channel_service_test, WrongUseIsRefused) {
    runtime rt(job());
    channel_graph graph(rt);
    const auto numbers = graph.channel<std::uint64_t>(64);
    const auto squares = graph.channel<square_answer>({.width = 64, .name = "squares"});
    const auto kernel = graph.kernel(square_numbers{squares});
    graph.connect(numbers, kernel);
    EXPECT_EQ(thrown_by<usage_error>([&] { (void)graph.service(kernel); }),
              "channel 1 \"squares\" has no consumer: see connect()");
    const auto to_host = graph.host_kernel(squares);
    EXPECT_EQ(thrown_by<usage_error>([&] { graph.run(kernel, to_host); }),
              "channel 1 \"squares\" is consumed by host threads: start the graph in a session, see service()");
    EXPECT_EQ(thrown_by<usage_error>([&] { (void)graph.host_kernel(numbers); }),
              "channel 0 has a consumer already: a channel has just one");
    EXPECT_EQ(thrown_by<usage_error>([&] {
                  (void)graph.service_with({0, 4}, deepest_or_fullest_first{}, kernel, to_host);
              }),
              "inbox_slots: 1 to 16777216, not 0");
    auto service = graph.service(kernel, to_host);
    const std::string outside =
        "host threads use a graph, or call a fork-join program, while its session runs, from runtime::start to stop";
    EXPECT_EQ(thrown_by<usage_error>([&] { service.enqueue(numbers, 1); }), outside);
    EXPECT_EQ(thrown_by<usage_error>([&] { (void)service.take(squares); }), outside);
    auto session = rt.start(service);
    EXPECT_EQ(thrown_by<usage_error>([&] { service.enqueue(numbers, 1, rt.n_pes()); }),
              "PE " + std::to_string(rt.n_pes()) + " does not exist");
    EXPECT_EQ(thrown_by<usage_error>([&] { service.enqueue(channel<std::uint32_t>{0}, 1); }),
              "channel 0 with elements of 4 bytes is not one of the graph in this session");
    EXPECT_EQ(thrown_by<usage_error>([&] { (void)service.take(channel<std::uint64_t>{2}); }),
              "channel 2 with elements of 8 bytes is not one of the graph in this session");
    EXPECT_EQ(thrown_by<usage_error>([&] { (void)service.take(numbers); }),
              "channel 0 is consumed by a kernel: host threads take from channels of host_kernel()");
    EXPECT_EQ(thrown_by<usage_error>([&] { (void)service.try_take(numbers); }),
              "channel 0 is consumed by a kernel: host threads take from channels of host_kernel()");
    session.stop();
    EXPECT_EQ(thrown_by<usage_error>([&] { service.enqueue(numbers, 1); }), outside);
    EXPECT_FALSE(service.try_take(squares));
}

TEST_P(channel_service_test, KernelsOfOtherGraphsAreRefused) {
    runtime rt(job());
    channel_graph graph(rt), other(rt);
    const auto numbers = graph.channel<std::uint64_t>(64);
    const auto squares = graph.channel<square_answer>(64);
    const auto kernel = graph.kernel(square_numbers{squares});
    graph.connect(numbers, kernel);
    (void)other.channel<square_answer>(64);
    const auto foreign = other.host_kernel(channel<square_answer>{0});  // 0 there, 1 here
    EXPECT_EQ(thrown_by<usage_error>([&] { (void)graph.service(kernel, foreign); }),
              "the kernel belongs to another graph");
    EXPECT_EQ(thrown_by<usage_error>([&] { graph.connect(squares, foreign); }), "the kernel belongs to another graph");
    // One that somebody has made by hand, and that names a channel which the graph does not have.
    const auto made = graph.kernel(give_to_host<square_answer>{9});
    graph.connect(squares, made);
    auto service = graph.service(kernel, made);
    auto session = rt.start(service);
    service.enqueue(numbers, 3);
    EXPECT_EQ(thrown_by<device_fault>([&] {
                  session.quiesce();
                  session.stop();
              }),
              "a kernel has given the host an element of channel 9, which the graph does not have");
}

TEST_P(channel_service_test, LevelsBeyondTheRanksOfQueuesAreRefused) {
    runtime rt(job());
    channel_graph graph(rt);
    const auto splits = graph.channel<split>({.width = 2, .levels = (1u << 24) - 1, .at_once = 2});
    graph.connect(splits, graph.kernel(count_leaves{splits, {}}));
    const auto more = graph.channel<split>({.width = 1, .levels = 0xffffffff});
    const auto kernel = graph.kernel(count_leaves{more, {}});
    graph.connect(more, kernel);
    graph.init(more, {{1}});
    const auto first = kernel_node<count_leaves>{0, {}, &graph};
    EXPECT_EQ(thrown_by<usage_error>([&] { graph.run(first, kernel); }),
              "the channels of a graph have 16777216 levels together at most, not 4311744510");
}

TEST_P(channel_service_test, WhatASessionThatFailedHasLeftIsNotOfTheNext) {
    runtime rt(job());
    channel_graph graph(rt);
    const auto to = graph.channel<std::uint32_t>(64);
    const auto results = graph.channel<std::uint32_t>(64);
    const auto kernel = graph.kernel(give_and_leak{results});
    graph.connect(to, kernel);
    auto service = graph.service(kernel, graph.host_kernel(results));
    {
        auto session = rt.start(service);
        for (std::uint32_t i = 0; i < 3; ++i) service.enqueue(to, 100 + i);
        service.enqueue(to, give_and_leak::leaks);
        EXPECT_NE(thrown_by<device_fault>([&] { session.stop(); }).find("1 element was reserved"), std::string::npos);
    }
    EXPECT_TRUE(service.try_take(results)) << "until the next session begins";
    auto session = rt.start(service);
    service.enqueue(to, 7);
    EXPECT_EQ(service.take(results), 7u);
    session.stop();
}

/// A session of `misbehave_in_session`, and what `use(service, session)` throws.
template <class Error, class Use>
std::string misbehaviour(const options& o, const Use& use) {
    runtime rt(o);
    channel_graph graph(rt);
    const auto to = graph.channel<std::uint32_t>({.width = 64, .name = "mischief"});
    const auto kernel = graph.kernel(misbehave_in_session{to});
    graph.connect(to, kernel);
    const auto results = graph.channel<std::uint64_t>({.width = 64, .name = "results"});
    const auto to_host = graph.host_kernel(results);
    auto service = graph.service(kernel, to_host);
    auto session = rt.start(service);
    try {
        use(service, session, to, results);
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

TEST_P(channel_service_test, WhatIsLostIsNamedWhenTheSessionStops) {
    const std::string text = misbehaviour<device_fault>(job(), [](auto& service, auto& session, auto to, auto) {
        service.enqueue(to, misbehave_in_session::leaks);
        session.quiesce();
        service.enqueue(to, misbehave_in_session::leaks);
        session.stop();
    });
    EXPECT_EQ(text, "channel 0 \"mischief\": 2 elements were reserved and never freed, 2 at level 0");
}

TEST_P(channel_service_test, WhichGraphOfASessionAChannelIsOfIsTold) {
    runtime rt(job());
    fork_join program(rt, {.levels = 9, .width = 64}, called_number{}, sum_of_calls{});
    channel_graph graph(rt);
    const auto to = graph.channel<std::uint32_t>({.width = 64, .name = "mischief"});
    const auto kernel = graph.kernel(misbehave_in_session{to});
    graph.connect(to, kernel);
    auto calls = program.service<called_number>();
    auto service = graph.service(kernel);
    {
        auto session = rt.start(calls, service);
        EXPECT_EQ(calls.submit<called_number>(6).get(), 8u);
        service.enqueue(to, misbehave_in_session::leaks);
        EXPECT_EQ(thrown_by<device_fault>([&] { session.stop(); }),
                  "channel 0 \"mischief\" of graph 1: 1 element was reserved and never freed, 1 at level 0");
    }
    {
        auto session = rt.start(calls, service);
        (void)calls.submit<called_number>(called_number::lost);
        EXPECT_EQ(
            thrown_by<device_fault>([&] { session.stop(); }),
            "channel 3 \"answers of function 0\" of graph 0: 1 element was reserved and never freed, 1 at level 0");
    }
    auto session = rt.start(service);
    service.enqueue(to, misbehave_in_session::leaks);
    EXPECT_EQ(thrown_by<device_fault>([&] { session.stop(); }),
              "channel 0 \"mischief\": 1 element was reserved and never freed, 1 at level 0");
}

TEST_P(channel_service_test, WhichProgramOfARunAChannelIsOfIsTold) {
    runtime rt(job());
    fork_join shallow(rt, {.levels = 3, .width = 64}, called_number{}, sum_of_calls{});
    fork_join deep(rt, {.levels = 9, .width = 64}, called_number{}, sum_of_calls{});
    auto few = shallow.component<called_number>({6}), many = deep.component<called_number>({6});
    const std::string text = thrown_by<device_fault>([&] { rt.run(many, few); });
    expect_in(text, ": channel 0 of graph 1 has 3 levels; channel 0 of graph 1 is \"function 0\"");
    EXPECT_EQ(text.find("of graph 0"), std::string::npos) << text;
}

#if !defined(__CUDACC__)
TEST_P(channel_service_test, WhoeverWaitsHearsOfAKernelThatThrows) {
    const std::string text = misbehaviour<lane_error>(job(), [](auto& service, auto&, auto to, auto results) {
        service.enqueue(to, misbehave_in_session::nothing);
        service.enqueue(to, misbehave_in_session::throws);
        (void)service.take(results);
    });
    expect_in(text, "a kernel threw");
}
#endif

TEST_P(channel_service_test, AGraphThatSpawnsForEverEndsAtTheDeadlineAndSaysWhatItHolds) {
    const std::string text = misbehaviour<timeout_error>(job(1, 1), [](auto& service, auto& session, auto to, auto) {
        service.enqueue(to, misbehave_in_session::for_ever);
        session.quiesce();
    });
    expect_in(text, "; channel 0 \"mischief\": 1 element, 1 at level 0; channel 1 \"results\": 0 elements");
}

TEST_P(channel_service_test, WhoWaitsForNothingHearsItAtTheDeadline) {
    const std::string text = misbehaviour<timeout_error>(
        job(1, 1), [](auto& service, auto&, auto, auto results) { (void)service.take(results); });
    expect_in(text, "channel 1 \"results\": 0 elements");
}

LANEWAY_ON_DEVICES(channel_service_test, device_lists());

}  // namespace
}  // namespace laneway::test
