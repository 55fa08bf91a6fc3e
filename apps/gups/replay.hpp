// The check: each PE draws the whole stream again and applies the updates of its own words, without any message. Bodies
// of for_each, over what each PE has to do.
#pragma once

#include "updates.hpp"

namespace laneway::apps {

/// Applies every update of the run once more on the PE that owns its word. That undoes a run that lost none and doubled
/// none: each word holds its own number again.
struct undo_updates {
    static constexpr std::uint64_t stretch = 1024;  ///< updates between two jumps in the stream

    update_plan plan;
    apply_update apply;

    /// Of the whole stream.
    [[nodiscard]] std::uint64_t stretches() const { return (plan.updates + stretch - 1) / stretch; }

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t number) const {
        const std::uint64_t begin = number * stretch;
        const std::uint64_t end = begin + stretch < plan.updates ? begin + stretch : plan.updates;
        std::uint64_t value = plan.stream.at(begin);
        for (std::uint64_t i = begin; i < end; ++i) {
            value = random_stream::after(value);
            if (plan.map.owner(plan.map.index(value)) == ctx.pe()) apply(ctx, value);
        }
    }
};

/// Sets every word of the own PE to its number.
struct number_words {
    symmetric_ref<std::uint64_t> table;
    table_map map;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i) const {
        const std::uint64_t number = map.first(ctx.pe()) + i;
        table.local(ctx)[map.place(number)] = number;
    }
};

/// Looks for words of the own PE that do not hold their number.
struct find_errors {
    symmetric_ref<std::uint64_t> table;
    table_map map;
    symmetric_ptr<std::uint64_t> errors;  ///< their number is added here
    symmetric_ptr<std::uint64_t> first;   ///< takes the least of them

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i) const {
        const std::uint64_t number = map.first(ctx.pe()) + i;
        if (table.local(ctx)[map.place(number)] == number) return;
        atomic_add(ctx, errors, 1);
        ctx.fetch_min(local(ctx, first), number, order::relaxed, scope::device);
    }
};

}  // namespace laneway::apps
