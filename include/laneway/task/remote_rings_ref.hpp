// The rings of a remote queue, as the lanes of a PE see them: for each queue some chunk rings from every PE to every
// PE, itself included, in symmetric memory. A chunk is a command, or several of one function that lanes posted
// together. Blocks of a PE share rings in groups, the shards, as one counter that all warps draw tickets from would be
// too hot.
#pragma once

#include "laneway/task/remote_command.hpp"
#include "laneway/transport/symmetric_ring.hpp"

namespace laneway {

/// A counter with a line of memory to itself.
struct alignas(destructive_bytes) remote_counter {
    std::uint64_t value = 0;
};

/// What a PE has done.
struct alignas(destructive_bytes) remote_counts {
    std::uint64_t completed = 0;  ///< slots whose commands have run, and their ends been told
    std::uint64_t run = 0;        ///< commands in them
};

/// The same bits on every PE. Slots, flags and words lie on the PE that serves, tickets and credits on the one that
/// posts, so each word has one writing PE.
struct remote_rings_ref {
    symmetric_ref<byte_word<16>> slots;
    symmetric_ref<std::uint64_t> flags;
    symmetric_ref<std::uint64_t> words;
    symmetric_ref<std::uint64_t> credits;
    symmetric_ref<remote_counter> tails;
    symmetric_ref<remote_counter> heads;  ///< the next ticket to be served
    symmetric_ref<remote_counts> counts;
    std::uint32_t n_slots = 1;  ///< a power of two
    std::uint32_t slot_bytes = 16;
    std::uint32_t n_queues = 1;
    std::uint32_t n_shards = 1;
    std::uint32_t by_priority[max_remote_queues] = {};  ///< queues, those of the highest priority first

    /// Where the lanes of this block draw the tickets of their ring to another PE.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t* tail(const Ctx& ctx, std::uint32_t queue, int to) const {
        return &address(ctx, tails[ring(ctx, queue, shard_of(ctx), to)])->value;
    }
    /// The ring of this block to another PE.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN chunk_sender sender(const Ctx& ctx, std::uint32_t queue, int to) const {
        const std::uint32_t shard = shard_of(ctx);
        return parts(ring(ctx, queue, shard, ctx.pe()), ring(ctx, queue, shard, to))
            .sender(ctx, to, tail(ctx, queue, to));
    }
    /// The ring of a shard of another PE to this one.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN chunk_receiver receiver(const Ctx& ctx, std::uint32_t queue, std::uint32_t shard,
                                                     int from) const {
        return parts(ring(ctx, queue, shard, from), ring(ctx, queue, shard, ctx.pe())).receiver(ctx, from);
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t* head(const Ctx& ctx, std::uint32_t queue, std::uint32_t shard,
                                                 int from) const {
        return &address(ctx, heads[ring(ctx, queue, shard, from)])->value;
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN remote_counts& counts_of(const Ctx& ctx) const {
        return *address(ctx, counts[0]);
    }

    /// Slots that this lane's share of the PE's rings has been posted in: all lanes of a warp have all of them.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t posted(Ctx& ctx) const {
        std::uint64_t sum = 0;
        const auto all = static_cast<std::uint64_t>(n_queues) * n_shards * static_cast<unsigned>(ctx.n_pes());
        for (auto i = static_cast<std::uint64_t>(ctx.lane()); i < all; i += Ctx::warp_lanes) {
            // Relaxed: a ticket is drawn before its commands can be seen, and before what posted it counts as done.
            sum += ctx.load(&address(ctx, tails[i])->value, order::relaxed, scope::device);
        }
        return sum;
    }

    /// Takes a ticket of the ring for each of the lanes `left`, in their order, as far as slots are free for chunks in
    /// words or not; returns how many. Exactly the lanes of the mask, together; does not wait, and so nobody holds a
    /// ticket that is not published at once. `guess`: of the ticket that comes next, the same for all of them: that
    /// slot is looked at while the tail is on its way.
    template <class Ctx>
    [[nodiscard]] static LANEWAY_FN std::uint32_t try_draw(Ctx& ctx, lane_mask mask, lane_mask left,
                                                           const chunk_sender& to, bool in_words, std::uint64_t guess,
                                                           std::uint64_t& ticket) {
        const order o = in_words ? tagged_load_order<Ctx> : order::acquire;
        const bool draws = (left >> ctx.lane() & 1) != 0;
        const auto rank = static_cast<std::uint64_t>(rank_in(ctx, left));
        bool free = draws && to.is_free(ctx, guess + rank, o);
        std::uint64_t next = once(ctx, mask, [&] { return to.drawn(ctx); });
        for (bool looked = next == guess;; looked = false) {
            ticket = next + rank;
            if (!looked) free = draws && to.is_free(ctx, ticket, o);
            const lane_mask blocked = ctx.ballot(mask, draws && !free);
            const lane_mask below = blocked == 0 ? left : left & ((blocked & (~blocked + 1)) - 1);
            const auto n = static_cast<std::uint32_t>(Ctx::count_lanes(below));
            if (n == 0) return 0;
            const std::uint64_t seen = once(ctx, mask, [&] {
                std::uint64_t now = next;
                return to.try_draw(ctx, now, n) ? next : now;
            });
            if (seen == next) return n;
            next = seen;
        }
    }

private:
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t shard_of(const Ctx& ctx) const {
        return static_cast<std::uint32_t>(ctx.block()) % n_shards;
    }
    /// Number of a ring with another PE, on either side.
    template <class Ctx>
    LANEWAY_FN std::uint64_t ring(const Ctx& ctx, std::uint32_t queue, std::uint32_t shard, int other) const {
        return (std::uint64_t{queue} * n_shards + shard) * static_cast<unsigned>(ctx.n_pes()) +
               static_cast<unsigned>(other);
    }
    /// Of a ring with these numbers on the PE that serves, and on the one that posts.
    [[nodiscard]] LANEWAY_FN symmetric_ring parts(std::uint64_t there, std::uint64_t here) const {
        return {slots[there * n_slots * (slot_bytes / 16)],
                flags[there * n_slots],
                words[there * n_slots * chunk_words],
                credits[here * n_slots],
                n_slots,
                slot_bytes};
    }
};

}  // namespace laneway
