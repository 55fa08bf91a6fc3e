#include "laneway/simt/run_watch.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace laneway::test {
namespace {

/// Is asked whether it is done; ends after so many looks, or never.
class fake_run final : public running {
public:
    fake_run(int looks, bool throws) : looks_(looks), throws_(throws) {}
    bool done(std::chrono::microseconds) override {
        if (++asked_ > max_looks) throw std::logic_error("looked at for ever");
        if (looks_ == never || asked_ < looks_) return false;
        if (ended_) throw std::logic_error("looked at again after its end");
        ended_ = true;
        if (throws_) throw std::domain_error("an illegal address was encountered");
        return true;
    }
    void join() override {}

    static constexpr int never = 0;
    static constexpr int max_looks = 100'000;

private:
    int looks_;
    bool throws_;
    int asked_ = 0;
    bool ended_ = false;
};

using run_list = std::vector<std::unique_ptr<running>>;

void add(run_list& runs, int looks, bool throws = false) { runs.push_back(std::make_unique<fake_run>(looks, throws)); }

/// As run_watch::await; nothing fails.
std::optional<std::size_t> await_for(wait_limit::seconds time, const run_list& runs) {
    wait_limit limit(time);
    return run_watch{{}, [] { return false; }, [] { FAIL() << "nothing has failed"; }, [] {}}.await(runs, limit);
}

TEST(run_watch_test, WhatOneRunThrowsComesWhileOthersHang) {
    for (const std::size_t place : {0u, 1u, 2u}) {
        run_list runs;
        for (std::size_t i = 0; i < 3; ++i) {
            if (i == place) {
                add(runs, 10, true);
            } else {
                add(runs, fake_run::never);
            }
        }
        EXPECT_THROW((void)await_for(std::chrono::hours(1), runs), std::domain_error) << "of run " << place;
    }
}

TEST(run_watch_test, ReturnsWhenAllAreDoneAndAsksNoneAgain) {
    run_list runs;
    for (const int looks : {5, 1, 9, 1}) add(runs, looks);
    EXPECT_FALSE(await_for(std::chrono::hours(1), runs));
    EXPECT_FALSE(await_for(std::chrono::hours(1), {}));
}

TEST(run_watch_test, NamesTheFirstRunThatIsNotDoneInTime) {
    run_list runs;
    add(runs, 1);
    add(runs, fake_run::never);
    add(runs, fake_run::never);
    EXPECT_EQ(await_for(wait_limit::seconds(0), runs), 1u);
}

/// A run that does not end, and has its chance when it has been asked so often.
class held_back_run final : public running {
public:
    explicit held_back_run(int questions) : questions_(questions) {}
    bool done(std::chrono::microseconds) override { return false; }
    bool had_its_chance() override { return --questions_ <= 0; }
    void join() override {}

private:
    int questions_;
};

TEST(run_watch_test, GivesUpTheRunThatHasHadItsChance) {
    run_list runs;
    for (const int questions : {9, 4, 7}) runs.push_back(std::make_unique<held_back_run>(questions));
    EXPECT_EQ(await_for(wait_limit::seconds(0), runs), 1u);
}

TEST(run_watch_test, TellsAllToStopOnceAndThenGivesThemTheGrace) {
    run_list runs;
    add(runs, fake_run::never);
    int looks = 0, stops = 0;
    wait_limit limit(std::chrono::hours(1));
    const run_watch watch{wait_limit::seconds(0), [&] { return ++looks == 20; }, [&] { ++stops; },
                          [] { FAIL() << "it is not late"; }};
    EXPECT_EQ(watch.await(runs, limit), 0u) << "the grace, not the limit, ends the wait";
    EXPECT_EQ(stops, 1);
    EXPECT_EQ(looks, 20);
}

/// A run whose first look takes long, as on a machine that stands still. Ends at the fifth.
class stalled_run final : public running {
public:
    bool done(std::chrono::microseconds) override {
        if (asked_ == 0) std::this_thread::sleep_for(stall);
        return ++asked_ == 5;
    }
    void join() override {}

    static constexpr auto stall = std::chrono::milliseconds(300);

private:
    int asked_ = 0;
};

TEST(run_watch_test, TimeInWhichTheMachineStoodStillDoesNotCount) {
    run_list runs;
    runs.push_back(std::make_unique<stalled_run>());
    EXPECT_FALSE(await_for(stalled_run::stall - std::chrono::milliseconds(20), runs));
}

}  // namespace
}  // namespace laneway::test
