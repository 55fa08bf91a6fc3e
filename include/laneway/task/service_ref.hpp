// A service, as a component of a program: the view of one PE.
#pragma once

#include "laneway/comm/termination.hpp"
#include "laneway/run/component.hpp"
#include "laneway/task/service_agent.hpp"
#include "laneway/task/service_server.hpp"

namespace laneway {

/// The queue that a lane of a server warp looks at, and the ticket that comes next in it.
struct service_watch {
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    std::uint32_t queue = none;
    std::uint64_t head = 0;
};

template <class... Types>
struct service_ref {
    using routes_type = routes<>;
    using server_state = service_watch;
    static constexpr bool counts_work = true;
    static constexpr bool serves = true;
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
    template <class Ctx>
    LANEWAY_FN bool serve(Ctx& ctx, const roles& mine, server_state& watch) const {
        const std::uint32_t queues = rings.served_by(ctx.pe(), ctx.n_pes());
        if constexpr (Ctx::warp_lanes == 1) {
            bool served = false;
            for (std::uint32_t q = 0; q < queues; ++q) served = try_serve(ctx, q) || served;
            return served;
        } else {
            // Queue q belongs to warp q mod server_warps, and there to one of its lanes.
            const auto first = static_cast<std::uint32_t>(mine.server_index);
            constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
            bool served = false;
            for (std::uint32_t base = first; base < queues; base += rings.server_warps * lanes) {
                const std::uint32_t q = base + rings.server_warps * static_cast<std::uint32_t>(ctx.lane());
                served = serve_own(ctx, q, q < queues, watch) || served;
            }
            return served;
        }
    }

    template <class Ctx>
    LANEWAY_FN void add_completed(Ctx& ctx, keyed_reply& sum) const {
        if (ctx.lane() != 0) return;
        // Partners: the release add in count, and the release store of host threads.
        sum.completed += ctx.load(&rings.counts_of(ctx).completed, order::acquire, scope::device);
        for (std::uint32_t t = 0; t < rings.of_host.threads; ++t) {
            sum.completed += ctx.load(rings.of_host.completed + t * service_line, order::acquire, scope::system);
        }
    }
    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        // Relaxed: counted before the requests can be seen, and before what posted them counts as done.
        if (ctx.lane() == 0) sum.created += ctx.load(&rings.counts_of(ctx).posted, order::relaxed, scope::device);
    }
    template <class Ctx>
    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}

private:
    /// What has arrived next in a queue.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN service_label look(Ctx& ctx, std::uint32_t queue, std::uint64_t head) const {
        chunk_receiver ring;
        static_cast<chunk_ring_layout&>(ring) = ring_of(ctx, queue).requests;
        return {ring.arrived(ctx, head)};
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN service_ring ring_of(const Ctx& ctx, std::uint32_t queue) const {
        return rings.ring(ctx, rings.pe_of(queue, ctx.pe()), rings.block_of(queue));
    }

    /// Each lane looks at its queue, and the warp serves those that have something, one after the other.
    template <class Ctx>
    LANEWAY_FN bool serve_own(Ctx& ctx, std::uint32_t queue, bool exists, server_state& watch) const {
        service_label label{};
        if (exists) {
            std::uint64_t* const head = address(ctx, rings.heads[queue], ctx.pe());
            if (watch.queue != queue) watch = {queue, *head};  // this lane alone stores it
            label = look(ctx, queue, watch.head);
        }
        const lane_mask seen = ctx.ballot(full_warp<Ctx>, label.label.bits != 0);
        for (lane_mask rest = seen; rest != 0; rest &= rest - 1) {
            const int leader = Ctx::first_lane(rest);
            ctx.sync(full_warp<Ctx>);  // what the leader has acquired is visible to all
            const service_label taken{{ctx.shuffle(full_warp<Ctx>, label.label.bits, leader)}};
            serve_slot(ctx, ctx.shuffle(full_warp<Ctx>, queue, leader), ctx.shuffle(full_warp<Ctx>, watch.head, leader),
                       taken);
            if (ctx.lane() == leader) *address(ctx, rings.heads[queue], ctx.pe()) = ++watch.head;
        }
        return seen != 0;
    }

    /// In threads mode any lane of the PE may serve any queue, but one at a time.
    template <class Ctx>
    LANEWAY_FN bool try_serve(Ctx& ctx, std::uint32_t queue) const {
        std::uint64_t* const head = address(ctx, rings.heads[queue], ctx.pe());
        std::uint64_t* const lock = address(ctx, rings.locks[queue], ctx.pe());
        if (look(ctx, queue, ctx.load(head, order::relaxed, scope::device)).label.bits == 0) return false;
        // Partner: the release store below.
        if (ctx.exchange(lock, std::uint64_t{1}, order::acquire, scope::device) != 0) return false;
        const std::uint64_t ticket = ctx.load(head, order::relaxed, scope::device);
        const service_label label = look(ctx, queue, ticket);
        if (label.label.bits != 0) {
            serve_slot(ctx, queue, ticket, label);
            ctx.store(head, ticket + 1, order::relaxed, scope::device);
        }
        ctx.store(lock, std::uint64_t{0}, order::release, scope::device);
        return label.label.bits != 0;
    }

    template <class Ctx>
    LANEWAY_FN void serve_slot(Ctx& ctx, std::uint32_t queue, std::uint64_t ticket, service_label label) const {
        const service_call whose(rings.pe_of(queue, ctx.pe()), rings.block_of(queue), true);
        const service_served done =
            service_server<Ctx, Types...>(rings, types).serve(ctx, ring_of(ctx, queue), ticket, label, whose);
        if (ctx.lane() == 0) count(ctx, label, done);
    }
    /// One lane, behind what the others have done.
    template <class Ctx>
    LANEWAY_FN void count(Ctx& ctx, service_label label, const service_served& done) const {
        service_counts& counts = rings.counts_of(ctx);
        ctx.fetch_add(&counts.slots, std::uint64_t{1}, order::relaxed, scope::device);
        ctx.fetch_add(&counts.requests, std::uint64_t{done.requests}, order::relaxed, scope::device);
        if (done.refused != 0) {
            ctx.fetch_add(&counts.refused, std::uint64_t{done.refused}, order::relaxed, scope::device);
        }
        // Partner: the acquire load in add_completed. What the requests created has been counted before.
        if (!label.waits()) ctx.fetch_add(&counts.completed, std::uint64_t{1}, order::release, scope::device);
    }
};

}  // namespace laneway
