// Groups and collectives with any set of lanes, on any device.
#pragma once

#include <bit>

#include "laneway/simt/group.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// Calls each collective with many masks, also from inside branches, and counts answers that differ from what a lane
/// can work out alone.
struct collectives_program {
    static constexpr int cuda_warps = 2;
    static constexpr int masks = 30;

    std::uint32_t* wrong;
    std::uint32_t* produced;
    std::uint64_t* arrived;  ///< bit m: the lanes of mask m arrived together; of more than 4 lanes, m lanes did

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint32_t k = 0; k < masks; ++k) {
            const lane_mask mask = mask_of<Ctx>(k);
            if ((mask >> ctx.lane() & 1) != 0) check(ctx, mask, k);
            ctx.sync(full_warp<Ctx>);
        }
        meet(ctx);
        if (ctx.lane() % 2 == 1) {
            meet(ctx);
        } else {
            for (int i = 0; i <= ctx.lane(); ++i) meet(ctx);
        }
        ctx.sync(full_warp<Ctx>);
        const auto sum = warp_sum(ctx, std::uint64_t{1} << ctx.lane());
        expect(ctx, sum == full_warp<Ctx>);
        // The least value lies on each lane in turn.
        for (int least = 0; least < Ctx::warp_lanes; ++least) {
            const auto value = static_cast<std::uint64_t>((ctx.lane() + Ctx::warp_lanes - least) % Ctx::warp_lanes) + 7;
            expect(ctx, warp_min(ctx, value) == 7);
        }
    }

private:
    template <class Ctx>
    static LANEWAY_FN lane_mask mask_of(std::uint32_t k) {
        if (k == 0) return full_warp<Ctx>;
        if (k < 6 && Ctx::warp_lanes == 32) return (lane_mask{1} << 5 * k) - 1;  // no holes: the logarithmic scan
        const lane_mask mask = k * 2654435761u >> (32 - Ctx::warp_lanes);
        return mask == 0 ? 1 : mask;
    }

    static LANEWAY_FN std::uint64_t value_of(int lane, std::uint32_t k) {
        return (static_cast<std::uint64_t>(lane) + 1) * 0x9e3779b97f4a7c15u ^ k;
    }

    template <class Ctx>
    LANEWAY_FN void expect(Ctx& ctx, bool right) const {
        if (!right) ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
    }

    /// A place where lanes arrive as they come, perhaps from different branches: whoever is said to have arrived must
    /// take part in what follows.
    template <class Ctx>
    LANEWAY_FN void meet(Ctx& ctx) const {
        const lane_mask group = ctx.converged();
        expect(ctx, (group >> ctx.lane() & 1) != 0 && (group & ~full_warp<Ctx>) == 0);
        const std::uint64_t which = Ctx::warp_lanes <= 4 ? group : static_cast<lane_mask>(Ctx::count_lanes(group));
        ctx.fetch_or(arrived, std::uint64_t{1} << which, order::relaxed, scope::device);
        check(ctx, group, masks);
    }

    template <class Ctx>
    LANEWAY_FN void check(Ctx& ctx, lane_mask mask, std::uint32_t k) const {
        const std::uint64_t mine = value_of(ctx.lane(), k);
        lane_mask odd = 0;
        lane_mask same = 0;
        std::uint64_t sum = 0;
        std::uint64_t greatest = 0;
        int below = 0;
        for (int lane = 0; lane < Ctx::warp_lanes; ++lane) {
            if ((mask >> lane & 1) == 0) continue;
            const std::uint64_t theirs = value_of(lane, k);
            odd |= static_cast<lane_mask>(theirs >> 9 & 1) << lane;
            if (theirs % 3 == mine % 3) same |= lane_mask{1} << lane;
            if (lane <= ctx.lane()) sum += theirs;
            if (lane < ctx.lane()) ++below;
            greatest = theirs > greatest ? theirs : greatest;
        }
        expect(ctx, ctx.ballot(mask, (mine >> 9 & 1) != 0) == odd);
        expect(ctx, ctx.match(mask, static_cast<std::uint32_t>(mine % 3)) == same);
        expect(ctx, ctx.match(mask, mine % 3) == same);
        expect(ctx, inclusive_scan(ctx, mask, mine) == sum);
        expect(ctx, inclusive_scan(ctx, mask, static_cast<std::uint32_t>(mine)) == static_cast<std::uint32_t>(sum));
        expect(ctx, rank_in(ctx, mask) == below && elected(ctx, mask) == (below == 0));
        const auto larger = [](std::uint64_t a, std::uint64_t b) { return a > b ? a : b; };
        expect(ctx, reduce(ctx, mask, mine, larger) == greatest);
        for (lane_mask rest = mask; rest != 0; rest &= rest - 1) {
            const int from = Ctx::first_lane(rest);
            expect(ctx, ctx.shuffle(mask, mine, from) == value_of(from, k));
            expect(ctx, ctx.shuffle(mask, ctx.lane() == from ? status::timeout : status::ok, from) == status::timeout);
        }
        const int leader = Ctx::first_lane(mask);
        const auto once_value = once(ctx, mask, [&] {
            ctx.fetch_add(produced, 1, order::relaxed, scope::device);
            return mine;
        });
        expect(ctx, once_value == value_of(leader, k));
        exchange_through_memory(ctx, mask, mine, k);
    }

    /// sync() orders the lanes' plain stores and loads.
    template <class Ctx>
    LANEWAY_FN void exchange_through_memory(Ctx& ctx, lane_mask mask, std::uint64_t mine, std::uint32_t k) const {
        auto* words = reinterpret_cast<std::uint64_t*>(ctx.shared()) + ctx.warp() * Ctx::warp_lanes;
        words[ctx.lane()] = mine;
        ctx.sync(mask);
        for (lane_mask rest = mask; rest != 0; rest &= rest - 1) {
            const int from = Ctx::first_lane(rest);
            expect(ctx, words[from] == value_of(from, k));
        }
        ctx.sync(mask);
    }
};

class group_test : public testing::TestWithParam<std::string> {};

TEST_P(group_test, CollectivesAnswerForExactlyTheirLanes) {
    std::uint64_t arrived = 0;
    // So many seeds that every non-empty subset of a checked warp's four lanes arrives somewhere together.
    constexpr int lanes = checked::warp_lanes;
    const std::uint64_t seeds = std::max<std::uint64_t>(lanes <= 4 ? 120 : 12, chosen_seeds());
    repeat_rounds(GetParam(), is_checked(GetParam()) ? seeds : rounds_within(GetParam()), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto shape = small_grid(machine);
        buffer<std::uint32_t> words(machine.device(0), 2);
        buffer<std::uint64_t> seen(machine.device(0), 1);
        run_programs(machine, shape, o.timeout_seconds, [&](int) {
            return collectives_program{words.data(), words.data() + 1, seen.data()};
        });
        EXPECT_EQ(words.copy_out()[0], 0u);
        EXPECT_GE(words.copy_out()[1], static_cast<std::uint32_t>(shape.blocks * shape.warps_per_block));
        arrived |= seen.copy_out()[0];
    });
    if (is_checked(GetParam())) {
        if (lanes <= 4) {
            EXPECT_EQ(arrived, (std::uint64_t{1} << (1 << std::min(lanes, 4))) - 2);
        } else {
            EXPECT_EQ(arrived >> 1 & 1, 1u) << "a lane alone";
            EXPECT_EQ(arrived >> lanes & 1, 1u) << "a whole warp";
            EXPECT_GT(std::popcount(arrived), lanes / 2) << "what lies between";
        }
    }
}

/// Each block adds in turns separated by block barriers; a barrier that lets a warp through early shows.
struct barrier_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint32_t laps = 20;
    std::uint32_t* wrong;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        auto* word = reinterpret_cast<std::uint32_t*>(ctx.shared());
        const auto lanes = static_cast<std::uint32_t>(ctx.n_warps() * Ctx::warp_lanes);
        const bool first = ctx.warp() == 0 && ctx.lane() == 0;
        if (first) *word = 0;
        ctx.sync_block();
        for (std::uint32_t lap = 1; lap <= laps; ++lap) {
            ctx.fetch_add(word, 1, order::relaxed, scope::block);
            ctx.sync_block();
            if (ctx.load(word, order::relaxed, scope::block) != lap * lanes) {
                ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
            }
            ctx.sync_block();
        }
    }
};

TEST_P(group_test, BlockBarrierWaitsForEveryLane) {
    every_round_within(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        buffer<std::uint32_t> wrong(machine.device(0), 1);
        run_programs(machine, small_grid(machine), o.timeout_seconds,
                     [&](int) { return barrier_program{wrong.data()}; });
        EXPECT_EQ(wrong.copy_out()[0], 0u);
    });
}

LANEWAY_ON_DEVICES(group_test, lone_device());

}  // namespace laneway::test
