// What the device heap keeps beyond the contract of allocators (allocator_suite.hpp): lanes that allocate and free at
// the same time, pieces that change hands, and what it refuses.
#pragma once

#include "device_heap_pieces.hpp"

namespace laneway::test {

/// Every lane allocates pieces of random sizes, marks them, swaps them for those of other lanes, and frees what it gets
/// after a look at its marks. Lanes go separate ways all the time.
struct swapping_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint64_t slots = 16;

    device_heap_ref heap;
    std::uint64_t* swapped = nullptr;  ///< `slots` addresses; 0: none
    std::uint64_t* wrong = nullptr;
    std::uint64_t seed = 0;
    std::uint64_t steps = 0;
    std::uint64_t max_log2_bytes = 0;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto me =
            static_cast<std::uint64_t>((ctx.block() * ctx.n_warps() + ctx.warp()) * Ctx::warp_lanes + ctx.lane());
        std::uint64_t random = (seed * 1024 + me + 1) * 0x9e3779b97f4a7c15ULL;
        for (std::uint64_t step = 0; step < steps; ++step) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            std::uint64_t* mine = nullptr;
            if (random % 4 != 0) {
                const std::uint64_t log2 = 4 + random / 4 % (max_log2_bytes - 3);
                const std::uint64_t words = (std::uint64_t{1} << log2) / 8;
                mine = static_cast<std::uint64_t*>(heap.allocate(ctx, words * 8));
                if (mine != nullptr) mark(mine, words, me << 32 | step);
            }
            std::uint64_t* const slot = swapped + random / 64 % slots;
            // Partner: itself, by the lane that gets the piece.
            const std::uint64_t other =
                ctx.exchange(slot, reinterpret_cast<std::uint64_t>(mine), order::acq_rel, scope::device);
            if (other != 0 && !free_marked(ctx, reinterpret_cast<std::uint64_t*>(other))) {
                ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
            }
        }
    }

private:
    /// First word: how many words there are, and above that whose they are; the others follow from it.
    LANEWAY_FN static void mark(std::uint64_t* piece, std::uint64_t words, std::uint64_t whose) {
        piece[0] = whose << 16 | words;
        for (std::uint64_t i = 1; i < words; ++i) piece[i] = piece[0] + i;
    }
    template <class Ctx>
    LANEWAY_FN bool free_marked(Ctx& ctx, std::uint64_t* piece) const {
        const std::uint64_t words = piece[0] & 0xffff;
        bool right = words >= 2;
        for (std::uint64_t i = 1; right && i < words; ++i) right = piece[i] == piece[0] + i;
        for (std::uint64_t i = 0; right && i < words; ++i) piece[i] = ~std::uint64_t{0};  // nobody's any more
        return heap.deallocate(ctx, piece) && right;
    }
};

class device_heap_test : public testing::TestWithParam<std::string> {};

inline void expect_whole(const device_heap& heap, const device_heap_options& options) {
    const auto now = heap.statistics();
    EXPECT_EQ(heap.live(), std::vector<held_piece>{});
    EXPECT_EQ(now.free_pages, options.bytes / options.page_bytes);
    EXPECT_EQ(now.largest_free_span, now.free_pages);
}

/// Frees what stands in slots or in a batch.
inline void free_all(machine& machine, const device_heap& heap, const std::vector<held_piece>& held) {
    std::vector<given_piece> pieces;
    for (const auto& one : held) pieces.push_back({static_cast<std::byte*>(one.address), one.bytes, 0});
    if (pieces.empty()) return;
    buffer<given_piece> batch(machine.device(0), pieces.size());
    const buffer<std::uint64_t> wrong(machine.device(0), 1);
    batch.copy_in(pieces);
    run_programs(machine, small_grid(machine), 100, [&](int) {
        return batch_program{heap.ref(), batch_program::deallocate, batch.data(), pieces.size(), wrong.data()};
    });
    EXPECT_EQ(wrong.copy_out()[0], 0u);
}

/// A whole heap gives all of its bytes, in pieces of one size, to lanes that ask together, and is whole afterwards.
inline void expect_gives_all(machine& machine, const device_heap& heap, const device_heap_options& options,
                             std::size_t bytes) {
    const std::uint64_t most = options.bytes / bytes;
    EXPECT_EQ(fill(machine, heap, 0, bytes, most), most) << "pieces of " << bytes << " bytes";
    EXPECT_EQ(heap.live().size(), most);
    EXPECT_EQ(heap.statistics().free_pages, 0u);
    free_all(machine, heap, heap.live());
    expect_whole(heap, options);
}

/// Lanes that ask together, while others hold pieces, get all that is left for one size: what is left is what they
/// hold.
inline void expect_fills_up(machine& machine, const device_heap& heap, const device_heap_options& options,
                            std::size_t bytes) {
    const std::uint64_t most = (options.bytes - heap.statistics().used_bytes) / bytes;
    (void)fill(machine, heap, 0, bytes, most);
    const auto live = heap.live();
    const auto held = std::count_if(live.begin(), live.end(), [&](const auto& one) { return one.bytes == bytes; });
    EXPECT_EQ(static_cast<std::size_t>(held) * bytes % options.page_bytes, 0u)
        << "a page has room for more than " << held << " pieces of " << bytes << " bytes";
}

TEST_P(device_heap_test, PiecesThatChangeHandsAreWhole) {
    every_round_within(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        // Every fourth heap is so small that it runs out.
        device_heap_options size = small_heap(GetParam());
        if (o.seed % 4 == 0) size.bytes /= 8;
        const device_heap heap(machine.device(0), size);
        const buffer<std::uint64_t> swapped(machine.device(0), swapping_program::slots);
        const buffer<std::uint64_t> wrong(machine.device(0), 1);
        const std::uint64_t steps = is_checked(GetParam()) ? 12 : 400;
        const auto log2 = static_cast<std::uint64_t>(std::bit_width(size.page_bytes));
        const std::uint64_t most = o.seed % 3 == 0 ? 6 : log2;  // to two pages
        run_programs(machine, small_grid(machine), 100, [&](int) {
            return swapping_program{heap.ref(), swapped.data(), wrong.data(), o.seed, steps, most};
        });
        EXPECT_EQ(wrong.copy_out()[0], 0u) << "pieces that overlap, or were not freed";
        const auto left = heap.live();
        std::vector<std::uint64_t> expected;
        for (const std::uint64_t address : swapped.copy_out()) {
            if (address != 0) expected.push_back(address);
        }
        std::sort(expected.begin(), expected.end());
        std::vector<std::uint64_t> reported;
        for (const auto& one : left) reported.push_back(reinterpret_cast<std::uint64_t>(one.address));
        EXPECT_EQ(reported, expected) << "what no lane freed, and nothing else, is live";
        const auto now = heap.statistics();
        EXPECT_EQ(now.refused_frees, 0u);
        EXPECT_GT(now.total_allocations, now.live_allocations);
        EXPECT_GE(now.peak_bytes, now.used_bytes);
        EXPECT_LE(now.peak_bytes, now.capacity_bytes);
        for (std::size_t bytes = size.page_bytes / 2; bytes >= 16; bytes /= 2)
            expect_fills_up(machine, heap, size, bytes);
        free_all(machine, heap, heap.live());
        expect_whole(heap, size);
        if (!HasFailure()) expect_gives_all(machine, heap, size, size.page_bytes / 2);  // no page has got lost
    });
}

// Pages change from size to size: one that did not go back to the common stock would be missing in the next turn.
TEST_P(device_heap_test, ServesEverySizeToTheLastPieceOneAfterTheOther) {
    every_round_within(GetParam(), [&](const options& o) {
        if (is_checked(GetParam()) && o.seed > (chosen_seeds() + 4) / 5) return;
        machine machine(o.devices, o.seed);
        const device_heap_options size{.bytes = small_heap(GetParam()).bytes / 8,
                                       .page_bytes = small_heap(GetParam()).page_bytes};
        const device_heap heap(machine.device(0), size);
        for (std::size_t bytes = size.page_bytes / 2; bytes >= 16 && !HasFailure(); bytes /= 2) {
            expect_gives_all(machine, heap, size, bytes);
        }
    });
}

/// One lane asks while another one, which never goes on, is opening the only page: it has given the page its size and
/// taken a piece, but not told others of it.
struct stuck_opener_program {
    static constexpr int cuda_warps = 2;
    device_heap_ref heap;
    std::uint32_t use = 0;
    std::uint64_t* served = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        const device_heap_layout& layout = heap.layout();
        for (std::uint32_t which = 0; which < device_heap_layout::max_openers; ++which) {
            ctx.store(layout.opener_of(use, 0, which), 1u, order::relaxed, scope::device);
        }
        ctx.store(layout.pages, page_word::of(use, 0, 1).bits, order::relaxed, scope::device);
        while (heap.insist(ctx, std::size_t{1} << layout.log2_piece(use)).address != nullptr) ++*served;
    }
};

TEST_P(device_heap_test, RoomOfAPageThatAnotherLaneIsOpeningIsFound) {
    machine machine(GetParam());
    const device_heap heap(machine.device(0), {.bytes = 1024, .page_bytes = 1024});
    const buffer<std::uint64_t> served(machine.device(0), 1);
    const std::uint32_t use = 2;
    run_programs(machine, small_grid(machine), 100, [&](int) {
        return stuck_opener_program{heap.ref(), use, served.data()};
    });
    EXPECT_EQ(served.copy_out()[0], heap.ref().layout().capacity(use) - 1);
}

/// So many lanes ask once, and count what comes of it.
struct asking_program {
    static constexpr int cuda_warps = 2;
    device_heap_ref heap;
    std::size_t bytes = 0;
    std::uint64_t lanes = 0;  ///< that ask
    std::uint64_t* asked = nullptr;
    std::uint64_t* got = nullptr;  ///< served, refused, contended

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.fetch_add(asked, 1, order::relaxed, scope::device) >= lanes) return;
        const heap_piece piece = heap.request(ctx, bytes);
        const int what = piece.address != nullptr ? 0 : piece.contended ? 2 : 1;
        ctx.fetch_add(got + what, 1, order::relaxed, scope::device);
    }
};

// Of a page that a lane is opening, or gives another size, others may have the rest: who asks for a piece meanwhile is
// not told that there is none.
TEST_P(device_heap_test, NobodyIsRefusedWhileTheLastPageIsOpened) {
    every_round_within(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const device_heap heap(machine.device(0), {.bytes = 1024, .page_bytes = 1024});
        constexpr std::uint64_t pieces = 8;
        if (o.seed % 2 == 0) {  // the page has another size, and nothing in it
            EXPECT_EQ(fill(machine, heap, 0, 64, 1), 1u);
            free_all(machine, heap, heap.live());
        }
        for (const std::uint64_t lanes : {pieces, pieces + 4}) {
            const buffer<std::uint64_t> counters(machine.device(0), 4);
            run_programs(machine, small_grid(machine), 100, [&](int) {
                return asking_program{heap.ref(), 1024 / pieces, lanes, counters.data(), counters.data() + 1};
            });
            const std::vector<std::uint64_t> seen = counters.copy_out();
            const std::uint64_t all = std::min(seen[0], lanes);
            EXPECT_EQ(seen[1] + seen[2] + seen[3], all);
            EXPECT_LE(seen[2], all > pieces ? all - pieces : 0) << "refused while there was room";
            free_all(machine, heap, heap.live());
        }
    });
}

/// A lane opens pages for nothing all the time, or has the last page of the quota in hand, for so many turns; the
/// others ask for pieces of random sizes, of which there are enough, and look at what they have written before they
/// free them.
struct ample_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint64_t most = 4;  ///< pieces of a lane, at once

    device_heap_ref heap;
    std::uint64_t seed = 0, steps = 0, turns = 0;
    std::uint64_t max_log2_bytes = 0;
    std::uint64_t* failed = nullptr;  ///< refused, not freed, overwritten
    std::uint64_t pages = 0;          ///< of the quota, all that are not in hand already

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() == 0 && ctx.warp() == 0) return hinder(ctx);
        const auto me =
            static_cast<std::uint64_t>((ctx.block() * ctx.n_warps() + ctx.warp()) * Ctx::warp_lanes + ctx.lane());
        std::uint64_t random = (seed * 1024 + me + 1) * 0x9e3779b97f4a7c15ULL;
        std::uint64_t* pieces[most] = {};
        std::uint64_t words[most] = {};
        for (std::uint64_t step = 0; step < steps + most; ++step) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            const std::uint64_t at = step % most;
            if (pieces[at] != nullptr) give_back(ctx, pieces[at], words[at], me);
            pieces[at] = nullptr;
            if (step >= steps) continue;
            words[at] = (std::uint64_t{2} << random % (max_log2_bytes - 3));
            pieces[at] = static_cast<std::uint64_t*>(heap.insist(ctx, words[at] * 8).address);
            if (pieces[at] == nullptr) tell(ctx, 0);
            if (pieces[at] == nullptr) continue;
            for (std::uint64_t i = 0; i < words[at]; ++i) pieces[at][i] = pattern(me, pieces[at], i);
        }
    }

private:
    LANEWAY_FN static std::uint64_t pattern(std::uint64_t me, const std::uint64_t* piece, std::uint64_t i) {
        return reinterpret_cast<std::uint64_t>(piece) * 0x9e3779b97f4a7c15ULL + (me << 32) + i;
    }
    template <class Ctx>
    LANEWAY_FN void tell(Ctx& ctx, int what) const {
        ctx.fetch_add(failed + what, 1, order::relaxed, scope::device);
    }
    template <class Ctx>
    LANEWAY_FN void give_back(Ctx& ctx, std::uint64_t* piece, std::uint64_t words, std::uint64_t me) const {
        bool right = true;
        for (std::uint64_t i = 0; i < words; ++i) right = right && piece[i] == pattern(me, piece, i);
        if (!right) tell(ctx, 2);
        if (!heap.deallocate(ctx, piece)) tell(ctx, 1);
    }
    /// Takes and gives back what the quota has left, and holds the words of those who open pages by turns.
    template <class Ctx>
    LANEWAY_FN void hinder(Ctx& ctx) const {
        if (ctx.lane() != 0) return;
        const device_heap_layout& layout = heap.layout();
        const page_quota quota(layout);
        for (std::uint64_t turn = 0; turn < turns; ++turn) {
            const bool taken = quota.take(ctx, 0, pages) == quota_answer::taken;
            const auto use = static_cast<std::uint32_t>(1 + turn % (max_log2_bytes - 3));
            for (std::uint32_t which = 0; which < device_heap_layout::max_openers; ++which) {
                std::uint32_t* const word = layout.opener_of(use, 0, which);
                if (ctx.exchange(word, 1u, order::acquire, scope::device) != 0) continue;
                ctx.pause(3);
                ctx.store(word, 0u, order::release, scope::device);
            }
            if (!taken) continue;
            quota.give(ctx, 0, pages);
            quota.finish(ctx, 0);
        }
    }
};

// With pages enough for all that lanes ask for, each in a page of its own, a refusal is untrue, whoever is faster. The
// quota is full now and then, of pages that nobody keeps.
TEST_P(device_heap_test, NobodyIsRefusedWhereThereIsRoom) {
    every_round_within(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const launch_shape shape = small_grid(machine);
        const bool checked = is_checked(GetParam());
        const auto lanes =
            static_cast<std::uint64_t>(shape.blocks * shape.warps_per_block * warp_lanes_of(*machine.device(0)));
        device_heap_options size{.page_bytes = small_heap(GetParam()).page_bytes * (checked ? 1 : 4)};
        const std::uint64_t pages = lanes * ample_program::most + (o.seed % 4 == 0 ? 2 * 512 : 0);
        size.bytes = pages * size.page_bytes;
        const device_heap heap(machine.device(0), size);
        const buffer<std::uint64_t> failed(machine.device(0), 3);
        const std::uint64_t steps = checked ? 12 : 200;
        const auto log2 = static_cast<std::uint64_t>(std::bit_width(size.page_bytes)) - 1;  // to a page, a span
        run_programs(machine, shape, 100, [&](int) {
            return ample_program{heap.ref(), o.seed, steps, 4 * steps, log2, failed.data(), pages - 1};
        });
        EXPECT_EQ(failed.copy_out(), (std::vector<std::uint64_t>{0, 0, 0})) << "refused, not freed, overwritten";
        EXPECT_EQ(heap.statistics().refused_requests, 0u);
        expect_whole(heap, size);
    });
}

/// All lanes insist until each has been refused once.
struct insisting_program {
    static constexpr int cuda_warps = 2;
    device_heap_ref heap;
    std::size_t bytes = 0;
    std::uint64_t* served = nullptr;
    std::uint64_t* contended = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (;;) {
            const heap_piece got = heap.insist(ctx, bytes);
            if (got.address == nullptr && got.contended) ctx.fetch_add(contended, 1, order::relaxed, scope::device);
            if (got.address == nullptr) return;
            ctx.fetch_add(served, 1, order::relaxed, scope::device);
        }
    }
};

// A refusal is true: whoever is refused has left no piece.
TEST_P(device_heap_test, WhoInsistsIsRefusedOnlyWhereNothingIsLeft) {
    every_round_within(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        device_heap_options size = small_heap(GetParam());
        size.bytes /= 4;
        const std::size_t page = size.page_bytes;
        for (const std::size_t bytes : {std::size_t{16}, page / 2, 2 * page}) {
            for (const std::size_t allowed : {size.bytes, 3 * size.bytes / 4}) {
                size.quotas = {{"a", allowed}, {"b"}};
                const device_heap heap(machine.device(0), size);
                const buffer<std::uint64_t> counters(machine.device(0), 2);
                run_programs(machine, small_grid(machine), 100, [&](int) {
                    return insisting_program{heap.ref(), bytes, counters.data(), counters.data() + 1};
                });
                EXPECT_EQ(counters.copy_out()[0], allowed / bytes) << "of " << bytes << " bytes";
                EXPECT_EQ(counters.copy_out()[1], 0u);
            }
        }
    });
}

/// One lane takes all there is, ends the run and insists on more.
struct ending_program {
    static constexpr int cuda_warps = 2;
    device_heap_ref heap;
    std::size_t bytes = 0;
    std::uint64_t* contended = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        while (heap.insist(ctx, bytes).address != nullptr) {
        }
        (void)fail(ctx, status::handler_failed, operation::user_code);
        const heap_piece got = heap.insist(ctx, bytes);
        if (got.address == nullptr && got.contended) ctx.fetch_add(contended, 1, order::relaxed, scope::device);
    }
};

// Where the run is ending nobody looks at every page to be sure that there is no room.
TEST_P(device_heap_test, WhoInsistsGivesUpWhereTheRunIsEnding) {
    for (const std::size_t pages : {std::size_t{1}, std::size_t{2}}) {
        machine machine(GetParam());
        device_heap_options size = small_heap(GetParam());
        const device_heap heap(machine.device(0), size);
        const buffer<std::uint64_t> contended(machine.device(0), 1);
        EXPECT_THROW(run_programs(machine, small_grid(machine), 100,
                                  [&](int) {
                                      return ending_program{heap.ref(), pages * size.page_bytes / 2, contended.data()};
                                  }),
                     device_fault);
        EXPECT_EQ(contended.copy_out()[0], 1u);
    }
}

/// One lane tries what must be refused.
struct refusing_program {
    static constexpr int cuda_warps = 2;
    device_heap_ref heap;
    std::byte* foreign = nullptr;
    std::size_t page_bytes = 0;
    std::uint64_t* wrong = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        auto* const piece = static_cast<std::byte*>(heap.allocate(ctx, 33));
        auto* const other = static_cast<std::byte*>(heap.allocate(ctx, 33));
        auto* const span = static_cast<std::byte*>(heap.allocate(ctx, 2 * page_bytes));
        auto* const least = static_cast<std::byte*>(heap.allocate(ctx, 0));
        expect(ctx, piece != nullptr && other != nullptr && span != nullptr && least != nullptr);
        expect(ctx, heap.allocate(ctx, heap.max_bytes() + 1) == nullptr);
        expect(ctx, heap.allocate(ctx, ~std::size_t{0}) == nullptr);
        expect(ctx, !heap.deallocate(ctx, foreign));
        expect(ctx, !heap.deallocate(ctx, piece + 16) && !heap.deallocate(ctx, piece + 1));
        expect(ctx, !heap.deallocate(ctx, span + 16) && !heap.deallocate(ctx, span + page_bytes));
        expect(ctx, heap.deallocate(ctx, nullptr));
        expect(ctx, heap.deallocate(ctx, piece) && !heap.deallocate(ctx, piece));
        expect(ctx, heap.deallocate(ctx, span) && !heap.deallocate(ctx, span));
        expect(ctx, heap.deallocate(ctx, other) && !heap.deallocate(ctx, other));
        expect(ctx, heap.deallocate(ctx, least) && !heap.deallocate(ctx, least));
    }

private:
    template <class Ctx>
    LANEWAY_FN void expect(Ctx& ctx, bool right) const {
        if (!right) ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
    }
};

TEST_P(device_heap_test, RefusesWhatIsNoLivePiece) {
    machine machine(GetParam());
    const device_heap_options size = small_heap(GetParam());
    const device_heap heap(machine.device(0), size);
    const buffer<std::byte> foreign(machine.device(0), 64);
    const buffer<std::uint64_t> wrong(machine.device(0), 1);
    run_programs(machine, small_grid(machine), 100, [&](int) {
        return refusing_program{heap.ref(), foreign.data(), size.page_bytes, wrong.data()};
    });
    EXPECT_EQ(wrong.copy_out()[0], 0u);
    const auto now = heap.statistics();
    EXPECT_EQ(now.refused_frees, 9u);
    EXPECT_EQ(now.refused_requests, 2u);
    EXPECT_EQ(now.total_allocations, 4u);
    EXPECT_EQ(now.peak_bytes, 4 * size.page_bytes);
    expect_whole(heap, size);
}

/// All lanes of a warp free one piece, or pairs of lanes two pieces of one word, at once.
struct freeing_together_program {
    static constexpr int cuda_warps = 2;
    device_heap_ref heap;
    std::uint64_t* freed = nullptr;
    std::uint64_t* allocated = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        constexpr lane_mask all = full_warp<Ctx>;
        void* pieces[2] = {};
        for (void*& piece : pieces) {
            if (ctx.lane() == 0) piece = heap.allocate(ctx, 40);
        }
        for (void*& piece : pieces) {
            piece = reinterpret_cast<void*>(ctx.shuffle(all, reinterpret_cast<std::uint64_t>(piece), 0));
        }
        if (pieces[0] == nullptr || pieces[1] == nullptr) return;
        ctx.sync(all);
        if (heap.deallocate(ctx, pieces[ctx.lane() % 2])) ctx.fetch_add(freed, 1, order::relaxed, scope::device);
        if (ctx.lane() == 0) ctx.fetch_add(allocated, Ctx::warp_lanes == 1 ? 1 : 2, order::relaxed, scope::device);
        if (Ctx::warp_lanes == 1) (void)heap.deallocate(ctx, pieces[1]);
    }
};

TEST_P(device_heap_test, OfLanesThatFreeOnePieceTogetherOneDoes) {
    every_fourth_round(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const device_heap_options size = small_heap(GetParam());
        const device_heap heap(machine.device(0), size);
        const buffer<std::uint64_t> counters(machine.device(0), 2);
        run_programs(machine, small_grid(machine), 100, [&](int) {
            return freeing_together_program{heap.ref(), counters.data(), counters.data() + 1};
        });
        EXPECT_GT(counters.copy_out()[1], 0u);
        EXPECT_EQ(counters.copy_out()[0], counters.copy_out()[1]);
        expect_whole(heap, size);
    });
}

TEST_P(device_heap_test, QuotasHoldAndEmptyPagesServeWhoeverHasNone) {
    every_round_within(GetParam(), [&](const options& o) {
        if (is_checked(GetParam()) && o.seed > (chosen_seeds() + 4) / 5) return;
        machine machine(o.devices, o.seed);
        device_heap_options size = small_heap(GetParam());
        size.bytes /= 4;
        const std::size_t quarter = size.bytes / 4, page = size.page_bytes;
        size.quotas = {{"a", quarter}, {"b"}, {"c", 2 * quarter + page - 1}};
        const device_heap heap(machine.device(0), size);
        EXPECT_EQ(fill(machine, heap, 0, 16, quarter / 16 + 5), quarter / 16);
        EXPECT_EQ(fill(machine, heap, 1, 64, size.bytes / 64), 3 * quarter / 64);
        EXPECT_EQ(fill(machine, heap, 2, 32, 3), 0u) << "what others hold";
        auto held = heap.live();
        std::erase_if(held, [](const held_piece& one) { return one.quota != 0; });
        free_all(machine, heap, held);
        // Pages of quota 0 are empty and stay set up: quota 2 gets them, and quota 0 gets them back.
        EXPECT_EQ(fill(machine, heap, 2, 32, quarter / 32 + 1), quarter / 32);
        EXPECT_EQ(fill(machine, heap, 0, 16, 1), 0u);
        held = heap.live();
        std::erase_if(held, [](const held_piece& one) { return one.quota == 0; });
        free_all(machine, heap, held);
        EXPECT_EQ(fill(machine, heap, 2, 2 * page, size.bytes / page / 2), quarter / page) << "spans within the quota";
        EXPECT_EQ(fill(machine, heap, 0, page / 2, 2 * size.bytes / page), 2 * quarter / page);
        const auto quotas = heap.quotas();
        ASSERT_EQ(quotas.size(), 3u);
        EXPECT_EQ(quotas[0].held_bytes, quarter);
        EXPECT_EQ(quotas[0].peak_bytes, quarter);
        EXPECT_EQ(quotas[0].live_allocations(), 2 * quarter / page);
        EXPECT_GT(quotas[0].refused_requests, 5u);
        EXPECT_EQ(quotas[1].held_bytes, 0u) << "empty pages go where they are wanted";
        EXPECT_EQ(quotas[1].total_allocations, quotas[1].total_frees);
        EXPECT_EQ(quotas[2].allowed_bytes, 2 * quarter);
        EXPECT_EQ(quotas[2].held_bytes, 2 * quarter);
        free_all(machine, heap, heap.live());
        expect_whole(heap, size);
    });
}

// Half of each page stays live: what that takes away from other sizes is told.
TEST_P(device_heap_test, TellsHowMuchPartlyUsedPagesKeepFromOtherSizes) {
    machine machine(GetParam());
    const device_heap_options size = small_heap(GetParam());
    const device_heap heap(machine.device(0), size);
    EXPECT_EQ(heap.statistics().fragmentation(), 0);
    const std::uint64_t all = size.bytes / 64;
    ASSERT_EQ(fill(machine, heap, 0, 64, all), all);
    EXPECT_EQ(heap.statistics().fragmentation(), 0);
    auto held = heap.live();
    std::vector<held_piece> odd;
    for (std::size_t i = 1; i < held.size(); i += 2) odd.push_back(held[i]);
    free_all(machine, heap, odd);
    EXPECT_EQ(heap.statistics().fragmentation(), 1);
    EXPECT_EQ(fill(machine, heap, 0, 128, 1), 0u);
    EXPECT_EQ(fill(machine, heap, 0, 64, all), all / 2);
    free_all(machine, heap, heap.live());
    EXPECT_EQ(heap.statistics().fragmentation(), 0);
    expect_whole(heap, size);
}

TEST_P(device_heap_test, RefusesSizesThatCannotBe) {
    machine machine(GetParam());
    const auto make = [&](std::size_t bytes, std::size_t page_bytes) {
        return device_heap(machine.device(0), {.bytes = bytes, .page_bytes = page_bytes});
    };
    for (const std::size_t page_bytes : {std::size_t{0}, std::size_t{512}, std::size_t{3000}, std::size_t{2} << 20}) {
        EXPECT_THROW(make(1 << 22, page_bytes), usage_error) << page_bytes;
    }
    EXPECT_THROW(make(4095, 4096), usage_error);
    EXPECT_THROW(make(~std::size_t{0}, 4096), usage_error);
    EXPECT_EQ(make(4096 * 3 - 1, 4096).statistics().capacity_bytes, 8192u);
    EXPECT_EQ(device_heap(machine.device(0)).statistics().free_pages, 1024u);
    static_assert(trivially_copyable<device_heap_ref>);
}

LANEWAY_ON_DEVICES(device_heap_test, lone_device());

}  // namespace laneway::test
