// A set of pages that any lanes put pages into, take out and search: a bit a page, above it a bit a word of these, and
// above these once more.
//
// The bits are hints: whether a page belongs into the set stands in a word of its own, the page word. What holds is: a
// page that belongs, and whose page word nobody is about to change, is in the set and found. Who makes a page belong
// changes the page word first, then calls insert(); who ends that calls remove(), which looks at the page word once
// more. If the removal is the last word on a bit, it has read, by its acquire, the insertion's release, and sees the
// page word of whoever inserted, or a later one. The same holds, one level up, of words and their bits. A page in the
// set that does not belong costs whoever finds it a look, and a call of remove().
#pragma once

#include "laneway/simt/context.hpp"

namespace laneway {

class page_set {
public:
    static constexpr std::uint32_t word_pages = 32;  ///< pages of a word, and words of a word above
    static constexpr std::uint32_t first_word = 2;   ///< what stands before them counts removals
    static constexpr std::uint32_t n_levels = 3;
    /// Of what find() begins with: bits that spread over the pages of a word, over its words, and over those above.
    static constexpr std::uint32_t place_bits = 10;

    /// `words`: word_count(n_pages) of them, zero for an empty set, in PE memory.
    LANEWAY_FN page_set(std::uint32_t* words, std::uint32_t n_pages) : begun_(words), ended_(words + 1) {
        std::uint32_t* level = words + first_word;
        for (std::uint32_t i = 0; i < n_levels; ++i) {
            levels_[i] = level;
            level += level_words(n_pages, i);
        }
        n_top_ = level_words(n_pages, n_levels - 1);
    }

    /// Words of a level: 0 has a bit for each of so many pages, each level above one for each word below.
    [[nodiscard]] static constexpr LANEWAY_FN std::uint32_t level_words(std::uint32_t n_pages, std::uint32_t level) {
        std::uint32_t words = n_pages;
        for (std::uint32_t i = 0; i <= level; ++i) words = (words + word_pages - 1) / word_pages;
        return words;
    }
    [[nodiscard]] static constexpr LANEWAY_FN std::uint32_t word_count(std::uint32_t n_pages) {
        std::uint32_t words = first_word;
        for (std::uint32_t i = 0; i < n_levels; ++i) words += level_words(n_pages, i);
        return words;
    }
    /// Pages 32 · index and on, one a bit. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t word(Ctx& ctx, std::uint32_t index) const {
        return look<0>(ctx, index);
    }
    /// Which of the words 32 · index and on have pages, one a bit. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t words_with_pages(Ctx& ctx, std::uint32_t index) const {
        return look<1>(ctx, index);
    }

    /// After the page word has been changed so that the page belongs. Any lane; does not wait.
    template <class Ctx>
    LANEWAY_FN void insert(Ctx& ctx, std::uint32_t page) const {
        set<0>(ctx, page);
    }

    /// After the page word has been seen or changed so that the page does not belong; `belongs()` looks at it again.
    /// Nothing happens where the page is not in the set: who puts it in later, for what has passed, leaves a wrong
    /// hint. Any lane; does not wait.
    template <class Ctx, class Belongs>
    LANEWAY_FN void remove(Ctx& ctx, std::uint32_t page, Belongs&& belongs) const {
        // Of many that have come for one page most find that it has been taken out.
        if ((look<0>(ctx, page / word_pages) & bit_of(page)) == 0) return;
        ctx.fetch_add(begun_, 1u, order::relaxed, scope::device);  // before what follows, which releases it
        clear<0>(ctx, page);
        if (belongs()) insert(ctx, page);
        // Partner: the acquire load in is_empty().
        ctx.fetch_add(ended_, 1u, order::release, scope::device);
    }

    /// Whether there is no page, and none can have been missed: none is while a removal goes on, which takes out more
    /// for a moment than it must. Any lane; does not wait.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool is_empty(Ctx& ctx) const {
        // Partner: the fetch_add of the same word in remove(): what those removals put back is seen.
        const std::uint32_t ended = ctx.load(ended_, order::acquire, scope::device);
        for (std::uint32_t top = 0; top < n_top_; ++top) {
            if (look<n_levels - 1>(ctx, top) != 0) return false;
        }
        // Partner: the fetch_and in clear(). Whose bits were missed had been counted before.
        ctx.fence(scope::device);
        return ctx.load(begun_, order::relaxed, scope::device) == ended;
    }

    /// Calls `visit(page)` for pages of the set until it returns true, or there are no more; some may be missed, as in
    /// is_empty(). `start` spreads lanes evenly over what is set, by place_bits each for pages, words, and those above:
    /// below 1 << place_bits, over the first pages. Any lane; looks at each word once.
    template <class Ctx, class Visit>
    LANEWAY_FN void find(Ctx& ctx, std::uint32_t start, Visit&& visit) const {
        std::uint32_t no_pages = none, no_words = none;  // what was seen empty, though a bit above is set
        const std::uint32_t first = start >> 2 * place_bits;
        for (std::uint32_t i = 0; i < n_top_; ++i) {
            const std::uint32_t top = (first + i) % n_top_;
            std::uint32_t tops = look<2>(ctx, top);
            while (tops != 0) {
                const std::uint32_t above = top * word_pages + take_from<Ctx>(tops, first);
                std::uint32_t words = look<1>(ctx, above);
                if (words == 0) no_words = above;
                while (words != 0) {
                    const std::uint32_t index = above * word_pages + take_from<Ctx>(words, start >> place_bits);
                    std::uint32_t pages = look<0>(ctx, index);
                    if (pages == 0) no_pages = index;
                    while (pages != 0) {
                        if (visit(index * word_pages + take_from<Ctx>(pages, start))) return;
                    }
                }
            }
        }
        if (no_pages != none) tidy<0>(ctx, no_pages);
        if (no_words != none) tidy<1>(ctx, no_words);
    }

private:
    static constexpr std::uint32_t none = ~0u;

    [[nodiscard]] static LANEWAY_FN std::uint32_t bit_of(std::uint32_t index) { return 1u << index % word_pages; }
    template <std::uint32_t Level, class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t look(Ctx& ctx, std::uint32_t index) const {
        return ctx.load(levels_[Level] + index, order::relaxed, scope::device);
    }

    template <std::uint32_t Level, class Ctx>
    LANEWAY_FN void set(Ctx& ctx, std::uint32_t index) const {
        const std::uint32_t word = index / word_pages;
        // Partner: the fetch_and of the same word in clear().
        const std::uint32_t before = ctx.fetch_or(levels_[Level] + word, bit_of(index), order::acq_rel, scope::device);
        if constexpr (Level + 1 < n_levels) {
            if (before == 0) set<Level + 1>(ctx, word);
        }
    }
    template <std::uint32_t Level, class Ctx>
    LANEWAY_FN void clear(Ctx& ctx, std::uint32_t index) const {
        const std::uint32_t word = index / word_pages, bit = bit_of(index);
        // Partner: the fetch_or of the same word in set(). What stood before an insertion that this one undoes is seen
        // by who looks again.
        const std::uint32_t left = ctx.fetch_and(levels_[Level] + word, ~bit, order::acq_rel, scope::device) & ~bit;
        if constexpr (Level + 1 < n_levels) {
            if (left == 0) clear_above<Level>(ctx, word);
        }
    }
    template <std::uint32_t Level, class Ctx>
    LANEWAY_FN void clear_above(Ctx& ctx, std::uint32_t word) const {
        clear<Level + 1>(ctx, word);
        if (look<Level>(ctx, word) != 0) set<Level + 1>(ctx, word);
    }
    /// Clears the bit above an empty word, which stays set where the one that made the word empty was faster than the
    /// one that had set that bit.
    template <std::uint32_t Level, class Ctx>
    LANEWAY_FN void tidy(Ctx& ctx, std::uint32_t word) const {
        if ((look<Level + 1>(ctx, word / word_pages) & bit_of(word)) == 0 || look<Level>(ctx, word) != 0) return;
        ctx.fetch_add(begun_, 1u, order::relaxed, scope::device);
        clear_above<Level>(ctx, word);
        ctx.fetch_add(ended_, 1u, order::release, scope::device);  // Partner: the acquire load in is_empty()
    }

    /// Takes out one of the bits and returns its number: as many are below it as a part of all that `place` says.
    template <class Ctx>
    [[nodiscard]] static LANEWAY_FN std::uint32_t take_from(std::uint32_t& bits, std::uint32_t place) {
        constexpr std::uint32_t places = 1u << place_bits;
        std::uint32_t below = place % places * static_cast<std::uint32_t>(Ctx::count_lanes(bits)) >> place_bits;
        std::uint32_t rest = bits, number = 0;
        for (std::uint32_t half = word_pages / 2; half > 0; half /= 2) {
            const auto count = static_cast<std::uint32_t>(Ctx::count_lanes(rest & ((1u << half) - 1)));
            if (below < count) continue;
            below -= count;
            rest >>= half;
            number += half;
        }
        bits &= ~(1u << number);
        return number;
    }

    std::uint32_t* begun_;  ///< removals
    std::uint32_t* ended_;
    std::uint32_t* levels_[n_levels];
    std::uint32_t n_top_;
};

}  // namespace laneway
