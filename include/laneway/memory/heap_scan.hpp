// Looks at every page of a device heap, which decide what sets of hints cannot: that there is no room. One lane looks
// at a time, and all lanes that have asked for the same before it began take its answer, so thousands that a full heap
// refuses take as long as two looks.
#pragma once

#include "laneway/memory/heap_words.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// For one quota. Called by one lane for all that arrived with it. Waits for other lanes' looks, under the run's
/// deadline. What is not found and not contended had no room when it was looked at, and no lane had any in hand
/// meanwhile. Contended: another lane's look has found room, so sets may lead there, or the run is ending.
class heap_scan {
public:
    /// `bytes` that are asked for: of what is told where the deadline passes.
    LANEWAY_FN heap_scan(const device_heap_layout& heap, std::uint32_t quota, std::size_t bytes)
        : heap_(heap), quota_(quota), bytes_(bytes), allowed_(heap), words_(heap) {}

    /// As heap_pages::reserve.
    template <class Ctx>
    [[nodiscard]] LANEWAY_SLOW page_reservation reserve(Ctx& ctx, std::uint32_t use, std::uint32_t wanted) const {
        return decide(ctx, use, 0, [&] { return look_for_room(ctx, use, wanted); });
    }
    /// As heap_pages::claim_span.
    template <class Ctx>
    [[nodiscard]] LANEWAY_SLOW page_reservation claim_span(Ctx& ctx, std::uint32_t count) const {
        return decide(ctx, page_word::free, count, [&] { return look_in_turn(ctx, count); });
    }

private:
    static constexpr std::uint32_t pages_at_once = 8;    ///< loads that are under way together
    static constexpr std::uint32_t pages_a_stop = 1024;  ///< after so many it looks whether the run is ending

    /// Calls `look()` in this lane's turn, unless a look that another lane begins first has the answer. Goes on while
    /// looks are unsure: those who wait here move no pages, so the more wait, the fewer disturb.
    template <class Ctx, class Look>
    [[nodiscard]] LANEWAY_FN page_reservation decide(Ctx& ctx, std::uint32_t use, std::uint32_t pages,
                                                     Look&& look) const {
        std::uint64_t* const words = heap_.scans_of(use, quota_);
        const wait_site site{operation::allocate_memory, ctx.pe(), bytes_};
        bounded_spin spin;
        std::uint64_t asked = ask(ctx, words);
        do {
            std::uint64_t* const verdict = words + device_heap_layout::last_verdict;
            const auto has_come = [&] {
                return scan_verdict{ctx.load(verdict, order::relaxed, scope::device)}.number() > asked;
            };
            if (has_come()) {
                // Partner: the store in look_and_tell: who is refused comes behind the look.
                const scan_verdict last{ctx.load(verdict, order::acquire, scope::device)};
                if (last.what() == scan_verdict::none && last.pages() <= pages) return {};
                if (last.what() == scan_verdict::found) return {.contended = true};
                asked = ask(ctx, words);
            }
            std::uint64_t* const turn = heap_.scan_turn();
            if (ctx.load(turn, order::relaxed, scope::device) != 0) continue;
            // Partner: the release store below: a look sees what others have claimed in theirs.
            if (ctx.exchange(turn, 1, order::acquire, scope::device) != 0) continue;
            // Between this lane's look at the verdict and its turn one may have been told.
            const page_reservation got =
                has_come() ? page_reservation{.contended = true} : look_and_tell(ctx, words, pages, look);
            ctx.store(turn, 0, order::release, scope::device);
            if (got.count != 0 || !got.contended) return got;
        } while (spin.next(ctx, site) == status::ok);
        return {.contended = true};
    }
    /// The number of looks that have begun before. Partner: the addition in look_and_tell: a later look sees what the
    /// one who asks has seen.
    template <class Ctx>
    [[nodiscard]] static LANEWAY_FN std::uint64_t ask(Ctx& ctx, std::uint64_t* words) {
        return ctx.fetch_add(words + device_heap_layout::scans_begun, 0, order::release, scope::device);
    }
    template <class Ctx, class Look>
    [[nodiscard]] LANEWAY_FN page_reservation look_and_tell(Ctx& ctx, std::uint64_t* words, std::uint32_t pages,
                                                            Look&& look) const {
        const std::uint64_t number =
            1 + ctx.fetch_add(words + device_heap_layout::scans_begun, 1, order::acquire, scope::device);
        const page_reservation got = look();
        const scan_verdict::told what = got.count != 0  ? scan_verdict::found
                                        : got.contended ? scan_verdict::unsure
                                                        : scan_verdict::none;
        ctx.store(words + device_heap_layout::last_verdict, scan_verdict::of(number, pages, what).bits, order::release,
                  scope::device);
        return got;
    }

    /// Calls `visit(page)` for those pages whose words `fits`, from the begin of the region on, until it returns true.
    /// Whether it has seen all there were, if it did not: not where the run is ending.
    template <class Ctx, class Fits, class Visit>
    [[nodiscard]] LANEWAY_FN bool each_page(Ctx& ctx, Fits&& fits, Visit&& visit) const {
        for (std::uint32_t first = 0; first < heap_.n_pages; first += pages_at_once) {
            if (first % pages_a_stop == pages_a_stop - pages_at_once && stopped(ctx)) return false;
            page_word seen[pages_at_once];
            for (std::uint32_t i = 0; i < pages_at_once; ++i) {
                seen[i] = first + i < heap_.n_pages ? words_.look(ctx, first + i) : page_word{page_word::span_body};
            }
            std::uint32_t fitting = 0;
            for (std::uint32_t i = 0; i < pages_at_once; ++i) fitting |= static_cast<std::uint32_t>(fits(seen[i])) << i;
            for (; fitting != 0; fitting &= fitting - 1) {
                if (visit(first + static_cast<std::uint32_t>(Ctx::first_lane(fitting)))) return true;
            }
        }
        return true;
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN page_reservation look_for_room(Ctx& ctx, std::uint32_t use, std::uint32_t wanted) const {
        const quota_answer answer = allowed_.take(ctx, quota_, 1);
        const bool within = answer == quota_answer::taken;
        const quota_word before = words_.in_hand(ctx);
        page_reservation found;
        bool sure = answer != quota_answer::contended;
        const bool all_seen = each_page(
            ctx, [&](page_word now) { return words_.belongs(now, use, quota_) || may_become(now, within); },
            [&](std::uint32_t page) { return take_room(ctx, page, use, wanted, within, found, sure); });
        if (found.count == 0) found.contended = !(words_.is_same(ctx, before, within ? 1 : 0) && all_seen && sure);
        if (within) {
            if (found.count == 0) allowed_.give(ctx, quota_, 1);
            allowed_.finish(ctx, quota_);
        }
        return found;
    }
    /// Whether a page may be made one of any size for this quota.
    [[nodiscard]] LANEWAY_FN bool may_become(page_word now, bool within) const {
        if (now.bits == page_word::free) return within;
        return (within || now.quota() == quota_) && words_.belongs(now, heap_.idle(), now.quota());
    }
    /// Room in a page that was seen to have some, or to be none's; `sure` ends where others were faster.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool take_room(Ctx& ctx, std::uint32_t page, std::uint32_t use, std::uint32_t wanted,
                                            bool within, page_reservation& found, bool& sure) const {
        const page_word now = words_.look(ctx, page);
        const std::uint32_t capacity = heap_.capacity(use);
        const std::uint32_t count = wanted < capacity ? wanted : capacity;
        const page_word to = page_word::of(use, quota_, count);
        const bool adopts = !words_.belongs(now, use, quota_) && now.bits != page_word::free && may_become(now, within);
        if (adopts) allowed_.hold(ctx, now.quota());  // until it is in its set, as in heap_pages
        if (words_.belongs(now, use, quota_)) {
            found = words_.reserve_in(ctx, page, use, quota_, wanted);
            if (found.count != 0 && within) allowed_.give(ctx, quota_, 1);
            sure = sure && !found.contended;
        } else if (within && now.bits == page_word::free) {
            if (words_.claim(ctx, page, to)) found = {page, count};
            sure = sure && found.count != 0;
        } else if (adopts) {
            const page_claim claim = words_.adopt(ctx, page, now.quota(), to);
            if (claim == page_claim::made) found = {page, count};
            if (claim == page_claim::made && within) allowed_.give(ctx, now.quota(), 1);
            sure = sure && claim != page_claim::lost;
        }
        // Others find what is left: whoever should have said so may not have come to it.
        if (found.count != 0 && words_.belongs(words_.look(ctx, page), use, quota_)) {
            heap_.set_of(use, quota_).insert(ctx, page);
        }
        if (adopts) allowed_.finish(ctx, now.quota());
        return found.count != 0;
    }

    /// With the turn of those who claim spans by sets: two that claim pages of one row would leave some between them.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN page_reservation look_in_turn(Ctx& ctx, std::uint32_t count) const {
        std::uint32_t* const word = heap_.opener_of(page_word::free, quota_, 0);
        if (!words_.begins_turn(ctx, word)) return {.contended = true};
        const page_reservation found = look_for_row(ctx, count);
        words_.end_turn(ctx, word);
        return found;
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN page_reservation look_for_row(Ctx& ctx, std::uint32_t count) const {
        page_reservation found;
        bool sure = each_page(
            ctx, [&](page_word now) { return words_.belongs(now, heap_.idle(), now.quota()); },
            [&](std::uint32_t page) { return free_idle(ctx, page), false; });
        const quota_answer answer = allowed_.take(ctx, quota_, count);
        found.contended = answer == quota_answer::contended || !sure;
        if (answer != quota_answer::taken) return found;
        const quota_word before = words_.in_hand(ctx);
        const std::uint32_t first =
            words_.claim_row(ctx, quota_, count, [&](std::uint32_t index) { return free_pages(ctx, index); });
        if (first != heap_.n_pages) found = {first, count};
        if (found.count == 0) found.contended = !(words_.is_same(ctx, before, 1) && sure && !stopped(ctx));
        if (found.count == 0) allowed_.give(ctx, quota_, count);
        allowed_.finish(ctx, quota_);
        return found;
    }
    template <class Ctx>
    LANEWAY_FN void free_idle(Ctx& ctx, std::uint32_t page) const {
        const std::uint32_t quota = words_.look(ctx, page).quota();
        allowed_.hold(ctx, quota);
        if (words_.adopt(ctx, page, quota, {page_word::span_body}) == page_claim::made) {
            allowed_.give(ctx, quota, 1);  // before another lane can have the page, and count it
            words_.free_page(ctx, page);
        }
        allowed_.finish(ctx, quota);
    }
    /// Free pages from 32 · index on, one a bit; none where the run is ending.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t free_pages(Ctx& ctx, std::uint32_t index) const {
        constexpr std::uint32_t stop_words = pages_a_stop / page_set::word_pages;
        if (index % stop_words == stop_words - 1 && stopped(ctx)) return 0;
        const std::uint32_t first = index * page_set::word_pages;
        const std::uint32_t left = heap_.n_pages - first;
        const std::uint32_t end = left < page_set::word_pages ? left : page_set::word_pages;
        std::uint32_t pages = 0;
        for (std::uint32_t bit = 0; bit < end; ++bit) {
            pages |= static_cast<std::uint32_t>(words_.look(ctx, first + bit).bits == page_word::free) << bit;
        }
        return pages;
    }

    const device_heap_layout& heap_;
    std::uint32_t quota_;
    std::size_t bytes_;
    page_quota allowed_;
    heap_words words_;
};

}  // namespace laneway
