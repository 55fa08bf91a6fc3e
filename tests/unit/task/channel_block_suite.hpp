// Kernels whose elements a whole block works on: all its lanes get each element once and together, beside kernels of
// single lanes, at the least width, and whoever decides what is served.
#pragma once

#include <algorithm>

#include "laneway/channel_graph.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

struct heap_node {
    std::uint64_t first, last;  ///< numbers that are to be added
    std::uint32_t room;         ///< whether its halves have found some
    std::uint32_t lanes;        ///< that have added theirs
};

/// Adds its numbers, each lane some, and makes two halves of them. An element that is put back is added later.
struct add_numbers {
    using element = heap_node;
    static constexpr task_width width = task_width::block;
    channel<heap_node> halves;
    channel<std::uint64_t> sums;
    symmetric_ref<std::uint64_t> wrong;  ///< elements, then the sum of all numbers, then most lanes

    template <class Ctx, class Worker>
    LANEWAY_FN outcome operator()(Ctx& ctx, heap_node& at, channel_node& node, Worker& worker) const {
        // The first lane asks for room before any lane does anything.
        reserved_elements<heap_node> next;
        const bool is_first = worker.lane() == 0, splits = at.last - at.first > 1;
        if (is_first) {
            if (splits) next = node.talloc(ctx, halves, 2);
            at.room = !splits || next ? 1 : 0;
            at.lanes = 0;
        }
        if (!worker.sync(ctx)) return outcome::done;
        if (at.room == 0) return is_first ? outcome::yield : outcome::done;
        std::uint64_t sum = 0;
        const auto step = static_cast<std::uint64_t>(worker.lanes());
        for (std::uint64_t i = at.first + static_cast<std::uint64_t>(worker.lane()); i < at.last; i += step) sum += i;
        atomic_add(ctx, wrong[1], sum);
        ctx.fetch_add(&at.lanes, 1u, order::relaxed, scope::device);
        if (!worker.sync(ctx)) return outcome::done;
        if (!is_first) return outcome::done;
        if (at.lanes != step) atomic_add(ctx, wrong[0], 1);
        ctx.fetch_max(local(ctx, wrong[2]), step, order::relaxed, scope::system);
        if (splits) {
            const std::uint64_t middle = at.first + (at.last - at.first) / 2;
            next[0] = {at.first, middle, 0, 0};
            next[1] = {middle, at.last, 0, 0};
            node.enq(ctx, next);
        } else if (const auto one = node.talloc(ctx, sums)) {
            one[0] = at.first;
            node.enq(ctx, one);
        } else {
            atomic_add(ctx, wrong[0], 1);  // it is wide enough
        }
        return outcome::done;
    }
};
/// Counts what is left, by single lanes.
struct count_numbers {
    using element = std::uint64_t;
    symmetric_ref<std::uint64_t> counted;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const std::uint64_t& number, channel_node&) const {
        atomic_add(ctx, counted[0], 1);
        atomic_add(ctx, counted[1], number);
    }
};

class channel_block_test : public testing::TestWithParam<std::string> {
protected:
    /// Returns how many lanes a block has had at most.
    template <class Policy>
    static std::uint64_t add(const options& o, const Policy& policy) {
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(3), counted = rt.allocate<std::uint64_t>(2);
        channel_graph graph(rt);
        constexpr std::uint64_t numbers = 16;
        const std::uint32_t width = o.seed % 3 == 0 ? 512 : 2;
        const auto halves = graph.channel<heap_node>({.width = width, .levels = 6, .at_once = 2});
        const auto sums = graph.channel<std::uint64_t>({.width = 1024, .levels = 8});
        const auto adds = graph.kernel(add_numbers{halves, sums, wrong.ref()});
        const auto counts = graph.kernel(count_numbers{counted.ref()});
        graph.connect(halves, adds);
        graph.connect(sums, counts);
        for (int pe = 0; pe < rt.n_pes(); ++pe) graph.init(halves, {heap_node{0, numbers, 0, 0}}, pe);
        const run_report report = graph.run_with(policy, adds, counts);
        const auto pes = static_cast<std::uint64_t>(rt.n_pes());
        EXPECT_EQ(report.items, pes * (2 * numbers - 1 + numbers));
        std::uint64_t bad = 0, added = 0, count = 0, sum = 0, most = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            bad += wrong.copy_out(pe)[0];
            added += wrong.copy_out(pe)[1];
            most = std::max(most, wrong.copy_out(pe)[2]);
            count += counted.copy_out(pe)[0];
            sum += counted.copy_out(pe)[1];
        }
        EXPECT_EQ(bad, 0u) << "elements without all lanes";
        EXPECT_EQ(added, pes * 5 * numbers * (numbers - 1) / 2) << "all numbers at each of five depths";
        EXPECT_EQ(count, pes * numbers);
        EXPECT_EQ(sum, pes * numbers * (numbers - 1) / 2);
        return most;
    }
};

TEST_P(channel_block_test, ABlockWorksOnEachElementOnce) {
    std::uint64_t most = 0;
    every_fourth_round(GetParam(),
                       [&](const options& o) { most = std::max(most, add(o, deepest_or_fullest_first{})); });
    const bool is_one_lane = GetParam().starts_with("cpu");
    EXPECT_GE(most, is_one_lane ? 1u : is_checked(GetParam()) ? 2u * checked::warp_lanes : 64u) << "several warps";
}

TEST_P(channel_block_test, AlsoWhereOneWarpDecides) {
    repeat_rounds(GetParam(), part_of_rounds(GetParam(), 8),
                  [&](const options& o) { (void)add(o, warp_scheduler<>{}); });
}

/// Each lane leaves a word for its neighbour in the block's shared memory; of four warps at most.
struct pass_words {
    using element = std::uint64_t;
    static constexpr task_width width = task_width::block;
    static constexpr int block_warps = 4;
    static constexpr std::size_t shared_bytes = 128 * sizeof(std::uint64_t);
    symmetric_ref<std::uint64_t> counts;  ///< words that came, and lanes that have looked

    template <class Ctx, class Worker>
    LANEWAY_FN outcome operator()(Ctx& ctx, const std::uint64_t& number, channel_node&, Worker& worker) const {
        auto* const words = reinterpret_cast<std::uint64_t*>(worker.shared());
        const auto lane = static_cast<std::uint64_t>(worker.lane()), lanes = static_cast<std::uint64_t>(worker.lanes());
        words[lane] = number * 1024 + lane;
        if (!worker.sync(ctx)) return outcome::done;
        const std::uint64_t next = (lane + 1) % lanes;
        atomic_add(ctx, counts[0], words[next] == number * 1024 + next ? 1 : 0);
        atomic_add(ctx, counts[1], 1);
        return outcome::done;
    }
};

TEST_P(channel_block_test, KernelsHaveSharedMemoryAndAsManyWarpsAsTheySay) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const auto counts = rt.allocate<std::uint64_t>(2);
        channel_graph graph(rt);
        const auto numbers = graph.channel<std::uint64_t>(64);
        const auto kernel = graph.kernel(pass_words{counts.ref()});
        graph.connect(numbers, kernel);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            for (std::uint64_t i = 0; i < 20; ++i) graph.init(numbers, {i}, pe);
        }
        (void)graph.run(kernel);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto found = counts.copy_out(pe);
            EXPECT_EQ(found[0], found[1]);
            EXPECT_GE(found[1], 20u);
            EXPECT_LE(found[1], 20u * 4 * 32);
        }
    });
}

/// Doubles a number for the host.
struct double_together {
    using element = std::uint64_t;
    static constexpr task_width width = task_width::block;
    channel<std::uint64_t> doubled;

    template <class Ctx, class Worker>
    LANEWAY_FN outcome operator()(Ctx& ctx, std::uint64_t& number, channel_node& node, Worker& worker) const {
        if (worker.lane() != 0) return outcome::done;
        const auto one = node.talloc(ctx, doubled);
        if (!one) return outcome::yield;
        one[0] = 2 * number;
        node.enq(ctx, one);
        return outcome::done;
    }
};

TEST_P(channel_block_test, AlsoInASession) {
    runtime rt(options_of(GetParam(), 1));
    channel_graph graph(rt);
    const auto numbers = graph.channel<std::uint64_t>(16), doubled = graph.channel<std::uint64_t>(16);
    const auto kernel = graph.kernel(double_together{doubled});
    const auto to_host = graph.host_kernel(doubled);
    graph.connect(numbers, kernel);
    auto service = graph.service(kernel, to_host);
    auto session = rt.start(service);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 30; ++i) {
        service.enqueue(numbers, i, static_cast<int>(i) % rt.n_pes());
        if (i % 3 == 2) sum += service.take(doubled);
    }
    session.quiesce();
    for (int i = 0; i < 20; ++i) sum += service.take(doubled);
    EXPECT_EQ(sum, 30u * 29u);
    session.stop();
    EXPECT_FALSE(service.try_take(doubled));
}

/// Halves its number, on a lane that the number chooses, and counts by block what has run there, and ones.
struct halve_together {
    using element = std::uint32_t;
    static constexpr task_width width = task_width::block;
    static constexpr std::uint32_t most_blocks = 64;
    channel<std::uint32_t> halves;
    std::uint32_t most;                   ///< that it reserves at once
    symmetric_ref<std::uint64_t> counts;  ///< ones, numbers that not all lanes have got, then numbers by block

    template <class Ctx, class Worker>
    LANEWAY_FN outcome operator()(Ctx& ctx, std::uint32_t& number, channel_node& node, Worker& worker) const {
        const std::uint32_t mine = number;
        const auto at = static_cast<std::uint32_t>(worker.lane()), lanes = static_cast<std::uint32_t>(worker.lanes());
        if (!worker.sync(ctx)) return outcome::done;
        if (mine % lanes == at) number = 0;
        if (!worker.sync(ctx)) return outcome::done;
        if (number != 0) atomic_add(ctx, counts[1], 1);
        if (!worker.sync(ctx)) return outcome::done;
        if (mine % lanes != at) return outcome::done;
        number = mine;
        if (mine == 1) {
            atomic_add(ctx, counts[0], 1);
        } else {
            const auto next = node.talloc(ctx, halves, most);
            if (!next) return outcome::yield;
            next[0] = mine / 2;
            next[1] = mine - mine / 2;
            node.enq(ctx, next.first_of(2));
            node.tfree(ctx, next, 2);  // which leaves gaps
        }
        atomic_add(ctx, counts[2 + static_cast<std::uint32_t>(ctx.block()) % most_blocks], 1);
        return outcome::done;
    }
};

class block_stack_test : public channel_block_test {
protected:
    struct halved {
        channel_statistics did;
        std::uint64_t through_queues = 0;  ///< elements that were reserved there
        std::vector<std::uint64_t> by_block;
    };
    /// Halves `number` on every PE.
    static halved halve(const options& o, std::uint32_t number, std::uint64_t stack_bytes, std::uint32_t width = 64) {
        runtime rt(o);
        const auto counts = rt.allocate<std::uint64_t>(2 + halve_together::most_blocks);
        channel_graph graph(rt, {.stack_bytes = stack_bytes});
        const std::uint32_t most = o.seed % 2 == 0 ? 2 : std::min(width, 16u);
        const auto halves = graph.channel<std::uint32_t>({.width = width, .levels = 24, .at_once = most});
        const auto kernel = graph.kernel(halve_together{halves, most, counts.ref()});
        graph.connect(halves, kernel);
        const auto pes = static_cast<std::uint64_t>(rt.n_pes());
        for (int pe = 0; pe < rt.n_pes(); ++pe) graph.init(halves, {number}, pe);
        EXPECT_EQ(graph.run(kernel).items, pes * (2 * number - 1));
        halved made{graph.statistics(), 0, {}};
        for (const auto& level : made.did.channels[0].levels) made.through_queues += level.produced;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto of_pe = counts.copy_out(pe);
            EXPECT_EQ(of_pe[0], number);
            EXPECT_EQ(of_pe[1], 0u) << "lanes with an element of their own";
            made.by_block.insert(made.by_block.end(), of_pe.begin() + 2, of_pe.end());
        }
        EXPECT_EQ(made.did.consumed, pes * (2 * number - 1) + made.did.yields);
        return made;
    }
};

TEST_P(block_stack_test, WhatABlockKeepsNeverSeesAQueueAndAllBlocksGetSome) {
    std::uint64_t taking_part = 0, given = 0;
    every_fourth_round(GetParam(), [&](options o) {
        o.checked_blocks = 3;  // of which one serves where there are several PEs
        const std::uint32_t number = is_checked(GetParam()) ? 48 : 1000;
        const halved made = halve(o, number, 1 << 20);
        const auto pes = made.by_block.size() / halve_together::most_blocks;
        EXPECT_EQ(made.did.kept, pes * (2 * number - 2) - made.did.given) << "all but the first, and what was given";
        EXPECT_EQ(made.did.yields, 0u);
        EXPECT_GE(made.through_queues, pes + made.did.given);
        if (made.did.given == 0) {
            EXPECT_EQ(made.through_queues, pes);
        }
        const auto blocks = std::count_if(made.by_block.begin(), made.by_block.end(), [](auto n) { return n != 0; });
        EXPECT_LE(static_cast<std::uint64_t>(blocks), pes + made.did.given) << "who has none gets some";
        taking_part = std::max(taking_part, static_cast<std::uint64_t>(blocks) / pes);
        given += made.did.given;
    });
    if (!is_checked(GetParam())) return;  // threads may take turns
    EXPECT_GT(given, 0u);
    EXPECT_EQ(taking_part, GetParam() == "checked:1" ? 3u : 2u) << "all blocks";
}

TEST_P(block_stack_test, OneGivesWhatOneHasAskedFor) {
    if (GetParam() != "checked:1") GTEST_SKIP() << "threads may take turns, and one PE is enough";
    std::uint64_t given = 0, consumed = 0;
    every_fourth_round(GetParam(), [&](options o) {
        o.checked_blocks = 8;
        const halved made = halve(o, 100, 1 << 20);
        given += made.did.given;
        consumed += made.did.consumed;
    });
    EXPECT_GT(given, 0u);
    EXPECT_LT(4 * given, consumed) << "more than once for each block without work";
}

TEST_P(block_stack_test, WhateverThereIsOfRoom) {
    std::uint64_t kept = 0, yields = 0;
    every_round_within(GetParam(), [&](const options& o) {
        const std::uint32_t number = is_checked(GetParam()) ? 60 + static_cast<std::uint32_t>(o.seed % 16) : 300;
        const halved made = halve(o, number, std::uint64_t{16} << 7 * o.seed % 9, 2);
        kept += made.did.kept;
        yields += made.did.yields;
    });
    EXPECT_GT(kept, 0u);
    if (is_checked(GetParam())) {
        EXPECT_GT(yields, 0u) << "there was always room";
    }
}

LANEWAY_ON_DEVICES(channel_block_test, device_lists());
LANEWAY_ON_DEVICES(block_stack_test, device_lists());

}  // namespace
}  // namespace laneway::test
