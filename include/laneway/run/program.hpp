// The persistent kernel: a body that every working lane runs once, over components.
#pragma once

#include "laneway/comm/barrier.hpp"
#include "laneway/comm/timeline_sampler.hpp"
#include "laneway/run/component_counters.hpp"
#include "laneway/run/progress_loop.hpp"
#include "laneway/run/serving.hpp"

namespace laneway {

/// The share of a GPU's blocks that serve while a body runs. One that computes much and posts little says
/// `static constexpr double server_share = ...;`, between 0 and 1: one block serves at least.
template <class Body>
inline constexpr double server_share_of = default_server_share;
template <class Body>
requires requires { Body::server_share; }
inline constexpr double server_share_of<Body> = Body::server_share;

/// In place of a body, where components do all the work.
struct no_body {};

/// The body of a session, whose program has an inbox before the components.
template <class Body>
struct resident_body {
    Body body;

    template <class Ctx, class Inbox, class... Agents>
    LANEWAY_FN void operator()(Ctx& ctx, Inbox&, Agents&... agents) const {
        call_needs_LANEWAY_FN(body, ctx, agents...);
    }
};
template <class Body>
inline constexpr double server_share_of<resident_body<Body>> = server_share_of<Body>;
template <class Body>
inline constexpr int cuda_warps_of<resident_body<Body>> = cuda_warps_of<Body>;

/// A persistent program: every working lane calls `body(ctx, agents...)` once, with an agent of each component and
/// ctx.rank() of ctx.size() as its place in the job, and takes its turns at the components' own work afterwards, until
/// nothing is left anywhere.
template <class Body, class... Views>
struct program {
    using routes_type = routes_of<Views...>;
    static_assert(messages_differ<routes_type>,
                  "the components of a program carry messages of different types: see component_messages.hpp");
    using list = route_list<routes_type>;

    static constexpr bool has_body = !std::is_same_v<Body, no_body>;
    static constexpr int cuda_warps = [] {
        int least = cuda_warps_of<Body>;
        ((least = cuda_warps_of<Views> < least ? cuda_warps_of<Views> : least), ...);
        return least;
    }();
    /// Small blocks are for elements of whole blocks that are mostly waiting, so that many are there at once: as many
    /// warps of a multiprocessor as small_block_warps, of 128 registers a lane.
    static constexpr int cuda_blocks =
        (uses_team<Views> || ...) && cuda_warps < small_block_warps ? small_block_warps / cuda_warps : 1;
    /// A body may compute for long; the turns of components are short, and they send between them.
    static constexpr bool has_flushers = has_body;
    static constexpr bool sends = !(std::is_same_v<typename Views::routes_type, routes<>> && ...);
    static constexpr double server_share = sends ? server_share_of<Body> : share_for_nothing;
    static_assert(sizeof...(Views) <= 255, "a run has 255 components at most");
    static_assert(((shared_bytes_of<Views> % 16 == 0) && ...), "what lies behind it in shared memory is aligned by 16");

    static constexpr std::size_t before_components =
        sizeof(loop_state) + sizeof(block_barrier) + ((uses_team<Views> || ...) ? sizeof(block_team_shared) : 0);
    /// Shared memory of a block's aggregation buffers for replies.
    static LANEWAY_FN std::size_t reply_bytes(std::size_t chunk_bytes, int n_pes) {
        return buffer_sizes<typename list::carried>::template for_replies<list>(chunk_bytes, n_pes);
    }
    /// Shared memory of a block.
    static std::size_t shared_bytes(std::size_t chunk_bytes, int n_pes) {
        return before_components + (0 + ... + shared_bytes_of<Views>)+team_bytes<routes_type> +
               sender_bytes<routes_type>(chunk_bytes, n_pes) + reply_bytes(chunk_bytes, n_pes);
    }

    endpoint_ref<routes_type> endpoint;
    termination_ref termination;
    barrier_ref barriers;
    Body body;
    view_list<Views...> views;
    std::uint64_t first_rank = 0;  ///< of this PE's working lanes
    std::uint64_t ranks = 1;
    std::uint64_t worker_warps = 1;
    server_layout servers;
    bool bodies_have_run = false;  ///< a session's program that comes back

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        constexpr bool one_lane = Ctx::warp_lanes == 1;
        const links_ref& links = endpoint.links;
        const roles mine(ctx, servers, has_flushers);
        const std::uint64_t bodies = links.before.completed + (has_body ? worker_warps : 0);
        const auto counters = counters_of<Ctx, list>(links, bodies, views);
        termination_detector control(ctx, termination, detected(counters));
        barrier_control<Ctx> meeting(barriers, links, endpoint.replies, worker_warps);
        const timeline_sampler<Ctx> sampler(links, endpoint.replies);
        unsigned turns = 0;
        const auto steer = [&] {
            sampler.turn(ctx, control.open());
            // Where warps meet, the termination detector would say nothing but that the run goes on.
            const bool meets = has_body && !bodies_have_run && meeting.turn(ctx);
            if (one_lane || !meets || ++turns % 64 == 0) {
                control.turn(ctx);
            } else {
                control.watch(ctx);
            }
        };

        auto* state = reinterpret_cast<loop_state*>(ctx.shared());
        auto* block = reinterpret_cast<block_barrier*>(ctx.shared() + sizeof(loop_state));
        auto* const in_team =
            reinterpret_cast<block_team_shared*>(ctx.shared() + sizeof(loop_state) + sizeof(block_barrier));
        block_team<Ctx> team(in_team, mine.team_index, mine.team_warps, true);
        std::byte* const of_components = ctx.shared() + before_components;
        std::byte* const shared = of_components + (0 + ... + shared_bytes_of<Views>);
        // Objects of their own: one that held another's address in itself would lie in memory.
        server replies_in(ctx, endpoint.replies, mine,
                          serve_reply<Ctx, routes_type>{ctx, endpoint.handlers, endpoint.chunk_bytes});
        const reply_turn<Ctx, routes_type> serve_replies{ctx, replies_in};
        serving_responder<Ctx, routes_type> responder(ctx, endpoint.replies, endpoint.chunk_bytes, endpoint.handlers,
                                                      endpoint.answers, serve_replies, shared);
        server requests_in(ctx, links, mine, serve_request<Ctx, routes_type>{ctx, endpoint, responder});
        typename view_list<Views...>::states kept;
        const forwarder<list> forward{endpoint.handlers.forward};
        unsigned serves = 0;
        const auto serve = [&] {
            bool active = false;
            if constexpr (sends) active = requests_in.turn(ctx);
            active = serve_replies() || active;
            if (mine.serves) active = views.serve(ctx, mine, kept, of_components, forward) || active;
            // Also where requests never cease.
            if (list::replies && (!active || ++serves % 16 == 0)) responder.flush_ready(ctx);
            return active;
        };
        assist_call assist;
        const auto turn = [&] {
            if (serve()) ctx.worked();
            if (mine.control) steer();
            assist();
        };
        const auto waiting = [&] {
            if constexpr (one_lane) {
                const auto call = [](void* self) { (*static_cast<decltype(turn)*>(self))(); };
                return waiting_turn<Ctx>{call, const_cast<void*>(static_cast<const void*>(&turn))};
            } else {
                return waiting_turn<Ctx>{};
            }
        }();
        laneway::endpoint<Ctx, routes_type, waiting_turn<Ctx>> out(
            ctx, endpoint, waiting, shared + reply_bytes(endpoint.chunk_bytes, ctx.n_pes()), *block, mine,
            completed_word(mine));
        views.with_agents(ctx, out, mine, team, of_components, [&](auto&... agents) {
            out.open(ctx);
            responder.open(ctx);
            if (ctx.warp() == 0 && ctx.lane() == 0) {
                state->open();
                if constexpr ((uses_team<Views> || ...)) team.open(ctx);
            }
            (if_polling(agents, [&](auto& agent) { agent.open(ctx); }), ...);
            if (mine.works) (if_meeting(agents, [&](auto& agent) { agent.open(ctx); }), ...);
            ctx.sync_block();
            ctx.set_rank({.before = first_rank,
                          .local = static_cast<std::uint64_t>(mine.worker_index * Ctx::warp_lanes + ctx.lane()),
                          .local_size = worker_warps * Ctx::warp_lanes,
                          .size = ranks});
            const auto assist_all = [&] { (if_assisting(agents, [&](auto& agent) { agent.assist(ctx); }), ...); };
            if constexpr (one_lane) assist = assist_call::of(assist_all);
            // Where no warp flushes, as on a lone GPU, somebody must look after what lanes of a body wait for.
            const bool control_assists = has_body && !one_lane && !servers.any();
            unsigned controls = 0;
            bool has_run = !has_body || bodies_have_run;
            progress_loop(
                ctx, mine, state, termination,
                [&] {
                    steer();
                    // A lane with all roles is in its body from the next turn on: what it took of host threads now
                    // would reach other PEs, while it does not look at what is for it.
                    if (has_run || !one_lane) (if_attending(agents, [&](auto& agent) { agent.attend(ctx); }), ...);
                    if (control_assists && ++controls % 8 == 0) assist_all();
                },
                serve,
                [&](bool served) {
                    if (!has_run) {
                        has_run = true;
                        run_body(ctx, out, agents...);
                        return true;
                    }
                    return work(ctx, served, out, agents...);
                },
                [&] {
                    if (mine.works) (if_polling(agents, [&](auto& agent) { agent.refresh(ctx); }), ...);
                },
                [&] {
                    if constexpr (list::forwards) (void)out.send_forwards(ctx, full_warp<Ctx>);
                    (void)out.flush_old(ctx);
                    assist_all();
                });
            (if_polling(agents, [&](auto& agent) { agent.close(ctx); }), ...);
        });
        if (mine.control) sampler.close(ctx, control.open());
        out.account(ctx);
        if (mine.works) out.audit_shared(ctx);
    }

private:
    template <class Agent, class Use>
    static LANEWAY_FN void if_polling([[maybe_unused]] Agent& agent, [[maybe_unused]] Use&& use) {
        if constexpr (polling<Agent>) use(agent);
    }

    template <class Agent, class Use>
    static LANEWAY_FN void if_meeting([[maybe_unused]] Agent& agent, [[maybe_unused]] Use&& use) {
        if constexpr (meeting<Agent>) use(agent);
    }

    template <class Agent, class Use>
    static LANEWAY_FN void if_leaving([[maybe_unused]] Agent& agent, [[maybe_unused]] Use&& use) {
        if constexpr (leaving<Agent>) use(agent);
    }

    template <class Agent, class Use>
    static LANEWAY_FN void if_attending([[maybe_unused]] Agent& agent, [[maybe_unused]] Use&& use) {
        if constexpr (attending<Agent>) use(agent);
    }

    template <class Agent, class Use>
    static LANEWAY_FN void if_assisting([[maybe_unused]] Agent& agent, [[maybe_unused]] Use&& use) {
        if constexpr (assisting<Agent>) use(agent);
    }

    /// Where a working block counts what it has finished, for whichever component: where several have room for that,
    /// with the last. The termination detector adds up what all components count.
    LANEWAY_FN std::uint64_t* completed_word(const roles& mine) const {
        std::uint64_t* word = &endpoint.links.work->completed;
        views.each([&]<class View>([[maybe_unused]] const View& view) {
            if constexpr (counts_blocks<View>) word = view.completed(mine.works ? mine.team_number : 0);
        });
        return word;
    }

    template <class Ctx, class Out, class... Agents>
    LANEWAY_FN void run_body(Ctx& ctx, Out& out, Agents&... agents) const {
        if constexpr (has_body) {
            run_user_code(ctx, {user_code::functor}, body, ctx, agents...);
            ctx.sync(full_warp<Ctx>);
            out.leave(ctx);
            (if_leaving(agents, [&](auto& agent) { agent.leave(ctx); }), ...);
            if (ctx.lane() == 0) out.complete(ctx, 1);
        }
    }

    /// A turn of the components' own work, and of sending where there is none. Whether there was any.
    template <class Ctx, class Out, class... Agents>
    LANEWAY_FN bool work(Ctx& ctx, [[maybe_unused]] bool served, Out& out, Agents&... agents) const {
        bool worked = false;
        (if_polling(agents, [&](auto& agent) { worked = agent.poll(ctx) || worked; }), ...);
        if (worked) return true;
        (void)out.advance(ctx);
        // Thousands of warps that look for work would slow those that have some.
        if (Ctx::warp_lanes > 1 && !(polling<Agents> || ...) && !served) ctx.pause(5);
        return false;
    }
};

/// The program of a body over these views.
template <class Body, class List>
struct program_over;
template <class Body, class... Views>
struct program_over<Body, view_list<Views...>> {
    using type = program<Body, Views...>;
};

}  // namespace laneway
