// The aggregation buffers of a block for all types of message, as one lane sees them: what has been aggregated, and
// what has left.
#pragma once

#include "laneway/comm/done_work.hpp"
#include "laneway/comm/routes.hpp"
#include "laneway/comm/variable_aggregator.hpp"

namespace laneway {

/// The aggregator for one type of message.
template <class Ctx, class Message, class Handler>
using aggregator_of = std::conditional_t<taking_payload<Handler>, variable_aggregator<Ctx, Message>,
                                         aggregator<Ctx, typename record_of<Message, Handler>::type>>;

/// Shared memory that the sender of a block needs.
template <class Routes>
constexpr std::size_t sender_bytes(std::size_t chunk_bytes, int n_pes) {
    return sizeof(done_words) + buffer_sizes<typename route_list<Routes>::carried>::for_requests(chunk_bytes, n_pes);
}

/// `Carried`: the routes that chunks are told apart by, see route_list.
template <class Ctx, class Carried, class Idle>
class block_aggregation;

/// Members that take a mask are called by exactly the lanes of the mask, together. `idle()` is called while lanes wait
/// and must serve incoming chunks where no other warp does.
template <class Ctx, class... M, class... H, class Idle>
class block_aggregation<Ctx, routes<route<M, H>...>, Idle> : aggregator_of<Ctx, M, H>... {
    using list = route_list<routes<route<M, H>...>>;

public:
    /// `shared` lies in the block's shared memory, `completed` counts work in PE memory.
    LANEWAY_FN block_aggregation(Ctx& ctx, const links_ref& links, std::size_t chunk_bytes, Idle idle,
                                 std::byte* shared, std::uint64_t* completed)
        : block_aggregation(ctx, links, chunk_bytes, idle, *reinterpret_cast<done_words*>(shared),
                            shared_cursor{shared + sizeof(done_words)}, completed) {}

    /// Prepares the aggregation buffers; all lanes of the block call it before any posts, and a block barrier must
    /// follow.
    LANEWAY_FN void open(Ctx& ctx) {
        (aggregator_for<M>().open(ctx), ...);
        if (ctx.warp() == 0 && ctx.lane() == 0) done_.open();
    }

    /// The most elements that a message of this type may carry.
    template <class Message>
    [[nodiscard]] LANEWAY_FN std::uint32_t longest() {
        using element = typename list::template handler<Message>::element;
        return variable_shape<Message, element>::longest(aggregator_for<Message>().chunk_granules());
    }

protected:
    template <class Message>
    LANEWAY_FN aggregator_of<Ctx, Message, typename list::template handler<Message>>& aggregator_for() {
        return *this;
    }

    /// Runs `use` on the aggregator of each type until one fails.
    template <class Use>
    LANEWAY_FN status each(Use&& use) {
        status result = status::ok;
        (void)(((result = use(aggregator_for<M>())) == status::ok) && ...);
        return result;
    }

    /// Whether flush_ready would find anything. Cheap, as thousands of warps that have no work ask again and again.
    LANEWAY_FN bool anything_to_send(Ctx& ctx, lane_mask mask) {
        if (ctx.n_pes() == 1) return false;
        return done_.any(ctx, mask) || (aggregator_for<M>().any_open(ctx, mask) || ...);
    }

    /// Whether every message that lanes of this block posted before has left. The lanes of the mask, together.
    LANEWAY_FN bool all_left(Ctx& ctx, lane_mask mask) {
        bool left = true;
        for (int pe = rank_in(ctx, mask); pe < ctx.n_pes(); pe += Ctx::count_lanes(mask)) {
            if (pe != ctx.pe()) left = left && (aggregator_for<M>().all_left(ctx, pe) && ...);
        }
        const bool all = ctx.ballot(mask, !left) == 0;
        ctx.sync(mask);  // what the other lanes saw leave comes before what this one does next
        return all;
    }

    /// Sends each chunk whose predecessor has left, and makes completed work known.
    LANEWAY_SLOW status flush_ready(Ctx& ctx, lane_mask mask) {
        if (!anything_to_send(ctx, mask)) return status::ok;
        const status sent = each([&](auto& part) { return part.flush_ready(ctx, mask, idle_); });
        if (sent == status::ok) done_.tell(ctx, mask, [&] { return all_left(ctx, mask); });
        return sent;
    }

    /// Sends everything and waits until it has left.
    LANEWAY_SLOW status drain(Ctx& ctx, lane_mask mask) {
        const status going = check_stop(ctx, mask);
        if (going != status::ok) return going;
        const status sent = each([&](auto& part) { return part.flush(ctx, mask, idle_); });
        if (sent != status::ok) return sent;
        return each([&](auto& part) { return part.await_left(ctx, mask, idle_); });
    }

    /// Whether the run goes on, for who may find nothing to wait for and would not hear of its end: ok, or stopped. A
    /// warp of one lane has all roles, so it takes its turn at them here. The lanes of the mask, together.
    LANEWAY_FN status check_stop(Ctx& ctx, lane_mask mask) {
        if constexpr (Ctx::warp_lanes == 1) idle_();
        return once(ctx, mask, [&] { return std::uint32_t{stopped(ctx)}; }) != 0 ? status::stopped : status::ok;
    }

    /// Waits until all chunks so far have been served. The same answer for all lanes of the mask, together.
    LANEWAY_SLOW status await_served(Ctx& ctx, lane_mask mask, int pe) {
        const chunk_sender& ring = links_.to[pe];
        // One look for all: lanes that saw different tails would share out different tickets and leave some to nobody.
        const std::uint64_t end = once(ctx, mask, [&] { return ring.drawn(ctx); });
        std::uint64_t next = end < ring.n_slots ? 0 : end - ring.n_slots;
        next += static_cast<std::uint64_t>(rank_in(ctx, mask));
        bounded_spin spin;
        for (;;) {
            while (next < end && ring.is_served(ctx, next)) next += static_cast<std::uint64_t>(Ctx::count_lanes(mask));
            if (ctx.ballot(mask, next < end) == 0) break;
            idle_();
            const status going = spin.next(ctx, {operation::quiet, pe, next});
            if (ctx.ballot(mask, going != status::ok) != 0) return status::stopped;
        }
        ctx.sync(mask);  // what a lane has acquired is visible to its mates
        return status::ok;
    }

    LANEWAY_FN done_work<Ctx>& done() { return done_; }
    LANEWAY_FN const links_ref& links() const { return links_; }
    LANEWAY_FN void idle() { idle_(); }
    LANEWAY_FN Idle& idler() { return idle_; }

private:
    /// Places the aggregators' parts of the shared memory one behind the other.
    struct shared_cursor {
        std::byte* at;
        LANEWAY_FN std::byte* take(std::size_t bytes) {
            std::byte* const part = at;
            at += bytes;
            return part;
        }
    };

    LANEWAY_FN block_aggregation(Ctx& ctx, const links_ref& links, [[maybe_unused]] std::size_t chunk_bytes, Idle idle,
                                 done_words& done, [[maybe_unused]] shared_cursor cursor, std::uint64_t* completed)
        : aggregator_of<Ctx, M, H>(
              ctx, links, chunk_shape<typename record_of<M, H>::type>::fitting(chunk_bytes), list::template kind<M>,
              cursor.take(
                  chunk_shape<typename record_of<M, H>::type>::fitting(chunk_bytes).shared_bytes(ctx.n_pes())))...,
          links_(links), idle_(idle), done_(done, completed, *links.work) {}

    const links_ref& links_;
    Idle idle_;
    done_work<Ctx> done_;
};

}  // namespace laneway
