// The packer of parcels: claims places of different length, each within one chunk.
//
// Where what is left of the open chunk is too short for the next parcel, the gap is closed as a flush would close it,
// by the same compare-exchange that claims the start of the next chunk: so a parcel as long as a chunk gets through
// between short ones. A lane then owes two shares, padding and parcel, and settles whichever its buffer is free for:
// the rules of packer.hpp hold.
#pragma once

#include "laneway/comm/copy_bytes.hpp"
#include "laneway/comm/packer.hpp"

namespace laneway {

/// A parcel that is to be sent.
template <class Head>
struct outgoing_parcel {
    parcel_header<Head> header;
    const std::byte* body;  ///< memory that the lane can read
    std::uint32_t body_bytes;
};

template <class Ctx, class Head>
class parcel_packer : public packer<Ctx, parcel_unit<Head>> {
    using base = packer<Ctx, parcel_unit<Head>>;
    using typename base::share;

public:
    using base::base;

    /// Puts the parcels of the active lanes into the bins of their PEs, which exist and are not the own one; a parcel
    /// fits a chunk. The lanes of the mask, together. May wait for buffers and ring slots (back-pressure).
    template <class Idle>
    LANEWAY_FN status put_parcel(Ctx& ctx, lane_mask mask, bool active, int pe, const outgoing_parcel<Head>& parcel,
                                 Idle&& idle) {
        constexpr auto header_units = static_cast<std::uint32_t>(sizeof(parcel.header) / 16);
        const std::uint32_t units = header_units + (parcel.body_bytes + 15) / 16;
        bool waiting = active;
        while (ctx.ballot(mask, waiting) != 0) {
            const places mine = claim(ctx, mask, waiting, pe, units);
            const status settled = settle_both(ctx, mask, pe, mine, units, parcel, idle);
            if (settled != status::ok) return settled;
            waiting = waiting && !mine.claimed;
        }
        return status::ok;
    }

    /// Units of a chunk: the most that a parcel may have.
    [[nodiscard]] LANEWAY_FN std::uint32_t chunk_units() const { return this->shape_.messages(); }

private:
    /// What a lane has claimed: units for its parcel, and the padding behind `end`, where it has closed a chunk.
    struct places {
        bool claimed;
        bool closed;
        std::uint32_t first;
        std::uint32_t end;
    };

    [[nodiscard]] LANEWAY_FN std::uint32_t chunk_of(std::uint32_t position) const {
        return position >> this->shape_.log2_messages;
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t place_of(std::uint32_t position) const {
        return position & (this->shape_.messages() - 1);
    }

    /// Tries to claim places for the waiting lanes of the mask: those with the same destination share one
    /// compare-exchange, in which as many take part as fit one chunk, in the order of their numbers.
    LANEWAY_FN places claim(Ctx& ctx, lane_mask mask, bool waiting, int pe, std::uint32_t units) {
        const lane_mask peers = ctx.match(mask, waiting ? static_cast<std::uint32_t>(pe) : ~std::uint32_t{0});
        const bool leads = waiting && elected(ctx, peers);
        std::uint32_t before = 0, all = 0;  // units of the peers below this lane, and of all
        for (lane_mask rest = mask; rest != 0; rest &= rest - 1) {
            const int from = Ctx::first_lane(rest);
            const std::uint32_t other = ctx.shuffle(mask, units, from);
            if ((peers >> from & 1) == 0) continue;
            all += other;
            if (from < ctx.lane()) before += other;
        }
        std::uint32_t end = 0;
        if (leads) end = ctx.load(&this->bins_[pe].reserved, order::relaxed, scope::block);
        end = ctx.shuffle(mask, end, Ctx::first_lane(peers));
        const std::uint32_t room = this->shape_.messages();
        bool fits = waiting && place_of(end) + before + units <= room;
        const bool closes = (ctx.ballot(mask, fits) & peers) == 0;
        if (closes) fits = waiting && before + units <= room;
        const lane_mask left = peers & ~ctx.ballot(mask, fits);
        const std::uint32_t next_before = ctx.shuffle(mask, before, Ctx::first_lane(left != 0 ? left : peers));
        const std::uint32_t taken = left != 0 ? next_before : all;
        const std::uint32_t base_of_peers = closes ? (chunk_of(end) + 1) << this->shape_.log2_messages : end;
        bool won = false;
        if (leads) {
            std::uint32_t seen = end;
            won = ctx.compare_exchange(&this->bins_[pe].reserved, seen, base_of_peers + taken, order::relaxed,
                                       scope::block);
        }
        const bool claimed = ctx.shuffle(mask, std::uint32_t{won}, Ctx::first_lane(peers)) != 0;
        return {claimed && fits, won && closes, base_of_peers + before, end};
    }

    /// Writes what the lanes of the mask have claimed, accounts for it, and ships the chunks that this completes.
    template <class Idle>
    LANEWAY_FN status settle_both(Ctx& ctx, lane_mask mask, int pe, const places& mine, std::uint32_t units,
                                  const outgoing_parcel<Head>& parcel, Idle&& idle) {
        const lane_mask self = lane_mask{1} << ctx.lane();
        const share padding{pe, chunk_of(mine.end), this->shape_.messages() - place_of(mine.end)};
        const share body{pe, chunk_of(mine.first), units | base::one_message};
        bool owes = mine.closed, pending = mine.claimed;
        bounded_spin spin;
        for (;;) {
            const bool may_close = owes && this->may_write(ctx, padding);
            const bool may_write = pending && this->may_write(ctx, body);
            if (may_close) {
                ctx.store(&this->bins_[pe].limit[padding.chunk % 2], place_of(mine.end), order::relaxed, scope::block);
            }
            if (may_write) write(ctx, body, place_of(mine.first), parcel);
            if (ctx.ballot(mask, may_close || may_write) != 0) {
                status sent = this->commit(ctx, mask, self, may_close, padding, idle);
                if (sent == status::ok) sent = this->commit(ctx, mask, self, may_write, body, idle);
                if (sent != status::ok) return sent;
                owes = owes && !may_close;
                pending = pending && !may_write;
            }
            if (ctx.ballot(mask, owes || pending) == 0) return status::ok;
            idle();
            const status going = spin.next(ctx, {operation::gather, pe, owes ? padding.chunk : body.chunk});
            if (ctx.ballot(mask, going != status::ok) != 0) return status::stopped;
        }
    }

    LANEWAY_FN void write(Ctx& ctx, const share& mine, std::uint32_t place, const outgoing_parcel<Head>& parcel) {
        if (place == 0) ctx.store(&this->bins_[mine.pe].opened_ns, ctx.now_ns(), order::relaxed, scope::block);
        auto* const gathered = this->buffer(mine.pe, mine.chunk);
        auto* header = reinterpret_cast<parcel_header<Head>*>(gathered + place);
        *header = parcel.header;
        copy_bytes(reinterpret_cast<std::byte*>(header + 1), parcel.body, parcel.body_bytes);
        tell_history(ctx, [gathered](auto& history) { history.carry(gathered); });
    }
};

}  // namespace laneway
