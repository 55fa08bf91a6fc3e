// One message an update: what lanes post, and what the owner of a word does with it.
#pragma once

#include "parallel/claim.hpp"
#include "stream.hpp"
#include "table_map.hpp"

namespace laneway::apps {

/// Applies an update to the table. Runs on the PE that owns the word; an update applied twice is undone.
struct apply_update {
    symmetric_ref<std::uint64_t> table;
    table_map map;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t value) const {
        ctx.fetch_xor(table.local(ctx) + map.place(map.index(value)), value, order::relaxed, scope::device);
    }
};

/// The updates of a run and the table that they go to.
struct update_plan {
    random_stream stream;
    table_map map;
    std::uint64_t updates = 0;

    /// Number of the first update of part k of n.
    [[nodiscard]] LANEWAY_FN std::uint64_t begin(std::uint64_t k, std::uint64_t n) const {
        return updates / n * k + (k < updates % n ? k : updates % n);
    }
    /// Posts the update to the owner of its word.
    template <class Ctx, class Box>
    LANEWAY_FN status post(Ctx& ctx, Box& box, std::uint64_t value) const {
        return box.post(ctx, map.owner(map.index(value)), value);
    }
};

/// Mode free: every lane posts its part of the stream, one for the whole run: to get to any other place of it takes as
/// long as to draw some thousand updates.
struct post_updates {
    update_plan plan;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const std::uint64_t end = plan.begin(ctx.rank() + 1, ctx.size());
        std::uint64_t i = plan.begin(ctx.rank(), ctx.size());
        for (std::uint64_t value = plan.stream.at(i); i < end; ++i) {
            value = random_stream::after(value);
            if (plan.post(ctx, box, value) != status::ok) return;
        }
    }
};

/// Mode raw: every lane applies its part of the stream by remote atomics; the mailbox stays empty.
struct raw_updates {
    update_plan plan;
    symmetric_ref<std::uint64_t> table;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        const std::uint64_t end = plan.begin(ctx.rank() + 1, ctx.size());
        std::uint64_t i = plan.begin(ctx.rank(), ctx.size());
        for (std::uint64_t value = plan.stream.at(i); i < end; ++i) {
            value = random_stream::after(value);
            const std::uint64_t index = plan.map.index(value);
            std::uint64_t* const word = table.at(ctx, plan.map.owner(index)) + plan.map.place(index);
            ctx.fetch_xor(word, value, order::relaxed, scope::system);
        }
    }
};

/// Mode hpcc: no PE ever holds more than `look_ahead` updates that it has drawn and that have not been applied. As many
/// lanes as the limit allows draw updates, a window each, and wait until these have been served.
struct post_within_limit {
    update_plan plan;
    symmetric_ptr<std::uint64_t> seats;  ///< starts at 0: warps that asked to draw
    std::uint64_t look_ahead;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const std::uint64_t seat = claim(ctx, seats);
        if (box.barrier(ctx) != status::ok) return;  // after it, all have asked
        const std::uint64_t lanes = ctx.load(local(ctx, seats), order::relaxed, scope::device) * Ctx::warp_lanes;
        const std::uint64_t drawing = lanes < look_ahead ? lanes : look_ahead;
        const std::uint64_t place = seat * Ctx::warp_lanes + static_cast<std::uint64_t>(ctx.lane());
        if (place < drawing) draw(ctx, box, place, drawing);
    }

private:
    template <class Ctx, class Box>
    LANEWAY_FN void draw(Ctx& ctx, Box& box, std::uint64_t place, std::uint64_t drawing) const {
        const auto n = static_cast<std::uint64_t>(ctx.n_pes());
        const auto pe = static_cast<std::uint64_t>(ctx.pe());
        const std::uint64_t first = plan.begin(pe, n);
        const update_plan own{plan.stream, plan.map, plan.begin(pe + 1, n) - first};
        const std::uint64_t window = look_ahead / drawing;
        const std::uint64_t end = first + own.begin(place + 1, drawing);
        std::uint64_t i = first + own.begin(place, drawing);
        std::uint64_t value = plan.stream.at(i);
        while (i < end) {
            for (std::uint64_t drawn = 0; drawn < window && i < end; ++drawn, ++i) {
                value = random_stream::after(value);
                if (plan.post(ctx, box, value) != status::ok) return;
            }
            if (box.quiet(ctx) != status::ok) return;
        }
    }
};

}  // namespace laneway::apps
