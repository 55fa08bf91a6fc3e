// A pool of tasks, as a component of a program: the view of one PE.
//
// The host writes tasks into the slots of shards, rings in memory that it shares with the PE, and counts them in a word
// a shard. The control warp passes these counts on to PE memory, where working warps look at them through a copy a
// block. A warp claims tasks of its block's shard first, then of others; runs them one after the other; stores each
// result where the host reads it; and appends the news that it is done to the ring of its shard. Tasks that tasks spawn
// wait in deques of the warps. Nothing is shared by all workers: each shard has its own words.
#pragma once

#include "laneway/comm/termination.hpp"
#include "laneway/run/component.hpp"
#include "laneway/task/task_agent.hpp"

namespace laneway {

template <class... Types>
struct task_pool_ref {
    using routes_type = routes<>;
    static constexpr bool counts_work = true;
    static constexpr bool takes_from_host = true;
    static constexpr bool uses_team = true;
    static constexpr std::size_t shared_bytes = (sizeof(task_shared) + 15) / 16 * 16;

    task_rings_ref rings;
    task_nodes_ref nodes;
    task_failures* failures = nullptr;  ///< for CPU devices
    task_types<Types...> types;

    [[nodiscard]] routes_type handlers() const { return {}; }

    template <class Ctx, class Out>
    LANEWAY_FN task_agent<Ctx, Out, Types...> agent(Ctx&, Out& out, const roles& mine, std::byte* shared,
                                                    block_team<Ctx>& team, std::uint32_t number) const {
        return {*this, out, reinterpret_cast<task_shared*>(shared), mine, team, number};
    }

    template <class Ctx>
    LANEWAY_FN void add_completed(Ctx&, keyed_reply&) const {}  // the program's own counter has it
    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        for (auto s = static_cast<std::uint32_t>(ctx.lane()); s < rings.n_shards; s += Ctx::warp_lanes) {
            sum.created += ctx.load(&rings.shards[s].known, order::relaxed, scope::device);  // its own warp's store
        }
        if constexpr ((spawns_tasks<Types> || ...)) {
            for (auto b = static_cast<std::uint32_t>(ctx.lane()); b < nodes.n_blocks; b += Ctx::warp_lanes) {
                sum.created += ctx.load(&nodes.blocks[b].spawned, order::relaxed, scope::device);
            }
        }
    }
    template <class Ctx>
    LANEWAY_FN void take_from_host(Ctx& ctx, std::uint64_t orders) const {
        if ((orders & termination_command::look) != 0) pass_on(ctx);
        const bool open = (orders & termination_command::open) != 0;
        if (ctx.lane() == 0) ctx.store(rings.is_open, open ? std::uint64_t{1} : 0, order::relaxed, scope::device);
    }
    /// Lets warps take what the host has filled. The whole control warp: each lane reads another shard's word, as one
    /// such load after the other, over PCIe, would take tens of microseconds.
    template <class Ctx>
    LANEWAY_FN void pass_on(Ctx& ctx) const {
        for (auto s = static_cast<std::uint32_t>(ctx.lane()); s < rings.n_shards; s += Ctx::warp_lanes) {
            rings.pass_on(ctx, s);
        }
    }
    template <class Ctx>
    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}
};

}  // namespace laneway
