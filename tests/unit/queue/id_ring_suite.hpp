// The id ring: every id comes out as often as it went in, over many laps, with many producers and consuming warps.
#pragma once

#include "laneway/queue/id_ring.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// All blocks but the first push ids; the warps of block 0 pop them and push each again until it has gone `laps` laps.
/// What a producer wrote about an id before its push is read, unordered otherwise, by whoever pops it.
struct laps_program {
    static constexpr int cuda_warps = 2;

    std::uint32_t* places = nullptr;
    std::uint64_t* tail = nullptr;
    std::uint32_t* laps_of = nullptr;  ///< plain words, one an id
    std::uint32_t* popped = nullptr;   ///< total
    std::uint32_t* wrong = nullptr;
    std::uint32_t ids = 0;
    std::uint32_t laps = 0;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const id_ring_ref ring(places, ids, tail);
        auto* head = reinterpret_cast<std::uint64_t*>(ctx.shared());
        if (ctx.warp() == 0 && ctx.lane() == 0) *head = 0;
        ctx.sync_block();
        if (ctx.block() == 0) return consume(ctx, ring, head);
        const int lanes = (ctx.n_blocks() - 1) * ctx.n_warps() * Ctx::warp_lanes;
        const int first = ((ctx.block() - 1) * ctx.n_warps() + ctx.warp()) * Ctx::warp_lanes + ctx.lane();
        for (auto id = static_cast<std::uint32_t>(first); id < ids; id += static_cast<std::uint32_t>(lanes)) {
            laps_of[id] = 1;
            if (ring.push(ctx, id) != status::ok) return;
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN void consume(Ctx& ctx, const id_ring_ref& ring, std::uint64_t* head) const {
        bounded_spin spin;
        for (;;) {
            std::uint32_t id = 0;
            const bool got = ring.pop(ctx, head, id);
            if (got) {
                ctx.fetch_add(popped, 1, order::relaxed, scope::device);
                if (id >= ids || laps_of[id] == 0 || laps_of[id] > laps) {
                    ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
                } else if (++laps_of[id] <= laps) {
                    (void)ring.push(ctx, id);
                }
            }
            const bool ended = ctx.load(popped, order::relaxed, scope::device) >= ids * laps;
            if (ctx.ballot(full_warp<Ctx>, ended) != 0) return;
            const status going = got ? status::ok : spin.next(ctx, {operation::user_code, -1, 0});
            if (ctx.ballot(full_warp<Ctx>, going != status::ok) != 0) return;
        }
    }
};

class id_ring_test : public testing::TestWithParam<std::string> {};

TEST_P(id_ring_test, EveryIdComesOutAsOftenAsItWentIn) {
    every_round_within(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto& device = machine.device(0);
        const std::uint32_t ids = is_checked(GetParam()) ? std::uint32_t{1} << o.seed % 5 : 256;
        const std::uint32_t laps = is_checked(GetParam()) ? 5 : 50;
        const buffer<std::uint32_t> places(device, ids);
        const buffer<std::uint64_t> tail(device, 1);
        const buffer<std::uint32_t> laps_of(device, ids);
        const buffer<std::uint32_t> totals(device, 2);
        run_programs(machine, small_grid(machine), o.timeout_seconds, [&](int) {
            return laps_program{places.data(), tail.data(), laps_of.data(), totals.data(), totals.data() + 1,
                                ids,           laps};
        });
        EXPECT_EQ(totals.copy_out(), (std::vector<std::uint32_t>{ids * laps, 0}));
        EXPECT_EQ(laps_of.copy_out(), std::vector<std::uint32_t>(ids, laps + 1));
        EXPECT_EQ(tail.copy_out()[0], std::uint64_t{ids} * laps);
        EXPECT_EQ(places.copy_out(), std::vector<std::uint32_t>(ids, 0)) << "a place was left full";
    });
}

/// One warp alone: order, limit and the share that a warp takes.
struct limit_program {
    static constexpr int cuda_warps = 2;
    std::uint32_t* places;
    std::uint64_t* tail;
    std::uint32_t* wrong;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0) return;
        const id_ring_ref ring(places, 64, tail);
        auto* head = reinterpret_cast<std::uint64_t*>(ctx.shared());
        if (ctx.lane() == 0) *head = 0;
        ctx.sync(full_warp<Ctx>);
        std::uint32_t id = 77;
        expect(ctx, !ring.pop(ctx, head, id) && id == 77);  // empty
        if (ctx.lane() == 0) {
            for (std::uint32_t i = 0; i < 40; ++i) (void)ring.push(ctx, 100 + i);
        }
        ctx.sync(full_warp<Ctx>);
        expect(ctx, ring.pushes(ctx) == 40);
        expect(ctx, !ring.pop(ctx, head, id, 0));
        std::uint32_t taken = 0;
        for (int turn = 0; turn < 80; ++turn) {
            const bool got = ring.pop(ctx, head, id, 37);
            if (got) expect(ctx, id == 100 + taken + static_cast<std::uint32_t>(ctx.lane()));
            taken += static_cast<std::uint32_t>(Ctx::count_lanes(ctx.ballot(full_warp<Ctx>, got)));
        }
        expect(ctx, taken == 37);
        for (int turn = 0; turn < 80; ++turn) {
            taken += static_cast<std::uint32_t>(Ctx::count_lanes(ctx.ballot(full_warp<Ctx>, ring.pop(ctx, head, id))));
        }
        expect(ctx, taken == 40);
    }

private:
    template <class Ctx>
    LANEWAY_FN void expect(Ctx& ctx, bool right) const {
        if (!right) ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
    }
};

TEST_P(id_ring_test, PopsInOrderAndNotBeyondTheLimit) {
    machine machine(GetParam());
    const buffer<std::uint32_t> places(machine.device(0), 64);
    const buffer<std::uint64_t> tail(machine.device(0), 1);
    const buffer<std::uint32_t> wrong(machine.device(0), 1);
    run_programs(machine, small_grid(machine), 10, [&](int) {
        return limit_program{places.data(), tail.data(), wrong.data()};
    });
    EXPECT_EQ(wrong.copy_out()[0], 0u);
}

/// One lane puts more in than there are places, and nobody takes them out.
struct overfull_ids {
    static constexpr int cuda_warps = 2;
    std::uint32_t* places;
    std::uint64_t* tail;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        const id_ring_ref ring(places, 4, tail);
        for (std::uint32_t id = 0; ring.push(ctx, id) == status::ok; ++id) {
        }
    }
};

TEST_P(id_ring_test, APlaceThatNobodyEmptiesIsNamedAtTheDeadline) {
    machine machine(GetParam());
    const buffer<std::uint32_t> places(machine.device(0), 4);
    const buffer<std::uint64_t> tail(machine.device(0), 1);
    const std::string told = told_at_deadline(machine, overfull_ids{places.data(), tail.data()});
    EXPECT_NE(told.find("deadline passed while waiting to push into a worklist: place 4"), std::string::npos) << told;
}

LANEWAY_ON_DEVICES(id_ring_test, lone_device());

}  // namespace laneway::test
