// Two-sided messages as a component of a program: its device view, the work that it counts, and warps that serve.
#pragma once

#include "laneway/comm/termination_ref.hpp"
#include "laneway/run/communicator_agent.hpp"

namespace laneway {

/// What a server warp keeps of a communicator between its turns.
struct communicator_server {
    bool is_free = false;
    std::uint32_t turns = 0;
};

/// Device view of the component on a PE.
struct communicator_ref {
    using routes_type = routes<>;
    static constexpr std::size_t shared_bytes = sizeof(communicator_shared);
    static constexpr int cuda_warps = small_block_warps;
    static constexpr bool counts_work = true;
    static constexpr bool serves = true;
    using server_state = communicator_server;

    two_sided_ref two_sided;
    host_messages_ref host;

    [[nodiscard]] routes_type handlers() const { return {}; }

    template <class Ctx, class Out>
    LANEWAY_FN communicator_agent<Ctx, Out> agent(Ctx& ctx, Out& out, const roles& mine, std::byte* shared) const {
        return {ctx, out, two_sided, host, mine.assisted, shared};
    }
    /// Server warps match where much waits, those of one block, while all others may be in bodies.
    template <class Ctx, class Forward>
    LANEWAY_FN bool serve(Ctx& ctx, const roles&, server_state& kept, std::byte* shared, Forward&) const {
        // Where a warp is one lane, lanes serve while they wait, within their bodies.
        if (Ctx::warp_lanes == 1 || ctx.block() != 0 || two_sided.team_load == 0) return false;
        return serve_as_team(ctx, kept, reinterpret_cast<communicator_shared*>(shared)->team);
    }
    template <class Ctx>
    LANEWAY_FN void add_completed(Ctx& ctx, keyed_reply& sum) const {
        // Partners: the release adds of message_turn and fetch_queue.
        if (ctx.lane() == 0) sum.completed += ctx.load(&two_sided.counters->completed, order::acquire, scope::device);
    }
    /// A message is created when its ticket is drawn, before anybody can see it: the rings' own words count it. So do
    /// those of the queues for what lanes ask of a shard, and for payloads that are fetched.
    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        const int rings = static_cast<int>(two_sided.n_shards) * ctx.n_pes();
        for (int ring = ctx.lane(); ring < rings; ring += Ctx::warp_lanes) {
            const chunk_sender& out = two_sided.shards[ring / ctx.n_pes()].to[ring % ctx.n_pes()];
            sum.created += out.drawn(ctx, order::acquire);
        }
        for (std::uint32_t s = static_cast<std::uint32_t>(ctx.lane()); s < two_sided.n_shards; s += Ctx::warp_lanes) {
            sum.created += ctx.load(two_sided.shards[s].asked.drawn, order::acquire, scope::device);
        }
        for (std::uint32_t q = static_cast<std::uint32_t>(ctx.lane()); q < two_sided.n_fetch_queues;
             q += Ctx::warp_lanes) {
            sum.created += ctx.load(&two_sided.fetch_ends[q].drawn, order::acquire, scope::device);
        }
    }
    template <class Ctx>
    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}

private:
    /// Looks at shards, now and then at the next one.
    template <class Ctx>
    LANEWAY_SLOW bool serve_as_team(Ctx& ctx, server_state& kept, shard_team_shared& shared) const {
        constexpr std::uint32_t turns_to_look = 16;
        const shard_team<Ctx> team(shared);
        if (!kept.is_free) {
            kept.is_free = true;
            team.be_free(ctx);
        }
        if (once(ctx, full_warp<Ctx>, [&] { return std::uint32_t{team.is_open(ctx)}; }) != 0) {
            return turn_with_team(ctx, two_sided, team);
        }
        if (++kept.turns % turns_to_look != 0) return false;
        const std::uint32_t number = kept.turns / turns_to_look + static_cast<std::uint32_t>(ctx.warp());
        const message_turn<Ctx> turn(two_sided, two_sided.shards[number % two_sided.n_shards]);
        return turn.is_for_team(ctx, team) && turn(ctx, &team);
    }
};

}  // namespace laneway
