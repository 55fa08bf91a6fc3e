// Posting transfers, and telling that they are done, by lanes of any kind. Nobody waits here.
//
// Counted as work: a transfer when its ticket is drawn, before anything of it can be seen; done when its data is there
// and all are told.
#pragma once

#include "laneway/comm/transfers/transfer_slot.hpp"
#include "laneway/simt/bulk_copy.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// A lane's access to its PE's slots.
template <class Ctx>
class transfer_queue {
public:
    LANEWAY_FN transfer_queue(Ctx& ctx, const transfers_memory_ref& view)
        : view_(view), slots_(address(ctx, view.slots[0])), work_(address(ctx, view.work[0])),
          counters_(address(ctx, view.counters[0])), keys_(address(ctx, view.keys[0])) {}

    /// Draws slots for the lanes of the mask, together. A slot is free when its lap before is over.
    LANEWAY_FN transfer_event draw(Ctx& ctx, lane_mask mask) {
        const auto n = static_cast<std::uint64_t>(Ctx::count_lanes(mask));
        // Partner: the acquire load in add_created of the view. Whoever sees the effects comes behind a later release.
        const std::uint64_t first =
            once(ctx, mask, [&] { return ctx.fetch_add(&counters_->tickets, n, order::relaxed, scope::device); });
        const std::uint64_t ticket = first + static_cast<std::uint64_t>(rank_in(ctx, mask));
        return {static_cast<std::uint32_t>(ticket & (view_.own_slots() - 1)),
                static_cast<std::uint32_t>(ticket >> view_.slot_bits)};
    }
    /// The slot of a transfer that all warps post together, their `round`th.
    [[nodiscard]] LANEWAY_FN transfer_event together(std::uint64_t round) const {
        constexpr std::uint32_t n = transfers_memory_ref::together_slots;
        return {view_.own_slots() + static_cast<std::uint32_t>(round % n), static_cast<std::uint32_t>(round / n)};
    }
    /// A warp comes to post it; whether it is the last of `warps`. One lane of it; the slot is free, so nobody is a lap
    /// ahead.
    LANEWAY_FN bool arrive(Ctx& ctx, transfer_event at, std::uint32_t warps) {
        std::uint32_t* const arrived = counters_->arrived + (at.slot - view_.own_slots());
        // Partners: these adds of other warps. What they have stored is part of the transfer.
        const std::uint32_t before = ctx.fetch_add(arrived, 1u, order::acq_rel, scope::device);
        if (before + 1 != warps) return false;
        ctx.store(arrived, 0u, order::relaxed, scope::device);
        ctx.fetch_add(&counters_->together, std::uint64_t{1}, order::relaxed, scope::device);
        return true;
    }

    /// Whether the slot's laps before this one are over; `is_free_now`: for who expects so, by one load.
    [[nodiscard]] LANEWAY_FN bool is_free(Ctx& ctx, transfer_event at) const { return finished(ctx, at.slot, at.lap); }
    [[nodiscard]] LANEWAY_FN bool is_free_now(Ctx& ctx, transfer_event at) const {
        // Partner: the store in complete.
        const std::uint32_t now = ctx.load(&slots_[at.slot].finished, order::acquire, scope::device);
        return static_cast<std::int32_t>(now - at.lap) >= 0;
    }
    /// Whether a transfer is done: what it has moved, and what was done before it was posted, is visible.
    [[nodiscard]] LANEWAY_FN bool is_done(Ctx& ctx, transfer_event of) const {
        return finished(ctx, of.slot, of.lap + 1);
    }

    /// Leaves a transfer that has been checked in its free slot, for those who carry transfers out. Any lane, each with
    /// its own.
    LANEWAY_SLOW void post(Ctx& ctx, transfer_event at, const transfer& given) {
        transfer_slot& slot = slots_[at.slot];
        const transfer t = given.joined();
        slot.what = t;
        slot.lap = at.lap;
        slot.done = 0;
        slot.method = choose(t);
        if (t.key() != transfer::no_key) {
            ctx.fetch_add(&keys_[t.key()].posted, std::uint64_t{1}, order::relaxed, scope::device);
        }
        if (t.rows() == 0) {
            count(ctx, slot.method, 1, 0);
            complete(ctx, slot);
            completed(ctx, 1, Ctx::tagged_order);
            return;
        }
        const bool is_lanes = slot.method == transfer_method::lanes;
        const piece_word word = piece_word::of(split(slot), is_lanes);
        // Partner: the add in transfer_engine::take, also of those who have looked at an earlier lap. The one fence of
        // a post: what the lane has stored, and the slot, come before.
        ctx.store(&work_[at.slot], word.bits, order::release, scope::device);
        // Whoever finds the words old looks again.
        ctx.store(&counters_->newest, at.slot, order::relaxed, scope::device);
        add_waiting(ctx, weight(word) * word.pieces());
    }

    /// Tells all that a transfer is done. One lane, behind those that have carried it out.
    LANEWAY_FN void complete(Ctx& ctx, transfer_slot& slot) {
        const transfer& t = slot.what;
        const std::uint32_t key = t.key();
        // What was moved is there before any word says so; cumulative over all lanes that have moved it. The stores
        // behind it need no release of their own. Within a PE nobody else is told; lanes of another one hear of it
        // either by the word there, or from lanes of this one, by a release of theirs.
        if (t.to_pe() == ctx.pe()) {
            ctx.fence(order::release, scope::device);
        } else {
            ctx.fence(order::release, scope::system);
        }
        if (t.notifies()) {
            remote_address(ctx, t.word(), t.to_pe()).fetch_add(ctx, t.value(), Ctx::tagged_order);
        }
        // Partner: the acquire load in finished. The slot is another transfer's from here on.
        ctx.store(&slot.finished, slot.lap + 1, Ctx::tagged_order, scope::device);
        if (key != transfer::no_key) {
            // Partner: the acquire load in transfers_agent::wait_key, behind which events are done as well: so this is
            // a release by itself, behind the store above.
            ctx.fetch_add(&keys_[key].done, std::uint64_t{1}, order::release, scope::device);
        }
    }
    /// So many transfers are done, and all are told. One lane, behind those that have told. `o`: release where others
    /// have; the lane's own fence in complete is enough for its own.
    LANEWAY_FN void completed(Ctx& ctx, std::uint64_t transfers, order o) {
        // Partner: the acquire load in add_completed of the view.
        ctx.fetch_add(&counters_->completed, transfers, o, scope::device);
    }
    /// For the report.
    LANEWAY_FN void count(Ctx& ctx, transfer_method by, std::uint64_t transfers, std::uint64_t bytes) {
        transfer_count& to = counters_->by[static_cast<std::size_t>(by)];
        if (transfers != 0) ctx.fetch_add(&to.transfers, transfers, order::relaxed, scope::device);
        if (bytes != 0) ctx.fetch_add(&to.bytes, bytes, order::relaxed, scope::device);
    }

    /// Lanes that might have something to do, about.
    [[nodiscard]] LANEWAY_FN std::uint64_t waiting(Ctx& ctx) const {
        const auto now = static_cast<std::int64_t>(ctx.load(&counters_->waiting, order::relaxed, scope::device));
        return now > 0 ? static_cast<std::uint64_t>(now) : 0;
    }
    LANEWAY_FN void add_waiting(Ctx& ctx, std::uint64_t lanes) {
        ctx.fetch_add(&counters_->waiting, lanes, order::relaxed, scope::device);
    }
    /// Lanes that a piece is work for.
    [[nodiscard]] static LANEWAY_FN std::uint64_t weight(piece_word of) {
        return of.is_lanes() ? 1u : static_cast<unsigned>(Ctx::warp_lanes);
    }

    [[nodiscard]] LANEWAY_FN transfer_counters& counters() const { return *counters_; }
    [[nodiscard]] LANEWAY_FN transfer_key& key(std::uint32_t number) const { return keys_[number]; }
    [[nodiscard]] LANEWAY_FN transfer_slot& slot(std::uint32_t number) const { return slots_[number]; }
    [[nodiscard]] LANEWAY_FN std::uint64_t* work(std::uint32_t number) const { return work_ + number; }

private:
    [[nodiscard]] LANEWAY_FN bool finished(Ctx& ctx, std::uint32_t slot, std::uint32_t laps) const {
        // Partner: the store in complete. Laps wrap round.
        return has_come(ctx, &slots_[slot].finished, scope::device,
                        [=](std::uint32_t now) { return static_cast<std::int32_t>(now - laps) >= 0; });
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
        return view_.engine_bytes != 0 && t.bytes() >= view_.engine_bytes && t.from_pe() != t.to_pe() &&
               (is_one_row(t) || engine_takes_rows(t));
    }
    /// Copy engines take rows, short ones slowly.
    [[nodiscard]] LANEWAY_FN bool engine_takes_rows(const transfer& t) const {
        constexpr std::uint64_t max_pitch = 0x7fff'ffff;  // CUDA's
        return t.form() == transfer::shape::rows && t.row_bytes() >= view_.bulk_bytes && t.from_pitch() <= max_pitch &&
               t.to_pitch() <= max_pitch;
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

    /// Splits a transfer into pieces: several rows each, or part of one. Returns how many there are; one of a lane's.
    LANEWAY_FN std::uint64_t split(transfer_slot& slot) const {
        const transfer& t = slot.what;
        const std::uint64_t row = t.row_bytes();
        std::uint64_t part = view_.piece_bytes, rows = 1;
        if (t.bytes() <= part ||
            slot.method == transfer_method::engine) {  // without divisions, each of which takes a GPU as long as a load
            slot.row_part_bytes = row;
            slot.pieces_a_row = 1;
            slot.rows_a_piece = static_cast<std::uint32_t>(t.rows());
            return 1;
        }
        // So many pieces as the word counts, whatever the size.
        while ((row + part - 1) / part * t.rows() >= piece_word::max_pieces && part < row) part *= 2;
        if (row <= part) {
            rows = part / row;
            while ((t.rows() + rows - 1) / rows >= piece_word::max_pieces) rows *= 2;
        }
        slot.row_part_bytes = row < part ? row : part;
        slot.pieces_a_row = static_cast<std::uint32_t>((row + part - 1) / part);
        slot.rows_a_piece = static_cast<std::uint32_t>(rows < piece_word::max_pieces ? rows : piece_word::max_pieces);
        return slot.pieces_a_row > 1 ? slot.pieces_a_row * t.rows()
                                     : (t.rows() + slot.rows_a_piece - 1) / slot.rows_a_piece;
    }

    const transfers_memory_ref& view_;
    transfer_slot* slots_;
    std::uint64_t* work_;
    transfer_counters* counters_;
    transfer_key* keys_;
};

}  // namespace laneway
