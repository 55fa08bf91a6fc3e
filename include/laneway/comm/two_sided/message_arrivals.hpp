// Taking what rings have brought: in the order of their tickets as far as more messages may wait, beyond that what
// receives await; and matching it.
#pragma once

#include "laneway/comm/two_sided/unexpected_places.hpp"

namespace laneway {

/// Messages that may come in before their turn: those to which one of these applies.
struct wanted_messages {
    bool all = false;
    bool awaited = false;                    ///< by a receive that waits
    const match_key* accepted_by = nullptr;  ///< what a matched probe looks for
    std::uint64_t most = 0;                  ///< bytes that it has room for
};

/// Whoever has locked the shard uses it; members are for the whole warp, together, where they do not say something
/// else.
template <class Ctx>
class message_arrivals {
public:
    LANEWAY_FN message_arrivals(const two_sided_ref& view, const message_shard_ref& shard)
        : view_(view), shard_(shard), delivery_(view), rings_(view, shard), places_(view, shard) {}

    /// Takes what has come from each PE, a batch from each, the PEs by turns.
    LANEWAY_SLOW bool take(Ctx& ctx) const {
        bool worked = false;
        const auto pes = static_cast<std::uint32_t>(ctx.n_pes());
        const std::uint32_t first = shard_.state->next_source;
        ctx.sync(full_warp<Ctx>);
        for (std::uint32_t i = 0; i < pes; ++i) {
            const auto source = static_cast<int>((first + i) % pes);
            for (int batch = 0; batch < max_batches && take_from(ctx, source); ++batch) worked = true;
        }
        if (ctx.lane() == 0) shard_.state->next_source = (first + 1) % pes;
        ctx.sync(full_warp<Ctx>);  // who comes at once again begins with the same PE as its mates
        return worked;
    }
    /// Where the first message of a ring may not come in: takes the first that is wanted, as a receive awaits it, say.
    /// Those before it are there and are not, so each goes to the receive to which it would have gone in its turn.
    LANEWAY_SLOW bool overtake(Ctx& ctx, int source, std::uint64_t first, const wanted_messages& wanted) const {
        const chunk_receiver& in = shard_.from[source];
        for (std::uint64_t base = 0; base < in.n_slots; base += static_cast<std::uint64_t>(Ctx::warp_lanes)) {
            const std::uint64_t at = base + static_cast<std::uint64_t>(ctx.lane());
            std::uint64_t ticket = first + at;
            incoming_message message;
            bool stays_there = false;
            const auto suits = [&](const incoming_message& found) {
                const bool comes = is_wanted(ctx, found, wanted);
                stays_there = !comes && is_too_long(found, wanted);
                return comes;
            };
            const content seen =
                at < in.n_slots ? rings_.find_in_slot(ctx, in, source, ticket, message, suits) : content::other;
            const int known = leading_lanes(ctx, !rings_.ends_search(seen) && !stays_there);
            const lane_mask all = ctx.ballot(full_warp<Ctx>, ctx.lane() < known && seen == content::suits);
            if (all == 0 && known < Ctx::warp_lanes) return false;
            if (all == 0) continue;
            const bool mine = ctx.lane() == Ctx::first_lane(all);  // one, as another may want the same receive
            const bool frees = let_in(ctx, source, mine, ticket, message);
            const bool last = mine && is_last_of_slot(source, ticket, message);
            if (last && frees) in.release_relaxed(ctx, lane_mask{1} << ctx.lane(), ticket);
            if (last) rings_.note_taken(ctx, source, ticket);
            const std::uint64_t chunks = ctx.ballot(full_warp<Ctx>, last) != 0 ? 1 : 0;
            ctx.sync(full_warp<Ctx>);
            // Without an order a lane may have posted a receive for the first one meanwhile: then it is that.
            if (ctx.lane() == 0) rings_.go_on(ctx, in, source, first);
            count(ctx, 1, chunks);
            return true;
        }
        return false;
    }
    /// Whether a receive waits for it. Any lane.
    [[nodiscard]] LANEWAY_SLOW bool is_awaited(Ctx& ctx, const match_key& message) const {
        return view_.rules.is_unordered() ? shard_.table.is_awaited(ctx, message) : shard_.engine.is_awaited(message);
    }
    /// Chunks whose messages have come in. Any lane.
    [[nodiscard]] LANEWAY_FN std::uint64_t done() const { return done_; }

private:
    static constexpr int max_batches = Ctx::warp_lanes == 1 ? 8 : 4;
    using content = typename ring_reader<Ctx>::content;

    [[nodiscard]] LANEWAY_FN bool is_wanted(Ctx& ctx, const incoming_message& message,
                                            const wanted_messages& wanted) const {
        const bool accepted = wanted.accepted_by != nullptr && wanted.accepted_by->accepts(message.key);
        return wanted.all || (accepted && message.bytes <= wanted.most) ||
               (wanted.awaited && is_awaited(ctx, message.key));
    }
    /// Whether it is what a matched probe looks for, but for its length: it keeps its turn, and in order nothing behind
    /// it is what the probe may have.
    [[nodiscard]] LANEWAY_FN bool is_too_long(const incoming_message& message, const wanted_messages& wanted) const {
        return wanted.accepted_by != nullptr && !view_.rules.is_unordered() && message.bytes > wanted.most &&
               wanted.accepted_by->accepts(message.key);
    }
    LANEWAY_FN bool take_from(Ctx& ctx, int source) const {
        const chunk_receiver& in = shard_.from[source];
        const std::uint64_t first = rings_.next(ctx, source), ticket = first + static_cast<std::uint64_t>(ctx.lane());
        // What lies further has other slots; behind what has been taken another batch begins.
        const bool near =
            static_cast<std::uint32_t>(ctx.lane()) < in.n_slots && rings_.taken_at(in, source, ticket) == 0;
        const chunk_label label = in.poll(ctx, ticket);
        const lane_mask shared = ctx.ballot(full_warp<Ctx>, near && rings_.is_shared(label));
        if ((shared & 1) != 0) return take_shared_slots(ctx, source, first, label, shared);
        const int n = leading_lanes(ctx, near && label.bits != 0 && !rings_.is_shared(label));
        if (n == 0) return come_past_kept_slots(ctx, source, first);
        const bool comes = ctx.lane() < n;
        incoming_message message;
        bool whole = true;
        if (comes) whole = delivery_.read(ctx, in, ticket, label, source, message);
        if (ctx.ballot(full_warp<Ctx>, !whole) != 0) return false;  // the run is ending
        const lane_mask admitted = admit(ctx, comes, message.key);
        if (admitted == 0) return overtake(ctx, source, first, {.awaited = true});
        const bool frees = let_in(ctx, source, (admitted >> ctx.lane() & 1) != 0, ticket, message);
        if (frees) in.release_relaxed(ctx, lane_mask{1} << ctx.lane(), ticket);
        const auto n_admitted = static_cast<std::uint64_t>(Ctx::count_lanes(admitted));
        if (ctx.lane() == 0) rings_.go_on(ctx, in, source, first + n_admitted);
        count(ctx, n_admitted, n_admitted);
        return true;
    }
    /// The messages of the first slots that lanes have shared, a lane each: as many slots as the warp has lanes for
    /// their messages. `label`: that of the lane's ticket. `shared`: the lanes whose slot is such a one.
    LANEWAY_SLOW bool take_shared_slots(Ctx& ctx, int source, std::uint64_t first, chunk_label label,
                                        lane_mask shared) const {
        constexpr std::uint32_t lanes = Ctx::warp_lanes;
        const chunk_receiver& in = shard_.from[source];
        const auto lane = static_cast<std::uint32_t>(ctx.lane());
        const std::uint64_t ticket = first + lane;
        const bool whole = (shared >> lane & 1) != 0 && rings_.taken_of_slot(in, source, ticket) == 0;
        const int leading = leading_lanes(ctx, whole);
        const std::uint32_t ends =
            inclusive_scan(ctx, full_warp<Ctx>, ctx.lane() < leading ? label.messages() : lanes + 1);
        const int n = leading_lanes(ctx, ends <= lanes);
        const std::uint32_t all = ctx.shuffle(full_warp<Ctx>, ends, n == 0 ? 0 : n - 1);
        if (n < 2 || places_.room() < all) {
            return take_shared(ctx, source, first, ctx.shuffle(full_warp<Ctx>, label.messages(), 0));
        }
        ctx.sync(full_warp<Ctx>);  // a lane reads behind what the slot's has acquired
        int slot = 0;              // of the lane's message: the first that ends behind it
        for (int step = Ctx::warp_lanes / 2; step > 0; step /= 2) {
            if (ctx.shuffle(full_warp<Ctx>, ends, slot + step - 1) <= lane) slot += step;
        }
        const bool comes = lane < all;
        const std::uint32_t sharing = ctx.shuffle(full_warp<Ctx>, label.messages(), slot);
        const std::uint32_t number = lane - (ctx.shuffle(full_warp<Ctx>, ends, slot) - sharing);
        const std::uint64_t of_slot = first + static_cast<std::uint64_t>(slot);
        incoming_message message;
        if (comes) delivery_.read_one(ctx, in, of_slot, number, sharing, source, message);
        (void)let_in(ctx, source, comes, of_slot, message);
        if (ctx.lane() < n) in.release_relaxed(ctx, lane_mask{1} << ctx.lane(), ticket);
        const auto slots = static_cast<std::uint64_t>(n);
        if (ctx.lane() == 0) rings_.go_on(ctx, in, source, first + slots);
        count(ctx, all, slots);
        return true;
    }
    /// The next messages of a slot that lanes have shared, a lane each, as far as more may wait.
    LANEWAY_SLOW bool take_shared(Ctx& ctx, int source, std::uint64_t ticket, std::uint32_t sharing) const {
        constexpr std::uint32_t lanes = Ctx::warp_lanes;
        const chunk_receiver& in = shard_.from[source];
        ctx.sync(full_warp<Ctx>);  // the others read behind what lane 0 has acquired
        const std::uint32_t gone = rings_.taken_of_slot(in, source, ticket);
        const std::uint32_t begin = static_cast<std::uint32_t>(Ctx::first_lane(~gone)) / lanes * lanes;
        const std::uint32_t number = begin + static_cast<std::uint32_t>(ctx.lane());
        const bool comes = number < sharing && (gone >> number & 1) == 0;
        incoming_message message;
        if (comes) delivery_.read_one(ctx, in, ticket, number, sharing, source, message);
        const lane_mask admitted = admit(ctx, comes, message.key);
        if (admitted == 0) return overtake(ctx, source, ticket, {.awaited = true});
        (void)let_in(ctx, source, (admitted >> ctx.lane() & 1) != 0, ticket, message);
        const std::uint32_t some = admitted << begin;
        const bool last = (gone | some) == lane_message::all_of(sharing);
        if (ctx.lane() == 0) {
            (void)rings_.note_taken_of_slot(in, source, ticket, some, sharing);
            if (last) in.release_relaxed(ctx, lane_mask{1} << ctx.lane(), ticket);
            if (last) rings_.go_on(ctx, in, source, ticket + 1);
        }
        count(ctx, static_cast<std::uint64_t>(Ctx::count_lanes(admitted)), last ? 1 : 0);
        return true;
    }
    /// A message has come in: whether all of its slot have by now. Its lane.
    [[nodiscard]] LANEWAY_FN bool is_last_of_slot(int source, std::uint64_t ticket,
                                                  const incoming_message& message) const {
        return message.sharing == 0 ||
               rings_.note_taken_of_slot(shard_.from[source], source, ticket, 1u << message.number, message.sharing);
    }
    /// Without an order, where the first message of a ring cannot come, as its slot holds what waits: others come in
    /// before it, whatever they are as long as more may wait.
    LANEWAY_FN bool come_past_kept_slots(Ctx& ctx, int source, std::uint64_t first) const {
        if (shard_.state->kept_slots == 0 || !rings_.is_held_up(ctx, source, first)) return false;
        return overtake(ctx, source, first, {.all = places_.room() != 0, .awaited = true});
    }
    /// Which of these messages may come in: the first ones, as many as may wait. Where no more may, the one that is
    /// first in its ring if a receive awaits it; for the others see overtake.
    LANEWAY_FN lane_mask admit(Ctx& ctx, bool comes, const match_key& key) const {
        const std::uint32_t n = places_.room();
        const lane_mask all = ctx.ballot(full_warp<Ctx>, comes);
        const bool awaited = n == 0 && comes && ctx.lane() == 0 && is_awaited(ctx, key);
        const lane_mask first = ctx.ballot(full_warp<Ctx>, awaited);
        ctx.sync(full_warp<Ctx>);
        if (n == 0) return first;
        return ctx.ballot(full_warp<Ctx>, comes && static_cast<std::uint32_t>(rank_in(ctx, all)) < n);
    }

    /// Gives messages to their receives, or keeps them. Whether the lane's does not need its slot any more; what says
    /// so to the sender comes behind the fence here.
    LANEWAY_SLOW bool let_in(Ctx& ctx, int source, bool active, std::uint64_t ticket,
                             const incoming_message& message) const {
        const std::uint32_t place = places_.take(ctx, active);
        bool in_ring = false;
        const match_result found = view_.rules.is_unordered()
                                       ? put_into_table(ctx, active, place, ticket, message, in_ring)
                                       : put_into_engine(ctx, active, place, ticket, message, in_ring);
        const bool waits = found.outcome == match_outcome::queued, matched = found.outcome == match_outcome::matched;
        if (found.outcome == match_outcome::refused) {
            (void)fail(ctx, status::unexpected_message, operation::receive, source, message.key.tag, view_.number);
        }
        const bool done = delivery_.fill(ctx, matched, found.handle, message);
        places_.put_back(ctx, active && !waits, place);
        if (ctx.lane() == 0 && shard_.state->n_free < shard_.state->min_free) {
            shard_.state->min_free = shard_.state->n_free;
        }
        // One fence for what receivers and the sender are told: the lanes have read the messages, and filled the
        // receives in.
        delivery_.fence(ctx, source);
        if (done) delivery_.complete(ctx, found.handle, request_word::done, Ctx::tagged_order);
        ctx.sync(full_warp<Ctx>);
        return active && !in_ring;
    }
    /// What becomes of each lane's message in MPI's order. `in_ring`: it waits, and its payload has its slot still.
    LANEWAY_FN match_result put_into_engine(Ctx& ctx, bool active, std::uint32_t place, std::uint64_t ticket,
                                            const incoming_message& message, bool& in_ring) const {
        const match_result found = shard_.engine.arrive(ctx, active, message.key, place);
        const bool waits = found.outcome == match_outcome::queued;
        in_ring = delivery_.keep(ctx, shard_, waits, place, ticket, message, delivery_.allocate(ctx, waits, message));
        return found;
    }
    /// The same without an order. A lane that posts a receive may take the message as soon as it is there, so it is
    /// kept before.
    LANEWAY_FN match_result put_into_table(Ctx& ctx, bool active, std::uint32_t place, std::uint64_t ticket,
                                           const incoming_message& message, bool& in_ring) const {
        note_posted(ctx);
        match_result found;
        if (active) found = shard_.table.meet(ctx, message.key);
        const bool is_early = active && found.outcome != match_outcome::matched;
        in_ring =
            delivery_.keep(ctx, shard_, is_early, place, ticket, message, delivery_.allocate(ctx, is_early, message));
        if (is_early) {
            ctx.fence(order::release, scope::device);  // who takes the message finds it kept; one for all lanes
            found = shard_.table.arrive(ctx, message.key, place);
        }
        const bool matched = found.outcome == match_outcome::matched;
        delivery_.drop(ctx, shard_, is_early && matched && !in_ring, place);
        in_ring = in_ring && !matched;
        places_.count_kept_slots(ctx, in_ring, place, true);
        if (view_.rules.no_unexpected && found.outcome == match_outcome::queued) found.outcome = match_outcome::refused;
        count_matches(ctx, active, found.outcome);
        return found;
    }
    /// Notes how many receives wait without an order, before some are taken out, which turns alone do. Lanes add to one
    /// word only, a receive when it waits, and what has gone is known to the turn. So this is a lower bound, in
    /// whatever order words are seen: it misses receives that lanes have posted and not counted yet.
    LANEWAY_FN void note_posted(Ctx& ctx) const {
        if (ctx.lane() != 0) return;
        const match_counts& counts = shard_.state->counts;
        const std::uint64_t receives = ctx.load(&counts.receives, order::relaxed, scope::device);
        const std::uint64_t gone = counts.matches + shard_.state->cancelled;
        if (receives > gone + shard_.state->max_posted) {
            shard_.state->max_posted = static_cast<std::uint32_t>(receives - gone);
        }
    }
    LANEWAY_FN void count_matches(Ctx& ctx, bool active, match_outcome outcome) const {
        const int all = Ctx::count_lanes(ctx.ballot(full_warp<Ctx>, active));
        const int queued = Ctx::count_lanes(ctx.ballot(full_warp<Ctx>, outcome == match_outcome::queued));
        const int matched = Ctx::count_lanes(ctx.ballot(full_warp<Ctx>, outcome == match_outcome::matched));
        if (ctx.lane() != 0) return;
        match_counts& counts = shard_.state->counts;
        counts.messages += static_cast<std::uint64_t>(all);
        counts.unexpected += static_cast<std::uint64_t>(queued);
        counts.matches += static_cast<std::uint64_t>(matched);
    }
    LANEWAY_FN void count(Ctx& ctx, std::uint64_t messages, std::uint64_t chunks) const {
        if (ctx.lane() == 0) {
            const std::uint64_t arrived = ctx.load(&shard_.state->arrived, order::relaxed, scope::device);
            ctx.store(&shard_.state->arrived, arrived + messages, order::relaxed, scope::device);
        }
        done_ += chunks;
        ctx.sync(full_warp<Ctx>);
    }

    const two_sided_ref& view_;
    const message_shard_ref& shard_;
    message_delivery<Ctx> delivery_;
    ring_reader<Ctx> rings_;
    unexpected_places<Ctx> places_;
    mutable std::uint64_t done_ = 0;
};

}  // namespace laneway
