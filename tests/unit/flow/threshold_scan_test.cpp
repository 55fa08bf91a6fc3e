#include "laneway/flow/threshold_scan.hpp"

#include <gtest/gtest.h>

#include "laneway/runtime.hpp"

namespace laneway::test {
namespace {

struct scan_words {
    std::uint64_t threshold = 10;
    threshold_counters counters;
    threshold_shared shared{};
    std::uint64_t told_early = 0, told_late = 0;
};

/// Two places are to be looked through at the second threshold; one of them stays in hand for a while.
struct sort_two {
    scan_words* words;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        const threshold_scan scan(&words->threshold, words->counters, &words->shared);
        const auto pushes = [] { return std::uint64_t{2}; };
        scan.open(ctx, 2);
        words->threshold = 20;
        scan.refresh(ctx, pushes);
        scan.put_off(ctx, 50);
        scan.count(ctx, 1, 1);
        scan.refresh(ctx, pushes);
        words->told_early = words->counters.scanned;
        scan.put_off(ctx, 30);
        scan.count(ctx, 1, 1);
        scan.refresh(ctx, pushes);
        words->told_late = words->counters.scanned;
    }
};

TEST(threshold_scan_test, TheLeastKeyIsThatOfAllPlaces) {
    scan_words words;
    options o;
    o.devices = "cpu:1";
    o.cpu_threads = 1;
    runtime(o).run(sort_two{&words});
    EXPECT_NE(words.told_early, 20u) << "a warp has one of the places in hand";
    EXPECT_EQ(words.told_late, 20u);
    EXPECT_EQ(words.counters.least, 30u);
}

}  // namespace
}  // namespace laneway::test
