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
    EXPECT_GE(most, is_one_lane ? 1u : is_checked(GetParam()) ? 8u : 64u) << "several warps";
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

LANEWAY_ON_DEVICES(channel_block_test, device_lists());

}  // namespace
}  // namespace laneway::test
