// Posting and carrying out transfers, by lanes of any kind. Who posts waits for room in a queue; who carries out, only
// for positions of a queue that others have drawn before, and for copies that it has asked hardware or the host for.
//
// Counted as work: a transfer when its ticket is drawn, before anything of it can be seen; done when its data is there
// and all are told.
#pragma once

#include "laneway/comm/transfers/move_rows.hpp"
#include "laneway/comm/transfers/transfer_slot.hpp"
#include "laneway/simt/bulk_copy.hpp"

namespace laneway {

/// A lane's access to its PE's transfers. `staging`: of its block.
template <class Ctx>
class transfer_engine {
public:
    using queue = warp_queue_ref<std::uint32_t, scope::device>;

    LANEWAY_FN transfer_engine(Ctx& ctx, const transfers_memory_ref& view, bulk_staging& staging)
        : view_(view), staging_(staging), slots_(address(ctx, view.slots[0], ctx.pe())),
          counters_(address(ctx, view.counters[0], ctx.pe())), keys_(address(ctx, view.keys[0], ctx.pe())),
          small_(address(ctx, view.words[0], ctx.pe()), address(ctx, view.small[0], ctx.pe()), view.small.size()),
          tokens_(address(ctx, view.words[1], ctx.pe()), address(ctx, view.tokens[0], ctx.pe()), view.tokens.size()) {}

    /// Draws slots for the lanes of the mask, together. A slot is free when its lap before is over.
    LANEWAY_FN transfer_event draw(Ctx& ctx, lane_mask mask) {
        const auto n = static_cast<std::uint64_t>(Ctx::count_lanes(mask));
        // Partner: the acquire load in add_created of the view. Whoever sees the effects comes behind a later release.
        const std::uint64_t first =
            once(ctx, mask, [&] { return ctx.fetch_add(&counters_->tickets, n, order::relaxed, scope::device); });
        const std::uint64_t ticket = first + static_cast<std::uint64_t>(rank_in(ctx, mask));
        return {static_cast<std::uint32_t>(ticket % view_.own_slots()),
                static_cast<std::uint32_t>(ticket / view_.own_slots())};
    }
    /// The slot of a transfer that all warps post together, their `round`th.
    [[nodiscard]] LANEWAY_FN transfer_event together(std::uint64_t round) const {
        constexpr std::uint32_t n = transfers_memory_ref::together_slots;
        return {view_.own_slots() + static_cast<std::uint32_t>(round % n), static_cast<std::uint32_t>(round / n)};
    }
    /// A warp comes to post it; whether it is the last of `warps`. One lane of it; the slot is free, so nobody is a lap
    /// ahead.
    LANEWAY_FN bool arrive(Ctx& ctx, transfer_event at, std::uint32_t warps) {
        // Partners: these adds of other warps. What they have stored is part of the transfer.
        const std::uint32_t before = ctx.fetch_add(&slots_[at.slot].arrived, 1u, order::acq_rel, scope::device);
        if (before + 1 != warps) return false;
        ctx.store(&slots_[at.slot].arrived, 0u, order::relaxed, scope::device);
        ctx.fetch_add(&counters_->together, std::uint64_t{1}, order::relaxed, scope::device);
        return true;
    }

    /// Whether the slot's laps before this one are over.
    [[nodiscard]] LANEWAY_FN bool is_free(Ctx& ctx, transfer_event at) const { return finished(ctx, at.slot, at.lap); }
    /// Whether a transfer is done: what it has moved, and what was done before it was posted, is visible.
    [[nodiscard]] LANEWAY_FN bool is_done(Ctx& ctx, transfer_event of) const {
        return finished(ctx, of.slot, of.lap + 1);
    }

    /// Leaves a transfer that has been checked in its free slot, and hands it to those who carry transfers out. Any
    /// lane, each with its own; waits for room, calling `idle()`.
    template <class Idle>
    LANEWAY_SLOW status post(Ctx& ctx, transfer_event at, const transfer& t, Idle&& idle) {
        transfer_slot& slot = slots_[at.slot];
        slot.what = t;
        slot.lap = at.lap;
        slot.method = choose(t);
        if (t.key() != transfer::no_key) {
            ctx.fetch_add(&keys_[t.key()].posted, std::uint64_t{1}, order::relaxed, scope::device);
        }
        if (t.rows() == 0) {
            count(ctx, slot.method, 1, 0);
            complete(ctx, slot);
            completed(ctx, 1);
            return status::ok;
        }
        slot.done = 0;
        const std::uint64_t pieces = split(slot);
        if (slot.method == transfer_method::lanes) {
            return small_.push(ctx, ctx.converged(), at.slot, order::release, idle);
        }
        // Partner: the add in take_piece, also of those who hold a token of an earlier lap.
        ctx.store(&slot.pieces, piece_word::of(pieces).bits, order::release, scope::device);
        if (pieces == 1) return tokens_.push(ctx, ctx.converged(), at.slot, order::release, idle);
        constexpr std::uint64_t most = transfers_memory_ref::max_sharing;
        return tokens_.push_copies(ctx, pieces < most ? pieces : most, at.slot, order::release, idle);
    }

    /// Carries out some of what waits: small transfers, a lane each, then a few pieces of a larger one, so that the
    /// caller soon looks again at what else there is. Whether there was anything. The lanes of the mask, together.
    /// `lent`: the warp is no server.
    LANEWAY_FN bool turn(Ctx& ctx, lane_mask mask, bool lent) {
        const bool some = carry_small(ctx, mask);
        return carry_large(ctx, mask, lent) || some;
    }

    /// How many warps might have something to do.
    [[nodiscard]] LANEWAY_FN std::uint64_t load(Ctx& ctx) const {
        return tokens_.waiting(ctx) + (small_.waiting(ctx) + Ctx::warp_lanes - 1) / Ctx::warp_lanes;
    }
    [[nodiscard]] LANEWAY_FN transfer_counters& counters() const { return *counters_; }
    [[nodiscard]] LANEWAY_FN transfer_key& key(std::uint32_t number) const { return keys_[number]; }

private:
    [[nodiscard]] LANEWAY_FN bool finished(Ctx& ctx, std::uint32_t slot, std::uint32_t laps) const {
        // Partner: the release store in complete. Laps wrap round.
        const std::uint32_t now = ctx.load(&slots_[slot].finished, order::acquire, scope::device);
        return static_cast<std::int32_t>(now - laps) >= 0;
    }

    [[nodiscard]] LANEWAY_FN transfer_method choose(const transfer& t) const {
        if (view_.method != transfer_method::automatic) {
            const bool can = view_.method == transfer_method::lanes    ? suits_lane(t)
                             : view_.method == transfer_method::bulk   ? suits_bulk(t)
                             : view_.method == transfer_method::engine ? suits_engine(t)
                                                                       : true;
            return can ? view_.method : transfer_method::warps;
        }
        if (t.bytes() <= view_.lane_bytes && suits_lane(t)) return transfer_method::lanes;
        if (suits_engine(t)) return transfer_method::engine;
        return t.row_bytes() >= view_.bulk_bytes && suits_bulk(t) ? transfer_method::bulk : transfer_method::warps;
    }
    /// Mates wait for a lane that moves more than a piece.
    [[nodiscard]] LANEWAY_FN bool suits_lane(const transfer& t) const { return t.bytes() <= view_.piece_bytes; }
    /// Within a GPU the host's copies are kernels, which would wait for this one.
    [[nodiscard]] LANEWAY_FN bool suits_engine(const transfer& t) const {
        return view_.engine_bytes != 0 && t.bytes() >= view_.engine_bytes && is_one_row(t) && t.from_pe() != t.to_pe();
    }
    [[nodiscard]] static LANEWAY_FN bool is_one_row(const transfer& t) {
        return t.rows() == 1 && t.form() == transfer::shape::rows;
    }
    /// Where memory begins is known to be aligned.
    [[nodiscard]] LANEWAY_FN bool suits_bulk(const transfer& t) const {
        const std::uint64_t pitches = is_one_row(t) ? 0 : t.from_pitch() | t.to_pitch();
        return bulk_copier<Ctx>::available() &&
               (t.from().index | t.to().index | t.row_bytes() | pitches) % bulk_alignment == 0;
    }

    /// Splits a transfer into pieces: several rows each, or part of one. Returns how many there are.
    LANEWAY_FN std::uint64_t split(transfer_slot& slot) const {
        const transfer& t = slot.what;
        const std::uint64_t row = t.row_bytes();
        std::uint64_t part = slot.method == transfer_method::engine ? row : view_.piece_bytes, rows = 1;
        // So many pieces as the word counts, whatever the size.
        while ((row + part - 1) / part * t.rows() >= max_pieces && part < row) part *= 2;
        if (row <= part) {
            rows = part / row;
            while ((t.rows() + rows - 1) / rows >= max_pieces) rows *= 2;
        }
        slot.row_part_bytes = row < part ? row : part;
        slot.pieces_a_row = static_cast<std::uint32_t>((row + part - 1) / part);
        slot.rows_a_piece = static_cast<std::uint32_t>(rows < max_pieces ? rows : max_pieces);
        return slot.pieces_a_row > 1 ? slot.pieces_a_row * t.rows()
                                     : (t.rows() + slot.rows_a_piece - 1) / slot.rows_a_piece;
    }

    /// A small transfer for each lane that gets one.
    LANEWAY_FN bool carry_small(Ctx& ctx, lane_mask mask) {
        std::uint32_t number = 0;
        const bool got = small_.pop(ctx, mask, Ctx::warp_lanes, number, order::acquire);
        const lane_mask busy = ctx.ballot(mask, got);
        if (busy == 0) return false;
        const transfer& t = slots_[number].what;
        // What has not been moved whole is not told of: the run is ending.
        if (got && move_piece(ctx, t, {0, t.rows(), 0, t.row_bytes()}, {}) == status::ok) {
            const std::uint64_t bytes = t.bytes();
            complete(ctx, slots_[number]);
            // One atomic of a counter for all lanes that are together; the last of them knows the sum.
            const lane_mask here = ctx.converged();
            const int n = Ctx::count_lanes(here);
            const std::uint64_t sum = inclusive_scan(ctx, here, bytes);
            ctx.sync(here);
            if (rank_in(ctx, here) + 1 == n) {
                count(ctx, transfer_method::lanes, static_cast<std::uint64_t>(n), sum);
                completed(ctx, static_cast<std::uint64_t>(n));
            }
        }
        ctx.sync(mask);
        return true;
    }

    /// Takes a token, and a few pieces for it. Where more are left the token goes back: nobody keeps one while he does
    /// something else.
    LANEWAY_FN bool carry_large(Ctx& ctx, lane_mask mask, bool lent) {
        std::uint32_t number = 0;
        const bool got = tokens_.borrow(ctx, mask, number, order::acquire);
        if (ctx.ballot(mask, got) == 0) return false;
        number = ctx.shuffle(mask, number, Ctx::first_lane(mask));
        transfer_slot& slot = slots_[number];
        bool more = true;
        for (std::uint32_t i = 0; more && i < view_.pieces_a_turn; ++i) {
            const piece_word before = take_piece(ctx, mask, slot);
            more = before.taken() < before.pieces() && carry_piece(ctx, mask, slot, before.taken(), lent) &&
                   before.taken() + 1 < before.pieces();
        }
        if (elected(ctx, mask)) {
            if (more) {
                (void)tokens_.give_back(ctx, number, order::release);  // fails where the run ends
            } else {
                tokens_.drop(ctx);
            }
        }
        ctx.sync(mask);
        return true;
    }

    /// The slot's pieces before one was taken.
    LANEWAY_FN piece_word take_piece(Ctx& ctx, lane_mask mask, transfer_slot& slot) {
        const std::uint64_t bits = once(ctx, mask, [&] {
            // Partner: the release store in post. Who gets a piece sees the transfer that it belongs to.
            return ctx.fetch_add(&slot.pieces, std::uint64_t{1}, order::acquire, scope::device);
        });
        ctx.sync(mask);  // what one lane has acquired is visible to all
        return {bits};
    }

    /// False where it could not be moved: the run is ending.
    LANEWAY_FN bool carry_piece(Ctx& ctx, lane_mask mask, transfer_slot& slot, std::uint32_t number, bool lent) {
        const transfer_piece piece = slot.piece(number);
        transfer_method by = slot.method;
        status moved = status::ok;
        if (by == transfer_method::engine) moved = move_by_engine(ctx, mask, slot.what);
        if (by == transfer_method::bulk && !move_in_bulk(ctx, mask, slot.what, piece, moved)) {
            by = transfer_method::warps;
        }
        if (by == transfer_method::warps) {
            moved = move_piece(
                ctx, slot.what, piece,
                {static_cast<std::uint64_t>(rank_in(ctx, mask)), static_cast<std::uint64_t>(Ctx::count_lanes(mask))});
        }
        ctx.sync(mask);
        if (ctx.ballot(mask, moved != status::ok) != 0) return false;  // what is not there is not told of
        if (elected(ctx, mask)) {
            const std::uint32_t pieces = piece_word{ctx.load(&slot.pieces, order::relaxed, scope::device)}.pieces();
            if (lent) ctx.fetch_add(&counters_->lent_pieces, std::uint64_t{1}, order::relaxed, scope::device);
            count(ctx, by, 0, piece.rows * piece.bytes);
            if (pieces > 1) ctx.fence(scope::system);  // complete of another lane may follow
            // Partners: these adds of the other pieces.
            if (ctx.fetch_add(&slot.done, 1u, order::acq_rel, scope::device) + 1 == pieces) {
                count(ctx, slot.method, 1, 0);
                complete(ctx, slot);
                completed(ctx, 1);
            }
        }
        ctx.sync(mask);
        return true;
    }

    /// False where another warp of the block uses its copy hardware: then lanes copy beside it.
    LANEWAY_FN bool move_in_bulk(Ctx& ctx, lane_mask mask, const transfer& t, const transfer_piece& piece,
                                 status& moved) {
        return once(ctx, mask, [&]() -> std::uint32_t {
                   // Partner: the release store below.
                   if (ctx.exchange(&staging_.owned, 1u, order::acquire, scope::block) != 0) return 0;
                   const transfer_rows<Ctx> rows(ctx, t);
                   for (std::uint64_t i = 0; i < piece.rows && moved == status::ok; ++i) {
                       std::uint64_t source = 0, target = 0;
                       moved = rows.find(ctx, piece.row + i, source, target);
                       if (moved != status::ok) continue;
                       moved = bulk_copier<Ctx>::copy(ctx, staging_, rows.to(target) + piece.first,
                                                      rows.from(source) + piece.first, piece.bytes);
                   }
                   // A copy that was stopped may have loads under way into the stages: nobody else gets them.
                   if (moved == status::ok) ctx.store(&staging_.owned, 0u, order::release, scope::block);
                   return 1;
               }) != 0;
    }

    /// Has the host copy, and waits for it.
    LANEWAY_FN status move_by_engine(Ctx& ctx, lane_mask mask, const transfer& t) {
        if (!elected(ctx, mask)) return status::ok;
        ctx.fence(scope::system);  // what the lane has acquired is there for the host's engine
        const engine_copy asked{address(ctx, t.to(), t.to_pe()), address(ctx, t.from(), t.from_pe()), t.bytes(),
                                t.from_pe()};
        return view_.engine.call(ctx, asked).code;
    }

    /// Tells all that a transfer is done. One lane, behind those that have carried it out.
    LANEWAY_FN void complete(Ctx& ctx, transfer_slot& slot) {
        // What was moved is there before any word says so; cumulative over all lanes that have moved it.
        ctx.fence(scope::system);
        const transfer& t = slot.what;
        if (t.notifies()) {
            ctx.fetch_add(address(ctx, t.word(), t.to_pe()), t.value(), Ctx::tagged_order, scope::system);
        }
        const std::uint32_t key = t.key();
        // Partner: the acquire load in finished. The slot is another transfer's from here on.
        ctx.store(&slot.finished, slot.lap + 1, order::release, scope::device);
        if (key != transfer::no_key) {
            // Partner: the acquire load in transfers_agent::wait_key, behind which events are done as well.
            ctx.fetch_add(&keys_[key].done, std::uint64_t{1}, order::release, scope::device);
        }
    }
    /// So many transfers are done, and all are told. One lane, behind those that have told.
    LANEWAY_FN void completed(Ctx& ctx, std::uint64_t transfers) {
        // Partner: the acquire load in add_completed of the view.
        ctx.fetch_add(&counters_->completed, transfers, order::release, scope::device);
    }

    /// For the report.
    LANEWAY_FN void count(Ctx& ctx, transfer_method by, std::uint64_t transfers, std::uint64_t bytes) {
        transfer_count& to = counters_->by[static_cast<std::size_t>(by)];
        if (transfers != 0) ctx.fetch_add(&to.transfers, transfers, order::relaxed, scope::device);
        if (bytes != 0) ctx.fetch_add(&to.bytes, bytes, order::relaxed, scope::device);
    }

    static constexpr std::uint64_t max_pieces = std::uint64_t{1} << 31;

    const transfers_memory_ref& view_;
    bulk_staging& staging_;
    transfer_slot* slots_;
    transfer_counters* counters_;
    transfer_key* keys_;
    queue small_;
    queue tokens_;
};

}  // namespace laneway
