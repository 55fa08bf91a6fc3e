// A heap in the memory of one PE, for its lanes: pieces that they allocate and free at any time, also diverged.
//
// The region is cut into pages. A page holds pieces of one size, a power of two, or belongs to a span of pages for a
// request of more than half a page, or is free. Sizes in pages with bitmaps are those of ScatterAlloc (Steinberger,
// Kenzel, Kainz and Schmalstieg, InPar 2012); here a page serves one size only while it has live pieces.
//
// Why no piece is lost or handed out twice. All depends on two words, changed by atomic updates only:
// - The page word holds the size and how many pieces are held. A lane first raises that number, by a compare_exchange
//   that names the size, so a page changes its use only while nothing is held: whoever holds a piece, or room for one,
//   pins it. There is no ABA: the word says all that its change depends on.
// - Then it takes a bit. Bits are set after room was reserved and cleared before it is given back, so there are never
//   more bits than room that is held, a lane with room finds a clear bit, and a page that is given to the common stock,
//   by a compare_exchange from "nothing held", has none set. Whose fetch_or finds the bit clear has the piece, alone.
// - Sets of pages with room are hints (page_set.hpp): a wrong one costs time, a page that is missed is put back.
// Orders: the fetch_or that takes a bit acquires what the fetch_and that cleared it released, so a piece's next holder
// comes behind its last one; where page and size have changed between them, the page word passes the order on, all of
// whose updates acquire and release. Scope is the device: other PEs may use a piece, but lanes of its own PE free it.
//
// No lane waits without bound: what is tried again is counted. So null may also mean that others were faster too often,
// or were just claiming a span; a request of at most half a page that meets no other but requests is refused only where
// no page has room for it and none is free.
#pragma once

#include "laneway/memory/heap_pages.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

/// Device view of a device_heap; trivially copyable.
class device_heap_ref {
public:
    device_heap_ref() = default;
    explicit device_heap_ref(const device_heap_layout& heap) : heap_(heap) {}

    /// Largest request: 256 pages, or all of them.
    [[nodiscard]] LANEWAY_FN std::size_t max_bytes() const {
        constexpr std::uint32_t most = device_heap_layout::max_span_pages;
        return heap_.page_bytes() * (heap_.n_pages < most ? heap_.n_pages : most);
    }

    /// At least so many bytes, 16 for fewer; null where there is no room, and for more than max_bytes(). Rounded up to
    /// a power of two, or to whole pages from more than half a page on; aligned to that, up to 256. Not cleared. Any
    /// lane; lanes that arrive together share the search. Waits for others a bounded number of times.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN void* allocate(Ctx& ctx, std::size_t bytes) const {
        void* piece = nullptr;
        if (bytes <= heap_.page_bytes() / 2) {
            piece = allocate_piece(ctx, bytes);
        } else if (bytes <= max_bytes()) {
            piece = allocate_span(ctx, static_cast<std::uint32_t>((bytes - 1) >> heap_.log2_page) + 1);
        }
        if (piece == nullptr) count(ctx, device_heap_layout::refused_requests, 1);
        return piece;
    }

    /// Frees what a lane of this PE allocated, whose last access the caller has seen; null is ignored. False, and
    /// nothing changes, for what is not the address of a live piece: a second free is found out where nobody holds that
    /// memory again. Any lane; does not wait.
    template <class Ctx>
    LANEWAY_FN bool deallocate(Ctx& ctx, void* piece) const {
        if (piece == nullptr || give_back(ctx, piece)) return true;
        count(ctx, device_heap_layout::refused_frees, 1);
        return false;
    }

private:
    static constexpr int max_rounds = 64;
    static constexpr std::uint32_t word_bits = 32;

    /// A number that spreads warps.
    template <class Ctx>
    [[nodiscard]] static LANEWAY_FN std::uint32_t spread(const Ctx& ctx) {
        const auto warp = static_cast<std::uint32_t>(ctx.block() * ctx.n_warps() + ctx.warp());
        return warp * 0x9e3779b9u >> 8;
    }
    template <class Ctx>
    LANEWAY_FN void count(Ctx& ctx, std::uint32_t what, std::uint64_t more) const {
        const std::uint32_t line = static_cast<std::uint32_t>(ctx.block()) % device_heap_layout::count_lines;
        ctx.fetch_add(heap_.counts + line * device_heap_layout::line_words + what, more, order::relaxed, scope::device);
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t* word_of(std::uint32_t page, std::uint32_t index) const {
        return heap_.pieces + std::size_t{page} * heap_.piece_words() + index;
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_SLOW void* allocate_piece(Ctx& ctx, std::size_t bytes) const {
        std::uint32_t use = 1;
        while (bytes > std::size_t{1} << heap_.log2_piece(use)) ++use;
        for (int round = 0; round < max_rounds; ++round) {
            const lane_mask here = ctx.converged();
            const lane_mask group = ctx.match(here, use);
            const std::uint64_t reserved = once(ctx, group, [&] { return reserve(ctx, use, group); });
            const auto page = static_cast<std::uint32_t>(reserved >> 32);
            const auto room = static_cast<std::uint32_t>(reserved);
            if (room == 0) return nullptr;
            const auto rank = static_cast<std::uint32_t>(rank_in(ctx, group));
            if (rank >= room) continue;
            if (void* const piece = take(ctx, page, use, rank); piece != nullptr) return piece;
        }
        return nullptr;
    }

    /// For a group: page and number of pieces, in one word.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t reserve(Ctx& ctx, std::uint32_t use, lane_mask group) const {
        const auto wanted = static_cast<std::uint32_t>(Ctx::count_lanes(group));
        const page_reservation got = heap_pages(heap_).reserve(ctx, use, wanted, spread(ctx));
        if (got.count > 0) count(ctx, device_heap_layout::allocated, got.count);
        return std::uint64_t{got.page} << 32 | got.count;
    }

    /// Takes a piece of a page in which the lane has room for one; lanes of a group take neighbours. Null, and the room
    /// is given back, where others took what was seen to be free, too often.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN void* take(Ctx& ctx, std::uint32_t page, std::uint32_t use, std::uint32_t rank) const {
        const std::uint32_t capacity = heap_.capacity(use);
        const std::uint32_t words = capacity < word_bits ? 1 : capacity / word_bits;
        const std::uint32_t valid = capacity < word_bits ? (1u << capacity) - 1 : ~0u;
        for (std::uint32_t i = 0; i < words * max_rounds; ++i) {
            const std::uint32_t index = (spread(ctx) + i) & (words - 1);
            const std::uint32_t free = ~ctx.load(word_of(page, index), order::relaxed, scope::device) & valid;
            if (free == 0) continue;
            const std::uint32_t bit = nth_bit(free, rank % static_cast<std::uint32_t>(Ctx::count_lanes(free)));
            // Partner: the fetch_and in give_back, of the piece's last holder.
            if ((ctx.fetch_or(word_of(page, index), bit, order::acq_rel, scope::device) & bit) != 0) continue;
            const auto number = index * word_bits + static_cast<std::uint32_t>(Ctx::first_lane(bit));
            return heap_.region + (std::size_t{page} << heap_.log2_page) +
                   (std::size_t{number} << heap_.log2_piece(use));
        }
        count(ctx, device_heap_layout::allocated, ~std::uint64_t{0});
        heap_pages(heap_).give_back(ctx, page, use, 1);
        return nullptr;
    }
    [[nodiscard]] static LANEWAY_FN std::uint32_t nth_bit(std::uint32_t bits, std::uint32_t n) {
        for (; n > 0; --n) bits &= bits - 1;
        return bits & (0u - bits);
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN void* allocate_span(Ctx& ctx, std::uint32_t pages) const {
        const std::uint32_t first = heap_pages(heap_).claim_span(ctx, pages);
        if (first == heap_.n_pages) return nullptr;
        count(ctx, device_heap_layout::allocated, 1);
        return heap_.region + (std::size_t{first} << heap_.log2_page);
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_SLOW bool give_back(Ctx& ctx, void* piece) const {
        const std::size_t offset =
            reinterpret_cast<std::uintptr_t>(piece) - reinterpret_cast<std::uintptr_t>(heap_.region);
        if (offset >= heap_.bytes()) return false;
        const auto page = static_cast<std::uint32_t>(offset >> heap_.log2_page);
        const auto inside = static_cast<std::uint32_t>(offset & (heap_.page_bytes() - 1));
        // Relaxed: of a live piece the caller sees what its allocation saw or made of the page.
        const page_word now{ctx.load(heap_.pages + page, order::relaxed, scope::device)};
        const std::uint32_t use = now.use();
        if (use == page_word::span_head) return inside == 0 && heap_pages(heap_).free_span(ctx, page, now);
        if (use == page_word::free || use == page_word::span_body) return false;
        if ((inside & ((1u << heap_.log2_piece(use)) - 1)) != 0) return false;
        const std::uint32_t number = inside >> heap_.log2_piece(use);
        const std::uint32_t bit = 1u << number % word_bits;
        // Partner: the fetch_or in take, of the piece's next holder.
        const std::uint32_t held =
            ctx.fetch_and(word_of(page, number / word_bits), ~bit, order::release, scope::device);
        if ((held & bit) == 0) return false;
        const lane_mask here = ctx.converged();
        const lane_mask group = ctx.match(here, page);
        ctx.sync(group);  // all bits are clear before the room is given back
        if (elected(ctx, group)) {
            heap_pages(heap_).give_back(ctx, page, use, static_cast<std::uint32_t>(Ctx::count_lanes(group)));
        }
        return true;
    }

    device_heap_layout heap_;
};

}  // namespace laneway
