// Runs one after the other in one runtime: nothing is cleared between them, and each is as if it were the first.
#pragma once

#include "unit/run/successive_runs_job.hpp"

namespace laneway::test {
namespace {

struct post_one {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        (void)box.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), coin{0});
    }
};

class successive_runs_test : public testing::TestWithParam<std::string> {};

TEST_P(successive_runs_test, FillNothing) {
    every_fourth_round(GetParam(), [&](const options& o) {
        job all(o);
        (void)all.box();  // makes memory for gets
        const std::uint64_t before = fills(all.rt);
        for (std::uint64_t times = 1; times <= 3; ++times) all.run_all(times);
        EXPECT_EQ(fills(all.rt), before);
    });
}

TEST_P(successive_runs_test, BodiesShareWhatOthersHaveLeft) {
    every_fourth_round(GetParam(), [&](const options& o) {
        job all(o);
        std::uint64_t coins = 0;
        for (int times = 0; times < 3; ++times) {
            const run_report one = all.rt.run(post_one{}, all.box());
            coins += one.posted;
            EXPECT_EQ(all.total(0), coins);
            const run_report none = all.rt.run(all.box());
            EXPECT_EQ(none.posted, 0u);
            EXPECT_EQ(none.carried + none.served + none.direct + none.chunks() + none.items, 0u);
            (void)all.rt.run(use_all{all.seen.ref(), coins}, all.box());
            EXPECT_EQ(all.total(2), 0u);
            coins = all.total(0);
        }
    });
}

TEST_P(successive_runs_test, ProgressIsThatOfTheRun) {
    options o = options_of(GetParam(), 1);
    o.progress_samples = 8;
    job all(o);
    for (int times = 0; times < 3; ++times) {
        const run_report report = all.rt.run(use_all{all.seen.ref(), all.total(0)}, all.box());
        ASSERT_FALSE(report.progress.empty());
        EXPECT_EQ(report.progress.back().open, 0u);
        EXPECT_EQ(report.progress.back().served, report.served);
    }
}

TEST_P(successive_runs_test, SessionsComeBackToTheDevicesWithoutFilling) {
    options o = options_of(GetParam(), 1);
    o.timeout_seconds = 60;
    job all(o);
    std::uint64_t before = 0;
    {
        auto session = all.rt.start(all.rt.mailbox<coin>(hand_on{all.seen.ref()}));
        before = fills(all.rt);
        for (int times = 0; times < 5; ++times) {
            for (int i = 0; i < 10; ++i) session.post(i % all.rt.n_pes(), coin{4});
            session.release();
        }
        const run_report report = session.stop();
        EXPECT_EQ(report.posted, 5u * 10 * 5);
    }
    EXPECT_EQ(fills(all.rt), before);
    EXPECT_EQ(all.total(0), 5u * 10 * 5);
}

LANEWAY_ON_DEVICES(successive_runs_test, to_four(device_lists()));

}  // namespace
}  // namespace laneway::test
