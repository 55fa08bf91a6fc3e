// Moving payloads between rings, places for unexpected messages and requests, by the warp that turns a shard.
#pragma once

#include "laneway/comm/two_sided/fetch_queue.hpp"

namespace laneway {

/// Members are for the whole warp, together, where they do not say something else.
template <class Ctx>
class message_delivery {
public:
    LANEWAY_FN explicit message_delivery(const two_sided_ref& view) : view_(view), fetches_(view) {}

    /// What a ring has brought. Each lane another; false when the run is ending.
    LANEWAY_SLOW bool read(Ctx& ctx, const chunk_receiver& in, std::uint64_t ticket, chunk_label label, int source,
                           incoming_message& message) const {
        come_behind(ctx, in.place(ticket));
        message.form = static_cast<message_form>(label.kind() & ~synchronous_kind);
        message.synchronous = (label.kind() & synchronous_kind) != 0;
        message.key.source = static_cast<std::uint32_t>(source);
        if (message.form == message_form::in_slot) {
            const auto& header = *reinterpret_cast<const slot_header*>(in.slot(ticket));
            message.key.tag = header.tag;
            message.bytes = header.bytes;
            message.payload = in.slot(ticket) + slot_header::bytes_used;
            if (message.synchronous) message.place = payload_place::of_sender(header.sender);
            if (message.bytes <= short_bytes) take_words(message);
            return true;
        }
        std::uint64_t words[max_pieces];
        if (!in.load_words(ctx, ticket, label.messages(), words)) return false;
        message.key.tag = static_cast<std::uint32_t>(words[0] >> 32);
        message.bytes = words[0] & 0xffff'ffff;
        if (message.form == message_form::in_place) {
            message.bytes = words[1];
            message.place = {words[3], static_cast<std::uint32_t>(words[2] >> 32), static_cast<std::uint32_t>(words[0]),
                             static_cast<std::uint32_t>(words[2])};
        } else {
            for (std::uint32_t i = 0; i < short_pieces; ++i) message.words[i] = words[1 + i];
            if (message.synchronous) message.place = payload_place::of_sender(words[max_pieces - 1]);
        }
        return true;
    }

    /// One of the `sharing` messages that share the slot of a chunk that has arrived. Any lane.
    LANEWAY_FN void read_one(Ctx& ctx, const chunk_receiver& in, std::uint64_t ticket, std::uint32_t number,
                             std::uint32_t sharing, int source, incoming_message& message) const {
        come_behind(ctx, in.place(ticket));
        const lane_message& one = reinterpret_cast<const lane_message*>(in.slot(ticket))[number];
        message.form = message_form::in_words;
        message.key = {static_cast<std::uint32_t>(source), one.tag};
        message.bytes = one.bytes;
        message.words[0] = one.word;
        message.number = number;
        message.sharing = sharing;
    }

    /// Memory for the payload of a message for which there is no receive yet; null where it needs none, or there is
    /// none. Any lanes, each another.
    LANEWAY_SLOW std::byte* allocate(Ctx& ctx, bool mine, const incoming_message& message) const {
        if (!mine || message.form != message_form::in_slot) return nullptr;
        return static_cast<std::byte*>(view_.payloads.allocate(ctx, message.bytes));
    }
    /// Keeps such a message. True where its payload has its slot still, as it has no memory: the ring then has one less
    /// for the sender, until the message is received.
    LANEWAY_SLOW bool keep(Ctx& ctx, const message_shard_ref& shard, bool mine, std::uint32_t place,
                           std::uint64_t ticket, const incoming_message& message, std::byte* to) const {
        const bool in_slot = mine && message.form == message_form::in_slot;
        const bool in_ring = in_slot && to == nullptr;
        if (mine) {
            unexpected_message& kept = shard.unexpected[place];
            kept.key = message.key;
            kept.form = message.form;
            kept.in_ring = in_ring ? 1 : 0;
            kept.synchronous = message.synchronous ? 1 : 0;
            kept.bytes = message.bytes;
            kept.place = message.place;
            for (std::uint32_t i = 0; i < short_pieces; ++i) kept.words[i] = message.words[i];
            kept.payload = in_ring ? const_cast<std::byte*>(message.payload) : to;
            kept.ticket = ticket;
            go_before(ctx, &kept);
        }
        copy_together(ctx, in_slot && !in_ring, to, message.payload, message.bytes);
        return in_ring;
    }
    /// That message. Each lane another.
    LANEWAY_FN incoming_message kept(Ctx& ctx, const message_shard_ref& shard, std::uint32_t place) const {
        const unexpected_message& kept = shard.unexpected[place];
        come_behind(ctx, &kept);
        incoming_message message;
        message.key = kept.key;
        message.form = kept.form;
        message.bytes = kept.bytes;
        message.place = kept.place;
        message.synchronous = kept.synchronous != 0;
        for (std::uint32_t i = 0; i < short_pieces; ++i) message.words[i] = kept.words[i];
        message.payload = kept.payload;
        return message;
    }
    /// It has been received: its payload's memory is free again. Each lane another; behind a barrier of the warp.
    LANEWAY_FN void drop(Ctx& ctx, const message_shard_ref& shard, bool mine, std::uint32_t place) const {
        reconverging(ctx, [&] { free_payload(ctx, shard, mine, place); });
    }

    /// Gives a message to the receive that it was matched with. One that is too long for it ends the run.
    LANEWAY_FN void give(Ctx& ctx, bool mine, std::uint32_t number, const incoming_message& message) const {
        if (fill(ctx, mine, number, message)) complete(ctx, number, request_word::done);
        ctx.sync(full_warp<Ctx>);
    }
    /// The same, but for saying that it is done: true where that is due. Who waits for a synchronous send is told.
    LANEWAY_SLOW bool fill(Ctx& ctx, bool mine, std::uint32_t number, const incoming_message& message) const {
        bool goes_in = mine;
        request_slot* const slot = mine ? view_.requests + number : nullptr;
        if (mine) {
            goes_in = fits(ctx, message, slot->bytes);
            slot->source = message.key.source;
            slot->tag = message.key.tag;
            slot->length = message.bytes;
            slot->form = message.form;
            slot->place = message.place;
            if (message.form == message_form::in_words) {
                for (std::uint32_t i = 0; i < short_pieces; ++i) {
                    if (8 * i < message.bytes) slot->pieces[i] = message.words[i];
                }
            }
        }
        copy_together(ctx, goes_in && message.form == message_form::in_slot, goes_in ? slot->data : nullptr,
                      message.payload, message.bytes);
        if (goes_in && message.form == message_form::in_place) {
            go_before(ctx, slot);
            fetches_.begin(ctx, number);
        }
        if (mine && message.synchronous) {
            request_pool<Ctx>::answer(ctx, view_, static_cast<int>(message.key.source), message.place);
        }
        ctx.sync(full_warp<Ctx>);
        return goes_in && message.form != message_form::in_place;
    }

    /// Whether a message may go into so much room. One that may not ends the run. Each lane another.
    [[nodiscard]] LANEWAY_FN bool fits(Ctx& ctx, const incoming_message& message, std::uint64_t room) const {
        const int source = static_cast<int>(message.key.source);
        if (message.bytes > room) {
            (void)fail(ctx, status::truncated, operation::receive, source, message.bytes, room);
            return false;
        }
        if (view_.exact_length && message.bytes != room) {
            (void)fail(ctx, status::wrong_length, operation::receive, source, message.bytes, room);
            return false;
        }
        return true;
    }

    /// Says what came of a request. One lane, behind a barrier of the warp.
    /// `o`: Ctx::tagged_order behind a fence of the lane's.
    LANEWAY_FN void complete(Ctx& ctx, std::uint32_t number, std::uint32_t state, order o = order::release) const {
        std::uint64_t* const word = &view_.requests[number].word;
        go_before(ctx, view_.requests + number);
        const request_word now{ctx.load(word, order::relaxed, scope::device)};
        // Partner: the acquire load in request_pool::look.
        ctx.store(word, request_word::of(now.generation(), state), o, scope::device);
    }

    /// What this lane has done, and knows of others, comes before words of a PE that it stores with tagged_order, where
    /// that orders nothing.
    LANEWAY_FN void fence(Ctx& ctx, int pe) const {
        if constexpr (Ctx::tagged_order != order::release) {
            if (pe == ctx.pe()) {
                ctx.fence(order::release, scope::device);
            } else {
                ctx.fence(order::release, scope::system);
            }
        }
    }

    /// Sends a message whose slot has become free, from what its request says of it.
    LANEWAY_SLOW void send(Ctx& ctx, const message_shard_ref& shard, bool mine, std::uint32_t number) const {
        const request_slot* const slot = view_.requests + number;
        const bool in_slot = mine && slot->form == message_form::in_slot;
        std::byte* to = nullptr;
        if (in_slot) to = shard.to[slot->key.source].slot(slot->ticket) + slot_header::bytes_used;
        copy_together(ctx, in_slot, to, in_slot ? slot->data : nullptr, in_slot ? slot->bytes : 0);
        // Once a message that is answered can be seen, its request may be answered, waited for and used again.
        const bool is_over = mine && slot->answered == 0;
        if (mine) {
            const chunk_sender& out = shard.to[slot->key.source];
            // What the sending lane has fenced comes before words that this one stores, without an order of their own.
            ctx.fence(order::release, scope::system);
            const std::uint32_t kind = kind_of(slot->form, slot->answered != 0);
            if (in_slot) {
                publish_slot(ctx, out, slot->ticket,
                             {slot->key.tag, static_cast<std::uint32_t>(slot->bytes), slot->pieces[0]}, kind);
            } else {
                out.publish_in_words(ctx, lane_mask{1} << ctx.lane(), slot->ticket, slot->pieces, slot->n_pieces, kind,
                                     0);
            }
            if (is_over) complete(ctx, number, request_word::done);
        }
        ctx.sync(full_warp<Ctx>);
    }

    /// Publishes a slot whose payload has been stored. One lane.
    static LANEWAY_FN void publish_slot(Ctx& ctx, const chunk_sender& out, std::uint64_t ticket,
                                        const slot_header& header, std::uint32_t kind) {
        *reinterpret_cast<slot_header*>(out.slot(ticket)) = header;
        out.publish(ctx, lane_mask{1} << ctx.lane(), ticket, 1, kind);
    }
    /// Of a message's chunk; long ones are answered in any case.
    static LANEWAY_FN std::uint32_t kind_of(message_form form, bool answered) {
        const bool tells = answered && form != message_form::in_place;
        return static_cast<std::uint32_t>(form) | (tells ? synchronous_kind : 0);
    }

private:
    LANEWAY_SLOW void free_payload(Ctx& ctx, const message_shard_ref& shard, bool mine, std::uint32_t place) const {
        if (mine) {
            const unexpected_message& kept = shard.unexpected[place];
            if (kept.in_ring != 0) {
                shard.from[kept.key.source].release(ctx, lane_mask{1} << ctx.lane(), kept.ticket);
            } else if (kept.form == message_form::in_slot) {
                view_.payloads.deallocate(ctx, kept.payload);
            }
        }
        ctx.sync(full_warp<Ctx>);
    }
    /// What came in a slot and is short goes on as if it had come in words: a receive may be into a lane's own memory.
    static LANEWAY_FN void take_words(incoming_message& message) {
        message.form = message_form::in_words;
        payload_words::load(message.words, message.payload, message.bytes);
    }

    /// Copies what each lane names, one after the other, by all lanes; on return the lanes see it.
    static LANEWAY_SLOW void copy_together(Ctx& ctx, bool mine, std::byte* to, const std::byte* from,
                                           std::uint64_t bytes) {
        const copy_share share{static_cast<std::uint64_t>(ctx.lane()), static_cast<std::uint64_t>(Ctx::warp_lanes)};
        for (lane_mask rest = ctx.ballot(full_warp<Ctx>, mine); rest != 0; rest &= rest - 1) {
            const int whose = Ctx::first_lane(rest);
            const auto target = ctx.shuffle(full_warp<Ctx>, reinterpret_cast<std::uint64_t>(to), whose);
            const auto source = ctx.shuffle(full_warp<Ctx>, reinterpret_cast<std::uint64_t>(from), whose);
            copy_bytes(reinterpret_cast<std::byte*>(target), reinterpret_cast<const std::byte*>(source),
                       ctx.shuffle(full_warp<Ctx>, bytes, whose), share);
        }
        ctx.sync(full_warp<Ctx>);
    }

    const two_sided_ref& view_;
    fetch_queue<Ctx> fetches_;
};

}  // namespace laneway
