// How lanes send: a ticket, and if its slot is free the message at once; else a request that waits for room.
#pragma once

#include "laneway/comm/two_sided/message_waiting.hpp"
#include "laneway/comm/two_sided/ring_ends.hpp"
#include "laneway/comm/variable_message.hpp"
#include "laneway/comm/width.hpp"

namespace laneway {

/// A payload, or room for one.
struct message_buffer {
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    symmetric_ptr<std::byte> place{};  ///< the same, where that is known to be symmetric memory
    bool exists = true;                ///< else the call is refused
};

/// Where it lies and how long it is are looked up at once.
template <class T>
LANEWAY_FN message_buffer buffer_of(const pe_environment& env, symmetric_ptr<T> first, std::uint64_t count) {
    const symmetric_ptr<std::byte> place{first.segment, first.index * sizeof(T)};
    return {address(env, place), bytes_of<T>(count), place, exists(env, first, count)};
}
template <class T>
LANEWAY_FN message_buffer buffer_of(const pe_environment&, T* first, std::uint64_t count) {
    static_assert(trivially_copyable<std::remove_const_t<T>>);
    return {reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(first)), bytes_of<T>(count)};
}
/// What symmetric_ref::local gives on checked devices.
template <class Pointer>
requires requires(const Pointer& pointer) { pointer.element(); }
LANEWAY_FN message_buffer buffer_of(const pe_environment& env, const Pointer& first, std::uint64_t count) {
    return buffer_of(env, first.element(), count);
}

/// Whether other lanes of the PE reach memory as this one does.
template <class Ctx>
LANEWAY_FN bool all_lanes_reach([[maybe_unused]] const Ctx& ctx, [[maybe_unused]] const void* memory) {
    if constexpr (requires { Ctx::is_global(memory); }) return Ctx::is_global(memory);
    return true;
}

/// Whom a message goes to, and how.
struct message_target {
    std::int64_t rank = 0;
    std::int64_t tag = 0;
    bool synchronous = false;  ///< the send is over when the message has been matched
};

/// A ticket that a lane has drawn, of the ring to the destination, while its slot was not free.
struct drawn_ticket {
    std::uint64_t ticket = 0;
    bool drawn = false;
};

template <class Ctx, class Out>
class message_sender {
public:
    LANEWAY_FN message_sender(const two_sided_ref& view, ring_ends& ends, request_pool<Ctx>& pool,
                              message_waiting<Ctx, Out>& waiting)
        : view_(view), ends_(ends), pool_(pool), waiting_(waiting) {}

    /// Sends a message of a lane that has come alone, if it is an ordinary short one for a ring that the block knows
    /// and its slot is free: by little code and few ways to memory, as this is what lanes wait for that pass messages
    /// back and forth. False where it is for `start`, perhaps with a ticket.
    LANEWAY_FN bool send_alone(Ctx& ctx, const message_buffer& buffer, const message_target& to, drawn_ticket& drawn) {
        const bool is_ordinary = to.rank >= 0 && to.rank < ends_.environment.n_pes && to.rank < ring_ends::max_pes &&
                                 to.tag >= 0 && to.tag <= std::int64_t{max_message_tag} && !to.synchronous &&
                                 buffer.exists && buffer.bytes <= short_bytes;
        if (!is_ordinary || view_.n_shards != 1 || view_.rules.is_unordered() || !comes_alone(ctx)) return false;
        const match_key key{static_cast<std::uint32_t>(to.rank), static_cast<std::uint32_t>(to.tag)};
        drawn = send_words(ctx, buffer.data, static_cast<std::uint32_t>(buffer.bytes), key);
        return !drawn.drawn;
    }

    /// Sends a message of this lane, or of the whole warp, together. Waits only where neither the message's slot nor a
    /// request is free; `waits`: as long as it takes, as the lane is to wait anyway. `sent` of the lane, or of lane 0:
    /// a request, which is over at once where the payload may be used again. Errors end the run. `drawn`: by
    /// send_alone.
    LANEWAY_SLOW status start(Ctx& ctx, width lanes, const message_buffer& buffer, const message_target& to, bool waits,
                              message_request& sent, const drawn_ticket& drawn = {}) {
        const bool leads = lanes == width::lane || ctx.lane() == 0;
        if (to.rank == std::int64_t{proc_null}) {
            sent = message_request::finished();
            return leads ? check_tag(ctx, operation::send, -1, to.tag) : status::ok;
        }
        message m;
        m.ticket = drawn.ticket;
        m.drawn = drawn.drawn;
        status result = status::ok;
        std::byte* slot = nullptr;
        if (leads) {
            result = check(ctx, buffer, to);
            if (result == status::ok) result = begin(ctx, buffer, to, waits, m);
            if (m.free && m.form == message_form::in_slot) slot = m.out->slot(m.ticket) + slot_header::bytes_used;
        }
        copy_share share{};
        if (lanes != width::lane) {
            slot = reinterpret_cast<std::byte*>(ctx.shuffle(full_warp<Ctx>, reinterpret_cast<std::uint64_t>(slot), 0));
            share = {static_cast<std::uint64_t>(ctx.lane()), static_cast<std::uint64_t>(Ctx::warp_lanes)};
            ctx.sync(full_warp<Ctx>);  // the other lanes write behind what lane 0 has acquired
        }
        if (slot != nullptr) copy_bytes(slot, buffer.data, buffer.bytes, share);
        if (lanes != width::lane) ctx.sync(full_warp<Ctx>);
        if (leads && result == status::ok) sent = m.joint.sent ? message_request::finished() : finish(ctx, buffer, m);
        return result;
    }

    /// Ends the run for a tag that no message has. Any lane.
    static LANEWAY_FN status check_tag(Ctx& ctx, operation what, int peer, std::int64_t tag) {
        if (tag >= 0 && tag <= std::int64_t{max_message_tag}) return status::ok;
        return fail(ctx, status::bad_tag, what, peer, static_cast<std::uint64_t>(tag), max_message_tag);
    }
    /// A place of the pool for a message. Others become free as lanes wait for theirs: `waits` for that as long as it
    /// takes, else some time, and then ends the run. Any lane.
    LANEWAY_FN status claim(Ctx& ctx, const wait_site& site, bool waits, std::uint32_t& number) {
        return claim_or(ctx, site, waits, number, [] { return false; });
    }

private:
    static constexpr int max_tries = 64;
    /// At a slot, of lanes that send together. On GPUs a millisecond or so, in which a full ring is read; and as many
    /// as a wait can have.
    static constexpr int looks_together = Ctx::warp_lanes >= 32 ? 1024 : 8, max_looks = 0x7fff'ffff;

    /// The same, unless something else makes it needless.
    template <class Needless>
    LANEWAY_FN status claim_or(Ctx& ctx, const wait_site& site, bool waits, std::uint32_t& number,
                               const Needless& needless) {
        bool over = false;
        int tries = 0;
        const status waited = waiting_.wait(ctx, site, [&] {
            over = needless();
            if (!over) number = pool_.claim(ctx);
            return over || number != no_request || (!waits && ++tries > max_tries);
        });
        if (waited != status::ok || over || number != no_request) return waited;
        return fail(ctx, status::no_room, site.what, site.peer, view_.n_requests, view_.n_requests);
    }

    static constexpr std::uint32_t no_request = request_pool<Ctx>::none;

    /// Where a message stands whose lane has come with others.
    struct joint_ticket {
        std::uint64_t ticket = 0;
        bool drawn = false;  ///< it is the lane's own
        bool sent = false;
    };
    /// A message that has its place among those to its destination.
    struct message {
        message_form form = message_form::in_words;
        bool answered = false;  ///< the receiver tells when it has been matched, or fetched
        match_key key;          ///< destination and tag
        const chunk_sender* out = nullptr;
        std::uint32_t shard = 0;
        std::uint32_t request = no_request;
        std::uint64_t ticket = 0;
        bool drawn = false;  ///< the ticket
        bool free = false;   ///< its slot
        joint_ticket joint;  ///< where lanes have tried to send together
    };

    LANEWAY_FN status check(Ctx& ctx, const message_buffer& buffer, const message_target& target) const {
        if (target.rank < 0 || target.rank >= ctx.n_pes()) {
            return fail(ctx, status::bad_pe, operation::send, static_cast<int>(target.rank));
        }
        const int to = static_cast<int>(target.rank);
        if (const status wrong = check_tag(ctx, operation::send, to, target.tag); wrong != status::ok) return wrong;
        const auto out_of_reach = [&] {
            return fail(ctx, status::bad_range, operation::send, to, static_cast<std::uint64_t>(target.tag));
        };
        const bool of_host = buffer.place.segment == host_visible_segment;
        const bool is_symmetric = !of_host && buffer.place.segment != unnamed_segment;
        if (!buffer.exists) {
            return refuse_address(ctx, operation::send, to, buffer.place);
        }
        const message_form form = form_of(buffer.bytes, target.synchronous);
        if (form == message_form::in_slot && !of_host && !all_lanes_reach(ctx, buffer.data)) return out_of_reach();
        if (form != message_form::in_place && !target.synchronous) return status::ok;
        // The receiver stores an answer: PEs reach each other's symmetric memory, or do not.
        const bool reach = static_cast<bool>(remote_address(ctx, view_.answers[0], to));
        const bool fetched = (is_symmetric || of_host) && reach;
        if (form == message_form::in_place && !fetched) {
            return fail(ctx, status::too_long, operation::send, to, buffer.bytes, view_.slot_payload);
        }
        return reach ? status::ok : out_of_reach();
    }
    [[nodiscard]] LANEWAY_FN message_form form_of(std::uint64_t bytes, bool synchronous) const {
        return bytes <= (synchronous ? short_synchronous_bytes : short_bytes) ? message_form::in_words
               : bytes <= view_.slot_payload                                  ? message_form::in_slot
                                                                              : message_form::in_place;
    }

    /// Draws the message's ticket. Lanes that come together with messages for one ring draw theirs with one add.
    LANEWAY_FN status begin(Ctx& ctx, const message_buffer& buffer, const message_target& to, bool waits, message& m) {
        m.key = {static_cast<std::uint32_t>(to.rank), static_cast<std::uint32_t>(to.tag)};
        m.form = form_of(buffer.bytes, to.synchronous);
        m.answered = to.synchronous || m.form == message_form::in_place;
        m.shard = view_.shard_number({static_cast<std::uint32_t>(ctx.pe()), m.key.tag});
        m.out = ends_.sender(view_, m.shard, static_cast<int>(to.rank));
        const wait_site site{operation::send, static_cast<int>(to.rank), m.key.tag, view_.number};
        if (m.answered) {
            const status claimed = claim(ctx, site, waits, m.request);
            if (claimed != status::ok) return claimed;
        }
        if (shares_slots(buffer, m)) {
            m.joint = send_together(ctx, buffer.data, static_cast<std::uint32_t>(buffer.bytes), m.key, *m.out, waits);
            if (m.joint.sent) return status::ok;
        }
        draw(ctx, m);
        if (m.free || m.request != no_request) return status::ok;
        return claim_or(ctx, site, waits, m.request, [&] {
            m.free = is_free(ctx, m);
            return m.free;
        });
    }
    /// Whether other lanes may put theirs into the message's slot: a slot's messages have no order.
    [[nodiscard]] LANEWAY_FN bool shares_slots(const message_buffer& buffer, const message& m) const {
        return view_.rules.is_unordered() && !m.answered && buffer.bytes <= lane_message::max_bytes;
    }
    /// Lanes that come together with messages for one ring draw one ticket for as many as a slot holds, and send them
    /// when the slot is free: where many send at once, slots are as full as they can be. If all are in calls that block
    /// they wait for that as long as it takes, as each would for a slot of its own; else a little. Where it is not,
    /// each has to have a ticket of its own, and this one is the lowest lane's. A function of its own: what it takes of
    /// registers the way of a lone message would pay for.
    LANEWAY_SLOW joint_ticket send_together(Ctx& ctx, const std::byte* data, std::uint32_t bytes, match_key key,
                                            const chunk_sender& out, bool waits) {
        const std::uint64_t word = payload_words::word_of(data, bytes);
        // A key for each part of a warp: rings lie further apart than there are such parts.
        const auto part = static_cast<std::uint32_t>(ctx.lane()) / lane_message::max_in(out);
        const lane_mask mask = mates(ctx, ctx.converged(), reinterpret_cast<const std::byte*>(&out) + part);
        const auto lanes = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
        if (lanes == 1) return {};
        const std::uint64_t ticket = once(ctx, mask, [&] { return out.draw(ctx); });
        const auto is_free = [&] { return out.is_free(ctx, ticket); };
        bool free = once(ctx, mask, [&] { return std::uint32_t{is_free()}; }) != 0;
        const wait_site site{operation::send, static_cast<int>(key.source), key.tag, view_.number};
        // Some may be in a call that blocks, and others not.
        const int looks = ctx.ballot(mask, !waits) == 0 ? max_looks : looks_together;
        if (!free) free = waiting_.wait_some(ctx, mask, site, looks, is_free);
        if (!free) return {ticket, elected(ctx, mask), false};
        ctx.sync(mask);  // all store behind what the lowest has acquired
        reinterpret_cast<lane_message*>(out.slot(ticket))[rank_in(ctx, mask)] = {key.tag, bytes, word};
        const void* const place = out.place(ticket);
        tell_history(ctx, [place](auto& history) { history.carry(place); });
        out.publish(ctx, mask, ticket, lanes, static_cast<std::uint32_t>(message_form::together));
        return {ticket, true, true};
    }
    /// The message counts as created work from now on, see communicator_ref::add_created.
    LANEWAY_FN void draw(Ctx& ctx, message& m) {
        if (m.joint.drawn) {
            m.ticket = m.joint.ticket;
            return;
        }
        if (!m.drawn) {
            const lane_mask same = mates(ctx, ctx.converged(), m.out);
            const auto lanes = static_cast<std::uint64_t>(Ctx::count_lanes(same));
            const std::uint64_t first = once(ctx, same, [&] { return m.out->draw(ctx, lanes); });
            m.ticket = first + static_cast<std::uint64_t>(rank_in(ctx, same));
        }
        m.free = is_free(ctx, m);
    }
    /// A short message of a lane alone. The lanes of the block leave in its shared memory which ticket is next, and the
    /// slot of that one is looked at while the ticket is on its way, as is the payload. Where the slot is not free the
    /// ticket is left.
    LANEWAY_SLOW drawn_ticket send_words(Ctx& ctx, const std::byte* data, std::uint32_t bytes, match_key key) {
        const chunk_sender out = ends_.to[key.source];
        std::uint64_t* const next = ends_.tickets + key.source;
        const message_pieces pieces = message_pieces::of_short(key.tag, data, bytes);
        bool free = false;
        const std::uint64_t ticket = out.draw(ctx, ctx.load(next, order::relaxed, scope::block), free);
        ctx.store(next, ticket + 1, order::relaxed, scope::block);
        if (!free) return {ticket, true};
        const void* const place = out.place(ticket);
        tell_history(ctx, [place](auto& history) { history.carry(place); });
        for (std::uint32_t i = 0; i < max_pieces && i < pieces.count; ++i) {
            out.store_words(ctx, ticket, i, pieces.words[i]);
        }
        const auto kind = static_cast<std::uint32_t>(message_form::in_words);
        out.raise_flag(ctx, ticket, chunk_label::of(pieces.count, kind, true), 0);
        return {};
    }
    LANEWAY_FN bool is_free(Ctx& ctx, const message& m) const {
        if (m.form == message_form::in_slot) return m.out->is_free(ctx, m.ticket);
        return m.out->is_free(ctx, m.ticket, tagged_load_order<Ctx>);
    }

    LANEWAY_FN message_request finish(Ctx& ctx, const message_buffer& buffer, const message& m) {
        tell_order(ctx, m);
        if (m.form == message_form::in_place)
            ctx.fence(order::release, scope::system);  // words are stored without an order
        const std::uint32_t number = m.request;
        message_request handle = message_request::finished();
        if (number != no_request) handle = pool_.handle(ctx, number);
        const payload_place place{buffer.place.index, buffer.place.segment, number, handle.generation()};
        const message_pieces pieces = pieces_of(buffer, m, place);
        if (number != no_request) fill(view_.requests[number], buffer, m, pieces);
        const std::uint32_t kind = message_delivery<Ctx>::kind_of(m.form, m.answered);
        if (m.free && m.form == message_form::in_slot) {
            message_delivery<Ctx>::publish_slot(
                ctx, *m.out, m.ticket, {m.key.tag, static_cast<std::uint32_t>(buffer.bytes), pieces.words[0]}, kind);
        } else if (m.free) {
            m.out->publish_in_words(ctx, lane_mask{1} << ctx.lane(), m.ticket, pieces.words, pieces.count, kind, 0);
        } else {
            const number_queue_ref& asked = view_.shards[m.shard].asked;
            asked.put(ctx, asked.draw(ctx), number);
        }
        return handle;
    }

    /// What travels in words; of what travels in a slot, whom the receiver tells.
    static LANEWAY_FN message_pieces pieces_of(const message_buffer& buffer, const message& m,
                                               const payload_place& place) {
        const auto bytes = static_cast<std::uint32_t>(buffer.bytes);
        if (m.form == message_form::in_place) return message_pieces::of_place(m.key.tag, buffer.bytes, place);
        if (m.form == message_form::in_words && m.answered)
            return message_pieces::of_short(m.key.tag, buffer.data, bytes, place);
        if (m.form == message_form::in_words) return message_pieces::of_short(m.key.tag, buffer.data, bytes);
        message_pieces made;
        made.words[0] = place.sender();
        return made;
    }

    LANEWAY_FN void fill(request_slot& slot, const message_buffer& buffer, const message& m,
                         const message_pieces& pieces) const {
        slot.kind = request_kind::send;
        slot.waited = 0;
        slot.key = m.key;
        slot.bytes = buffer.bytes;
        slot.data = buffer.data;
        slot.form = m.form;
        slot.shard = m.shard;
        slot.ticket = m.ticket;
        slot.n_pieces = pieces.count;
        slot.answered = m.answered ? 1 : 0;
        for (std::uint32_t i = 0; i < max_pieces; ++i) slot.pieces[i] = pieces.words[i];
    }

    /// A message in words brings what its lane has fenced, others all that the lane has done.
    LANEWAY_FN void tell_order(Ctx& ctx, const message& m) const {
        const void* const place = m.out->place(m.ticket);
        if (m.form != message_form::in_words) tell_history(ctx, [](auto& history) { history.fence(); });
        tell_history(ctx, [place](auto& history) { history.carry(place); });
    }

    const two_sided_ref& view_;
    ring_ends& ends_;
    request_pool<Ctx>& pool_;
    message_waiting<Ctx, Out>& waiting_;
};

}  // namespace laneway
