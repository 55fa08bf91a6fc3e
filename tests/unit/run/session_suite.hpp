// Sessions: host threads that feed a program which stays on the devices.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <stop_token>
#include <thread>

#include "laneway/base/interruption.hpp"
#include "laneway/runtime.hpp"
#include "path_graph.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

struct amount {
    std::uint64_t value;
};
struct add_amount {
    symmetric_ref<std::uint64_t> sum;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const amount& m) const {
        atomic_add(ctx, sum[0], m.value);
    }
};
struct question {
    std::uint64_t value;
};
struct doubled {
    using answer = std::uint64_t;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx& ctx, const question& q) const {
        return 2 * q.value + static_cast<std::uint64_t>(ctx.pe());
    }
};
/// Tells what has arrived so far.
struct ask_sum {};
struct tell_sum {
    using answer = std::uint64_t;
    symmetric_ref<std::uint64_t> sum;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx& ctx, const ask_sum&) const {
        return atomic_add(ctx, sum[0], 0);
    }
};
/// Goes round the PEs, and is counted where it ends.
struct hop {
    std::uint64_t left;
};
struct go_on {
    static constexpr bool forwards = true;
    symmetric_ref<std::uint64_t> ended;
    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const hop& h, Forward& forward) const {
        if (h.left == 0) {
            atomic_add(ctx, ended[0], 1);
        } else {
            (void)forward.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), hop{h.left - 1});
        }
    }
};

struct add_ranks {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        (void)box.post(ctx, 0, amount{1});
    }
};

struct go_on_for_ever {
    static constexpr bool forwards = true;
    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const hop& h, Forward& forward) const {
        (void)forward.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), h);
    }
};

class session_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] options with(double lease_seconds, std::uint64_t seed = 1) const {
        options o;
        use_devices(o, GetParam());
        o.seed = seed;
        o.lease_seconds = lease_seconds;
        o.timeout_seconds = 60;
        return o;
    }
    [[nodiscard]] bool checked() const { return is_checked(GetParam()); }
    /// Epochs of a session: few, or what LANEWAY_EPOCHS says, for a long run.
    [[nodiscard]] std::uint64_t epochs() const {
        const char* const said = std::getenv("LANEWAY_EPOCHS");
#if defined(__SANITIZE_THREAD__)
        constexpr std::uint64_t of_threads = 30;  // it sees races that did no harm
#else
        constexpr std::uint64_t of_threads = 100;
#endif
        return said != nullptr ? std::stoull(said) : checked() ? 10 : of_threads;
    }
};

std::uint64_t total(runtime& rt, const symmetric_array<std::uint64_t>& all) {
    std::uint64_t sum = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) sum += all.copy_out(pe)[0];
    return sum;
}

/// The sum over all PEs while the program stays: copying would wait until nothing is left, whatever quiesce did.
template <class Session>
std::uint64_t asked_total(Session& session, int pes) {
    std::uint64_t sum = 0;
    for (int pe = 0; pe < pes; ++pe) sum += session.call(pe, ask_sum{});
    return sum;
}

TEST_P(session_test, EpochsOfPostsFromSeveralThreadsLoseNothing) {
    for (const double lease : {0.0, 1e-6}) {
        runtime rt(with(lease));
        const auto sum = rt.allocate<std::uint64_t>(1);
        auto session = rt.start(rt.mailbox<amount, ask_sum>(add_amount{sum.ref()}, tell_sum{sum.ref()}));
        std::uint64_t posts = 0, expected = 0, last = 0, calls = 0;
        std::mt19937 random(7);
        for (std::uint64_t epoch = 1; epoch <= epochs(); ++epoch) {
            std::vector<std::thread> threads;
            for (std::uint64_t t = 0; t < 4; ++t) {
                const std::uint64_t count = random() % 50;
                posts += count;
                for (std::uint64_t i = 0; i < count; ++i) expected += epoch + t + i;
                threads.emplace_back([&session, &rt, epoch, t, count] {
                    for (std::uint64_t i = 0; i < count; ++i) {
                        session.post(static_cast<int>(i % static_cast<unsigned>(rt.n_pes())), amount{epoch + t + i});
                    }
                });
            }
            for (auto& t : threads) t.join();
            const epoch_report report = session.quiesce();
            EXPECT_GE(report.number, epoch);
            ASSERT_EQ(report.posted, posts + calls - last);
            last = posts + calls;
            ASSERT_EQ(asked_total(session, rt.n_pes()), expected) << "epoch " << epoch;
            calls += static_cast<std::uint64_t>(rt.n_pes());
            if (epoch % 5 == 0) {
                ASSERT_EQ(total(rt, sum), expected) << "epoch " << epoch;
            }
        }
        const run_report all = session.stop();
        EXPECT_EQ(all.posted, posts + calls);
        EXPECT_EQ(all.direct, posts + calls) << "each is served where it arrives";
        EXPECT_EQ(total(rt, sum), expected);
    }
}

TEST_P(session_test, AnEpochEndsWithAllThatFollowsFromItsPosts) {
    for (std::uint64_t seed = 1; seed <= (checked() ? rounds_of(GetParam()) : 3); ++seed) {
        runtime rt(with(0, seed));
        const auto ended = rt.allocate<std::uint64_t>(1);
        auto session = rt.start(rt.mailbox<hop, ask_sum>(go_on{ended.ref()}, tell_sum{ended.ref()}));
        for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
            for (int pe = 0; pe < rt.n_pes(); ++pe) session.post(pe, hop{20});
            const epoch_report report = session.quiesce();
            const auto pes = static_cast<std::uint64_t>(rt.n_pes());
            EXPECT_EQ(report.carried, pes == 1 ? 0 : 20 * pes) << "each hop goes to another PE";
            EXPECT_EQ(report.served, report.carried);
            ASSERT_EQ(asked_total(session, rt.n_pes()), epoch * pes) << "seed " << seed;
        }
    }
}

TEST_P(session_test, CallsAreAnswered) {
    runtime rt(with(0));
    auto session = rt.start(rt.mailbox<question>(doubled{}));
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint64_t i = 0; i < 50; ++i) {
                const auto pe = i % static_cast<std::uint64_t>(rt.n_pes());
                EXPECT_EQ(session.call(static_cast<int>(pe), question{100 * t + i}), 2 * (100 * t + i) + pe);
            }
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(session.stop().posted, 150u);
}

TEST_P(session_test, RunsAndMemoryMayBeUsedBetweenEpochs) {
    runtime rt(with(0));
    const auto sum = rt.allocate<std::uint64_t>(1), other = rt.allocate<std::uint64_t>(1);
    auto session = rt.start(rt.mailbox<amount>(add_amount{sum.ref()}));
    for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
        session.post(rt.n_pes() - 1, amount{5});
        session.quiesce();
        EXPECT_EQ(total(rt, sum), 5 * epoch);
        const run_report report = rt.run(add_ranks{}, rt.mailbox<amount>(add_amount{other.ref()}));
        EXPECT_EQ(total(rt, other), epoch * report.posted);
        const auto more = rt.allocate<std::uint64_t>(10);
        EXPECT_EQ(total(rt, more), 0u);
    }
    session.post(0, amount{100});  // nobody waits for it: the end of the session does
    session.stop();
    EXPECT_EQ(total(rt, sum), 115u);
}

TEST_P(session_test, AWorklistTakesKeysFromSeveralThreads) {
    for (const double lease : {0.0, 1e-6}) {
        if (checked() && lease == 0) continue;  // a checked program takes long
        runtime rt(with(lease));
        const path_graph graph(rt);
        auto list = graph.list(rt.machine());
        const auto sum = rt.allocate<std::uint64_t>(1);
        path_keys expected(graph.vertices);
        list.start_with({1}, 2000);
        expected.propose(1, 2000);
        auto session = rt.start(list, rt.mailbox<amount>(add_amount{sum.ref()}));
        for (std::uint32_t epoch = 1; epoch <= 4; ++epoch) {
            std::vector<std::thread> threads;
            for (std::uint32_t t = 0; t < 3; ++t) {
                threads.emplace_back([&, t] {
                    for (std::uint32_t i = 0; i < 5; ++i) {
                        session.post(list.proposal((7 * i + 5 * t) % graph.vertices, 1000 - 100 * epoch + 10 * i + t));
                        session.post(0, amount{1});
                    }
                });
            }
            for (auto& t : threads) t.join();
            if (epoch == 3) session.quiesce();
            if (epoch == 4) {
                expected = path_keys(graph.vertices);
                list.forget_keys();  // what the threads have posted is done before
            } else {
                for (std::uint32_t t = 0; t < 3; ++t) {
                    for (std::uint32_t i = 0; i < 5; ++i) {
                        expected.propose((7 * i + 5 * t) % graph.vertices, 1000 - 100 * epoch + 10 * i + t);
                    }
                }
            }
            expected.expect(rt, list);
        }
        EXPECT_EQ(total(rt, sum), 60u);
        EXPECT_THROW((void)list.proposal(graph.vertices, 1), usage_error);
        EXPECT_THROW((void)list.proposal(0, worklist_word<std::uint32_t>::unreached), usage_error);
        EXPECT_EQ(thrown<usage_error>([&] { rt.run(list); }),
                  "the worklist belongs to a session that has not been stopped");
        session.post(list.proposal(0, 3));
        session.stop();
        expected.propose(0, 3);
        expected.expect(rt, list);
        EXPECT_GT(rt.run(list).items, 0u);
    }
}

/// What an epoch has driven the threshold up to counts for nothing in the next one.
TEST_P(session_test, EachEpochOfAWorklistBeginsWithTheFirstThreshold) {
    runtime rt(with(0));
    const path_graph graph(rt);
    auto list = graph.list(rt.machine());
    auto session = rt.start(list);
    session.post(list.proposal(graph.vertices - 1, 100'000));  // one rise
    session.quiesce();
    session.post(list.proposal(0, 0));  // one for each step
    session.quiesce();
    EXPECT_GE(session.stop().rises, 4u);
}

struct refuse_seven {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const amount& m) const {
        if (m.value == 7) (void)fail(ctx, status::handler_failed, operation::user_code, -1, m.value);
    }
};

TEST_P(session_test, ASessionThatFailedSaysSoAtEachCallAndAnotherWorks) {
    runtime rt(with(0));
    {
        auto session = rt.start(rt.mailbox<amount>(refuse_seven{}));
        session.post(0, amount{6});
        session.quiesce();
        session.post(0, amount{7});
        EXPECT_THROW(session.quiesce(), device_fault);
        EXPECT_THROW(session.quiesce(), device_fault);
        EXPECT_THROW(session.post(0, amount{1}), device_fault);
        const auto still_works = rt.allocate<std::uint64_t>(1);
        EXPECT_EQ(total(rt, still_works), 0u);
        EXPECT_THROW(session.stop(), device_fault);
        EXPECT_THROW(session.stop(), device_fault);
    }
    auto session = rt.start(rt.mailbox<amount>(refuse_seven{}));
    session.post(0, amount{6});
    EXPECT_EQ(session.stop().posted, 1u);
    EXPECT_THROW(session.post(0, amount{6}), usage_error) << "after stop";
}

TEST_P(session_test, APeThatDoesNotExistIsRefused) {
    runtime rt(with(0));
    auto session = rt.start(rt.mailbox<amount>(refuse_seven{}));
    EXPECT_THROW(session.post(-1, amount{1}), usage_error);
    EXPECT_THROW(session.post(rt.n_pes(), amount{1}), usage_error);
    session.post(0, amount{1});
    EXPECT_EQ(session.stop().posted, 1u);
}

TEST_P(session_test, AnEpochThatDoesNotEndMeetsItsDeadline) {
    options o = with(0);
    o.timeout_seconds = 0.2;
    runtime rt(o);
    auto session = rt.start(rt.mailbox<hop>(go_on_for_ever{}));
    session.post(0, hop{1});
    EXPECT_THROW(session.quiesce(), timeout_error);
    EXPECT_THROW(session.quiesce(), timeout_error);
}

TEST_P(session_test, ThreadsCloseEpochsWhileOthersPostAndTheOwnerReleases) {
    runtime rt(with(0));
    const auto sum = rt.allocate<std::uint64_t>(1);
    auto session = rt.start(rt.mailbox<amount>(add_amount{sum.ref()}));
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < (checked() ? 5 : 30); ++i) {
                session.post(i % rt.n_pes(), amount{1});
                session.quiesce();
            }
        });
    }
    for (int i = 0; i < 10; ++i) session.release();
    for (auto& t : threads) t.join();
    EXPECT_EQ(total(rt, sum), 3u * (checked() ? 5 : 30));
}

/// More threads than the epochs whose account is kept.
TEST_P(session_test, EpochsOfManyThreadsTellOfEachMessageOnce) {
    for (const double lease : {0.0, 1e-6}) {
        runtime rt(with(lease));
        const auto ended = rt.allocate<std::uint64_t>(1);
        auto session = rt.start(rt.mailbox<hop>(go_on{ended.ref()}));
        std::atomic<std::uint64_t> posted{0}, carried{0}, served{0};
        const auto tell = [&](const epoch_report& report) {
            posted += report.posted;
            carried += report.carried;
            served += report.served;
        };
        std::vector<std::thread> threads;
        for (int t = 0; t < 2 * static_cast<int>(epoch_words::kept); ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < (checked() ? 3 : 20); ++i) {
                    session.post((t + i) % rt.n_pes(), hop{3});
                    tell(session.quiesce());
                }
            });
        }
        for (auto& t : threads) t.join();
        tell(session.quiesce());
        const run_report all = session.stop();
        EXPECT_EQ(posted, total(rt, ended));
        EXPECT_EQ(carried, all.carried);
        EXPECT_EQ(served, all.served);
    }
}

TEST_P(session_test, OthersPostWhileTheOwnerUsesTheDevicesAndTheLeaseRunsOut) {
    for (const double lease : {0.0, 1e-6}) {
        runtime rt(with(lease));
        const auto ended = rt.allocate<std::uint64_t>(1), other = rt.allocate<std::uint64_t>(1);
        auto session = rt.start(rt.mailbox<hop>(go_on{ended.ref()}));
        const std::uint64_t posts = checked() ? 30 : 300;
        std::atomic<bool> all_posted = false;
        std::thread poster([&] {
            for (std::uint64_t i = 0; i < posts; ++i) session.post(static_cast<int>(i) % rt.n_pes(), hop{i % 7});
            all_posted = true;
        });
        do {
            (void)total(rt, ended);
            (void)rt.run(add_ranks{}, rt.mailbox<amount>(add_amount{other.ref()}));
            const auto more = rt.allocate<std::uint64_t>(3);
            (void)session.quiesce();
        } while (!all_posted);
        poster.join();
        session.stop();
        EXPECT_EQ(total(rt, ended), posts);
    }
}

TEST_P(session_test, WhatComesWhileTheOwnerUsesTheDevicesWaitsUntilItIsThrough) {
    runtime rt(with(0));
    const auto ended = rt.allocate<std::uint64_t>(1);
    auto session = rt.start(rt.mailbox<hop>(go_on{ended.ref()}));
    {
        const auto mine = rt.machine().refuse_during_run();
        std::thread([&] { session.post(0, hop{0}); }).join();
        EXPECT_EQ(total(rt, ended), 0u) << "a copy within does not wait for a program that cannot come back";
    }
    EXPECT_EQ(total(rt, ended), 1u);
    session.stop();
}

TEST_P(session_test, WhoUsesTheDevicesMeanwhileCannotStopTheSession) {
    runtime rt(with(0));
    const auto sum = rt.allocate<std::uint64_t>(1);
    auto session = rt.start(rt.mailbox<amount>(add_amount{sum.ref()}));
    session.while_away([&] { EXPECT_THROW(session.stop(), usage_error); });
    session.post(0, amount{3});
    session.stop();
    EXPECT_EQ(total(rt, sum), 3u);
}

TEST_P(session_test, AnEpochEndsThoughOthersPostOn) {
    runtime rt(with(0));
    const auto sum = rt.allocate<std::uint64_t>(1);
    auto session = rt.start(rt.mailbox<amount>(add_amount{sum.ref()}));
    std::atomic<bool> over = false;
    std::uint64_t posts = 0;
    std::thread poster([&] {
        while (!over) session.post(static_cast<int>(posts++) % rt.n_pes(), amount{1});
    });
    for (int epoch = 0; epoch < 5; ++epoch) (void)session.quiesce();
    over = true;
    poster.join();
    session.stop();
    EXPECT_EQ(total(rt, sum), posts);
}

TEST_P(session_test, WaitsCanBeLeftAndTheSessionStillEnds) {
    options o = with(0);
    o.timeout_seconds = 3600;  // beyond the test runner's own limit: who waits for it fails
    runtime rt(o);
    {
        std::stop_source leave;
        const interruption on_this_thread(leave.get_token());  // also of what ends the session
        auto session = rt.start(rt.mailbox<hop>(go_on_for_ever{}));
        session.post(0, hop{1});
        leave.request_stop();
        EXPECT_THROW(session.quiesce(), interrupted);
    }
}

TEST_P(session_test, ASecondSessionIsRefusedAndTheFirstGoesOn) {
    runtime rt(with(0));
    const auto sum = rt.allocate<std::uint64_t>(1);
    auto session = rt.start(rt.mailbox<amount>(add_amount{sum.ref()}));
    session.post(0, amount{1});
    EXPECT_THROW((void)rt.start(rt.mailbox<amount>(add_amount{sum.ref()})), usage_error);
    session.post(0, amount{2});
    session.stop();
    EXPECT_EQ(total(rt, sum), 3u);
}

TEST_P(session_test, ASessionMayEndUnused) {
    runtime rt(with(1e-6));
    const auto sum = rt.allocate<std::uint64_t>(1);
    { auto session = rt.start(rt.mailbox<amount>(add_amount{sum.ref()})); }
    auto session = rt.start(rt.mailbox<amount>(add_amount{sum.ref()}));
    EXPECT_EQ(session.quiesce().posted, 0u);
    session.release();
    session.release();
    EXPECT_EQ(session.stop().posted, 0u);
}

TEST_P(session_test, WhatThreadsHaveBegunWhenItIsStoppedIsEnded) {
    for (int round = 0; round < (checked() ? 3 : 40); ++round) {
        runtime rt(with(round % 2 == 0 ? 0.0 : 1e-6));
        const auto sum = rt.allocate<std::uint64_t>(1);
        auto session = rt.start(rt.mailbox<question, amount>(doubled{}, add_amount{sum.ref()}));
        std::atomic<std::uint64_t> begun{0}, posted{0};
        std::atomic<int> refused{0};
        std::vector<std::thread> threads;
        for (std::uint64_t t = 0; t < 3; ++t) {
            threads.emplace_back([&, t] {
                for (std::uint64_t i = 0;; ++i) {
                    const auto pe = static_cast<int>((t + i) % static_cast<unsigned>(rt.n_pes()));
                    ++begun;
                    try {
                        EXPECT_EQ(session.call(pe, question{i}), 2 * i + static_cast<std::uint64_t>(pe));
                        session.post(pe, amount{1});
                        ++posted;
                    } catch (const usage_error& stopped) {
                        EXPECT_STREQ(stopped.what(), "the session has been stopped");
                        ++refused;
                        return;
                    }
                }
            });
        }
        while (begun < 20) std::this_thread::yield();
        EXPECT_NO_THROW(session.stop());
        for (auto& t : threads) t.join();
        EXPECT_EQ(refused, 3);
        ASSERT_EQ(total(rt, sum), posted);
    }
}

TEST_P(session_test, TheOwnerUsesTheDevicesWhileAnotherThreadEndsTheSession) {
    for (int round = 0; round < (checked() ? 3 : 40); ++round) {
        runtime rt(with(round % 2 == 0 ? 0.0 : 1e-6));
        const auto sum = rt.allocate<std::uint64_t>(1);
        using session_type = decltype(rt.start(rt.mailbox<amount>(add_amount{})));
        struct owned {  // nvcc would copy the session that `new` gets from start
            owned(runtime& from, add_amount add) : session(from.start(from.mailbox<amount>(add))) {}
            session_type session;
        };
        auto mine = std::make_unique<owned>(rt, add_amount{sum.ref()});
        std::atomic<int> copies = 0;
        std::atomic<bool> over = false;
        std::thread ends([&] {
            while (copies < round % 5) std::this_thread::yield();
            mine->session.post(0, amount{1});
            mine->session.stop();
            mine.reset();
            over = true;
        });
        while (!over) {
            EXPECT_LE(total(rt, sum), 1u);
            ++copies;
        }
        ends.join();
        EXPECT_EQ(total(rt, sum), 1u);
    }
}

INSTANTIATE_TEST_SUITE_P(devices, session_test, testing::ValuesIn(with_proxies(device_lists())), name_of);

}  // namespace
}  // namespace laneway::test
