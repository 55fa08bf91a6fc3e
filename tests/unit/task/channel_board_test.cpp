// What is served next: the library's order, that of a user's policy, and who decides, on one checked PE.
#include "laneway/task/channel_board.hpp"

#include <algorithm>
#include <array>

#include "laneway/channel_graph.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

constexpr channel_load load_at(std::uint32_t level, std::uint32_t ready, std::uint32_t width, bool is_short) {
    return {.channel = 0,
            .level = level,
            .levels = 9,
            .depth = level,
            .ready = ready,
            .width = width,
            .is_short = is_short};
}

TEST(dispatch_order_test, TheFullestFirstAndTheDeepestWhereSpaceIsShort) {
    const deepest_or_fullest_first order;
    const auto priority = [&](std::uint32_t level, std::uint32_t ready, std::uint32_t width, bool is_short) {
        return order(load_at(level, ready, width, is_short));
    };
    EXPECT_GT(priority(1, 40, 64, false), priority(7, 39, 64, false)) << "the fuller one, however deep";
    EXPECT_EQ(priority(1, 40, 64, false), priority(7, 40, 64, false)) << "depth does not matter";
    EXPECT_GT(priority(1, 3, 4, false), priority(1, 40, 64, false)) << "by the share of its width that is full";
    EXPECT_GT(priority(7, 1, 64, true), priority(6, 64, 64, true)) << "the deeper one, however full";
    EXPECT_EQ(priority(7, 1, 64, true), priority(7, 64, 64, true)) << "fill does not matter";
    EXPECT_GT(priority(0, 1, 1u << 20, false), 0u) << "0 would be: not now";
    EXPECT_GT(priority(0, 1, 1u << 20, true), 0u);
    EXPECT_GT(priority(0, ~0u, 1, false), 0u) << "nor may it wrap round";
}

/// Of a fuller queue (0) and a deeper one (1).
std::uint32_t chosen_queue(const dispatch_history& history, const dispatch_rule& rule = {}) {
    const auto rank = [&](std::uint32_t q, const channel_load& load) {
        return channel_rank(deepest_or_fullest_first{}, load, rule, q, 2, history, 1);
    };
    const std::uint64_t fuller = rank(0, load_at(2, 40, 64, false)), deeper = rank(1, load_at(5, 4, 64, false));
    EXPECT_NE(fuller, deeper);
    return std::max(fuller, deeper) % channel_rank_queues;
}

TEST(dispatch_order_test, SpaceIsShortForSomeTurnsAfterADispatchThatFoundTooLittle) {
    dispatch_history history;
    EXPECT_EQ(chosen_queue(history), 0u);
    history.note(false, true);
    for (unsigned turn = 0; turn < dispatch_history::short_turns; ++turn) {
        EXPECT_EQ(chosen_queue(history), 1u) << "turn " << turn;
        history.note(false, false);
    }
    EXPECT_EQ(chosen_queue(history), 0u);
    history.note(true, true);
    EXPECT_EQ(chosen_queue(history), 1u) << "nothing found space: the deepest";
}

TEST(dispatch_order_test, WhatIsWorthADispatchComesBeforeAllPriorities) {
    dispatch_history history;
    history.note(false, true);
    EXPECT_EQ(chosen_queue(history, {.at_least = 5}), 0u) << "the deeper one has four elements";
    EXPECT_EQ(chosen_queue(history, {.at_least = 4}), 1u);
}

struct low_levels_first {
    LANEWAY_FN std::uint32_t operator()(const channel_load& load) const { return load.levels - load.level; }
};
struct high_levels_first {
    LANEWAY_FN std::uint32_t operator()(const channel_load& load) const { return load.level + 1; }
};
struct odd_levels_first {
    LANEWAY_FN std::uint32_t operator()(const channel_load& load) const { return load.level % 2 * 16 + load.level + 1; }
};

/// Splits in two down to the last level, and notes its own.
struct note_level {
    using element = std::uint32_t;
    static constexpr std::uint32_t levels = 6;
    channel<std::uint32_t> tree;
    symmetric_ref<std::uint32_t> notes;  ///< how many there are, then the level of each

    template <class Ctx>
    outcome operator()(Ctx& ctx, const std::uint32_t& level, channel_node& node) const {
        const std::uint32_t at = ctx.fetch_add(local(ctx, notes[0]), 1u, order::relaxed, scope::device);
        *local(ctx, notes[1 + at]) = level;
        if (level + 1 == levels) return outcome::done;
        const auto next = node.talloc(ctx, tree, 2);
        if (!next) return outcome::yield;
        next[0] = next[1] = level + 1;
        node.enq(ctx, next);
        return outcome::done;
    }
};

/// Levels of elements in the order in which one working warp consumed them. `warps`: of the PE, one of
/// which looks after it.
template <class Policy>
std::vector<std::uint32_t> consumed_by(const options& round, int warps, const Policy& policy) {
    options o = round;
    o.checked_blocks = 1;
    o.checked_warps = warps;
    o.timeout_seconds = never_seconds;
    runtime rt(o);
    const auto notes = rt.allocate<std::uint32_t>(1 + (1u << note_level::levels));
    channel_graph graph(rt);
    const auto tree = graph.channel<std::uint32_t>(
        {.width = 64, .levels = note_level::levels, .at_once = 2, .at_least = 1, .max_age = 0});
    const auto kernel = graph.kernel(note_level{tree, notes.ref()});
    graph.connect(tree, kernel);
    graph.init(tree, {0});
    graph.run_with(policy, kernel);
    const auto all = notes.copy_out(0);
    return {all.begin() + 1, all.begin() + 1 + all[0]};
}

/// The same by the definition: of the queues that hold something the one of the highest priority, of equal ones the
/// deepest.
template <class Policy>
std::vector<std::uint32_t> expected_of(const Policy& policy) {
    std::array<std::uint32_t, note_level::levels + 1> ready{1};
    std::vector<std::uint32_t> consumed;
    for (;;) {
        std::uint32_t best = note_level::levels, priority = 0;
        for (std::uint32_t level = 0; level < note_level::levels; ++level) {
            if (ready[level] == 0) continue;
            channel_load load = load_at(level, ready[level], 64, false);
            load.levels = note_level::levels;
            if (policy(load) < priority) continue;
            priority = policy(load);
            best = level;
        }
        if (best == note_level::levels) return consumed;
        const std::uint32_t taken = std::min<std::uint32_t>(ready[best], checked::warp_lanes);
        ready[best] -= taken;
        ready[best + 1] += 2 * taken;
        if (best + 1 == note_level::levels) ready[best + 1] = 0;
        consumed.insert(consumed.end(), taken, best);
    }
}

template <class Policy>
void expect_order_of(const Policy& policy) {
    const auto expected = expected_of(policy);
    ASSERT_EQ(expected.size(), (1u << note_level::levels) - 1);
    auto levels = expected;
    std::sort(levels.begin(), levels.end());
    std::uint64_t rounds = 0, in_order = 0;
    repeat_rounds("checked:1", chosen_seeds(), [&](const options& o) {
        EXPECT_EQ(consumed_by(o, 2, policy), expected) << "each warp for itself";
        auto ordered = consumed_by(o, 3, warp_scheduler<Policy>{policy});
        ++rounds;
        in_order += ordered == expected ? 1 : 0;
        std::sort(ordered.begin(), ordered.end());
        EXPECT_EQ(ordered, levels) << "one warp for another";
    });
    // A warp that decides for another may do so before it sees all that the dispatch before has produced: then two
    // dispatches change places.
    EXPECT_GE(in_order, rounds * 3 / 4);
}

TEST(dispatch_order_test, APolicyOfTheUserDecidesWhatIsServedNext) {
    expect_order_of(low_levels_first{});
    expect_order_of(high_levels_first{});
    expect_order_of(odd_levels_first{});
    EXPECT_NE(expected_of(low_levels_first{}), expected_of(high_levels_first{}));
    EXPECT_NE(expected_of(odd_levels_first{}), expected_of(high_levels_first{}));
}

/// The host hears of queues some time after warps have filled them, so that it may miss what has just become better;
/// with the lowest level first nothing does.
TEST(dispatch_order_test, AThreadOfTheHostDecidesByThePolicy) {
    repeat_rounds("checked:1", chosen_seeds(), [&](const options& o) {
        EXPECT_EQ(consumed_by(o, 2, host_scheduler<low_levels_first>{}), expected_of(low_levels_first{}));
    });
}

}  // namespace
}  // namespace laneway::test
