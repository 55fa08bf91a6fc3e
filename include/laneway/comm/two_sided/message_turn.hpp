// Turning a shard: taking what lanes ask and what has come, in their orders, and matching it. One warp, or a lone lane,
// at a time; who finds the shard in use goes on with something else.
#pragma once

#include "laneway/comm/two_sided/fetch_queue.hpp"
#include "laneway/comm/two_sided/message_delivery.hpp"
#include "laneway/comm/two_sided/waiting_sends.hpp"

namespace laneway {

/// A warp's access to a shard; all members are for the whole warp, together. A lone lane is a warp of its own
/// (simt/lone_lane.hpp). None waits for what lanes may still have to do; words of a message that has begun to arrive
/// are about to come.
template <class Ctx>
class message_turn {
public:
    LANEWAY_FN message_turn(const two_sided_ref& view, const message_shard_ref& shard)
        : view_(view), shard_(shard), delivery_(view), sends_(view, shard) {}

    /// Whether there was anything to do, and nobody else at it.
    LANEWAY_SLOW bool operator()(Ctx& ctx) const {
        if (once(ctx, full_warp<Ctx>, [&] { return std::uint32_t{seems_due(ctx) && lock(ctx)}; }) == 0) return false;
        ctx.sync(full_warp<Ctx>);  // what lane 0 has acquired is visible to all
        bool worked = false;
        if (view_.rules.is_unordered()) reclaim(ctx);
        for (int batch = 0; batch < max_batches && take_asked(ctx); ++batch) worked = true;
        worked = send_waiting(ctx) || worked;
        worked = take_arrived(ctx) || worked;
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) {
            if (shard_.state->told_of != 0 && have_all_come(ctx)) shard_.state->told_of = 0;
            end(ctx);
        }
        ctx.sync(full_warp<Ctx>);
        return worked;
    }

    /// Whether something seems to be due. One lane.
    [[nodiscard]] LANEWAY_FN bool seems_due(Ctx& ctx) const {
        // All loads of a step are on their way at once.
        const std::uint64_t asked = ctx.load(shard_.asked.taken, order::relaxed, scope::device);
        const std::uint64_t chains = sends_.n_chains(ctx), first = next(ctx, 0);
        bool due = shard_.asked.any_at(ctx, asked);
        due = chunk_receiver::label_of(shard_.from[0].peek(ctx, first), first).bits != 0 || chains != 0 || due;
        for (int source = 1; source < ctx.n_pes() && !due; ++source) {
            const std::uint64_t ticket = next(ctx, source);
            due = chunk_receiver::label_of(shard_.from[source].peek(ctx, ticket), ticket).bits != 0;
        }
        return due || (view_.rules.is_unordered() && is_any_past_kept_slots(ctx));
    }

private:
    static constexpr int max_batches = Ctx::warp_lanes == 1 ? 8 : 4;

    LANEWAY_FN bool lock(Ctx& ctx) const {
        std::uint32_t* const word = &shard_.state->lock;
        // Partner: the release store at the end of a turn.
        return ctx.load(word, order::relaxed, scope::device) == 0 &&
               ctx.exchange(word, 1u, order::acquire, scope::device) == 0;
    }
    /// Words that others look at while a turn goes on.
    [[nodiscard]] LANEWAY_FN std::uint64_t next(Ctx& ctx, int source) const {
        return ctx.load(shard_.next + source, order::relaxed, scope::device);
    }
    /// Lanes at the start of the warp for which this holds, without a gap.
    [[nodiscard]] LANEWAY_FN int leading(Ctx& ctx, bool holds) const {
        const lane_mask rest = full_warp<Ctx> & ~ctx.ballot(full_warp<Ctx>, holds);
        return rest == 0 ? Ctx::warp_lanes : Ctx::first_lane(rest);
    }

    /// Whether the next message of a ring cannot come, as its slot holds what waits. Of any other slot it is about to
    /// come, as soon as it has been sent.
    [[nodiscard]] LANEWAY_FN bool is_held_up(Ctx& ctx, int source, std::uint64_t first) const {
        return ctx.load(shard_.kept + slot_number(shard_.from[source], source, first), order::relaxed, scope::device) !=
               0;
    }
    /// Whether a message has come behind one that cannot. One lane; it looks through rings that are held up, no others.
    [[nodiscard]] LANEWAY_FN bool is_any_past_kept_slots(Ctx& ctx) const {
        if (ctx.load(&shard_.state->kept_slots, order::relaxed, scope::device) == 0) return false;
        for (int source = 0; source < ctx.n_pes(); ++source) {
            const chunk_receiver& in = shard_.from[source];
            const std::uint64_t first = next(ctx, source);
            if (!is_held_up(ctx, source, first)) continue;
            for (std::uint64_t at = 0; at < in.n_slots; ++at) {
                const std::uint32_t taken =
                    ctx.load(shard_.taken + slot_number(in, source, first + at), order::relaxed, scope::device);
                const std::uint64_t ticket = first + at + std::uint64_t{taken} * in.n_slots;
                if (chunk_receiver::label_of(in.peek(ctx, ticket), ticket).bits != 0) return true;
            }
        }
        return false;
    }

    /// Whether no message that a probe has told of lies in a ring. One lane.
    [[nodiscard]] LANEWAY_FN bool have_all_come(Ctx& ctx) const {
        if (room() == 0 || view_.rules.is_unordered()) return false;  // without an order there is no telling
        for (int source = 0; source < ctx.n_pes(); ++source) {
            const std::uint64_t ticket = next(ctx, source);
            if (chunk_receiver::label_of(shard_.from[source].peek(ctx, ticket), ticket).bits != 0) return false;
        }
        return true;
    }

    /// Takes places back that lanes have emptied since the last turn.
    LANEWAY_FN void reclaim(Ctx& ctx) const {
        for (;;) {
            const std::uint64_t first = ctx.load(shard_.returned.taken, order::relaxed, scope::device);
            const std::uint32_t place = shard_.returned.at(ctx, first + static_cast<std::uint64_t>(ctx.lane()));
            const int n = leading(ctx, place != number_queue_ref::none);
            if (n == 0) return;
            count_kept_slots(ctx, ctx.lane() < n && shard_.unexpected[place].in_ring != 0, place, false);
            put_back(ctx, ctx.lane() < n, place);
            if (ctx.lane() == 0) {
                ctx.store(shard_.returned.taken, first + static_cast<std::uint64_t>(n), order::relaxed, scope::device);
            }
            ctx.sync(full_warp<Ctx>);
        }
    }

    /// Takes requests of one kind that stand next to each other. Whether there were any.
    LANEWAY_FN bool take_asked(Ctx& ctx) const {
        std::uint64_t* const answered = shard_.asked.taken;
        const std::uint64_t first = ctx.load(answered, order::relaxed, scope::device);
        const std::uint32_t number = shard_.asked.at(ctx, first + static_cast<std::uint64_t>(ctx.lane()));
        const bool here = number != number_queue_ref::none;
        const request_kind kind = here ? view_.requests[number].kind : request_kind::receive;
        const request_kind all = ctx.shuffle(full_warp<Ctx>, kind, 0);
        // Of matches one: two may want the same message.
        const int n = leading(ctx, here && kind == all && (all != request_kind::match || ctx.lane() == 0));
        if (n == 0) return false;
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) {
            ctx.store(answered, first + static_cast<std::uint64_t>(n), order::relaxed, scope::device);
        }
        const bool active = ctx.lane() < n;
        if (all == request_kind::probe || all == request_kind::match) let_in_awaited(ctx);
        if (all == request_kind::receive) post(ctx, active, number);
        if (all == request_kind::probe) probe(ctx, active, number);
        if (all == request_kind::match) match(ctx, active, number);
        if (all == request_kind::matched_receive) receive_match(ctx, active, number);
        if (all == request_kind::cancel) cancel(ctx, active, number);
        if (all == request_kind::send) sends_.add(ctx, active, number);
        complete(ctx, n);
        return true;
    }

    LANEWAY_FN void post(Ctx& ctx, bool active, std::uint32_t number) const {
        const match_key key = active ? view_.requests[number].key : match_key{};
        const match_result found = shard_.engine.post(ctx, active, key, number);
        give_kept(ctx, found.outcome == match_outcome::matched, number, found.handle);
    }
    /// Gives a message that waits to a receive.
    LANEWAY_FN void give_kept(Ctx& ctx, bool active, std::uint32_t number, std::uint32_t place) const {
        incoming_message message;
        if (active) message = delivery_.kept(ctx, shard_, place);
        delivery_.give(ctx, active, number, message);
        delivery_.drop(ctx, shard_, active, place);
        if (view_.rules.is_unordered()) {
            count_kept_slots(ctx, active && shard_.unexpected[place].in_ring != 0, place, false);
        }
        put_back(ctx, active, place);
    }
    LANEWAY_FN void receive_match(Ctx& ctx, bool active, std::uint32_t number) const {
        give_kept(ctx, active, number, active ? view_.requests[number].other : 0);
    }

    /// Takes a message that waits out of the queues, as a receive would; its place stays its own. Lane 0 alone.
    LANEWAY_FN void match(Ctx& ctx, bool active, std::uint32_t number) const {
        const match_key key = active ? view_.requests[number].key : match_key{};
        const match_key wanted{ctx.shuffle(full_warp<Ctx>, key.source, 0), ctx.shuffle(full_warp<Ctx>, key.tag, 0)};
        match_result found = take_out(ctx, active, key, number);
        const auto goes_on = [&] { return ctx.ballot(full_warp<Ctx>, found.outcome == match_outcome::matched) == 0; };
        // What comes in may be an earlier receive's; then it is looked for again, from each PE as often as its ring has
        // slots: all that lay there at first has had its turn then, and the match ends, whatever others send meanwhile
        // and, without an order, post.
        for (int source = 0; source < ctx.n_pes(); ++source) {
            if (wanted.source != any_source && wanted.source != static_cast<std::uint32_t>(source)) continue;
            for (std::uint32_t i = shard_.from[source].n_slots; i > 0 && goes_on() && bring_in(ctx, source, wanted);
                 --i) {
                found = take_out(ctx, active, key, number);
            }
        }
        const bool matched = found.outcome == match_outcome::matched;
        if (active) {
            request_slot& slot = view_.requests[number];
            if (matched) tell_found(slot, found.key, shard_.unexpected[found.handle].bytes);
            slot.other = found.handle;
            delivery_.complete(ctx, number, matched ? request_word::done : request_word::nothing);
        }
        ctx.sync(full_warp<Ctx>);
    }
    LANEWAY_FN match_result take_out(Ctx& ctx, bool active, const match_key& key, std::uint32_t number) const {
        if (view_.rules.is_unordered()) return take_out_of_table(ctx, active, key);
        const match_result found = shard_.engine.probe(ctx, active, key);
        if (ctx.ballot(full_warp<Ctx>, found.outcome == match_outcome::matched) == 0) return found;
        return shard_.engine.post(ctx, active, key, number);
    }
    LANEWAY_FN match_result take_out_of_table(Ctx& ctx, bool active, const match_key& key) const {
        const match_result found = active ? shard_.table.take_message(ctx, key) : match_result{};
        if (found.outcome == match_outcome::matched) {  // as a receive of it would count; one lane
            ctx.fetch_add(&shard_.state->met, std::uint64_t{1}, order::relaxed, scope::device);
        }
        return found;
    }
    /// Lets a message of a PE in that a match wants and that lies in the ring still, or what an earlier receive awaits;
    /// into a place beyond the bound where no more may wait, if one is left for what receives await.
    LANEWAY_FN bool bring_in(Ctx& ctx, int source, const match_key& key) const {
        if (shard_.state->n_free < 2) return false;
        // What has come since for an earlier receive must not be overtaken: it goes there first. Without an order only
        // a receive with the same key could want the message, and gets it as it comes in.
        return overtake(ctx, source, next(ctx, source), [&](const match_key& message) {
            return key.accepts(message) || (!view_.rules.is_unordered() && is_awaited(ctx, message));
        });
    }
    static LANEWAY_FN void tell_found(request_slot& slot, const match_key& key, std::uint64_t bytes) {
        slot.source = key.source;
        slot.tag = key.tag;
        slot.length = bytes;
    }

    /// Who looks into rings, as no more messages may wait, finds only what no receive there before has taken.
    LANEWAY_FN void let_in_awaited(Ctx& ctx) const {
        if (room() != 0) return;
        for (std::uint32_t i = 0; i < shard_.from[0].n_slots && take_arrived(ctx); ++i) {
        }
    }
    LANEWAY_FN void probe(Ctx& ctx, bool active, std::uint32_t number) const {
        const match_key key = active ? view_.requests[number].key : match_key{};
        const match_result found = find(ctx, active, key);
        if (active) {
            request_slot& slot = view_.requests[number];
            bool matched = found.outcome == match_outcome::matched;
            if (matched) {
                tell_found(slot, found.key, shard_.unexpected[found.handle].bytes);
            } else if (room() == 0 || shard_.state->told_of != 0) {
                matched = probe_rings(ctx, key, slot);
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
    LANEWAY_FN bool probe_rings(Ctx& ctx, const match_key& key, request_slot& slot) const {
        for (int source = 0; source < ctx.n_pes(); ++source) {
            const chunk_receiver& in = shard_.from[source];
            const std::uint64_t first = next(ctx, source);
            for (std::uint64_t at = 0; at < in.n_slots; ++at) {
                incoming_message message;
                std::uint64_t ticket = first + at;
                const content seen = read_slot(ctx, in, source, ticket, message);
                if (ends_search(seen)) break;
                if (seen != content::message || !key.accepts(message.key)) continue;
                if (is_awaited(ctx, message.key))
                    break;  // it has come since; an earlier receive gets it, or one behind
                tell_found(slot, message.key, message.bytes);
                return true;
            }
        }
        return false;
    }

    LANEWAY_FN void cancel(Ctx& ctx, bool active, std::uint32_t number) const {
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

    /// Sends those messages that have waited and whose slot is free by now.
    LANEWAY_FN bool send_waiting(Ctx& ctx) const {
        bool worked = false;
        std::uint64_t left = sends_.n_chains(ctx);
        for (int batch = 0; batch < max_batches && left > 0; ++batch) {
            bool mine = false;
            std::uint32_t number = 0;
            if (sends_.take(ctx, mine, number)) {
                delivery_.send(ctx, shard_, mine, number);
                worked = true;
            }
            left -= left < Ctx::warp_lanes ? left : Ctx::warp_lanes;
        }
        return worked;
    }

    /// Takes what has come from each PE, a batch from each, the PEs by turns.
    LANEWAY_FN bool take_arrived(Ctx& ctx) const {
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

    LANEWAY_FN bool take_from(Ctx& ctx, int source) const {
        const chunk_receiver& in = shard_.from[source];
        const std::uint64_t first = next(ctx, source), ticket = first + static_cast<std::uint64_t>(ctx.lane());
        // What lies further has other slots; behind what has been taken another batch begins.
        const bool near = static_cast<std::uint32_t>(ctx.lane()) < in.n_slots && taken_at(in, source, ticket) == 0;
        const chunk_label label = in.arrived(ctx, ticket);
        const int n = leading(ctx, near && label.bits != 0);
        if (n == 0) return come_past_kept_slots(ctx, source, first);
        const bool comes = ctx.lane() < n;
        incoming_message message;
        bool whole = true;
        if (comes) whole = delivery_.read(ctx, in, ticket, label, source, message);
        if (ctx.ballot(full_warp<Ctx>, !whole) != 0) return false;  // the run is ending
        const lane_mask admitted = admit(ctx, comes, message.key);
        const auto awaited = [&](const match_key& key) { return is_awaited(ctx, key); };
        if (admitted == 0) return overtake(ctx, source, first, awaited);
        let_in(ctx, source, (admitted >> ctx.lane() & 1) != 0, ticket, message);
        if (ctx.lane() == 0) go_on(ctx, in, source, first + static_cast<std::uint64_t>(Ctx::count_lanes(admitted)));
        count(ctx, admitted);
        return true;
    }
    /// Without an order, where the first message of a ring cannot come, as its slot holds what waits: others come in
    /// before it, whatever they are as long as more may wait.
    LANEWAY_FN bool come_past_kept_slots(Ctx& ctx, int source, std::uint64_t first) const {
        if (shard_.state->kept_slots == 0 || !is_held_up(ctx, source, first)) return false;
        const bool may_wait = room() != 0;
        return overtake(ctx, source, first, [&](const match_key& key) { return may_wait || is_awaited(ctx, key); });
    }
    /// Payloads that wait without an order, in slots that others cannot use meanwhile: so many more, or fewer. A slot
    /// may have several of them: a lane has taken the first, so it has been used anew, and no turn has its place back.
    LANEWAY_FN void count_kept_slots(Ctx& ctx, bool mine, std::uint32_t place, bool come) const {
        if (mine) {
            const unexpected_message& kept = shard_.unexpected[place];
            const auto source = static_cast<int>(kept.key.source);
            std::uint32_t* const slot = shard_.kept + slot_number(shard_.from[source], source, kept.ticket);
            ctx.fetch_add(slot, come ? 1u : ~0u, order::relaxed, scope::device);
        }
        const auto n = static_cast<std::uint32_t>(Ctx::count_lanes(ctx.ballot(full_warp<Ctx>, mine)));
        if (n != 0 && ctx.lane() == 0) {
            const std::uint32_t before = shard_.state->kept_slots;
            ctx.store(&shard_.state->kept_slots, come ? before + n : before - n, order::relaxed, scope::device);
        }
        ctx.sync(full_warp<Ctx>);
    }
    /// The ticket to read next: this one, or the first behind it that has not been taken before its turn. One lane.
    LANEWAY_FN void go_on(Ctx& ctx, const chunk_receiver& in, int source, std::uint64_t ticket) const {
        for (; taken_at(in, source, ticket) != 0; ++ticket) {
            set_taken(ctx, in, source, ticket, taken_at(in, source, ticket) - 1);
            --shard_.state->overtaken;
        }
        ctx.store(shard_.next + source, ticket, order::relaxed, scope::device);
    }

    /// Where the first message of a ring may not come in: takes the first that is wanted, as a receive awaits it, say.
    /// Those before it are there and are not, so each goes to the receive to which it would have gone in its turn.
    template <class Wanted>
    LANEWAY_FN bool overtake(Ctx& ctx, int source, std::uint64_t first, const Wanted& wanted) const {
        const chunk_receiver& in = shard_.from[source];
        for (std::uint64_t base = 0; base < in.n_slots; base += static_cast<std::uint64_t>(Ctx::warp_lanes)) {
            const std::uint64_t at = base + static_cast<std::uint64_t>(ctx.lane());
            std::uint64_t ticket = first + at;
            incoming_message message;
            const content seen = at < in.n_slots ? read_slot(ctx, in, source, ticket, message) : content::taken;
            const int known = leading(ctx, !ends_search(seen));
            const bool here = ctx.lane() < known && seen == content::message;
            const lane_mask all = ctx.ballot(full_warp<Ctx>, here && wanted(message.key));
            if (all == 0 && known < Ctx::warp_lanes) return false;
            if (all == 0) continue;
            const bool mine = ctx.lane() == Ctx::first_lane(all);  // one, as another may want the same receive
            let_in(ctx, source, mine, ticket, message);
            if (mine) {
                set_taken(ctx, in, source, ticket, taken_at(in, source, ticket) + 1);
                ++shard_.state->overtaken;
            }
            ctx.sync(full_warp<Ctx>);
            // Without an order a lane may have posted a receive for the first one meanwhile: then it is that.
            if (ctx.lane() == 0) go_on(ctx, in, source, first);
            count(ctx, lane_mask{1});
            return true;
        }
        return false;
    }
    /// What is in the slot of a ticket: a message, or one that came in before its turn, or nothing as yet.
    enum class content { message, taken, nothing };

    /// The message in a slot that may come in before its turn, and its ticket: a later one than this where the slot has
    /// been used anew, which counts where messages have no order. Each lane another.
    LANEWAY_FN content read_slot(Ctx& ctx, const chunk_receiver& in, int source, std::uint64_t& ticket,
                                 incoming_message& message) const {
        const std::uint32_t taken = taken_at(in, source, ticket);
        if (taken != 0 && !view_.rules.is_unordered()) return content::taken;
        ticket += std::uint64_t{taken} * in.n_slots;
        const chunk_label label = in.arrived(ctx, ticket);
        const bool here = label.bits != 0 && delivery_.read(ctx, in, ticket, label, source, message);
        return here ? content::message : content::nothing;
    }
    /// Nobody knows what will come there, and it has its turn before what is behind it.
    [[nodiscard]] LANEWAY_FN bool ends_search(content seen) const {
        return seen == content::nothing && !view_.rules.is_unordered();
    }
    /// How many messages of a ticket's slot came in before their turn.
    [[nodiscard]] LANEWAY_FN std::uint32_t taken_at(const chunk_receiver& in, int source, std::uint64_t ticket) const {
        return shard_.state->overtaken == 0 ? 0 : shard_.taken[slot_number(in, source, ticket)];
    }
    /// Others look at it, see is_any_past_kept_slots. One lane.
    LANEWAY_FN void set_taken(Ctx& ctx, const chunk_receiver& in, int source, std::uint64_t ticket,
                              std::uint32_t taken) const {
        ctx.store(shard_.taken + slot_number(in, source, ticket), taken, order::relaxed, scope::device);
    }
    /// Whether a receive waits for it. Any lane.
    [[nodiscard]] LANEWAY_FN bool is_awaited(Ctx& ctx, const match_key& message) const {
        return view_.rules.is_unordered() ? shard_.table.is_awaited(ctx, message) : shard_.engine.is_awaited(message);
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t slot_number(const chunk_receiver& in, int source,
                                                       std::uint64_t ticket) const {
        return static_cast<std::uint64_t>(source) * in.n_slots + in.slot_of(ticket);
    }

    /// Gives messages to their receives, or keeps them, and their slots back to the sender.
    LANEWAY_FN void let_in(Ctx& ctx, int source, bool active, std::uint64_t ticket,
                           const incoming_message& message) const {
        const std::uint32_t place = take_place(ctx, active);
        bool in_ring = false;
        const match_result found = view_.rules.is_unordered()
                                       ? put_into_table(ctx, active, place, ticket, message, in_ring)
                                       : put_into_engine(ctx, active, place, ticket, message, in_ring);
        const bool waits = found.outcome == match_outcome::queued, matched = found.outcome == match_outcome::matched;
        if (found.outcome == match_outcome::refused) {
            (void)fail(ctx, status::unexpected_message, operation::receive, source, message.key.tag, view_.number);
        }
        const bool done = delivery_.fill(ctx, matched, found.handle, message);
        put_back(ctx, active && !waits, place);
        if (ctx.lane() == 0 && shard_.state->n_free < shard_.state->least_free) {
            shard_.state->least_free = shard_.state->n_free;
        }
        // One fence for what receivers and the sender are told: the lanes have read the messages, and filled the
        // receives in.
        fence(ctx, source);
        if (done) delivery_.complete(ctx, found.handle, request_word::done, Ctx::tagged_order);
        if (active && !in_ring) shard_.from[source].give_back_fenced(ctx, lane_mask{1} << ctx.lane(), ticket);
        ctx.sync(full_warp<Ctx>);
    }
    /// What becomes of each lane's message in MPI's order. `in_ring`: it waits, and its payload has its slot still.
    LANEWAY_FN match_result put_into_engine(Ctx& ctx, bool active, std::uint32_t place, std::uint64_t ticket,
                                            const incoming_message& message, bool& in_ring) const {
        const match_result found = shard_.engine.arrive(ctx, active, message.key, place);
        in_ring = delivery_.keep(ctx, shard_, found.outcome == match_outcome::queued, place, ticket, message);
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
        in_ring = delivery_.keep(ctx, shard_, is_early, place, ticket, message);
        if (is_early) found = shard_.table.arrive(ctx, message.key, place);
        const bool matched = found.outcome == match_outcome::matched;
        delivery_.drop(ctx, shard_, is_early && matched && !in_ring, place);
        in_ring = in_ring && !matched;
        count_kept_slots(ctx, in_ring, place, true);
        if (view_.rules.no_unexpected && found.outcome == match_outcome::queued) found.outcome = match_outcome::refused;
        count_matches(ctx, active, found.outcome);
        return found;
    }
    /// Notes how many receives wait without an order, before some are taken out, which turns alone do. Lanes add to one
    /// word only, a receive when it waits, and what has gone is known to the turn. So it sees no more than wait, in
    /// whatever order words are seen; it misses those whose lane has posted them and not counted them yet, of which
    /// some may have gone already.
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

    /// What this lane has done, and knows of others, comes before words of a PE that it stores with tagged_order, where
    /// that orders nothing.
    LANEWAY_FN void fence(Ctx& ctx, int pe) const {
        if constexpr (Ctx::tagged_order != order::release) {
            if (pe == ctx.pe()) {
                ctx.fence(scope::device);
            } else {
                ctx.fence(scope::system);
            }
        }
    }
    LANEWAY_FN void count(Ctx& ctx, lane_mask come) const {
        const int n = Ctx::count_lanes(come);
        if (ctx.lane() == 0) {
            const std::uint64_t arrived = ctx.load(&shard_.state->arrived, order::relaxed, scope::device);
            ctx.store(&shard_.state->arrived, arrived + static_cast<std::uint64_t>(n), order::relaxed, scope::device);
        }
        complete(ctx, n);
    }
    /// So many are done with; what follows from them counts as work already. The end of the turn tells.
    LANEWAY_FN void complete(Ctx& ctx, int n) const {
        done_ += static_cast<std::uint64_t>(n);
        ctx.sync(full_warp<Ctx>);
    }
    /// Counts what is done, and gives the shard free. One lane, behind all that the others have done; one fence for
    /// both.
    LANEWAY_FN void end(Ctx& ctx) const {
        fence(ctx, ctx.pe());
        // Partner: the acquire load of communicator_ref.
        if (done_ != 0) ctx.fetch_add(&view_.counters->completed, done_, Ctx::tagged_order, scope::device);
        // Partner: the exchange in lock.
        ctx.store(&shard_.state->lock, 0u, Ctx::tagged_order, scope::device);
    }

    /// Which of these messages may come in: the first ones, as many as may wait. Where no more may, the one that is
    /// first in its ring if a receive awaits it; for the others see overtake.
    LANEWAY_FN lane_mask admit(Ctx& ctx, bool comes, const match_key& key) const {
        const std::uint32_t n = room();
        const lane_mask all = ctx.ballot(full_warp<Ctx>, comes);
        const bool awaited = n == 0 && comes && ctx.lane() == 0 && is_awaited(ctx, key);
        const lane_mask first = ctx.ballot(full_warp<Ctx>, awaited);
        ctx.sync(full_warp<Ctx>);
        if (n == 0) return first;
        return ctx.ballot(full_warp<Ctx>, comes && static_cast<std::uint32_t>(rank_in(ctx, all)) < n);
    }
    /// How many more messages may wait. Between the turn's changes.
    [[nodiscard]] LANEWAY_FN std::uint32_t room() const {
        const std::uint32_t free = shard_.state->n_free;
        return free > spare_places ? free - spare_places : 0;
    }

    /// A place for an unexpected message, for each active lane. There is one for each that is admitted.
    LANEWAY_FN std::uint32_t take_place(Ctx& ctx, bool active) const {
        const lane_mask lanes = ctx.ballot(full_warp<Ctx>, active);
        const std::uint32_t free = shard_.state->n_free;
        const auto rank = static_cast<std::uint32_t>(rank_in(ctx, lanes));
        const std::uint32_t place = active ? shard_.free_places[free - 1 - rank] : 0;
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) shard_.state->n_free = free - static_cast<std::uint32_t>(Ctx::count_lanes(lanes));
        ctx.sync(full_warp<Ctx>);
        return place;
    }
    LANEWAY_FN void put_back(Ctx& ctx, bool mine, std::uint32_t place) const {
        const lane_mask lanes = ctx.ballot(full_warp<Ctx>, mine);
        const std::uint32_t free = shard_.state->n_free;
        if (mine) shard_.free_places[free + static_cast<std::uint32_t>(rank_in(ctx, lanes))] = place;
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) shard_.state->n_free = free + static_cast<std::uint32_t>(Ctx::count_lanes(lanes));
        ctx.sync(full_warp<Ctx>);
    }

    const two_sided_ref& view_;
    const message_shard_ref& shard_;
    message_delivery<Ctx> delivery_;
    waiting_sends<Ctx> sends_;
    mutable std::uint64_t done_ = 0;  ///< requests and messages, in this turn
};

}  // namespace laneway
