// A service, as a component of a program: the view of one PE.
#pragma once

#include "laneway/comm/termination_ref.hpp"
#include "laneway/run/component.hpp"
#include "laneway/task/service_agent.hpp"
#include "laneway/task/service_server.hpp"

namespace laneway {

/// The queue that a lane of a server warp looks at, the ticket that comes next in it, and where it looks: found once,
/// as how soon it looks again is part of a lone request's time.
struct service_watch {
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    std::uint32_t queue = none;
    std::uint64_t head = 0;
    std::uint64_t* flags = nullptr;
};

template <class... Types>
struct service_ref {
    using routes_type = routes<>;
    using server_state = service_watch;
    static constexpr bool counts_work = true;
    static constexpr bool serves = true;
    static constexpr int cuda_warps = small_block_warps;
    static constexpr bool servers_post = (forwarding<Types> || ...);
    static constexpr std::size_t shared_bytes = (sizeof(service_queue) + 15) / 16 * 16;

    service_rings_ref rings;
    task_types<Types...> types;

    [[nodiscard]] routes_type handlers() const { return {}; }

    template <class Ctx, class Out>
    LANEWAY_FN service_agent<Ctx, Out, Types...> agent(Ctx& ctx, Out& out, const roles&, std::byte* shared) const {
        return {ctx, *this, out, reinterpret_cast<service_queue*>(shared)};
    }

    /// Serves what has arrived in the queues of this warp, at most a slot of each; whether there was any. The whole
    /// warp, together.
    template <class Ctx, class Forward>
    LANEWAY_FN bool serve(Ctx& ctx, const roles& mine, server_state& watch, std::byte*, Forward& forward) const {
        const std::uint32_t queues = rings.served_by(ctx.pe(), ctx.n_pes());
        if constexpr (Ctx::warp_lanes == 1) {
            bool served = false;
            for (std::uint32_t q = 0; q < queues; ++q) served = try_serve(ctx, q, forward) || served;
            return served;
        } else {
            // Queue q belongs to warp q mod server_warps, and there to one of its lanes.
            const auto first = static_cast<std::uint32_t>(mine.server_index);
            constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
            bool served = false;
            for (std::uint32_t base = first; base < queues; base += rings.server_warps * lanes) {
                const std::uint32_t q = base + rings.server_warps * static_cast<std::uint32_t>(ctx.lane());
                served = serve_own(ctx, q, q < queues, watch, forward) || served;
            }
            return served;
        }
    }

    template <class Ctx>
    LANEWAY_FN void add_completed(Ctx& ctx, keyed_reply& sum) const {
        each_queue(ctx, [&](int block, std::uint64_t posted) {
            if (posted == 0) return;
            // Partner: the release store in service_slot::close.
            const std::uint64_t done = rings.ring(ctx, ctx.pe(), block).load_done(ctx);
            // More may be done than is counted as created: that comes when the body returns which has posted it.
            sum.completed += done < posted ? done : posted;
        });
    }
    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        each_queue(ctx, [&](int, std::uint64_t posted) { sum.created += posted; });
    }
    template <class Ctx>
    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}

private:
    /// Calls `use(block, posted)` for this lane's share of the PE's queues.
    template <class Ctx, class Use>
    LANEWAY_FN void each_queue(Ctx& ctx, Use&& use) const {
        for (int block = ctx.lane(); block < static_cast<int>(rings.n_blocks); block += Ctx::warp_lanes) {
            // Relaxed: told before the bodies count as completed that have posted it.
            use(block, ctx.load(rings.posted_by(ctx, block), order::relaxed, scope::device));
        }
    }
    /// What has arrived next in a queue.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN service_label look(Ctx& ctx, std::uint32_t queue, std::uint64_t head) const {
        return {chunk_receiver(ring_of(ctx, queue).requests).poll(ctx, head)};
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN service_ring ring_of(const Ctx& ctx, std::uint32_t queue) const {
        return rings.ring(ctx, rings.pe_of(queue, ctx.pe()), rings.block_of(queue));
    }

    /// Each lane looks at its queue, and the warp serves those that have something, one after the other.
    template <class Ctx, class Forward>
    LANEWAY_FN bool serve_own(Ctx& ctx, std::uint32_t queue, bool exists, server_state& watch, Forward& forward) const {
        service_label label{};
        if (exists) {
            const std::uint64_t* const head = address(ctx, rings.heads[queue]);
            if (watch.queue != queue) {  // this lane alone stores the head
                watch = {queue, *head, ring_of(ctx, queue).requests.flags};
            }
            chunk_ring_layout ring;
            ring.flags = watch.flags;
            ring.n_slots = rings.n_slots;
            label = {chunk_receiver(ring).poll(ctx, watch.head)};
        }
        const lane_mask seen = ctx.ballot(full_warp<Ctx>, label.label.bits != 0);
        for (lane_mask rest = seen; rest != 0; rest &= rest - 1) {
            const int leader = Ctx::first_lane(rest);
            ctx.sync(full_warp<Ctx>);  // what the leader has acquired is visible to all
            const service_label taken{{ctx.shuffle(full_warp<Ctx>, label.label.bits, leader)}};
            const std::uint32_t from = ctx.shuffle(full_warp<Ctx>, queue, leader);
            const std::uint64_t ticket = ctx.shuffle(full_warp<Ctx>, watch.head, leader);
            serve_arrived(ctx, from, {ring_of(ctx, from), ticket, taken}, forward);
            if (ctx.lane() == leader) *address(ctx, rings.heads[queue]) = ++watch.head;
        }
        return seen != 0;
    }

    /// In threads mode any lane of the PE may serve any queue, but one at a time.
    template <class Ctx, class Forward>
    LANEWAY_FN bool try_serve(Ctx& ctx, std::uint32_t queue, Forward& forward) const {
        std::uint64_t* const head = address(ctx, rings.heads[queue]);
        std::uint64_t* const lock = address(ctx, rings.locks[queue]);
        if (look(ctx, queue, ctx.load(head, order::relaxed, scope::device)).label.bits == 0) return false;
        // Partner: the release store below.
        if (ctx.exchange(lock, std::uint64_t{1}, order::acquire, scope::device) != 0) return false;
        const std::uint64_t ticket = ctx.load(head, order::relaxed, scope::device);
        const service_label label = look(ctx, queue, ticket);
        if (label.label.bits != 0) {
            serve_arrived(ctx, queue, {ring_of(ctx, queue), ticket, label}, forward);
            ctx.store(head, ticket + 1, order::relaxed, scope::device);
        }
        ctx.store(lock, std::uint64_t{0}, order::release, scope::device);
        return label.label.bits != 0;
    }

    template <class Ctx, class Forward>
    LANEWAY_FN void serve_arrived(Ctx& ctx, std::uint32_t queue, const service_slot& arrived, Forward& forward) const {
        const service_call whose(rings.pe_of(queue, ctx.pe()), rings.block_of(queue), true);
        service_served done;
        if constexpr (servers_post) {
            done = serve_slot(ctx, rings, types, arrived, whose, forward);
        } else {
            const no_forwards none;
            done = serve_slot(ctx, rings, types, arrived, whose, none);
        }
        if (ctx.lane() == 0) count(ctx, done);
    }
    /// For the report. One lane.
    template <class Ctx>
    LANEWAY_FN void count(Ctx& ctx, const service_served& done) const {
        service_counts& counts = rings.counts_of(ctx);
        ctx.fetch_add(&counts.slots, std::uint64_t{1}, order::relaxed, scope::device);
        ctx.fetch_add(&counts.requests, std::uint64_t{done.requests}, order::relaxed, scope::device);
        if (done.refused != 0) {
            ctx.fetch_add(&counts.refused, std::uint64_t{done.refused}, order::relaxed, scope::device);
        }
    }
};

}  // namespace laneway
