// Replays of events through matching engines, against matching one after the other.
#pragma once

#include <random>

#include "laneway/runtime.hpp"
#include "matching/replay.hpp"
#include "unit/sequential_matcher.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

using apps::match_event;
using apps::match_events;
using apps::matching_replay;

match_events random_events(std::uint64_t seed, std::size_t count) {
    std::mt19937_64 random(seed);
    match_events events;
    for (std::size_t i = 0; i < count; ++i) {
        match_event event{{static_cast<std::uint32_t>(random() % 4), static_cast<std::uint32_t>(random() % 5)},
                          static_cast<std::uint32_t>(random() / 7 % 2)};
        if (i % 3 != 0 && i > 0) event.is_message = events.back().is_message;
        if (event.is_message == 0 && random() % 5 == 0) event.key.source = any_source;
        if (event.is_message == 0 && random() % 5 == 0) event.key.tag = any_tag;
        events.push_back(event);
    }
    return events;
}

std::vector<std::uint32_t> match_in_turn(const match_events& events) {
    std::vector<std::uint32_t> partners(events.size(), matching_replay::unmatched);
    sequential_matcher model({});
    for (std::uint32_t i = 0; i < events.size(); ++i) {
        const step_kind kind = events[i].is_message != 0 ? step_kind::arrive : step_kind::post;
        const step_outcome found = model.take({kind, events[i].key, i});
        if (found.outcome != match_outcome::matched) continue;
        partners[i] = found.handle;
        partners[found.handle] = i;
    }
    return partners;
}

class matching_replay_test : public testing::TestWithParam<std::string> {
protected:
    static options chosen() {
        options o;
        o.devices = GetParam();
        return o;
    }
};

TEST_P(matching_replay_test, QueuesAreMatchedInMpisOrder) {
    runtime devices(chosen());
    std::vector<match_events> queues;
    for (std::uint64_t q = 0; q < 7; ++q) queues.push_back(random_events(q, q == 3 ? 0 : 200 + 50 * q));
    const matching_replay replay = apps::replay_matches(devices, queues, {}, 60);
    std::uint64_t matches = 0, searches = 0;
    for (std::size_t q = 0; q < queues.size(); ++q) {
        const auto expected = match_in_turn(queues[q]);
        EXPECT_EQ(replay.partners[q], expected) << "queue " << q;
        matches += queues[q].size() -
                   static_cast<std::size_t>(std::count(expected.begin(), expected.end(), matching_replay::unmatched));
        searches += queues[q].size();
    }
    EXPECT_EQ(replay.matches, matches / 2);
    EXPECT_EQ(replay.searches, searches);
    EXPECT_GT(replay.seconds, 0);
    EXPECT_EQ(replay.max_posted[3], 0u);
    EXPECT_GT(replay.max_posted[2], 0u);
}

TEST_P(matching_replay_test, QueueLengthsAreTold) {
    runtime devices(chosen());
    match_events events;
    for (std::uint32_t i = 0; i < 50; ++i) events.push_back({{1, i}, 1});
    for (std::uint32_t i = 50; i > 0; --i) events.push_back({{1, i - 1}, 0});
    for (std::uint32_t i = 0; i < 70; ++i) events.push_back({{2, any_tag}, 0});
    const matching_replay replay = apps::replay_matches(devices, {events}, {}, 60);
    EXPECT_EQ(replay.max_unexpected[0], 50u);
    EXPECT_EQ(replay.max_posted[0], 70u);
    EXPECT_EQ(replay.matches, 50u);
}

/// Of the events of a batch receives come first; lengths are told as if all had come one after the other.
TEST_P(matching_replay_test, DepthOneStaysDepthOne) {
    runtime devices(chosen());
    match_events events;
    for (std::uint32_t i = 0; i < 700; ++i) {
        events.push_back({{1, i % 7}, i % 4 < 2 ? 0u : 1u});
        events.push_back({{1, i % 7}, i % 4 < 2 ? 1u : 0u});
    }
    const matching_replay replay = apps::replay_matches(devices, {events}, {}, 60);
    EXPECT_EQ(replay.partners[0], match_in_turn(events));
    EXPECT_EQ(replay.matches, 700u);
    EXPECT_EQ(replay.max_posted[0], 1u);
    EXPECT_EQ(replay.max_unexpected[0], 1u);
}

/// Blocks and warps alike.
TEST_P(matching_replay_test, MessagesThatMustFindTheirReceives) {
    runtime devices(chosen());
    for (const std::size_t n : {20u, 900u}) {
        match_events events;
        for (std::uint32_t i = 0; i < n; ++i) {
            events.push_back({{1, i}, i % 3 == 0 ? 1u : 0u});
            events.push_back({{1, i}, i % 3 == 0 ? 0u : 1u});
        }
        const matching_replay replay = apps::replay_matches(devices, {events}, {false, false, true}, 60);
        for (std::uint32_t i = 0; i < n; ++i) {
            const bool early = i % 3 == 0;
            ASSERT_EQ(replay.partners[0][2 * i], early ? matching_replay::unmatched : 2 * i + 1) << n;
            ASSERT_EQ(replay.partners[0][2 * i + 1], early ? matching_replay::unmatched : 2 * i) << n;
        }
        EXPECT_EQ(replay.max_unexpected[0], 0u);
    }
}

TEST_P(matching_replay_test, RefusesWhatCannotBe) {
    runtime devices(chosen());
    const auto replay = [&](const match_event& event, const match_rules& rules) {
        return apps::replay_matches(devices, {{}, {event}}, rules, 60);
    };
    EXPECT_THROW((void)replay({{any_source, 1}, 1}, {}), usage_error);
    EXPECT_THROW((void)replay({{any_source, 1}, 0}, {true, false, false}), usage_error);
    EXPECT_THROW((void)replay({{1, any_tag}, 0}, {false, true, false}), usage_error);
    EXPECT_NO_THROW((void)replay({{1, any_tag}, 0}, {true, false, false}));
    EXPECT_EQ(replay({{1, 1}, 1}, {false, false, true}).matches, 0u) << "which finds no receive";
    EXPECT_TRUE(apps::replay_matches(devices, {}, {}, 60).partners.empty());
}

LANEWAY_ON_DEVICES(matching_replay_test, program_lists());

}  // namespace
}  // namespace laneway::test
