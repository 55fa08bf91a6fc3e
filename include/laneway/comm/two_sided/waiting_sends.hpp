// Sends that wait for room in their ring, by slot: those for one slot hang in a chain, in the order of their tickets,
// so that of each chain only the first has to be looked at. Chains with something in them stand in a queue and are
// looked at by turns.
#pragma once

#include "laneway/comm/two_sided/two_sided_ref.hpp"

namespace laneway {

/// Whoever has locked the shard uses them; members are for the whole warp, together, where they do not say something
/// else.
template <class Ctx>
class waiting_sends {
public:
    LANEWAY_FN waiting_sends(const two_sided_ref& view, const message_shard_ref& shard) : view_(view), shard_(shard) {}

    /// Chains with something in them. Any lane, also of others.
    [[nodiscard]] LANEWAY_FN std::uint64_t n_chains(Ctx& ctx) const {
        return ctx.load(&shard_.state->end_waiting, order::relaxed, scope::device) -
               ctx.load(&shard_.state->first_waiting, order::relaxed, scope::device);
    }

    /// Adds each active lane's request, where its ticket puts it: lanes that drew tickets one after the other may have
    /// come in another order.
    LANEWAY_SLOW void add(Ctx& ctx, bool active, std::uint32_t number) const {
        const std::uint32_t none = ~static_cast<std::uint32_t>(ctx.lane());  // no chain has such a number
        const std::uint32_t chain = active ? chain_of(view_.requests[number]) : none;
        const int rank = rank_in(ctx, ctx.match(full_warp<Ctx>, chain));
        const bool was_empty = active && rank == 0 && shard_.sends[chain].last == 0;
        for (int turn = 0; ctx.ballot(full_warp<Ctx>, active && rank >= turn) != 0; ++turn) {
            if (active && rank == turn) insert(shard_.sends[chain], number);
            ctx.sync(full_warp<Ctx>);
        }
        append(ctx, was_empty, chain);
    }

    /// Takes out the first send of each chain whose slot is free, a lane each, and lets the chain wait behind the
    /// others if it has more. False where nobody has got one: then they keep their places, as slots become free in
    /// about the order in which chains stand. Every fourth time they go behind the others, as it is not exactly that.
    LANEWAY_SLOW bool take(Ctx& ctx, bool& mine, std::uint32_t& number) const {
        const std::uint64_t first = ctx.load(&shard_.state->first_waiting, order::relaxed, scope::device);
        const bool looks = static_cast<std::uint64_t>(ctx.lane()) < n_chains(ctx);
        std::uint32_t chain = 0;
        mine = false;
        if (looks) {
            chain = shard_.sending[(first + static_cast<std::uint64_t>(ctx.lane())) % n_places(ctx)];
            number = shard_.sends[chain].first - 1;
            const request_slot& slot = view_.requests[number];
            mine = shard_.to[slot.key.source].is_free(ctx, slot.ticket);
        }
        if (mine) remove_first(shard_.sends[chain], number);
        const bool any = ctx.ballot(full_warp<Ctx>, mine) != 0;
        const std::uint32_t vain = shard_.state->vain_looks + 1;
        ctx.sync(full_warp<Ctx>);
        if (!any && ctx.lane() == 0) shard_.state->vain_looks = vain;
        if (!any && vain % max_vain_looks != 0) return false;
        move_on(ctx, &shard_.state->first_waiting, first, ctx.ballot(full_warp<Ctx>, looks));
        append(ctx, looks && shard_.sends[chain].last != 0, chain);
        return any;
    }

private:
    static constexpr std::uint32_t max_vain_looks = 4;

    [[nodiscard]] LANEWAY_FN std::uint64_t n_places(const Ctx& ctx) const {
        return static_cast<std::uint64_t>(ctx.n_pes()) * shard_.to->n_slots;
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t chain_of(const request_slot& send) const {
        return send.key.source * shard_.to->n_slots +
               static_cast<std::uint32_t>(shard_.to[send.key.source].slot_of(send.ticket));
    }

    /// One lane. It looks from the end: tickets that have been drawn at about the same time come at about the same
    /// time, while a chain may hold thousands.
    LANEWAY_FN void insert(send_chain& chain, std::uint32_t number) const {
        request_slot& send = view_.requests[number];
        std::uint32_t before = chain.last;
        while (before != 0 && view_.requests[before - 1].ticket > send.ticket)
            before = view_.requests[before - 1].before;
        std::uint32_t& link = before == 0 ? chain.first : view_.requests[before - 1].other;
        send.before = before;
        send.other = link;
        link = number + 1;
        (send.other == 0 ? chain.last : view_.requests[send.other - 1].before) = number + 1;
    }
    /// One lane.
    LANEWAY_FN void remove_first(send_chain& chain, std::uint32_t number) const {
        chain.first = view_.requests[number].other;
        (chain.first == 0 ? chain.last : view_.requests[chain.first - 1].before) = 0;
    }

    /// Puts each active lane's chain behind the others.
    LANEWAY_FN void append(Ctx& ctx, bool active, std::uint32_t chain) const {
        const lane_mask lanes = ctx.ballot(full_warp<Ctx>, active);
        const std::uint64_t end = ctx.load(&shard_.state->end_waiting, order::relaxed, scope::device);
        const auto place = end + static_cast<std::uint64_t>(rank_in(ctx, lanes));
        if (active) shard_.sending[place % n_places(ctx)] = chain;
        ctx.sync(full_warp<Ctx>);
        move_on(ctx, &shard_.state->end_waiting, end, lanes);
    }
    LANEWAY_FN void move_on(Ctx& ctx, std::uint64_t* word, std::uint64_t from, lane_mask by) const {
        if (ctx.lane() == 0) {
            ctx.store(word, from + static_cast<std::uint64_t>(Ctx::count_lanes(by)), order::relaxed, scope::device);
        }
        ctx.sync(full_warp<Ctx>);
    }

    const two_sided_ref& view_;
    const message_shard_ref& shard_;
};

}  // namespace laneway
