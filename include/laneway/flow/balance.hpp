// Spreading the arcs of vertices over lanes, warps and blocks by degree.
#pragma once

#include "laneway/simt/group.hpp"

namespace laneway {

/// Arcs of one vertex: consecutive indices.
struct arc_range {
    std::uint64_t begin = 0;
    std::uint32_t count = 0;
};

/// Some of a range's arcs, for one lane: first, first + stride, ... A lane that gets several can have all their loads
/// on the way at once.
struct arc_batch {
    static constexpr int most = 4;

    std::uint64_t first = 0;
    std::uint32_t stride = 0;
    int count = 0;  ///< 0 to most
};

/// Walks the arcs [from, end) of a range that begins at `begin` with all lanes of a warp, together.
template <class Ctx, class Payload, class Visit>
LANEWAY_FN void walk_range(Ctx& ctx, std::uint64_t begin, std::uint32_t from, std::uint32_t end, Payload payload,
                           Visit&& visit) {
    constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    for (std::uint32_t i = from + static_cast<std::uint32_t>(ctx.lane()); i < end; i += lanes * arc_batch::most) {
        const std::uint32_t left = (end - i - 1) / lanes + 1;
        visit(arc_batch{begin + i, lanes, left < arc_batch::most ? static_cast<int>(left) : arc_batch::most}, payload);
    }
}

/// Calls `visit(batch, payload)` so that each arc of each lane's range is in one batch; `payload` is the range's lane's.
/// The whole warp, together; visits run on any lane and may diverge. A range as long as the warp is walked by the warp;
/// shorter ones are strung together, so that all lanes are busy whatever the degrees are.
template <class Ctx, class Payload, class Visit>
LANEWAY_FN void for_each_arc(Ctx& ctx, const arc_range& mine, Payload payload, Visit&& visit) {
    constexpr lane_mask all = full_warp<Ctx>;
    constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    const bool is_long = mine.count >= lanes;
    for (lane_mask rest = ctx.ballot(all, is_long); rest != 0; rest &= rest - 1) {
        const int from = Ctx::first_lane(rest);
        const std::uint64_t begin = ctx.shuffle(all, mine.begin, from);
        const std::uint32_t count = ctx.shuffle(all, mine.count, from);
        walk_range(ctx, begin, 0, count, ctx.shuffle(all, payload, from), visit);
    }
    const std::uint32_t count = is_long ? 0 : mine.count;
    const std::uint32_t end = inclusive_scan(ctx, all, count);
    const std::uint32_t total = ctx.shuffle(all, end, Ctx::warp_lanes - 1);
    for (std::uint32_t base = 0; base < total; base += lanes) {
        const std::uint32_t i = base + static_cast<std::uint32_t>(ctx.lane());
        int owner = 0;  // the first lane whose ranges end after i
        for (int step = Ctx::warp_lanes / 2; step > 0; step /= 2) {
            if (ctx.shuffle(all, end, owner + step - 1) <= i) owner += step;
        }
        const std::uint64_t begin = ctx.shuffle(all, mine.begin, owner);
        const std::uint32_t before = ctx.shuffle(all, end - count, owner);
        const Payload theirs = ctx.shuffle(all, payload, owner);
        if (i < total) visit(arc_batch{begin + (i - before), 0, 1}, theirs);
    }
}

/// Long ranges that the warps of a block work off together: a warp offers one, every warp of the block takes pieces.
/// Lies in shared memory. No warp waits: where all places are taken, the offering warp keeps its range.
template <class Payload>
class block_share {
public:
    static constexpr std::uint32_t places = 8;
    /// Arcs of a piece, by the lanes of a warp.
    template <class Ctx>
    static constexpr std::uint32_t piece = 8 * static_cast<std::uint32_t>(Ctx::warp_lanes);
    /// Ranges of at least four pieces are worth offering; shorter than 2^30, so that `next` cannot wrap.
    static constexpr std::uint32_t most = std::uint32_t{1} << 30;

    struct place {
        std::uint32_t owner;      ///< 1 while in use
        std::uint32_t next;       ///< first arc not yet taken; at least `closed` where there is none
        std::uint32_t count;
        std::uint32_t left;       ///< arcs not yet visited
        std::uint64_t begin;
        Payload payload;
    };

    LANEWAY_FN explicit block_share(std::byte* shared) : places_(reinterpret_cast<place*>(shared)) {}
    static constexpr std::size_t shared_bytes() { return (places * sizeof(place) + 15) / 16 * 16; }

    /// All lanes of the block, before use; a block barrier must follow.
    template <class Ctx>
    LANEWAY_FN void open(Ctx& ctx) {
        const int lanes = ctx.n_warps() * Ctx::warp_lanes;
        for (int i = ctx.warp() * Ctx::warp_lanes + ctx.lane(); i < static_cast<int>(places); i += lanes) {
            places_[i] = place{0, closed, 0, 0, 0, Payload{}};
        }
    }

    /// Hands a range to the block; false where it is not worth it or there is no place. One lane.
    template <class Ctx>
    LANEWAY_FN bool offer(Ctx& ctx, const arc_range& range, Payload payload) {
        if (ctx.n_warps() == 1 || range.count < 4 * piece<Ctx> || range.count >= most) return false;
        for (std::uint32_t i = 0; i < places; ++i) {
            place& p = places_[i];
            std::uint32_t none = 0;
            // Partner: the release store of `owner` in help. The last range of the place is done with.
            if (!ctx.compare_exchange(&p.owner, none, 1u, order::acquire, scope::block)) continue;
            p.begin = range.begin;
            p.payload = payload;
            p.count = range.count;
            ctx.store(&p.left, range.count, order::relaxed, scope::block);
            ctx.store(&p.next, 0, order::release, scope::block);  // partner: the fetch_add in help
            return true;
        }
        return false;
    }

    /// Takes one piece of each open range; calls `visit(batch, payload)` for its arcs and `done()` on one lane when the
    /// whole range has been visited. Returns whether there was a piece. The whole warp, together.
    template <class Ctx, class Visit, class Done>
    LANEWAY_FN bool help(Ctx& ctx, Visit&& visit, Done&& done) {
        if (ctx.n_warps() == 1) return false;
        bool helped = false;
        for (std::uint32_t base = 0; base < places; base += Ctx::warp_lanes) {
            const std::uint32_t i = base + static_cast<std::uint32_t>(ctx.lane());
            const bool open = i < places && ctx.load(&places_[i].next, order::relaxed, scope::block) < closed;
            for (lane_mask rest = ctx.ballot(full_warp<Ctx>, open); rest != 0; rest &= rest - 1) {
                place& p = places_[base + static_cast<std::uint32_t>(Ctx::first_lane(rest))];
                helped = take_piece(ctx, p, visit, done) || helped;
            }
        }
        return helped;
    }

private:
    static constexpr std::uint32_t closed = std::uint32_t{1} << 31;

    template <class Ctx, class Visit, class Done>
    LANEWAY_FN static bool take_piece(Ctx& ctx, place& p, Visit&& visit, Done&& done) {
        const std::uint32_t first = once(ctx, full_warp<Ctx>, [&] {
            // Partner: the release store in offer. A piece keeps the place's words as they are until it is done.
            return ctx.fetch_add(&p.next, piece<Ctx>, order::acquire, scope::block);
        });
        ctx.sync(full_warp<Ctx>);
        if (first >= closed) return false;
        const std::uint32_t count = p.count;
        if (first >= count) return false;
        const bool last = first + piece<Ctx> >= count;
        const std::uint32_t end = last ? count : first + piece<Ctx>;
        if (last && ctx.lane() == 0) ctx.store(&p.next, closed, order::relaxed, scope::block);
        walk_range(ctx, p.begin, first, end, p.payload, visit);
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) finish(ctx, p, end - first, done);
        return true;
    }

    template <class Ctx, class Done>
    LANEWAY_FN static void finish(Ctx& ctx, place& p, std::uint32_t visited, Done&& done) {
        // Partner: itself, in other warps. The last one sees all visits done.
        if (ctx.fetch_add(&p.left, std::uint32_t{0} - visited, order::acq_rel, scope::block) != visited) return;
        done();
        ctx.store(&p.owner, 0, order::release, scope::block);  // partner: the compare_exchange in offer
    }

    place* places_;
};

}  // namespace laneway
