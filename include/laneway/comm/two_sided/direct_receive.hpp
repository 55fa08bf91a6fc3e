// Receiving a message straight from its ring, or from those that wait, by the lane that wants it: without a request and
// a turn of the shard. That is the usual case of lanes that pass messages back and forth, whose times are those of a
// few loads behind each other.
//
// Each lane goes through a ring by itself, as far as its messages have come: those that it does not ask for it passes
// over, whoever will take them, and comes back to none; one that asks for any source begins anew whenever it comes to a
// ring. So lanes that wait for messages of the same PE under tags of their own do not wait for each other. With the
// shard's lock it takes the first one that it asks for.
//
// The order is MPI's all the same. The receive counts as posted when the lock has been taken: then no other is about to
// be posted, and none that waits asks for the message; and of messages that the receive could take, those that wait are
// looked for first, and those before it in its ring are none.
//
// Where neither a receive waits nor a message, all this is known without the lock: whoever gave the shard back has left
// its rings open. Then one compare-and-swap takes the next message of a ring. A turn closes the rings before it does
// anything, so it fails where a turn has begun since the lane looked; and if one has also ended, and left the ring open
// with the same message next, again nothing waits.
#pragma once

#include "laneway/comm/two_sided/message_sender.hpp"
#include "laneway/comm/two_sided/shard_lock.hpp"
#include "laneway/comm/two_sided/unexpected_places.hpp"

namespace laneway {

/// What a lane has taken. Where it is `held` its payload is still to be copied, and the shard is the lane's own.
struct taken_message {
    bool held = false;
    bool waited = false;       ///< in the engine, else it was in its ring
    bool ends = false;         ///< the run is ending, as the lane has seen when it began to look
    std::uint32_t place = 0;   ///< among those that wait
    std::uint64_t ticket = 0;  ///< in its ring
    incoming_message message;
};

/// One lane, as a warp of its own (simt/lone_lane.hpp).
template <class Ctx>
class direct_receive {
public:
    LANEWAY_FN direct_receive(const two_sided_ref& view, ring_ends& ends, const match_key& key)
        : view_(view), ends_(ends), number_(view.shard_number(key)), shard_(view.shards[number_]), key_(key),
          delivery_(view) {}

    /// Whether receives may be tried so.
    [[nodiscard]] static LANEWAY_FN bool suits(const two_sided_ref& view) {
        return !view.rules.is_unordered() && !view.rules.no_unexpected;
    }

    /// Looks so often whether a message that the receive asks for has come, and takes it. What came in words is in the
    /// buffer then; else the lane holds the shard, copies the payload, and calls `finish`. False where the receive is
    /// for the queues. A message that is too long for the buffer ends the run. `looks` above 1: turns of the shard
    /// leave the rings alone meanwhile, unless something is asked of it or a receive waits. What lies in a slot is for
    /// the queues where it is longer than `most`.
    LANEWAY_SLOW bool find(Ctx& ctx, const message_buffer& into, std::uint64_t most, int looks,
                           taken_message& found) const {
        std::uint32_t* const watchers = &shard_.state->watchers;
        if (looks > 1) ctx.fetch_add(watchers, 1u, order::relaxed, scope::device);
        place at(*this, key_.source == any_source ? draw_source(ctx) : static_cast<int>(key_.source), most);
        at.ticket = at.next(ctx);
        // Its answer is not waited for.
        const std::uint32_t told = ctx.load(&ends_.environment.control->stop, order::relaxed, scope::device);
        outcome seen = outcome::busy;
        for (int i = 0; i < looks && seen == outcome::busy; ++i) {
            if (i % 64 == 63 && stopped(ctx)) break;  // the queues tell the caller
            if (key_.source == any_source && i > 0) {
                at.go_to(*this, at.source + 1 < ctx.n_pes() ? at.source + 1 : 0);
                at.ticket = at.next(ctx);
            }
            seen = look(ctx, at, into, found);
        }
        if (looks > 1) ctx.fetch_add(watchers, ~0u, order::relaxed, scope::device);
        found.ends = told != stop_word::none;
        return seen == outcome::taken;
    }

    /// Behind the last read of a payload: what the message took is free again, and so is the shard.
    LANEWAY_SLOW void finish(Ctx& ctx, const taken_message& found) const {
        if (!found.waited) return finish(ctx, place(*this, static_cast<int>(found.message.key.source), 0), found);
        const unexpected_places<Ctx> places(view_, shard_);
        delivery_.drop(ctx, shard_, true, found.place);
        places.put_back(ctx, true, found.place);
        places.note_waiting(ctx);
        const auto source = static_cast<int>(found.message.key.source);
        if (ring_reader<Ctx>(view_, shard_).may_open()) open(ctx, source);
        delivery_.fence(ctx, source);
        answer(ctx, found.message);
        shard_lock<Ctx>(*shard_.state).give_back(ctx, view_, 0);
    }

private:
    enum class outcome { taken, busy, for_queues };
    /// Of the message at the lane's place in the ring: it has not come; is somebody else's, or has been taken; or may
    /// be this lane's.
    enum class sight { nothing, other, wanted, too_long };

    /// The ring that the lane looks at, and its place there. Held apart from what lies in memory, as what has been
    /// loaded from there has to be loaded again behind each acquire.
    struct place {
        LANEWAY_FN place(const direct_receive& of, int first, std::uint64_t longest)
            : state(of.shard_.state), most(longest) {
            go_to(of, first);
        }
        LANEWAY_FN void go_to(const direct_receive& of, int to) {
            source = to;
            in = of.ends_.receiver(of.view_, of.number_, to);
            read = of.shard_.read + to;
            is_held_up = false;
        }
        [[nodiscard]] LANEWAY_FN std::uint64_t next(Ctx& ctx) const {
            return ring_progress::ticket_of(ctx.load(&read->next, order::relaxed, scope::device));
        }
        /// To the next message of the ring, if it can have come.
        LANEWAY_FN bool advance(Ctx& ctx) {
            const std::uint64_t first = next(ctx);
            if (ticket + 1 >= first + in.n_slots) return false;
            ticket = ticket + 1 > first ? ticket + 1 : first;
            is_held_up = false;
            return true;
        }

        /// Whether the message still is, or may be, another receive's, as it was when the lane had the lock.
        LANEWAY_FN bool stays_held_up(Ctx& ctx, std::uint64_t waiting) {
            is_held_up = is_held_up && next(ctx) == held_next && waiting == held_waiting &&
                         ctx.load(&state->answered, order::relaxed, scope::device) == held_answered &&
                         ctx.load(&state->posted, order::relaxed, scope::device) == held_posted;
            return is_held_up;
        }

        shard_state* state;
        std::uint64_t most;  ///< bytes of a payload in a slot
        int source = 0;
        chunk_receiver in;
        ring_progress* read = nullptr;
        std::uint64_t ticket = 0;
        std::uint64_t looked_at = 0;  ///< what `waiting` said when the lane looked for a message that waits
        int tries = 0;                ///< for the lock
        bool was_open = false;        ///< the ring, until the lane had the lock
        bool is_held_up = false;      ///< by a receive that has been asked for, or waits; then what the shard said:
        std::uint64_t held_next = 0, held_waiting = 0, held_answered = 0;
        std::uint32_t held_posted = 0;
    };
    /// What a look at the ring has brought: of a message in words its header, and 8 bytes; so many of these as are
    /// whole.
    struct seen_words {
        chunk_label label;
        std::uint64_t words[2];
        std::uint32_t whole = 0;
    };
    /// What the lane has to know of the shard, which is its own.
    struct shard_now {
        std::uint64_t drawn, taken, waiting, next;
        std::uint32_t posted, overtaken;
    };
    /// What the lane has to know of the shard to take a message without the lock.
    struct shard_seen {
        std::uint64_t waiting, next, taken, drawn;
    };

    /// The PE whose ring a receive from any source looks at first: another each time, so that none is received from
    /// while others wait for ever. By multiples of the golden ratio, so that receives that take turns with others of
    /// the block do not come to the same PEs again and again.
    LANEWAY_FN int draw_source(Ctx& ctx) const {
        const std::uint32_t drawn = ctx.fetch_add(&ends_.any_sources, 1u, order::relaxed, scope::block);
        const std::uint64_t part = std::uint64_t{drawn * 0x9e37'79b9u} * static_cast<std::uint64_t>(ctx.n_pes());
        return static_cast<int>(part >> 32);
    }
    /// Where to look next, without the lock; and with it if there is something for this lane.
    LANEWAY_FN outcome look(Ctx& ctx, place& at, const message_buffer& into, taken_message& found) const {
        shard_seen now;  // all loads are on their way at once
        now.waiting = ctx.load(&at.state->waiting, order::relaxed, scope::device);
        now.next = ctx.load(&at.read->next, order::relaxed, scope::device);
        now.drawn = ctx.load(&at.state->asked, order::relaxed, scope::device);
        // Partner: the stores of turns, behind which the ring's word is not what it was before them.
        now.taken = ctx.load(&at.state->answered, tagged_load_order<Ctx>, scope::device);
        seen_words words;
        sight seen = see(ctx, at, words);
        if (ring_progress::ticket_of(now.next) > at.ticket && at.advance(ctx)) seen = see(ctx, at, words);
        if (seen == sight::nothing && now.waiting == 0) return outcome::busy;
        if (may_take_open(at, now, seen, words, into)) return take_open(ctx, at, words, into, found);
        return look_further(ctx, at, now.waiting, seen, words, into, found);
    }
    /// Whether the message at the lane's place in the ring is its next, has come in words, and can be taken as the ring
    /// is open.
    [[nodiscard]] LANEWAY_FN bool may_take_open(const place& at, const shard_seen& now, sight seen,
                                                const seen_words& words, const message_buffer& into) const {
        if (seen != sight::wanted || now.next != (at.ticket | ring_progress::open) || now.drawn != now.taken)
            return false;
        const std::uint64_t bytes = words.words[0] & 0xffff'ffff;
        return words.label.in_words() && bytes <= into.bytes && (!view_.exact_length || bytes == into.bytes);
    }
    LANEWAY_FN outcome take_open(Ctx& ctx, place& at, const seen_words& words, const message_buffer& into,
                                 taken_message& found) const {
        std::uint64_t next = at.ticket | ring_progress::open;
        // Partner: ring_reader::close, and this of other lanes.
        if (!ctx.compare_exchange(&at.read->next, next, next + 1, order::relaxed, scope::device)) return outcome::busy;
        found.waited = found.held = false;
        found.ticket = at.ticket;
        if (!read(ctx, at, words, found.message)) return outcome::for_queues;  // the run is ending
        found.message.copy_words_to(into.data);
        give_slot_back(ctx, at, found);
        ctx.fetch_add(&view_.counters->completed, std::uint64_t{1}, Ctx::tagged_order, scope::device);
        return outcome::taken;
    }
    /// The same where the ring is closed, or something else is in the way.
    LANEWAY_SLOW outcome look_further(Ctx& ctx, place& at, std::uint64_t waiting, sight seen, seen_words words,
                                      const message_buffer& into, taken_message& found) const {
        const bool may_wait = waiting != 0 && waiting != at.looked_at;
        while (seen == sight::other && at.advance(ctx)) seen = see(ctx, at, words);
        if (seen == sight::too_long && !may_wait) return outcome::for_queues;
        if (seen != sight::wanted && !may_wait) return outcome::busy;
        if (at.stays_held_up(ctx, waiting)) return outcome::busy;
        const shard_lock<Ctx> lock(*at.state);
        if (!(at.tries++ == 0 ? lock.take_at_once(ctx) : lock.take(ctx))) return outcome::busy;
        const outcome got = take(ctx, at, seen == sight::wanted, words, into, found);
        if (got == outcome::taken) return got;
        if (at.was_open) ring_reader<Ctx>(view_, shard_).open(ctx, at.source);
        delivery_.fence(ctx, ctx.pe());
        lock.give_back(ctx, view_, 0);
        return got;
    }
    /// The first words of a message say what it is, and whose words they are. Of what is in a slot they say nothing:
    /// its header is for who has the shard.
    LANEWAY_FN sight see(Ctx& ctx, const place& at, seen_words& words) const {
        const std::uint64_t flag = at.in.peek(ctx, at.ticket);
        words.whole = at.in.peek_words(ctx, at.ticket, words.words);
        words.label = chunk_receiver::label_of(flag, at.ticket);
        if (words.label.bits == 0) return chunk_label::is_behind(flag, at.ticket) ? sight::other : sight::nothing;
        const auto form = static_cast<message_form>(words.label.kind() & ~synchronous_kind);
        if (form == message_form::in_slot) return sight::wanted;
        if (words.whole == 0) return sight::nothing;  // about to come, or of a later message
        const match_key key{static_cast<std::uint32_t>(at.source), static_cast<std::uint32_t>(words.words[0] >> 32)};
        if (!key_.accepts(key)) return sight::other;
        return form == message_form::in_place ? sight::too_long : sight::wanted;
    }

    /// Takes a message as a receive that is posted now would get it. The lane has the shard. A place in the queue
    /// `asked` that has been drawn counts as a receive, also before it is filled: it may be this lane's.
    LANEWAY_FN outcome take(Ctx& ctx, place& at, bool in_ring, const seen_words& words, const message_buffer& into,
                            taken_message& found) const {
        const shard_now now = close(ctx, at);
        if (now.drawn != now.taken) return hold_up(at, now);
        outcome seen = outcome::busy;
        if (now.waiting != 0) seen = take_waiting(ctx, at, into, found);
        at.looked_at = now.waiting;
        return seen == outcome::busy && in_ring ? take_from_ring(ctx, at, now, words, into, found) : seen;
    }
    /// It is no use to take the lock again before the shard has changed.
    static LANEWAY_FN outcome hold_up(place& at, const shard_now& now) {
        at.is_held_up = true;
        at.held_next = now.next;
        at.held_waiting = now.waiting;
        at.held_answered = now.taken;
        at.held_posted = now.posted;
        return outcome::busy;
    }
    /// Closes the ring, and reads what else decides. All loads are on their way at once; lengths of the engine's queues
    /// are told by words beside the lock.
    LANEWAY_FN shard_now close(Ctx& ctx, place& at) const {
        const shard_state& state = *at.state;
        shard_now now;
        now.drawn = ctx.load(&state.asked, order::relaxed, scope::device);
        now.taken = ctx.load(&state.answered, order::relaxed, scope::device);
        now.waiting = ctx.load(&state.waiting, order::relaxed, scope::device);
        now.posted = ctx.load(&state.posted, order::relaxed, scope::device);
        now.overtaken = at.read->overtaken;
        const std::uint64_t next = ring_reader<Ctx>(view_, shard_).close(ctx, at.source);
        now.next = ring_progress::ticket_of(next);
        at.was_open = now.next != next;
        return now;
    }
    /// A message that waits.
    LANEWAY_SLOW outcome take_waiting(Ctx& ctx, const place& at, const message_buffer& into,
                                      taken_message& found) const {
        const match_result seen = shard_.engine.probe(ctx, true, key_);
        if (seen.outcome != match_outcome::matched) return outcome::busy;
        const unexpected_message& kept = shard_.unexpected[seen.handle];
        if (kept.form == message_form::in_place || is_too_long(at, kept.form, kept.bytes)) return outcome::for_queues;
        (void)shard_.engine.post(ctx, true, key_, 0);
        found.waited = true;
        found.place = seen.handle;
        found.message = delivery_.kept(ctx, shard_, seen.handle);
        if (!delivery_.fits(ctx, found.message, into.bytes)) return outcome::for_queues;
        found.held = found.message.form == message_form::in_slot;
        if (found.held) return outcome::taken;
        found.message.copy_words_to(into.data);
        finish(ctx, found);
        return outcome::taken;
    }
    /// The message at the lane's place in the ring, if nobody has taken it meanwhile, and no receive waits for it.
    LANEWAY_FN outcome take_from_ring(Ctx& ctx, place& at, const shard_now& now, const seen_words& words,
                                      const message_buffer& into, taken_message& found) const {
        const ring_reader<Ctx> rings(view_, shard_);
        const bool gone =
            at.ticket < now.next || (now.overtaken != 0 && rings.taken_at(at.in, at.source, at.ticket) != 0);
        incoming_message& message = found.message;
        if (!gone && !read(ctx, at, words, message)) return outcome::for_queues;  // the run is ending
        if (gone || !key_.accepts(message.key)) {
            (void)at.advance(ctx);
            return outcome::busy;
        }
        if (now.posted != 0 && shard_.engine.is_awaited(message.key)) return hold_up(at, now);
        if (is_too_long(at, message.form, message.bytes)) return outcome::for_queues;
        if (!delivery_.fits(ctx, message, into.bytes)) return outcome::for_queues;
        found.waited = false;
        found.ticket = at.ticket;
        if (at.ticket != now.next) {
            rings.note_taken(ctx, at.source, at.ticket);
        } else {
            rings.go_on(ctx, at.in, at.source, now.next + 1);
            if (now.posted == 0 && now.waiting == 0) open(ctx, at.source);
        }
        found.held = message.form == message_form::in_slot;
        if (found.held) return outcome::taken;
        message.copy_words_to(into.data);
        finish(ctx, at, found);
        return outcome::taken;
    }
    [[nodiscard]] static LANEWAY_FN bool is_too_long(const place& at, message_form form, std::uint64_t bytes) {
        return form == message_form::in_slot && bytes > at.most;
    }
    /// What has come. Nobody else takes it now, so words that were seen without the lock are still those of the ticket.
    LANEWAY_FN bool read(Ctx& ctx, const place& at, const seen_words& seen, incoming_message& message) const {
        const bool is_all = seen.label.in_words() && seen.label.messages() <= seen.whole &&
                            seen.label.kind() == static_cast<std::uint32_t>(message_form::in_words);
        if (!is_all) {
            const chunk_label label = at.in.poll(ctx, at.ticket);
            return delivery_.read(ctx, at.in, at.ticket, label, at.source, message);
        }
        if constexpr (acquires_by_fence<Ctx>) ctx.fence(order::acquire, scope::system);
        come_behind(ctx, at.in.place(at.ticket));
        message.key = {static_cast<std::uint32_t>(at.source), static_cast<std::uint32_t>(seen.words[0] >> 32)};
        message.form = message_form::in_words;
        message.synchronous = false;
        message.bytes = seen.words[0] & 0xffff'ffff;
        message.words[0] = seen.words[1];
        return true;
    }
    /// Nothing waits: others may take the ring's next message without the lock, if none came before its turn. Before
    /// the shard is given back.
    LANEWAY_FN void open(Ctx& ctx, int source) const {
        if (shard_.read[source].overtaken != 0) return;
        ring_reader<Ctx>(view_, shard_).open(ctx, source);
        shard_.state->opened = 1;
    }

    /// Of a message that was in its ring, by who has the shard. What came in words frees its slot behind no fence.
    LANEWAY_FN void finish(Ctx& ctx, const place& at, const taken_message& found) const {
        delivery_.fence(ctx, found.held ? at.source : ctx.pe());
        give_slot_back(ctx, at, found);
        shard_lock<Ctx>(*at.state).give_back(ctx, view_, 1);
    }
    /// Counts the message, as a turn would have, and frees its slot.
    LANEWAY_FN void give_slot_back(Ctx& ctx, const place& at, const taken_message& found) const {
        answer(ctx, found.message);
        at.in.release_relaxed(ctx, lane_mask{1}, found.ticket);
        ctx.fetch_add(&at.state->met, std::uint64_t{1}, order::relaxed, scope::device);
    }
    LANEWAY_FN void answer(Ctx& ctx, const incoming_message& message) const {
        const int source = static_cast<int>(message.key.source);
        if (message.synchronous) request_pool<Ctx>::answer(ctx, view_, source, message.place);
    }

    const two_sided_ref& view_;
    ring_ends& ends_;
    std::uint32_t number_;
    const message_shard_ref& shard_;
    match_key key_;
    message_delivery<Ctx> delivery_;
};

}  // namespace laneway
