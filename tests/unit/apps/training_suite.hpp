// Training in all styles: the bits of one thread on any number of PEs, and gradients that are the loss's.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "training/training.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

class training_test : public testing::TestWithParam<std::string> {};

TEST_P(training_test, EveryStyleGivesTheBitsOfOneThread) {
    for (const apps::communication_style style : apps::communication_styles) {
        SCOPED_TRACE(to_string(style));
        const bool by_host = style == apps::communication_style::service_host;
        repeat_rounds(GetParam(), is_checked(GetParam()) ? 2 : 4, [&](options o) {
            o.checked_accesses.races = !by_host;  // what is ordered by host threads is not seen
            apps::training_options wanted;
            wanted.job = o;
            wanted.style = style;
            const auto odd = static_cast<std::uint32_t>(o.seed % 2);
            // The middle layer has several pieces, the last one fewer than there may be PEs.
            wanted.widths = odd == 1 ? std::vector<std::uint32_t>{5, 19, 31, 2} : std::vector<std::uint32_t>{4, 3};
            wanted.samples = 16 + 16 * odd;
            wanted.steps = is_checked(GetParam()) ? 2 + odd : 3 + odd;
            const apps::training_data data(wanted);
            const auto one = apps::training_by_one(wanted, data), made = apps::training(wanted, data);
            EXPECT_EQ(made.weights, one.weights);
            EXPECT_EQ(made.requests > 0, by_host || style == apps::communication_style::service_warps);
            EXPECT_EQ(made.losses, one.losses);
            EXPECT_LT(made.losses.back(), made.losses.front());
            EXPECT_GT(made.computing_seconds, 0);
            if (!is_checked(GetParam())) {
                EXPECT_LT(made.computing_seconds, made.seconds);
            }
        });
    }
}

TEST_P(training_test, WhatCannotBeIsRefused) {
    const apps::training_data data({});
    const auto refuses = [&](auto change) {
        apps::training_options o;
        o.job = options_of(GetParam(), 0);
        change(o);
        EXPECT_THROW((void)apps::training(o, data), usage_error);
    };
    refuses([](auto& o) { o.widths = {4}; });
    refuses([](auto& o) { o.widths = {4, 0, 4}; });
    refuses([](auto& o) { o.widths.assign(10, 4); });
    refuses([](auto& o) { o.samples = 24; });
    refuses([](auto& o) { o.samples = 0; });
    refuses([](auto& o) { o.rate = std::nanf(""); });
    refuses([](auto& o) { o.widths.back() = 5; });  // data of other widths
    refuses([](auto& o) { o.samples = 32; });       // or of another batch
    if (GetParam() == "cpu:16") {
        refuses([](auto& o) { o.job.devices = "cpu:17"; });  // more PEs than shards
    }
    if (GetParam() == "cuda:0") {
        refuses([](auto& o) { o.job.devices = "cuda:0,cpu:1"; });  // different numbers of lanes
    }
}

/// The step of one layer by the textbook: rate times the mean of error times input.
TEST(training_by_one_test, StepsDownTheGradientOfTheLoss) {
    apps::training_options o;
    o.widths = {3, 8, 2};
    o.samples = 32;
    o.rate = 1e-3f;
    o.steps = 1;
    const apps::training_data data(o);
    const auto weights = apps::training_by_one(o, data).weights;
    o.steps = 2;
    const auto made = apps::training_by_one(o, data);
    // Down the gradient g by rate r the loss falls by r |g|², and the step is r g.
    double square = 0;
    for (std::size_t w = 0; w < weights.size(); ++w) {
        square += std::pow(double{weights[w]} - double{data.weights[w]}, 2);
    }
    EXPECT_NEAR((made.losses[0] - made.losses[1]) / (square / 1e-3), 1, 0.01);
    EXPECT_GT(square, 0);
}

TEST(training_by_one_test, LearnsWhatTheOtherNetworkDoes) {
    apps::training_options o;
    o.steps = 200;
    const auto losses = apps::training_by_one(o, apps::training_data(o)).losses;
    EXPECT_LT(losses.back(), losses.front() / 20);
}

TEST(training_by_one_test, WideNetworksLearnByTheDefaultRateAndThoseThatDivergeAreRefused) {
    apps::training_options o;
    o.widths = {64, 256, 256, 64};
    o.samples = 16;
    o.steps = 3;
    const apps::training_data data(o);
    const auto losses = apps::training_by_one(o, data).losses;
    EXPECT_LT(losses.back(), losses.front());
    o.rate = 1e5f;
    EXPECT_THROW((void)apps::training_by_one(o, data), usage_error);
}

/// On CPU devices also more PEs than the layers have pieces, up to as many as the batch has shards.
inline std::vector<std::string> training_lists() {
    std::vector<std::string> lists = to_four(program_lists());
#if !defined(__CUDACC__)
    lists.insert(lists.end(), {"cpu:5", "cpu:16"});
#endif
    std::erase(lists, "cuda:0,cpu:1");
    return lists;
}

LANEWAY_ON_DEVICES(training_test, training_lists());

}  // namespace
}  // namespace laneway::test
