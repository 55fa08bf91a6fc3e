// Places for messages that no receive awaits yet: a stack of those that are free, how many may be used, and slots of
// rings that such messages keep.
#pragma once

#include "laneway/comm/two_sided/ring_reader.hpp"

namespace laneway {

/// Whoever has locked the shard uses it; members are for the whole warp, together, where they do not say something
/// else.
template <class Ctx>
class unexpected_places {
public:
    LANEWAY_FN unexpected_places(const two_sided_ref& view, const message_shard_ref& shard)
        : shard_(shard), rings_(view, shard) {}

    /// How many more messages may wait. Any lane, between the turn's changes.
    [[nodiscard]] LANEWAY_FN std::uint32_t room() const {
        const std::uint32_t free = shard_.state->n_free;
        return free > spare_places ? free - spare_places : 0;
    }

    /// A place for an unexpected message, for each active lane. There is one for each that is admitted.
    LANEWAY_FN std::uint32_t take(Ctx& ctx, bool active) const {
        const lane_mask lanes = ctx.ballot(full_warp<Ctx>, active);
        const std::uint32_t free = shard_.state->n_free;
        const auto rank = static_cast<std::uint32_t>(rank_in(ctx, lanes));
        const std::uint32_t place = active ? shard_.free_places[free - 1 - rank] : 0;
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) shard_.state->n_free = free - static_cast<std::uint32_t>(Ctx::count_lanes(lanes));
        ctx.sync(full_warp<Ctx>);
        return place;
    }
    LANEWAY_FN void put_back(Ctx& ctx, bool mine, std::uint32_t place) const {
        const lane_mask lanes = ctx.ballot(full_warp<Ctx>, mine);
        const std::uint32_t free = shard_.state->n_free;
        if (mine) shard_.free_places[free + static_cast<std::uint32_t>(rank_in(ctx, lanes))] = place;
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) shard_.state->n_free = free + static_cast<std::uint32_t>(Ctx::count_lanes(lanes));
        ctx.sync(full_warp<Ctx>);
    }
    /// Takes places back that lanes have emptied since the last turn.
    LANEWAY_SLOW void reclaim(Ctx& ctx) const {
        for (;;) {
            const std::uint64_t first = ctx.load(shard_.returned.taken, order::relaxed, scope::device);
            const std::uint32_t place = shard_.returned.at(ctx, first + static_cast<std::uint64_t>(ctx.lane()));
            const int n = leading_lanes(ctx, place != number_queue_ref::none);
            if (n == 0) return;
            count_kept_slots(ctx, ctx.lane() < n && shard_.unexpected[place].in_ring != 0, place, false);
            put_back(ctx, ctx.lane() < n, place);
            if (ctx.lane() == 0) {
                ctx.store(shard_.returned.taken, first + static_cast<std::uint64_t>(n), order::relaxed, scope::device);
            }
            ctx.sync(full_warp<Ctx>);
        }
    }

    /// Tells lanes whether messages wait, and when further ones have come to, see direct_receive. One lane.
    LANEWAY_FN void note_waiting(Ctx& ctx) const {
        const matching_engine_ref& engine = shard_.engine;
        const std::uint64_t waiting = engine.unexpected.length() == 0 ? 0 : engine.counts->unexpected;
        ctx.store(&shard_.state->waiting, waiting, order::relaxed, scope::device);
    }

    /// Payloads that wait without an order, in slots that others cannot use meanwhile: so many more, or fewer. A slot
    /// counts more than once where its payload was received, and it was used anew, before a turn reclaimed the place.
    LANEWAY_FN void count_kept_slots(Ctx& ctx, bool mine, std::uint32_t place, bool come) const {
        if (mine) {
            const unexpected_message& kept = shard_.unexpected[place];
            const auto source = static_cast<int>(kept.key.source);
            std::uint32_t* const slot = shard_.kept + rings_.slot_number(shard_.from[source], source, kept.ticket);
            ctx.fetch_add(slot, come ? 1u : ~0u, order::relaxed, scope::device);
        }
        const auto n = static_cast<std::uint32_t>(Ctx::count_lanes(ctx.ballot(full_warp<Ctx>, mine)));
        if (n != 0 && ctx.lane() == 0) {
            const std::uint32_t before = shard_.state->kept_slots;
            ctx.store(&shard_.state->kept_slots, come ? before + n : before - n, order::relaxed, scope::device);
        }
        ctx.sync(full_warp<Ctx>);
    }

private:
    const message_shard_ref& shard_;
    ring_reader<Ctx> rings_;
};

}  // namespace laneway
