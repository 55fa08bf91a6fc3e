// The Jacobi stencil: every style gives the bits of one thread, and the decay that the mode must have.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "jacobi/jacobi.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

class jacobi_test : public testing::TestWithParam<std::string> {};

TEST_P(jacobi_test, EveryStyleGivesTheBitsOfOneThreadAndTheModesDecay) {
    for (const apps::communication_style style : apps::communication_styles) {
        SCOPED_TRACE(to_string(style));
        const bool by_host = style == apps::communication_style::service_host;
        repeat_rounds(GetParam(), is_checked(GetParam()) ? 4 : 6, [&](options o) {
            o.checked_blocks = 3;
            o.checked_accesses.races = !by_host;  // what is ordered by host threads is not seen
            const std::uint64_t rows = o.seed % 3 == 0 ? 12 : 12 * o.seed, columns = 3 + 7 * o.seed;
            const std::uint64_t steps = o.seed % 4 + (is_checked(GetParam()) ? 2 : 9);
            const auto made = apps::jacobi({o, style, rows, columns, steps});
            if (!is_checked(GetParam())) {  // whose clock counts steps, of which plain loads and stores are none
                EXPECT_GT(made.computing_seconds, 0);
                EXPECT_LT(made.computing_seconds, made.seconds);
            }
            EXPECT_EQ(made.values, apps::jacobi_by_one(rows, columns, steps));
            const bool serves = by_host || style == apps::communication_style::service_warps;
            const std::uint64_t borders = 2 * (parse_devices(GetParam()).size() - 1);
            EXPECT_EQ(made.requests, serves ? steps * borders * columns : 0);
            const auto first = apps::jacobi_by_one(rows, columns, 0);
            const double left = apps::jacobi_decay(rows, columns, steps);
            EXPECT_LT(left, 0.999);
            for (std::size_t i = 0; i < first.size(); ++i) ASSERT_NEAR(made.values[i], left * first[i], 1e-13) << i;
        });
    }
}

TEST_P(jacobi_test, ARowAPeAndNoStepsAreFine) {
    for (const apps::communication_style style : apps::communication_styles) {
        if (style == apps::communication_style::service_host) continue;
        options o = options_of(GetParam(), 0);
        o.checked_blocks = 3;
        const std::uint64_t rows = parse_devices(GetParam()).size(), steps = 5;
        EXPECT_EQ(apps::jacobi({o, style, rows, 1, steps}).values, apps::jacobi_by_one(rows, 1, steps));
        EXPECT_EQ(apps::jacobi({o, style, rows, 4, 0}).values, apps::jacobi_by_one(rows, 4, 0));
    }
}

TEST_P(jacobi_test, RowsThatCannotBeSharedOutEvenlyAreRefused) {
    const options o = options_of(GetParam(), 0);
    EXPECT_THROW((void)apps::jacobi({o, apps::communication_style::host_driven, 0, 4, 1}), usage_error);
    EXPECT_THROW((void)apps::jacobi({o, apps::communication_style::host_driven, 4, 0, 1}), usage_error);
    if (GetParam() == "cuda:0") {  // devices with different numbers of lanes
        EXPECT_THROW((void)apps::jacobi({options_of("cuda:0,cpu:1", 0), apps::communication_style::triggered, 4, 4, 1}),
                     usage_error);
    }
    if (GetParam().ends_with("3")) {
        EXPECT_THROW((void)apps::jacobi({o, apps::communication_style::host_driven, 7, 4, 1}), usage_error);
    }
}

LANEWAY_ON_DEVICES(jacobi_test, [] {
    auto lists = program_lists();
    std::erase(lists, "cuda:0,cpu:1");
    return lists;
}());

}  // namespace
}  // namespace laneway::test
