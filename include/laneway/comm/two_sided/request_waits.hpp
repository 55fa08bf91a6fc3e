// Waiting for requests of two-sided messages, and testing them.
#pragma once

#include "laneway/comm/two_sided/message_waiting.hpp"
#include "laneway/comm/two_sided/request_pool.hpp"
#include "laneway/comm/width.hpp"

namespace laneway {

/// Members end the run where they fail. Where they take a width it is lane or warp; in a warp lane 0 does it, the
/// others help, and only lane 0 gets the result.
template <class Ctx, class Out>
class request_waits {
public:
    /// `turns`: as of message_waiting.
    LANEWAY_FN request_waits(const two_sided_ref& view, Out& out, const message_turns& turns)
        : view_(view), pool_(view), waiting_(view, out, turns) {}

    [[nodiscard]] LANEWAY_FN message_waiting<Ctx, Out>& waiting() { return waiting_; }

    /// Waits until a request is over, takes what it brought and gives its place back.
    LANEWAY_FN status wait(Ctx& ctx, width lanes, const message_request& request, message_status& got) {
        const bool leads = lanes == width::lane || ctx.lane() == 0;
        const bool waits = !request.is_null() && !request.is_finished();
        if (lanes == width::lane && !waits) return finish(ctx, request, got);
        const auto is_over = [&] { return !waits || pool_.look(ctx, request).is_over(); };
        bool wrong = leads && waits && !mark(ctx, request);
        if (wrong) (void)refuse(ctx, request);
        if (lanes != width::lane) wrong = ctx.ballot(full_warp<Ctx>, wrong) != 0;
        if (wrong) return status::bad_request;
        const wait_site site = leads ? site_of(request) : wait_site{};
        if (leads && waits) waiting_.wait_for_shard(shard_of(request));
        const status result =
            lanes == width::lane ? waiting_.wait(ctx, site, is_over) : waiting_.wait_as_warp(ctx, site, is_over);
        return result == status::ok && leads ? finish(ctx, request, got) : result;
    }

    /// Whether one of several is over, and which; that one has been waited for then. Where all are null it is so as
    /// well, and `which` is n. One lane; does not wait.
    LANEWAY_SLOW status test_any(Ctx& ctx, const message_request* requests, std::uint32_t n, std::uint32_t& which,
                                 bool& over, message_status& got) {
        std::uint32_t first = n;
        which = n;
        const status result = look_at_all(ctx, requests, n, first, [&] {
            which = first_over(ctx, requests, n);
            return which != n;
        });
        over = result == status::ok && (first == n || which != n);
        return over && which != n ? finish(ctx, requests[which], got) : result;
    }
    /// Whether all are over; nothing is waited for. The same.
    LANEWAY_SLOW status test_all(Ctx& ctx, const message_request* requests, std::uint32_t n, bool& over) {
        std::uint32_t first = n;
        over = true;
        return look_at_all(ctx, requests, n, first, [&] {
            over = true;
            for (std::uint32_t i = 0; i < n; ++i) over = over && (requests[i].is_null() || is_over(ctx, requests[i]));
            return over;
        });
    }

    /// Waits for one of several, and says which; n where all are null.
    LANEWAY_SLOW status wait_any(Ctx& ctx, width lanes, const message_request* requests, std::uint32_t n,
                                 std::uint32_t& which, message_status& got) {
        const bool leads = lanes == width::lane || ctx.lane() == 0;
        std::uint32_t first = n;
        which = n;
        const status refused = leads ? check_all(ctx, requests, n, first, true) : status::ok;
        bool ends = leads && (refused != status::ok || first == n);
        if (lanes != width::lane) ends = ctx.ballot(full_warp<Ctx>, ends) != 0;
        if (ends) return refused;
        const auto any_is_over = [&] {
            which = first_over(ctx, requests, n);
            return which != n;
        };
        const wait_site site = leads ? site_of(requests[first]) : wait_site{};
        const status waited = lanes == width::lane ? waiting_.wait(ctx, site, any_is_over)
                                                   : waiting_.wait_as_warp(ctx, site, any_is_over);
        return waited == status::ok && leads ? finish(ctx, requests[which], got) : waited;
    }

    /// For requests of host threads: looks once, and takes what one that is over has brought; a matched probe keeps the
    /// message that it has found. One lane.
    LANEWAY_FN status poll(Ctx& ctx, const message_request& request, bool& over, bool& found, message_status& got) {
        over = request.is_null() || request.is_finished();
        if (over) return status::ok;
        const request_word now = pool_.look(ctx, request);
        over = now.is_over();
        found = now.state() == request_word::done;
        if (!over) return status::ok;
        if (!found || view_.requests[request.number()].kind != request_kind::match) return take(ctx, request, got);
        got = matched(ctx, request);
        return status::ok;
    }
    /// A host thread waits for it, as long as it likes.
    LANEWAY_FN void belongs_to_host(Ctx& ctx, const message_request& request) {
        if (request.is_null() || request.is_finished()) return;
        ctx.store(&view_.requests[request.number()].waited, request_slot::by_host, order::relaxed, scope::device);
    }

protected:
    /// What a matched probe has found. One lane.
    LANEWAY_FN message_status matched(Ctx& ctx, const message_request& request) const {
        const request_slot* const slot = view_.requests + request.number();
        come_behind(ctx, slot);
        return {slot->source, slot->tag, slot->length, false};
    }
    /// What a request that is over has brought, and its place back. One lane.
    LANEWAY_FN status take(Ctx& ctx, const message_request& request, message_status& got) {
        request_slot* const slot = pool_.find(ctx, request);
        if (slot == nullptr) return refuse(ctx, request);
        const request_word now = pool_.look(ctx, request);
        come_behind(ctx, slot);
        got = {slot->source, slot->tag, slot->length, now.state() == request_word::cancelled};
        if (slot->kind == request_kind::send) got = {slot->key.source, slot->key.tag, slot->bytes, false};
        const bool receives = slot->kind == request_kind::receive || slot->kind == request_kind::matched_receive;
        if (receives && !got.cancelled && slot->form == message_form::in_words) {
            payload_words::store(slot->pieces, slot->data, slot->length);
        }
        return pool_.give_back(ctx, request) ? status::ok : refuse(ctx, request);
    }
    LANEWAY_FN status refuse(Ctx& ctx, const message_request& request) {
        return fail(ctx, status::bad_request, operation::use_request, -1, request.number(), view_.number);
    }
    [[nodiscard]] LANEWAY_FN wait_site site_of(const message_request& request) const {
        if (request.is_null() || request.is_finished()) return {operation::receive, -1, 0, view_.number};
        const request_slot& slot = view_.requests[request.number()];
        return {slot.kind == request_kind::send ? operation::send : operation::receive, peer_of(slot.key.source),
                slot.key.tag, view_.number};
    }

    const two_sided_ref& view_;
    request_pool<Ctx> pool_;
    message_waiting<Ctx, Out> waiting_;

private:
    /// Whether each of several is null or a request; the first that is not null; n where there is none. `waits`: notes
    /// that a lane waits for them.
    LANEWAY_FN status check_all(Ctx& ctx, const message_request* requests, std::uint32_t n, std::uint32_t& first,
                                bool waits) {
        first = n;
        for (std::uint32_t i = n; i-- > 0;) {
            if (requests[i].is_null()) continue;
            first = i;
            if (requests[i].is_finished()) continue;
            if (waits ? !mark(ctx, requests[i]) : find(ctx, requests[i]) == nullptr) return refuse(ctx, requests[i]);
        }
        return status::ok;
    }
    /// Looks whether `holds()`, where there are requests, and once more behind some progress.
    template <class Holds>
    LANEWAY_FN status look_at_all(Ctx& ctx, const message_request* requests, std::uint32_t n, std::uint32_t& first,
                                  const Holds& holds) {
        const status checked = check_all(ctx, requests, n, first, false);
        if (checked != status::ok || first == n || holds()) return checked;
        const status going = progress(ctx);
        if (going == status::ok) (void)holds();
        return going;
    }
    /// Of one that is not null.
    LANEWAY_FN bool is_over(Ctx& ctx, const message_request& request) const {
        return request.is_finished() || pool_.look(ctx, request).is_over();
    }
    /// The first of several that is over; n where none is.
    LANEWAY_FN std::uint32_t first_over(Ctx& ctx, const message_request* requests, std::uint32_t n) const {
        for (std::uint32_t i = 0; i < n; ++i) {
            if (!requests[i].is_null() && is_over(ctx, requests[i])) return i;
        }
        return n;
    }
    /// What one that is over, or null, has brought; it has been waited for then. One lane.
    LANEWAY_FN status finish(Ctx& ctx, const message_request& request, message_status& got) {
        if (request.is_from_nobody()) got = nothing_received();
        return request.is_null() || request.is_finished() ? status::ok : take(ctx, request, got);
    }
    /// The slot of a request that may be waited for: not of a message that has been matched and not received.
    [[nodiscard]] LANEWAY_FN request_slot* find(Ctx& ctx, const message_request& request) const {
        request_slot* const slot = pool_.find(ctx, request);
        return slot != nullptr && slot->kind != request_kind::match ? slot : nullptr;
    }
    /// Notes that a lane waits, for who reads the queues when a run has failed. False for a request that is none.
    LANEWAY_FN bool mark(Ctx& ctx, const message_request& request) {
        request_slot* const slot = find(ctx, request);
        if (slot == nullptr) return false;
        ctx.store(&slot->waited, request_slot::by_lane, order::relaxed, scope::device);
        return true;
    }
    LANEWAY_FN status progress(Ctx& ctx) {
        const lane_mask here = ctx.converged();
        if (!waiting_.is_assisted()) (void)waiting_.turn_with_mates(ctx, here);
        return waiting_.help(ctx, here);
    }
    /// That of a request that goes on.
    [[nodiscard]] LANEWAY_FN std::uint32_t shard_of(const message_request& request) const {
        const request_slot& slot = view_.requests[request.number()];
        return slot.kind == request_kind::send ? slot.shard : view_.shard_number(slot.key);
    }
};

}  // namespace laneway
