// The item worklist as a component: work items of any type, each on the PE that it belongs to, until none is left.
//
// Warps take items, do their parts with all lanes, and push what that makes: into the own queues, or packed to another
// PE. Where items go, and which come first, is the application's (item_route.hpp). The worklist of worklist_ref.hpp is
// for keys of vertices that only fall, one entry a vertex; this one holds an entry for each item.
#pragma once

#include "laneway/flow/item_agent.hpp"
#include "laneway/flow/item_arrivals.hpp"

namespace laneway {

/// Device view of one PE's part.
template <class Application, int Warps = 16>
struct item_worklist_ref {
    static constexpr bool moves = items_move<Application>;
    using item_routing = route<item_message<Application>, receive_item<Application>>;
    using reserve_routing = route<reserve_message, note_reserve>;
    using routes_type = std::conditional_t<moves,
                                           routes<item_routing, reserve_routing, route<item_request, note_request>,
                                                  route<item_loan<Application>, receive_loan<Application>>>,
                                           routes<item_routing, reserve_routing>>;
    static constexpr int cuda_warps = Warps;
    static constexpr std::size_t shared_bytes = sizeof(item_shared);
    static constexpr bool counts_work = true;

    receive_item<Application> arrivals;
    std::uint64_t* reserve_epochs = nullptr;  ///< one a PE: what each has told last
    bool in_waves = false;                    ///< the host moves the threshold, between runs
    std::uint32_t* asked = nullptr;  ///< one a PE: 1 where it knows that this one has nothing to do; null: no stealing
    std::uint32_t* wants = nullptr;  ///< one a PE: 1 where that one had nothing to do

    [[nodiscard]] routes_type handlers() const {
        if constexpr (moves) {
            return {{arrivals}, {note_reserve{reserve_epochs}}, {note_request{wants}}, {{arrivals, asked}}};
        } else {
            return {{arrivals}, {note_reserve{reserve_epochs}}};
        }
    }
    [[nodiscard]] LANEWAY_FN const item_queues_ref& queues() const { return arrivals.queues; }

    template <class Ctx, class Out>
    LANEWAY_FN item_agent<Ctx, Out, Application, Warps> agent(Ctx&, Out& out, const roles& mine,
                                                              std::byte* shared) const {
        return {*this, out, mine, reinterpret_cast<item_shared*>(shared)};
    }

    [[nodiscard]] LANEWAY_FN std::uint64_t* completed(int block) const { return &queues().blocks[block].completed; }

    template <class Ctx>
    LANEWAY_FN void add_completed(Ctx& ctx, keyed_reply& sum) const {
        const std::uint64_t threshold = queues().threshold(ctx);
        keyed_reply found;
        for (std::uint32_t r = first_ring(ctx); r < queues().rings; r += Ctx::warp_lanes) {
            threshold_scan::add(ctx, queues().blocks[r], threshold, found);
        }
        threshold_scan::acquired(ctx);
        sum.completed += found.completed;
        if (!has_threshold()) return;  // nothing waits for the detector to raise it
        sum.deferred += found.deferred;
        sum.kept += found.kept;
        sum.active += found.active;
        sum.least = found.least < sum.least ? found.least : sum.least;
    }

    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        for (std::uint32_t r = first_ring(ctx); r < queues().rings; r += Ctx::warp_lanes) {
            const std::uint64_t far = queues().blocks[r].far.created(ctx);
            sum.created += queues().blocks[r].near.created(ctx) + far;
            if (has_threshold()) sum.deferred += far;
        }
        if (ctx.lane() == 0) sum.created += queues().pe->created(ctx);
    }

    template <class Ctx>
    LANEWAY_FN void apply(Ctx& ctx, std::uint64_t threshold) const {
        if (has_threshold()) ctx.store(&queues().pe->threshold, threshold, order::relaxed, scope::device);
    }

private:
    /// That the termination detector raises.
    [[nodiscard]] LANEWAY_FN bool has_threshold() const { return arrivals.has_priorities && !in_waves; }
    template <class Ctx>
    static LANEWAY_FN std::uint32_t first_ring(const Ctx& ctx) {
        return static_cast<std::uint32_t>(ctx.lane());
    }
};

/// The same in a session, where host threads give items as well.
template <class Application, int Warps>
struct item_worklist_session_ref : item_worklist_ref<Application, Warps> {
    using base = item_worklist_ref<Application, Warps>;
    using start_routing = route<item_start<Application>, start_item<Application>>;
    using routes_type =
        decltype(std::declval<const typename base::routes_type&>() + std::declval<const routes<start_routing>&>());

    [[nodiscard]] routes_type handlers() const { return base::handlers() + routes<start_routing>{{{this->arrivals}}}; }
};

}  // namespace laneway
