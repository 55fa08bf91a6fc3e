// What keeps a program on the devices for host threads, with a stand-in for the program.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "laneway/run/resident_program.hpp"
#include "laneway/simt/machine.hpp"
#include "unit/thrown.hpp"

namespace laneway {
namespace {

/// A program that has nothing to do: each epoch is done at once, and it leaves with the one that says so.
void run_idle(const epoch_words& words) {
    const std::atomic_ref asked(*const_cast<std::uint64_t*>(words.asked)), done(*words.done);
    for (;;) {
        const std::uint64_t now = asked.load();
        done.store(now / 2);
        if (now % 2 != 0) return;
        std::this_thread::yield();
    }
}

struct resident {
    /// `run` is what the program does on the devices.
    explicit resident(std::function<void(const epoch_words&)> run = run_idle, std::vector<host_feed*> feeds = {},
                      double timeout_seconds = 5)
        : machine("cpu:1") {
        options o;
        o.timeout_seconds = timeout_seconds;
        program = std::make_unique<resident_program>(machine, o, std::move(feeds), [this, run] {
            made.wait(false);
            run(program->epochs());
        });
        made = true;
        made.notify_all();
    }
    /// Waits until new visits are refused.
    void await_refusal() {
        for (;;) {
            try {
                const resident_program::visit another(*program);
            } catch (const usage_error& stopped) {
                EXPECT_STREQ(stopped.what(), "the session has been stopped");
                return;
            }
            std::this_thread::yield();
        }
    }
    laneway::machine machine;
    std::atomic<bool> made = false;
    std::unique_ptr<resident_program> program;
};

TEST(resident_program_test, AnEpochIsAuditedByWhatHostsHaveLeftAndPesHaveServed) {
    // carried, served, taken, served of those.
    EXPECT_NO_THROW(audit_epoch(1, 0, {}));
    EXPECT_NO_THROW(audit_epoch(4, 5, {7, 7, 5, 5}));
    EXPECT_NO_THROW(audit_epoch(4, 5, {7, 7, 6, 6})) << "others post while an epoch is closed";
    EXPECT_THROW(audit_epoch(4, 5, {7, 6, 5, 5}), device_fault);
    EXPECT_THROW(audit_epoch(4, 5, {7, 8, 5, 5}), device_fault);
    EXPECT_THROW(audit_epoch(4, 5, {7, 7, 4, 4}), device_fault);
    EXPECT_EQ(test::thrown<device_fault>([] {
                  audit_epoch(4, 5, {7, 7, 5, 4});
              }),
              "audit mismatch in epoch 4: 5 messages of host threads left, 5 taken, 4 served; 7 messages carried "
              "between PEs, 7 served");
}

TEST(resident_program_test, StopWaitsForWhoIsAtWorkWithIt) {
    resident session;
    std::optional<resident_program::visit> visit(*session.program);
    std::atomic<bool> stopped = false;
    std::thread stops([&] {
        session.program->stop();
        stopped = true;
    });
    session.await_refusal();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    EXPECT_FALSE(stopped);
    EXPECT_NO_THROW(session.program->wake()) << "a message that was begun before must still be served";
    EXPECT_NO_THROW(session.program->quiesce());
    visit.reset();
    stops.join();
    EXPECT_TRUE(stopped);
    EXPECT_THROW(session.program->wake(), usage_error);
}

/// One item, which waits from when the host leaves it until the program takes it.
struct one_item : host_feed {
    std::uint64_t filled() const override { return waits ? 1 : 0; }
    bool any_wait() const override {
        ++looks;
        return waits;
    }
    std::atomic<bool> waits = false;
    mutable std::atomic<int> looks = 0;
};

TEST(resident_program_test, WhoIsAtWorkWhenItLeavesBringsItBackAlsoWhileItIsStopped) {
    one_item item;
    std::atomic<bool> has_begun = false, lease_is_over = false;
    resident session(
        [&](const epoch_words& words) {
            if (!lease_is_over) {
                has_begun = true;
                has_begun.notify_all();
                lease_is_over.wait(false);
                return;
            }
            item.waits = false;
            run_idle(words);
        },
        {&item});
    std::optional<resident_program::visit> visit(*session.program);
    std::thread stops([&] { EXPECT_NO_THROW(session.program->stop()); });
    session.await_refusal();
    has_begun.wait(false);
    lease_is_over = true;
    lease_is_over.notify_all();
    while (item.looks == 0) std::this_thread::yield();  // the program has left, and nothing waited for it
    item.waits = true;
    session.program->wake();
    visit.reset();
    stops.join();
    EXPECT_FALSE(item.waits) << "it was left before the session was stopped";
}

/// One that goes on whatever it is told, until `may_leave`.
struct deaf_program {
    void operator()(const epoch_words& words) const {
        may_leave->wait(false);
        run_idle(words);
    }
    void let_go() const {
        *may_leave = true;
        may_leave->notify_all();
    }
    std::shared_ptr<std::atomic<bool>> may_leave = std::make_shared<std::atomic<bool>>(false);
};

TEST(resident_program_test, StoppingAProgramThatGoesOnMeetsItsDeadlineAndCanBeTriedAgain) {
    const deaf_program deaf;
    resident session(deaf, {}, 0.05);
    std::thread stops([&] {
        EXPECT_EQ(test::thrown<timeout_error>([&] { session.program->stop(); }),
                  "the session's program goes on, though it was told to end, for longer than the deadline of 0.05 s");
    });
    session.await_refusal();
    EXPECT_EQ(test::thrown<timeout_error>([&] { session.program->stop(); }),
              "another thread stops the session, for longer than the deadline of 0.05 s");
    stops.join();
    EXPECT_FALSE(session.program->is_over());
    EXPECT_THROW(resident_program::visit another(*session.program), usage_error);
    deaf.let_go();
    const std::string late = test::thrown<timeout_error>([&] { session.program->stop(); });
    EXPECT_EQ(late.rfind("the session did not do in time what a host thread waited for", 0), 0u) << late;
    EXPECT_TRUE(session.program->is_over());
    EXPECT_EQ(test::thrown<timeout_error>([&] { session.program->stop(); }), late) << "and a third time";
}

/// Lanes that get no processor time, as on a busy machine, for as long as anybody would wait for them.
struct sleep_on {
    static constexpr int cuda_warps = 1;
    static inline std::atomic<bool> over = false;  // the threads outlive the run
    static inline std::atomic<int> asleep = 0;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&) const {
        ++asleep;
        while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        --asleep;
    }
};

TEST(resident_program_test, AProgramWhoseLanesSleepIsLeftBehindAndTheSessionEnds) {
    {
        std::atomic<laneway::machine*> on = nullptr;
        const auto run = [&](const epoch_words&) {
            on.wait(nullptr);
            on.load()->run(std::vector{sleep_on{}}, {{}}, 1e6, [] { return std::string(); });
        };
        resident r(run, {}, 0.2);
        on = &r.machine;
        on.notify_all();
        while (sleep_on::asleep == 0) std::this_thread::yield();
        EXPECT_THROW(r.program->quiesce(), timeout_error);
        EXPECT_TRUE(r.machine.abandoned())
            << "the machine has given the lanes up before the session gave up the machine";
    }
    sleep_on::over = true;
    while (sleep_on::asleep != 0) std::this_thread::yield();
}

TEST(resident_program_test, WhatAProgramThatGoesOnUsesDoesNotGo) {
    EXPECT_DEATH({ resident session(deaf_program{}, {}, 0.05); }, "the session's program goes on");
}

TEST(resident_program_test, WhoUsesTheDevicesForLongIsNotWaitedForPastTheDeadline) {
    resident session(run_idle, {}, 0.05);
    std::atomic<bool> uses = false, may_end = false;
    std::thread other([&] {
        session.program->while_away([&] {
            uses = true;
            uses.notify_all();
            may_end.wait(false);
        });
    });
    uses.wait(false);
    const std::string late = "another thread uses the session's devices, for longer than the deadline of 0.05 s";
    EXPECT_EQ(test::thrown<timeout_error>([&] { session.program->while_away([] {}); }), late);
    EXPECT_EQ(test::thrown<timeout_error>([&] { session.program->stop(); }), late);
    may_end = true;
    may_end.notify_all();
    other.join();
    EXPECT_NO_THROW(session.program->stop());
}

TEST(resident_program_test, AFunctionThatUsesTheDevicesCannotDestroyTheSession) {
    EXPECT_DEATH(
        {
            resident session;
            session.program->while_away([&] { session.program.reset(); });
        },
        "called by a function that uses the session's devices meanwhile");
}

TEST(resident_program_test, WhatComesAtTheDeadlineIsSeen) {
    constexpr double seconds = 0.05;
    resident session(run_idle, {}, seconds);
    int looks = 0;
    // The thread is held up between a look and the next question for the time, which is asked behind each 64th look.
    EXPECT_NO_THROW(session.program->await([&] {
        if (++looks == 64) {
            const wait_limit limit{wait_limit::seconds(seconds)};
            while (!limit.is_over()) std::this_thread::yield();
        }
        return looks > 64;
    }));
    session.program->stop();
}

TEST(resident_program_test, WhoStillWaitsWhenItHasEndedIsTold) {
    resident session;
    const auto waiting = session.program->waiting();
    session.program->stop();
    try {
        for (;;) waiting();
    } catch (const usage_error& over) {
        EXPECT_STREQ(over.what(), "the session was stopped before it did what a host thread waited for");
    }
}

}  // namespace
}  // namespace laneway
