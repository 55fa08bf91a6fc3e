// Calls of lanes and warps that ask something of shards: starting receives, probing, taking back.
#pragma once

#include "laneway/comm/two_sided/direct_receive.hpp"
#include "laneway/comm/two_sided/request_waits.hpp"
#include "laneway/comm/two_sided/unordered_post.hpp"

namespace laneway {

/// Members end the run where they fail. Where they take a width it is lane or warp; in a warp lane 0 does it, the
/// others help, and only lane 0 gets the result.
template <class Ctx, class Out>
class message_calls : public request_waits<Ctx, Out> {
public:
    /// `turns`: as of message_waiting.
    LANEWAY_FN message_calls(const two_sided_ref& view, ring_ends& ends, Out& out, const message_turns& turns)
        : request_waits<Ctx, Out>(view, out, turns), ends_(ends), sender_(view, ends, pool_, waiting_) {}
    // Its parts refer to each other. On GPUs what can be copied is returned from a function as a copy of its bytes,
    // also where C++ says that it is made in place; what cannot is made there.
    message_calls(const message_calls&) = delete;
    message_calls& operator=(const message_calls&) = delete;

    [[nodiscard]] LANEWAY_FN message_sender<Ctx, Out>& sender() { return sender_; }

    /// Posts a receive. `waits` for a request as message_sender::claim. One lane.
    LANEWAY_SLOW status receive(Ctx& ctx, const message_buffer& buffer, std::int64_t source, std::int64_t tag,
                                bool waits, message_request& begun) {
        match_key key;
        if (const status wrong = check(ctx, operation::receive, source, tag, key); wrong != status::ok) return wrong;
        if (key.source == proc_null) {
            begun = message_request::from_nobody();
            return status::ok;
        }
        if (const status bad = check_room(ctx, buffer, key); bad != status::ok) return bad;
        std::uint32_t number = 0;
        const wait_site site{operation::receive, peer_of(key.source), key.tag, view_.number};
        const status claimed = sender_.claim(ctx, site, waits, number);
        if (claimed == status::ok) begun = ask(ctx, number, {request_kind::receive, key, &buffer});
        return claimed;
    }

    /// For who would wait for a receive: takes the message at once, or as it comes soon, where no earlier receive can
    /// get it. False where the receive is to be posted; else `result` is its end, of a warp that of lane 0.
    LANEWAY_FN bool receive_at_once(Ctx& ctx, width lanes, const message_buffer& buffer, std::int64_t source,
                                    std::int64_t tag, message_status& got, status& result) {
        if (!direct_receive<Ctx>::suits(view_)) return false;
        // Lanes that come together are better served by a turn for all of them.
        if (lanes == width::lane && !comes_alone(ctx)) return false;
        const bool leads = lanes == width::lane || ctx.lane() == 0;
        taken_message found;
        match_key key;
        bool taken = false, over = false;
        if (leads) {
            over = !is_ordinary(buffer, source, tag, key) && !may_receive(ctx, buffer, source, tag, key, result);
            taken = !over && key.source != proc_null && find_at_once(ctx, lanes, key, buffer, found);
            over = over || taken;
        }
        if (lanes != width::lane) over = ctx.ballot(full_warp<Ctx>, over) != 0;
        if (!over) return false;
        copy_taken(ctx, lanes, taken && found.held, buffer, found.message);
        if (!taken) return true;
        if (found.held) {
            as_lone_lane(ctx,
                         [&]<class Alone>(Alone& one) { direct_receive<Alone>(view_, ends_, key).finish(one, found); });
        }
        got = {found.message.key.source, found.message.key.tag, found.message.bytes, false};
        if (found.ends) result = status::stopped;
        return true;
    }

    /// Looks for a message among those that have come. One lane; does not wait for any.
    LANEWAY_SLOW status look_for(Ctx& ctx, const match_key& key, bool& found, message_status& what) {
        if (key.source == proc_null) {
            found = true;
            what = nothing_received();
            return status::ok;
        }
        message_request asked;
        waiting_.wait_for_shard(view_.shard_number(key));
        const wait_site site{operation::probe, peer_of(key.source), key.tag, view_.number};
        status waited = wait_for_look(ctx, site, [&] { return begin_probe(ctx, key, asked); });
        if (waited != status::ok) return waited;
        waited = waiting_.wait(ctx, site, [&] { return pool_.look(ctx, asked).is_over(); });
        if (waited != status::ok) return waited;
        found = pool_.look(ctx, asked).state() == request_word::done;
        message_status answer;
        const status taken = take(ctx, asked, answer);
        if (found) what = answer;
        return taken;
    }
    /// Waits for one.
    LANEWAY_SLOW status probe(Ctx& ctx, const match_key& key, message_status& what) {
        if (key.source == proc_null) {
            what = nothing_received();
            return status::ok;
        }
        const message_shard_ref& shard = view_.shard_of(key);
        const wait_site site{operation::probe, peer_of(key.source), key.tag, view_.number};
        for (;;) {
            const std::uint64_t arrived = ctx.load(&shard.state->arrived, order::relaxed, scope::device);
            bool found = false;
            status result = look_for(ctx, key, found, what);
            if (result != status::ok || found) return result;
            unsigned looks = 0;  // where messages wait in rings, as no more may come in, they do not count as arrived
            result = waiting_.wait(ctx, site, [&] {
                return ctx.load(&shard.state->arrived, order::relaxed, scope::device) != arrived || ++looks > 64;
            });
            if (result != status::ok) return result;
        }
    }

    /// Takes a message that waits out of the queues, if there is one that a receive would get. One lane.
    LANEWAY_SLOW status match(Ctx& ctx, const match_key& key, message_request& message, message_status& what) {
        message = {};
        if (key.source == proc_null) {
            message = message_request::from_nobody();
            what = nothing_received();
            return status::ok;
        }
        const wait_site site{operation::probe, peer_of(key.source), key.tag, view_.number};
        std::uint32_t number = 0;
        const status claimed = sender_.claim(ctx, site, false, number);
        if (claimed != status::ok) return claimed;
        const message_request asked = ask_for_match(ctx, key, any_length, number);
        const status waited = waiting_.wait(ctx, site, [&] { return pool_.look(ctx, asked).is_over(); });
        if (waited != status::ok) return waited;
        if (pool_.look(ctx, asked).state() == request_word::nothing) return take(ctx, asked, what);
        what = matched(ctx, asked);
        message = asked;
        return status::ok;
    }
    /// Waits for one.
    LANEWAY_SLOW status wait_for_match(Ctx& ctx, const match_key& key, message_request& message, message_status& what) {
        bounded_spin spin;
        for (;;) {  // another lane may take what the probe has found
            status result = probe(ctx, key, what);
            if (result == status::ok) result = match(ctx, key, message, what);
            if (result != status::ok || !message.is_null()) return result;
            result = spin.next(ctx, {operation::probe, peer_of(key.source), key.tag, view_.number});
            if (result != status::ok) return result;
        }
    }
    /// Receives it: the message's request becomes that of the receive. One lane.
    LANEWAY_SLOW status receive_match(Ctx& ctx, const message_buffer& buffer, const message_request& message) {
        if (message.is_from_nobody()) return status::ok;
        request_slot* const slot = pool_.find(ctx, message);
        if (slot == nullptr || slot->kind != request_kind::match) return refuse(ctx, message);
        const match_key key{slot->source, slot->tag};
        if (const status bad = check_room(ctx, buffer, key); bad != status::ok) return bad;
        slot->kind = request_kind::matched_receive;
        slot->key = key;
        slot->data = buffer.data;
        slot->bytes = buffer.bytes;
        ctx.store(&slot->word, request_word::of(message.generation(), request_word::open), order::relaxed,
                  scope::device);
        const number_queue_ref& asked = view_.shard_of(key).asked;
        go_before(ctx, &slot->data);
        asked.put(ctx, asked.draw(ctx), message.number());
        return status::ok;
    }

    /// Takes a receive back. One lane.
    LANEWAY_SLOW status cancel(Ctx& ctx, const message_request& request) {
        if (request.is_from_nobody()) return status::ok;
        request_slot* const slot = pool_.find(ctx, request);
        if (slot == nullptr || slot->kind != request_kind::receive) return refuse(ctx, request);
        message_request asked;
        const wait_site site = site_of(request);
        status waited = wait_for_look(ctx, site, [&] { return begin_cancel(ctx, request, asked); });
        if (waited != status::ok) return waited;
        waited = waiting_.wait(ctx, site, [&] { return pool_.look(ctx, asked).is_over(); });
        if (waited != status::ok) return waited;
        message_status nothing;
        return take(ctx, asked, nothing);
    }

    /// Puts a probe, or a cancel of a receive, into its shard's queue, if there is a place for it. One lane; does not
    /// wait.
    LANEWAY_FN bool begin_probe(Ctx& ctx, const match_key& key, message_request& asked) {
        const std::uint32_t number = pool_.claim_for_look(ctx);
        if (number != request_pool<Ctx>::none) asked = ask(ctx, number, {request_kind::probe, key});
        return number != request_pool<Ctx>::none;
    }
    /// The same of a matched probe, which takes the place of a receive, for messages of so many bytes at most.
    LANEWAY_FN bool begin_match(Ctx& ctx, const match_key& key, std::uint64_t bytes, message_request& asked) {
        const std::uint32_t number = pool_.claim(ctx);
        if (number != request_pool<Ctx>::none) asked = ask_for_match(ctx, key, bytes, number);
        return number != request_pool<Ctx>::none;
    }
    LANEWAY_FN bool begin_cancel(Ctx& ctx, const message_request& request, message_request& asked) {
        const std::uint32_t number = pool_.claim_for_look(ctx);
        if (number == request_pool<Ctx>::none) return false;
        const match_key key = view_.requests[request.number()].key;
        asked = ask(ctx, number, {request_kind::cancel, key, nullptr, &request});
        return true;
    }

    /// Whether a receive may be into this buffer. Any lane.
    LANEWAY_FN status check_room(Ctx& ctx, const message_buffer& buffer, const match_key& key) const {
        if (!buffer.exists) {
            return refuse_address(ctx, operation::receive, peer_of(key.source), buffer.place);
        }
        if (buffer.bytes > short_bytes && !all_lanes_reach(ctx, buffer.data)) {
            return fail(ctx, status::bad_range, operation::receive, peer_of(key.source), key.tag);
        }
        return status::ok;
    }
    /// What a receive or a probe asks for, where it can be. Any lane.
    LANEWAY_FN status check(Ctx& ctx, operation what, std::int64_t source, std::int64_t tag, match_key& key) const {
        const bool from_any = source == std::int64_t{any_source}, with_any = tag == std::int64_t{any_tag};
        const bool from_nobody = source == std::int64_t{proc_null};
        if (!from_any && !from_nobody && (source < 0 || source >= ctx.n_pes())) {
            return fail(ctx, status::bad_pe, what, static_cast<int>(source));
        }
        const int peer = from_any || from_nobody ? -1 : static_cast<int>(source);
        if (!with_any) {
            if (const status bad = message_sender<Ctx, Out>::check_tag(ctx, what, peer, tag); bad != status::ok)
                return bad;
        }
        key = {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(tag)};
        if ((from_any && view_.rules.no_any_source) || (with_any && view_.rules.no_any_tag)) {
            return fail(ctx, status::broken_promise, what, peer, key.tag, view_.number);
        }
        return status::ok;
    }

private:
    using waits_type = request_waits<Ctx, Out>;
    using waits_type::matched;
    using waits_type::pool_;
    using waits_type::refuse;
    using waits_type::site_of;
    using waits_type::take;
    using waits_type::view_;
    using waits_type::waiting_;

    static constexpr std::uint64_t max_copied_by_lane = 4096;

    /// What a lane asks of a shard.
    struct question {
        request_kind kind;
        match_key key;
        const message_buffer* buffer = nullptr;
        const message_request* other = nullptr;
    };

    /// Whether it is a receive of a short message by source and tag for which nothing else has to be asked.
    LANEWAY_FN bool is_ordinary(const message_buffer& buffer, std::int64_t source, std::int64_t tag,
                                match_key& key) const {
        key = {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(tag)};
        return source >= 0 && source < ends_.environment.n_pes && tag >= 0 && tag <= std::int64_t{max_message_tag} &&
               buffer.exists && buffer.bytes <= short_bytes;
    }
    /// Whether a receive may be; else why not.
    LANEWAY_SLOW bool may_receive(Ctx& ctx, const message_buffer& buffer, std::int64_t source, std::int64_t tag,
                                  match_key& key, status& result) const {
        result = check(ctx, operation::receive, source, tag, key);
        if (result == status::ok && key.source != proc_null) result = check_room(ctx, buffer, key);
        return result == status::ok;
    }
    /// Others wait for the shard while a payload is copied, so one lane leaves long ones to the queues. One lane.
    LANEWAY_FN bool find_at_once(Ctx& ctx, width lanes, const match_key& key, const message_buffer& buffer,
                                 taken_message& found) {
        const std::uint64_t most = lanes == width::lane ? max_copied_by_lane : ~std::uint64_t{0};
        return as_lone_lane(ctx, [&]<class Alone>(Alone& one) {
            return direct_receive<Alone>(view_, ends_, key)
                .find(one, buffer, most, static_cast<int>(view_.ring_looks), found);
        });
    }
    /// The payload of what has come in a slot, and is held: by the lane, or by the whole warp from what its lane 0 has.
    LANEWAY_FN void copy_taken(Ctx& ctx, width lanes, bool copies, const message_buffer& buffer,
                               const incoming_message& message) const {
        if (lanes == width::lane) {
            if (copies) copy_bytes(buffer.data, message.payload, message.bytes);
            return;
        }
        const std::uint64_t bytes = ctx.shuffle(full_warp<Ctx>, copies ? message.bytes : 0, 0);
        const auto from = ctx.shuffle(full_warp<Ctx>, reinterpret_cast<std::uint64_t>(message.payload), 0);
        const copy_share share{static_cast<std::uint64_t>(ctx.lane()), static_cast<std::uint64_t>(Ctx::warp_lanes)};
        ctx.sync(full_warp<Ctx>);  // the other lanes read behind what lane 0 has acquired
        if (bytes != 0) copy_bytes(buffer.data, reinterpret_cast<const std::byte*>(from), bytes, share);
        ctx.sync(full_warp<Ctx>);
    }

    template <class Begin>
    LANEWAY_FN status wait_for_look(Ctx& ctx, const wait_site& site, const Begin& begin) {
        return begin() ? status::ok : waiting_.wait(ctx, site, begin);
    }

    /// Fills in a place that the lane has claimed, and puts it into its shard's queue, or a receive into its table.
    LANEWAY_FN message_request ask(Ctx& ctx, std::uint32_t number, const question& asked) {
        request_slot& slot = view_.requests[number];
        slot.kind = asked.kind;
        slot.waited = 0;
        slot.key = asked.key;
        slot.data = asked.buffer == nullptr ? nullptr : asked.buffer->data;
        slot.bytes = asked.buffer == nullptr ? 0 : asked.buffer->bytes;
        slot.length = 0;
        slot.source = asked.key.source;
        slot.tag = asked.key.tag;
        if (asked.other != nullptr) {
            slot.other = asked.other->number();
            slot.other_generation = asked.other->generation();
        }
        const message_request handle = pool_.handle(ctx, number);
        const message_shard_ref& shard = view_.shard_of(asked.key);
        go_before(ctx, &slot.data);
        if (asked.kind == request_kind::receive && view_.rules.is_unordered()) {
            unordered_post<Ctx>(view_, shard)(ctx, number);
        } else {
            shard.asked.put(ctx, shard.asked.draw(ctx), number);
        }
        return handle;
    }

    LANEWAY_FN message_request ask_for_match(Ctx& ctx, const match_key& key, std::uint64_t bytes,
                                             std::uint32_t number) {
        const message_buffer room{nullptr, bytes};
        return ask(ctx, number, {request_kind::match, key, &room});
    }

    ring_ends& ends_;
    message_sender<Ctx, Out> sender_;
};

}  // namespace laneway
