// A graph of channels, as a component of a program: the view of one PE.
#pragma once

#include <algorithm>

#include "laneway/comm/termination_ref.hpp"
#include "laneway/run/component.hpp"
#include "laneway/task/channel_moving.hpp"
#include "laneway/task/channel_ordered_agent.hpp"
#include "laneway/task/channel_remote.hpp"
#include "laneway/task/task_type.hpp"

namespace laneway {

/// `Kernels`: functors, each with `using element`, in the order of their numbers.
template <class Policy, class... Kernels>
struct channel_graph_ref {
    static constexpr bool moves = (moves_elements<Kernels> || ...);
    static constexpr bool receives = (receives_elements<Kernels> || ...);
    using kernel_types = task_types<Kernels...>;
    using sent_type = typename remote_routes<receives, Kernels...>::type;
    using routes_type = typename routes_together<typename moving_routes<Kernels...>::type, sent_type>::type;
    static constexpr bool counts_work = true;
    static constexpr bool has_blocks = ((width_of<Kernels> == task_width::block) || ...);
    static_assert(((width_of<Kernels> != task_width::lane) && ...), "elements of channels take a warp or a block");
    static_assert(((width_of<Kernels> != task_width::block || !moves_elements<Kernels>)&&...),
                  "elements that a whole block works on stay on their PE");
    static_assert(((width_of<Kernels> != task_width::block || !receives_elements<Kernels>)&&...),
                  "elements that a whole block works on are produced on their PE");
    static constexpr bool uses_team = has_blocks;
    /// Whether blocks may keep what they produce, or warps: the policy lets them follow it, and each decides for
    /// itself.
    static constexpr bool decide = follows<Policy> && scheduler_of<Policy> == channel_scheduler::every_warp;
    static constexpr bool blocks_keep = decide && blocks_keep_elements<Kernels...>;
    static constexpr bool keeps = blocks_keep || (decide && (keeps_elements<Kernels> || ...));
    static_assert(((kernel_shared_bytes<Kernels> % 16 == 0) && ...), "shared_bytes of a kernel: a multiple of 16");
    static_assert(((width_of<Kernels> == task_width::block || kernel_shared_bytes<Kernels> == 0) && ...),
                  "shared_bytes are for kernels whose elements a whole block works on");
    /// Of the team, and of whichever kernel has most.
    static constexpr std::size_t team_bytes =
        has_blocks ? sizeof(channel_team_shared) + std::max({kernel_shared_bytes<Kernels>...}) : 0;
    static constexpr std::size_t stacks_a_block = blocks_keep ? 1
                                                  : keeps     ? std::size_t{channel_stacks_ref::max_warps}
                                                              : 0;
    static constexpr std::size_t shared_bytes = team_bytes + stacks_a_block * sizeof(warp_stack_shared);
    static_assert(((kernel_block_warps<Kernels> >= 2 && kernel_block_warps<Kernels> <= 32) && ...),
                  "block_warps of a kernel: 2 to 32");
    static constexpr int cuda_warps = std::min(
        {keeps && !blocks_keep ? static_cast<int>(channel_stacks_ref::max_warps) : 32, kernel_block_warps<Kernels>...});
    static constexpr std::uint32_t words_a_block = destructive_bytes / sizeof(std::uint64_t);

    channel_set_ref set;
    Policy policy;
    task_types<Kernels...> kernels;
    std::uint64_t* finished = nullptr;  ///< words_a_block a working block: elements that it has consumed
    std::uint32_t blocks = 0;
    moving_ref moving;  ///< where elements of some kernel may move

    [[nodiscard]] routes_type handlers() const {
        return moving.template handlers<Kernels...>() + handlers_of_set(static_cast<sent_type*>(nullptr), moving.set);
    }

    static constexpr channel_scheduler by = scheduler_of<Policy>;
    template <class Ctx, class Out>
    using agent_type =
        std::conditional_t<by == channel_scheduler::every_warp, channel_agent<Ctx, Out, channel_graph_ref>,
                           channel_ordered_agent<Ctx, Out, channel_graph_ref>>;

    template <class Ctx, class Out>
    LANEWAY_FN agent_type<Ctx, Out> agent(Ctx&, Out& out, const roles& mine, std::byte* shared) const {
        return {*this, out, mine, shared};
    }
    template <class Ctx, class Out>
    LANEWAY_FN agent_type<Ctx, Out> agent(Ctx&, Out& out, const roles& mine, std::byte* shared, block_team<Ctx>& team,
                                          std::uint32_t component) const {
        return {*this, out, mine, shared, &team, component};
    }

    [[nodiscard]] LANEWAY_FN std::uint64_t* completed(int block) const {
        return finished + static_cast<std::uint32_t>(block) * words_a_block;
    }
    template <class Ctx>
    LANEWAY_FN void add_completed(Ctx& ctx, keyed_reply& sum) const {
        for (auto b = static_cast<std::uint32_t>(ctx.lane()); b < blocks; b += Ctx::warp_lanes) {
            // Partner: the release add in done_work::publish. What that work created is counted below.
            sum.completed += ctx.load(finished + b * words_a_block, order::acquire, scope::device);
        }
    }
    /// An element is created when it is made ready, and again when it is put back.
    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        for (auto s = static_cast<std::uint32_t>(ctx.lane()); s < set.n_shards; s += Ctx::warp_lanes) {
            sum.created += ctx.load(set.created + s * set.words_a_shard, order::relaxed, scope::device);
        }
    }
    template <class Ctx>
    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}
};

}  // namespace laneway
