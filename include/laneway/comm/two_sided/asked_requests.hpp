// What lanes ask of a shard: receives, probes, matched probes, receives taken back, and sends that wait for room; in
// the order in which they were asked.
#pragma once

#include "laneway/comm/two_sided/message_arrivals.hpp"
#include "laneway/comm/two_sided/waiting_sends.hpp"

namespace laneway {

/// Whoever has locked the shard uses it; members are for the whole warp, together, where they do not say something
/// else.
template <class Ctx>
class asked_requests {
public:
    LANEWAY_FN asked_requests(const two_sided_ref& view, const message_shard_ref& shard,
                              const message_arrivals<Ctx>& arrivals)
        : view_(view), shard_(shard), arrivals_(arrivals), delivery_(view), rings_(view, shard), places_(view, shard),
          sends_(view, shard) {}

    /// Takes requests of one kind that stand next to each other. Whether there were any.
    LANEWAY_FN bool take(Ctx& ctx) const {
        std::uint64_t* const answered = shard_.asked.taken;
        const std::uint64_t first = ctx.load(answered, order::relaxed, scope::device);
        const std::uint32_t number = shard_.asked.at(ctx, first + static_cast<std::uint64_t>(ctx.lane()));
        const bool here = number != number_queue_ref::none;
        const request_kind kind = here ? view_.requests[number].kind : request_kind::receive;
        const request_kind all = ctx.shuffle(full_warp<Ctx>, kind, 0);
        // Of matches one: two may want the same message.
        const int n = leading_lanes(ctx, here && kind == all && (all != request_kind::match || ctx.lane() == 0));
        if (n == 0) return false;
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) {
            // Partner: the acquire load in direct_receive: who sees it finds no ring open as it was before the turn.
            ctx.store(answered, first + static_cast<std::uint64_t>(n), Ctx::tagged_order, scope::device);
        }
        const bool active = ctx.lane() < n;
        if (all == request_kind::probe || all == request_kind::match) let_in_awaited(ctx);
        if (all == request_kind::receive) post(ctx, active, number);
        if (all == request_kind::probe) probe(ctx, active, number);
        if (all == request_kind::match) match(ctx, active, number);
        if (all == request_kind::matched_receive) receive_match(ctx, active, number);
        if (all == request_kind::cancel) cancel(ctx, active, number);
        if (all == request_kind::send) sends_.add(ctx, active, number);
        done_ += static_cast<std::uint64_t>(n);
        ctx.sync(full_warp<Ctx>);
        return true;
    }
    /// Requests that have been taken. Any lane.
    [[nodiscard]] LANEWAY_FN std::uint64_t done() const { return done_; }

private:
    using content = typename ring_reader<Ctx>::content;

    LANEWAY_SLOW void post(Ctx& ctx, bool active, std::uint32_t number) const {
        const match_key key = active ? view_.requests[number].key : match_key{};
        const match_result found = shard_.engine.post(ctx, active, key, number);
        give_kept(ctx, found.outcome == match_outcome::matched, number, found.handle);
    }
    /// Gives a message that waits to a receive.
    LANEWAY_SLOW void give_kept(Ctx& ctx, bool active, std::uint32_t number, std::uint32_t place) const {
        incoming_message message;
        if (active) message = delivery_.kept(ctx, shard_, place);
        delivery_.give(ctx, active, number, message);
        delivery_.drop(ctx, shard_, active, place);
        if (view_.rules.is_unordered()) {
            places_.count_kept_slots(ctx, active && shard_.unexpected[place].in_ring != 0, place, false);
        }
        places_.put_back(ctx, active, place);
    }
    LANEWAY_FN void receive_match(Ctx& ctx, bool active, std::uint32_t number) const {
        give_kept(ctx, active, number, active ? view_.requests[number].other : 0);
    }

    /// Takes a message that waits out of the queues, as a receive would; its place stays its own. One that is longer
    /// than the match has room for stays where it is, and is told of. Lane 0 alone.
    LANEWAY_SLOW void match(Ctx& ctx, bool active, std::uint32_t number) const {
        const match_key key = active ? view_.requests[number].key : match_key{};
        const match_key wanted{ctx.shuffle(full_warp<Ctx>, key.source, 0), ctx.shuffle(full_warp<Ctx>, key.tag, 0)};
        const std::uint64_t most = ctx.shuffle(full_warp<Ctx>, active ? view_.requests[number].bytes : 0, 0);
        match_result found = take_out(ctx, active, key, number);
        const auto goes_on = [&] { return ctx.ballot(full_warp<Ctx>, found.outcome == match_outcome::matched) == 0; };
        // What comes in may be an earlier receive's; then it is looked for again, from each PE as often as its ring has
        // slots: all that lay there at first has had its turn then, and the match ends, whatever others send meanwhile
        // and, without an order, post.
        for (int source = 0; source < ctx.n_pes(); ++source) {
            if (wanted.source != any_source && wanted.source != static_cast<std::uint32_t>(source)) continue;
            for (std::uint32_t i = shard_.from[source].n_slots;
                 i > 0 && goes_on() && bring_in(ctx, source, wanted, most); --i) {
                found = take_out(ctx, active, key, number);
            }
        }
        if (active) end_match(ctx, number, found);
        ctx.sync(full_warp<Ctx>);
    }
    /// Tells what a match has found: what it takes, or what is too long for it, also in a ring. Its lane.
    LANEWAY_SLOW void end_match(Ctx& ctx, std::uint32_t number, const match_result& found) const {
        request_slot& slot = view_.requests[number];
        incoming_message in_ring;
        bool matched = false;
        if (found.outcome == match_outcome::matched) {
            tell_found(slot, found.key, shard_.unexpected[found.handle].bytes);
            slot.other = found.handle;
            matched = fits(number, found.handle);
        } else if (slot.bytes != any_length && find_in_rings(ctx, slot.key, in_ring) && in_ring.bytes > slot.bytes) {
            tell_found(slot, in_ring.key, in_ring.bytes);
            shard_.state->told_of = 1;
        }
        delivery_.complete(ctx, number, matched ? request_word::done : request_word::nothing);
    }
    [[nodiscard]] LANEWAY_FN bool fits(std::uint32_t number, std::uint32_t place) const {
        return shard_.unexpected[place].bytes <= view_.requests[number].bytes;
    }
    /// Also what does not fit, which it has not taken.
    LANEWAY_SLOW match_result take_out(Ctx& ctx, bool active, const match_key& key, std::uint32_t number) const {
        if (view_.rules.is_unordered()) return active ? take_out_of_table(ctx, key, number) : match_result{};
        const match_result found = shard_.engine.probe(ctx, active, key);
        const bool takes = found.outcome == match_outcome::matched && fits(number, found.handle);
        if (ctx.ballot(full_warp<Ctx>, takes) == 0) return found;
        return shard_.engine.post(ctx, active, key, number);
    }
    LANEWAY_FN match_result take_out_of_table(Ctx& ctx, const match_key& key, std::uint32_t number) const {
        const match_result taken =
            shard_.table.take_message(ctx, key, [&](std::uint32_t place) { return fits(number, place); });
        if (taken.outcome == match_outcome::matched) {  // as a receive of it would count; one lane
            ctx.fetch_add(&shard_.state->met, std::uint64_t{1}, order::relaxed, scope::device);
            return taken;
        }
        const match_result seen = shard_.table.probe(ctx, key);
        const bool is_long = seen.outcome == match_outcome::matched && !fits(number, seen.handle);
        return is_long ? seen : match_result{};
    }
    /// Lets a message of a PE in that a match wants and that lies in the ring still, or what an earlier receive awaits;
    /// into a place beyond the bound where no more may wait, if one is left for what receives await.
    LANEWAY_FN bool bring_in(Ctx& ctx, int source, const match_key& key, std::uint64_t most) const {
        if (shard_.state->n_free < 2) return false;
        // What has come since for an earlier receive must not be overtaken: it goes there first. Without an order only
        // a receive with the same key could want the message, and gets it as it comes in.
        return arrivals_.overtake(ctx, source, rings_.next(ctx, source),
                                  {.awaited = !view_.rules.is_unordered(), .accepted_by = &key, .most = most});
    }
    static LANEWAY_FN void tell_found(request_slot& slot, const match_key& key, std::uint64_t bytes) {
        slot.source = key.source;
        slot.tag = key.tag;
        slot.length = bytes;
    }

    /// Who looks into rings, as no more messages may wait, finds only what no receive there before has taken.
    LANEWAY_FN void let_in_awaited(Ctx& ctx) const {
        if (places_.room() != 0) return;
        for (std::uint32_t i = 0; i < shard_.from[0].n_slots && arrivals_.take(ctx); ++i) {
        }
    }
    LANEWAY_SLOW void probe(Ctx& ctx, bool active, std::uint32_t number) const {
        const match_key key = active ? view_.requests[number].key : match_key{};
        const match_result found = find(ctx, active, key);
        if (active) {
            request_slot& slot = view_.requests[number];
            bool matched = found.outcome == match_outcome::matched;
            if (matched) {
                tell_found(slot, found.key, shard_.unexpected[found.handle].bytes);
            } else if (places_.room() == 0 || shard_.state->told_of != 0) {
                incoming_message message;
                matched = find_in_rings(ctx, key, message);
                if (matched) tell_found(slot, message.key, message.bytes);
                if (matched) shard_.state->told_of = 1;  // all lanes store the same
            }
            delivery_.complete(ctx, number, matched ? request_word::done : request_word::nothing);
        }
        ctx.sync(full_warp<Ctx>);
    }
    /// A message that waits. Another lane may take it from a table, but its place is filled anew by turns only.
    LANEWAY_FN match_result find(Ctx& ctx, bool active, const match_key& key) const {
        if (!view_.rules.is_unordered()) return shard_.engine.probe(ctx, active, key);
        return active ? shard_.table.probe(ctx, key) : match_result{};
    }
    /// Where no more messages may wait, those in rings count as well: a receive for one lets it in. So they do until
    /// all have come in, where more may by now: what a probe has told of is not lost to the next one. One lane.
    LANEWAY_SLOW bool find_in_rings(Ctx& ctx, const match_key& key, incoming_message& message) const {
        for (int source = 0; source < ctx.n_pes(); ++source) {
            const chunk_receiver& in = shard_.from[source];
            const std::uint64_t first = rings_.next(ctx, source);
            for (std::uint64_t at = 0; at < in.n_slots; ++at) {
                std::uint64_t ticket = first + at;
                const content seen =
                    rings_.find_in_slot(ctx, in, source, ticket, message,
                                        [&](const incoming_message& other) { return key.accepts(other.key); });
                if (rings_.ends_search(seen)) break;
                if (seen != content::suits) continue;
                if (arrivals_.is_awaited(ctx, message.key))
                    break;  // it has come since; an earlier receive gets it, or one behind
                return true;
            }
        }
        return false;
    }

    LANEWAY_SLOW void cancel(Ctx& ctx, bool active, std::uint32_t number) const {
        match_key key{};
        std::uint32_t other = 0;
        bool open = false;
        if (active) {
            const request_slot& asks = view_.requests[number];
            other = asks.other;
            // A receive that waits gets its message by turns of this shard only: while it is open, it is the one meant.
            const request_word now{ctx.load(&view_.requests[other].word, order::relaxed, scope::device)};
            open = now.bits == request_word::of(asks.other_generation, request_word::open);
            key = asks.key;
        }
        const match_result found = take_back(ctx, open, key, other);
        const bool cancelled = found.outcome == match_outcome::matched;
        if (cancelled) delivery_.complete(ctx, other, request_word::cancelled);
        if (active) delivery_.complete(ctx, number, cancelled ? request_word::done : request_word::nothing);
        ctx.sync(full_warp<Ctx>);
    }
    LANEWAY_FN match_result take_back(Ctx& ctx, bool active, const match_key& key, std::uint32_t receive) const {
        if (!view_.rules.is_unordered()) return shard_.engine.cancel(ctx, active, key, receive);
        const match_result found = active ? shard_.table.cancel(ctx, key, receive) : match_result{};
        const lane_mask taken = ctx.ballot(full_warp<Ctx>, found.outcome == match_outcome::matched);
        if (ctx.lane() == 0) shard_.state->cancelled += static_cast<std::uint64_t>(Ctx::count_lanes(taken));
        return found;
    }

    const two_sided_ref& view_;
    const message_shard_ref& shard_;
    const message_arrivals<Ctx>& arrivals_;
    message_delivery<Ctx> delivery_;
    ring_reader<Ctx> rings_;
    unexpected_places<Ctx> places_;
    waiting_sends<Ctx> sends_;
    mutable std::uint64_t done_ = 0;
};

}  // namespace laneway
