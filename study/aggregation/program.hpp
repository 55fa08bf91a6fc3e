// The program of a study run: the library's program (run/program.hpp) with another way of aggregating.
#pragma once

#include "aggregation_agent.hpp"
#include "laneway/comm/server.hpp"
#include "laneway/comm/termination.hpp"
#include "laneway/run/progress_loop.hpp"

namespace laneway::study {

template <class Scheme>
concept through_host = requires {
    requires Scheme::through_host;
};

template <class Scheme>
concept second_hops = requires {
    requires Scheme::second_hops;
};

/// What a scheme carries for a message.
template <class Scheme, class Message>
struct carried_of {
    using type = Message;
};
template <class Scheme, class Message>
requires requires { typename Scheme::carried; }
struct carried_of<Scheme, Message> {
    using type = typename Scheme::carried;
};

/// Counts a PE's work for the termination detector: one item, what its functors post, messages to the host, first and
/// second hops.
template <class Ctx>
struct study_counters {
    static constexpr bool non_generating = false;

    const links_ref& links;

    LANEWAY_FN termination_reply look(Ctx& ctx) const {
        termination_reply now;
        // Partners: the release adds of servers and workers. What they created is counted below.
        now.served = ctx.load(&links.work->served, order::acquire, scope::device);
        now.served += ctx.load(&links.work->replies_served, order::acquire, scope::device);
        now.completed = now.served + ctx.load(&links.work->completed, order::acquire, scope::device);
        now.created = 1 + ctx.load(&links.work->deferred, order::relaxed, scope::device) +
                      ctx.load(&links.work->replied, order::relaxed, scope::device);
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            now.created += ctx.load(&links.sent[pe].messages, order::relaxed, scope::device);
        }
        return now;
    }
    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}
};

/// Every working lane calls `functor(ctx, box)` once. When the PE's last working warp is through, it drains the agent
/// and counts the PE's one work item as done; the termination detector do the rest.
template <class Scheme, class Message, class Handler, class Functor>
struct study_program {
    static constexpr int cuda_warps = 32;
    static constexpr bool has_flushers = false;
    static constexpr double server_share = default_server_share;

    links_ref links;
    termination_ref termination;
    typename Scheme::view view;
    chunk_shape<typename carried_of<Scheme, Message>::type> shape;
    Handler handler;
    Functor functor;
    work_counters* tally = nullptr;       ///< where posts are counted
    std::uint32_t* warps_done = nullptr;  ///< PE memory
    std::uint64_t first_rank = 0;
    std::uint64_t ranks = 1;
    int workers = 1;
    int helpers = 0;
    int helper_warps = 0;
    int server_blocks = 0;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        roles mine(ctx, server_blocks);
        const place where = assign_roles(ctx, mine);
        termination_detector<Ctx, study_counters<Ctx>> control(ctx, termination, {links});
        const auto run_handlers = [&](int, const arrived_chunk& chunk) {
            for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < chunk.label.messages(); i += Ctx::warp_lanes) {
                typename carried_of<Scheme, Message>::type message;
                if (chunk.load(ctx, i, message)) serve(ctx, message);
            }
        };
        server carried(ctx, links, mine, run_handlers);
        const auto serve_all = [&] {
            bool busy = false;
            if constexpr (second_hops<Scheme>) {
                server arrived(ctx, view.second_links, mine, run_handlers);
                busy = arrived.turn(ctx);
                if (!Scheme::may_serve(ctx, view)) return busy;
            }
            busy = carried.turn(ctx) || busy;
            if constexpr (through_host<Scheme>) {
                busy = Scheme::serve_inbox(ctx, view, links, mine.server_index, run_handlers) || busy;
            }
            return busy;
        };
        const auto idle = [&] {
            if constexpr (Ctx::warp_lanes == 1) {
                serve_all();
                if (mine.control) control.turn(ctx);
            }
        };
        using agent_type = typename Scheme::template agent<Ctx, decltype(idle)>;
        static_assert(aggregation_agent<agent_type, Ctx, Message>);
        auto* state = reinterpret_cast<loop_state*>(ctx.shared());
        agent_type agent(ctx, view, links, shape, ctx.shared() + sizeof(loop_state), where, idle);
        study_box<Ctx, agent_type, Handler> box(agent, handler);
        agent.open(ctx);
        if (ctx.warp() == 0 && ctx.lane() == 0) state->open();
        ctx.sync_block();
        ctx.set_rank({.before = first_rank,
                      .local = static_cast<std::uint64_t>(mine.worker_index * Ctx::warp_lanes + ctx.lane()),
                      .local_size = static_cast<std::uint64_t>(workers) * Ctx::warp_lanes,
                      .size = ranks});
        const auto help = [&] {
            if (ctx.n_pes() > 1) agent.turn(ctx);
        };
        bool worked = false;
        progress_loop(
            ctx, mine, state, termination, [&] { control.turn(ctx); }, serve_all,
            [&](bool) {
                if (worked) {
                    if constexpr (Ctx::warp_lanes == 1) help();
                    return false;
                }
                worked = true;
                functor(ctx, box);
                end_work(ctx, agent);
                return true;
            },
            [] {}, help);
        box.account(ctx, *tally);
    }

private:
    /// Makes the last warps of each working block helpers, and numbers workers and helpers.
    template <class Ctx>
    LANEWAY_FN place assign_roles(const Ctx& ctx, roles& mine) const {
        mine.claims = false;  // what is compared is how messages leave
        place where;
        where.worker_block = ctx.block() - server_blocks;
        where.helpers = helpers;
        if constexpr (Ctx::warp_lanes == 1) {
            where.helper_index = mine.worker_index;
        } else {
            const int posting = ctx.n_warps() - helper_warps;
            const int controls = server_blocks == 0 ? 1 : 0;
            if (where.worker_block < 0) return where;
            const int own_controls = where.worker_block == 0 ? controls : 0;
            where.team_lanes = (posting - own_controls) * Ctx::warp_lanes;
            where.helper_index = where.worker_block * helper_warps + ctx.warp() - posting;
            mine.worker_index = roles::number_across_blocks(ctx, server_blocks, ctx.warp() - own_controls, posting);
            mine.flushes = ctx.warp() >= posting;
            mine.works = !mine.control && !mine.flushes;
        }
        return where;
    }

    template <class Ctx, class Carried>
    LANEWAY_FN void serve(Ctx& ctx, const Carried& message) const {
        if constexpr (std::is_same_v<Carried, Message>) {
            handler(ctx, message);
        } else {
            Scheme::serve(ctx, view, handler, message);
        }
    }

    /// Called by each working warp, whole, when its lanes have returned.
    template <class Ctx, class Agent>
    LANEWAY_FN void end_work(Ctx& ctx, Agent& agent) const {
        ctx.sync(full_warp<Ctx>);
        const std::uint32_t done = once(ctx, full_warp<Ctx>, [&] {
            // Partner: itself. The last warp drains what all have handed over.
            return ctx.fetch_add(warps_done, 1, order::acq_rel, scope::device);
        });
        if (done + 1 != static_cast<std::uint32_t>(workers)) return;
        ctx.sync(full_warp<Ctx>);  // what lane 0 acquired is visible to all
        if (ctx.n_pes() > 1 && agent.drain(ctx) != status::ok) return;
        // Partner: the acquire load in study_counters.
        if (ctx.lane() == 0) ctx.fetch_add(&links.work->completed, 1, order::release, scope::device);
    }
};

}  // namespace laneway::study
