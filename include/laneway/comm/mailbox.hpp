// The mailbox: messages of one type or several, each served by its handler on the PE it is posted to.
#pragma once

#include "laneway/comm/barrier.hpp"
#include "laneway/comm/box.hpp"
#include "laneway/comm/parcel_server.hpp"
#include "laneway/comm/reply_desk.hpp"
#include "laneway/comm/roles.hpp"
#include "laneway/comm/server.hpp"
#include "laneway/comm/waves.hpp"

namespace laneway {

/// Counts a PE's work for the waves: `initial` functors, messages, and posts that handlers made. Where handlers post
/// nothing, a PE whose functors have all returned creates no work.
template <class Ctx, class List>
struct message_ledger {
    const links_ref& links;
    std::uint64_t initial;

    static constexpr bool closed = !List::posts_onward && !List::replies;

    LANEWAY_FN bool at_rest(Ctx& ctx) const {
        return once(ctx, full_warp<Ctx>,
                    [&] { return ctx.load(&links.work->completed, order::relaxed, scope::device) == initial; });
    }

    LANEWAY_FN wave_reply look(Ctx& ctx) {
        wave_reply sum;
        // Where closed, what functors have created is final when all are seen to have returned: it is read after them.
        add(ctx, 0, 1, sum);
        if constexpr (closed) ctx.sync(full_warp<Ctx>);
        add(ctx, 1, own_words + ctx.n_pes(), sum);
        std::uint64_t sums[] = {sum.served, sum.completed, sum.created};
        warp_sums(ctx, sums);
        wave_reply now;
        now.served = sums[0];
        now.completed = now.served + sums[1];
        now.created = initial + sums[2];
        if (closed) now.busy = initial - sums[1];
        return now;
    }

    /// There is no threshold.
    LANEWAY_FN void apply(Ctx&, std::uint64_t) {}

private:
    static constexpr int own_words = 6;

    /// Adds up counters `first` to `last`. They are loaded at once, each by another lane where there are enough: an
    /// acquire load waits for its answer before the next may start.
    LANEWAY_FN void add(Ctx& ctx, int first, int last, wave_reply& sum) const {
        for (int word = first + ctx.lane(); word < last; word += Ctx::warp_lanes) {
            work_counters& work = *links.work;
            const std::uint64_t* at = word < own_words ? &work.completed : &links.sent[word - own_words].messages;
            if (word == 1) at = &work.forwarded;
            if (word == 2) at = &work.served;
            if (word == 3) at = &work.replies_served;
            if (word == 4) at = &work.deferred;
            if (word == 5) at = &work.replied;
            // Partners: the release adds of servers and workers. What they created is counted later.
            const std::uint64_t value = ctx.load(at, order::acquire, scope::device);
            sum.completed += word <= 1 ? value : 0;
            sum.served += word == 2 || word == 3 ? value : 0;
            sum.created += word >= 4 ? value : 0;
        }
    }
};

/// The share of a GPU's blocks that serve while a functor runs. One that computes much and posts little says
/// `static constexpr double server_share = ...;`, between 0 and 1: one block serves at least.
template <class Functor>
inline constexpr double server_share_of = usual_server_share;
template <class Functor>
requires requires { Functor::server_share; }
inline constexpr double server_share_of<Functor> = Functor::server_share;

/// The program that runs an application's functor over a mailbox: every working lane calls
/// `functor(ctx, box)` once, with ctx.rank() of ctx.size() as its place in the job.
template <class Routes, class Functor>
struct mailbox_program {
    static constexpr int cuda_warps = 32;
    static constexpr bool has_flushers = true;
    static constexpr double server_share = server_share_of<Functor>;
    using routes_type = Routes;
    using list = route_list<Routes>;

    /// Shared memory of a block.
    static std::size_t shared_bytes(std::size_t chunk_bytes, int n_pes) {
        return sizeof(turn_board) + sizeof(block_barrier) + team_bytes<Routes> +
               outbox_bytes<Routes>(chunk_bytes, n_pes) + list::reply_bytes(chunk_bytes, n_pes);
    }

    mailbox_ref<Routes> mailbox;
    waves_ref waves;
    barrier_ref barriers;
    Functor functor;
    std::uint64_t first_rank = 0;  ///< of this PE's working lanes
    std::uint64_t ranks = 1;
    std::uint64_t worker_warps = 1;
    int server_blocks = 0;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        constexpr bool one_lane = Ctx::warp_lanes == 1;
        const links_ref& links = mailbox.links;
        const roles mine(ctx, server_blocks, has_flushers);
        using ledger = message_ledger<Ctx, list>;
        wave_control<Ctx, ledger> control(ctx, waves, {links, worker_warps});
        barrier_control<Ctx> meeting(barriers, links, mailbox.replies, worker_warps);
        unsigned turns = 0;
        const auto steer = [&] {
            // Where warps meet, the waves would say nothing but that the run goes on.
            const bool meets = meeting.turn(ctx);
            if (one_lane || !meets || ++turns % 64 == 0) {
                control.turn(ctx);
            } else {
                control.watch(ctx);
            }
        };

        server replies_in(ctx, mailbox.replies, mine.server_index, plain_service<Ctx>{ctx, mailbox.handlers});
        const auto serve_replies = [&] {
            if constexpr (list::replies) return replies_in.turn(ctx);
            return false;
        };
        std::byte* shared = ctx.shared() + sizeof(turn_board) + sizeof(block_barrier);
        reply_desk<Ctx, Routes, decltype(serve_replies)> desk(ctx, mailbox.replies, mailbox.chunk_bytes,
                                                              mailbox.handlers, mailbox.answers, serve_replies, shared);
        shared += list::reply_bytes(mailbox.chunk_bytes, ctx.n_pes());
        server requests_in(ctx, links, mine.server_index, request_service<Ctx, decltype(desk)>{ctx, mailbox, desk});
        const auto serve = [&] {
            bool busy = requests_in.turn(ctx);
            busy = serve_replies() || busy;
            if (list::replies && !busy) desk.run_dry(ctx);
            return busy;
        };
        const auto idle = [&] {
            if constexpr (one_lane) {
                return [&] {
                    serve();
                    if (mine.control) steer();
                };
            } else {
                return [] {};  // refers to nothing, so that nothing must lie in memory for its sake
            }
        }();
        auto* board = reinterpret_cast<turn_board*>(ctx.shared());
        box<Ctx, Routes, decltype(idle)> out(
            ctx, mailbox, idle, shared, *reinterpret_cast<block_barrier*>(ctx.shared() + sizeof(turn_board)), mine);
        out.open(ctx);
        desk.open(ctx);
        if (ctx.warp() == 0 && ctx.lane() == 0) board->open();
        ctx.sync_block();
        ctx.set_rank(first_rank + static_cast<std::uint64_t>(mine.worker_index * Ctx::warp_lanes + ctx.lane()), ranks);
        bool worked = false;
        run_turns(
            ctx, mine, board, waves.finished, steer, serve,
            [&] {
                if (worked) {
                    (void)out.advance(ctx);
                    if (!one_lane)
                        ctx.pause(5);  // thousands of warps that look for work would slow those that have some
                    return false;
                }
                worked = true;
                run_user_code(ctx, {user_code::functor}, functor, ctx, out);
                ctx.sync(full_warp<Ctx>);
                out.leave(ctx);
                if (ctx.lane() == 0) out.complete(ctx, 1);
                return true;
            },
            [] {},
            [&] {
                if constexpr (list::posts_onward) (void)out.send_onward(ctx, full_warp<Ctx>);
                (void)out.flush_old(ctx);
            });
        out.account(ctx);
        if (mine.works) out.audit_shared(ctx);
    }

private:
    /// Serves chunks of replies.
    template <class Ctx>
    struct plain_service {
        Ctx& ctx;
        const delivery<Routes>& handlers;

        LANEWAY_FN void operator()(int source, const arrived_chunk& chunk) const {
            list::visit(chunk.label.kind(), [&]<class Message, class Handler>() {
                if constexpr (list::template is_reply<Message>) serve_plain<Ctx, Message>(ctx, handlers, source, chunk);
            });
        }
    };

    /// Serves chunks of requests.
    template <class Ctx, class Desk>
    struct request_service {
        Ctx& ctx;
        const mailbox_ref<Routes>& mailbox;
        Desk& desk;

        LANEWAY_FN void operator()(int source, const arrived_chunk& chunk) const {
            list::visit(chunk.label.kind(), [&]<class Message, class Handler>() {
                if constexpr (answering<Handler>) {
                    desk.template serve<Message, Handler>(ctx, source, chunk);
                } else if constexpr (taking_elements<Handler>) {
                    const auto shape = chunk_shape<parcel_unit<Message>>::fitting(mailbox.chunk_bytes);
                    serve_parcels<Message, typename Handler::element>(ctx, mailbox.handlers, source, chunk,
                                                                      shape.messages());
                } else {
                    serve_plain<Ctx, Message>(ctx, mailbox.handlers, source, chunk);
                }
            });
        }
    };
};

}  // namespace laneway
