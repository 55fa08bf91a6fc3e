// The device part of PageRank by residual push: vertices, and mirrors of those of other PEs, as work items.
#pragma once

#include "fixed_rank.hpp"
#include "graph/mirrors.hpp"
#include "laneway/flow/item_route.hpp"

namespace laneway::apps {

/// What has come for a vertex and has not been handed on, and how much of that is left as it is. Side by side: whoever
/// adds looks at both.
struct push_word {
    std::uint64_t residual = 0;
    std::uint64_t limit = 0;
};

/// One PE's arcs and words; pointers are PE memory. A PE has a word for each of its rows, and behind them one for each
/// vertex of other PEs that its arcs lead to.
struct pushed_rows {
    const std::uint64_t* offsets = nullptr;   ///< rows + 1
    const std::uint32_t* heads = nullptr;     ///< one an arc: the word of its head
    const std::uint32_t* weights = nullptr;   ///< one an arc, where weights count
    const std::uint64_t* outgoing = nullptr;  ///< what each row's arcs weigh together, where weights count
    const mirror_target* owners = nullptr;    ///< one a mirror: the PE that owns the vertex, and its row there
    push_word* words = nullptr;
    std::uint64_t* ranks = nullptr;  ///< one a row: rank that has been handed on
    std::uint64_t rows = 0;
    std::uint64_t later = 0;  ///< of mirrors: what their priorities come behind those of rows with the same limit
};

/// "This word holds more than its limit." Who takes it notes in `share` what it has found there: for each arc of a row,
/// or for a weight of 1, a double's bits; of a mirror all of it. 0 until then.
struct push_item {
    std::uint64_t share = 0;
    std::uint32_t word = 0;
};
/// What has gathered for a vertex, for the PE that owns it.
struct residual_message {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::uint32_t row = 0;
};

/// The logarithm of a number, in quarters of a power of two; 0 counts as 1.
LANEWAY_FN std::uint64_t quarter_log(std::uint64_t number) {
    if (number == 0) return 0;
    const auto zeros = static_cast<unsigned>(__builtin_clzll(number));
    return 4 * (63 - zeros) + (number << zeros >> 61 & 3);
}

/// Residuals come first that are large beside their limits: by their logarithms.
LANEWAY_FN std::uint64_t push_priority(std::uint64_t residual, std::uint64_t limit) {
    constexpr std::uint64_t last = 4 * 64;
    return last + quarter_log(limit) - quarter_log(residual);
}

/// One PE's part. Whoever brings a word from its limit or less to more makes its item, and whoever takes the item
/// empties the word: so each word has one item at most that waits, and all that comes meanwhile goes the same way at
/// once, along a row's arcs or, of a mirror, as one message.
template <bool Weighted>
struct push_application {
    using item = push_item;
    using packed = residual_message;

    pushed_rows of;
    std::uint64_t alpha = 0;  ///< in units of rank

    /// Adds to a word; true where that makes it work.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool add(Ctx& ctx, std::uint64_t word, std::uint64_t amount) const {
        if (amount == 0) return false;
        push_word& to = of.words[word];
        const std::uint64_t limit = to.limit;  // before the add, so that one way to memory serves both
        // Relaxed: the word is its own data.
        const std::uint64_t before = ctx.fetch_add(&to.residual, amount, order::relaxed, scope::device);
        return before <= limit && before + amount > limit;
    }

    template <class Ctx>
    LANEWAY_FN packed pack(Ctx&, const item& made) const {
        return {static_cast<std::uint32_t>(made.share), static_cast<std::uint32_t>(made.share >> 32),
                of.owners[made.word - of.rows].index};
    }
    template <class Ctx>
    LANEWAY_FN item unpack(Ctx&, const packed& come) const {
        return {0, come.row};
    }

    template <class Ctx>
    LANEWAY_FN item_route on_send(Ctx&, const item& made) const {
        if (made.share == 0) return item_route::keep();
        return item_route::pass(static_cast<int>(of.owners[made.word - of.rows].pe));
    }
    template <class Ctx>
    LANEWAY_FN item_route on_receive(Ctx& ctx, const packed& come) const {
        const std::uint64_t amount = std::uint64_t{come.high} << 32 | come.low;
        return add(ctx, come.row, amount) ? item_route::keep() : item_route::drop();
    }
    template <class Ctx>
    LANEWAY_FN std::uint64_t priority(Ctx& ctx, const item& one) const {
        const push_word& at = of.words[one.word];
        const std::uint64_t beside = push_priority(ctx.load(&at.residual, order::relaxed, scope::device), at.limit);
        return one.word < of.rows ? beside : beside + of.later;
    }

    template <class Ctx>
    LANEWAY_FN item_parts parts(Ctx& ctx, item& one) const {
        const bool is_row = one.word < of.rows;
        if (one.share == 0) {
            const std::uint64_t taken = ctx.exchange(&of.words[one.word].residual, 0, order::relaxed, scope::device);
            if (is_row) (void)ctx.fetch_add(of.ranks + one.word, taken, order::relaxed, scope::device);
            one.share = is_row ? share_of(one.word, multiply_ranks(alpha, taken)) : taken;
        }
        if (one.share == 0) return item_parts::of(0);
        return item_parts::of(is_row ? static_cast<std::uint32_t>(of.offsets[one.word + 1] - of.offsets[one.word]) : 1);
    }
    template <class Ctx, class List>
    LANEWAY_FN void work(Ctx& ctx, const item& one, std::uint32_t part, List& list) const {
        item made{one.share, one.word};
        if (one.word < of.rows) {
            const std::uint64_t arc = of.offsets[one.word] + part;
            made = {0, of.heads[arc]};
            if (!add(ctx, made.word, along(arc, one.share))) return;
        }
        (void)list.push(ctx, made);  // a failure ends the run
    }

private:
    /// Of what a row hands on.
    [[nodiscard]] LANEWAY_FN std::uint64_t share_of(std::uint32_t row, std::uint64_t handed_on) const {
        if constexpr (Weighted) {
            if (of.outgoing[row] == 0) return 0;
            const double share = static_cast<double>(handed_on) / static_cast<double>(of.outgoing[row]);
            return __builtin_bit_cast(std::uint64_t, share);
        } else {
            const std::uint64_t arcs = of.offsets[row + 1] - of.offsets[row];
            return arcs == 0 ? 0 : handed_on / arcs;
        }
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t along(std::uint64_t arc, std::uint64_t share) const {
        if constexpr (Weighted) {
            return static_cast<std::uint64_t>(__builtin_bit_cast(double, share) * of.weights[arc]);
        } else {
            return share;
        }
    }
};

/// What a PE's words start with.
template <bool Weighted>
struct first_residuals {
    push_application<Weighted> application;
    const std::uint64_t* of = nullptr;  ///< one a word; PE memory
};

/// The body of a run: gives each word its first residual.
template <bool Weighted>
struct begin_pushes {
    /// Most of the work is an atomic for each arc. Messages are one for each push of a mirror, and so is what they ask
    /// for.
    static constexpr double server_share = 0.08;

    symmetric_ref<first_residuals<Weighted>> first;  ///< one element

    template <class Ctx, class Words, class List>
    LANEWAY_FN void operator()(Ctx& ctx, Words& words, List& list) const {
        const first_residuals<Weighted>& mine = *first.local(ctx);
        words.for_each(ctx, [&](std::uint64_t word) {
            if (!mine.application.add(ctx, word, mine.of[word])) return;
            (void)list.push(ctx, push_item{0, static_cast<std::uint32_t>(word)});  // a failure ends the run
        });
    }
};

}  // namespace laneway::apps
