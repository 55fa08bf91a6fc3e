// The study of messages: every model carries every pattern's messages whole and in order, whoever shares them.
#pragma once

#include <gtest/gtest.h>

#include "messaging/messaging_study.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

using apps::message_model;
using apps::message_pattern;

constexpr message_model message_models[] = {message_model::store, message_model::load,      message_model::put,
                                            message_model::get,   message_model::two_sided, message_model::unordered};
constexpr message_pattern message_patterns[] = {message_pattern::ping_pong, message_pattern::stream,
                                                message_pattern::n_to_1, message_pattern::all_to_all};

class messaging_test : public testing::TestWithParam<std::string> {};

apps::messaging_options study_on(const std::string& devices, std::uint64_t seed) {
    apps::messaging_options how;
    how.job = options_of(devices, seed);
    how.job.chunk_bytes = 0;  // one-sided operations are larger messages than those of most suites
    how.job.checked_blocks = 2;
    return how;
}

std::uint64_t messages_of(message_pattern pattern, std::uint64_t others, std::uint64_t rounds) {
    if (pattern == message_pattern::ping_pong) return 2 * rounds;
    return pattern == message_pattern::stream ? rounds : others * rounds;
}

TEST_P(messaging_test, EveryModelCarriesEveryPattern) {
    const std::uint64_t others = parse_devices(GetParam()).size() - 1;
    std::uint64_t seed = 0;
    for (const message_model model : message_models) {
        for (const message_pattern pattern : message_patterns) {
            if (model == message_model::unordered && pattern == message_pattern::n_to_1) continue;
            SCOPED_TRACE(testing::Message() << static_cast<int>(model) << " " << static_cast<int>(pattern));
            apps::messaging_options how = study_on(GetParam(), seed);
            how.model = model;
            how.pattern = pattern;
            how.lanes = static_cast<width>(seed % 3);
            how.groups = seed % 2;  // all, or one
            how.bytes = std::array<std::uint64_t, 3>{8, 80, 2048}[seed++ / 3 % 3];
            how.rounds = 9;
            how.window = 3;
            const auto made = apps::measure_messaging(how);
            EXPECT_EQ(made.groups, how.groups == 0 ? made.available : 1);
            EXPECT_EQ(made.messages, made.groups * messages_of(pattern, others, how.rounds));
            EXPECT_EQ(made.rounds, how.rounds);
            EXPECT_EQ(made.round_trip_ns.size(), pattern == message_pattern::ping_pong ? how.rounds : 0);
            EXPECT_GT(made.seconds, 0);
            // All groups' time has that of the first one's rounds in it.
            double rounds_ns = 0;
            for (const double ns : made.round_trip_ns) rounds_ns += ns;
            if (!is_checked(GetParam())) {
                EXPECT_LE(rounds_ns, made.seconds * 1e9 * (1 + 1e-9));
            }
        }
    }
}

TEST_P(messaging_test, EnginesShareMessagesThatNameTheirSource) {
    apps::messaging_options how = study_on(GetParam(), 0);
    how.groups = 0;
    how.rounds = 5;
    how.engines = 4;
    for (const message_model model : {message_model::two_sided, message_model::unordered}) {
        for (const message_pattern pattern : message_patterns) {
            if (model == message_model::unordered && pattern == message_pattern::n_to_1) continue;
            how.model = model;
            how.pattern = pattern;
            EXPECT_GT(apps::measure_messaging(how).messages, 0u);
        }
    }
}

TEST(messaging_rounds_test, ManyGroupsHaveFewerRounds) {
    apps::messaging_options how;
    how.rounds = apps::messaging_options::max_rounds;
    EXPECT_EQ(apps::timed_rounds(how, 1), how.rounds);
    EXPECT_EQ(apps::timed_rounds(how, 1000), apps::messaging_options::max_messages / 1000);
    EXPECT_EQ(apps::timed_rounds(how, apps::messaging_options::max_messages), apps::messaging_options::min_rounds);
    how.rounds = 3;
    EXPECT_EQ(apps::timed_rounds(how, apps::messaging_options::max_messages), 3u);
}

TEST_P(messaging_test, WhatCannotBeIsRefused) {
    const auto refused = [](const std::string& devices, auto change) {
        apps::messaging_options how = study_on(devices, 0);
        change(how);
        EXPECT_THROW((void)apps::measure_messaging(how), usage_error);
    };
    const std::string& job = GetParam();
    refused("cpu:1", [](auto&) {});
    refused(job, [](auto& how) { how.bytes = 0; });
    refused(job, [](auto& how) { how.bytes = 12; });
    refused(job, [](auto& how) { how.bytes = how.max_bytes + 8; });
    refused(job, [](auto& how) { how.rounds = 0; });
    refused(job, [](auto& how) { how.rounds = how.max_rounds + 1; });
    refused(job, [](auto& how) { how.rounds = ~std::uint64_t{0}; });
    refused(job, [](auto& how) { how.rounds = how.max_rounds; });  // more memory than a measurement may have
    refused(job, [](auto& how) { how.window = 0; });
    refused(job, [](auto& how) { how.window = how.max_window + 1; });
    refused(job, [](auto& how) { how.model = message_model::two_sided, how.engines = 3; });
    refused(job, [](auto& how) { how.model = message_model::unordered, how.pattern = message_pattern::n_to_1; });
    EXPECT_THROW((void)apps::parse_message_model("mpi"), usage_error);
    EXPECT_THROW((void)apps::parse_message_pattern("ring"), usage_error);
    EXPECT_THROW((void)apps::parse_width("grid"), usage_error);
}

LANEWAY_ON_DEVICES(messaging_test, [] {
    auto lists = program_lists();
    std::erase_if(lists,
                  [](const std::string& list) { return parse_devices(list).size() < 2 || list == "cuda:0,cpu:1"; });
    return lists;
}());

}  // namespace
}  // namespace laneway::test
