// Looks at every page, which refuse: who is refused together with others shares their looks, and is not disturbed by
// them.
#pragma once

#include "device_heap_pieces.hpp"

namespace laneway::test {

class heap_scan_test : public testing::TestWithParam<std::string> {};

/// Each lane insists once on a piece of a size and quota of its own, of a heap that another quota has used up.
struct refused_program {
    static constexpr int cuda_warps = 4;
    static constexpr std::uint32_t n_quotas = 3;

    device_heap_ref heaps[n_quotas] = {};
    std::uint64_t sizes = 0;  ///< from 16 bytes on
    std::uint64_t* contended = nullptr;
    std::uint64_t* served = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto warp = static_cast<std::uint32_t>(ctx.block() * ctx.n_warps() + ctx.warp());
        const auto me = static_cast<std::uint64_t>(warp * Ctx::warp_lanes) + static_cast<std::uint64_t>(ctx.lane());
        const heap_piece got = heaps[warp % n_quotas].insist(ctx, std::size_t{16} << me % sizes);
        if (got.address != nullptr) ctx.fetch_add(served, 1, order::relaxed, scope::device);
        if (got.contended) ctx.fetch_add(contended, 1, order::relaxed, scope::device);
    }
};
/// So many lanes that most are refused while others are.
inline launch_shape refused_grid(const machine& machine) {
    launch_shape shape = small_grid(machine);
    shape.blocks *= 4;
    shape.warps_per_block *= 2;
    return shape;
}

// The looks of one lane at every page do not make those of another unsure, though quotas have room for pages that the
// heap has not, and each look takes one of these.
TEST_P(heap_scan_test, LanesOfAllSizesAndQuotasAreRefusedTogether) {
    every_round_within(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        device_heap_options size = small_heap(GetParam());
        size.quotas = {{"a"}, {"b"}, {"c"}, {"all"}};
        const device_heap heap(machine.device(0), size);
        ASSERT_EQ(fill(machine, heap, 3, size.page_bytes / 2, 2 * size.bytes / size.page_bytes),
                  2 * size.bytes / size.page_bytes);
        const buffer<std::uint64_t> counters(machine.device(0), 2);
        const auto sizes = static_cast<std::uint64_t>(std::bit_width(size.page_bytes)) - 3;  // to two pages
        const launch_shape shape = refused_grid(machine);
        run_programs(machine, shape, 100, [&](int) {
            return refused_program{
                {heap.ref(0), heap.ref(1), heap.ref(2)}, sizes, counters.data(), counters.data() + 1};
        });
        EXPECT_EQ(counters.copy_out(), (std::vector<std::uint64_t>{0, 0})) << "contended, served";
        EXPECT_GT(heap.statistics().refused_requests, 0u);
    });
}

/// How often lanes have looked at every page for pieces of a size.
struct scans_program {
    static constexpr int cuda_warps = 2;
    device_heap_ref heap;
    std::uint32_t use = 0;
    std::uint64_t* scans = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        const std::uint64_t* const words = heap.layout().scans_of(use, heap.quota());
        *scans = ctx.load(words + device_heap_layout::scans_begun, order::relaxed, scope::device);
    }
};

// Of lanes that a full heap refuses few look at every page: each takes the answer of a look that began after it had
// asked.
TEST_P(heap_scan_test, WhoIsRefusedTakesTheAnswerOfAnothersLook) {
    every_round_within(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        device_heap_options size = small_heap(GetParam());
        size.bytes *= 16;
        const device_heap heap(machine.device(0), size);
        ASSERT_EQ(fill(machine, heap, 0, size.page_bytes / 2, 2 * size.bytes / size.page_bytes),
                  2 * size.bytes / size.page_bytes);
        const buffer<std::uint64_t> counters(machine.device(0), 3);
        const launch_shape shape = refused_grid(machine);
        const device_heap_ref one = heap.ref();
        run_programs(machine, shape, 100, [&](int) {
            return refused_program{{one, one, one}, 1, counters.data(), counters.data() + 1};
        });
        run_programs(machine, small_grid(machine), 100, [&](int) {
            return scans_program{one, 1, counters.data() + 2};
        });
        const auto warps = static_cast<std::uint64_t>(shape.blocks * shape.warps_per_block);
        EXPECT_EQ(counters.copy_out()[0] + counters.copy_out()[1], 0u);
        EXPECT_GE(counters.copy_out()[2], 1u);
        const bool together = is_checked(GetParam()) || machine.device(0)->is_gpu();  // threads may come one by one
        EXPECT_LE(counters.copy_out()[2], together ? warps / 4 : warps) << "looks, of " << warps << " warps";
        EXPECT_GT(heap.statistics().refused_requests, 0u);
    });
}

/// Lanes of every second warp ask for a page of a quota that is full. The others take and free pages of another one,
/// which has one for each lane; but now and then a lane has half of these in hand, so that sets do not decide.
struct neighbours_program {
    static constexpr int cuda_warps = 4;

    device_heap_ref full, roomy;
    std::uint64_t steps = 0;
    std::uint64_t pages = 0;  ///< of the second quota
    std::uint64_t* wrong = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() == 0 && ctx.warp() == 0) return hinder(ctx);
        const bool refused = (ctx.block() * ctx.n_warps() + ctx.warp()) % 2 != 0;
        const device_heap_ref& heap = refused ? full : roomy;
        for (std::uint64_t step = 0; step < steps; ++step) {
            void* const page = heap.insist(ctx, heap.layout().page_bytes()).address;
            ctx.pause();
            const bool freed = heap.deallocate(ctx, page);
            if ((page == nullptr) != refused || !freed) ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN void hinder(Ctx& ctx) const {
        const page_quota quota(roomy.layout());
        for (std::uint64_t turn = 0; ctx.lane() == 0 && turn < 8 * steps; ++turn) {
            if (quota.take(ctx, roomy.quota(), pages / 2) != quota_answer::taken) continue;
            ctx.pause();
            quota.give(ctx, roomy.quota(), pages / 2);
            quota.finish(ctx, roomy.quota());
        }
    }
};

// What a look has told of pages for a quota that may have no more is no answer for another one.
TEST_P(heap_scan_test, WhoHasRoomIsNotRefusedForAnothersQuota) {
    every_round_within(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const launch_shape shape = refused_grid(machine);
        const int warp_lanes = machine.device(0)->is_gpu() ? 32 : is_checked(GetParam()) ? 4 : 1;
        const auto pages = static_cast<std::size_t>(shape.blocks * shape.warps_per_block * warp_lanes / 2);
        const std::size_t page = small_heap(GetParam()).page_bytes;
        const device_heap heap(
            machine.device(0),
            {.bytes = (1 + pages) * page, .page_bytes = page, .quotas = {{"full", page}, {"roomy", pages * page}}});
        ASSERT_EQ(fill(machine, heap, 0, page, 1), 1u);
        const buffer<std::uint64_t> wrong(machine.device(0), 1);
        const std::uint64_t steps = is_checked(GetParam()) ? 8 : 100;
        run_programs(machine, shape, 100, [&](int) {
            return neighbours_program{heap.ref(0), heap.ref(1), steps, pages, wrong.data()};
        });
        EXPECT_EQ(wrong.copy_out()[0], 0u) << "refused though there was room, or served though there was none";
    });
}

LANEWAY_ON_DEVICES(heap_scan_test, lone_device());

}  // namespace laneway::test
