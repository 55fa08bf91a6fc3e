// Carrying out the transfers that wait at a PE, by warps. They wait for nothing but copies that they have asked
// hardware or the host for.
#pragma once

#include "laneway/comm/transfers/transfer_mover.hpp"
#include "laneway/comm/transfers/transfer_queue.hpp"

namespace laneway {

/// Where a warp looks for work. Warps begin at different slots, and look in turn at those next to the newest one and
/// at all others, so that a lone transfer is found soon, and none is left.
struct transfer_look {
    std::uint32_t first = 0;    ///< slot, of those that it looks at next
    std::uint32_t sweep = ~0u;  ///< the same, of all others; none yet
    std::uint32_t turns = 0;
};

/// A turn of a warp. `staging`: of its block.
template <class Ctx>
class transfer_engine {
public:
    LANEWAY_FN transfer_engine(const transfers_memory_ref& view, transfer_queue<Ctx>& queue, bulk_staging& staging)
        : view_(view), queue_(queue), staging_(staging) {}

    /// Carries out some of what waits: small transfers, a lane each, and a few pieces of larger ones, so that the
    /// caller soon looks again at what else there is. Whether there was anything. The lanes of the mask, together.
    /// `lent`: the warp is no server.
    LANEWAY_FN bool turn(Ctx& ctx, lane_mask mask, transfer_look& at, bool lent) {
        constexpr std::uint32_t looks = transfers_memory_ref::look_slots / lanes;
        if (at.sweep == ~0u) at.sweep = first_sweep(ctx);
        bool waits = true, some = false;
        for (std::uint32_t i = 0; i < looks && waits && !some; ++i) {
            const std::uint32_t first = at.first;
            // Three loads at once: what waits is seen after the time of one.
            const piece_word seen{
                ctx.load(queue_.work(first + static_cast<std::uint32_t>(ctx.lane())), order::relaxed, scope::device)};
            const bool any = elected(ctx, mask) && queue_.waiting(ctx) != 0;
            const std::uint32_t newest =
                once(ctx, mask, [&] { return ctx.load(&queue_.counters().newest, order::relaxed, scope::device); });
            waits = ctx.ballot(mask, any) != 0;
            look_on(at, newest, waits);
            const lane_mask open = ctx.ballot(mask, seen.is_open());
            if (open != 0) some = carry(ctx, mask, first, seen, at, lent);
        }
        return some;
    }

private:
    static constexpr std::uint32_t lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    static_assert(transfers_memory_ref::look_slots % lanes == 0);

    [[nodiscard]] LANEWAY_FN std::uint32_t n_words() const { return static_cast<std::uint32_t>(view_.work.size()); }
    [[nodiscard]] static LANEWAY_FN std::uint32_t number_of_warp(const Ctx& ctx) {
        return static_cast<std::uint32_t>(ctx.block() * ctx.n_warps() + ctx.warp());
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t first_sweep(const Ctx& ctx) const {
        return number_of_warp(ctx) % (n_words() / lanes) * lanes;
    }
    LANEWAY_FN void look_on(transfer_look& at, std::uint32_t newest, bool waits) const {
        if (!waits) {  // the next one will come behind the newest
            at.first = (newest + 1) % view_.own_slots() / lanes * lanes;
        } else if (++at.turns % 2 != 0) {
            at.first = newest / lanes * lanes;
        } else {
            at.sweep = at.sweep + lanes < n_words() ? at.sweep + lanes : 0;
            at.first = at.sweep;
        }
    }

    /// A function of its own: a warp that finds nothing, nearly always, keeps its registers.
    LANEWAY_SLOW bool carry(Ctx& ctx, lane_mask mask, std::uint32_t first, piece_word seen, const transfer_look& at,
                            bool lent) {
        const bool is_small = seen.is_open() && seen.is_lanes();
        lane_mask large = ctx.ballot(mask, seen.is_open() && !seen.is_lanes());
        const bool small = ctx.ballot(mask, is_small) != 0;
        bool some = small && carry_small(ctx, mask, first + static_cast<std::uint32_t>(ctx.lane()), is_small, lent);
        // Warps that look at the same words begin with different ones.
        const std::uint32_t begin = (number_of_warp(ctx) + at.turns) % lanes;
        for (std::uint32_t left = view_.pieces_a_turn; large != 0 && left != 0;) {
            const lane_mask above = large >> begin << begin;
            const int next = Ctx::first_lane(above != 0 ? above : large);
            large &= ~(lane_mask{1} << next);
            const std::uint32_t n = carry_large(ctx, mask, first + static_cast<std::uint32_t>(next), left, lent);
            some = n != 0 || some;
            left -= n;
        }
        return some;
    }

    /// The slot's word before a piece was taken: closed where there was none.
    LANEWAY_FN piece_word take(Ctx& ctx, std::uint32_t number) {
        // Partner: the release store in transfer_queue::post. Who gets a piece sees the transfer that it belongs to.
        return {ctx.fetch_add(queue_.work(number), std::uint64_t{1}, order::acquire, scope::device)};
    }

    /// A small transfer for each lane that gets one.
    LANEWAY_FN bool carry_small(Ctx& ctx, lane_mask mask, std::uint32_t number, bool tries, bool lent) {
        // The slot may be another transfer's by now, of any size: its first piece is then taken all the same.
        const piece_word mine = tries ? take(ctx, number) : piece_word{};
        const lane_mask small = ctx.ballot(mask, mine.is_open() && mine.is_lanes());
        lane_mask large = ctx.ballot(mask, mine.is_open() && !mine.is_lanes());
        if (elected(ctx, mask) && small != 0) {
            queue_.add_waiting(ctx, ~static_cast<std::uint64_t>(Ctx::count_lanes(small)) + 1);
        }
        if (mine.is_open() && mine.is_lanes()) carry_alone(ctx, queue_.slot(number));
        ctx.sync(mask);
        const lane_mask any = small | large;
        for (; large != 0; large &= large - 1) {
            const int lane = Ctx::first_lane(large);
            const piece_word taken{ctx.shuffle(mask, mine.bits, lane)};
            (void)carry_pieces(ctx, mask, ctx.shuffle(mask, number, lane), taken, 1, lent);
        }
        return any != 0;
    }
    LANEWAY_FN void carry_alone(Ctx& ctx, transfer_slot& slot) {
        const transfer& t = slot.what;
        // What has not been moved whole is not told of: the run is ending.
        if (move_piece(ctx, t, {0, t.rows(), 0, t.row_bytes()}, {}) != status::ok) return;
        const std::uint64_t bytes = t.bytes();
        queue_.complete(ctx, slot);
        // One atomic of a counter for all lanes that are together; the last of them knows the sum.
        const lane_mask here = ctx.converged();
        const int n = Ctx::count_lanes(here);
        const std::uint64_t sum = inclusive_scan(ctx, here, bytes);
        ctx.sync(here);
        if (rank_in(ctx, here) + 1 == n) {
            queue_.count(ctx, transfer_method::lanes, static_cast<std::uint64_t>(n), sum);
            queue_.completed(ctx, static_cast<std::uint64_t>(n), order::release);
        }
    }

    /// Up to `most` pieces of a transfer; how many.
    LANEWAY_FN std::uint32_t carry_large(Ctx& ctx, lane_mask mask, std::uint32_t number, std::uint32_t most,
                                         bool lent) {
        const piece_word mine{once(ctx, mask, [&] { return take(ctx, number).bits; })};
        if (!mine.is_open()) return 0;
        return carry_pieces(ctx, mask, number, mine, most, lent);
    }

    /// The same, from one that the elected lane, or another one, has taken.
    LANEWAY_FN std::uint32_t carry_pieces(Ctx& ctx, lane_mask mask, std::uint32_t number, piece_word mine,
                                          std::uint32_t most, bool lent) {
        ctx.sync(mask);  // what one lane has acquired is visible to all
        transfer_slot& slot = queue_.slot(number);
        transfer_mover<Ctx> mover(ctx, mask, view_, staging_, slot);
        std::uint64_t bytes = 0;
        std::uint32_t done = 0;
        for (;;) {
            if (elected(ctx, mask)) queue_.add_waiting(ctx, ~transfer_queue<Ctx>::weight(mine) + 1);
            // The next one is asked for while this one is moved.
            piece_word next{};
            if (done + 1 < most && elected(ctx, mask)) next = take(ctx, number);
            const transfer_piece piece = slot.piece(mine.taken());
            if (!mover.move(ctx, mask, piece)) return most;
            bytes += piece.rows * piece.bytes;
            ++done;
            next.bits = ctx.shuffle(mask, next.bits, Ctx::first_lane(mask));
            if (!next.is_open()) break;
            mine = next;
        }
        if (!mover.end(ctx, mask)) return most;  // what is not there is not told of
        if (elected(ctx, mask)) finish(ctx, slot, mine, done, mover.method(), bytes, lent);
        ctx.sync(mask);
        return done;
    }
    /// Pieces have been moved. One lane, behind those that have.
    LANEWAY_FN void finish(Ctx& ctx, transfer_slot& slot, piece_word of, std::uint32_t done, transfer_method by,
                           std::uint64_t bytes, bool lent) {
        if (lent) ctx.fetch_add(&queue_.counters().lent_pieces, std::uint64_t{done}, order::relaxed, scope::device);
        queue_.count(ctx, by, 0, bytes);
        // Partners: these adds of the other pieces, and the fence in complete, which is cumulative over them.
        if (done != of.pieces() &&
            ctx.fetch_add(&slot.done, done, order::acq_rel, scope::device) + done != of.pieces()) {
            return;
        }
        queue_.count(ctx, slot.method, 1, 0);
        queue_.complete(ctx, slot);
        queue_.completed(ctx, 1, Ctx::tagged_order);
    }

    const transfers_memory_ref& view_;
    transfer_queue<Ctx>& queue_;
    bulk_staging& staging_;
};

}  // namespace laneway
