// The pages of a device heap: room for pieces is reserved in them and given back. See device_heap_ref.hpp for why
// nothing is lost.
#pragma once

#include "laneway/memory/device_heap_layout.hpp"

namespace laneway {

/// Pieces that a lane may take in a page; none where `count` is 0.
struct page_reservation {
    std::uint32_t page = 0;
    std::uint32_t count = 0;
};

/// Called by one lane for all that arrived with it.
class heap_pages {
public:
    LANEWAY_FN explicit heap_pages(const device_heap_layout& heap) : heap_(heap) {}

    /// Room for 1 to `wanted` pieces of a size, in one page. `start` spreads lanes over pages. Waits for a lane that
    /// opens a page of that size, a bounded number of times.
    template <class Ctx>
    [[nodiscard]] LANEWAY_SLOW page_reservation reserve(Ctx& ctx, std::uint32_t use, std::uint32_t wanted,
                                                        std::uint32_t start) const {
        page_reservation found;
        // One lane of all that find no room opens a page for them: else each would have one.
        in_turn(ctx, use, [&](bool opens) {
            bool sure = in_open_page(ctx, use, wanted, start, found);
            if (found.count == 0 && opens) sure = in_fresh_page(ctx, use, wanted, start, found) && sure;
            return found.count != 0 || (opens && sure);
        });
        return found;
    }

    /// Gives back room for pieces whose bits are clear. The page goes to the common stock with its last piece.
    template <class Ctx>
    LANEWAY_SLOW void give_back(Ctx& ctx, std::uint32_t page, std::uint32_t use, std::uint32_t count) const {
        // Partner: the compare_exchange in reserve_in or claim: what the holders did comes before what the next do.
        const page_word before{
            ctx.fetch_add(heap_.pages + page, 0u - count * page_word::one, order::acq_rel, scope::device)};
        if (before.number() == heap_.capacity(use)) heap_.set_of(use).insert(ctx, page);
        if (before.number() != count) return;
        std::uint32_t empty = page_word::of(use, 0).bits;
        // It fails where another lane has reserved room or emptied the page.
        if (!ctx.compare_exchange(heap_.pages + page, empty, page_word::span_body, order::acq_rel, scope::device)) {
            return;
        }
        count_pages(ctx, ~std::uint64_t{0});  // before another lane can have the page, and count it
        take_out(ctx, page, use);
        free_page(ctx, page);
    }

    /// Claims so many free pages in a row, from the end of the region on, where pieces take pages last; returns the
    /// first, n_pages where there are none. Waits for another lane that does so, a bounded number of times.
    template <class Ctx>
    [[nodiscard]] LANEWAY_SLOW std::uint32_t claim_span(Ctx& ctx, std::uint32_t count) const {
        std::uint32_t first = heap_.n_pages;
        // In turn, as two that claim pages of one row would refuse each other.
        in_turn(ctx, page_word::free, [&](bool claims) {
            if (claims) first = find_span(ctx, count);
            return claims;
        });
        if (first < heap_.n_pages) count_pages(ctx, count);
        return first;
    }

    /// Frees the span that begins with a page; false where none does.
    template <class Ctx>
    [[nodiscard]] LANEWAY_SLOW bool free_span(Ctx& ctx, std::uint32_t first, page_word head) const {
        // Of several lanes that free one span the first does. Relaxed: the pages themselves carry the order.
        if (!ctx.compare_exchange(heap_.pages + first, head.bits, page_word::span_body, order::relaxed,
                                  scope::device)) {
            return false;
        }
        count_pages(ctx, 0 - std::uint64_t{head.number()});
        for (std::uint32_t i = 0; i < head.number(); ++i) free_page(ctx, first + i);
        return true;
    }

private:
    static constexpr std::uint32_t max_turns = 1024;
    static constexpr std::uint32_t max_tries = 8;

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN page_word look(Ctx& ctx, std::uint32_t page) const {
        return {ctx.load(heap_.pages + page, order::relaxed, scope::device)};
    }
    [[nodiscard]] LANEWAY_FN bool belongs(page_word now, std::uint32_t use) const {
        if (now.use() != use) return false;
        return use == page_word::free || now.number() < heap_.capacity(use);
    }
    template <class Ctx>
    LANEWAY_FN void take_out(Ctx& ctx, std::uint32_t page, std::uint32_t use) const {
        heap_.set_of(use).remove(ctx, page, [&] { return belongs(look(ctx, page), use); });
    }

    /// Calls `body(mine)` until it returns true: `mine` says whether it is this lane's turn, which one lane has at a
    /// time, or any that has waited for long. It is asked for after the first call.
    template <class Ctx, class Body>
    LANEWAY_FN void in_turn(Ctx& ctx, std::uint32_t use, Body&& body) const {
        std::uint32_t* const word = heap_.opener_of(use);
        for (std::uint32_t turn = 0; turn < max_turns; ++turn) {
            if (body(false)) return;
            // Partner: the release store below: who has the turn sees the pages that others have opened in theirs.
            const bool mine = ctx.load(word, order::relaxed, scope::device) == 0 &&
                              ctx.exchange(word, 1u, order::acquire, scope::device) == 0;
            if (mine || turn + 1 == max_turns) {
                const bool done = body(true);
                if (mine) ctx.store(word, 0u, order::release, scope::device);
                if (done) return;
            }
            ctx.pause(turn / 32 < 6 ? turn / 32 : 6);
        }
    }

    /// Both of these set what they found; else they say whether they have seen all there was.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool in_open_page(Ctx& ctx, std::uint32_t use, std::uint32_t wanted, std::uint32_t start,
                                               page_reservation& found) const {
        bool contended = false;
        const bool sure = heap_.set_of(use).find(ctx, start, [&](std::uint32_t page) {
            found = {page, reserve_in(ctx, page, use, wanted, contended)};
            return found.count != 0;
        });
        return sure && !contended;
    }

    /// Adds up to `wanted` pieces to those that are held of a page; `contended`: others were faster, too often.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t reserve_in(Ctx& ctx, std::uint32_t page, std::uint32_t use,
                                                      std::uint32_t wanted, bool& contended) const {
        page_word now = look(ctx, page);
        for (std::uint32_t tried = 0; belongs(now, use); ++tried) {
            if (tried == max_tries) {
                contended = true;
                return 0;
            }
            const std::uint32_t room = heap_.capacity(use) - now.number();
            const std::uint32_t count = wanted < room ? wanted : room;
            // Partner: the fetch_add in give_back, and the compare_exchange in claim.
            if (ctx.compare_exchange(heap_.pages + page, now.bits, now.bits + count * page_word::one, order::acq_rel,
                                     scope::device)) {
                if (count == room) take_out(ctx, page, use);
                return count;
            }
        }
        take_out(ctx, page, use);
        return 0;
    }

    /// Takes the first free page from the begin of the region on.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool in_fresh_page(Ctx& ctx, std::uint32_t use, std::uint32_t wanted, std::uint32_t start,
                                                page_reservation& found) const {
        const std::uint32_t room = heap_.capacity(use);
        const std::uint32_t count = wanted < room ? wanted : room;
        const page_set stock = heap_.set_of(page_word::free);
        const bool sure = stock.find(ctx, start % page_set::word_pages, [&](std::uint32_t page) {
            const bool claimed = claim(ctx, page, page_word::of(use, count));
            if (claimed) found = {page, count};
            return claimed;
        });
        if (found.count == 0) return sure;
        if (count < room) heap_.set_of(use).insert(ctx, found.page);
        count_pages(ctx, 1);
        return true;
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool claim(Ctx& ctx, std::uint32_t page, page_word to) const {
        std::uint32_t none = page_word::free;
        // Partner: the exchange in free_page: bits of pieces are clear.
        const bool done = ctx.compare_exchange(heap_.pages + page, none, to.bits, order::acq_rel, scope::device);
        take_out(ctx, page, page_word::free);
        return done;
    }
    template <class Ctx>
    LANEWAY_FN void free_page(Ctx& ctx, std::uint32_t page) const {
        // Partner: the compare_exchange in claim.
        ctx.exchange(heap_.pages + page, page_word::free, order::acq_rel, scope::device);
        heap_.set_of(page_word::free).insert(ctx, page);
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t find_span(Ctx& ctx, std::uint32_t count) const {
        const page_set stock = heap_.set_of(page_word::free);
        std::uint32_t row = 0;  // free pages in a row from here on, as the set has them
        for (std::uint32_t index = stock.n_words(); index-- > 0;) {
            const std::uint32_t pages = stock.word(ctx, index);
            if (pages == 0) {
                row = 0;
                continue;
            }
            for (std::uint32_t bit = page_set::word_pages; bit-- > 0;) {
                row = (pages >> bit & 1) != 0 ? row + 1 : 0;
                if (row < count) continue;
                const std::uint32_t first = index * page_set::word_pages + bit;
                const std::uint32_t claimed = claim_row(ctx, first, count);
                if (claimed == count) return first;
                row = count - claimed - 1;  // below the one that is not free
            }
        }
        return heap_.n_pages;
    }

    /// Claims pages from the last down to `first`, all or none; returns how many it could.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t claim_row(Ctx& ctx, std::uint32_t first, std::uint32_t count) const {
        const std::uint32_t end = first + count;
        for (std::uint32_t i = 1; i <= count; ++i) {
            if (claim(ctx, end - i, {page_word::span_body})) continue;
            for (std::uint32_t back = 1; back < i; ++back) free_page(ctx, end - back);
            return i - 1;
        }
        // Whoever frees the span has its address from this lane, and with it sees this word.
        ctx.exchange(heap_.pages + first, page_word::of(page_word::span_head, count).bits, order::acq_rel,
                     scope::device);
        return count;
    }

    template <class Ctx>
    LANEWAY_FN void count_pages(Ctx& ctx, std::uint64_t more) const {
        const std::uint64_t held =
            ctx.fetch_add(heap_.counts + device_heap_layout::pages_held, more, order::relaxed, scope::device) + more;
        ctx.fetch_max(heap_.counts + device_heap_layout::pages_peak, held, order::relaxed, scope::device);
    }

    const device_heap_layout& heap_;
};

}  // namespace laneway
