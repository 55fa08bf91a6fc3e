// Two-sided messages as a component of a program: what lanes of the body hold, and call.
#pragma once

#include "laneway/comm/two_sided/host_messages_ref.hpp"
#include "laneway/comm/two_sided/shared_call.hpp"
#include "laneway/run/component.hpp"

namespace laneway {

/// In a block's shared memory.
struct communicator_shared {
    shared_call_state calls;
    alignas(16) std::uint32_t any;  ///< somebody has seen that something is due
    ring_ends ends;
    shard_team_shared team;
};

/// Takes part in a turn that another warp of the block leads. Whether there was one for this warp. The whole warp,
/// together.
template <class Ctx>
LANEWAY_SLOW bool turn_with_team(Ctx& ctx, const two_sided_ref& view, const shard_team<Ctx>& team) {
    return team.join(ctx, [&](auto& all) { (void)team_turn<Ctx>(view, view.shards[team.shard()], all)(ctx); });
}

/// A lane's access to the communicator: its PE is the rank. Calls are made by a lane, also in divergent code; by a
/// warp, whose lanes call together with the same arguments and all get the result; or by all working warps of a block,
/// the same. One call carries one buffer.
///
/// Buffers are a symmetric_ptr or a pointer. What is longer than communicator_options::eager_bytes is sent from
/// symmetric memory; what is longer than 56 bytes is sent from, and received in, memory that all lanes of the PE reach,
/// on GPUs not a lane's own variables. A message of 56 bytes or less brings what its lane has fenced, any other all
/// that came before.
///
/// Errors end the run, and so does a wait past the deadline, which tells what stands in the queues.
template <class Ctx, class Out>
class communicator_agent {
public:
    static constexpr bool polls = true;
    static constexpr bool assists = true;
    static constexpr bool attends = true;

    LANEWAY_FN communicator_agent(Ctx& ctx, Out& out, const two_sided_ref& view, const host_messages_ref& host,
                                  bool assisted, std::byte* shared)
        : of_pe_(view), host_(host), shared_(*reinterpret_cast<communicator_shared*>(shared)), view_(shared_.ends.view),
          calls_(view_, shared_.ends, out, {first_turn(ctx), assisted}), out_(out), together_(out, shared_.calls) {}

    [[nodiscard]] LANEWAY_FN std::uint32_t rank(const Ctx& ctx) const { return static_cast<std::uint32_t>(ctx.pe()); }
    [[nodiscard]] LANEWAY_FN std::uint32_t size(const Ctx& ctx) const {
        return static_cast<std::uint32_t>(ctx.n_pes());
    }

    /// The part of a buffer that this lane fills or reads, where its warp or block shares one: elements first,
    /// first + step, ...
    [[nodiscard]] LANEWAY_FN copy_share share(const Ctx& ctx, width lanes) const { return share_of(ctx, out_, lanes); }

    /// Sends `count` elements to a rank under a tag, from 0 to max_message_tag; returns when they may be changed again:
    /// what fits a slot is on its way then, what is longer has been received.
    template <class Data>
    LANEWAY_FN status send(Ctx& ctx, const Data& data, std::uint64_t count, std::int64_t destination, std::int64_t tag,
                           width lanes = width::lane) {
        message_request sent;
        return send_with(ctx, lanes, buffer_for(data, count), {destination, tag}, true, sent);
    }
    /// The same without waiting: the elements stay as they are until the request is over.
    template <class Data>
    LANEWAY_FN status isend(Ctx& ctx, const Data& data, std::uint64_t count, std::int64_t destination, std::int64_t tag,
                            message_request& sent, width lanes = width::lane) {
        return send_with(ctx, lanes, buffer_for(data, count), {destination, tag}, false, sent);
    }
    /// Synchronous sends: over when a receive has got the message, however short it is. Those of 49 to 56 bytes also
    /// take memory that all lanes of the PE reach, and ranks have to reach each other's memory.
    template <class Data>
    LANEWAY_FN status ssend(Ctx& ctx, const Data& data, std::uint64_t count, std::int64_t destination, std::int64_t tag,
                            width lanes = width::lane) {
        message_request sent;
        return send_with(ctx, lanes, buffer_for(data, count), {destination, tag, true}, true, sent);
    }
    template <class Data>
    LANEWAY_FN status issend(Ctx& ctx, const Data& data, std::uint64_t count, std::int64_t destination,
                             std::int64_t tag, message_request& sent, width lanes = width::lane) {
        return send_with(ctx, lanes, buffer_for(data, count), {destination, tag, true}, false, sent);
    }

    /// Receives a message of `count` elements at most from a rank, or any_source, under a tag, or any_tag. What is
    /// longer ends the run with `truncated`.
    template <class Data>
    LANEWAY_FN status recv(Ctx& ctx, const Data& data, std::uint64_t count, std::int64_t source, std::int64_t tag,
                           message_status* got = nullptr, width lanes = width::lane) {
        message_request begun;
        return receive_with(ctx, lanes, buffer_for(data, count), source, tag, true, begun, got);
    }
    /// The same without waiting: the memory is the receive's until the request is over.
    template <class Data>
    LANEWAY_FN status irecv(Ctx& ctx, const Data& data, std::uint64_t count, std::int64_t source, std::int64_t tag,
                            message_request& begun, width lanes = width::lane) {
        return receive_with(ctx, lanes, buffer_for(data, count), source, tag, false, begun, nullptr);
    }

    /// A receive and a send at once, so that ranks may exchange in a circle.
    template <class From, class To>
    LANEWAY_FN status sendrecv(Ctx& ctx, const From& from, std::uint64_t from_count, std::int64_t destination,
                               std::int64_t send_tag, const To& to, std::uint64_t to_count, std::int64_t source,
                               std::int64_t receive_tag, message_status* got = nullptr, width lanes = width::lane) {
        message_request receive, sent;
        status result = irecv(ctx, to, to_count, source, receive_tag, receive, lanes);
        if (result == status::ok) result = isend(ctx, from, from_count, destination, send_tag, sent, lanes);
        if (result == status::ok) result = wait(ctx, sent, nullptr, lanes);
        return result == status::ok ? wait(ctx, receive, got, lanes) : result;
    }

    /// Waits until an operation is over and gives its place back: a second wait for it is an error. A lane that has
    /// received into variables of its own waits itself.
    LANEWAY_FN status wait(Ctx& ctx, const message_request& request, message_status* got = nullptr,
                           width lanes = width::lane) {
        const message_result r = call(ctx, lanes, [&](width by) { return wait_for(ctx, by, request); });
        if (got != nullptr) *got = r.got;
        return r.code;
    }
    /// Waits for all of `n`. `got`: null, or as many.
    LANEWAY_FN status wait_all(Ctx& ctx, const message_request* requests, std::uint32_t n,
                               message_status* got = nullptr, width lanes = width::lane) {
        for (std::uint32_t i = 0; i < n; ++i) {
            const status result = wait(ctx, requests[i], got == nullptr ? nullptr : got + i, lanes);
            if (result != status::ok) return result;
        }
        return status::ok;
    }
    /// Waits for one of `n`, says which, and makes it null; `which` is n where all are null.
    LANEWAY_FN status wait_any(Ctx& ctx, message_request* requests, std::uint32_t n, std::uint32_t& which,
                               message_status* got = nullptr, width lanes = width::lane) {
        const message_result r = call(ctx, lanes, [&](width by) {
            message_result one;
            one.code = calls_.wait_any(ctx, by, requests, n, one.number, one.got);
            return one;
        });
        which = r.code == status::ok ? r.number : n;
        return tell_one(requests, n, which, r, got);
    }
    /// Waits for one of `n` at least, and takes all that are over: `n_over` of them, whose indices and statuses follow
    /// each other; none where all are null. `indices`, and `got` where it is not null: as many as there are requests.
    LANEWAY_FN status wait_some(Ctx& ctx, message_request* requests, std::uint32_t n, std::uint32_t& n_over,
                                std::uint32_t* indices, message_status* got = nullptr, width lanes = width::lane) {
        std::uint32_t which = n;
        message_status what;
        n_over = 0;
        const status result = wait_any(ctx, requests, n, which, &what, lanes);
        if (result != status::ok || which == n) return result;
        note_one(n_over, indices, got, which, what);
        return take_all_over(ctx, requests, n, n_over, indices, got, lanes);
    }
    /// The same without waiting: there may be none.
    LANEWAY_FN status test_some(Ctx& ctx, message_request* requests, std::uint32_t n, std::uint32_t& n_over,
                                std::uint32_t* indices, message_status* got = nullptr, width lanes = width::lane) {
        n_over = 0;
        return take_all_over(ctx, requests, n, n_over, indices, got, lanes);
    }
    /// Whether an operation is over; if so it is as after a wait, and `request` null. Does not wait.
    LANEWAY_FN status test(Ctx& ctx, message_request& request, bool& over, message_status* got = nullptr,
                           width lanes = width::lane) {
        std::uint32_t which = 0;
        return test_any(ctx, &request, 1, which, over, got, lanes);
    }
    /// Whether one of `n` is over; if so, which, and as with test. `over` as well where all are null; `which` is n
    /// then.
    LANEWAY_FN status test_any(Ctx& ctx, message_request* requests, std::uint32_t n, std::uint32_t& which, bool& over,
                               message_status* got = nullptr, width lanes = width::lane) {
        const message_result r = call_by_one(ctx, lanes, [&](message_result& one) {
            bool any = false;
            one.code = calls_.test_any(ctx, requests, n, one.number, any, one.got);
            if (!any) one.number = none_over;
        });
        over = r.code == status::ok && r.number != none_over;
        which = over ? r.number : n;
        return tell_one(requests, n, which, r, got);
    }
    /// Whether all of `n` are over; only then are they as after a wait_all, and null. `got`: null, or as many.
    LANEWAY_FN status test_all(Ctx& ctx, message_request* requests, std::uint32_t n, bool& over,
                               message_status* got = nullptr, width lanes = width::lane) {
        const message_result r = call_by_one(ctx, lanes, [&](message_result& one) {
            bool all = false;
            one.code = calls_.test_all(ctx, requests, n, all);
            one.number = all ? 1 : 0;
        });
        over = r.code == status::ok && r.number != 0;
        if (!over) return r.code;
        const status result = wait_all(ctx, requests, n, got, lanes);
        for (std::uint32_t i = 0; i < n; ++i) requests[i] = {};
        return result;
    }

    /// Looks for the message that a receive of this source and tag would get, and leaves it where it is.
    LANEWAY_FN status iprobe(Ctx& ctx, std::int64_t source, std::int64_t tag, bool& found, message_status& what,
                             width lanes = width::lane) {
        const message_result r = call_for_key(ctx, lanes, source, tag, [&](const match_key& key, message_result& one) {
            bool any = false;
            one.code = calls_.look_for(ctx, key, any, one.got);
            one.number = any ? 1 : 0;
        });
        found = r.code == status::ok && r.number != 0;
        if (found) what = r.got;
        return r.code;
    }
    /// Waits for one.
    LANEWAY_FN status probe(Ctx& ctx, std::int64_t source, std::int64_t tag, message_status& what,
                            width lanes = width::lane) {
        const message_result r = call_for_key(ctx, lanes, source, tag, [&](const match_key& key, message_result& one) {
            one.code = calls_.probe(ctx, key, one.got);
        });
        if (r.code == status::ok) what = r.got;
        return r.code;
    }
    /// Takes the message that a receive of this source and tag would get out of the queues, if it waits there: nobody
    /// else gets it, and mrecv or imrecv has to receive it.
    LANEWAY_FN status improbe(Ctx& ctx, std::int64_t source, std::int64_t tag, bool& found, message_request& message,
                              message_status& what, width lanes = width::lane) {
        const message_result r = call_for_key(ctx, lanes, source, tag, [&](const match_key& key, message_result& one) {
            one.code = calls_.match(ctx, key, one.request, one.got);
        });
        message = r.request;
        found = r.code == status::ok && !message.is_null();
        if (found) what = r.got;
        return r.code;
    }
    /// Waits for one.
    LANEWAY_FN status mprobe(Ctx& ctx, std::int64_t source, std::int64_t tag, message_request& message,
                             message_status& what, width lanes = width::lane) {
        const message_result r = call_for_key(ctx, lanes, source, tag, [&](const match_key& key, message_result& one) {
            one.code = calls_.wait_for_match(ctx, key, one.request, one.got);
        });
        message = r.request;
        if (r.code == status::ok) what = r.got;
        return r.code;
    }
    /// Receives such a message; the same request then stands for the receive.
    template <class Data>
    LANEWAY_FN status imrecv(Ctx& ctx, const Data& data, std::uint64_t count, const message_request& message,
                             width lanes = width::lane) {
        const message_buffer buffer = buffer_for(data, count);
        return call_by_one(ctx, lanes,
                           [&](message_result& one) { one.code = calls_.receive_match(ctx, buffer, message); })
            .code;
    }
    template <class Data>
    LANEWAY_FN status mrecv(Ctx& ctx, const Data& data, std::uint64_t count, const message_request& message,
                            message_status* got = nullptr, width lanes = width::lane) {
        const status begun = imrecv(ctx, data, count, message, lanes);
        return begun == status::ok ? wait(ctx, message, got, lanes) : begun;
    }
    /// Takes a receive back if it has not got a message yet. It still has to be waited for, and its status says which
    /// it was.
    LANEWAY_FN status cancel(Ctx& ctx, const message_request& request, width lanes = width::lane) {
        return call_by_one(ctx, lanes, [&](message_result& one) { one.code = calls_.cancel(ctx, request); }).code;
    }

    // As a component.
    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() != 0 || ctx.lane() != 0) return;
        shared_ = {};
        shared_.ends.fill(of_pe_, ctx.environment());
    }
    LANEWAY_FN bool poll(Ctx& ctx) {
        const shard_team<Ctx> team(shared_.team);
        if (!is_free_) {
            is_free_ = true;  // its body has returned
            team.be_free(ctx);
        }
        enum : std::uint32_t { nothing, due, team_is_open };
        const auto found = once(ctx, full_warp<Ctx>, [&]() -> std::uint32_t {
            if (team.is_open(ctx)) return team_is_open;
            return ctx.load(&shared_.any, order::relaxed, scope::block) != 0 ? due : nothing;
        });
        if (found == nothing) return false;
        if (found == team_is_open) return turn_with_team(ctx, view_, team);
        if (calls_.waiting().turn_some(ctx, team)) return true;
        if (ctx.lane() == 0) ctx.store(&shared_.any, 0u, order::relaxed, scope::block);
        return false;
    }
    /// One lane looks for the block's idle warps.
    LANEWAY_FN void refresh(Ctx& ctx) {
        if (calls_.waiting().seems_due(ctx)) ctx.store(&shared_.any, 1u, order::relaxed, scope::block);
    }
    LANEWAY_FN void assist(Ctx& ctx) {
        const shard_team<Ctx> team(shared_.team);
        (void)calls_.waiting().turn(ctx, full_warp<Ctx>, &team);
    }
    LANEWAY_FN void attend(Ctx& ctx) {
        if (host_.n_slots != 0) {
            if (ctx.lane() == 0) host_message_turn<Ctx, message_calls<Ctx, Out>>(host_, calls_)(ctx);
            ctx.sync(full_warp<Ctx>);
        }
        assist(ctx);
    }
    /// When all is done: a request that nobody has waited for is an error of the program, and host threads hear what
    /// became of theirs.
    LANEWAY_FN void close(Ctx& ctx) {
        // Where host threads have requests, one warp ends these before it looks for any that is left.
        const bool alone = host_.n_slots != 0;
        if (alone) {
            if (ctx.block() != 0 || ctx.warp() != 0) return;
            if (ctx.lane() == 0) host_message_turn<Ctx, message_calls<Ctx, Out>>(host_, calls_).answer_all(ctx);
            ctx.sync(full_warp<Ctx>);
        }
        const auto lane = static_cast<std::uint64_t>(ctx.lane()), lanes = static_cast<std::uint64_t>(Ctx::warp_lanes);
        const std::uint64_t step = alone ? lanes : ctx.local_size();
        for (std::uint64_t i = alone ? lane : ctx.local_rank(); i < view_.n_requests + view_.n_looks; i += step) {
            const request_word now{ctx.load(&view_.requests[i].word, order::relaxed, scope::device)};
            if (now.state() == request_word::free || stopped(ctx)) continue;
            if (ctx.load(&view_.requests[i].waited, order::relaxed, scope::device) == request_slot::by_host) continue;
            const match_key& key = view_.requests[i].key;
            const bool sends = view_.requests[i].kind == request_kind::send;
            (void)fail(ctx, status::request_left, sends ? operation::send : operation::receive, peer_of(key.source),
                       key.tag, view_.number);
        }
    }

private:
    template <class Data>
    [[nodiscard]] LANEWAY_FN message_buffer buffer_for(const Data& data, std::uint64_t count) const {
        return buffer_of(shared_.ends.environment, data, count);
    }
    /// Warps begin their turns with different shards, above all those of one number, which flush.
    [[nodiscard]] static LANEWAY_FN std::uint32_t first_turn(const Ctx& ctx) {
        return static_cast<std::uint32_t>(ctx.warp() * ctx.n_blocks() + ctx.block());
    }

    template <class Call>
    LANEWAY_FN message_result call(Ctx& ctx, width lanes, Call&& what) {
        return together_(ctx, lanes, what, [&] { (void)calls_.waiting().turn(ctx, full_warp<Ctx>); });
    }
    /// A call that one lane makes, of a warp or a block the one that leads it: `what(result)`.
    template <class What>
    LANEWAY_FN message_result call_by_one(Ctx& ctx, width lanes, What&& what) {
        return call(ctx, lanes, [&](width by) {
            message_result one;
            if (by == width::lane || ctx.lane() == 0) what(one);
            return one;
        });
    }
    /// The same for what looks for a message: `what(key, result)`, where source and tag may be.
    template <class What>
    LANEWAY_FN message_result call_for_key(Ctx& ctx, width lanes, std::int64_t source, std::int64_t tag, What&& what) {
        return call_by_one(ctx, lanes, [&](message_result& one) {
            match_key key;
            one.code = calls_.check(ctx, operation::probe, source, tag, key);
            if (one.code == status::ok) what(key, one);
        });
    }

    static constexpr std::uint32_t none_over = ~std::uint32_t{0};

    /// What a call says of one of several requests.
    LANEWAY_FN status tell_one(message_request* requests, std::uint32_t n, std::uint32_t which, const message_result& r,
                               message_status* got) const {
        if (which != n) {
            requests[which] = {};
            if (got != nullptr) *got = r.got;
        }
        return r.code;
    }
    static LANEWAY_FN void note_one(std::uint32_t& n_over, std::uint32_t* indices, message_status* got,
                                    std::uint32_t which, const message_status& what) {
        indices[n_over] = which;
        if (got != nullptr) got[n_over] = what;
        ++n_over;
    }
    LANEWAY_FN status take_all_over(Ctx& ctx, message_request* requests, std::uint32_t n, std::uint32_t& n_over,
                                    std::uint32_t* indices, message_status* got, width lanes) {
        for (;;) {
            std::uint32_t which = n;
            bool over = false;
            message_status what;
            const status result = test_any(ctx, requests, n, which, over, &what, lanes);
            if (result != status::ok || which == n) return result;
            note_one(n_over, indices, got, which, what);
        }
    }

    LANEWAY_FN message_result wait_for(Ctx& ctx, width by, const message_request& request) {
        message_result r;
        r.code = calls_.wait(ctx, by, request, r.got);
        return r;
    }
    LANEWAY_FN status send_with(Ctx& ctx, width lanes, const message_buffer& buffer, const message_target& to,
                                bool waits, message_request& sent) {
        drawn_ticket drawn;
        if (lanes == width::lane && calls_.sender().send_alone(ctx, buffer, to, drawn)) {
            sent = message_request::finished();
            return status::ok;
        }
        const message_result r = call(ctx, lanes, [&](width by) {
            message_result begun;
            begun.code = calls_.sender().start(ctx, by, buffer, to, waits, begun.request, drawn);
            return waits ? completed(ctx, by, begun) : begun;
        });
        sent = r.request;
        return r.code;
    }
    LANEWAY_FN status receive_with(Ctx& ctx, width lanes, const message_buffer& buffer, std::int64_t source,
                                   std::int64_t tag, bool waits, message_request& received, message_status* got) {
        const message_result r = call(ctx, lanes, [&](width by) {
            message_result begun;
            if (waits && calls_.receive_at_once(ctx, by, buffer, source, tag, begun.got, begun.code)) return begun;
            if (by == width::lane || ctx.lane() == 0) {
                begun.code = calls_.receive(ctx, buffer, source, tag, waits, begun.request);
            }
            return waits ? completed(ctx, by, begun) : begun;
        });
        received = r.request;
        if (got != nullptr) *got = r.got;
        return r.code;
    }
    /// Waits for what has been started, unless that has failed.
    LANEWAY_FN message_result completed(Ctx& ctx, width by, message_result begun) {
        if (by == width::lane) {
            if (begun.code == status::ok) begun.code = calls_.wait(ctx, by, begun.request, begun.got);
            return begun;
        }
        if (ctx.ballot(full_warp<Ctx>, begun.code != status::ok) != 0) return begun;
        begun.code = calls_.wait(ctx, by, begun.request, begun.got);
        return begun;
    }

    const two_sided_ref& of_pe_;  ///< until the block has a view of its own
    const host_messages_ref& host_;
    communicator_shared& shared_;
    const two_sided_ref& view_;
    message_calls<Ctx, Out> calls_;
    Out& out_;
    shared_calls<Ctx, Out> together_;
    bool is_free_ = false;
};

}  // namespace laneway
