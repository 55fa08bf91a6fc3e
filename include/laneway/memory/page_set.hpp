// A set of pages that any lanes put pages into, take out and search: a bit a page, and above it a bit a word of these.
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

    /// `words`: word_count(n_pages) of them, zero for an empty set, in PE memory.
    LANEWAY_FN page_set(std::uint32_t* words, std::uint32_t n_pages)
        : begun_(words), ended_(words + 1), words_(words + first_word),
          n_words_((n_pages + word_pages - 1) / word_pages), above_(words_ + n_words_) {}

    [[nodiscard]] static constexpr LANEWAY_FN std::uint32_t word_count(std::uint32_t n_pages) {
        const std::uint32_t words = (n_pages + word_pages - 1) / word_pages;
        return first_word + words + (words + word_pages - 1) / word_pages;
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t n_words() const { return n_words_; }
    /// Pages 32 · index and on, one a bit. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t word(Ctx& ctx, std::uint32_t index) const {
        return ctx.load(words_ + index, order::relaxed, scope::device);
    }

    /// After the page word has been changed so that the page belongs. Any lane; does not wait.
    template <class Ctx>
    LANEWAY_FN void insert(Ctx& ctx, std::uint32_t page) const {
        const std::uint32_t index = page / word_pages;
        // Partner: the fetch_and of the same word in remove().
        if (ctx.fetch_or(words_ + index, bit_of(page), order::acq_rel, scope::device) == 0) {
            // Partner: the fetch_and of the same word in remove().
            ctx.fetch_or(above_ + index / word_pages, bit_of(index), order::acq_rel, scope::device);
        }
    }

    /// After the page word has been seen or changed so that the page does not belong; `belongs()` looks at it again.
    /// Any lane; does not wait.
    template <class Ctx, class Belongs>
    LANEWAY_FN void remove(Ctx& ctx, std::uint32_t page, Belongs&& belongs) const {
        const std::uint32_t index = page / word_pages;
        const std::uint32_t bit = bit_of(page);
        ctx.fetch_add(begun_, 1u, order::relaxed, scope::device);  // before what follows, which releases it
        // Partner: the fetch_or of the same word in insert(). What stood before an insertion that this one undoes is
        // seen by belongs().
        if ((ctx.fetch_and(words_ + index, ~bit, order::acq_rel, scope::device) & ~bit) == 0) {
            std::uint32_t* const above = above_ + index / word_pages;
            // Partner: the fetch_or of the same word in insert().
            ctx.fetch_and(above, ~bit_of(index), order::acq_rel, scope::device);
            if (word(ctx, index) != 0) ctx.fetch_or(above, bit_of(index), order::acq_rel, scope::device);
        }
        if (belongs()) insert(ctx, page);
        // Partner: the acquire load in find().
        ctx.fetch_add(ended_, 1u, order::release, scope::device);
    }

    /// Calls `visit(page)` for pages of the set until it returns true, or there are no more. Returns false where it did
    /// not, and some may have been missed: where a removal, which takes out more for a moment than it must, went on
    /// meanwhile. `start` spreads lanes: its lowest five bits over the pages of a word, those above over words. Any
    /// lane; looks at each word once.
    template <class Ctx, class Visit>
    LANEWAY_FN bool find(Ctx& ctx, std::uint32_t start, Visit&& visit) const {
        // Partner: the fetch_add of the same word in remove(): what those removals put back is seen.
        const std::uint32_t ended = ctx.load(ended_, order::acquire, scope::device);
        const std::uint32_t n_above = (n_words_ + word_pages - 1) / word_pages;
        const std::uint32_t first = start / (word_pages * word_pages) % n_above;
        for (std::uint32_t i = 0; i < n_above; ++i) {
            const std::uint32_t above = first + i < n_above ? first + i : first + i - n_above;
            std::uint32_t words = ctx.load(above_ + above, order::relaxed, scope::device);
            while (words != 0) {
                const std::uint32_t index = above * word_pages + take_from<Ctx>(words, start / word_pages);
                std::uint32_t pages = word(ctx, index);
                while (pages != 0) {
                    if (visit(index * word_pages + take_from<Ctx>(pages, start))) return true;
                }
            }
        }
        // Partner: the fetch_and in remove(). Whose bits were missed had been counted before.
        ctx.fence(scope::device);
        return ctx.load(begun_, order::relaxed, scope::device) == ended;
    }

private:
    [[nodiscard]] static LANEWAY_FN std::uint32_t bit_of(std::uint32_t index) { return 1u << index % word_pages; }
    /// Takes out the first bit from a place on, round the end of the word, and returns its number.
    template <class Ctx>
    [[nodiscard]] static LANEWAY_FN std::uint32_t take_from(std::uint32_t& bits, std::uint32_t place) {
        const std::uint32_t behind = bits & (~0u << place % word_pages);
        const auto number = static_cast<std::uint32_t>(Ctx::first_lane(behind != 0 ? behind : bits));
        bits &= ~(1u << number);
        return number;
    }

    std::uint32_t* begun_;  ///< removals
    std::uint32_t* ended_;
    std::uint32_t* words_;
    std::uint32_t n_words_;
    std::uint32_t* above_;
};

}  // namespace laneway
