// The pages of a device heap: room for pieces is reserved in them and given back. See device_heap_ref.hpp for why
// nothing is lost.
#pragma once

#include "laneway/memory/page_quota.hpp"
#include "laneway/simt/fail.hpp"

namespace laneway {

/// Where a lane looks for room: in sets of pages, which are hints, or at every page.
enum class heap_look : std::uint32_t { at_sets, at_every_page };

/// Pieces that a lane may take in a page, or the first of the pages that it may have; where `count` is 0 none, and
/// whether others were faster: `contended` says nothing about what there is.
struct page_reservation {
    std::uint32_t page = 0;
    std::uint32_t count = 0;
    bool contended = false;
};

/// Those of one quota. Called by one lane for all that arrived with it.
class heap_pages {
public:
    LANEWAY_FN heap_pages(const device_heap_layout& heap, std::uint32_t quota, heap_look look = heap_look::at_sets)
        : heap_(heap), quota_(quota), allowed_(heap), all_(look == heap_look::at_every_page) {}

    /// Room for 1 to `wanted` pieces of a size, in one page. `start` spreads lanes over pages. Waits for lanes that
    /// open pages of that size, a bounded number of times. Where every page is looked at and none is found, none had
    /// room when it was looked at, and no lane had one in hand meanwhile; or others were faster.
    template <class Ctx>
    [[nodiscard]] LANEWAY_SLOW page_reservation reserve(Ctx& ctx, std::uint32_t use, std::uint32_t wanted,
                                                        std::uint32_t start) const {
        page_reservation found;
        // Few lanes of all that find no room open a page for them: else each would have one.
        const bool sure = in_turn(ctx, use, start, [&](bool opens) {
            bool all_seen = in_open_page(ctx, use, wanted, start, found);
            if (found.count == 0 && opens) all_seen = in_fresh_page(ctx, use, wanted, start, found) && all_seen;
            return found.count != 0 || (opens && all_seen);
        });
        if (sure) return found;
        // While another lane is opening a page, that page is in no set, and sets that it takes the page out of may miss
        // others.
        (void)heap_pages(heap_, quota_, heap_look::at_every_page).in_open_page(ctx, use, wanted, start, found);
        found.contended = found.count == 0;
        return found;
    }

    /// Gives back room for pieces whose bits are clear. A page without a live piece keeps its size until a page is
    /// wanted and none is free: opening one takes far longer than a piece of an open one.
    template <class Ctx>
    LANEWAY_SLOW void give_back(Ctx& ctx, std::uint32_t page, std::uint32_t use, std::uint32_t count) const {
        // Partner: the compare_exchange in reserve_in or adopt: what the holders did comes before what the next do.
        const page_word before{
            ctx.fetch_add(heap_.pages + page, 0u - count * page_word::one, order::acq_rel, scope::device)};
        if (before.number() == heap_.capacity(use)) heap_.set_of(use, quota_).insert(ctx, page);
        if (before.number() == count) heap_.set_of(heap_.idle(), quota_).insert(ctx, page);
    }

    /// Claims so many free pages in a row, from the end of the region on, where pieces take pages last. Waits for
    /// another lane that does so, a bounded number of times. Where every page is looked at: as reserve().
    template <class Ctx>
    [[nodiscard]] LANEWAY_SLOW page_reservation claim_span(Ctx& ctx, std::uint32_t count) const {
        page_reservation found;
        // In turn, as two that claim pages of one row would refuse each other.
        const bool had_turn = in_turn(ctx, page_word::free, 0, [&](bool claims) {
            if (claims) claim_within_quota(ctx, count, found);
            return claims;
        });
        found.contended = found.count == 0 && (found.contended || !had_turn);
        return found;
    }

    /// Frees the span that begins with a page; false where none does.
    template <class Ctx>
    [[nodiscard]] LANEWAY_SLOW bool free_span(Ctx& ctx, std::uint32_t first, page_word head) const {
        allowed_.hold(ctx, quota_);
        // Of several lanes that free one span the first does. Partner: the fence in is_same: who sees that the span has
        // ended sees that it is in hand.
        const bool ends =
            ctx.compare_exchange(heap_.pages + first, head.bits, page_word::span_body, order::release, scope::device);
        if (ends) {
            allowed_.give(ctx, quota_, head.number());
            for (std::uint32_t i = 0; i < head.number(); ++i) free_page(ctx, first + i);
        }
        allowed_.settle(ctx, quota_);
        return ends;
    }

private:
    static constexpr std::uint32_t max_turns = 1024;
    static constexpr std::uint32_t max_tries = 8;
    static constexpr std::uint32_t pages_an_opener = 512;
    static constexpr std::uint32_t pages_a_stop = 1024;  ///< after so many it looks whether the run is ending

    /// Calls `visit(page)` for pages of a set until it returns true. Whether it has seen all there were, if it did not:
    /// not where the run is ending.
    template <class Ctx, class Visit>
    LANEWAY_FN bool find(Ctx& ctx, std::uint32_t use, std::uint32_t quota, std::uint32_t start, Visit&& visit) const {
        if (!all_) return heap_.set_of(use, quota).find(ctx, start, visit);
        for (std::uint32_t i = 0; i < heap_.n_pages; ++i) {
            if (i % pages_a_stop == pages_a_stop - 1 && stopped(ctx)) return false;
            const std::uint32_t page = (start + i) % heap_.n_pages;
            if (belongs(look(ctx, page), use, quota) && visit(page)) break;
        }
        return true;
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN page_word look(Ctx& ctx, std::uint32_t page) const {
        return {ctx.load(heap_.pages + page, order::relaxed, scope::device)};
    }
    [[nodiscard]] LANEWAY_FN bool belongs(page_word now, std::uint32_t use, std::uint32_t quota) const {
        if (use == page_word::free) return now.bits == page_word::free;
        if (now.quota() != quota || !heap_.is_pieces(now.use())) return false;
        if (use == heap_.idle()) return now.number() == 0;
        return now.use() == use && now.number() < heap_.capacity(use);
    }
    template <class Ctx>
    LANEWAY_FN void take_out(Ctx& ctx, std::uint32_t page, std::uint32_t use, std::uint32_t quota) const {
        heap_.set_of(use, quota).remove(ctx, page, [&] { return belongs(look(ctx, page), use, quota); });
    }

    /// Calls `body(mine)` until it returns true: `mine` says whether it is this lane's turn, which few lanes have at a
    /// time. It is asked for after the first call; where every page is looked at, before, as each look is long. False
    /// where the lane has waited for too long, or looks at every page while the run is ending.
    template <class Ctx, class Body>
    [[nodiscard]] LANEWAY_FN bool in_turn(Ctx& ctx, std::uint32_t use, std::uint32_t start, Body&& body) const {
        std::uint32_t at_a_time = 0;
        for (std::uint32_t turn = 0; turn < max_turns; ++turn) {
            if (all_ && stopped(ctx)) return false;
            if (!all_ && body(false)) return true;
            if (turn == 0) at_a_time = use == page_word::free ? 1 : openers(ctx);
            std::uint32_t* const word = heap_.opener_of(use, quota_, (start + turn) % at_a_time);
            // Partner: the release store below: who has the turn sees the pages that others have opened in theirs.
            const bool mine = ctx.load(word, order::relaxed, scope::device) == 0 &&
                              ctx.exchange(word, 1u, order::acquire, scope::device) == 0;
            if (mine) {
                const bool done = body(true);
                ctx.store(word, 0u, order::release, scope::device);
                if (done) return true;
            }
            ctx.pause(turn / 32 < 6 ? turn / 32 : 6);
        }
        return false;
    }
    /// How many lanes open pages of a size at a time. Each opens one, though one may do for all that wait: several only
    /// where the quota has so many that this does not matter.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t openers(Ctx& ctx) const {
        const std::uint64_t allowed =
            ctx.load(heap_.counters_of(quota_) + device_heap_layout::pages_allowed, order::relaxed, scope::device);
        const std::uint64_t several = allowed / pages_an_opener;
        return several == 0                                ? 1
               : several < device_heap_layout::max_openers ? static_cast<std::uint32_t>(several)
                                                           : device_heap_layout::max_openers;
    }
    /// The words of all quotas, in one: the same later, with `in_hand` as many as the lane has taken itself, says that
    /// no lane had pages in hand between. For a sum of settled pages grows, and while it does not, nothing else that is
    /// added makes up for what is taken away.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN quota_word in_hand(Ctx& ctx) const {
        // Partner: the releases in page_quota: what is claimed by lanes that have settled is seen behind this.
        quota_word sum;
        for (std::uint32_t quota = 0; quota < heap_.n_quotas; ++quota) {
            sum.bits +=
                ctx.load(heap_.counters_of(quota) + device_heap_layout::pages_held, order::acquire, scope::device);
        }
        return sum;
    }

    /// Both of these set what they found; else they say whether they have seen all there was.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool in_open_page(Ctx& ctx, std::uint32_t use, std::uint32_t wanted, std::uint32_t start,
                                               page_reservation& found) const {
        bool contended = false;
        const bool sure = find(ctx, use, quota_, start, [&](std::uint32_t page) {
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
        for (std::uint32_t tried = 0; belongs(now, use, quota_); ++tried) {
            if (tried == max_tries) {
                contended = true;
                return 0;
            }
            const std::uint32_t room = heap_.capacity(use) - now.number();
            const std::uint32_t count = wanted < room ? wanted : room;
            // Partner: the fetch_add in give_back, and the compare_exchange in adopt.
            if (ctx.compare_exchange(heap_.pages + page, now.bits, now.bits + count * page_word::one, order::acq_rel,
                                     scope::device)) {
                if (count == room) take_out(ctx, page, use, quota_);
                return count;
            }
        }
        take_out(ctx, page, use, quota_);
        return 0;
    }

    /// Takes the first free page from the begin of the region on; where none is free, or the quota has no more, a page
    /// of another size in which nothing is held, or, within the quota, of another quota.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool in_fresh_page(Ctx& ctx, std::uint32_t use, std::uint32_t wanted, std::uint32_t start,
                                                page_reservation& found) const {
        const std::uint32_t room = heap_.capacity(use);
        const std::uint32_t count = wanted < room ? wanted : room;
        const quota_answer answer = allowed_.take(ctx, quota_, 1);
        const bool within = answer == quota_answer::taken;
        bool sure = answer != quota_answer::contended;
        const quota_word before = all_ ? in_hand(ctx) : quota_word{};
        // A page that was opened since the lane has looked is in nobody's hand any more.
        if (all_) sure = in_open_page(ctx, use, wanted, start, found) && sure;
        const bool opened = found.count == 0;
        if (opened) sure = claim_fresh(ctx, page_word::of(use, quota_, count), within, start, found) && sure;
        if (found.count == 0 && all_) sure = is_same(ctx, before, within ? 1 : 0) && sure;
        if (within) {
            if (!opened || found.count == 0) allowed_.give(ctx, quota_, 1);
            allowed_.settle(ctx, quota_);
        }
        if (opened && found.count != 0 && count < room) heap_.set_of(use, quota_).insert(ctx, found.page);
        return found.count != 0 || sure;
    }
    /// See in_hand.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool is_same(Ctx& ctx, quota_word before, std::uint64_t own) const {
        ctx.fence(scope::device);  // what was looked at comes before the second look
        return before.in_hand() == own && in_hand(ctx).bits == before.bits;
    }
    /// Makes `to` of a page; `within`: its quota has counted one more.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool claim_fresh(Ctx& ctx, page_word to, bool within, std::uint32_t start,
                                              page_reservation& found) const {
        bool sure = true;
        if (within) {
            sure = find(ctx, page_word::free, 0, start % page_set::word_pages, [&](std::uint32_t page) {
                if (!claim(ctx, page, to)) return false;
                found = {page, to.number()};
                return true;
            });
        }
        for (std::uint32_t i = 0; found.count == 0 && i < (within ? heap_.n_quotas : 1); ++i) {
            const std::uint32_t other = quota_ + i < heap_.n_quotas ? quota_ + i : quota_ + i - heap_.n_quotas;
            sure = adopt(ctx, other, to, start, found) && sure;
            if (found.count != 0 && within) allowed_.give(ctx, other, 1);  // else it stays the quota's
        }
        return sure;
    }

    /// Turns a page of a quota in which nothing is held into another one. Whether it has seen all there were.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool adopt(Ctx& ctx, std::uint32_t quota, page_word to, std::uint32_t start,
                                        page_reservation& found) const {
        const auto made = [&](std::uint32_t page) {
            found = {page, to.number()};
            return true;
        };
        return each_idle(
            ctx, quota, start, to, [] {}, made);
    }

    /// Makes `to` of pages of a quota in which nothing is held, until `made(page)` returns true; calls `begin()` before
    /// it tries one. Whether it has seen all there were, where it never did.
    template <class Ctx, class Begin, class Made>
    LANEWAY_FN bool each_idle(Ctx& ctx, std::uint32_t quota, std::uint32_t start, page_word to, Begin&& begin,
                              Made&& made) const {
        bool lost = false;
        const bool sure = find(ctx, heap_.idle(), quota, start, [&](std::uint32_t page) {
            page_word now = look(ctx, page);
            const bool idle = belongs(now, heap_.idle(), quota);
            if (idle) begin();
            // Partner: the fetch_add in give_back: bits of pieces are clear. It fails where room has been reserved.
            const bool mine =
                idle && ctx.compare_exchange(heap_.pages + page, now.bits, to.bits, order::acq_rel, scope::device);
            lost = lost || (idle && !mine);
            take_out(ctx, page, heap_.idle(), quota);
            if (!mine) return false;
            take_out(ctx, page, page_word{now.bits}.use(), quota);
            return made(page);
        });
        return sure && !lost;
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool claim(Ctx& ctx, std::uint32_t page, page_word to) const {
        std::uint32_t none = page_word::free;
        // Partner: the exchange in free_page: bits of pieces are clear.
        const bool done = ctx.compare_exchange(heap_.pages + page, none, to.bits, order::acq_rel, scope::device);
        take_out(ctx, page, page_word::free, 0);
        return done;
    }
    template <class Ctx>
    LANEWAY_FN void free_page(Ctx& ctx, std::uint32_t page) const {
        // Partner: the compare_exchange in claim.
        ctx.exchange(heap_.pages + page, page_word::free, order::acq_rel, scope::device);
        heap_.set_of(page_word::free, 0).insert(ctx, page);
    }

    /// Frees all pages of a quota in which nothing is held. They are in hand from before the first till behind the
    /// last; where there are none, nothing is, so that lanes that ask in vain do not make each other unsure.
    template <class Ctx>
    LANEWAY_FN void free_idle(Ctx& ctx, std::uint32_t quota) const {
        bool holds = false;
        const auto hold = [&] {
            if (!holds) allowed_.hold(ctx, quota);
            holds = true;
        };
        (void)each_idle(ctx, quota, 0, {page_word::span_body}, hold, [&](std::uint32_t page) {
            allowed_.give(ctx, quota, 1);  // before another lane can have the page, and count it
            free_page(ctx, page);
            return false;
        });
        if (holds) allowed_.settle(ctx, quota);
    }

    template <class Ctx>
    LANEWAY_FN void claim_within_quota(Ctx& ctx, std::uint32_t count, page_reservation& found) const {
        // Idle pages first: else spans would lie between them as it happens, and break up what is free.
        for (std::uint32_t quota = 0; quota < heap_.n_quotas; ++quota) free_idle(ctx, quota);
        const quota_answer answer = allowed_.take(ctx, quota_, count);
        found.contended = answer == quota_answer::contended;
        if (answer != quota_answer::taken) return;
        const quota_word before = all_ ? in_hand(ctx) : quota_word{};
        const std::uint32_t first = find_span(ctx, count);
        if (first != heap_.n_pages) found = {first, count};
        if (found.count == 0) found.contended = all_ && !is_same(ctx, before, 1);
        if (found.count == 0) allowed_.give(ctx, quota_, count);
        allowed_.settle(ctx, quota_);
    }

    /// Free pages among those of a word of sets, a bit each.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t free_pages(Ctx& ctx, const page_set& stock, std::uint32_t index) const {
        if (!all_) return stock.word(ctx, index);
        std::uint32_t pages = 0;
        for (std::uint32_t bit = 0; bit < page_set::word_pages; ++bit) {
            const std::uint32_t page = index * page_set::word_pages + bit;
            if (page < heap_.n_pages && belongs(look(ctx, page), page_word::free, 0)) pages |= 1u << bit;
        }
        return pages;
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t find_span(Ctx& ctx, std::uint32_t count) const {
        const page_set stock = heap_.set_of(page_word::free, 0);
        std::uint32_t row = 0;  // free pages in a row from here on, as they were seen
        for (std::uint32_t index = stock.n_words(); index-- > 0;) {
            const std::uint32_t pages = free_pages(ctx, stock, index);
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
        ctx.exchange(heap_.pages + first, page_word::of(page_word::span_head, quota_, count).bits, order::acq_rel,
                     scope::device);
        return count;
    }

    const device_heap_layout& heap_;
    std::uint32_t quota_;
    page_quota allowed_;
    bool all_;  ///< looks at every page
};

}  // namespace laneway
