// Spreading arcs: every arc of every lane's range is visited once, with the payload of its range.
#pragma once

#include "laneway/flow/balance.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// Lane l of turn t owns a range of its own; visits note arc and payload.
struct spread_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint32_t turns = 12;
    static constexpr std::uint32_t longest = 150;

    std::uint32_t* visits = nullptr;  ///< one an arc
    std::uint32_t* wrong = nullptr;
    std::uint32_t seed = 0;

    [[nodiscard]] LANEWAY_FN std::uint32_t count(std::uint32_t owner) const {
        const std::uint32_t hash = (owner + seed * 977) * 2654435761u >> 7;
        switch (hash % 5) {
            case 0: return 0;
            case 1: return hash % 3;
            case 2: return hash % longest;
            default: return hash % 9;
        }
    }

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const int place = (ctx.block() * ctx.n_warps() + ctx.warp()) * Ctx::warp_lanes + ctx.lane();
        for (std::uint32_t turn = 0; turn < turns; ++turn) {
            const std::uint32_t owner = static_cast<std::uint32_t>(place) * turns + turn;
            const arc_range range{std::uint64_t{owner} * longest, count(owner)};
            for_each_arc(ctx, range, owner, [&](const arc_batch& batch, std::uint32_t payload) {
                bool right = batch.count >= 1 && batch.count <= arc_batch::most;
                for (int k = 0; k < arc_batch::most; ++k) {
                    const std::uint64_t arc = batch.arc(k);
                    right = right && arc / longest == payload && (k < batch.count || arc == batch.first);
                    if (k < batch.count) ctx.fetch_add(visits + arc, 1, order::relaxed, scope::device);
                }
                if (!right) ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
            });
        }
    }
};

class balance_test : public testing::TestWithParam<std::string> {};

TEST_P(balance_test, EveryArcIsVisitedOnceWithItsPayload) {
    every_round_within(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto shape = small_grid(machine);
        const int lanes = warp_lanes_of(*machine.device(0));
        const auto owners =
            static_cast<std::uint32_t>(shape.blocks * shape.warps_per_block * lanes) * spread_program::turns;
        const buffer<std::uint32_t> visits(machine.device(0), std::size_t{owners} * spread_program::longest);
        const buffer<std::uint32_t> wrong(machine.device(0), 1);
        const spread_program program{visits.data(), wrong.data(), static_cast<std::uint32_t>(o.seed)};
        run_programs(machine, shape, o.timeout_seconds, [&](int) { return program; });
        EXPECT_EQ(wrong.copy_out()[0], 0u);
        std::vector<std::uint32_t> expected(visits.size());
        for (std::uint32_t owner = 0; owner < owners; ++owner) {
            std::fill_n(expected.begin() + owner * spread_program::longest, program.count(owner), 1u);
        }
        EXPECT_EQ(visits.copy_out(), expected);
    });
}

LANEWAY_ON_DEVICES(balance_test, lone_device());

}  // namespace laneway::test
