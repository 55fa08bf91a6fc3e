#include "laneway/simt/run_watch.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace laneway::test {
namespace {

using clock = std::chrono::steady_clock;

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

run_watch watch_for(clock::duration time) {
    return {clock::now() + time, {}, [] { return false; }, [] { FAIL() << "nothing has failed"; }};
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
        EXPECT_THROW((void)watch_for(std::chrono::hours(1)).await(runs), std::domain_error) << "of run " << place;
    }
}

TEST(run_watch_test, ReturnsWhenAllAreDoneAndAsksNoneAgain) {
    run_list runs;
    for (const int looks : {5, 1, 9, 1}) add(runs, looks);
    EXPECT_FALSE(watch_for(std::chrono::hours(1)).await(runs));
    EXPECT_FALSE(watch_for(std::chrono::hours(1)).await({}));
}

TEST(run_watch_test, NamesTheFirstRunThatIsNotDoneInTime) {
    run_list runs;
    add(runs, 1);
    add(runs, fake_run::never);
    add(runs, fake_run::never);
    EXPECT_EQ(watch_for(clock::duration(0)).await(runs), 1u);
}

TEST(run_watch_test, TellsAllToStopOnceAndThenGivesThemTheGrace) {
    run_list runs;
    add(runs, fake_run::never);
    int looks = 0, stops = 0;
    const run_watch watch{clock::now() + std::chrono::hours(1), clock::duration(0), [&] { return ++looks == 20; },
                          [&] { ++stops; }};
    EXPECT_EQ(watch.await(runs), 0u) << "the grace, not the limit, ends the wait";
    EXPECT_EQ(stops, 1);
    EXPECT_EQ(looks, 20);
}

}  // namespace
}  // namespace laneway::test
