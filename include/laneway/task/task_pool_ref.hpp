// A pool of tasks, as a component of a program: the view of one PE.
//
// The host stores entries, single tasks and ranges of batches, in a ring of its memory, and the control warp copies
// them into a ring of PE memory. A warp claims some for its block, whose warps take their parts of these in shared
// memory. A worker runs what it has taken, stores results where the host reads them, and appends the news that the
// entry is done to a ring. Tasks that tasks spawn wait in deques of the warps.
#pragma once

#include "laneway/comm/termination_ref.hpp"
#include "laneway/run/component.hpp"
#include "laneway/task/task_agent.hpp"

namespace laneway {

/// In a run: tasks that lanes submit, and those that these spawn.
template <class... Types>
struct task_pool_ref {
    using routes_type = routes<>;
    static constexpr bool counts_work = true;
    static constexpr bool uses_team = true;
    static constexpr std::size_t shared_bytes = (sizeof(task_shared) + 15) / 16 * 16;

    task_rings_ref rings;
    task_nodes_ref nodes;
    task_failures* failures = nullptr;  ///< for CPU devices
    task_types<Types...> types;
    /// Of the triggers that submit tasks, where they do: some rounds end with their task.
    std::conditional_t<(from_lanes<Types> || ...), trigger_ref, no_arguments> tags;

    [[nodiscard]] routes_type handlers() const { return {}; }

    template <class Ctx, class Out>
    LANEWAY_FN task_agent<Ctx, Out, Types...> agent(Ctx& ctx, Out& out, const roles& mine, std::byte* shared,
                                                    block_team<Ctx>& team, std::uint32_t number) const {
        return {ctx, *this, out, reinterpret_cast<task_shared*>(shared), mine, team, number};
    }

    template <class Ctx>
    LANEWAY_FN void add_completed(Ctx&, keyed_reply&) const {}  // the program's own counter has it
    template <class Ctx>
    LANEWAY_FN void add_created([[maybe_unused]] Ctx& ctx, [[maybe_unused]] keyed_reply& sum) const {
        if constexpr (use_nodes<Types...>) {
            for (auto b = static_cast<std::uint32_t>(ctx.lane()); b < nodes.n_blocks; b += Ctx::warp_lanes) {
                sum.created += ctx.load(&nodes.blocks[b].spawned, order::relaxed, scope::device);
            }
        }
    }
    template <class Ctx>
    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}
};

/// In a session, where host threads submit tasks.
template <class... Types>
struct task_session_ref : task_pool_ref<Types...> {
    static constexpr bool takes_from_host = true;

    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        if (ctx.lane() == 0) sum.created += this->rings.created(ctx);
        task_pool_ref<Types...>::add_created(ctx, sum);
    }
    template <class Ctx>
    LANEWAY_FN void take_from_host(Ctx& ctx, std::uint64_t orders) const {
        if ((orders & termination_command::look) != 0) this->rings.promise(ctx);
        const bool open = (orders & termination_command::open) != 0;
        if (ctx.lane() == 0) {
            ctx.store(&this->rings.words->is_open, open ? std::uint64_t{1} : 0, order::relaxed, scope::device);
        }
    }
};

}  // namespace laneway
