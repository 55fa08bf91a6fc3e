// Host services next to runs: they start, serve to the end, and fail in good order, as threads and as fibers.
#include "laneway/simt/service_run.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "laneway/base/interruption.hpp"
#include "laneway/simt/wait.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

/// Doubles the numbers that lanes leave in words, one a thread.
class doubler : public host_service {
public:
    explicit doubler(int threads) : words(static_cast<std::size_t>(threads)) {}

    [[nodiscard]] int threads() const override { return static_cast<int>(words.size()); }
    void open() override {
        ++opened;
        for (auto& w : words) w = {};
    }
    [[nodiscard]] bool is_due(host_context& ctx, int thread) const override {
        if (!waits_for_work) return true;
        auto& w = words[static_cast<std::size_t>(thread)];
        return ctx.load(&w.asked, order::acquire, scope::system) != w.seen;
    }
    bool turn(host_context& ctx, int thread) override {
        if (std::this_thread::get_id() != runs_on) ++turns_of_threads;
        auto& w = words[static_cast<std::size_t>(thread)];
        const std::uint64_t asked = ctx.load(&w.asked, order::acquire, scope::system);
        if (asked == w.seen) return false;
        w.seen = asked;
        if (asked == throw_at) throw std::runtime_error("no doubles of " + std::to_string(asked));
        while (hold) std::this_thread::yield();
        ++turns;
        ctx.store(&w.answered, asked * 2, order::release, scope::system);
        return true;
    }
    [[nodiscard]] std::string account() const override { return "; doubler: " + std::to_string(turns.load()); }
    void audit() const override { ++audited; }

    struct word {
        std::uint64_t asked = 0;
        std::uint64_t answered = 0;
        std::uint64_t seen = 0;
    };
    mutable std::vector<word> words;
    std::uint64_t throw_at = 0;
    int opened = 0;
    mutable int audited = 0;
    bool waits_for_work = false;                           ///< its threads are due only when a lane has asked
    std::thread::id runs_on = std::this_thread::get_id();  ///< who calls machine::run
    std::atomic<std::uint64_t> turns_of_threads{0};        ///< also those without work
    std::atomic<bool> hold{false};
    std::atomic<std::uint64_t> turns{0};
};

/// The first lane of block b asks word b for the double of 1 to `last`; with `waits` for each answer.
struct asker {
    static constexpr int cuda_warps = 1;
    doubler::word* words;
    std::uint64_t last;
    bool waits;
    std::atomic<std::uint64_t>* wrong;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.pe() != 0 || ctx.lane() != 0) return;
        doubler::word& w = words[ctx.block()];
        for (std::uint64_t i = 1; i <= last; ++i) {
            ctx.store(&w.asked, i, order::release, scope::system);
            if (!waits) continue;
            const status answered = wait_until(ctx, {operation::host_answer, -1, i}, [&] {
                return ctx.load(&w.answered, order::acquire, scope::system) == 2 * i;
            });
            if (answered != status::ok) {
                ++*wrong;
                return;
            }
        }
    }
};

class service_run_test : public testing::TestWithParam<std::string> {
protected:
    std::string run(machine& on, doubler& service, std::uint64_t last, bool waits, double timeout_seconds) {
        std::atomic<std::uint64_t> wrong{0};
        const launch_shape shape{service.threads(), 1, 0};
        try {
            run_programs(on, shape, timeout_seconds, [&](int) {
                return asker{service.words.data(), last, waits, &wrong};
            });
        } catch (const error& e) {
            return e.what();
        }
        EXPECT_EQ(wrong, 0u);
        return "";
    }
};

TEST_P(service_run_test, EveryThreadServesDuringTheRun) {
    every_round(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto service = std::make_shared<doubler>(1 + static_cast<int>(o.seed % 3));
        machine.attach(service);
        for (int round = 1; round <= 2; ++round) {
            EXPECT_EQ(run(machine, *service, 5, true, o.timeout_seconds), "");
            EXPECT_EQ(service->opened, round);
            EXPECT_EQ(service->audited, round);
            EXPECT_EQ(service->turns, static_cast<unsigned>(5 * service->threads() * round));
        }
    });
}

TEST_P(service_run_test, WhatLanesLeftBehindIsServedBeforeTheRunReturns) {
    every_round(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto service = std::make_shared<doubler>(2);
        machine.attach(service);
        EXPECT_EQ(run(machine, *service, 3, false, o.timeout_seconds), "");
        EXPECT_EQ(service->words[0].answered, 6u);
        EXPECT_EQ(service->words[1].answered, 6u);
    });
}

TEST_P(service_run_test, AServiceThatIsGoneDoesNotRun) {
    machine machine(GetParam());
    auto service = std::make_shared<doubler>(1);
    machine.attach(service);
    service.reset();
    const auto other = std::make_shared<doubler>(1);
    EXPECT_EQ(run(machine, *other, 1, false, 1), "");
    EXPECT_EQ(other->opened, 0);
}

TEST_P(service_run_test, RunsThatNeedNoThreadStartNone) {
    if (is_checked(GetParam())) return;  // whose threads are fibers
    machine machine(GetParam());
    const auto service = std::make_shared<doubler>(3);
    service->waits_for_work = true;
    machine.attach(service);
    for (int round = 1; round <= 500; ++round) {
        ASSERT_EQ(run(machine, *service, 0, false, 20), "");
        ASSERT_EQ(service->opened, round);
        ASSERT_EQ(service->audited, round);
    }
    EXPECT_EQ(service->turns_of_threads, 0u);
    EXPECT_EQ(service->turns, 0u);
}

TEST_P(service_run_test, ThreadsStartWhenTheyAreDue) {
    every_round(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto service = std::make_shared<doubler>(2);
        service->waits_for_work = true;
        machine.attach(service);
        for (int round = 1; round <= 20; ++round) {
            const bool waits = round % 2 == 0;  // else it may come too late for a thread
            ASSERT_EQ(run(machine, *service, 5, waits, o.timeout_seconds), "");
            ASSERT_EQ(service->words[0].answered, 10u);
            ASSERT_EQ(service->words[1].answered, 10u);
        }
        if (!is_checked(GetParam())) {
            EXPECT_GT(service->turns_of_threads, 0u);
        }
    });
}

TEST_P(service_run_test, GoodRunsFollowThoseThatFailBeforeAndAfterAThreadIsDue) {
    machine machine(GetParam());
    const auto service = std::make_shared<doubler>(2);
    service->waits_for_work = true;
    machine.attach(service);
    const auto silent = std::make_shared<doubler>(2);  // never runs, so never answers
    for (int round = 0; round < 10; ++round) {
        service->throw_at = 2;
        EXPECT_THROW(run(machine, *service, 2, round % 2 == 0, 20), std::runtime_error);
        service->throw_at = 0;
        EXPECT_EQ(run(machine, *service, 2, true, 20), "");
        EXPECT_NE(run(machine, *silent, 1, true, 0.01), "");
        EXPECT_EQ(run(machine, *service, 0, false, 20), "");
    }
}

TEST_P(service_run_test, WhatAServiceThrowsLeavesTheRun) {
    machine machine(GetParam());
    const auto service = std::make_shared<doubler>(2);
    machine.attach(service);
    service->throw_at = 2;
    EXPECT_THROW(run(machine, *service, 2, false, 5), std::runtime_error);
    EXPECT_EQ(service->audited, 0);
    service->throw_at = 0;
    EXPECT_EQ(run(machine, *service, 2, true, 5), "");
}

TEST_P(service_run_test, ALanesFaultCarriesTheAccountOfTheServices) {
    machine machine(GetParam());
    const auto service = std::make_shared<doubler>(1);
    const auto asked = std::make_shared<doubler>(1);  // never runs, so never answers
    machine.attach(service);
    const std::string what = run(machine, *asked, 1, true, 0.02);
    EXPECT_NE(what.find("waiting for a host function's answer: ticket 1; the deadline is 0.02 s"), std::string::npos)
        << what;
    EXPECT_NE(what.find("; doubler: 0"), std::string::npos) << what;
    EXPECT_EQ(service->audited, 0);
}

INSTANTIATE_TEST_SUITE_P(devices, service_run_test, testing::Values("cpu:1", "cpu:2", "checked:1", "checked:2"),
                         name_of);

/// Runs without waiting for its answer, and says when its thread has ended.
struct leaving_asker : asker {
    std::atomic<bool>* gone;

    template <class Ctx>
    void operator()(Ctx& ctx) const {
        struct farewell {
            ~farewell() { *said = true; }
            std::atomic<bool>* said;
        };
        thread_local const farewell ending{gone};
        (void)ending;
        asker::operator()(ctx);
    }
};

TEST(stuck_service_test, AWaitForAServiceCanBeLeft) {
    machine machine("cpu:1");
    const auto service = std::make_shared<doubler>(1);
    machine.attach(service);
    service->hold = true;
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<bool> gone{false};
    {
        const interruption leave([&] {
            if (gone) throw interrupted("enough");
        });
        EXPECT_THROW(run_programs(machine, launch_shape{1, 1, 0}, 20,
                                  [&](int) {
                                      return leaving_asker{{service->words.data(), 1, false, &wrong}, &gone};
                                  }),
                     interrupted);
    }
    EXPECT_EQ(service->turns, 0u) << "it was waited for";
    service->hold = false;
    while (service->turns == 0) std::this_thread::yield();
}

TEST(stuck_service_test, IsLeftBehindAndTheMachineRefusesFurtherRuns) {
    machine machine("cpu:1");
    const auto service = std::make_shared<doubler>(1);
    machine.attach(service);
    service->hold = true;
    std::atomic<std::uint64_t> wrong{0};
    const auto run = [&] {
        run_programs(machine, launch_shape{1, 1, 0}, 0.2, [&](int) {
            return asker{service->words.data(), 1, false, &wrong};
        });
    };
    try {
        run();
        ADD_FAILURE() << "the run ended without its service";
    } catch (const timeout_error& e) {
        EXPECT_STREQ(e.what(), "a host thread did not return within the deadline; doubler: 0");
    }
    EXPECT_EQ(service->turns, 0u) << "it was waited for";
    EXPECT_THROW(run(), usage_error);
    service->hold = false;
    while (service->turns == 0) std::this_thread::yield();
}

TEST(stuck_service_test, NothingWaitsForOneThatIsLeftBehind) {
    const auto service = std::make_shared<doubler>(1);
    service->hold = true;
    {
        service_run run({service});
        service->words[0].asked = 1;
        run.start_due();
        run.end();
        EXPECT_FALSE(run.returned(std::chrono::milliseconds(1)));
        EXPECT_FALSE(run.join());
        EXPECT_FALSE(run.returned(std::chrono::hours(1)));
    }
    service->hold = false;
    while (service->turns == 0) std::this_thread::yield();
}

}  // namespace
}  // namespace laneway::test
