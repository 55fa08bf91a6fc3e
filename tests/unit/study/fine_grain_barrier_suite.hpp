// The fine-grain barrier: it opens when all members have come or left, in whatever order lanes leave and join.
#pragma once

#include "aggregation/fine_grain_barrier.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

constexpr std::uint32_t max_meetings = 12;

/// Meetings of a lane: different ones for neighbours, none for some.
LANEWAY_FN std::uint32_t meetings_of(std::uint32_t lane, std::uint64_t salt) {
    return static_cast<std::uint32_t>((lane + 1) * (salt * 2 + 1) * 0x9e3779b97f4a7c15u >> 40) % max_meetings;
}

template <class Ctx>
LANEWAY_FN std::uint32_t lane_in_block(const Ctx& ctx) {
    return static_cast<std::uint32_t>(ctx.warp() * Ctx::warp_lanes + ctx.lane());
}
template <class Ctx>
LANEWAY_FN std::uint32_t lanes_of_block(const Ctx& ctx) {
    return static_cast<std::uint32_t>(ctx.n_warps() * Ctx::warp_lanes);
}

struct block_memory {
    study::fine_grain_barrier barrier;
    std::uint32_t came[max_meetings];
};

/// Every lane starts inside, so its k-th meeting is that of all who stay for more than k.
struct leaving_program {
    static constexpr int cuda_warps = 2;
    std::uint64_t salt;
    std::uint32_t* wrong;
    std::uint32_t* met;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        auto& shared = *reinterpret_cast<block_memory*>(ctx.shared());
        const std::uint32_t me = lane_in_block(ctx);
        const std::uint32_t lanes = lanes_of_block(ctx);
        if (me == 0) {
            shared.barrier.open(lanes);
            for (auto& count : shared.came) count = 0;
        }
        ctx.sync_block();
        const std::uint32_t mine = meetings_of(me, salt);
        if (mine == 0) shared.barrier.leave(ctx, 1);
        for (std::uint32_t k = 0; k < mine; ++k) {
            ctx.fetch_add(&shared.came[k], 1, order::relaxed, scope::block);
            if (shared.barrier.arrive(ctx, ctx.converged()) != status::ok) return;
            std::uint32_t expected = 0;
            for (std::uint32_t lane = 0; lane < lanes; ++lane) expected += meetings_of(lane, salt) > k ? 1 : 0;
            const std::uint32_t came = ctx.load(&shared.came[k], order::relaxed, scope::block);
            ctx.fetch_add(came == expected ? met : wrong, 1, order::relaxed, scope::device);
            if (k + 1 == mine) shared.barrier.leave(ctx, 1);
        }
    }
};

/// Half of the lanes start outside and join when they like. Members meet three times in an operation: between the first
/// two, those inside are those that came.
struct joining_program {
    static constexpr int cuda_warps = 2;
    std::uint64_t salt;
    std::uint32_t* wrong;
    std::uint32_t* met;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        auto& shared = *reinterpret_cast<block_memory*>(ctx.shared());
        const std::uint32_t me = lane_in_block(ctx);
        if (me == 0) {
            shared.barrier.open((lanes_of_block(ctx) + 1) / 2, 3);
            shared.came[0] = 0;
        }
        ctx.sync_block();
        const std::uint32_t mine = meetings_of(me, salt);
        if (me % 2 == 1) {
            for (std::uint32_t i = 0; i < mine * 3; ++i) ctx.pause(0);
            if (shared.barrier.join(ctx, 1) != status::ok) return;
        }
        if (mine == 0) shared.barrier.leave(ctx, 1);
        for (std::uint32_t k = 0; k < mine; ++k) {
            ctx.fetch_add(&shared.came[0], 1, order::relaxed, scope::block);
            if (shared.barrier.arrive(ctx, ctx.converged()) != status::ok) return;
            const bool right = ctx.load(&shared.came[0], order::relaxed, scope::block) == shared.barrier.members(ctx);
            ctx.fetch_add(right ? met : wrong, 1, order::relaxed, scope::device);
            if (shared.barrier.arrive(ctx, ctx.converged()) != status::ok) return;
            ctx.store(&shared.came[0], 0, order::relaxed, scope::block);
            if (shared.barrier.arrive(ctx, ctx.converged()) != status::ok) return;
            if (k + 1 == mine) shared.barrier.leave(ctx, 1);
        }
    }
};

class fine_grain_barrier_test : public testing::TestWithParam<std::string> {
protected:
    template <class Program>
    void meets_exactly() const {
        every_round_within(GetParam(), [&](const options& o) {
            machine machine(o.devices, o.seed);
            const buffer<std::uint32_t> wrong(machine.device(0), 1), met(machine.device(0), 1);
            const launch_shape shape = small_grid(machine);
            run_programs(machine, shape, o.timeout_seconds, [&](int) {
                return Program{o.seed, wrong.data(), met.data()};
            });
            const int lanes = shape.warps_per_block * warp_lanes_of(*machine.device(0));
            std::uint32_t expected = 0;
            for (int lane = 0; lane < lanes; ++lane) expected += meetings_of(static_cast<std::uint32_t>(lane), o.seed);
            EXPECT_EQ(wrong.copy_out()[0], 0u);
            EXPECT_EQ(met.copy_out()[0], expected * static_cast<std::uint32_t>(shape.blocks));
        });
    }
};

TEST_P(fine_grain_barrier_test, OpensWhenAllWhoStayHaveCome) { meets_exactly<leaving_program>(); }

TEST_P(fine_grain_barrier_test, LetsNobodyInWithinAnOperation) { meets_exactly<joining_program>(); }

LANEWAY_ON_DEVICES(fine_grain_barrier_test, lone_device());

/// A member that neither comes nor leaves.
struct deserting_program {
    static constexpr int cuda_warps = 2;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        auto& shared = *reinterpret_cast<block_memory*>(ctx.shared());
        if (lane_in_block(ctx) == 0) shared.barrier.open(lanes_of_block(ctx) + 1);
        ctx.sync_block();
        (void)shared.barrier.arrive(ctx, ctx.converged());
    }
};

TEST_P(fine_grain_barrier_test, AMemberThatStaysAwayIsNamedAtTheDeadline) {
    machine machine(GetParam());
    try {
        run_programs(machine, small_grid(machine), 0.05, [](int) { return deserting_program{}; });
        FAIL() << "the barrier opened without its last member";
    } catch (const timeout_error& e) {
        EXPECT_NE(std::string(e.what()).find("waiting at a barrier"), std::string::npos) << e.what();
    }
}

}  // namespace laneway::test
