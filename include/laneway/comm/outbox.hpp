// The sending half of a mailbox: any lane posts, also in divergent code; chunks leave when full, on flush and by age.
#pragma once

#include "laneway/comm/parcel_packer.hpp"
#include "laneway/comm/routes.hpp"

namespace laneway {

/// Gives `Outbox` a post function for one type of message, so that calls choose among all types by overloading.
template <class Outbox, class Ctx, class Message>
struct poster {
    /// Posts a message to a PE; its handler runs there later, once, on any lane, unordered against other messages.
    /// Any lane, also in divergent code. To the own PE: the handler runs before post returns. May wait for buffers
    /// (back-pressure). Fails with bad_pe, or stopped or timeout when the run ends.
    LANEWAY_FN status post(Ctx& ctx, int pe, const Message& message) {
        return static_cast<Outbox*>(this)->post_message(ctx, pe, message);
    }
};

/// The packer for one type of message.
template <class Ctx, class Message, class Handler>
using packer_of = std::conditional_t<taking_elements<Handler>, parcel_packer<Ctx, Message>,
                                     packer<Ctx, typename record_of<Message, Handler>::type>>;

/// In shared memory: work of a block that is not yet made known.
struct alignas(16) done_words {
    std::uint64_t completed;
    std::uint64_t arrived;
};

/// Shared memory that the outbox of a block needs.
template <class Routes>
constexpr std::size_t outbox_bytes(std::size_t chunk_bytes, int n_pes) {
    return sizeof(done_words) + route_list<Routes>::bins_bytes(chunk_bytes, n_pes);
}

template <class Ctx, class Routes, class Idle>
class outbox;

/// One lane's access to the bins of its block. `idle()` is called while lanes wait and must serve incoming chunks where
/// no other warp does.
template <class Ctx, class... M, class... H, class Idle>
class outbox<Ctx, routes<route<M, H>...>, Idle> : public poster<outbox<Ctx, routes<route<M, H>...>, Idle>, Ctx, M>...,
                                                  packer_of<Ctx, M, H>... {
    using routes_type = routes<route<M, H>...>;
    using list = route_list<routes_type>;
    template <class Message>
    using record = typename list::template record<Message>;
    template <class Message, class Outbox, class C>
    friend struct poster;

public:
    using poster<outbox, Ctx, M>::post...;

    /// `shared` lies in the block's shared memory, `completed` counts work in PE memory.
    LANEWAY_FN outbox(Ctx& ctx, const links_ref& links, std::size_t chunk_bytes, const delivery<routes_type>& handlers,
                      Idle idle, std::byte* shared, std::uint64_t* completed)
        : outbox(ctx, links, chunk_bytes, handlers, idle, *reinterpret_cast<done_words*>(shared),
                 shared_cursor{shared + sizeof(done_words)}, completed) {}

    /// Prepares the bins; all lanes of the block call it before any posts, and a block barrier must follow.
    LANEWAY_FN void open(Ctx& ctx) {
        (bins<M>().open(ctx), ...);
        if (ctx.warp() == 0 && ctx.lane() == 0) done_ = done_words{};
    }

    /// The most elements that a message of this type may carry.
    template <class Message>
    [[nodiscard]] LANEWAY_FN std::uint32_t longest() {
        using element = typename list::template handler<Message>::element;
        return parcel_shape<Message, element>::longest(bins<Message>().chunk_units());
    }

    /// Counts a message to the own PE that the caller has served itself, in the way the handler would. Any lane.
    LANEWAY_FN void count_direct() {
        ++tally_.posted;
        ++tally_.direct;
    }

    /// Sends what the block has gathered. Any set of lanes, together. On return every message posted before by these
    /// lanes has left or is being shipped by another warp of the block; see drain.
    LANEWAY_FN status flush(Ctx& ctx) {
        const lane_mask mask = ctx.converged();
        return aside(ctx, *this, [&](Ctx& here, outbox& self) {
            return self.each([&](auto& part) { return part.flush(here, mask, self.idle_); });
        });
    }

    /// Sends what has waited for the age limit. Any set of lanes, together.
    LANEWAY_FN status flush_old(Ctx& ctx) {
        const lane_mask mask = ctx.converged();
        return aside(ctx, *this, [&](Ctx& here, outbox& self) {
            return self.each([&](auto& part) { return part.flush_old(here, mask, self.idle_); });
        });
    }

    /// Flushes and waits until every message that lanes of this block posted before has left. Any set of lanes,
    /// together.
    LANEWAY_FN status drain(Ctx& ctx) {
        const lane_mask mask = ctx.converged();
        return aside(ctx, *this, [&](Ctx& here, outbox& self) { return self.drain(here, mask); });
    }

    /// Waits until every message that lanes of this block posted before has been served. Any set of lanes, together.
    /// What their handlers posted onward or replied may still be on its way.
    LANEWAY_FN status quiet(Ctx& ctx) {
        const lane_mask mask = ctx.converged();
        return aside(ctx, *this, [&](Ctx& here, outbox& self) {
            status result = self.drain(here, mask);
            for (int pe = 0; pe < here.n_pes() && result == status::ok; ++pe) {
                if (pe != here.pe()) result = self.await_served(here, mask, pe);
            }
            return result;
        });
    }

    /// Counts `items` of work as done once every message posted so far has left. Any lane; cheap, does not wait.
    LANEWAY_FN void complete(Ctx& ctx, std::uint64_t items) { count_later(ctx, done_.completed, completed_, items); }

    /// For a warp that has nothing to do, again and again: sends what the block has gathered and makes completed work
    /// known. A chunk is sent when the one before it has left, so while the way is busy chunks fill. Any set of lanes,
    /// together. Waits for ring slots only.
    LANEWAY_FN status run_dry(Ctx& ctx) {
        const lane_mask mask = ctx.converged();
        if (!anything_to_send(ctx, mask)) return status::ok;
        return aside(ctx, *this, [&](Ctx& here, outbox& self) { return self.run_dry(here, mask); });
    }

    /// Sends what handlers have posted onward, one post a lane at most; returns whether there was any. The lanes of the
    /// mask, together.
    LANEWAY_FN bool send_onward(Ctx& ctx, lane_mask mask) {
        const onward_ref& onward = handlers_.onward;
        std::uint64_t place = 0;
        const bool taken = onward.claim(ctx, place);
        if (taken) {
            list::visit(onward.slot(place).kind, [&]<class Message, class Handler>() {
                onward_slot& next = onward.slot(place);
                const auto pe = static_cast<int>(next.pe);
                if constexpr (!taking_elements<Handler>) {  // others are refused when they are posted
                    const Message message = *next.template message<Message>();
                    onward.give_back(ctx, place);
                    (void)post_alone(ctx, pe, message);  // a failure is told by the next post
                }
            });
        }
        const lane_mask lanes = ctx.ballot(mask, taken);
        if (lanes == 0) return false;
        ctx.sync(mask);  // the mates' posts come before the elected lane's account
        if (elected(ctx, mask)) complete(ctx, static_cast<std::uint64_t>(Ctx::count_lanes(lanes)));
        return true;
    }

    /// Adds what this lane has posted to the PE's counters, for the audit. Once, at the end.
    LANEWAY_FN void account(Ctx& ctx) const {
        if (tally_.posted == 0) return;
        ctx.fetch_add(&links_.work->posted, tally_.posted, order::relaxed, scope::device);
        ctx.fetch_add(&links_.work->direct, tally_.direct, order::relaxed, scope::device);
    }

protected:
    /// What a lane's posts have changed of its outbox.
    struct post_tally {
        std::uint64_t posted = 0;
        std::uint64_t direct = 0;
        status failed = status::ok;  ///< of an earlier post: the run is ending, and further posts return at once
    };

    /// Runs `slow` on copies of the context and of `self`, an outbox. A function that stays out of line takes their
    /// addresses, and an object whose address is taken lives in memory: each post would load its members from there.
    template <class Self, class Slow>
    LANEWAY_FN static status aside(Ctx& ctx, Self& self, Slow&& slow) {
        Ctx here(ctx);
        Self copy(self);
        const status result = slow(here, copy);
        self.tally_ = copy.tally_;
        return result;
    }

    /// Counts an arrival at a barrier, to be made known when every message posted so far has left. One lane a warp.
    LANEWAY_FN void arrive(Ctx& ctx) { count_later(ctx, done_.arrived, &links_.work->arrived, 1); }

    /// Sends the messages of the active lanes to another PE each, which exists. The lanes of the mask, together.
    /// `token`: see request.
    template <class Message>
    LANEWAY_FN status send(Ctx& ctx, lane_mask mask, bool active, int pe, const Message& message, std::uint64_t token) {
        // Where a warp is one lane, nobody else looks after the age of messages.
        if (Ctx::warp_lanes == 1 && (tally_.posted - tally_.direct) % 64 == 0) (void)flush_old(ctx);
        tally_.posted += active ? 1 : 0;
        if constexpr (std::is_same_v<record<Message>, Message>) {
            return bins<Message>().put(ctx, mask, active, pe, message, idle_);
        } else {
            return bins<Message>().put(ctx, mask, active, pe, {message, token}, idle_);
        }
    }

    /// Sends the messages of the mask's lanes past the bins where that is possible; false: none was sent.
    template <class Message>
    [[nodiscard]] LANEWAY_FN bool send_at_once(Ctx& ctx, lane_mask mask, int pe, const Message& message,
                                               std::uint64_t token, status& result) {
        const record<Message> carried{message, token};
        if (!bins<Message>().send_at_once(ctx, mask, pe, carried, result, idle_)) return false;
        ++tally_.posted;
        return true;
    }

    /// Whether run_dry would find anything. Cheap, as thousands of warps that have no work ask again and again.
    LANEWAY_FN bool anything_to_send(Ctx& ctx, lane_mask mask) {
        if (ctx.n_pes() == 1) return false;
        const bool done = once(ctx, mask, [&] {
            return ctx.load(&done_.completed, order::relaxed, scope::block) != 0 ||
                   ctx.load(&done_.arrived, order::relaxed, scope::block) != 0;
        });
        return done || (bins<M>().any_open(ctx, mask) || ...);
    }

    /// Posts a message with elements to a PE. Fails as post, and with too_long.
    template <class Message, class Element>
    LANEWAY_FN status post_parcel(Ctx& ctx, int pe, const Message& head, elements<const Element> body) {
        const std::uint32_t most = longest<Message>();
        if (body.size > most && tally_.failed == status::ok) {
            tally_.failed = fail(ctx, status::too_long, operation::post, pe, most * sizeof(Element));
        }
        const auto count = static_cast<std::uint32_t>(body.size);
        const outgoing_parcel<Message> parcel{{count, head},
                                              reinterpret_cast<const std::byte*>(body.data),
                                              count * parcel_shape<Message, Element>::element_bytes};
        return send_parcel(ctx, pe, parcel, body);
    }

    /// Sends a parcel to a PE, `body` to the own one.
    template <class Message, class Element>
    LANEWAY_FN status send_parcel(Ctx& ctx, int pe, const outgoing_parcel<Message>& parcel,
                                  elements<const Element> body) {
        if constexpr (list::posts_onward) {
            if (tally_.posted % 64 == 0) keep_onward_short(ctx);
        }
        const lane_mask mask = ctx.converged();
        return aside(ctx, *this,
                     [&](Ctx& here, outbox& self) { return self.send_parcel_aside(here, mask, pe, parcel, body); });
    }

    LANEWAY_SLOW status run_dry(Ctx& ctx, lane_mask mask) {
        if (!anything_to_send(ctx, mask)) return status::ok;
        const status sent = each([&](auto& part) { return part.flush_dry(ctx, mask, idle_); });
        const std::uint64_t items = take_done(ctx, mask, done_.completed);
        const std::uint64_t arrivals = take_done(ctx, mask, done_.arrived);
        if (sent != status::ok || (items == 0 && arrivals == 0)) return sent;
        const bool left = (bins<M>().all_left(ctx, mask) && ...);
        if (!elected(ctx, mask)) return status::ok;
        if (left) {
            publish(ctx, completed_, items);
            publish(ctx, &links_.work->arrived, arrivals);
        } else {
            // Partner: the exchange in take_done.
            ctx.fetch_add(&done_.completed, items, order::release, scope::block);
            ctx.fetch_add(&done_.arrived, arrivals, order::release, scope::block);
        }
        return status::ok;
    }

    /// Refuses a PE that does not exist, and everything once the run is ending.
    LANEWAY_FN status check(Ctx& ctx, int pe) {
        if (tally_.failed != status::ok) return tally_.failed;
        if (pe < 0 || pe >= ctx.n_pes()) return tally_.failed = fail(ctx, status::bad_pe, operation::post, pe);
        if (pe == ctx.pe() && tally_.posted % 64 == 0 && stopped(ctx)) return tally_.failed = status::stopped;
        return status::ok;
    }

    LANEWAY_FN const delivery<routes_type>& handlers() const { return handlers_; }
    LANEWAY_FN const links_ref& links() const { return links_; }
    LANEWAY_FN void idle() { idle_(); }

private:
    /// Places the packers' parts of the shared memory one behind the other.
    struct shared_cursor {
        std::byte* at;
        LANEWAY_FN std::byte* take(std::size_t bytes) {
            std::byte* const part = at;
            at += bytes;
            return part;
        }
    };

    LANEWAY_FN outbox(Ctx& ctx, const links_ref& links, std::size_t chunk_bytes, const delivery<routes_type>& handlers,
                      Idle idle, done_words& done, shared_cursor cursor, std::uint64_t* completed)
        : packer_of<Ctx, M, H>(
              ctx, links, chunk_shape<typename record_of<M, H>::type>::fitting(chunk_bytes), list::template kind<M>,
              cursor.take(
                  chunk_shape<typename record_of<M, H>::type>::fitting(chunk_bytes).shared_bytes(ctx.n_pes())))...,
          links_(links), handlers_(handlers), idle_(idle), done_(done), completed_(completed) {}

    template <class Message>
    LANEWAY_FN packer_of<Ctx, Message, typename list::template handler<Message>>& bins() {
        return *this;
    }

    /// Runs `use` on the packer of each type until one fails.
    template <class Use>
    LANEWAY_FN status each(Use&& use) {
        status result = status::ok;
        (void)(((result = use(bins<M>())) == status::ok) && ...);
        return result;
    }

    template <class Message>
    LANEWAY_FN status post_message(Ctx& ctx, int pe, const Message& message) {
        static_assert(!list::template takes_elements<Message>,
                      "this type takes elements: post(ctx, pe, head, data, n)");
        if constexpr (list::posts_onward) {
            if (tally_.posted % 64 == 0) keep_onward_short(ctx);
        }
        return post_alone(ctx, pe, message);
    }

    /// Sends what handlers have posted onward: on a PE without flushers nobody else does while functors post.
    LANEWAY_FN void keep_onward_short(Ctx& ctx) {
        const lane_mask mask = ctx.converged();
        // Others wait for this PE to serve, and their lists grow meanwhile.
        if constexpr (Ctx::warp_lanes == 1) idle_();
        while (send_onward(ctx, mask)) {
        }
    }

    template <class Message>
    LANEWAY_FN status post_alone(Ctx& ctx, int pe, const Message& message) {
        // Lanes that arrive together leave together. A warp that fell apart at each post, as some of its lanes post to
        // the own PE, would soon post lane by lane.
        const lane_mask mask = ctx.converged();
        status result = check(ctx, pe);
        const bool own = pe == ctx.pe();
        const bool leaves = result == status::ok && !own;
        if (result == status::ok && own) {
            count_direct();
            handlers_.run_own(ctx, message);
        }
        if (ctx.ballot(mask, leaves) != 0) {
            const status sent = send(ctx, mask, leaves, pe, message, 0);
            if (leaves) result = tally_.failed = sent;
        }
        return result;
    }

    /// As post_alone, for the lanes of the mask, together.
    template <class Message, class Element>
    LANEWAY_SLOW status send_parcel_aside(Ctx& ctx, lane_mask mask, int pe, const outgoing_parcel<Message>& parcel,
                                          elements<const Element> body) {
        status result = check(ctx, pe);
        const bool own = pe == ctx.pe();
        const bool leaves = result == status::ok && !own;
        if (result == status::ok && own) {
            count_direct();
            handlers_.run(ctx, parcel.header.head, body);
        }
        if (ctx.ballot(mask, leaves) != 0) {
            if (Ctx::warp_lanes == 1 && (tally_.posted - tally_.direct) % 64 == 0) (void)flush_old(ctx);
            tally_.posted += leaves ? 1 : 0;
            const status sent = bins<Message>().put_parcel(ctx, mask, leaves, pe, parcel, idle_);
            if (leaves) result = tally_.failed = sent;
        }
        return result;
    }

    LANEWAY_SLOW status drain(Ctx& ctx, lane_mask mask) {
        const status sent = each([&](auto& part) { return part.flush(ctx, mask, idle_); });
        if (sent != status::ok) return sent;
        return each([&](auto& part) { return part.await_left(ctx, mask, idle_); });
    }

    LANEWAY_FN void count_later(Ctx& ctx, std::uint64_t& gathered, std::uint64_t* known, std::uint64_t items) {
        if (ctx.n_pes() == 1) {
            publish(ctx, known, items);
        } else {
            // Partner: the exchange in take_done.
            ctx.fetch_add(&gathered, items, order::release, scope::block);
        }
    }

    LANEWAY_FN std::uint64_t take_done(Ctx& ctx, lane_mask mask, std::uint64_t& gathered) {
        // Partner: the release add in count_later. The messages of this work are in bins that all_left covers.
        return once(ctx, mask, [&]() -> std::uint64_t {
            if (ctx.load(&gathered, order::relaxed, scope::block) == 0) return 0;
            return ctx.exchange(&gathered, 0, order::acquire, scope::block);
        });
    }

    LANEWAY_FN static void publish(Ctx& ctx, std::uint64_t* known, std::uint64_t items) {
        // Partner: the acquire load of the ledger. What the items created has been counted before.
        if (items != 0) ctx.fetch_add(known, items, order::release, scope::device);
    }

    /// Waits until all chunks so far have been served. The same answer for all lanes of the mask, together.
    LANEWAY_SLOW status await_served(Ctx& ctx, lane_mask mask, int pe) {
        const chunk_sender& ring = links_.to[pe];
        // One look for all: lanes that saw different tails would share out different tickets and leave some to nobody.
        const std::uint64_t end = once(ctx, mask, [&] { return ctx.load(ring.tail, order::relaxed, scope::device); });
        std::uint64_t next = end < ring.n_slots ? 0 : end - ring.n_slots;
        next += static_cast<std::uint64_t>(rank_in(ctx, mask));
        bounded_spin spin;
        for (;;) {
            // Partner: chunk_receiver::give_back. The handlers' effects are visible to this lane afterwards.
            while (next < end && ctx.load(ring.credits + ring.slot_of(next), order::acquire, scope::system) > next) {
                next += static_cast<std::uint64_t>(Ctx::count_lanes(mask));
            }
            if (ctx.ballot(mask, next < end) == 0) break;
            idle_();
            const status going = spin.next(ctx, {operation::quiet, pe, next});
            if (ctx.ballot(mask, going != status::ok) != 0) return status::stopped;
        }
        ctx.sync(mask);  // what a lane has acquired is visible to its mates
        return status::ok;
    }

    const links_ref& links_;
    const delivery<routes_type>& handlers_;
    Idle idle_;
    done_words& done_;
    std::uint64_t* completed_;  ///< in PE memory: work made known, read by the ledger
    post_tally tally_;
};

}  // namespace laneway
