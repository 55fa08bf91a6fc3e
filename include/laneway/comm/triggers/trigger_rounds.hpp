// Triggering tags and carrying out their operations, by lanes of any kind: bodies, handlers, warps that poll.
//
// A trigger is one add to the tag's word. The lane whose add reaches the threshold has opened the round, and nobody
// else has: it carries out a small operation at once and leaves a larger one, in pieces, to warps that poll
// (trigger_slot.hpp). Whoever is through with the last piece raises the signal, triggers the next tag and takes the
// threshold off the count. If enough triggers have come meanwhile, it has opened the next round. What an operation
// starts, a message or a task, is left to warps that poll as well: a handler could not wait for room.
//
// Counted as work: a round when it is opened, before anything of it can be seen; done when its data, its signal and its
// trigger are there. A tag that waits for triggers is no work. Follows GPU-TN (LeBeane and others, GPU Triggered
// Networking for Intra-Kernel Communications, SC 2017), with lanes in place of the network interface.
//
// How a tag gets its operation: trigger_preparation.hpp. Triggers from other PEs and from outside:
// trigger_arrivals.hpp.
#pragma once

#include "laneway/comm/triggers/move_range.hpp"
#include "laneway/comm/triggers/trigger_slot.hpp"
#include "laneway/simt/message_order.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// A lane's access to its PE's tags. Members fail with what they say, which ends the run. None waits.
template <class Ctx>
class trigger_rounds {
public:
    LANEWAY_FN trigger_rounds(Ctx& ctx, const trigger_ref& view)
        : view_(view), slots_(address(ctx, view.slots[0])), counters_(address(ctx, view.counters[0])),
          shared_(address(ctx, view.shared[0])), left_(address(ctx, view.left[0])) {}

    /// Adds `n` to the count of a tag of the own PE, prepared or not. What the lane wrote before goes with the data.
    /// bad_tag, too_many_triggers.
    LANEWAY_FN status trigger(Ctx& ctx, std::uint32_t tag, std::uint32_t n) {
        bool opened = open_alone(ctx, tag, n);
        status result = opened ? status::ok : add(ctx, tag, n, opened);
        if (opened) result = carry_out(ctx, tag);
        return result;
    }

    static constexpr std::uint32_t no_tag = ~0u;

    /// Names the component on its PE.
    [[nodiscard]] LANEWAY_FN const void* memory() const { return slots_; }

    /// Takes a piece that is left and carries it out; its tag, or no_tag where there was none, or none that can end
    /// now. The lanes of the mask, together. `start(tag, operation)`: starts what the operation starts behind its data,
    /// false where there is no room for that now; it is tried again. One lane.
    template <class Start>
    LANEWAY_FN std::uint32_t take_piece(Ctx& ctx, lane_mask mask, Start&& start) {
        const taken_piece taken = take(ctx, mask);
        if (taken.tag == no_tag) return no_tag;
        ctx.sync(mask);  // what one lane has acquired is visible to all
        const std::uint32_t tag = taken.tag;
        const bool moved = waits_to_start(ctx, tag);
        if (!moved) {
            if (status result = carry_out_piece(ctx, mask, tag, taken.piece); result != status::ok) {
                return tag;  // the run is ending
            }
        }
        ctx.sync(mask);
        const std::uint32_t ended = once(ctx, mask, [&] { return end_piece(ctx, tag, moved, start); });
        ctx.sync(mask);
        return ended;
    }
    /// What a round has started is done: signal and next tags follow. Any lane, also a handler's, one. Nothing follows
    /// in a program that is ending: what has been done may have left its waits before they were over.
    LANEWAY_SLOW void end_started(Ctx& ctx, std::uint32_t tag) {
        if (!stopped(ctx)) (void)follow(ctx, tag);  // a failure ends the run
    }
    /// Whether pieces seem to be left. Any lane.
    [[nodiscard]] LANEWAY_FN bool any_piece(Ctx& ctx) const {
        return static_cast<std::int32_t>(ctx.load(&counters_->shared, order::relaxed, scope::device)) > 0;
    }

    /// Rounds of a tag that are over. What they did, and what was done before they were triggered, is visible.
    [[nodiscard]] LANEWAY_FN std::uint64_t fired(Ctx& ctx, std::uint32_t tag) const {
        return ctx.load(&slots_[tag].fired, order::acquire, scope::device);  // Partner: the fence in close_round.
    }
    [[nodiscard]] LANEWAY_FN trigger_word word(Ctx& ctx, std::uint32_t tag) const {
        return {ctx.load(&slots_[tag].word, order::relaxed, scope::device)};
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t tags() const { return view_.tags(); }

    // For those who prepare tags and bring triggers to them.

    [[nodiscard]] LANEWAY_FN const trigger_ref& view() const { return view_; }
    [[nodiscard]] LANEWAY_FN trigger_slot& slot(std::uint32_t tag) const { return slots_[tag]; }
    [[nodiscard]] LANEWAY_FN trigger_counters& counters() const { return *counters_; }
    /// Of more triggers than the rounds of a tag allow.
    LANEWAY_FN status refuse(Ctx& ctx, std::uint32_t tag) {
        return fail(ctx, status::too_many_triggers, operation::trigger, -1, tag, word(ctx, tag).told());
    }

    LANEWAY_FN void created(Ctx& ctx, std::uint64_t items = 1) {
        // Partner: the acquire load of trigger_counts. Whoever sees the effects comes behind a later release.
        ctx.fetch_add(&counters_->created, items, order::relaxed, scope::device);
    }
    LANEWAY_FN void completed(Ctx& ctx, std::uint64_t items, order how = order::release) {
        // Partner: the acquire load of trigger_counts. What the items created has been counted before.
        ctx.fetch_add(&counters_->completed, items, how, scope::device);
    }
    /// Carries out a round that is open: here if it is small, else by those who look for pieces. Whatever that
    /// opens, in turn: a long chain is left to others, so that the lane goes on with its own work.
    LANEWAY_SLOW status carry_out(Ctx& ctx, std::uint32_t tag) {
        std::uint32_t next = tag;
        for (int links = 0; next != no_tag; ++links) {
            tag = next;
            const open_round mine = look_at(ctx, tag);
            if (links == max_chain || mine.op.bytes() > view_.alone_bytes || mine.op.starts() != 0) {
                push(ctx, tag, slots_[tag].pieces);
                return status::ok;
            }
            if (status result = move(ctx, mine, 0, ~std::uint64_t{0}, {}); result != status::ok) return result;
            if (status result = close_round(ctx, mine, next); result != status::ok) return result;
        }
        return status::ok;
    }

    /// Names what checked devices cannot see: a stream may have waited for any signal before it triggers.
    LANEWAY_FN const void* outside_order(Ctx& ctx) const { return remote_address(ctx, view_.counters[0], 0).place(); }

private:
    /// On GPUs an atomic with an order of its own is one with a fence on that side, and a fence takes microseconds
    /// where other warps poll. So there is one fence where several words are told, and none where nobody needs it.
    static constexpr bool fences_apart = Ctx::tagged_order == order::relaxed;
    static constexpr order behind_fence = fences_apart ? order::relaxed : order::acq_rel;
    static constexpr order releasing = fences_apart ? order::release : order::acq_rel;

    static constexpr int max_chain = 4;  ///< small operations, one after the other, for the lane that has triggered it

    /// An open round, of which a lane carries out a part: what it needs of the slot, copied at once. Until the round is
    /// over nobody changes any of it.
    struct open_round {
        std::uint32_t tag;
        trigger_word word;
        std::uint64_t closed;  ///< rounds before this one
        trigger_operation op;
        operation_places places;
    };
    LANEWAY_FN open_round look_at(Ctx& ctx, std::uint32_t tag) const {
        const trigger_slot& slot = slots_[tag];
        open_round seen{tag, word(ctx, tag), slot.closed, slot.operation, {}};
        seen.places = find_places(ctx, seen.op);
        return seen;
    }

    /// This lane has opened a round by an atomic before.
    LANEWAY_FN void begin_round(Ctx& ctx) {
        // Comes behind all who have triggered it.
        if constexpr (fences_apart) ctx.fence(order::acquire, scope::device);
        created(ctx);
    }

    /// Adds to the count of a tag that waits for this trigger alone; false where it does not, as far as this lane
    /// knows, and nothing has happened. Nobody else has to see what the lane wrote before: it carries the round out, or
    /// leaves it to others, behind a fence that comes anyway. So there is none before the atomic.
    LANEWAY_FN bool open_alone(Ctx& ctx, std::uint32_t tag, std::uint32_t n) {
        const std::uint32_t threshold = lone_.threshold();
        const std::uint32_t most = lone_.fires_once() ? threshold : trigger_word::max_count;
        if (tag != lone_tag_ || threshold == 0 || n < threshold || n > most) return false;
        std::uint64_t seen = lone_.bits;
        // Partners: the add of prepare, and those of who has closed the rounds before.
        if (ctx.compare_exchange(&slots_[tag].word, seen, lone_.bits + n, behind_fence, scope::device)) {
            begin_round(ctx);
            return true;
        }
        lone_ = {};
        return false;
    }
    /// Adds to a count; `opened`: this add has opened a round, which is counted.
    LANEWAY_FN status add(Ctx& ctx, std::uint32_t tag, std::uint32_t n, bool& opened, order how = releasing) {
        if (tag >= view_.tags()) return fail(ctx, status::bad_tag, operation::trigger, -1, tag, view_.tags());
        if (n > trigger_word::max_count) return refuse(ctx, tag);
        // Partners: these adds of other lanes, and that of prepare. The lane that opens the round comes behind all.
        const trigger_word before{ctx.fetch_add(&slots_[tag].word, std::uint64_t{n}, how, scope::device)};
        const std::uint32_t now = before.count() + n;
        const std::uint32_t most = before.fires_once() ? before.threshold() : trigger_word::max_count;
        if (now > most) return refuse(ctx, tag);
        opened = before.count() < before.threshold() && now >= before.threshold();
        lone_ = opened && before.count() == 0 ? before : trigger_word{};
        lone_tag_ = tag;
        if (opened) begin_round(ctx);
        return status::ok;
    }

    /// Whether all data of a round is there, and what it starts has found no room yet. Any lane that has taken a piece
    /// of the round: as long as others have some as well, not all of it is done.
    LANEWAY_FN bool waits_to_start(Ctx& ctx, std::uint32_t tag) const {
        const trigger_slot& slot = slots_[tag];
        return slot.operation.starts() != 0 && ctx.load(&slot.done, order::relaxed, scope::device) == slot.pieces;
    }

    /// A piece has been carried out, or, where all data had been `moved` before, what the round starts is due. One
    /// lane.
    template <class Start>
    LANEWAY_FN std::uint32_t end_piece(Ctx& ctx, std::uint32_t tag, bool moved, Start&& start) {
        trigger_slot& slot = slots_[tag];
        const std::uint32_t pieces = slot.pieces;  // behind the last piece another operation may be prepared
        if (!moved) {
            if (pieces > 1) ctx.fence(order::release, scope::system);  // close_round of another lane may follow
            // Partners: these adds of the other pieces, each behind a fence. The last one comes behind all of them.
            if (ctx.fetch_add(&slot.done, 1u, behind_fence, scope::device) + 1 != pieces) return tag;
            if constexpr (fences_apart) {
                if (pieces > 1) ctx.fence(order::acquire, scope::system);
            }
        }
        if (slot.operation.starts() != 0) {
            // What is started comes behind the data, and behind what those that triggered have written on that PE.
            if (slot.operation.bytes() != 0 || slot.operation.pe() != ctx.pe()) {
                ctx.fence(order::release, scope::system);
            }
            const bool waits = slot.operation.when_done();  // then its end, which may come at once, closes the round
            if (waits) ctx.store(&slot.done, pieces + 1, order::relaxed, scope::device);
            if (!start(tag, slot.operation)) {
                if (waits) ctx.store(&slot.done, pieces, order::relaxed, scope::device);
                push(ctx, tag, 1);
                return no_tag;
            }
            if (waits) return tag;
        }
        (void)follow(ctx, tag);  // a failure ends the run
        return tag;
    }

    /// The last piece is done.
    LANEWAY_FN status follow(Ctx& ctx, std::uint32_t tag) {
        std::uint32_t next = no_tag;
        const status result = close_round(ctx, look_at(ctx, tag), next);
        return result == status::ok && next != no_tag ? carry_out(ctx, next) : result;
    }

    LANEWAY_FN status carry_out_piece(Ctx& ctx, lane_mask mask, std::uint32_t tag, std::uint32_t piece) {
        const std::uint64_t each = slots_[tag].piece_elements();
        return move(
            ctx, look_at(ctx, tag), piece * each, each,
            {static_cast<std::uint64_t>(rank_in(ctx, mask)), static_cast<std::uint64_t>(Ctx::count_lanes(mask))});
    }

    /// This lane's share of at most `most` elements from `first` on.
    LANEWAY_FN status move(Ctx& ctx, const open_round& mine, std::uint64_t first, std::uint64_t most,
                           copy_share share) {
        const bool reached = mine.places.can_move && mine.places.can_signal;
        if (!reached) return fail(ctx, status::bad_range, operation::trigger, mine.op.pe(), mine.tag);
        move_range(ctx, mine.op, mine.places, first, most, share);
        return status::ok;
    }

    /// One lane, when the data is there: signal, next tags, end of the round. `next`: a tag whose round has opened by
    /// that, for the caller to carry out; no_tag where there is none.
    LANEWAY_SLOW status close_round(Ctx& ctx, const open_round& mine, std::uint32_t& next) {
        trigger_slot& slot = slots_[mine.tag];
        const trigger_operation& op = mine.op;
        const std::uint64_t rounds = mine.closed + 1;
        if (!mine.places.can_signal) return fail(ctx, status::bad_range, operation::trigger, op.pe(), mine.tag);
        slot.closed = rounds;
        // Triggers of other PEs are counted before the fence, and so before these can see them.
        for (int i = 0; i < op.n_links(); ++i) {
            if (op.link(i).pe != ctx.pe()) created(ctx);
        }
        slot.done = 0;
        // Partners: the acquire loads of who waits for the signal, and of look on other PEs; of fired, and the fence of
        // who opens a round behind the adds below.
        if (op.signals() || op.n_links() > 0) {
            ctx.fence(order::release, scope::system);
        } else if constexpr (fences_apart) {
            ctx.fence(order::release, scope::device);
        }
        if (op.signals()) {
            go_before(ctx, outside_order(ctx));
            raise(ctx, op, mine.places.signal);
        }
        next = no_tag;
        for (int i = 0; i < op.n_links(); ++i) {
            const trigger_link& link = op.link(i);
            if (link.pe != ctx.pe()) {
                send_trigger(ctx, link.pe, slot.cells[i] - 1, rounds);
                continue;
            }
            bool opened = false;
            if (status result = add(ctx, link.tag, link.n, opened, behind_fence); result != status::ok) return result;
            if (opened) keep(ctx, next, link.tag);
        }
        if (end_round(ctx, mine, rounds)) keep(ctx, next, mine.tag);
        // What this has opened was counted behind the fence.
        completed(ctx, 1, next == no_tag ? behind_fence : order::release);
        return status::ok;
    }

    /// Takes the threshold off the count; whether that opens the next round. From then on another lane may fire the
    /// tag, or prepare it again where it fires once. So `fired` comes behind it: who waits for that does the same.
    /// Other lanes may have closed further rounds by then.
    LANEWAY_FN bool end_round(Ctx& ctx, const open_round& mine, std::uint64_t rounds) {
        trigger_slot& slot = slots_[mine.tag];
        if (mine.word.fires_once()) {
            // Partners: who prepares or disarms the tag next.
            ctx.fetch_add(&slot.word, trigger_word::spent_bit, behind_fence, scope::device);
            ctx.fetch_max(&slot.fired, rounds, order::release, scope::device);  // Partners: the acquire loads of it.
            return false;
        }
        const std::uint32_t threshold = mine.word.threshold();
        // Partners: the adds of those who trigger.
        const trigger_word before{
            ctx.fetch_add(&slot.word, ~std::uint64_t{threshold} + 1, behind_fence, scope::device)};
        ctx.fetch_max(&slot.fired, rounds, Ctx::tagged_order, scope::device);  // Partners: the same.
        if (before.count() - threshold < threshold) return false;
        begin_round(ctx);
        return true;
    }

    /// This lane goes on with one tag whose round it has opened, and leaves others to those who look for pieces.
    LANEWAY_FN void keep(Ctx& ctx, std::uint32_t& next, std::uint32_t tag) {
        if (next != no_tag) push(ctx, next, slots_[next].pieces);
        next = tag;
    }

    LANEWAY_FN void raise(Ctx& ctx, const trigger_operation& op, remote_ptr<std::uint64_t> word) {
        // Behind the fence of close_round.
        if (op.signal_target().op() == memory_op::add) {
            word.fetch_add(ctx, op.signal_value(), Ctx::tagged_order);
        } else {
            word.store(ctx, op.signal_value(), Ctx::tagged_order);
        }
    }

    /// Triggers a tag of another PE: only this PE writes the cell. The lane that closes the next round may do so
    /// before this one has told of its own: the cell only grows.
    LANEWAY_FN void send_trigger(Ctx& ctx, int pe, std::uint32_t cell, std::uint64_t rounds) {
        // Behind the fence of close_round. Partner: the acquire load in look.
        const auto sent = remote_address(ctx, view_.cells[cell], pe)->*&trigger_cell::sent;
        sent.fetch_max(ctx, rounds, Ctx::tagged_order);
    }

    /// Leaves the pieces of a round to those who look for some, or the last one again. Nobody has any of them now.
    LANEWAY_SLOW void push(Ctx& ctx, std::uint32_t tag, std::uint32_t pieces) {
        const std::uint32_t bit = trigger_ref::shared_bit(tag);
        // Before there is something to take. Partners: who takes the last piece clears it again, and subtracts, in
        // claim.
        const std::uint32_t before = ctx.fetch_or(shared_ + tag / 32, bit, order::relaxed, scope::device);
        if ((before & bit) == 0) ctx.fetch_add(&counters_->shared, 1u, order::relaxed, scope::device);
        if constexpr (fences_apart) ctx.fence(order::release, scope::device);
        // Partner: the fence, or the acquire, in claim.
        ctx.store(left_ + tag, pieces, Ctx::tagged_order, scope::device);
    }

    struct taken_piece {
        std::uint32_t tag = no_tag;
        std::uint32_t piece = 0;
    };

    /// Takes a piece; `tag` is no_tag where none is left. The lanes of the mask, together; each looks at other tags.
    LANEWAY_FN taken_piece take(Ctx& ctx, lane_mask mask) {
        if (once(ctx, mask, [&] { return std::uint32_t{any_piece(ctx)}; }) == 0) return {};
        const std::uint32_t words = trigger_ref::shared_words(view_.tags());
        const auto lanes = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
        // From elsewhere each time, each bit of each word in turn, so that no tag waits for others that go on and on.
        const std::uint32_t turn = ctx.shuffle(mask, turn_++, Ctx::first_lane(mask));
        for (std::uint32_t base = 0; base < words; base += lanes) {
            const std::uint32_t ahead = base + static_cast<std::uint32_t>(rank_in(ctx, mask));
            const std::uint32_t number = (turn % words + ahead) % words;
            const std::uint32_t bits = ahead < words ? ctx.load(shared_ + number, order::relaxed, scope::device) : 0;
            for (lane_mask some = ctx.ballot(mask, bits != 0); some != 0; some &= some - 1) {
                const int from = Ctx::first_lane(some);
                taken_piece taken;
                if (ctx.lane() == from) taken = take_of(ctx, 32 * number, bits, turn / words % 32);
                taken.tag = ctx.shuffle(mask, taken.tag, from);
                taken.piece = ctx.shuffle(mask, taken.piece, from);
                if (taken.tag != no_tag) return taken;
            }
        }
        return {};
    }
    /// Takes a piece of one of these 32 tags, whose bits say where some may be left, the bit `turned` first. One lane.
    LANEWAY_FN taken_piece take_of(Ctx& ctx, std::uint32_t first_tag, std::uint32_t bits, std::uint32_t turned) {
        for (bits = bits >> turned | bits << (32 - turned) % 32; bits != 0; bits &= bits - 1) {
            const std::uint32_t tag = first_tag + (static_cast<std::uint32_t>(Ctx::first_lane(bits)) + turned) % 32;
            const std::uint32_t left = claim(ctx, tag);
            if (left != 0) return {tag, left - 1};
        }
        return {};
    }
    /// Takes a piece of a tag's round, which is then open, as whoever leaves pieces has opened it before. How many
    /// were left, or 0. A lane that comes late may get one of a later round: that is as good.
    LANEWAY_FN std::uint32_t claim(Ctx& ctx, std::uint32_t tag) {
        // Partner: the store in push.
        const std::uint32_t left = ctx.fetch_add(left_ + tag, ~std::uint32_t{0},
                                                 fences_apart ? order::relaxed : order::acquire, scope::device);
        if (static_cast<std::int32_t>(left) <= 0) return 0;
        if constexpr (fences_apart) ctx.fence(order::acquire, scope::device);
        if (left > 1) return left;
        // The next round opens behind this piece, and sets it again behind this.
        const std::uint32_t bit = trigger_ref::shared_bit(tag);
        const std::uint32_t before = ctx.fetch_and(shared_ + tag / 32, ~bit, order::relaxed, scope::device);
        if ((before & bit) != 0) ctx.fetch_add(&counters_->shared, ~std::uint32_t{0}, order::relaxed, scope::device);
        return left;
    }

    const trigger_ref& view_;
    trigger_slot* slots_;
    trigger_counters* counters_;
    std::uint32_t* shared_;
    std::uint32_t* left_;
    std::uint32_t turn_ = 0;           ///< of looks for pieces
    std::uint32_t lone_tag_ = no_tag;  ///< that this lane has added to last,
    trigger_word lone_;                ///< and its word before, where the add alone has opened a round; else none
};

/// Triggers a tag of the own PE, from a handler that holds the view: see trigger_rounds. Any lane.
template <class Ctx>
LANEWAY_FN status trigger(Ctx& ctx, const trigger_ref& view, std::uint32_t tag, std::uint32_t n = 1) {
    return trigger_rounds<Ctx>(ctx, view).trigger(ctx, tag, n);
}

}  // namespace laneway
