// The programs that communicate in several styles: in each an all-reduce gives the sums, and a message goes round.
#pragma once

#include <gtest/gtest.h>

#include "all_reduce/all_reduce.hpp"
#include "jacobi/jacobi.hpp"
#include "ping_pong/ping_pong.hpp"
#include "training/training.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

class communication_styles_test : public testing::TestWithParam<std::string> {};

/// The sums of the last round, by the rule that the program's header states.
std::vector<float> sums_of(std::uint64_t elements, std::uint64_t pes, std::uint64_t round) {
    std::vector<float> sums(elements);
    for (std::uint64_t i = 0; i < elements; ++i) {
        for (std::uint64_t pe = 0; pe < pes; ++pe) sums[i] += static_cast<float>(((i + 1) * (pe + 3) + round) % 127);
    }
    return sums;
}

TEST_P(communication_styles_test, AllReducesGiveTheSums) {
    const std::size_t pes = parse_devices(GetParam()).size();
    for (const apps::communication_style style : apps::all_reduce_styles) {
        SCOPED_TRACE(to_string(style));
        const bool by_host = style == apps::communication_style::service_host;
        repeat_rounds(GetParam(), 2, [&](options o) {
            o.checked_accesses.races = !by_host;  // what is ordered by host threads is not seen
            // Fewer pieces than PEs, and several of which the last one is not full.
            const std::uint64_t elements = o.seed == 1 ? 5 : 3 * 1024 + 7;
            const std::uint32_t rounds = o.seed == 1 ? 3 : 2;
            const auto made = apps::all_reduce({o, style, elements, rounds});
            // A PE's piece goes to its owner, and from there to all others.
            const bool serves = by_host || style == apps::communication_style::service_warps;
            const std::uint64_t pieces = (elements + 1023) / 1024;
            EXPECT_EQ(made.requests, serves ? rounds * pieces * (2 * pes - 1) : 0);
            EXPECT_EQ(made.wrong, 0u);
            EXPECT_GT(made.computing_seconds, 0);
            if (!is_checked(GetParam())) {
                EXPECT_LT(made.computing_seconds, made.seconds);
            }
            EXPECT_EQ(made.values, std::vector(pes, sums_of(elements, pes, rounds - 1)));
        });
    }
    if (GetParam() == "cuda:0") {  // devices with different numbers of lanes
        EXPECT_THROW(
            (void)apps::all_reduce({options_of("cuda:0,cpu:1", 0), apps::communication_style::triggered, 5, 1}),
            usage_error);
    }
    EXPECT_THROW((void)apps::all_reduce({options_of(GetParam(), 0), apps::communication_style::triggered, 0, 1}),
                 usage_error);
}

TEST_P(communication_styles_test, MessagesGoRound) {
    const std::uint64_t pes = parse_devices(GetParam()).size();
    for (const apps::communication_style style : apps::communication_styles) {
        SCOPED_TRACE(to_string(style));
        const bool by_host = style == apps::communication_style::service_host;
        repeat_rounds(GetParam(), 2, [&](options o) {
            o.checked_accesses.races = !by_host;
            // What the lane whose trigger fires copies itself, and what others do.
            const std::uint64_t words = o.seed == 1 ? 1 : 100;
            const std::uint32_t rounds = 4;
            const auto made = apps::ping_pong({o, style, words, rounds});
            const bool serves = by_host || style == apps::communication_style::service_warps;
            EXPECT_EQ(made.requests, serves ? rounds * pes : 0);
            EXPECT_EQ(made.wrong, 0u);
            EXPECT_GT(made.computing_seconds, 0);
            if (!is_checked(GetParam())) {
                EXPECT_LT(made.computing_seconds, made.seconds);
            }
            ASSERT_EQ(made.message.size(), words);
            for (std::uint64_t i = 0; i < words; ++i) EXPECT_EQ(made.message[i], i + rounds * pes) << i;
        });
    }
    if (GetParam() == "cuda:0") {  // devices with different numbers of lanes
        EXPECT_THROW((void)apps::ping_pong({options_of("cuda:0,cpu:1", 0), apps::communication_style::triggered, 1, 1}),
                     usage_error);
    }
    EXPECT_THROW((void)apps::ping_pong({options_of(GetParam(), 0), apps::communication_style::host_driven, 0, 1}),
                 usage_error);
}

/// Only the all-reduce is a collective operation: other programs say so, and do not go another way.
TEST(communication_styles, AStyleThatAProgramHasNotIsRefused) {
    const auto style = apps::communication_style::collective;
    const options o = options_of("cpu:1", 0);
    EXPECT_EQ(thrown<usage_error>([&] {
                  (void)apps::ping_pong({o, style, 1, 1});
              }),
              "ping_pong: it does not exist in the style collective");
    EXPECT_THROW((void)apps::jacobi({o, style, 4, 4, 1}), usage_error);
    apps::training_options network;
    network.job = o;
    network.style = style;
    EXPECT_THROW((void)apps::training(network, apps::training_data(network)), usage_error);
}

LANEWAY_ON_DEVICES(communication_styles_test, [] {
    auto lists = program_lists();
    std::erase(lists, "cuda:0,cpu:1");
    return lists;
}());

}  // namespace
}  // namespace laneway::test
