// Mode binned: arrived updates wait in logs, one for each region of the table, and are applied region after region, so
// that the region at work stays in cache. README.md tells why, and what it costs.
#pragma once

#include "updates.hpp"

namespace laneway::apps {

/// Updates logged for one region; a sector of its own, as all lanes of the PE count in these.
struct alignas(32) log_length {
    std::uint64_t updates = 0;
};

/// The two sets of logs of a PE: in each round handlers fill one and working warps empty the other.
struct region_logs {
    symmetric_ref<std::uint64_t> entries;  ///< [set][region][capacity]
    symmetric_ref<log_length> lengths;     ///< [set][region]; may pass the capacity
    symmetric_ptr<std::uint64_t> filling;  ///< the set that handlers fill, 0 or 1
    symmetric_ptr<std::uint64_t> refused;  ///< updates that found their log full
    std::uint32_t regions = 0;
    std::uint32_t capacity = 0;  ///< entries of a log
    unsigned log2_region_words = 0;

    template <class Ctx>
    LANEWAY_FN std::uint64_t* log(const Ctx& ctx, std::uint64_t set, std::uint64_t region) const {
        return entries.local(ctx) + (set * regions + region) * capacity;
    }
    template <class Ctx>
    LANEWAY_FN std::uint64_t* length(const Ctx& ctx, std::uint64_t set, std::uint64_t region) const {
        return &lengths.local(ctx)[set * regions + region].updates;
    }
    /// The set that handlers fill. It changes only while nothing is posted, see post_and_sweep.
    template <class Ctx>
    LANEWAY_FN std::uint64_t open_set(Ctx& ctx) const {
        return ctx.load(local(ctx, filling), order::relaxed, scope::device);
    }
};

/// Writes an update to the log of its region; where that is full, applies it at once. Either is right, as xor commutes.
/// Neighbouring lanes rarely have one region in common, so each claims its place alone. The open ends of all logs
/// lie in cache, where the writes of many warps become whole lines.
struct log_update {
    apply_update apply;
    region_logs logs;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t value) const {
        const std::uint64_t set = logs.open_set(ctx);
        const std::uint64_t region = apply.map.place(apply.map.index(value)) >> logs.log2_region_words;
        const std::uint64_t place = ctx.fetch_add(logs.length(ctx, set, region), 1, order::relaxed, scope::device);
        if (place < logs.capacity) {
            logs.log(ctx, set, region)[place] = value;
        } else {
            apply(ctx, value);
            atomic_add(ctx, logs.refused, 1, scope::device);
        }
    }
};

/// What every lane does, in rounds: it posts a share of its updates, and between posts sweeps the logs that the last
/// round has filled. Warps claim pieces of the logs in order, so that all of a PE work on one small part of the table.
struct post_and_sweep {
    static constexpr std::uint64_t piece_rows = 16;  ///< rows of a warp; also posts between two pieces

    update_plan plan;
    apply_update apply;
    region_logs logs;
    std::uint64_t rounds;
    symmetric_ref<std::uint64_t> claims;  ///< 2 rounds + 1, at 0: of each round pieces swept, and warps at its end

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const std::uint64_t most = (plan.updates + ctx.size() - 1) / ctx.size();  // of any lane
        const std::uint64_t steps = (most + rounds - 1) / rounds;                 // of all lanes in each round
        std::uint64_t next = plan.begin(ctx.rank(), ctx.size());
        const std::uint64_t end = plan.begin(ctx.rank() + 1, ctx.size());
        std::uint64_t value = plan.stream.at(next);
        for (std::uint64_t round = 0;; ++round) {
            const std::uint64_t posts = round < rounds ? steps : 0;
            bool more = round > 0;
            for (std::uint64_t step = 0; step < posts || more; ++step) {
                if (step < posts && next < end) {
                    ++next;
                    value = random_stream::after(value);
                    (void)plan.post(ctx, box, value);  // lanes stay together: the barrier tells of a run that ends
                }
                if (more && (step >= posts || step % piece_rows == piece_rows - 1)) more = sweep_piece(ctx, round);
            }
            if (round == rounds || turn_over(ctx, box, round) != status::ok) return;
        }
    }

private:
    /// Applies a piece of the closed logs; false where all have been claimed. The whole warp, together.
    template <class Ctx>
    LANEWAY_FN bool sweep_piece(Ctx& ctx, std::uint64_t round) const {
        constexpr std::uint64_t piece = piece_rows * Ctx::warp_lanes;
        const auto pieces = static_cast<std::uint32_t>((logs.capacity + piece - 1) / piece);  // of a log
        const std::uint64_t claimed = claim(ctx, claims[2 * round]);
        if (claimed >= std::uint64_t{pieces} * logs.regions) return false;
        const auto number = static_cast<std::uint32_t>(claimed);
        const std::uint64_t closed = 1 - logs.open_set(ctx);
        const std::uint32_t region = number / pieces;
        const std::uint64_t begin = number % pieces * piece;
        const std::uint64_t length = ctx.load(logs.length(ctx, closed, region), order::relaxed, scope::device);
        const std::uint64_t filled = length < logs.capacity ? length : logs.capacity;
        const std::uint64_t end = begin + piece < filled ? begin + piece : filled;
        const std::uint64_t* const log = logs.log(ctx, closed, region);
        for (std::uint64_t i = begin + static_cast<std::uint64_t>(ctx.lane()); i < end; i += Ctx::warp_lanes) {
            apply(ctx, log[i]);
        }
        return true;
    }

    /// Ends a round: waits until all of it has been served and swept, then lets one warp of each PE empty the set that
    /// has been swept and open it. The second barrier keeps everybody from posting meanwhile.
    template <class Ctx, class Box>
    LANEWAY_FN status turn_over(Ctx& ctx, Box& box, std::uint64_t round) const {
        for (int barriers = 0; barriers < 2; ++barriers) {
            ctx.sync(full_warp<Ctx>);
            const status all_here = box.barrier(ctx);
            if (all_here != status::ok) return all_here;
            if (barriers == 0 && claim(ctx, claims[2 * round + 1]) == 0) open_swept_set(ctx);
        }
        return status::ok;
    }

    /// The whole warp, together, while nothing is posted and nothing swept.
    template <class Ctx>
    LANEWAY_FN void open_swept_set(Ctx& ctx) const {
        const std::uint64_t filled = logs.open_set(ctx);
        for (auto r = static_cast<std::uint32_t>(ctx.lane()); r < logs.regions; r += Ctx::warp_lanes) {
            ctx.store(logs.length(ctx, 1 - filled, r), 0, order::relaxed, scope::device);
        }
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) ctx.store(local(ctx, logs.filling), 1 - filled, order::relaxed, scope::device);
    }
};

}  // namespace laneway::apps
