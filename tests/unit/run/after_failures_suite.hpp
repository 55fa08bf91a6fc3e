// Runs after one that failed: what it has left is cleared.
#pragma once

#include "unit/run/successive_runs_job.hpp"

namespace laneway::test {
namespace {

/// Ends the run while messages of others are on their way.
struct break_off {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; i < 200; ++i) {
            const bool wrong = ctx.rank() + 1 == ctx.size() && i == 60;
            const auto call = box.call(ctx, (ctx.pe() + 1) % ctx.n_pes(), price_of{i});
            if (!call || box.post(ctx, wrong ? ctx.n_pes() : static_cast<int>(i) % ctx.n_pes(), coin{3}) != status::ok)
                return;
        }
    }
};

class after_failures_test : public testing::TestWithParam<std::string> {};

TEST_P(after_failures_test, RunsAreRight) {
    every_fourth_round(GetParam(), [&](const options& o) {
        job all(o);
        all.run_all(1);
        for (int times = 0; times < 2; ++times) {
            EXPECT_THROW((void)all.rt.run(break_off{}, all.box()), device_fault);
            all.seen.clear();
            const std::uint64_t before = fills(all.rt);
            all.run_all(1);
            EXPECT_GT(fills(all.rt), before) << "what the failed run has left must be cleared";
        }
        all.run_all(2);
    });
}

LANEWAY_ON_DEVICES(after_failures_test, to_four(device_lists()));

}  // namespace
}  // namespace laneway::test
