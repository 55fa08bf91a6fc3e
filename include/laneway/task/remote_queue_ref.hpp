// Remote queues, as a component of a program: the view of one PE.
#pragma once

#include "laneway/comm/termination_ref.hpp"
#include "laneway/run/component.hpp"
#include "laneway/task/remote_agent.hpp"

namespace laneway {

/// Inboxes of a session, one for each queue; nothing elsewhere.
template <bool Fed>
struct remote_inboxes {
    inbox_ref all[max_remote_queues];
    LANEWAY_FN const inbox_ref& operator[](std::uint32_t queue) const { return all[queue]; }
};
template <>
struct remote_inboxes<false> {};

/// `Fed`: host threads post as well.
template <bool Fed, class... Types>
struct remote_queue_ref {
    using routes_type = routes<>;
    static constexpr bool counts_work = true;
    static constexpr bool takes_from_host = Fed;
    static constexpr bool uses_team = true;
    static constexpr int cuda_warps = small_block_warps;
    static constexpr std::size_t shared_bytes = (sizeof(remote_shared) + 15) / 16 * 16;

    remote_rings_ref rings;
    remote_names_ref names;
    remote_launches_ref launches;
    task_types<Types...> types;
    remote_inboxes<Fed> inboxes;

    [[nodiscard]] routes_type handlers() const { return {}; }

    template <class Ctx, class Out>
    LANEWAY_FN remote_queue_agent<Ctx, Out, Fed, Types...> agent(Ctx&, Out& out, const roles& mine, std::byte* shared,
                                                                 block_team<Ctx>& team, std::uint32_t number) const {
        return {*this, out, reinterpret_cast<remote_shared*>(shared), mine, team, number};
    }

    template <class Ctx>
    LANEWAY_FN void add_completed(Ctx& ctx, keyed_reply& sum) const {
        // Partner: the release add in remote_runner::complete.
        if (ctx.lane() == 0) sum.completed += ctx.load(&rings.counts_of(ctx).completed, order::acquire, scope::device);
    }
    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        sum.created += rings.posted(ctx);
        if constexpr (Fed) {
            for (std::uint32_t q = 0; q < rings.n_queues; ++q) inboxes[q].add_created(ctx, sum);
        }
    }
    template <class Ctx>
    LANEWAY_FN void take_from_host(Ctx& ctx, std::uint64_t orders) const {
        if constexpr (Fed) {
            for (std::uint32_t q = 0; q < rings.n_queues; ++q) inboxes[q].take_from_host(ctx, orders);
        }
    }
    /// Lets lanes take what host threads have posted. Lane 0 of the control warp.
    template <class Ctx>
    LANEWAY_FN void pass_on_if_open(Ctx& ctx) const {
        if constexpr (Fed) {
            for (std::uint32_t q = 0; q < rings.n_queues; ++q) {
                if (ctx.load(inboxes[q].is_open, order::relaxed, scope::device) != 0) (void)inboxes[q].pass_on(ctx);
            }
        }
    }
    template <class Ctx>
    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}
};

}  // namespace laneway
