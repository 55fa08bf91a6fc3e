// How the lanes of a block reach who serves their PE: the same for all types of requests, so that it is compiled once.
#pragma once

#include "laneway/comm/one_sided.hpp"
#include "laneway/task/service_operations.hpp"
#include "laneway/task/service_queue.hpp"
#include "laneway/task/service_rings_ref.hpp"

namespace laneway {

/// A lane's access to its block's queue of requests; all members fail with stopped or timeout when the run ends.
template <class Ctx, class Out>
class service_caller {
public:
    static constexpr bool polls = true;
    static constexpr bool leaves = true;

    LANEWAY_FN service_caller(const Ctx& ctx, const service_rings_ref& rings, Out& out, service_queue* queue)
        : rings_(rings), out_(out), queue_(queue), ring_(rings.ring(ctx, ctx.pe(), ctx.block())),
          server_(rings.server_of(ctx.pe())) {}

    /// Waits until all that lanes of this block have posted so far is done, and visible: what this lane posted, and
    /// what mates posted before it met them.
    LANEWAY_FN status quiet(Ctx& ctx) {
        const std::uint64_t posted = ctx.load(&queue_->tail, order::relaxed, scope::block);
        // Partner: the release store in service_slot::close.
        return await(ctx, mine(ctx, ctx.converged()), {operation::quiet, server_, posted},
                     [&] { return ring_.has_done(ctx, posted); });
    }

    /// Waits until the own PE's word is `value` or more: what was put before it is visible. Each lane leaves when its
    /// own word has come.
    LANEWAY_FN status wait_signal(Ctx& ctx, symmetric_ptr<std::uint64_t> word, std::uint64_t value) {
        const status fine = check(ctx, operation::signal, word, ctx.pe(), 1);
        if (fine != status::ok) return fine;
        const std::uint64_t* const mine = address(ctx, word);
        // Partner: the fence of service_signal::raise.
        return await(ctx, lane_mask{1} << ctx.lane(), {operation::signal, ctx.pe(), value},
                     [&] { return reaches(ctx, mine, value, scope::system); });
    }

    // As a component.
    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() != 0 || ctx.lane() != 0) return;
        // Nobody adds to it before a body returns.
        queue_->open(ctx.load(rings_.posted_by(ctx, ctx.block()), order::relaxed, scope::device), rings_.n_slots);
    }
    LANEWAY_FN bool poll(Ctx& ctx) {
        if constexpr (Ctx::warp_lanes > 1) ctx.pause(5);  // servers serve, and they are others
        return false;
    }
    /// A body is open work until it has returned; what it has posted is created work before. Warps of the block may
    /// tell in any order.
    LANEWAY_FN void leave(Ctx& ctx) {
        if (ctx.lane() != 0) return;
        const std::uint64_t posted = ctx.load(&queue_->tail, order::relaxed, scope::block);
        ctx.fetch_max(rings_.posted_by(ctx, ctx.block()), posted, order::relaxed, scope::device);
    }
    LANEWAY_FN void refresh(Ctx&) {}
    LANEWAY_FN void close(Ctx&) {}

protected:
    /// Those of the lanes, which have come together, that call this service.
    [[nodiscard]] LANEWAY_FN lane_mask mine(Ctx& ctx, lane_mask together) const { return mates(ctx, together, queue_); }

    /// The lanes of the mask, together; `ticket` for all of them.
    template <class Type>
    LANEWAY_FN status send(Ctx& ctx, lane_mask mask, std::uint32_t type, bool waits,
                           const typename Type::arguments& arguments, std::uint64_t& ticket) {
        const status drawn = draw(ctx, mask, type, ticket);
        if (drawn != status::ok) return drawn;
        rings_.renew_answers(ctx, mask, ring_, ticket);
        const chunk_sender to(ring_.requests);
        const auto count = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
        const auto mine = static_cast<std::uint32_t>(rank_in(ctx, mask));
        const bool in_words = !is_ordered<Type> && to.has_words() && fits_words<typename Type::arguments>(count);
        const auto label = service_label::of(count, waits, type, in_words).label;
        if (in_words) {
            to.store_words(ctx, ticket, mine, arguments);
            ctx.sync(mask);
            if (elected(ctx, mask)) to.raise_flag(ctx, ticket, label, 0);
        } else {
            reinterpret_cast<typename Type::arguments*>(to.slot(ticket))[mine] = arguments;
            ctx.sync(mask);
            if (elected(ctx, mask)) {
                // Partner: chunk_receiver::poll. Cumulative over the other lanes' stores.
                ring_.store_flag(ctx, ticket, label);
            }
        }
        if (!waits && elected(ctx, mask)) queue_->release(ctx, ring_, ticket);
        return status::ok;
    }

    /// Sends a request and waits for what has come of it. The lanes of the mask, together.
    template <class Type>
    LANEWAY_FN answered<service_result<Type>> ask(Ctx& ctx, lane_mask mask, std::uint32_t type,
                                                  const typename Type::arguments& arguments) {
        std::uint64_t ticket = 0;
        const status sent = send<Type>(ctx, mask, type, true, arguments, ticket);
        if (sent != status::ok) return {sent, {}};
        service_answer<Type> answer;
        const status waited = await_answer(ctx, mask, ticket, type, is_ordered<Type>, answer);
        if (waited != status::ok) return {waited, {}};
        ctx.sync(mask);
        if (elected(ctx, mask)) queue_->release(ctx, ring_, ticket);
        return {static_cast<status>(answer.code), answer.value};
    }

    template <class T>
    LANEWAY_FN status check(Ctx& ctx, operation what, symmetric_ptr<T> at, int pe, std::uint64_t count) {
        if (pe < 0 || pe >= ctx.n_pes()) return fail(ctx, status::bad_pe, what, pe);
        return exists(ctx, at, count) ? status::ok : refuse_address(ctx, what, pe, at);
    }
    LANEWAY_FN status set_signal(Ctx& ctx, service_signal& made, int pe, symmetric_ptr<std::uint64_t> word,
                                 std::uint64_t value, signal_op how) {
        if (word.segment == unnamed_segment) return status::ok;
        made = {{how == signal_op::add ? memory_op::add : memory_op::put, word}, value, true};
        return check(ctx, operation::put, word, pe, 1);
    }

    LANEWAY_FN Out& out() { return out_; }

private:
    LANEWAY_FN status draw(Ctx& ctx, lane_mask mask, std::uint32_t type, std::uint64_t& ticket) {
        const wait_site site{operation::request, server_, type};
        const auto try_draw = [&] {
            return once(ctx, mask, [&] { return std::uint32_t{queue_->try_draw(ctx, ring_, ticket)}; }) != 0;
        };
        status drawn = try_draw() ? status::ok : await(ctx, mask, site, try_draw);
        if (drawn != status::ok) return drawn;
        ctx.sync(mask);  // what the elected lane has acquired is visible to all
        ticket = ctx.shuffle(mask, ticket, Ctx::first_lane(mask));
        // Who posts now and then, and never has to wait, would not hear of the end of the run, nor see its deadline.
        if (ticket % 64 == 63) {
            drawn =
                static_cast<status>(once(ctx, mask, [&] { return static_cast<std::uint32_t>(check_end(ctx, site)); }));
        }
        return drawn;
    }
    static LANEWAY_FN status check_end(Ctx& ctx, const wait_site& site) {
        if (stopped(ctx)) return status::stopped;
        if (!ctx.is_late()) return status::ok;
        return fail(ctx, status::timeout, site.what, site.peer, site.number);
    }

    template <class Type>
    LANEWAY_FN status await_answer(Ctx& ctx, lane_mask mask, std::uint64_t ticket, std::uint32_t type, bool ordered,
                                   service_answer<Type>& answer) {
        const auto column = static_cast<std::uint32_t>(rank_in(ctx, mask));
        const order o = ordered ? order::acquire : tagged_load_order<Ctx>;
        const auto look = [&] { return rings_.load_answer(ctx, ring_, ticket, column, answer, o); };
        return await(ctx, mask, {operation::served, server_, type}, look);
    }

    /// The lanes of the mask, together, wait until `look()` is true for each. Where warps are lanes, this one serves
    /// meanwhile.
    template <class Look>
    LANEWAY_SLOW status await(Ctx& ctx, lane_mask mask, const wait_site& site, Look&& look) {
        bounded_spin spin(2);
        bool here = false;
        for (unsigned looks = 1;; ++looks) {
            if (!here) here = look();
            if (ctx.ballot(mask, !here) == 0) return status::ok;
            // On a GPU how soon a word is seen is what a step costs, and nothing has to be helped on its way.
            if (Ctx::warp_lanes >= 32 && looks % 16 != 0) continue;
            // All lanes of the mask do the same, whenever each has seen a warp return.
            const bool others_do = once(ctx, mask, [&] { return std::uint32_t{out_.others_take_turns(ctx)}; }) != 0;
            const status helped = others_do ? status::ok : out_.help(ctx, mask);
            const auto going = static_cast<status>(once(ctx, mask, [&] {
                const status ended = check_end(ctx, site);
                return static_cast<std::uint32_t>(ended == status::ok ? spin.next(ctx, site) : ended);
            }));
            if (going != status::ok) return going;
            if (ctx.ballot(mask, helped != status::ok) != 0) return status::stopped;
        }
    }

    const service_rings_ref& rings_;
    Out& out_;
    service_queue* queue_;
    service_ring ring_;
    int server_;
};

}  // namespace laneway
