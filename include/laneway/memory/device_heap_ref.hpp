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
// - A page without a live piece keeps its size, and goes on being hinted at, until a page is wanted and none is free:
//   then any lane turns it into another one, from "nothing held" by the same compare_exchange.
//
// Lanes that come together reserve and give back room by one atomic for each page, and take and clear bits by one for
// each word of 32 pieces: an allocation of a whole warp of one size is two atomics, whatever the size.
//
// Pages belong to quotas, as their words say: whoever frees a piece, its page counts for the quota that opened it, and
// a quota that holds as many pages as it may gets no more. Pieces of different quotas never share a page, so what one
// client of the heap leaves behind does not break up the pages of another.
//
// No lane waits without bound: what is tried again is counted. So a request may also find nothing because others were
// faster too often, or had pages in hand that they were about to claim or to give back: it says so (`contended`). A
// refusal without that is of a lane that saw no page in sets and none to open, for which it needs no turn: a page that
// is opened, or gets another size, is in hand until it is in its set, so one of the two is seen. insist()
// then has every page looked at, as sets are hints, and takes as an answer only that none had room when it was looked
// at while no lane had any in hand (page_quota.hpp); lanes that ask together share one look (heap_scan.hpp). It goes on
// until the run's deadline.
#pragma once

#include "laneway/memory/heap_pages.hpp"
#include "laneway/memory/heap_scan.hpp"

namespace laneway {

/// Where a lane looks for room: in sets of pages, which are hints, or at every page.
enum class heap_look : std::uint32_t { at_sets, at_every_page };

/// What a request gets: null where there is no room, or, if it was `contended`, where others were faster.
struct heap_piece {
    void* address = nullptr;
    bool contended = false;
};

/// Device view of a device_heap: of one of its quotas. Trivially copyable.
class device_heap_ref {
public:
    device_heap_ref() = default;
    device_heap_ref(const device_heap_layout& heap, std::uint32_t quota) : heap_(heap), quota_(quota) {}

    [[nodiscard]] LANEWAY_FN const device_heap_layout& layout() const { return heap_; }
    [[nodiscard]] LANEWAY_FN std::uint32_t quota() const { return quota_; }
    /// Largest request: 256 pages, or all of them.
    [[nodiscard]] LANEWAY_FN std::size_t max_bytes() const {
        constexpr std::uint32_t most = device_heap_layout::max_span_pages;
        return heap_.page_bytes() * (heap_.n_pages < most ? heap_.n_pages : most);
    }

    /// At least so many bytes, 16 for fewer; null where there is no room, for more than max_bytes(), and where others
    /// were faster too often. Rounded up to a power of two, or to whole pages from more than half a page on; aligned to
    /// that, up to 256. Not cleared. Any lane; lanes that arrive together share the search. Waits for others a bounded
    /// number of times.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN void* allocate(Ctx& ctx, std::size_t bytes) const {
        return request(ctx, bytes).address;
    }
    /// The same; says beside null why.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN heap_piece request(Ctx& ctx, std::size_t bytes) const {
        const heap_piece got = search(ctx, bytes, heap_look::at_sets);
        if (got.address == nullptr) count(ctx, quota_, device_heap_layout::refused_requests, 1);
        return got;
    }
    /// The same, until the run's deadline where others are faster: null where every page has been looked at and none
    /// has room, and for more than max_bytes(); or, contended, where the run is ending.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN heap_piece insist(Ctx& ctx, std::size_t bytes) const {
        const wait_site site{operation::allocate_memory, ctx.pe(), bytes};
        bounded_spin spin;
        do {
            heap_piece got = search(ctx, bytes, heap_look::at_sets);
            if (got.address != nullptr) return got;
            if (stopped(ctx)) break;
            // Also where others were faster: who looks at every page misses none.
            if (bytes <= max_bytes()) got = search(ctx, bytes, heap_look::at_every_page);
            if (got.address != nullptr) return got;
            if (!got.contended) {
                count(ctx, quota_, device_heap_layout::refused_requests, 1);
                return got;
            }
        } while (spin.next(ctx, site) == status::ok);
        return {nullptr, true};
    }

    /// Frees what a lane of this PE allocated, of whichever quota, whose last access the caller has seen; null is
    /// ignored. False, and nothing changes, for what is not the address of a live piece: a second free is found out
    /// where nobody holds that memory again. Any lane; does not wait.
    template <class Ctx>
    LANEWAY_FN bool deallocate(Ctx& ctx, void* piece) const {
        if (piece == nullptr || give_back(ctx, piece)) return true;
        count(ctx, quota_, device_heap_layout::refused_frees, 1);
        return false;
    }

private:
    static constexpr std::uint32_t max_rounds = 64;
    static constexpr std::uint32_t word_bits = 32;
    static constexpr std::uint64_t contended = std::uint64_t{1} << 32;  ///< of what told() says

    /// A number that spreads warps, the same for a warp's first attempts; `attempt` spreads later ones.
    template <class Ctx>
    [[nodiscard]] static LANEWAY_FN std::uint32_t spread(const Ctx& ctx, std::uint32_t attempt = 0) {
        const auto warp = static_cast<std::uint32_t>(ctx.block() * ctx.n_warps() + ctx.warp());
        std::uint32_t mixed = (warp + 1) * 0x9e3779b9u + attempt * 0x85ebca6bu;
        mixed = (mixed ^ mixed >> 15) * 0x2c1b3c6du;
        return mixed ^ mixed >> 13;
    }
    template <class Ctx>
    LANEWAY_FN void count(Ctx& ctx, std::uint32_t quota, std::uint32_t what, std::uint64_t more) const {
        const std::uint32_t line = static_cast<std::uint32_t>(ctx.block()) % device_heap_layout::count_lines;
        ctx.fetch_add(heap_.counters_of(quota, line) + what, more, order::relaxed, scope::device);
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t* word_of(std::uint32_t page, std::uint32_t index) const {
        return heap_.pieces + std::size_t{page} * heap_.piece_words() + index;
    }
    [[nodiscard]] static LANEWAY_FN std::uint32_t nth_bit(std::uint32_t bits, std::uint32_t n) {
        for (; n > 0; --n) bits &= bits - 1;
        return bits & (0u - bits);
    }
    /// The lowest `n` bits, or all.
    [[nodiscard]] static LANEWAY_FN std::uint32_t lowest_bits(std::uint32_t bits, std::uint32_t n) {
        std::uint32_t rest = bits;
        for (; n > 0 && rest != 0; --n) rest &= rest - 1;
        return bits & ~rest;
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN heap_piece search(Ctx& ctx, std::size_t bytes, heap_look look) const {
        if (bytes <= heap_.page_bytes() / 2) return allocate_piece(ctx, bytes, look);
        if (bytes > max_bytes()) return {};
        return allocate_span(ctx, bytes, look);
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_SLOW heap_piece allocate_piece(Ctx& ctx, std::size_t bytes, heap_look look) const {
        std::uint32_t use = 1;
        while (bytes > std::size_t{1} << heap_.log2_piece(use)) ++use;
        std::uint32_t part = 0;  // of the lanes of this size: those of one look for a page together
        for (std::uint32_t round = 0; round < max_rounds; ++round) {
            const std::uint64_t kind =
                std::uint64_t{quota_} << 32 | part << 16 | static_cast<std::uint32_t>(look) << 8 | use;
            const lane_mask group = ctx.match(mates(ctx, ctx.converged(), heap_.region), kind);
            const std::uint32_t start = spread(ctx, round * Ctx::warp_lanes + part);
            const std::uint64_t reserved = once(ctx, group, [&] {
                const auto wanted = static_cast<std::uint32_t>(Ctx::count_lanes(group));
                return told(ctx, look == heap_look::at_sets
                                     ? heap_pages(heap_, quota_).reserve(ctx, use, wanted, start)
                                     : heap_scan(heap_, quota_, bytes).reserve(ctx, use, wanted));
            });
            const auto page = static_cast<std::uint32_t>(reserved >> 32);
            const auto room = static_cast<std::uint32_t>(reserved);
            if (room == 0) return {nullptr, reserved == contended};
            const auto rank = static_cast<std::uint32_t>(rank_in(ctx, group));
            if (rank < room) {
                void* const piece = take(ctx, lowest_bits(group, room), page, use);
                if (piece != nullptr) return {piece};
            } else {
                if (look == heap_look::at_every_page) break;  // sets know of that page now, and of others
                // Other pages have as little room as this one, where pieces are freed that do not lie together.
                part = rank / room - 1;
            }
        }
        return {nullptr, true};
    }

    /// Page and number of pieces, in one word; `contended`, or 0, where there are none.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t told(Ctx& ctx, const page_reservation& got) const {
        if (got.count == 0) return got.contended ? contended : 0;
        count(ctx, quota_, device_heap_layout::allocated, got.count);
        return std::uint64_t{got.page} << 32 | got.count;
    }

    /// A piece for each lane of a group that has room for them in a page. Null, and the room is given back, where
    /// others took what was seen to be free, too often. The group, together.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN void* take(Ctx& ctx, lane_mask group, std::uint32_t page, std::uint32_t use) const {
        const std::uint32_t capacity = heap_.capacity(use);
        const std::uint32_t words = capacity < word_bits ? 1 : capacity / word_bits;
        const std::uint32_t first = ctx.shuffle(group, spread(ctx), Ctx::first_lane(group));
        const auto lanes = static_cast<std::uint32_t>(Ctx::count_lanes(group));
        const auto rank = static_cast<std::uint32_t>(rank_in(ctx, group));
        void* piece = nullptr;
        std::uint32_t served = 0;
        for (std::uint32_t i = 0; i < words * max_rounds && served < lanes; ++i) {
            const std::uint32_t index = (first + i) & (words - 1);
            const std::uint32_t got =
                once(ctx, group, [&] { return take_bits(ctx, page, use, index, lanes - served); });
            const auto more = static_cast<std::uint32_t>(Ctx::count_lanes(got));
            if (rank - served < more) {
                const auto bit = static_cast<std::uint32_t>(Ctx::first_lane(nth_bit(got, rank - served)));
                piece = heap_.region + (std::size_t{page} << heap_.log2_page) +
                        (std::size_t{index * word_bits + bit} << heap_.log2_piece(use));
            }
            served += more;
        }
        ctx.sync(group);  // what the leader has acquired is there for all
        if (served < lanes && elected(ctx, group)) {
            count(ctx, quota_, device_heap_layout::allocated, std::uint64_t{served} - lanes);
            heap_pages(heap_, quota_).give_back(ctx, page, use, lanes - served);
        }
        return piece;
    }

    /// Bits of free pieces, `wanted` at most, of one word. One lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t take_bits(Ctx& ctx, std::uint32_t page, std::uint32_t use,
                                                     std::uint32_t index, std::uint32_t wanted) const {
        const std::uint32_t capacity = heap_.capacity(use);
        const std::uint32_t valid = capacity < word_bits ? (1u << capacity) - 1 : ~0u;
        const std::uint32_t free = ~ctx.load(word_of(page, index), order::relaxed, scope::device) & valid;
        if (free == 0) return 0;
        const std::uint32_t bits = lowest_bits(free, wanted);
        // Partner: the fetch_and in clear_bit, of the pieces' last holders.
        return bits & ~ctx.fetch_or(word_of(page, index), bits, order::acq_rel, scope::device);
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN heap_piece allocate_span(Ctx& ctx, std::size_t bytes, heap_look look) const {
        const auto pages = static_cast<std::uint32_t>((bytes - 1) >> heap_.log2_page) + 1;
        const page_reservation got = look == heap_look::at_sets
                                         ? heap_pages(heap_, quota_).claim_span(ctx, pages)
                                         : heap_scan(heap_, quota_, bytes).claim_span(ctx, pages);
        if (got.count == 0) return {nullptr, got.contended};
        count(ctx, quota_, device_heap_layout::allocated, 1);
        return {heap_.region + (std::size_t{got.page} << heap_.log2_page)};
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
        const std::uint32_t use = now.use(), quota = now.quota();
        if (use == page_word::span_head) {
            if (inside != 0 || !heap_pages(heap_, quota).free_span(ctx, page, now)) return false;
            count(ctx, quota, device_heap_layout::freed, 1);
            return true;
        }
        if (!heap_.is_pieces(use) || (inside & ((1u << heap_.log2_piece(use)) - 1)) != 0) return false;
        const bool held = clear_bit(ctx, page, inside >> heap_.log2_piece(use));
        const lane_mask group = ctx.match(mates(ctx, ctx.converged(), heap_.region), page);
        const lane_mask freed = ctx.ballot(group, held);
        ctx.sync(group);  // all bits are clear before the room is given back
        if (held && elected(ctx, freed)) {
            const auto pieces = static_cast<std::uint32_t>(Ctx::count_lanes(freed));
            count(ctx, quota, device_heap_layout::freed, pieces);
            heap_pages(heap_, quota).give_back(ctx, page, use, pieces);
        }
        return held;
    }

    /// Clears a piece's bit; false where it was not set, or another lane that came along clears it. Lanes with pieces
    /// in one word clear theirs with one atomic.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool clear_bit(Ctx& ctx, std::uint32_t page, std::uint32_t number) const {
        const std::uint32_t bit = 1u << number % word_bits;
        const lane_mask group =
            ctx.match(mates(ctx, ctx.converged(), heap_.region), std::uint64_t{page} << 32 | number / word_bits);
        const std::uint32_t bits = reduce(ctx, group, bit, [](std::uint32_t a, std::uint32_t b) { return a | b; });
        bool first = true;
        if (Ctx::count_lanes(bits) != Ctx::count_lanes(group)) first = elected(ctx, ctx.match(group, bit));
        ctx.sync(group);  // what all lanes did with their pieces comes before
        const std::uint32_t before = once(ctx, group, [&] {
            // Partner: the fetch_or in take_bits, of the pieces' next holders.
            return ctx.fetch_and(word_of(page, number / word_bits), ~bits, order::acq_rel, scope::device);
        });
        return first && (before & bit) != 0;
    }

    device_heap_layout heap_;
    std::uint32_t quota_ = 0;
};

}  // namespace laneway
