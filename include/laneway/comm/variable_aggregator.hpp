// The aggregator of variable-length messages: claims positions for messages of different length, each within one chunk.
//
// Where what is left of the open chunk is too short for the next message, the gap is closed as a flush would close it,
// by the same compare-exchange that claims the start of the next chunk: so a variable-length message as long as a chunk
// gets through between short ones. A lane then holds two shares, padding and message, and commits whichever its buffer
// is free for: the rules of aggregator.hpp hold.
#pragma once

#include "laneway/comm/aggregator.hpp"
#include "laneway/memory/copy_bytes.hpp"

namespace laneway {

/// A variable-length message that is to be sent.
template <class Header>
struct outgoing_variable {
    variable_envelope<Header> envelope;
    const std::byte* payload;  ///< memory that the lane can read
    std::uint32_t payload_bytes;
};

template <class Ctx, class Header>
class variable_aggregator : public aggregator<Ctx, granule<Header>> {
    using base = aggregator<Ctx, granule<Header>>;
    using typename base::share;

public:
    using base::base;

    /// Puts the variable-length messages of the active lanes into the aggregation buffers of their PEs, which exist and
    /// are not the own one; a variable-length message fits a chunk. The lanes of the mask, together. May wait for
    /// buffers and ring slots (back-pressure).
    template <class Idle>
    LANEWAY_FN status put_variable(Ctx& ctx, lane_mask mask, bool active, int pe,
                                   const outgoing_variable<Header>& outgoing, Idle&& idle) {
        constexpr auto envelope_granules = static_cast<std::uint32_t>(sizeof(outgoing.envelope) / 16);
        const std::uint32_t granules = envelope_granules + (outgoing.payload_bytes + 15) / 16;
        bool waiting = active;
        while (ctx.ballot(mask, waiting) != 0) {
            const claims mine = claim(ctx, mask, waiting, pe, granules);
            const status committed = commit_both(ctx, mask, pe, mine, granules, outgoing, idle);
            if (committed != status::ok) return committed;
            waiting = waiting && !mine.claimed;
        }
        return status::ok;
    }

    /// Granules of a chunk: the most that a variable-length message may have.
    [[nodiscard]] LANEWAY_FN std::uint32_t chunk_granules() const { return this->shape_.messages(); }

private:
    /// What a lane has claimed: granules for its message, and the padding behind `end`, where it has closed a chunk.
    struct claims {
        bool claimed;
        bool closed;
        std::uint32_t first;
        std::uint32_t end;
    };

    [[nodiscard]] LANEWAY_FN std::uint32_t chunk_of(std::uint32_t position) const {
        return position >> this->shape_.log2_messages;
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t index_of(std::uint32_t position) const {
        return position & (this->shape_.messages() - 1);
    }

    /// Tries to claim positions for the waiting lanes of the mask: those with the same destination share one
    /// compare-exchange, in which as many take part as fit one chunk, in the order of their numbers.
    LANEWAY_FN claims claim(Ctx& ctx, lane_mask mask, bool waiting, int pe, std::uint32_t granules) {
        const lane_mask peers = ctx.match(mask, waiting ? static_cast<std::uint32_t>(pe) : ~std::uint32_t{0});
        const bool leads = waiting && elected(ctx, peers);
        std::uint32_t before = 0, all = 0;  // granules of the peers below this lane, and of all
        for (lane_mask rest = mask; rest != 0; rest &= rest - 1) {
            const int from = Ctx::first_lane(rest);
            const std::uint32_t other = ctx.shuffle(mask, granules, from);
            if ((peers >> from & 1) == 0) continue;
            all += other;
            if (from < ctx.lane()) before += other;
        }
        std::uint32_t end = 0;
        if (leads) end = ctx.load(&this->buffers_[pe].reserved, order::relaxed, scope::block);
        end = ctx.shuffle(mask, end, Ctx::first_lane(peers));
        const std::uint32_t room = this->shape_.messages();
        bool fits = waiting && index_of(end) + before + granules <= room;
        const bool closes = (ctx.ballot(mask, fits) & peers) == 0;
        if (closes) fits = waiting && before + granules <= room;
        const lane_mask left = peers & ~ctx.ballot(mask, fits);
        const std::uint32_t next_before = ctx.shuffle(mask, before, Ctx::first_lane(left != 0 ? left : peers));
        const std::uint32_t taken = left != 0 ? next_before : all;
        const std::uint32_t base_of_peers = closes ? (chunk_of(end) + 1) << this->shape_.log2_messages : end;
        bool won = false;
        if (leads) {
            std::uint32_t seen = end;
            won = ctx.compare_exchange(&this->buffers_[pe].reserved, seen, base_of_peers + taken, order::relaxed,
                                       scope::block);
        }
        const bool claimed = ctx.shuffle(mask, std::uint32_t{won}, Ctx::first_lane(peers)) != 0;
        return {claimed && fits, won && closes, base_of_peers + before, end};
    }

    /// Writes what the lanes of the mask have claimed, accounts for it, and ships the chunks that this completes.
    template <class Idle>
    LANEWAY_FN status commit_both(Ctx& ctx, lane_mask mask, int pe, const claims& mine, std::uint32_t granules,
                                  const outgoing_variable<Header>& outgoing, Idle&& idle) {
        const lane_mask self = lane_mask{1} << ctx.lane();
        const share padding{pe, chunk_of(mine.end), this->shape_.messages() - index_of(mine.end)};
        const share message{pe, chunk_of(mine.first), granules | base::one_message};
        bool padding_due = mine.closed, pending = mine.claimed;
        bounded_spin spin;
        for (;;) {
            const bool may_close = padding_due && this->may_write(ctx, padding);
            const bool may_write = pending && this->may_write(ctx, message);
            if (may_close) {
                ctx.store(&this->buffers_[pe].limit[padding.chunk % 2], index_of(mine.end), order::relaxed,
                          scope::block);
            }
            if (may_write) write(ctx, message, index_of(mine.first), outgoing);
            if (ctx.ballot(mask, may_close || may_write) != 0) {
                status sent = this->commit(ctx, mask, self, may_close, padding, idle);
                if (sent == status::ok) sent = this->commit(ctx, mask, self, may_write, message, idle);
                if (sent != status::ok) return sent;
                padding_due = padding_due && !may_close;
                pending = pending && !may_write;
            }
            if (ctx.ballot(mask, padding_due || pending) == 0) return status::ok;
            idle();
            const status going =
                spin.next(ctx, {operation::aggregate, pe, padding_due ? padding.chunk : message.chunk});
            if (ctx.ballot(mask, going != status::ok) != 0) return status::stopped;
        }
    }

    LANEWAY_FN void write(Ctx& ctx, const share& mine, std::uint32_t index, const outgoing_variable<Header>& outgoing) {
        if (index == 0) ctx.store(&this->buffers_[mine.pe].opened_ns, ctx.now_ns(), order::relaxed, scope::block);
        auto* const chunk_data = this->buffer(mine.pe, mine.chunk);
        auto* envelope = reinterpret_cast<variable_envelope<Header>*>(chunk_data + index);
        *envelope = outgoing.envelope;
        copy_bytes(reinterpret_cast<std::byte*>(envelope + 1), outgoing.payload, outgoing.payload_bytes);
        tell_history(ctx, [chunk_data](auto& history) { history.carry(chunk_data); });
    }
};

}  // namespace laneway
