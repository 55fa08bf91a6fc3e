// Transfers as a component of a program: what lanes of the body hold, and what serving warps do.
#pragma once

#include "laneway/comm/await_others.hpp"
#include "laneway/comm/termination_ref.hpp"
#include "laneway/comm/transfers/host_transfers_ref.hpp"
#include "laneway/comm/transfers/transfer_engine.hpp"
#include "laneway/run/component.hpp"
#include "laneway/simt/message_order.hpp"

namespace laneway {

/// What the warps of a block share.
struct alignas(16) transfers_shared {
    bulk_staging staging;
    std::uint64_t arrived;  ///< warps that have come to post together, in all
    std::uint64_t posted;   ///< transfers that they have
    transfer_event event;   ///< of the last one
    std::uint32_t lent;     ///< as transfer_counters have it
};

/// A lane's access to transfers. What cannot be ends the run with bad_pe, bad_address, bad_pitch or bad_index; all
/// members fail with stopped or timeout when the run ends. Lanes that wait do not carry out transfers, but in threads
/// mode, and whole warps where they are supervised.
template <class Ctx, class Out>
class transfers_agent {
public:
    static constexpr bool polls = true;
    static constexpr bool attends = true;

    /// `together`: transfers that all warps of the PE have posted in runs before.
    LANEWAY_FN transfers_agent(Ctx& ctx, Out& out, const transfers_memory_ref& view, const host_transfers_ref& host,
                               transfers_shared& block, std::uint64_t together)
        : view_(view), host_(host), out_(out), block_(block), queue_(ctx, view), pe_posts_(together) {}

    /// Posts a transfer. Any lane, also in divergent code: lanes that arrive together share what it costs. What the
    /// lane has stored before goes along. Waits while all slots are taken.
    LANEWAY_FN answered<transfer_event> post(Ctx& ctx, const transfer& t) {
        answered<transfer_event> made{check_transfer(ctx, t, keys()), {}};
        if (made.code != status::ok) return made;
        made.value = queue_.draw(ctx, mates(ctx, ctx.converged(), &queue_.counters()));
        made.code = await_free(ctx, made.value);
        if (made.code == status::ok) queue_.post(ctx, made.value, t);
        return made;
    }
    /// The same once for a whole warp: all its lanes, together, with the same transfer; what any of them has stored
    /// goes along.
    LANEWAY_FN answered<transfer_event> post_warp(Ctx& ctx, const transfer& t) {
        ctx.sync(full_warp<Ctx>);
        answered<transfer_event> made{};
        if (ctx.lane() == 0) made = post(ctx, t);
        return from_lane_0(ctx, made);
    }
    /// The same for all working warps of a block, which meet.
    LANEWAY_SLOW answered<transfer_event> post_block(Ctx& ctx, const transfer& t) {
        const auto warps = static_cast<std::uint64_t>(out_.team().warps);
        const std::uint64_t round = ++block_posts_;
        ctx.sync(full_warp<Ctx>);
        answered<transfer_event> made{};
        if (ctx.lane() == 0) {
            // Partners: these adds of other warps. What they have stored is part of the transfer.
            const auto* const at = &block_.arrived;
            tell_history(ctx, [at](auto& history) { history.fence(), history.carry(at); });
            const std::uint64_t before = ctx.fetch_add(&block_.arrived, std::uint64_t{1}, order::acq_rel, scope::block);
            if (before + 1 == warps * round) {
                tell_history(ctx, [at](auto& history) { history.hear(at), history.fence(); });
                made = post(ctx, t);
                block_.event = made.value;
                // Partner: the acquire load below. Nobody overwrites the event before all have come again.
                if (made.code == status::ok) ctx.store(&block_.posted, round, order::release, scope::block);
            } else {
                made.code = await(ctx, {operation::transfer, -1, round},
                                  [&] { return ctx.load(&block_.posted, order::acquire, scope::block) >= round; });
                if (made.code == status::ok) made.value = block_.event;
            }
        }
        return from_lane_0(ctx, made);
    }
    /// The same for all working warps of the PE. None waits for the others: the last one that comes posts it, and each
    /// may wait for the event. So many at once as transfers_memory_ref::together_slots.
    LANEWAY_SLOW answered<transfer_event> post_pe(Ctx& ctx, const transfer& t) {
        const transfer_event event = queue_.together(pe_posts_++);
        ctx.sync(full_warp<Ctx>);
        answered<transfer_event> made{status::ok, event};
        if (ctx.lane() == 0) {
            made.code = check_transfer(ctx, t, keys());
            if (made.code == status::ok) made.code = await_free(ctx, event);
            const auto warps = static_cast<std::uint32_t>(ctx.local_size() / Ctx::warp_lanes);
            if (made.code == status::ok && queue_.arrive(ctx, event, warps)) queue_.post(ctx, event, t);
        }
        return from_lane_0(ctx, made);
    }

    /// Whether a transfer is done: then what it has moved is visible, and the source may be changed. Any lane of the PE
    /// that has posted it, also another one. Does not wait. False for an event that names none, which ends the run.
    /// Says nothing of the end of the run, so loops call wait.
    [[nodiscard]] LANEWAY_FN bool test(Ctx& ctx, transfer_event of) {
        return names_one(ctx, of) == status::ok && queue_.is_done(ctx, of);
    }
    /// Waits until it is. Any lanes, each for its own.
    LANEWAY_SLOW status wait(Ctx& ctx, transfer_event of) {
        const status named = names_one(ctx, of);
        if (named != status::ok) return named;
        return await(ctx, {operation::transferred, ctx.pe(), number_of(of)}, [&] { return queue_.is_done(ctx, of); });
    }
    /// Waits until no transfer is left that lanes of this PE have posted under a key: by this lane, and by others
    /// before it met them. Where others go on posting under it, also those.
    LANEWAY_SLOW status wait_key(Ctx& ctx, std::uint32_t key) {
        if (key >= keys()) return fail(ctx, status::bad_index, operation::use_key, -1, key, keys());
        const transfer_key& of = queue_.key(key);
        return await(ctx, {operation::use_key, ctx.pe(), key}, [&] {
            // Partner: the add in transfer_queue::complete. Looked at first: then all that were posted before are
            // done.
            const auto are_done = [&](order o) {
                const std::uint64_t done = ctx.load(&of.done, o, scope::device);
                return ctx.load(&of.posted, order::relaxed, scope::device) == done;
            };
            return are_done(order::relaxed) && are_done(order::acquire);  // as has_come
        });
    }
    /// Waits until a word of the own PE is `value` or more: what transfers have notified of by it is there.
    LANEWAY_SLOW status wait_signal(Ctx& ctx, symmetric_ptr<std::uint64_t> word, std::uint64_t value) {
        if (!exists(ctx, word)) return refuse_address(ctx, operation::signal, ctx.pe(), word);
        const std::uint64_t* const mine = address(ctx, word);
        // Partner: the fence in transfer_queue::complete.
        return await(ctx, {operation::signal, ctx.pe(), value},
                     [&] { return reaches(ctx, mine, value, scope::system); });
    }

    // As a component.
    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() != 0 || ctx.lane() != 0) return;
        block_.arrived = block_.posted = 0;
        block_.lent = 0;
        bulk_copier<Ctx>::open(block_.staging);
    }
    /// A warp that has nothing of its own is lent where the scheduler says so. In threads mode it serves anyway.
    LANEWAY_FN bool poll(Ctx& ctx) {
        if constexpr (Ctx::warp_lanes > 1) {
            const auto lent =
                once(ctx, full_warp<Ctx>, [&] { return ctx.load(&block_.lent, order::relaxed, scope::block); });
            if (lent != 0 && stand_in(ctx, full_warp<Ctx>, lent)) return true;
            ctx.pause(5);
        }
        return false;
    }
    LANEWAY_FN void refresh(Ctx& ctx) {
        if (view_.lends == 0) return;
        const std::uint32_t lent = ctx.load(&queue_.counters().lent, order::relaxed, scope::device);
        ctx.store(&block_.lent, lent, order::relaxed, scope::block);
    }
    LANEWAY_FN void attend(Ctx& ctx) {
        if (host_.n_slots != 0) host_transfer_turn<Ctx>(host_, queue_)(ctx, keys());
    }
    /// When all is done: host threads hear of it.
    LANEWAY_FN void close(Ctx& ctx) {
        if (host_.n_slots == 0 || ctx.block() != 0 || ctx.warp() != 0) return;
        host_transfer_turn<Ctx>(host_, queue_).answer(ctx);
    }

private:
    LANEWAY_FN status names_one(Ctx& ctx, transfer_event of) const {
        if (of.slot < view_.slots.size()) return status::ok;
        return fail(ctx, status::bad_index, operation::transferred, -1, of.slot, view_.slots.size());
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t keys() const { return static_cast<std::uint32_t>(view_.keys.size()); }
    [[nodiscard]] LANEWAY_FN std::uint64_t number_of(transfer_event of) const {
        return std::uint64_t{of.lap} * view_.own_slots() + of.slot;
    }
    LANEWAY_FN status await_free(Ctx& ctx, transfer_event at) {
        if (queue_.is_free_now(ctx, at)) return check_end(ctx, at);
        return await(ctx, {operation::transfer, -1, number_of(at)}, [&] { return queue_.is_free(ctx, at); });
    }
    /// Who posts now and then, and never has to wait, would not hear of the end of the run, nor see its deadline.
    LANEWAY_FN status check_end(Ctx& ctx, transfer_event at) {
        if (at.slot % 64 != 63) return status::ok;
        if (stopped(ctx)) return status::stopped;
        if (!ctx.is_late()) return status::ok;
        return fail(ctx, status::timeout, operation::transfer, -1, number_of(at));
    }
    LANEWAY_FN answered<transfer_event> from_lane_0(Ctx& ctx, answered<transfer_event> made) {
        ctx.sync(full_warp<Ctx>);
        return shuffle_value(ctx, full_warp<Ctx>, made, 0);
    }

    /// A turn by a warp that is no server, unless `most` are at it. Whether there was anything.
    LANEWAY_FN bool stand_in(Ctx& ctx, lane_mask mask, std::uint32_t most) {
        transfer_counters& all = queue_.counters();
        const auto leave = [&] { ctx.fetch_add(&all.helping, ~0u, order::relaxed, scope::device); };
        const auto goes = once(ctx, mask, [&]() -> std::uint32_t {
            if (queue_.waiting(ctx) == 0) return 0;
            const std::uint32_t before = ctx.fetch_add(&all.helping, 1u, order::relaxed, scope::device);
            if (before >= most) return leave(), 0;
            if (before >= ctx.load(&all.max_lent, order::relaxed, scope::device)) {
                ctx.fetch_max(&all.max_lent, before + 1, order::relaxed, scope::device);
            }
            return 1;
        });
        if (goes == 0) return false;
        const bool some = transfer_engine<Ctx>(view_, queue_, block_.staging).turn(ctx, mask, look_, true);
        if (elected(ctx, mask)) leave();
        return some;
    }
    /// Each lane leaves when its own has come.
    template <class Done>
    LANEWAY_FN status await(Ctx& ctx, const wait_site& site, Done&& done) {
        return await_others(ctx, out_, site, static_cast<Done&&>(done), [&](lane_mask mask) {
            // A whole warp stands in, which waits for these transfers alone.
            if (Ctx::warp_lanes == 1 || mask != full_warp<Ctx>) return false;
            return mates(ctx, mask, &queue_.counters()) == mask && view_.lends != 0 && stand_in(ctx, mask, ~0u);
        });
    }

    const transfers_memory_ref& view_;
    const host_transfers_ref& host_;
    Out& out_;
    transfers_shared& block_;
    transfer_queue<Ctx> queue_;
    transfer_look look_;
    std::uint64_t pe_posts_;
    std::uint64_t block_posts_ = 0;
};

/// Device view of the component on a PE.
struct transfers_component_ref {
    using routes_type = routes<>;
    using server_state = transfer_look;
    static constexpr bool counts_work = true;
    static constexpr bool serves = true;
    static constexpr int cuda_warps = small_block_warps;
    static constexpr std::size_t shared_bytes = sizeof(transfers_shared);

    transfers_memory_ref memory;
    host_transfers_ref host;
    std::uint64_t together = 0;  ///< transfers that all warps of the PE have posted in runs before

    [[nodiscard]] routes_type handlers() const { return {}; }

    template <class Ctx, class Out>
    LANEWAY_FN transfers_agent<Ctx, Out> agent(Ctx& ctx, Out& out, const roles&, std::byte* shared) const {
        return {ctx, out, memory, host, *reinterpret_cast<transfers_shared*>(shared), together};
    }

    /// Carries out what waits. The whole warp, together; the first server warp also lends others.
    template <class Ctx, class Forward>
    LANEWAY_FN bool serve(Ctx& ctx, const roles& mine, server_state& look, std::byte* shared, Forward&) const {
        transfer_queue<Ctx> queue(ctx, memory);
        const bool schedules = Ctx::warp_lanes > 1 && memory.lends != 0 && mine.server_index == 0;
        if (schedules && ctx.lane() == 0) lend(ctx, queue);
        bulk_staging& staging = reinterpret_cast<transfers_shared*>(shared)->staging;
        return transfer_engine<Ctx>(memory, queue, staging).turn(ctx, full_warp<Ctx>, look, false);
    }

    template <class Ctx>
    LANEWAY_FN void add_completed(Ctx& ctx, keyed_reply& sum) const {
        if (ctx.lane() != 0) return;
        // Partner: the release add in transfer_queue::complete.
        sum.completed += ctx.load(&counters(ctx).completed, order::acquire, scope::device);
    }
    template <class Ctx>
    LANEWAY_FN void add_created(Ctx& ctx, keyed_reply& sum) const {
        if (ctx.lane() != 0) return;
        sum.created += ctx.load(&counters(ctx).tickets, order::acquire, scope::device) +
                       ctx.load(&counters(ctx).together, order::acquire, scope::device);
    }
    template <class Ctx>
    LANEWAY_FN void apply(Ctx&, std::uint64_t) const {}

private:
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN transfer_counters& counters(const Ctx& ctx) const {
        return *address(ctx, memory.counters[0]);
    }
    /// As many of the warps that have nothing to do as there is work for. One lane of the PE.
    template <class Ctx>
    LANEWAY_FN void lend(Ctx& ctx, transfer_queue<Ctx>& queue) const {
        const std::uint64_t load = (queue.waiting(ctx) + Ctx::warp_lanes - 1) / Ctx::warp_lanes;
        const auto lent = static_cast<std::uint32_t>(load < 0xffff ? load : 0xffff);
        ctx.store(&queue.counters().lent, lent, order::relaxed, scope::device);
    }
};

}  // namespace laneway
