// Who matches together: a warp, or the warps of a block. Both number their lanes, in the order of what these bring.
//
// All members are for all lanes of the team, together, and each is a barrier that orders their accesses to memory.
#pragma once

#include "laneway/simt/group.hpp"

namespace laneway {

/// Lanes of a team for which something holds.
struct match_share {
    std::uint32_t below;  ///< this lane
    std::uint32_t all;
};

/// Place of a lane among those that have the same key.
struct match_group {
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};

    std::uint32_t rank = 0;
    std::uint32_t before = nobody, after = nobody;  ///< numbers of the lanes next to it
};

/// Four numbers below 2^16, of which each lane adds one bit to some.
[[nodiscard]] LANEWAY_FN std::uint32_t match_total(std::uint64_t totals, std::uint32_t which) {
    return static_cast<std::uint32_t>(totals >> 16 * which) & 0xffff;
}

namespace detail {

/// Number of the highest lane of a mask that is not empty.
template <class Ctx>
LANEWAY_FN std::uint32_t last_lane(lane_mask mask) {
    for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    return static_cast<std::uint32_t>(Ctx::count_lanes(mask)) - 1;
}

template <class Ctx>
LANEWAY_FN std::uint64_t totals_in_warp(Ctx& ctx, std::uint32_t bits) {
    std::uint64_t totals = 0;
    for (std::uint32_t i = 0; i < 4; ++i) {
        const lane_mask lanes = ctx.ballot(full_warp<Ctx>, (bits >> i & 1) != 0);
        totals |= static_cast<std::uint64_t>(Ctx::count_lanes(lanes)) << 16 * i;
    }
    return totals;
}

}  // namespace detail

template <class Ctx>
class match_warp {
public:
    using context_type = Ctx;

    LANEWAY_FN explicit match_warp(Ctx& ctx) : ctx_(ctx) {}

    [[nodiscard]] LANEWAY_FN Ctx& ctx() const { return ctx_; }
    [[nodiscard]] LANEWAY_FN std::uint32_t number() const { return static_cast<std::uint32_t>(ctx_.lane()); }
    LANEWAY_FN void sync() { ctx_.sync(full_warp<Ctx>); }
    [[nodiscard]] LANEWAY_FN match_share share(bool mine) {
        sync();
        const lane_mask lanes = ctx_.ballot(full_warp<Ctx>, mine);
        return {static_cast<std::uint32_t>(rank_in(ctx_, lanes)), static_cast<std::uint32_t>(Ctx::count_lanes(lanes))};
    }
    [[nodiscard]] LANEWAY_FN bool any(bool mine) {
        sync();
        return ctx_.ballot(full_warp<Ctx>, mine) != 0;
    }
    /// How many lanes have each of four bits: see match_total.
    [[nodiscard]] LANEWAY_FN std::uint64_t totals(std::uint32_t bits) {
        sync();
        return detail::totals_in_warp(ctx_, bits);
    }
    /// Of use to lanes whose `mine` is true.
    template <class Key>
    [[nodiscard]] LANEWAY_FN match_group group(bool mine, Key key) {
        sync();
        const lane_mask same = ctx_.match(full_warp<Ctx>, key) & ctx_.ballot(full_warp<Ctx>, mine);
        const lane_mask up_to_me = (lane_mask{2} << ctx_.lane()) - 1;
        const lane_mask below = same & (up_to_me >> 1), above = same & ~up_to_me;
        match_group found;
        found.rank = static_cast<std::uint32_t>(Ctx::count_lanes(below));
        if (below != 0) found.before = detail::last_lane<Ctx>(below);
        if (above != 0) found.after = static_cast<std::uint32_t>(Ctx::first_lane(above));
        return found;
    }
    /// What another lane gives; 0 from nobody.
    [[nodiscard]] LANEWAY_FN std::uint32_t from(std::uint32_t value, std::uint32_t lane) {
        sync();
        const bool asks = lane != match_group::nobody;
        const std::uint32_t got = ctx_.shuffle(full_warp<Ctx>, value, asks ? static_cast<int>(lane) : ctx_.lane());
        return asks ? got : 0;
    }

private:
    Ctx& ctx_;
};

/// In shared memory.
struct match_block_shared {
    static constexpr std::uint32_t max_warps = 16;
    static constexpr std::uint32_t max_lanes = 32 * max_warps;
    static constexpr std::uint32_t slots = 2 * max_lanes;

    /// Of a hash table of keys: 1 more than the number of the lane that has brought it, and which warps have it.
    struct slot_words {
        std::uint32_t owner, warps;
    };
    std::uint64_t keys[max_lanes];
    std::uint64_t totals[2][max_warps];
    slot_words table[2][slots];
    std::uint32_t lanes[max_lanes];  ///< with the key of the lane that speaks for them, in its warp
    std::uint32_t values[2][max_lanes];
    std::uint8_t speakers[slots][max_warps];
};

/// Blocks of at most match_block_shared::max_warps warps. What lanes tell each other lies in one of two places by
/// turns, so one barrier between writing and reading is enough.
template <class Ctx>
class match_block {
public:
    using context_type = Ctx;

    /// All lanes of the block, together.
    LANEWAY_FN match_block(Ctx& ctx, match_block_shared* shared) : ctx_(ctx), shared_(shared) {
        const auto lanes = static_cast<std::uint32_t>(ctx.n_warps()) * Ctx::warp_lanes;
        for (std::uint32_t i = number(); i < match_block_shared::slots; i += lanes) {
            shared->table[0][i] = {};
            shared->table[1][i] = {};
        }
        ctx.sync_block();
    }

    [[nodiscard]] LANEWAY_FN Ctx& ctx() const { return ctx_; }
    [[nodiscard]] LANEWAY_FN std::uint32_t number() const {
        return warp() * Ctx::warp_lanes + static_cast<std::uint32_t>(ctx_.lane());
    }
    LANEWAY_FN void sync() { ctx_.sync_block(); }
    [[nodiscard]] LANEWAY_FN match_share share(bool mine) {
        const lane_mask lanes = ctx_.ballot(full_warp<Ctx>, mine);
        const std::uint64_t* const told = tell(static_cast<std::uint64_t>(Ctx::count_lanes(lanes)));
        match_share found{static_cast<std::uint32_t>(rank_in(ctx_, lanes)), 0};
        for (std::uint32_t w = 0; w < warps(); ++w) {
            const auto theirs = static_cast<std::uint32_t>(told[w]);
            if (w < warp()) found.below += theirs;
            found.all += theirs;
        }
        return found;
    }
    [[nodiscard]] LANEWAY_FN bool any(bool mine) { return sum(ctx_.ballot(full_warp<Ctx>, mine) != 0 ? 1 : 0) != 0; }
    [[nodiscard]] LANEWAY_FN std::uint64_t totals(std::uint32_t bits) {
        return sum(detail::totals_in_warp(ctx_, bits));
    }
    /// A lane of each warp speaks for those of its warp with the same key: it puts them down in a hash table.
    template <class Key>
    [[nodiscard]] LANEWAY_FN match_group group(bool mine, Key key) {
        const lane_mask same = ctx_.match(full_warp<Ctx>, key) & ctx_.ballot(full_warp<Ctx>, mine);
        const bool speaks = mine && elected(ctx_, same);
        if (speaks) shared_->keys[number()] = key;
        sync();
        clean();
        std::uint32_t slot = 0;
        if (speaks) slot = put_down(same, key);
        sync();
        slot = ctx_.shuffle(full_warp<Ctx>, slot, mine ? Ctx::first_lane(same) : ctx_.lane());
        used_ = speaks ? slot : match_group::nobody;
        const match_group found = mine ? place_in(slot, same) : match_group{};
        turn_ ^= 1;
        return found;
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t from(std::uint32_t value, std::uint32_t lane) {
        std::uint32_t* const values = shared_->values[value_turn_];
        value_turn_ ^= 1;
        values[number()] = value;
        sync();
        return lane != match_group::nobody ? values[lane] : 0;
    }

private:
    [[nodiscard]] LANEWAY_FN std::uint32_t warp() const { return static_cast<std::uint32_t>(ctx_.warp()); }
    [[nodiscard]] LANEWAY_FN std::uint32_t warps() const { return static_cast<std::uint32_t>(ctx_.n_warps()); }

    /// What each warp says.
    LANEWAY_FN const std::uint64_t* tell(std::uint64_t value) {
        std::uint64_t* const told = shared_->totals[total_turn_];
        total_turn_ ^= 1;
        if (ctx_.lane() == 0) told[warp()] = value;
        sync();
        return told;
    }
    LANEWAY_FN std::uint64_t sum(std::uint64_t value) {
        const std::uint64_t* const told = tell(value);
        std::uint64_t all = 0;
        for (std::uint32_t w = 0; w < warps(); ++w) all += told[w];
        return all;
    }
    /// What this lane has put down the last time. Everybody has read it.
    LANEWAY_FN void clean() {
        if (used_ != match_group::nobody) shared_->table[turn_ ^ 1][used_] = {};
    }
    LANEWAY_FN std::uint32_t put_down(lane_mask same, std::uint64_t key) {
        match_block_shared::slot_words* const table = shared_->table[turn_];
        std::uint32_t slot = static_cast<std::uint32_t>((key * 0x9e3779b97f4a7c15u) >> 32) % match_block_shared::slots;
        for (;; slot = (slot + 1) % match_block_shared::slots) {
            std::uint32_t owner = 0;
            if (ctx_.compare_exchange(&table[slot].owner, owner, number() + 1, order::relaxed, scope::block)) break;
            if (shared_->keys[owner - 1] == key) break;
        }
        ctx_.fetch_or(&table[slot].warps, 1u << warp(), order::relaxed, scope::block);
        shared_->speakers[slot][warp()] = static_cast<std::uint8_t>(ctx_.lane());
        shared_->lanes[number()] = same;
        return slot;
    }
    LANEWAY_FN match_group place_in(std::uint32_t slot, lane_mask same) {
        const std::uint32_t with = shared_->table[turn_][slot].warps;
        const lane_mask up_to_me = (lane_mask{2} << ctx_.lane()) - 1;
        const lane_mask below = same & (up_to_me >> 1), above = same & ~up_to_me;
        match_group found;
        found.rank = static_cast<std::uint32_t>(Ctx::count_lanes(below));
        if (below != 0) found.before = warp() * Ctx::warp_lanes + detail::last_lane<Ctx>(below);
        if (above != 0) found.after = warp() * Ctx::warp_lanes + static_cast<std::uint32_t>(Ctx::first_lane(above));
        for (std::uint32_t w = 0; w < warps(); ++w) {
            if ((with >> w & 1) == 0 || w == warp()) continue;
            const std::uint32_t speaker = w * Ctx::warp_lanes + shared_->speakers[slot][w];
            const lane_mask theirs = shared_->lanes[speaker];
            if (w < warp()) {
                found.rank += static_cast<std::uint32_t>(Ctx::count_lanes(theirs));
                if (below == 0) found.before = w * Ctx::warp_lanes + detail::last_lane<Ctx>(theirs);
            } else if (found.after == match_group::nobody) {
                found.after = speaker;
            }
        }
        return found;
    }

    Ctx& ctx_;
    match_block_shared* shared_;
    std::uint32_t turn_ = 0, value_turn_ = 0, total_turn_ = 0;
    std::uint32_t used_ = match_group::nobody;
};

}  // namespace laneway
