// The pages of a device heap, as its sets lead to them: room for pieces is reserved in them and given back. See
// device_heap_ref.hpp for why nothing is lost.
#pragma once

#include "laneway/memory/heap_words.hpp"

namespace laneway {

/// Those of one quota. Called by one lane for all that arrived with it.
class heap_pages {
public:
    LANEWAY_FN heap_pages(const device_heap_layout& heap, std::uint32_t quota)
        : heap_(heap), quota_(quota), allowed_(heap), words_(heap) {}

    /// Room for 1 to `wanted` pieces of a size, in one page. `start` spreads lanes over pages. Waits for lanes that
    /// open pages of that size, a bounded number of times. What is not found and not contended was in no set.
    template <class Ctx>
    [[nodiscard]] LANEWAY_SLOW page_reservation reserve(Ctx& ctx, std::uint32_t use, std::uint32_t wanted,
                                                        std::uint32_t start) const {
        page_reservation found;
        std::uint32_t at_a_time = 0;
        for (std::uint32_t turn = 0; turn < max_turns; ++turn) {
            const std::uint32_t place = start + turn * 0x9e3779b9u;
            in_open_page(ctx, use, wanted, place, found);
            // Where nothing can be opened nobody waits for a turn: all are refused at once.
            if (found.count != 0 || nothing_left(ctx, use)) return found;
            // Few lanes of all that find no room open a page for them: else each would have one.
            if (turn == 0) at_a_time = openers(ctx, use);
            std::uint32_t* const word = heap_.opener_of(use, quota_, (start + turn) % at_a_time);
            if (words_.begins_turn(ctx, word)) {
                in_open_page(ctx, use, wanted, place, found);
                if (found.count == 0) in_fresh_page(ctx, use, wanted, place, found);
                words_.end_turn(ctx, word);
                if (found.count != 0) return found;
            }
            be_patient(ctx, turn);
        }
        found.contended = true;
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
    /// another lane that does so, a bounded number of times.
    template <class Ctx>
    [[nodiscard]] LANEWAY_SLOW page_reservation claim_span(Ctx& ctx, std::uint32_t count) const {
        page_reservation found;
        std::uint32_t* const word = heap_.opener_of(page_word::free, quota_, 0);
        for (std::uint32_t turn = 0; turn < max_turns; ++turn) {
            if (too_few_pages(ctx, count)) return found;
            // In turn, as two that claim pages of one row would refuse each other.
            if (words_.begins_turn(ctx, word)) {
                claim_within_quota(ctx, count, found);
                words_.end_turn(ctx, word);
                return found;
            }
            be_patient(ctx, turn);
        }
        found.contended = true;
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
            for (std::uint32_t i = 0; i < head.number(); ++i) words_.free_page(ctx, first + i);
        }
        allowed_.finish(ctx, quota_);
        return ends;
    }

private:
    static constexpr std::uint32_t max_turns = 1024;
    static constexpr std::uint32_t max_looks = 32;  ///< at pages, of one search
    static constexpr std::uint32_t pages_an_opener = 512;
    static constexpr std::uint32_t pieces_an_opener = 1024;

    /// Thousands may wait for a page that one opens: they soon look seldom.
    template <class Ctx>
    static LANEWAY_FN void be_patient(Ctx& ctx, std::uint32_t turn) {
        ctx.pause(turn / 8 < 6 ? turn / 8 : 6);
    }
    /// How many lanes open pages of a size at a time. Each opens one, though one may do for all that wait: so the more,
    /// the fewer lanes a page serves, and several only where the quota has so many pages that this does not matter.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t openers(Ctx& ctx, std::uint32_t use) const {
        constexpr std::uint32_t most = device_heap_layout::max_openers, many = most / 4;
        const std::uint32_t served = pieces_an_opener / heap_.capacity(use);
        const std::uint32_t wanted = served < many ? many : served < most ? served : most;
        const std::uint64_t several = allowed_.pages_allowed(ctx, quota_) / pages_an_opener;
        return several == 0 ? 1 : several < wanted ? static_cast<std::uint32_t>(several) : wanted;
    }

    /// Whether there is neither a page with room nor one that the quota could have, to be seen without taking anything,
    /// so that lanes that ask in vain do not make each other unsure. Pages that others have in hand are in no set.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool nothing_left(Ctx& ctx, std::uint32_t use) const {
        // A quota that may have no more pages has to do with its own only.
        const bool may_grow = allowed_.has_room(ctx, quota_, 1);
        const std::uint32_t first = may_grow ? 0 : quota_, end = may_grow ? heap_.n_quotas : quota_ + 1;
        const quota_word before = words_.in_hand(ctx, first, end);
        if (before.in_hand() != 0 || !heap_.set_of(use, quota_).is_empty(ctx)) return false;
        if (may_grow && !heap_.set_of(page_word::free, 0).is_empty(ctx)) return false;
        if (!may_grow && allowed_.has_room(ctx, quota_, 1)) return false;
        for (std::uint32_t quota = first; quota < end; ++quota) {
            if (!heap_.set_of(heap_.idle(), quota).is_empty(ctx)) return false;
        }
        return words_.is_same(ctx, before, 0, first, end);
    }
    /// The same for pages in a row.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool too_few_pages(Ctx& ctx, std::uint32_t count) const {
        const quota_word before = words_.in_hand(ctx);
        const bool enough = before.pages() + count <= heap_.n_pages && allowed_.has_room(ctx, quota_, count);
        if (enough || before.in_hand() != 0) return false;
        for (std::uint32_t quota = 0; quota < heap_.n_quotas; ++quota) {
            if (!heap_.set_of(heap_.idle(), quota).is_empty(ctx)) return false;
        }
        return words_.is_same(ctx, before, 0);
    }

    /// Both of these set what they found.
    template <class Ctx>
    LANEWAY_FN void in_open_page(Ctx& ctx, std::uint32_t use, std::uint32_t wanted, std::uint32_t start,
                                 page_reservation& found) const {
        std::uint32_t looks = 0;
        heap_.set_of(use, quota_).find(ctx, start, [&](std::uint32_t page) {
            found = {page, words_.reserve_in(ctx, page, use, quota_, wanted).count};
            return found.count != 0 || ++looks == max_looks;
        });
    }
    /// Takes the first free page from the begin of the region on; where none is free, or the quota has no more, a page
    /// of another size in which nothing is held, or, within the quota, of another quota.
    template <class Ctx>
    LANEWAY_FN void in_fresh_page(Ctx& ctx, std::uint32_t use, std::uint32_t wanted, std::uint32_t start,
                                  page_reservation& found) const {
        const std::uint32_t room = heap_.capacity(use);
        const std::uint32_t count = wanted < room ? wanted : room;
        const page_word to = page_word::of(use, quota_, count);
        // In hand until it is in its set: who saw neither the page nor a hand would take it that nothing is left.
        const auto made = [&](std::uint32_t page) {
            found = {page, count};
            if (count < room) heap_.set_of(use, quota_).insert(ctx, page);
            return true;
        };
        const bool within = allowed_.take(ctx, quota_, 1) == quota_answer::taken;
        if (within) {
            const std::uint32_t first = start % (1u << page_set::place_bits);
            heap_.set_of(page_word::free, 0).find(ctx, first, [&](std::uint32_t page) {
                return words_.claim(ctx, page, to) && made(page);
            });
        }
        for (std::uint32_t i = 0; found.count == 0 && i < (within ? heap_.n_quotas : 1); ++i) {
            const std::uint32_t other = quota_ + i < heap_.n_quotas ? quota_ + i : quota_ + i - heap_.n_quotas;
            in_idle_page(ctx, other, start, to, [&](std::uint32_t page) {
                if (within) allowed_.give(ctx, other, 1);  // else it stays the quota's
                return made(page);
            });
        }
        if (within && found.count == 0) allowed_.give(ctx, quota_, 1);
        if (within) allowed_.finish(ctx, quota_);
    }
    /// Makes `to` of pages of a quota in which nothing is held, until `made(page)` returns true. They are in hand from
    /// before the first till behind the last; where there are none, nothing is, so that lanes that ask in vain do not
    /// make each other unsure.
    template <class Ctx, class Made>
    LANEWAY_FN void in_idle_page(Ctx& ctx, std::uint32_t quota, std::uint32_t start, page_word to, Made&& made) const {
        const page_set idle = heap_.set_of(heap_.idle(), quota);
        if (idle.is_empty(ctx)) return;
        allowed_.hold(ctx, quota);
        idle.find(ctx, start, [&](std::uint32_t page) {
            return words_.adopt(ctx, page, quota, to) == page_claim::made && made(page);
        });
        allowed_.finish(ctx, quota);
    }
    template <class Ctx>
    LANEWAY_FN void claim_within_quota(Ctx& ctx, std::uint32_t count, page_reservation& found) const {
        // Idle pages first: else spans would lie between them as it happens, and break up what is free.
        for (std::uint32_t quota = 0; quota < heap_.n_quotas; ++quota) {
            in_idle_page(ctx, quota, 0, {page_word::span_body}, [&](std::uint32_t page) {
                allowed_.give(ctx, quota, 1);  // before another lane can have the page, and count it
                words_.free_page(ctx, page);
                return false;
            });
        }
        const quota_answer answer = allowed_.take(ctx, quota_, count);
        found.contended = answer == quota_answer::contended;
        if (answer != quota_answer::taken) return;
        const page_set stock = heap_.set_of(page_word::free, 0);
        std::uint32_t words = 0, words_at = ~0u;
        const std::uint32_t first = words_.claim_row(ctx, quota_, count, [&](std::uint32_t index) {
            const std::uint32_t above = index / page_set::word_pages;
            if (above != words_at) words = stock.words_with_pages(ctx, above);
            words_at = above;
            return (words >> index % page_set::word_pages & 1) == 0 ? 0 : stock.word(ctx, index);
        });
        if (first != heap_.n_pages) found = {first, count};
        if (found.count == 0) allowed_.give(ctx, quota_, count);
        allowed_.finish(ctx, quota_);
    }

    const device_heap_layout& heap_;
    std::uint32_t quota_;
    page_quota allowed_;
    heap_words words_;
};

}  // namespace laneway
