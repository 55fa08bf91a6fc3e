// What a PE does with items that come from others, and what PEs tell each other of how full they are.
#pragma once

#include "laneway/comm/routes.hpp"
#include "laneway/flow/item_application.hpp"
#include "laneway/flow/item_queues.hpp"

namespace laneway {

/// What a PE has done with items in all runs since the list was filled; PE memory, adds only.
struct item_counters {
    std::uint64_t started = 0;  ///< that host threads of a session have given
    // Of those that this PE has made:
    std::uint64_t kept = 0;        ///< put into the own queues
    std::uint64_t sent = 0;        ///< to other PEs
    std::uint64_t suppressed = 0;  ///< dropped, as they would have been of no use to another PE
    std::uint64_t dropped = 0;     ///< dropped for other reasons
    // Of those that have come:
    std::uint64_t arrived = 0;
    std::uint64_t accepted = 0;   ///< put into the own queues
    std::uint64_t refused = 0;    ///< dropped
    std::uint64_t to_pass = 0;    ///< to be passed on
    std::uint64_t passed_on = 0;  ///< of these, sent
    // Of entries that idle PEs take: items, or pieces of such of many parts.
    std::uint64_t lent = 0;      ///< given away
    std::uint64_t stolen = 0;    ///< taken
    std::uint64_t returned = 0;  ///< items that taken ones made and that went to the PE that these were taken from
    // Of those in the queues:
    std::uint64_t done = 0;
    std::uint64_t useful = 0;  ///< of these, neither stale nor in vain, as the application says
};

/// An item on its way.
template <class Application>
struct item_message {
    typename Application::packed packed;
};

/// An entry of an idle PE's to be, with the numbers of item_entry.
template <class Application>
struct item_loan {
    typename Application::packed packed;
    std::uint32_t first;
    std::uint32_t count;
    std::uint32_t lender;
};

/// "I have nothing to do."
struct item_request {
    std::uint32_t pe;
};

/// Notes who has nothing to do.
struct note_request {
    std::uint32_t* wants = nullptr;  ///< one a PE

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const item_request& told) const {
        ctx.store(wants + told.pe, 1u, order::relaxed, scope::device);
    }
};

/// How it stands with a PE's reserve.
struct reserve_message {
    std::uint64_t epoch;  ///< a reserve_epoch
    std::uint32_t pe;
};

/// Notes what a PE has told. Messages come in any order; the last epoch counts.
struct note_reserve {
    std::uint64_t* epochs = nullptr;  ///< one a PE

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const reserve_message& told) const {
        ctx.fetch_max(epochs + told.pe, told.epoch, order::relaxed, scope::device);
    }
};

/// Adds one to a counter for each lane that calls it with `counts`; called by exactly the lanes of the mask.
template <class Ctx>
LANEWAY_FN void count_lanes_that(Ctx& ctx, lane_mask mask, bool counts, std::uint64_t* counter) {
    const auto n = static_cast<std::uint64_t>(Ctx::count_lanes(ctx.ballot(mask, counts)));
    if (n != 0 && elected(ctx, mask)) ctx.fetch_add(counter, n, order::relaxed, scope::device);
}

/// Serves items on the PE that they have come to. Waits for the host at most: items to be passed on wait in the PE's
/// own queues.
template <class Application>
struct receive_item {
    static constexpr bool shares_buffers = false;  // many travel
    using entry = item_entry<typename Application::item, typename Application::packed, items_move<Application>>;

    item_queues_ref queues;
    item_application<Application> application;
    item_counters* counters = nullptr;
    bool has_priorities = false;
    bool notes_least = false;  ///< see item_block::min_far

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const item_message<Application>& message) const {
        const item_route route = application.on_receive(ctx, message.packed);
        const bool keeps = route.keeps(ctx.pe());
        const bool leaves = route.leaves(ctx.pe());
        const lane_mask mask = ctx.converged();
        count_lanes_that(ctx, mask, true, &counters->arrived);
        count_lanes_that(ctx, mask, keeps, &counters->accepted);
        count_lanes_that(ctx, mask, !keeps && !leaves, &counters->refused);
        count_lanes_that(ctx, mask, leaves, &counters->to_pass);
        if (keeps) (void)keep(ctx, ctx.converged(), application.unpack(ctx, message.packed));
        if (leaves) (void)queues.put(ctx, ctx.converged(), true, entry::to_pass(message.packed, route.pe));
    }

    /// Puts a whole item into the own queues, as its priority says; false where it is lost as the run is ending. The
    /// lanes of the mask, together.
    template <class Ctx>
    LANEWAY_FN bool keep(Ctx& ctx, lane_mask mask, const typename Application::item& item) const {
        std::uint64_t priority = 0;
        bool is_near = true;
        if (has_priorities) {
            priority = application.priority(ctx, item);
            is_near = runs_below(queues.threshold(ctx), priority);
        }
        return put(ctx, mask, is_near, entry::of(item), priority) != item_place::rejected;
    }

    /// The same for an entry and its priority; as item_queues_ref::put.
    template <class Ctx>
    LANEWAY_FN item_place put(Ctx& ctx, lane_mask mask, bool is_near, const entry& put, std::uint64_t priority) const {
        const item_place place = queues.put(ctx, mask, is_near, put);
        if (notes_least && place == item_place::far) {
            item_block& block = queues.blocks[static_cast<std::uint32_t>(ctx.block()) % queues.rings];
            ctx.fetch_min(&block.min_far, priority, order::relaxed, scope::device);
        }
        return place;
    }
};

/// An item that a host thread of a session gives.
template <class Application>
struct item_start {
    typename Application::item item;
};

/// Puts it into the queues. Neither on_send nor on_receive is asked, as of the items that a run starts with.
template <class Application>
struct start_item {
    receive_item<Application> arrivals;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const item_start<Application>& start) const {
        const lane_mask mask = ctx.converged();
        count_lanes_that(ctx, mask, true, &arrivals.counters->started);
        (void)arrivals.keep(ctx, mask, start.item);
    }
};

/// Puts what was lent to this PE into its queues. on_receive is not asked: the item belongs where it was.
template <class Application>
struct receive_loan {
    receive_item<Application> arrivals;
    std::uint32_t* asked = nullptr;  ///< one a PE

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const item_loan<Application>& loan) const {
        using entry = typename receive_item<Application>::entry;
        entry taken = entry::of(arrivals.application.unpack(ctx, loan.packed), loan.first, loan.count);
        taken.set_lender(static_cast<int>(loan.lender));
        ctx.store(asked + loan.lender, 0u, order::relaxed, scope::device);
        const lane_mask mask = ctx.converged();
        count_lanes_that(ctx, mask, true, &arrivals.counters->stolen);
        (void)arrivals.queues.put(ctx, mask, true, taken);
    }
};

}  // namespace laneway
