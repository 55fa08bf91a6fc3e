// Transfers: by whom and how they are carried out.
#pragma once

#include "transfer_job.hpp"

namespace laneway::test {
namespace {

/// One lane of each PE posts a large copy to the next, and returns.
struct post_large {
    symmetric_ref<std::uint64_t> from;
    symmetric_ref<std::uint64_t> to;

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        if (ctx.local_rank() != 0) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        (void)moves.post(ctx, transfer::copy(from[0], ctx.pe(), to[0], next, from.size()));  // a failure ends the run
    }
};

TEST_P(transfers_test, MethodsAreChosenAndWarpsLentByLoad) {
    std::uint64_t lent = 0;
    for (std::uint64_t round = 0; round < 4; ++round) {
        runtime rt(options_of(GetParam(), round));
        constexpr std::uint64_t words = 4096;
        auto from = rt.allocate<std::uint64_t>(words);
        const auto to = rt.allocate<std::uint64_t>(words);
        std::vector<std::uint64_t> values(words);
        std::iota(values.begin(), values.end(), round * words + 1);
        for (int pe = 0; pe < rt.n_pes(); ++pe) from.copy_in(pe, values);
        transfer_options how;
        how.by = round % 2 == 0 ? transfer_service::supervised : transfer_service::static_blocks;
        how.piece_bytes = 512;
        how.engine_bytes = round / 2 * 4096;
        transfers moves(rt.machine(), how);
        rt.run(post_large{from.ref(), to.ref()}, moves);
        const transfer_statistics found = moves.statistics();
        const auto pes = static_cast<std::uint64_t>(rt.n_pes());
        EXPECT_EQ(found.transfers, pes);
        // Nobody checks the accesses of copy hardware, and within a PE no copy engine is used.
        const bool by_engine = how.engine_bytes != 0 && pes > 1;
        const transfer_method chosen = is_checked(GetParam()) ? transfer_method::warps
                                       : by_engine            ? transfer_method::engine
                                                              : transfer_method::bulk;
        EXPECT_EQ(found.of(chosen).transfers, pes);
        if (chosen != transfer_method::bulk) {
            EXPECT_EQ(found.of(chosen).bytes, pes * words * 8);
        } else {  // warps of a block that find its hardware in use copy themselves
            EXPECT_EQ(found.of(transfer_method::bulk).bytes + found.of(transfer_method::warps).bytes, pes * words * 8);
        }
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(to.copy_out((pe + 1) % rt.n_pes()), values);
        if (how.by == transfer_service::static_blocks) {
            EXPECT_EQ(found.lent_pieces, 0u);
            EXPECT_EQ(found.max_lent, 0u);
        }
        EXPECT_LE(found.lent_pieces, pes * words * 8 / 512);
        lent += found.lent_pieces;
    }
    if (is_checked(GetParam())) {
        EXPECT_GT(lent, 0u);
    }
}

/// One lane of each PE posts rows to the next: far apart, and one behind the other.
struct post_rows {
    symmetric_ref<std::uint64_t> from, to;
    std::uint64_t row, pitch;

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        if (ctx.local_rank() != 0) return;
        const int me = ctx.pe(), next = (me + 1) % ctx.n_pes();
        (void)moves.post(ctx, transfer::strided(from[0], me, pitch, to[0], next, pitch, from.size() / pitch, row));
    }
};

TEST_P(transfers_test, RowsGoByTheMethodThatSuitsThem) {
    runtime rt(options_of(GetParam(), 1));
    if (is_checked(GetParam())) return;  // all go by lanes
    constexpr std::uint64_t words = 8192;
    auto from = rt.allocate<std::uint64_t>(words);
    auto to = rt.allocate<std::uint64_t>(words);
    std::vector<std::uint64_t> values(words), sparse(words);
    std::iota(values.begin(), values.end(), 1);
    const auto pes = static_cast<std::uint64_t>(rt.n_pes());
    const auto expect = [&](std::uint64_t row, std::uint64_t pitch, std::uint64_t engine_bytes, transfer_method by) {
        SCOPED_TRACE(std::to_string(row) + " of " + std::to_string(pitch));
        for (std::uint64_t i = 0; i < words; ++i) sparse[i] = i % pitch < row ? values[i] : 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            from.copy_in(pe, values);
            to.copy_in(pe, std::vector<std::uint64_t>(words));
        }
        transfer_options how;
        how.engine_bytes = engine_bytes;
        transfers moves(rt.machine(), how);
        rt.run(post_rows{from.ref(), to.ref(), row, pitch}, moves);
        EXPECT_EQ(moves.statistics().of(by).transfers, pes);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(to.copy_out(pe), sparse);
    };
    using by = transfer_method;
    expect(4, 4, 0, by::bulk);  // 64 KiB in one row
    expect(4, 8, 0, by::warps);
    expect(512, 1024, 0, by::bulk);
    const by engine = pes > 1 ? by::engine : by::bulk;
    expect(4, 4, 1024, engine);
    expect(512, 1024, 1024, engine);
    expect(4, 8, 1024, by::warps);
}

/// All warps of each PE post together, and one lane more than there are slots, under a key. `ends`: an error of the
/// last.
struct post_in_laps {
    static constexpr std::uint64_t together = 20, alone = 70;
    symmetric_ref<std::uint64_t> from, to, told;
    bool ends;

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        const int me = ctx.pe(), next = (me + 1) % ctx.n_pes();
        for (std::uint64_t i = 0; i < together; ++i) {
            const auto sent = moves.post_pe(ctx, transfer::copy(from[i], me, to[i], next, 1).notify(told[0]));
            if (sent.code != status::ok || moves.wait(ctx, sent.value) != status::ok) return;
        }
        if (ctx.local_rank() != 0) return;
        for (std::uint64_t i = 0; i < alone; ++i) {
            const int other = ends && i + 1 == alone && me == 0 ? ctx.n_pes() : next;
            const std::uint64_t at = together + i;
            if (moves.post(ctx, transfer::copy(from[at], me, to[at], other, 1).under(1)).code != status::ok) return;
        }
        (void)moves.wait_key(ctx, 1);
    }
};

TEST_P(transfers_test, SlotsAndKeysRunOnFromRunToRun) {
    runtime rt(options_of(GetParam(), 1));
    constexpr std::uint64_t words = post_in_laps::together + post_in_laps::alone;
    auto from = rt.allocate<std::uint64_t>(words), to = rt.allocate<std::uint64_t>(words);
    auto told = rt.allocate<std::uint64_t>(1);
    transfer_options how;
    how.slots = 64;
    transfers moves(rt.machine(), how);
    const auto run = [&](std::uint64_t number, bool ends) {
        SCOPED_TRACE("run " + std::to_string(number));
        std::vector<std::uint64_t> values(words);
        std::iota(values.begin(), values.end(), number * 1000);
        for (int pe = 0; pe < rt.n_pes(); ++pe) from.copy_in(pe, values), told.copy_in(pe, {0});
        rt.run(post_in_laps{from.ref(), to.ref(), told.ref(), ends}, moves);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(to.copy_out(pe), values);
            EXPECT_EQ(told.copy_out(pe)[0], post_in_laps::together);
        }
        EXPECT_EQ(moves.statistics().transfers, words * static_cast<std::uint64_t>(rt.n_pes()));
    };
    run(1, false);
    const std::uint64_t filled = fills(rt);
    run(2, false);
    run(3, false);
    EXPECT_EQ(fills(rt), filled);
    says_so(thrown<device_fault>([&] { run(4, true); }), "no such PE");
    run(5, false);  // and behind an error all is cleared
    EXPECT_GT(fills(rt), filled);
    run(6, false);
}

/// A lane posts a large copy, and small ones one after the other until it is done.
struct post_small_beside_large {
    symmetric_ref<std::uint64_t> from;
    symmetric_ref<std::uint64_t> to;
    symmetric_ref<std::uint64_t> words;
    symmetric_ref<std::uint64_t> came;  ///< small ones meanwhile

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        if (ctx.rank() != 0) return;
        const auto large = moves.post(ctx, transfer::copy(from[0], 0, to[0], 0, from.size()));
        if (large.code != status::ok) return;
        std::uint64_t n = 0;
        while (!moves.test(ctx, large.value)) {
            const auto small = moves.post(ctx, transfer::copy(words[0], 0, words[1], 0, 1));
            if (small.code != status::ok || moves.wait(ctx, small.value) != status::ok) return;
            ++n;
        }
        *address(ctx, came[0], 0) = n;
    }
};

TEST_P(transfers_test, ALargeCopyHoldsUpNoOther) {
    for (const transfer_service by : {transfer_service::static_blocks, transfer_service::supervised}) {
        options o = options_of(GetParam(), 1);
        o.checked_blocks = 2;
        o.checked_warps = 2;
        runtime rt(o);
        const auto from = rt.allocate<std::uint64_t>(1 << 14), to = rt.allocate<std::uint64_t>(1 << 14);
        const auto words = rt.allocate<std::uint64_t>(2), came = rt.allocate<std::uint64_t>(1);
        transfer_options how;
        how.by = by;
        how.piece_bytes = 512;
        transfers moves(rt.machine(), how);
        rt.run(post_small_beside_large{from.ref(), to.ref(), words.ref(), came.ref()}, moves);
        // How many come depends on time elsewhere.
        if (is_checked(GetParam())) {
            EXPECT_GE(came.copy_out(0)[0], 6u);
        }
    }
}

/// Warps of the first half wait in their bodies, one lane each, for copies that the first posts, fewer at once than
/// these warps are; the others have nothing to do.
struct wait_in_half {
    static constexpr std::uint64_t copies = 24;
    symmetric_ref<std::uint64_t> from;
    symmetric_ref<std::uint64_t> to;
    symmetric_ref<std::uint64_t> told;

    template <class Ctx, class Transfers>
    LANEWAY_FN void operator()(Ctx& ctx, Transfers& moves) const {
        const std::uint64_t lanes = ctx.local_size();
        if (ctx.pe() != 0 || ctx.lane() != 0 || ctx.local_rank() >= lanes / 2) return;
        for (std::uint64_t i = 0; i < copies && ctx.rank() == 0; ++i) {
            const auto t = transfer::copy(from[i * 64], 0, to[i * 64], 0, 64).notify(told[0]);
            if (moves.post(ctx, t).code != status::ok) return;
            if (i % 3 == 2 && moves.wait_signal(ctx, told[0], i + 1) != status::ok) return;
        }
        (void)moves.wait_signal(ctx, told[0], copies);  // a failure ends the run
    }
};

TEST_P(transfers_test, AnyWarpWithNothingToDoIsLent) {
    if (!is_checked(GetParam())) GTEST_SKIP() << "which warps are free at a time depends on the device";
    std::uint64_t lent = 0;
    for (std::uint64_t round = 0; round < 2; ++round) {
        options o = options_of(GetParam(), round);
        o.checked_blocks = 5;
        o.checked_warps = 2;
        runtime rt(o);
        const auto from = rt.allocate<std::uint64_t>(64 * 24), to = rt.allocate<std::uint64_t>(64 * 24);
        const auto told = rt.allocate<std::uint64_t>(1);
        transfer_options how;
        how.by = transfer_service::supervised;
        how.piece_bytes = 512;
        transfers moves(rt.machine(), how);
        rt.run(wait_in_half{from.ref(), to.ref(), told.ref()}, moves);
        const transfer_statistics found = moves.statistics();
        lent += found.lent_pieces;
        EXPECT_LE(found.max_lent, 10u);
        EXPECT_TRUE(found.max_lent > 0 || found.lent_pieces == 0);
    }
    EXPECT_GT(lent, 0u);
}

}  // namespace
}  // namespace laneway::test
