// The typed mailbox: messages of one type, served by one handler on the PE they are posted to.
#pragma once

#include "laneway/comm/outbox.hpp"
#include "laneway/comm/roles.hpp"
#include "laneway/comm/server.hpp"
#include "laneway/comm/waves.hpp"

namespace laneway {

/// What a PE needs to take part in a mailbox; trivially copyable.
template <class Message, class Handler>
struct mailbox_ref {
    links_ref links;
    chunk_shape<Message> shape;
    Handler handler;
};

/// Counts a PE's work for the waves: `initial` items that exist from the start, and messages.
template <class Ctx>
struct message_ledger {
    const links_ref& links;
    std::uint64_t initial;

    LANEWAY_FN wave_reply look(Ctx& ctx) const {
        wave_reply now;
        // Partners: the release adds of servers and workers. What they created is counted below.
        now.served = ctx.load(&links.work->served, order::acquire, scope::device);
        now.completed = now.served + ctx.load(&links.work->completed, order::acquire, scope::device);
        now.created = initial;
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            now.created += ctx.load(&links.sent[pe].messages, order::relaxed, scope::device);
        }
        return now;
    }
    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}
};

/// The program that runs an application's functor over a mailbox: every working lane calls
/// `functor(ctx, box)` once, with ctx.rank() of ctx.size() as its place in the job.
template <class Message, class Handler, class Functor>
struct mailbox_program {
    static constexpr int cuda_warps = 32;
    static constexpr bool has_flushers = true;

    /// Shared memory of a block.
    static std::size_t shared_bytes(const chunk_shape<Message>& shape, int n_pes) {
        return sizeof(turn_board) + shape.shared_bytes(n_pes);
    }

    mailbox_ref<Message, Handler> mailbox;
    waves_ref waves;
    Functor functor;
    std::uint64_t first_rank = 0;  ///< of this PE's working lanes
    std::uint64_t ranks = 1;
    std::uint64_t worker_warps = 1;
    int server_blocks = 0;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const links_ref& links = mailbox.links;
        const roles mine(ctx, server_blocks, has_flushers);
        server<Ctx, Message, Handler> in(ctx, links, mailbox.handler, mine.server_index);
        wave_control<Ctx, message_ledger<Ctx>> control(ctx, waves, {links, worker_warps});
        const auto idle = [&] {
            if constexpr (Ctx::warp_lanes == 1) {
                in.turn(ctx);
                if (mine.control) control.turn(ctx);
            }
        };
        outbox<Ctx, Message, Handler, decltype(idle)> out(ctx, links, mailbox.shape, mailbox.handler, idle,
                                                          ctx.shared() + sizeof(turn_board), &links.work->completed);
        auto* board = reinterpret_cast<turn_board*>(ctx.shared());
        out.open(ctx);
        if (ctx.warp() == 0 && ctx.lane() == 0) board->open();
        ctx.sync_block();
        ctx.set_rank(first_rank + static_cast<std::uint64_t>(mine.worker_index * Ctx::warp_lanes + ctx.lane()), ranks);
        bool worked = false;
        run_turns(
            ctx, mine, board, waves.finished, [&] { control.turn(ctx); }, [&] { return in.turn(ctx); },
            [&] {
                if (worked) {
                    (void)out.run_dry(ctx);
                    return false;
                }
                worked = true;
                functor(ctx, out);
                ctx.sync(full_warp<Ctx>);
                if (ctx.lane() == 0) out.complete(ctx, 1);
                return true;
            },
            [] {}, [&] { (void)out.flush_old(ctx); });
        out.account(ctx);
    }
};

}  // namespace laneway
