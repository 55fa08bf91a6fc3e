// The sending half of a mailbox: any lane posts, also in divergent code; chunks leave when full, on flush and by age.
#pragma once

#include "laneway/comm/block_aggregation.hpp"
#include "laneway/comm/lossless.hpp"
#include "laneway/comm/shared_buffers.hpp"

namespace laneway {

/// Gives `Sender` a post function for one type of message, so that calls choose among all types by overloading.
template <class Sender, class Ctx, class Message>
struct typed_sender {
    /// Posts a message to a PE; its handler runs there later, once, on any lane, unordered against other messages.
    /// Any lane, also in divergent code. To the own PE: the handler runs before post returns; what it forwards
    /// may be served there as well. May wait for buffers (back-pressure). Fails with bad_pe, or stopped or timeout when
    /// the run ends.
    LANEWAY_FN status post(Ctx& ctx, int pe, const Message& message) {
        return static_cast<Sender*>(this)->post_message(ctx, pe, message);
    }
};

/// The same where messages are numbers: another number becomes one by itself where that holds it whole.
template <class Sender, class Ctx, number Message>
struct typed_sender<Sender, Ctx, Message> {
    template <std::same_as<Message> Own>
    LANEWAY_FN status post(Ctx& ctx, int pe, const Own& message) {
        return static_cast<Sender*>(this)->post_message(ctx, pe, message);
    }
    LANEWAY_FN status post(Ctx& ctx, int pe, const given_number<Message>& message) {
        return static_cast<Sender*>(this)->post_message(ctx, pe, message.value());
    }
};

template <class Ctx, class Routes, class Idle>
class sender;

/// One lane's access to the aggregation buffers of its block. `idle()` is called while lanes wait and must serve
/// incoming chunks where no other warp does.
template <class Ctx, class... M, class... H, class Idle>
class sender<Ctx, routes<route<M, H>...>, Idle>
    : public typed_sender<sender<Ctx, routes<route<M, H>...>, Idle>, Ctx, M>...,
      public block_aggregation<Ctx, typename route_list<routes<route<M, H>...>>::carried, Idle> {
    using routes_type = routes<route<M, H>...>;
    using list = route_list<routes_type>;
    using base = block_aggregation<Ctx, typename list::carried, Idle>;
    template <class Message>
    using record = typename list::template record<Message>;
    template <class Message, class Sender, class C>
    friend struct typed_sender;

public:
    using typed_sender<sender, Ctx, M>::post...;

    /// Says of a message that no handler serves what is wrong, in place of a list of all posts.
    template <class Other>
    requires(!std::is_convertible_v<const Other&, M> && ...) LANEWAY_FN status post(Ctx&, int, const Other&) {
        static_assert(list::template has<Other>,
                      "this mailbox carries no message of this type: name it in runtime.mailbox<...>");
        return status::stopped;
    }

    /// The same of a number that would be cut, where no type of message holds it whole.
    template <class Other>
    requires(!list::template has<Other> && (loses_bits<Other, M> || ...) && !(holds_whole<Other, M> || ...))
        LANEWAY_FN status post(Ctx&, int, const Other&) {
        static_assert(list::template has<Other>,
                      "this number may lose a fraction or bits as a message of this mailbox: convert it where it is "
                      "posted, by static_cast");
        return status::stopped;
    }

    /// As block_aggregation.
    LANEWAY_FN sender(Ctx& ctx, const links_ref& links, std::size_t chunk_bytes, const delivery<routes_type>& handlers,
                      Idle idle, std::byte* shared, std::uint64_t* completed)
        : base(ctx, links, chunk_bytes, idle, shared, completed), handlers_(handlers) {}

    /// Counts a message to the own PE that the caller has served itself, in the way the handler would. Any lane.
    LANEWAY_FN void count_direct() {
        ++tally_.posted;
        ++tally_.direct;
    }

    /// Adds an application's work items to those that the run reports. Any lane.
    LANEWAY_FN void count_items(Ctx& ctx, std::uint64_t items) {
        if (items != 0) ctx.fetch_add(&this->links().work->items, items, order::relaxed, scope::device);
    }

    /// For operations that bypass the endpoint and may find nothing to wait for: where a lane has all roles, one call
    /// in 64 serves and takes a turn at control. Elsewhere other warps do that: on a checked device the scheduler may
    /// let them run, on a GPU this costs nothing. Fails with stopped when the run ends; a GPU's lanes hear of it
    /// elsewhere.
    LANEWAY_FN status progress([[maybe_unused]] Ctx& ctx) {
        if constexpr (on_cpu) {
            ctx.step();
            if (++tally_.turns % 64 != 0) return status::ok;
            if constexpr (Ctx::warp_lanes == 1) return this->check_stop(ctx, full_warp<Ctx>);
            if (stopped(ctx)) return status::stopped;
        }
        return status::ok;
    }

    /// Sends what the block has aggregated. Any set of lanes, together. On return every message posted before by these
    /// lanes has left or is being shipped by another warp of the block; see drain.
    LANEWAY_FN status flush(Ctx& ctx) {
        const lane_mask mask = ctx.converged();
        return aside(ctx, *this, [&](Ctx& here, sender& self) {
            const status going = self.check_stop(here, mask);
            if (going != status::ok) return going;
            return self.each([&](auto& part) { return part.flush(here, mask, self.idler()); });
        });
    }

    /// Sends what has waited for the age limit. Any set of lanes, together.
    LANEWAY_FN status flush_old(Ctx& ctx) {
        const status going = progress(ctx);
        if (going != status::ok) return going;
        const lane_mask mask = ctx.converged();
        return aside(ctx, *this, [&](Ctx& here, sender& self) {
            return self.each([&](auto& part) { return part.flush_old(here, mask, self.idler()); });
        });
    }

    /// Flushes and waits until every message that lanes of this block posted before has left. Any set of lanes,
    /// together.
    LANEWAY_FN status drain(Ctx& ctx) {
        const lane_mask mask = ctx.converged();
        return aside(ctx, *this, [&](Ctx& here, sender& self) { return self.drain(here, mask); });
    }

    /// Waits until every message that lanes of this block posted before has been served. Any set of lanes, together.
    /// What their handlers forwarded or replied may still be on its way.
    LANEWAY_FN status quiet(Ctx& ctx) {
        const lane_mask mask = ctx.converged();
        return aside(ctx, *this, [&](Ctx& here, sender& self) {
            status result = self.drain(here, mask);
            for (int pe = 0; pe < here.n_pes() && result == status::ok; ++pe) {
                if (pe != here.pe()) result = self.await_served(here, mask, pe);
            }
            if (result == status::ok) tell_history(here, [](auto& history) { history.leave_quiet(); });
            return result;
        });
    }

    /// Counts `items` of work as done once every message posted so far has left. Any lane; cheap, does not wait.
    LANEWAY_FN void complete(Ctx& ctx, std::uint64_t items, order told = order::release) {
        this->done().complete(ctx, items, told);
    }

    /// For a warp that has nothing to do, again and again: sends what the block has aggregated and makes completed work
    /// known. A chunk is sent when the one before it has left, so while the way is busy chunks fill. Any set of lanes,
    /// together. Waits for ring slots only.
    LANEWAY_FN status flush_ready(Ctx& ctx) {
        const status going = progress(ctx);
        if (going != status::ok) return going;
        const lane_mask mask = ctx.converged();
        if (!this->anything_to_send(ctx, mask)) return status::ok;
        return aside(ctx, *this, [&](Ctx& here, sender& self) { return self.flush_ready(here, mask); });
    }

    template <class Message>
    static constexpr bool carries = list::template has<Message>;

    /// Leaves a message beside those that handlers forward, for whoever sends these; false: there is no room now. The
    /// PE exists. Any lane; does not wait.
    template <class Message>
    [[nodiscard]] LANEWAY_FN bool try_forward(Ctx& ctx, int pe, const Message& message) {
        static_assert(list::forwards, "only where handlers, or a component, forward is there a queue for it");
        return handlers_.forward.try_put(ctx, pe, list::template kind<Message>, message);
    }

    /// Sends what handlers have forwarded, one post a lane at most; returns whether there was any. The lanes of the
    /// mask, together.
    LANEWAY_FN bool send_forwards(Ctx& ctx, lane_mask mask) {
        if (this->links().keeps_forwards) return false;
        const forward_queue_ref& queue = handlers_.forward;
        std::uint64_t ticket = 0;
        const bool taken = queue.claim(ctx, ticket);
        if (taken) {
            list::visit(queue.slot(ticket).kind, [&]<class Message, class Handler>() {
                forward_slot& next = queue.slot(ticket);
                const auto pe = static_cast<int>(next.pe);
                if constexpr (!taking_payload<Handler>) {  // others are refused when they are posted
                    const Message message = *next.template message<Message>();
                    const served_scope scope(ctx, [&](auto& history) { history.begin_forward(&next); });
                    queue.give_back(ctx, ticket);
                    pending_forward<list> pending;
                    const lane_mask mates = ctx.converged();
                    (void)post_alone(ctx, mates, pe, message, pending);      // a failure is told by the next post
                    if (pending.any()) (void)pending.hand_over(ctx, queue);  // goes on from the queue, as it came
                }
            });
        }
        const lane_mask lanes = ctx.ballot(mask, taken);
        if (lanes == 0) return false;
        ctx.sync(mask);  // the mates' posts come before the elected lane's account
        if (elected(ctx, mask)) this->done().forward(ctx, static_cast<std::uint64_t>(Ctx::count_lanes(lanes)));
        return true;
    }

    /// Adds what this lane has posted to the PE's counters, for the audit. Once, at the end.
    LANEWAY_FN void account(Ctx& ctx) const {
        if (tally_.posted == 0) return;
        ctx.fetch_add(&this->links().work->posted, tally_.posted, order::relaxed, scope::device);
        ctx.fetch_add(&this->links().work->direct, tally_.direct, order::relaxed, scope::device);
    }

protected:
    using base::drain;
    using base::flush_ready;

    static constexpr bool on_cpu = requires(Ctx & ctx) { ctx.step(); };

    struct none {};
    /// What a lane's posts have changed of its sender.
    struct post_tally {
        std::uint64_t posted = 0;
        std::uint64_t direct = 0;
        status failed = status::ok;  ///< of an earlier post: the run is ending, and further posts return at once
        /// Calls of post. Where handlers forward, `posted` grows between them; elsewhere it would cost a register.
        std::conditional_t<list::forwards, std::uint32_t, none> calls{};
        std::conditional_t<on_cpu, std::uint32_t, none> turns{};  ///< calls of progress
    };

    /// Runs `slow` on copies of the context and of `self`, a sender. A function that stays out of line takes their
    /// addresses, and an object whose address is taken lives in memory: each post would load its members from there.
    template <class Self, class Slow>
    LANEWAY_FN static status aside(Ctx& ctx, Self& self, Slow&& slow) {
        Ctx here(ctx);
        Self copy(self);
        const status result = slow(here, copy);
        self.tally_ = copy.tally_;
        return result;
    }

    /// Sends the messages of the active lanes to another PE each, which exists. The lanes of the mask, together.
    /// `token`: see request.
    template <class Message>
    LANEWAY_FN status send(Ctx& ctx, lane_mask mask, bool active, int pe, const Message& message, std::uint64_t token) {
        count_posts(ctx, active);
        if constexpr (list::template shares<Message>) {
            return put_shared(ctx, mask, active, pe, shared_of<list>(message, token));
        } else if constexpr (std::is_same_v<record<Message>, Message>) {
            return this->template aggregator_for<Message>().put(ctx, mask, active, pe, message, this->idler());
        } else {
            return this->template aggregator_for<Message>().put(ctx, mask, active, pe, {message, token}, this->idler());
        }
    }

    /// Sends the messages of the mask's lanes past the aggregation buffers where that is possible; false: none was
    /// sent.
    template <class Message>
    [[nodiscard]] LANEWAY_FN bool send_at_once(Ctx& ctx, lane_mask mask, int pe, const Message& message,
                                               std::uint64_t token, status& result) {
        if constexpr (list::template shares<Message>) {
            return false;
        } else {
            const record<Message> carried{message, token};
            if (!this->template aggregator_for<Message>().send_at_once(ctx, mask, pe, carried, result, this->idler()))
                return false;
            ++tally_.posted;
            return true;
        }
    }

    /// Runs the handler of a message to the own PE, and returns what it returns. Any lane; follow must come afterwards.
    template <class Message, class... Payload>
    LANEWAY_FN decltype(auto) serve_own(Ctx& ctx, pending_forward<list>& pending, const Message& message,
                                        Payload... payload) {
        count_direct();
        return handlers_.run_own(ctx, pending, message, payload...);
    }

    /// Sends what handlers of own messages have posted, and what follows from it, for some hops. The lanes of the mask,
    /// together.
    LANEWAY_FN void follow(Ctx& ctx, lane_mask mask, const pending_forward<list>& pending) {
        if constexpr (list::forwards) {
            if (ctx.ballot(mask, pending.any()) == 0) return;
            (void)aside(ctx, *this, [&](Ctx& here, sender& self) { return self.follow_aside(here, mask, pending); });
        }
    }

    /// Posts a message with elements to a PE. Fails as post, and with too_long.
    template <class Message, class Element>
    LANEWAY_FN status post_variable(Ctx& ctx, int pe, const Message& header, payload<const Element> payload) {
        const std::uint32_t most = this->template longest<Message>();
        if (payload.size > most && tally_.failed == status::ok) {
            tally_.failed = fail(ctx, status::too_long, operation::post, pe, bytes_of<Element>(payload.size),
                                 most * sizeof(Element));
        }
        const auto count = static_cast<std::uint32_t>(payload.size);
        const outgoing_variable<Message> outgoing{{count, header},
                                                  reinterpret_cast<const std::byte*>(payload.data),
                                                  count * variable_shape<Message, Element>::element_bytes};
        return send_variable(ctx, pe, outgoing, payload);
    }

    /// Sends a variable-length message to a PE, `body` to the own one.
    template <class Message, class Element>
    LANEWAY_FN status send_variable(Ctx& ctx, int pe, const outgoing_variable<Message>& outgoing,
                                    payload<const Element> payload) {
        limit_forwards(ctx);
        const lane_mask mask = ctx.converged();
        return aside(ctx, *this, [&](Ctx& here, sender& self) {
            return self.send_variable_aside(here, mask, pe, outgoing, payload);
        });
    }

    /// Counts what lanes are about to send.
    LANEWAY_FN void count_posts(Ctx& ctx, bool active) {
        // Where a warp is one lane, nobody else looks after the age of messages.
        if (Ctx::warp_lanes == 1 && (tally_.posted - tally_.direct) % 64 == 0) (void)flush_old(ctx);
        tally_.posted += active ? 1 : 0;
    }

    /// Refuses a PE that does not exist, and everything once the run is ending.
    LANEWAY_FN status check(Ctx& ctx, int pe, operation what = operation::post) {
        if (tally_.failed != status::ok) {
            if constexpr (on_cpu) ctx.step();  // a loop that ignores it must let the steps end
            return tally_.failed;
        }
        if (pe < 0 || pe >= ctx.n_pes()) return tally_.failed = fail(ctx, status::bad_pe, what, pe);
        // Others may wait, and so see the end of the run themselves.
        if (Ctx::warp_lanes > 1 && pe == ctx.pe() && tally_.direct % 64 == 0 && stopped(ctx)) {
            return tally_.failed = status::stopped;
        }
        return tally_.failed = progress(ctx);
    }

    /// At one post in 64 sends what handlers have forwarded: on a PE without flushers nobody else does while
    /// functors post.
    LANEWAY_FN void limit_forwards(Ctx& ctx) {
        if constexpr (list::forwards) {
            if (++tally_.calls % 64 != 0) return;
            const lane_mask mask = ctx.converged();
            unsigned sent = 0;
            do {
                // Others wait for this PE to serve, and their lists grow meanwhile; and somebody must see the deadline.
                if (sent++ % 64 != 0) continue;
                this->idle();
                if (once(ctx, mask, [&] { return std::uint32_t{stopped(ctx)}; }) != 0) return;
            } while (send_forwards(ctx, mask));
        }
    }

private:
    static constexpr int max_hops = 64;

    template <class Message>
    LANEWAY_FN status post_message(Ctx& ctx, int pe, const Message& message) {
        static_assert(!list::template takes_payload<Message>,
                      "this type takes a payload: post(ctx, pe, header, data, n)");
        limit_forwards(ctx);
        const lane_mask mask = ctx.converged();
        pending_forward<list> pending;
        const status result = post_alone(ctx, mask, pe, message, pending);
        follow(ctx, mask, pending);
        return result;
    }

    template <class Message>
    LANEWAY_FN status post_alone(Ctx& ctx, lane_mask mask, int pe, const Message& message,
                                 pending_forward<list>& pending) {
        return dispatch(
            ctx, mask, pe, [&] { serve_posted(ctx, pending, message); },
            [&](bool leaves) { return send(ctx, mask, leaves, pe, message, 0); });
    }

    /// Sends a message of any type that shares aggregation buffers.
    LANEWAY_SLOW status put_shared(Ctx& ctx, lane_mask mask, bool active, int pe,
                                   const outgoing_variable<typename list::shared>& outgoing) {
        return aside(ctx, *this, [&](Ctx& here, sender& self) {
            return self.template aggregator_for<typename list::shared>().put_variable(here, mask, active, pe, outgoing,
                                                                                      self.idler());
        });
    }

    template <class Message, class Element>
    LANEWAY_SLOW status send_variable_aside(Ctx& ctx, lane_mask mask, int pe,
                                            const outgoing_variable<Message>& outgoing,
                                            payload<const Element> payload) {
        pending_forward<list> pending;
        const status result = dispatch(
            ctx, mask, pe, [&] { serve_own(ctx, pending, outgoing.envelope.header, payload); },
            [&](bool leaves) {
                count_posts(ctx, leaves);
                return this->template aggregator_for<Message>().put_variable(ctx, mask, leaves, pe, outgoing,
                                                                             this->idler());
            });
        follow(ctx, mask, pending);
        return result;
    }

    /// Each lane of the mask has a message for a PE: runs `serve()` on those that are their own PE's, and
    /// `send(leaves)` on all where some are not. Lanes that arrive together leave together: a warp that fell apart at
    /// each post, as some of its lanes post to the own PE, would soon post lane by lane.
    template <class Serve, class Send>
    LANEWAY_FN status dispatch(Ctx& ctx, lane_mask mask, int pe, Serve&& serve, Send&& send) {
        status result = check(ctx, pe);
        const bool own = pe == ctx.pe();
        const bool leaves = result == status::ok && !own;
        if (result == status::ok && own) {
            serve();
            if (threw(ctx)) result = tally_.failed = status::stopped;
        }
        if (ctx.ballot(mask, leaves) != 0) {
            const status sent = send(leaves);
            if (leaves) result = tally_.failed = sent;
        }
        return result;
    }

    LANEWAY_SLOW status follow_aside(Ctx& ctx, lane_mask mask, pending_forward<list> pending) {
        for (int hops = 0; ctx.ballot(mask, pending.any()) != 0; ++hops) {
            if (!pending.any()) continue;
            pending_forward<list> next;
            if (hops == max_hops) {
                // The lane's own work goes on. A failure has ended the run.
                (void)pending.hand_over(ctx, handlers_.forward);
                pending = next;
                continue;
            }
            list::visit(pending.kind, [&]<class Message, class Handler>() {
                if constexpr (!taking_payload<Handler>) {  // others are refused when they are posted
                    const lane_mask mates = ctx.converged();
                    const served_scope scope(ctx, [](auto& history) { history.begin_pending(); });
                    // As in send_forwards.
                    (void)post_alone(ctx, mates, pending.pe, *pending.template message<Message>(), next);
                }
            });
            pending = next;
        }
        return status::ok;
    }

    /// Serves a message that a lane has posted to its own PE, and the answer where it is a message as well.
    template <class Message>
    LANEWAY_FN void serve_posted(Ctx& ctx, pending_forward<list>& pending, const Message& message) {
        using handler = typename list::template handler<Message>;
        if constexpr (answering<handler>) {
            const typename handler::answer answer = serve_own(ctx, pending, message);
            if constexpr (list::template has<typename handler::answer>) {
                if (!threw(ctx)) handlers_.run_own(ctx, pending, answer);
            }
        } else {
            serve_own(ctx, pending, message);
        }
    }

    const delivery<routes_type>& handlers_;
    post_tally tally_;
};

}  // namespace laneway
