// Calling functions of the host from any lane ("reverse offload"): the lanes' side.
//
// Lanes that arrive together share a slot of their PE's queue to the host. A host thread calls the function once for
// each request, writes the answers beside the slot, and frees it; that release is what callers wait for. A wait depends
// on the host alone, which never waits for lanes, so handlers may call and post as well.
#pragma once

#include "laneway/comm/answers.hpp"
#include "laneway/comm/lossless.hpp"
#include "laneway/memory/symmetric.hpp"
#include "laneway/queue/work_group_queue.hpp"

namespace laneway {

/// What a function that returns nothing answers.
struct no_reply {};

/// One PE's side; in its memory.
template <class Request, class Reply>
struct host_call_queue {
    work_group_sender<Request> queue;
    const Reply* answers = nullptr;     ///< host-visible, [slot][column]; written by the host
    std::uint64_t* released = nullptr;  ///< PE memory, one a slot: ticket + 1 of the last group done with its answers
    std::uint64_t* posted = nullptr;    ///< PE memory: requests so far
};

/// Trivially copyable; the same bits on every PE, so it can be a member of functors and handlers.
template <class Request, class Reply = no_reply>
class host_calls_ref {
    static_assert(trivially_copyable<Request> && trivially_copyable<Reply>);
    using given = typename given_as<Request>::type;

public:
    host_calls_ref() = default;
    LANEWAY_FN explicit host_calls_ref(symmetric_ref<host_call_queue<Request, Reply>> queues) : queues_(queues) {}

    /// Has the host call the function, some time before the run returns; the answer is dropped. Any lane, also in
    /// divergent code and in handlers. Waits while the queue is full. Fails with stopped or timeout when the run ends.
    template <class Ctx>
    LANEWAY_FN status post(Ctx& ctx, const given& request) const {
        const call_queue& to = *queues_.local(ctx);
        const lane_mask group = mates(ctx, ctx.converged(), to.queue.tail);
        column_position position;
        return send(ctx, group, to, position, given_as<Request>::value(request), false);
    }

    /// Has the host call the function and waits for its answer. Any lane, also in divergent code. What the function
    /// wrote to host-visible memory is visible afterwards. Fails with stopped or timeout when the run ends.
    template <class Ctx>
    LANEWAY_FN answered<Reply> call(Ctx& ctx, const given& request) const {
        const call_queue& to = *queues_.local(ctx);
        const lane_mask group = mates(ctx, ctx.converged(), to.queue.tail);
        column_position position;
        const status sent = send(ctx, group, to, position, given_as<Request>::value(request), true);
        if (sent != status::ok) return {sent, {}};
        const status waited = once(ctx, group, [&] {
            return wait_until(ctx, {operation::host_answer, -1, position.ticket},
                              [&] { return to.queue.is_served(ctx, position); });
        });
        if (waited != status::ok) return {waited, {}};
        const std::uint32_t slot = ctx.shuffle(group, position.slot, Ctx::first_lane(group));
        ctx.sync(group);  // what the elected lane acquired is visible to all
        const Reply value =
            to.answers[std::size_t{slot} * to.queue.columns + static_cast<std::uint32_t>(rank_in(ctx, group))];
        ctx.sync(group);
        if (elected(ctx, group)) release(ctx, to, position);
        return {status::ok, value};
    }

    /// Say of a number that would be cut what is wrong.
    template <class Ctx, loses_bits<Request> Other>
    LANEWAY_FN status post(Ctx&, const Other&) const {
        static_assert(!number<Other>,
                      "this number may lose a fraction or bits as a request: convert it by static_cast");
        return status::stopped;
    }
    template <class Ctx, loses_bits<Request> Other>
    LANEWAY_FN answered<Reply> call(Ctx&, const Other&) const {
        static_assert(!number<Other>,
                      "this number may lose a fraction or bits as a request: convert it by static_cast");
        return {};
    }

private:
    using call_queue = host_call_queue<Request, Reply>;

    template <class Ctx>
    LANEWAY_FN static status send(Ctx& ctx, lane_mask group, const call_queue& to, column_position& position,
                                  const Request& request, bool keeps_slot) {
        const auto lanes = static_cast<std::uint32_t>(Ctx::count_lanes(group));
        const status reserved = once(ctx, group, [&] {
            const status free = reserve(ctx, to, position);
            if (free != status::ok) return free;
            // Who posts now and then, and never has to wait, would not hear of the end of the run, nor see its
            // deadline.
            if (position.ticket % 64 == 0) {
                if (stopped(ctx)) return status::stopped;
                if (ctx.is_late()) {
                    return fail(ctx, status::timeout, operation::host_slot, -1, position.ticket);
                }
            }
            ctx.fetch_add(to.posted, lanes, order::relaxed, scope::device);
            if (!keeps_slot) release(ctx, to, position);
            return free;
        });
        if (reserved != status::ok) return reserved;
        const std::uint32_t slot = ctx.shuffle(group, position.slot, Ctx::first_lane(group));
        to.queue.write(slot, static_cast<std::uint32_t>(rank_in(ctx, group)), request);
        to.queue.publish(ctx, group, position, lanes);
        return status::ok;
    }

    /// The host frees a slot when it has answered; the next group's answers must not come before these have been read.
    template <class Ctx>
    LANEWAY_FN static status reserve(Ctx& ctx, const call_queue& to, column_position& position) {
        const status free = to.queue.reserve(ctx, position);
        const std::uint64_t slots = to.queue.all_slots();
        if (free != status::ok || position.ticket < slots) return free;
        return wait_until(ctx, {operation::host_slot, -1, position.ticket}, [&] {
            // Partner: release.
            return ctx.load(to.released + position.slot, order::acquire, scope::device) == position.ticket - slots + 1;
        });
    }

    template <class Ctx>
    LANEWAY_FN static void release(Ctx& ctx, const call_queue& to, const column_position& position) {
        // Partner: reserve. Cumulative over the other lanes' reads through the barrier.
        ctx.store(to.released + position.slot, position.ticket + 1, order::release, scope::device);
    }

    symmetric_ref<call_queue> queues_;
};

}  // namespace laneway
