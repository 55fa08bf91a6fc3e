#include "channel_graph_suite.hpp"

#include <atomic>

namespace laneway::test {
namespace {

/// What is deepest first; counts how often it is asked.
struct counting_policy {
    std::atomic<std::uint64_t>* asked;
    std::uint32_t operator()(const channel_load& load) const {
        asked->fetch_add(1, std::memory_order_relaxed);
        return load.depth + 1;
    }
};
/// A path with a leaf beside each of its elements, which waits as long as the path goes on.
struct comb {
    using element = std::uint32_t;
    channel<std::uint32_t> teeth;

    template <class Ctx>
    outcome operator()(Ctx& ctx, const std::uint32_t& left, channel_node& node) const {
        if (left == 0) return outcome::done;
        const auto next = node.talloc(ctx, teeth, 2);
        if (!next) return outcome::yield;
        next[0] = left - 1;
        next[1] = 0;
        node.enq(ctx, next);
        return outcome::done;
    }
};

TEST(channel_search_test, ADispatchDoesNotRankAllLevelsOfADeepRecursion) {
    constexpr std::uint32_t depth = 1500, most = 128 + 31;  // a warp goes through whole words of flags
    for (const char* devices : {"cpu:1", "checked:1"}) {
        options o = options_of(devices, 0);
        o.timeout_seconds = never_seconds;
        runtime rt(o);
        channel_graph graph(rt);
        const auto teeth = graph.channel<std::uint32_t>({.width = 8, .levels = depth + 1, .at_once = 2, .at_least = 1});
        const auto kernel = graph.kernel(comb{teeth});
        graph.connect(teeth, kernel);
        graph.init(teeth, {depth});
        std::atomic<std::uint64_t> asked{0};
        EXPECT_EQ(graph.run_with(counting_policy{&asked}, kernel).items, 2 * depth + 1);
        // A warp whose claim another one was faster with has asked as well.
        EXPECT_LE(asked, 4 * most * graph.statistics().dispatches) << devices;
        if (devices == std::string("cpu:1")) {
            EXPECT_LE(asked, most * graph.statistics().dispatches);
        }
    }
}

/// Many laps of as many elements as a warp has lanes, and one other element, which notes how many there have been.
struct run_laps {
    using element = std::uint32_t;
    symmetric_ref<std::uint64_t> laps;
    template <class Ctx>
    outcome operator()(Ctx& ctx, std::uint32_t& left, channel_node&) const {
        atomic_add(ctx, laps[0], 1);
        return --left == 0 ? outcome::done : outcome::again;
    }
};
struct note_laps {
    using element = std::uint64_t;
    symmetric_ref<std::uint64_t> laps;
    template <class Ctx>
    void operator()(Ctx& ctx, const std::uint64_t&, channel_node&) const {
        *local(ctx, laps[1]) = ctx.load(local(ctx, laps[0]), order::relaxed, scope::device);
    }
};
struct fullest_first {
    std::uint32_t operator()(const channel_load& load) const { return load.ready; }
};
struct answers_at_once {
    static constexpr std::uint32_t answers = 1;  // number of a channel

    LANEWAY_FN std::uint32_t operator()(const lw::channel_load& load) const { return goes(load) ? 100 : load.ready; }
    LANEWAY_FN bool goes(const lw::channel_load& load) const { return load.channel == answers; }
};

/// Laps before the other element was consumed, of 100 of each lane of one warp.
template <class Policy>
std::uint64_t laps_before(std::uint32_t max_age, const Policy& policy) {
    options o = options_of("checked:1", 0);
    o.checked_blocks = 1;
    o.checked_warps = 2;  // one of which works
    o.timeout_seconds = never_seconds;
    runtime rt(o);
    const auto laps = rt.allocate<std::uint64_t>(2);
    channel_graph graph(rt);
    const auto rounds = graph.channel<std::uint32_t>({.width = 16});
    const auto notes = graph.channel<std::uint64_t>({.width = 16, .max_age = max_age});
    const auto goes = graph.kernel(run_laps{laps.ref()});
    const auto tells = graph.kernel(note_laps{laps.ref()});
    graph.connect(rounds, goes);
    graph.connect(notes, tells);
    graph.init(rounds, std::vector<std::uint32_t>(4, 100));  // lanes of a checked warp
    graph.init(notes, {0});
    graph.run_with(policy, goes, tells);
    return laps.copy_out(0)[1];
}

TEST(channel_parts_test, PartOfAWarpGoesByAgeByPredicateOrLast) {
    EXPECT_EQ(laps_before(0, fullest_first{}), 400u);
    EXPECT_EQ(laps_before(0, deepest_or_fullest_first{}), 400u);
    for (const std::uint32_t age : {4u, 16u}) {
        EXPECT_LE(laps_before(age, fullest_first{}), 4 * age + 4);
        EXPECT_LE(laps_before(age, deepest_or_fullest_first{}), 4 * age + 4);
    }
    EXPECT_LE(laps_before(0, answers_at_once{}), 4u);
}

}  // namespace
}  // namespace laneway::test
