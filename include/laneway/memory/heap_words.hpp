// The page words of a device heap: what one lane does with one page, or with pages in a row. See device_heap_ref.hpp
// for why nothing is lost.
#pragma once

#include "laneway/memory/page_quota.hpp"
#include "laneway/simt/fail.hpp"

namespace laneway {

/// Pieces that a lane may take in a page, or the first of the pages that it may have; where `count` is 0 none, and
/// whether others were faster: `contended` says nothing about what there is.
struct page_reservation {
    std::uint32_t page = 0;
    std::uint32_t count = 0;
    bool contended = false;
};

/// What becomes of a page that a lane wants: `lost` to another lane.
enum class page_claim : std::uint32_t { made, unfit, lost };

/// None of these wait.
class heap_words {
public:
    LANEWAY_FN explicit heap_words(const device_heap_layout& heap) : heap_(heap) {}

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN page_word look(Ctx& ctx, std::uint32_t page) const {
        return {ctx.load(heap_.pages + page, order::relaxed, scope::device)};
    }
    /// Whether a page belongs into a set.
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

    /// Adds up to `wanted` pieces to those that are held of a page; `contended`: others were faster, too often.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN page_reservation reserve_in(Ctx& ctx, std::uint32_t page, std::uint32_t use,
                                                         std::uint32_t quota, std::uint32_t wanted) const {
        page_word now = look(ctx, page);
        for (std::uint32_t tried = 0; belongs(now, use, quota); ++tried) {
            if (tried == max_tries) return {.page = page, .contended = true};
            const std::uint32_t room = heap_.capacity(use) - now.number();
            const std::uint32_t count = wanted < room ? wanted : room;
            // Partner: the fetch_add in heap_pages::give_back, and the compare_exchange in adopt.
            if (ctx.compare_exchange(heap_.pages + page, now.bits, now.bits + count * page_word::one, order::acq_rel,
                                     scope::device)) {
                if (count == room) take_out(ctx, page, use, quota);
                return {page, count};
            }
        }
        take_out(ctx, page, use, quota);
        return {page};
    }

    /// Makes `to` of a page of pieces in which nothing is held, of a quota.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN page_claim adopt(Ctx& ctx, std::uint32_t page, std::uint32_t quota, page_word to) const {
        page_word now = look(ctx, page);
        const bool idle = belongs(now, heap_.idle(), quota);
        // Partner: the fetch_add in heap_pages::give_back: bits of pieces are clear. It fails where room has been
        // reserved.
        const bool mine =
            idle && ctx.compare_exchange(heap_.pages + page, now.bits, to.bits, order::acq_rel, scope::device);
        take_out(ctx, page, heap_.idle(), quota);
        if (!mine) return idle ? page_claim::lost : page_claim::unfit;
        take_out(ctx, page, page_word{now.bits}.use(), quota);
        return page_claim::made;
    }
    /// Makes `to` of a free page.
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

    /// Claims so many free pages in a row for a quota, the last that there are; n_pages: there are none.
    /// `free_pages(index)` says which of the pages 32 · index and on are free, one a bit.
    template <class Ctx, class Pages>
    [[nodiscard]] LANEWAY_FN std::uint32_t claim_row(Ctx& ctx, std::uint32_t quota, std::uint32_t count,
                                                     Pages&& free_pages) const {
        std::uint32_t row = 0;  // free pages in a row from here on, as they were seen
        for (std::uint32_t index = page_set::level_words(heap_.n_pages, 0); index-- > 0;) {
            const std::uint32_t pages = free_pages(index);
            if (pages == 0) {
                row = 0;
                continue;
            }
            for (std::uint32_t bit = page_set::word_pages; bit-- > 0;) {
                row = (pages >> bit & 1) != 0 ? row + 1 : 0;
                if (row < count) continue;
                const std::uint32_t first = index * page_set::word_pages + bit;
                const std::uint32_t claimed = claim_all(ctx, quota, first, count);
                if (claimed == count) return first;
                row = count - claimed - 1;  // below the one that is not free
            }
        }
        return heap_.n_pages;
    }

    /// Takes the turn that a word gives, where no lane has it.
    template <class Ctx>
    [[nodiscard]] static LANEWAY_FN bool begins_turn(Ctx& ctx, std::uint32_t* word) {
        // Partner: the release store in end_turn: who has the turn sees the pages that others have opened in theirs.
        return ctx.load(word, order::relaxed, scope::device) == 0 &&
               ctx.exchange(word, 1u, order::acquire, scope::device) == 0;
    }
    template <class Ctx>
    static LANEWAY_FN void end_turn(Ctx& ctx, std::uint32_t* word) {
        ctx.store(word, 0u, order::release, scope::device);
    }

    /// The words of quotas, in one: the same later, with `in_hand` as many as the lane has taken itself, says that no
    /// lane had pages of these in hand between. For the count of finished lanes grows, and while it does not, nothing
    /// else that is added makes up for what is taken away.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN quota_word in_hand(Ctx& ctx, std::uint32_t first, std::uint32_t end) const {
        // Partner: the releases in page_quota: what is claimed by lanes that have finished is seen behind this.
        quota_word sum;
        for (std::uint32_t quota = first; quota < end; ++quota) {
            sum.bits +=
                ctx.load(heap_.counters_of(quota) + device_heap_layout::pages_held, order::acquire, scope::device);
        }
        return sum;
    }
    /// Of all quotas.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN quota_word in_hand(Ctx& ctx) const {
        return in_hand(ctx, 0, heap_.n_quotas);
    }
    /// See in_hand.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool is_same(Ctx& ctx, quota_word before, std::uint64_t own, std::uint32_t first,
                                          std::uint32_t end) const {
        ctx.fence(scope::device);  // what was looked at comes before the second look
        return before.in_hand() == own && in_hand(ctx, first, end).bits == before.bits;
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool is_same(Ctx& ctx, quota_word before, std::uint64_t own) const {
        return is_same(ctx, before, own, 0, heap_.n_quotas);
    }

private:
    static constexpr std::uint32_t max_tries = 8;

    /// Claims pages from the last down to `first`, all or none; returns how many it could.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t claim_all(Ctx& ctx, std::uint32_t quota, std::uint32_t first,
                                                     std::uint32_t count) const {
        const std::uint32_t end = first + count;
        for (std::uint32_t i = 1; i <= count; ++i) {
            if (claim(ctx, end - i, {page_word::span_body})) continue;
            for (std::uint32_t back = 1; back < i; ++back) free_page(ctx, end - back);
            return i - 1;
        }
        // Whoever frees the span has its address from this lane, and with it sees this word.
        ctx.exchange(heap_.pages + first, page_word::of(page_word::span_head, quota, count).bits, order::acq_rel,
                     scope::device);
        return count;
    }

    const device_heap_layout& heap_;
};

}  // namespace laneway
