// The endpoint: what an application's functor posts into. A sender that can also call, and meet the others at a
// barrier.
#pragma once

#include "laneway/base/path.hpp"
#include "laneway/comm/answers.hpp"
#include "laneway/comm/block_barrier.hpp"
#include "laneway/comm/rendezvous.hpp"
#include "laneway/comm/roles.hpp"
#include "laneway/comm/sender.hpp"

namespace laneway {

/// What a PE needs to send and serve messages; trivially copyable.
template <class Routes>
struct endpoint_ref {
    links_ref links;
    links_ref replies;  ///< where some handler's answer is a message of the mailbox
    answers_ref answers;
    delivery<Routes> handlers;
    std::uint32_t chunk_bytes = 0;
    path default_path = path::direct;
};

/// Shared memory of a block for rendezvous.
template <class Routes>
inline constexpr std::size_t team_bytes = route_list<Routes>::allocates ? sizeof(rendezvous_state) : 0;

template <class Ctx, class Routes, class Idle>
class endpoint : public sender<Ctx, Routes, Idle> {
    using base = sender<Ctx, Routes, Idle>;
    template <class Message>
    using handler = typename route_list<Routes>::template handler<Message>;

public:
    using base::post;
    /// What follows the header of a message.
    template <class Message>
    using element = typename element_of<handler<Message>>::type;

    /// Where the warp stands among those of its block that run the functor, and the block among those of its PE: the
    /// first lane of the block's first such warp has slot `number` times the lanes of a warp.
    struct team_position {
        int index;
        int warps;
        int number;
    };

    /// `completed`: see done_work.
    LANEWAY_FN endpoint(Ctx& ctx, const endpoint_ref<Routes>& ref, Idle idle, std::byte* shared, block_barrier& block,
                        const roles& mine, std::uint64_t* completed)
        : base(ctx, ref.links, ref.chunk_bytes, ref.handlers, idle, shared + team_bytes<Routes>, completed), ref_(ref),
          block_(block), rendezvous_state_(reinterpret_cast<rendezvous_state*>(shared)),
          slot_(static_cast<std::uint32_t>(mine.worker_index * Ctx::warp_lanes + ctx.lane())), team_{mine.team_index,
                                                                                                     mine.team_warps,
                                                                                                     mine.team_number},
          calls_(static_cast<std::uint32_t>(ref.answers.calls_before)) {}

    /// As sender::open.
    LANEWAY_FN void open(Ctx& ctx) {
        base::open(ctx);
        if (ctx.warp() != 0 || ctx.lane() != 0) return;
        block_.open();
        if (team_bytes<Routes> != 0) *rendezvous_state_ = {};
    }

    [[nodiscard]] LANEWAY_FN team_position team() const { return team_; }
    /// The path of one-sided operations that do not name one.
    [[nodiscard]] LANEWAY_FN path default_path() const { return ref_.default_path; }
    /// The handler of a type of message.
    template <class Message>
    [[nodiscard]] LANEWAY_FN const handler<Message>& served_by() const {
        return handler_of<Message>(ref_.handlers.routes);
    }

    /// To be called by lanes that wait, between two polls: sends what the block has aggregated and what handlers have
    /// forwarded, and serves incoming chunks where no other warp does. The lanes of the mask, together.
    LANEWAY_FN status help(Ctx& ctx, lane_mask mask) {
        return base::aside(ctx, *this, [&](Ctx& here, endpoint& self) { return self.help_aside(here, mask); });
    }

    /// Whether other warps do for the components what waiting lanes would do: some of this block have returned from
    /// their bodies, and take turn after turn. Then who waits should do nothing but look: a turn of lone lanes takes
    /// tens of microseconds on a GPU. Any lane; no wait.
    [[nodiscard]] LANEWAY_FN bool others_take_turns(Ctx& ctx) const {
        if constexpr (Ctx::warp_lanes == 1) return false;
        return block_.any_returned(ctx);
    }

    /// Posts a variable-length message: a header and a payload of `count` elements. Otherwise as post of a message
    /// alone. `data` is any memory that the lane can read, and may be reused on return. To the own PE: the handler runs
    /// before post returns, on `data` itself unless its handler has allocated memory for it. A payload of more than
    /// longest<Message>() elements goes by rendezvous if the handler allocates: the post then waits for the receiver's
    /// answer while other warps run. Otherwise the run ends with too_long. If the handler rejects the payload, the post
    /// fails with rejected and the run goes on; memory that lies in no symmetric array ends the run with bad_address.
    template <class Message>
    LANEWAY_FN status post(Ctx& ctx, int pe, const Message& header, const element<Message>* data, std::uint64_t count) {
        return post(ctx, width::lane, pe, header, data, count);
    }

    /// The same for lanes that share the work; all of them can read `data`, which may be reused when all have returned.
    /// The lanes of a warp get the same status. In a block the first warp posts a short message and the last one sends
    /// word of a long one: what fails there is told to that warp, and ends the run.
    template <class Message>
    LANEWAY_FN status post(Ctx& ctx, width lanes, int pe, const Message& header, const element<Message>* data,
                           std::uint64_t count) {
        const payload<const element<Message>> payload{data, count};
        if constexpr (allocating<handler<Message>>) {
            if (count > this->template longest<Message>()) {
                return send_by_rendezvous(ctx, lanes, pe, header, payload);
            }
        }
        if (lanes == width::lane) return this->post_variable(ctx, pe, header, payload);
        std::uint32_t result = 0;
        const bool leads = ctx.lane() == 0 && (lanes == width::warp || team_.index == 0);
        if (leads) result = static_cast<std::uint32_t>(this->post_variable(ctx, pe, header, payload));
        return static_cast<status>(ctx.shuffle(full_warp<Ctx>, result, 0));
    }

    /// Posts a message whose elements have been stored where its handler wanted them. See rendezvous.
    template <class Message>
    LANEWAY_FN status post_stored(Ctx& ctx, int pe, const Message& header,
                                  const stored_payload<element<Message>>& stored) {
        payload<const element<Message>> own{};
        if (pe == ctx.pe()) own = {local(ctx, stored.at), stored.count};
        return this->send_variable(
            ctx, pe,
            outgoing_variable<Message>{
                {in_symmetric_memory, header}, reinterpret_cast<const std::byte*>(&stored), sizeof stored},
            own);
    }

    /// Posts a message to a PE and waits for what its handler answers. Any lane, also in divergent code; other warps
    /// run meanwhile. The answer orders nothing else. Fails with bad_pe, or stopped or timeout when the run ends.
    template <class Message>
    requires(route_list<Routes>::template has<Message>)
        LANEWAY_FN answered<typename answer_of<handler<Message>>::type> call(Ctx& ctx, int pe, const Message& message) {
        answered<typename answer_of<handler<Message>>::type> result;
        result.code = this->check(ctx, pe, operation::call);
        if (result.code != status::ok) return result;
        if (pe == ctx.pe()) {
            this->limit_forwards(ctx);
            pending_forward<route_list<Routes>> pending;
            result.value = this->serve_own(ctx, pending, message);
            if (threw(ctx)) result.code = status::stopped;
            this->follow(ctx, ctx.converged(), pending);
            return result;
        }
        const lane_mask mask = ctx.converged();
        calls_ = ref_.answers.next_call(ctx, slot_, calls_);
        const std::uint64_t token = answers_ref::token(slot_, calls_);
        bool here = false;
        if (this->send_at_once(ctx, mask, pe, message, token, result.code)) {
            // Nothing has to be helped on its way, so the lane does nothing but look.
            for (int look = 0; Ctx::warp_lanes > 1 && look < 64 && !here && result.code == status::ok; ++look) {
                here = ref_.answers.take(ctx, pe, token, result.value);
            }
        } else {
            result.code = this->send(ctx, mask, true, pe, message, token);
        }
        if (ctx.ballot(mask, result.code == status::ok && !here) == 0) return result;
        auto value = result.value;
        result.code = base::aside(ctx, *this, [&](Ctx& slow, endpoint& self) {
            return self.await_answer(slow, mask, here, pe, token, value);
        });
        result.value = value;
        return result;
    }

    /// Says of a call of another type what is wrong.
    template <class Other>
    requires(!route_list<Routes>::template has<Other>) LANEWAY_FN answered<Other> call(Ctx&, int, const Other&) {
        static_assert(route_list<Routes>::template has<Other>,
                      "box.call takes a message of just a type of the mailbox: box.call(ctx, pe, M{...})");
        return {};
    }

    /// Waits until all working warps of all PEs have come to the same barrier and everything that was posted before it,
    /// anywhere, has been served, with all replies and forwards that followed. The whole warp, together; every
    /// working warp calls it equally often. What handlers wrote is visible afterwards.
    LANEWAY_FN status barrier(Ctx& ctx) {
        if constexpr (Ctx::warp_lanes == 1) {
            const status going = this->check_stop(ctx, full_warp<Ctx>);
            if (going != status::ok) return going;
        }
        ++barriers_;
        ctx.sync(full_warp<Ctx>);  // the last warp of the block speaks for all lanes
        switch (once(ctx, full_warp<Ctx>, [&] { return block_.arrive(ctx, team_.warps); })) {
            case block_barrier::arrival::leads: return lead(ctx);
            case block_barrier::arrival::uneven: return refuse(ctx);
            default: return await_open(ctx);
        }
    }

    /// Tells the block and the PE that this warp's functor has returned on all lanes: it comes to no barrier any more.
    /// The whole warp, together.
    LANEWAY_FN void leave(Ctx& ctx) {
        if (ctx.lane() == 0) ctx.fetch_add(&this->links().work->returned, 1, order::relaxed, scope::device);
        const auto met = once(ctx, full_warp<Ctx>, [&] { return block_.leave(ctx, team_.warps); });
        if (met == block_barrier::arrival::uneven) (void)refuse(ctx);
    }

    /// As sender::account.
    LANEWAY_FN void account(Ctx& ctx) const {
        base::account(ctx);
        const std::uint32_t calls = calls_ - static_cast<std::uint32_t>(ref_.answers.calls_before);
        if (calls == 0) return;
        ctx.fetch_max(&this->links().work->calls, ref_.answers.calls_before + calls, order::relaxed, scope::device);
    }

    /// Once everything is over: whether all warps of the block have shared the same posts by rendezvous. Where one has
    /// not, the last of them was never sent, and the run ends with uneven_post. Any lane.
    LANEWAY_FN void audit_shared(Ctx& ctx) {
        if constexpr (team_bytes<Routes> != 0) {
            const auto warps = static_cast<std::uint64_t>(team_.warps);
            const std::uint64_t stored = ctx.load(&rendezvous_state_->stored, order::relaxed, scope::block);
            if (stored == shared_rendezvous_ * warps || stopped(ctx)) return;
            (void)fail(ctx, status::uneven_post, operation::allocate, -1, stored % warps, warps);
        }
    }

    /// For a warp that has nothing to do, again and again: flush_ready, and sends what handlers have posted forward.
    /// The whole warp, together.
    LANEWAY_FN status advance(Ctx& ctx) {
        if constexpr (route_list<Routes>::forwards) (void)this->send_forwards(ctx, full_warp<Ctx>);
        return base::flush_ready(ctx);
    }

private:
    /// Sends a message by rendezvous.
    template <class Message, class Element>
    LANEWAY_FN status send_by_rendezvous(Ctx& ctx, width lanes, int pe, const Message& header,
                                         payload<const Element> payload) {
        status fine = this->check(ctx, pe);
        // Lanes hear of the end at different times, and what follows is for all of them.
        if (lanes != width::lane && ctx.ballot(full_warp<Ctx>, fine != status::ok) != 0 && fine == status::ok) {
            fine = status::stopped;
        }
        if (fine != status::ok) return fine;
        const std::uint64_t before = shared_rendezvous_;
        if (lanes == width::block) ++shared_rendezvous_;
        std::uint32_t calls = 0;
        const status result = base::aside(ctx, *this, [&](Ctx& here, endpoint& self) {
            const status sent = rendezvous<Ctx, endpoint, Message>(here, self, self.rendezvous_state_, before)
                                    .send(lanes, pe, header, payload);
            calls = self.calls_;
            return sent;
        });
        calls_ = calls;
        return result;
    }

    LANEWAY_SLOW status help_aside(Ctx& ctx, lane_mask mask) {
        if constexpr (route_list<Routes>::forwards) (void)this->send_forwards(ctx, mask);
        const status sent = this->flush_ready(ctx, mask);
        this->idle();
        return sent == status::ok && ends_now(ctx) ? status::stopped : sent;
    }

    /// Sends what the block has aggregated, makes its arrival known and waits until the barrier has opened. The whole
    /// warp, together.
    LANEWAY_FN status lead(Ctx& ctx) {
        ctx.sync(full_warp<Ctx>);  // what lane 0 has seen of the other warps comes before what the lanes send
        if (!this->all_left(ctx, full_warp<Ctx>)) {
            // Lanes may come out of it in groups, and when the run is ending not all need to have heard of it.
            const bool ends = base::drain(ctx) != status::ok;
            if (ctx.ballot(full_warp<Ctx>, ends) != 0) return status::stopped;
        }
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) block_.publish(ctx, this->links(), team_.warps);
        return await(ctx, [&] { return block_.follow(ctx, this->links(), this->links().before.released + barriers_); });
    }

    /// Waits until the warp that leads has opened the barrier. The whole warp, together.
    LANEWAY_FN status await_open(Ctx& ctx) {
        return await(ctx, [&] { return block_.is_open(ctx, this->links().before.released + barriers_); });
    }

    /// Waits until lane 0 sees that the barrier is open.
    template <class IsOpen>
    LANEWAY_FN status await(Ctx& ctx, IsOpen&& is_open) {
        enum : std::uint32_t { closed, open, ends };
        bounded_spin spin(2);
        for (unsigned looks = 0;; ++looks) {
            const auto seen = once(ctx, full_warp<Ctx>, [&]() -> std::uint32_t {
                if (is_open()) return open;
                // On a GPU the stop word and the clock are for one look in many: a thousand warps wait here.
                if (Ctx::warp_lanes >= 32 && looks % 8 != 0) {
                    ctx.pause(1);
                    return closed;
                }
                return spin.next(ctx, {operation::barrier, -1, barriers_}) == status::ok ? closed : ends;
            });
            ctx.sync(full_warp<Ctx>);  // what lane 0 acquired is visible to all
            if (seen == open) tell_history(ctx, [&](auto& history) { history.leave_barrier(barriers_); });
            if (seen != closed) return seen == open ? status::ok : status::stopped;
            if constexpr (route_list<Routes>::forwards || route_list<Routes>::replies) (void)advance(ctx);
            this->idle();
        }
    }

    /// Ends the run, unless it is ending: some warps of the block wait at a barrier, and all others have returned.
    LANEWAY_FN status refuse(Ctx& ctx) {
        if (ctx.lane() == 0 && !stopped(ctx)) {
            (void)fail(ctx, status::uneven_barrier, operation::barrier, -1, block_.waiting(ctx),
                       static_cast<std::uint64_t>(team_.warps));
        }
        return status::stopped;
    }

    template <class Value>
    LANEWAY_SLOW status await_answer(Ctx& ctx, lane_mask mask, bool here, int pe, std::uint64_t token, Value& value) {
        bounded_spin spin;
        unsigned looks = 0;
        for (;;) {
            // Looking is what brings the answer soon; before one look in eight, what the block has aggregated is sent.
            status going = looks++ % 8 == 0 ? help_aside(ctx, mask) : status::ok;
            here = here || ref_.answers.take(ctx, pe, token, value);
            if (ctx.ballot(mask, !here) == 0) return status::ok;
            if (going == status::ok) going = spin.next(ctx, {operation::call, pe, token & 0xffffffff});
            if (ctx.ballot(mask, going != status::ok) != 0) return status::stopped;
        }
    }

    const endpoint_ref<Routes>& ref_;
    block_barrier& block_;
    rendezvous_state* rendezvous_state_;
    std::uint32_t slot_;
    team_position team_;
    std::uint32_t calls_;  ///< number of the last one
    std::uint64_t barriers_ = 0;
    std::uint64_t shared_rendezvous_ = 0;  ///< that the whole block had part in
};

}  // namespace laneway
