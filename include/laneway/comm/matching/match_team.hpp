// Who matches together: a warp, or the warps of a block. Both number their lanes, in the order of what these bring.
//
// All members are for all lanes of the team, together, and each but number() has a barrier that orders their accesses
// to memory.
#pragma once

#include "laneway/simt/group.hpp"

namespace laneway {

/// Lanes of a team for which something holds.
struct match_share {
    std::uint32_t below = 0;  ///< this lane
    std::uint32_t all = 0;
    std::uint64_t by_bit = 0;  ///< how many lanes have each of four bits: see match_total
};
/// Bits of each of these numbers, of which five go into a word.
inline constexpr std::uint32_t match_total_bits = 12;
[[nodiscard]] LANEWAY_FN std::uint32_t match_total(std::uint64_t by_bit, std::uint32_t bit) {
    return static_cast<std::uint32_t>(by_bit >> match_total_bits * bit) & ((1u << match_total_bits) - 1);
}

/// What the lanes next to this one among those with its key give; 0: there is none.
struct match_neighbours {
    std::uint32_t before = 0, after = 0;
};

/// What another lane gives, and whether any lane has asked for something.
struct match_answer {
    std::uint64_t value = 0;
    bool any_asks = false;
};

inline constexpr std::uint32_t no_lane = ~std::uint32_t{0};

namespace detail {

/// Number of the highest lane of a mask that is not empty.
template <class Ctx>
LANEWAY_FN std::uint32_t last_lane(lane_mask mask) {
    for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    return static_cast<std::uint32_t>(Ctx::count_lanes(mask)) - 1;
}

/// Number of the lane of a mask with `n` others of it below; no_lane: it has no more than `n`.
template <class Ctx>
LANEWAY_FN std::uint32_t nth_lane(lane_mask mask, std::uint32_t n) {
    for (; n > 0 && mask != 0; --n) mask &= mask - 1;
    return mask == 0 ? no_lane : static_cast<std::uint32_t>(Ctx::first_lane(mask));
}

template <class Ctx>
LANEWAY_FN std::uint64_t count_bits(Ctx& ctx, std::uint32_t bits) {
    std::uint64_t by_bit = 0;
    for (std::uint32_t i = 0; i < 4; ++i) {
        const lane_mask lanes = ctx.ballot(full_warp<Ctx>, (bits >> i & 1) != 0);
        by_bit |= static_cast<std::uint64_t>(Ctx::count_lanes(lanes)) << match_total_bits * i;
    }
    return by_bit;
}

/// Lanes with the same key. The hardware's comparison takes twice as long for 64 bits as for 32, with 32 keys some 120
/// cycles of a multiprocessor and 60: so it compares hashes, and keys only where two have one.
template <class Ctx>
LANEWAY_FN lane_mask same_keys(Ctx& ctx, std::uint64_t key) {
    const auto hash = static_cast<std::uint32_t>(key >> 32) * 0x9e3779b9u ^ static_cast<std::uint32_t>(key);
    const lane_mask same = ctx.match(full_warp<Ctx>, hash);
    const std::uint64_t first = ctx.shuffle(full_warp<Ctx>, key, Ctx::first_lane(same));
    return ctx.ballot(full_warp<Ctx>, first != key) == 0 ? same : ctx.match(full_warp<Ctx>, key);
}
template <class Ctx>
LANEWAY_FN lane_mask same_keys(Ctx& ctx, std::uint32_t key) {
    return ctx.match(full_warp<Ctx>, key);
}

template <class Ctx>
LANEWAY_FN lane_mask below_lane(const Ctx& ctx) {
    return (lane_mask{1} << ctx.lane()) - 1;
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
    [[nodiscard]] LANEWAY_FN bool any(bool mine) {
        sync();
        return ctx_.ballot(full_warp<Ctx>, mine) != 0;
    }
    [[nodiscard]] LANEWAY_FN match_share share(bool mine) {
        sync();
        const lane_mask lanes = ctx_.ballot(full_warp<Ctx>, mine);
        return {static_cast<std::uint32_t>(rank_in(ctx_, lanes)), static_cast<std::uint32_t>(Ctx::count_lanes(lanes))};
    }
    /// Counts bits as well.
    [[nodiscard]] LANEWAY_FN match_share share(bool mine, std::uint32_t bits) {
        match_share found = share(mine);
        found.by_bit = detail::count_bits(ctx_, bits);
        return found;
    }
    /// How many lanes below this one have its key. Of use to lanes whose `mine` is true, among whom lanes look.
    template <class Key>
    [[nodiscard]] LANEWAY_FN std::uint32_t rank(bool mine, Key key) {
        return static_cast<std::uint32_t>(rank_in(ctx_, same(mine, key)));
    }
    /// Of lanes of two sides the one of the other side with this key that has as many of its side with this key below
    /// it as this lane has; no_lane: there is none. Among lanes whose `mine` is true.
    template <class Key>
    [[nodiscard]] LANEWAY_FN std::uint32_t partner(bool mine, bool other_side, Key key) {
        const lane_mask all = same(mine, key), others = ctx_.ballot(full_warp<Ctx>, other_side);
        const lane_mask own = all & (other_side ? others : ~others);
        if (!mine) return no_lane;
        return detail::nth_lane<Ctx>(all & ~own, static_cast<std::uint32_t>(rank_in(ctx_, own)));
    }
    template <class Key>
    [[nodiscard]] LANEWAY_FN match_neighbours neighbours(bool mine, Key key, std::uint32_t value) {
        const lane_mask all = same(mine, key), under = detail::below_lane(ctx_);
        const lane_mask below = all & under, above = all & ~under & ~(lane_mask{1} << ctx_.lane());
        const int first = below == 0 ? ctx_.lane() : static_cast<int>(detail::last_lane<Ctx>(below));
        const std::uint32_t before = ctx_.shuffle(full_warp<Ctx>, value, first);
        const std::uint32_t after =
            ctx_.shuffle(full_warp<Ctx>, value, above == 0 ? ctx_.lane() : Ctx::first_lane(above));
        return {below == 0 ? 0 : before, above == 0 ? 0 : after};
    }
    /// `lane`: whose value; no_lane: nobody's.
    [[nodiscard]] LANEWAY_FN match_answer from(std::uint64_t value, std::uint32_t lane) {
        const bool asks = lane != no_lane;
        if (!any(asks)) return {};
        const std::uint64_t got = ctx_.shuffle(full_warp<Ctx>, value, asks ? static_cast<int>(lane) : ctx_.lane());
        return {asks ? got : 0, true};
    }

private:
    template <class Key>
    LANEWAY_FN lane_mask same(bool mine, Key key) {
        sync();
        return detail::same_keys(ctx_, key) & ctx_.ballot(full_warp<Ctx>, mine);
    }

    Ctx& ctx_;
};

/// In shared memory, of so many warps at most.
template <std::uint32_t MaxWarps>
struct match_warps_shared {
    static constexpr std::uint32_t max_warps = MaxWarps;
    static constexpr std::uint32_t max_lanes = 32 * max_warps;
    static constexpr std::uint32_t slots = 2 * max_lanes;
    static_assert(max_lanes < 1u << match_total_bits);

    /// Of a hash table of keys: 1 more than the number of the lane that has brought it, and which warps have it.
    struct slot_words {
        std::uint32_t owner, warps;
    };
    std::uint64_t told[2][max_warps];  ///< by each warp
    std::uint64_t answers[2][max_lanes];
    std::uint64_t keys[max_lanes];
    slot_words table[2][slots];
    std::uint32_t values[2][max_lanes];
    std::uint32_t lanes[max_lanes];  ///< of a warp with one key; for each the one that speaks for them
    std::uint8_t speakers[slots][max_warps];
};

using match_block_shared = match_warps_shared<16>;

/// Some warps of a block, numbered from 0: here all of them. Another such type has the same members; its sync may say
/// false where the program is ending and others may not come.
template <class Ctx>
class all_warps_of_block {
public:
    LANEWAY_FN explicit all_warps_of_block(Ctx& ctx) : ctx_(ctx) {}

    [[nodiscard]] LANEWAY_FN int index() const { return ctx_.warp(); }
    [[nodiscard]] LANEWAY_FN int warps() const { return ctx_.n_warps(); }
    LANEWAY_FN bool sync(Ctx& ctx) {
        ctx.sync_block();
        return true;
    }

private:
    Ctx& ctx_;
};

/// Blocks, or some of their warps, at most Shared::max_warps. What lanes tell each other lies in one of two places by
/// turns, so one barrier between writing and reading is enough. Where the program is ending nobody brings anything any
/// more, and nothing is found, so that all loops end.
template <class Ctx, class Warps = all_warps_of_block<Ctx>, class Shared = match_block_shared>
class match_block {
public:
    using context_type = Ctx;

    /// All lanes of the warps, together.
    LANEWAY_FN match_block(Ctx& ctx, Shared* shared) : match_block(ctx, Warps(ctx), shared) {}
    LANEWAY_FN match_block(Ctx& ctx, const Warps& warps, Shared* shared) : ctx_(ctx), warps_(warps), shared_(shared) {
        for (std::uint32_t i = number(); i < Shared::slots; i += lanes()) {
            shared->table[0][i] = {};
            shared->table[1][i] = {};
        }
        sync();
    }

    [[nodiscard]] LANEWAY_FN Ctx& ctx() const { return ctx_; }
    [[nodiscard]] LANEWAY_FN std::uint32_t number() const {
        return warp() * Ctx::warp_lanes + static_cast<std::uint32_t>(ctx_.lane());
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t lanes() const {
        return static_cast<std::uint32_t>(warps_.warps()) * Ctx::warp_lanes;
    }
    LANEWAY_FN void sync() {
        if (!ended_) ended_ = !warps_.sync(ctx_);
    }
    [[nodiscard]] LANEWAY_FN bool any(bool mine) {
        const std::uint64_t* const told = tell(ctx_.ballot(full_warp<Ctx>, mine));
        if (ended_) return false;
        std::uint64_t found = 0;
        each_warp([&](std::uint32_t w) { found |= told[w]; });
        return ctx_.ballot(full_warp<Ctx>, found != 0) != 0;
    }
    [[nodiscard]] LANEWAY_FN match_share share(bool mine) {
        const lane_mask lanes = ctx_.ballot(full_warp<Ctx>, mine);
        const std::uint64_t* const told = tell(static_cast<std::uint64_t>(Ctx::count_lanes(lanes)));
        if (ended_) return {};
        std::uint32_t sums = 0;  // of all, and of the warps below behind that
        each_warp([&](std::uint32_t w) { sums += static_cast<std::uint32_t>(told[w]) * (w < warp() ? 0x10001 : 1); });
        sums = warp_sum(ctx_, sums);
        return {(sums >> 16) + static_cast<std::uint32_t>(rank_in(ctx_, lanes)), sums & 0xffff};
    }
    [[nodiscard]] LANEWAY_FN match_share share(bool mine, std::uint32_t bits) {
        const lane_mask lanes = ctx_.ballot(full_warp<Ctx>, mine);
        const std::uint64_t by_bit = detail::count_bits(ctx_, bits);
        const std::uint64_t* const told =
            tell(by_bit << match_total_bits | static_cast<std::uint64_t>(Ctx::count_lanes(lanes)));
        if (ended_) return {};
        std::uint64_t all = 0;
        std::uint32_t below = 0;
        each_warp([&](std::uint32_t w) {
            all += told[w];
            if (w < warp()) below += match_total(told[w], 0);
        });
        all = warp_sum(ctx_, all);
        return {warp_sum(ctx_, below) + static_cast<std::uint32_t>(rank_in(ctx_, lanes)), match_total(all, 0),
                all >> match_total_bits};
    }
    template <class Key>
    [[nodiscard]] LANEWAY_FN std::uint32_t rank(bool mine, Key key) {
        const meeting met = meet(mine, key);
        auto found = static_cast<std::uint32_t>(rank_in(ctx_, met.same));
        for (std::uint32_t rest = met.warps & ((1u << warp()) - 1); rest != 0; rest &= rest - 1) {
            found += static_cast<std::uint32_t>(Ctx::count_lanes(shared_->lanes[speaker(met, first_bit(rest))]));
        }
        return found;
    }
    template <class Key>
    [[nodiscard]] LANEWAY_FN std::uint32_t partner(bool mine, bool other_side, Key key) {
        const std::uint64_t* const others = tell(ctx_.ballot(full_warp<Ctx>, other_side));
        const meeting met = meet(mine, key);
        if (!mine) return no_lane;
        const auto lanes_of = [&](std::uint32_t w, bool side) {
            const auto with_side = static_cast<lane_mask>(side ? others[w] : ~others[w]);
            return shared_->lanes[speaker(met, w)] & with_side;
        };
        std::uint32_t rank = 0;
        for (std::uint32_t rest = met.warps & ((1u << warp()) - 1); rest != 0; rest &= rest - 1) {
            rank += static_cast<std::uint32_t>(Ctx::count_lanes(lanes_of(first_bit(rest), other_side)));
        }
        if (met.warps != 0) rank += static_cast<std::uint32_t>(rank_in(ctx_, lanes_of(warp(), other_side)));
        for (std::uint32_t rest = met.warps; rest != 0; rest &= rest - 1) {
            const lane_mask lanes = lanes_of(first_bit(rest), !other_side);
            const auto n = static_cast<std::uint32_t>(Ctx::count_lanes(lanes));
            if (rank < n) return first_bit(rest) * Ctx::warp_lanes + detail::nth_lane<Ctx>(lanes, rank);
            rank -= n;
        }
        return no_lane;
    }
    template <class Key>
    [[nodiscard]] LANEWAY_FN match_neighbours neighbours(bool mine, Key key, std::uint32_t value) {
        std::uint32_t* const values = shared_->values[turn_];
        values[number()] = value;
        const meeting met = meet(mine, key);
        const lane_mask under = detail::below_lane(ctx_);
        const lane_mask below = met.same & under, above = met.same & ~under & ~(lane_mask{1} << ctx_.lane());
        const std::uint32_t warps_below = met.warps & ((1u << warp()) - 1), warps_above = met.warps >> warp() >> 1;
        match_neighbours found;
        if (below != 0) {
            found.before = values[warp() * Ctx::warp_lanes + detail::last_lane<Ctx>(below)];
        } else if (warps_below != 0) {
            const std::uint32_t before = detail::last_lane<Ctx>(warps_below);
            const lane_mask theirs = shared_->lanes[speaker(met, before)];
            found.before = values[before * Ctx::warp_lanes + detail::last_lane<Ctx>(theirs)];
        }
        if (above != 0) {
            found.after = values[warp() * Ctx::warp_lanes + first_bit(above)];
        } else if (warps_above != 0) {
            found.after = values[speaker(met, warp() + 1 + first_bit(warps_above))];
        }
        return found;
    }
    [[nodiscard]] LANEWAY_FN match_answer from(std::uint64_t value, std::uint32_t lane) {
        std::uint64_t* const answers = shared_->answers[answer_turn_];
        answer_turn_ ^= 1;
        answers[number()] = value;
        const bool asks = lane != no_lane;
        const bool any_asks = any(asks);
        return {asks ? answers[lane] : 0, any_asks};
    }

private:
    /// Lanes of this warp with its key, warps that have it, and where that stands.
    struct meeting {
        lane_mask same = 0;
        std::uint32_t warps = 0;
        std::uint32_t slot = 0;
    };

    [[nodiscard]] LANEWAY_FN std::uint32_t warp() const { return static_cast<std::uint32_t>(warps_.index()); }
    [[nodiscard]] static LANEWAY_FN std::uint32_t first_bit(lane_mask mask) {
        return static_cast<std::uint32_t>(Ctx::first_lane(mask));
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t speaker(const meeting& met, std::uint32_t of_warp) const {
        return of_warp * Ctx::warp_lanes + shared_->speakers[met.slot][of_warp];
    }

    /// What each warp says.
    LANEWAY_FN const std::uint64_t* tell(std::uint64_t value) {
        std::uint64_t* const told = shared_->told[told_turn_];
        told_turn_ ^= 1;
        if (ctx_.lane() == 0) told[warp()] = value;
        sync();
        return told;
    }
    /// Lanes share out the warps of the block.
    template <class Look>
    LANEWAY_FN void each_warp(Look&& look) const {
        const auto warps = static_cast<std::uint32_t>(warps_.warps());
        for (auto w = static_cast<std::uint32_t>(ctx_.lane()); w < warps; w += Ctx::warp_lanes) look(w);
    }
    /// One lane of each warp speaks for those of its warp with the same key: it puts them down in a hash table.
    template <class Key>
    LANEWAY_FN meeting meet(bool mine, Key key) {
        meeting met;
        met.same = detail::same_keys(ctx_, key) & ctx_.ballot(full_warp<Ctx>, mine);
        const bool speaks = mine && elected(ctx_, met.same);
        if (speaks) shared_->keys[number()] = key;
        sync();
        // Everybody has read what this lane has put down the last time.
        if (used_ != no_lane) shared_->table[turn_ ^ 1][used_] = {};
        used_ = no_lane;
        if (speaks && !ended_) used_ = put_down(met.same, key);
        sync();
        if (ended_) return {};
        met.slot = ctx_.shuffle(full_warp<Ctx>, used_, mine ? Ctx::first_lane(met.same) : ctx_.lane());
        if (mine) met.warps = shared_->table[turn_][met.slot].warps;
        turn_ ^= 1;
        return mine ? met : meeting{};
    }
    LANEWAY_FN std::uint32_t put_down(lane_mask same, std::uint64_t key) {
        typename Shared::slot_words* const table = shared_->table[turn_];
        std::uint32_t slot = static_cast<std::uint32_t>((key * 0x9e3779b97f4a7c15u) >> 32) % Shared::slots;
        for (;; slot = (slot + 1) % Shared::slots) {
            std::uint32_t owner = 0;
            if (ctx_.compare_exchange(&table[slot].owner, owner, number() + 1, order::relaxed, scope::block)) break;
            if (shared_->keys[owner - 1] == key) break;
        }
        ctx_.fetch_or(&table[slot].warps, 1u << warp(), order::relaxed, scope::block);
        shared_->speakers[slot][warp()] = static_cast<std::uint8_t>(ctx_.lane());
        shared_->lanes[number()] = same;
        return slot;
    }

    Ctx& ctx_;
    Warps warps_;
    Shared* shared_;
    bool ended_ = false;
    std::uint32_t turn_ = 0, answer_turn_ = 0, told_turn_ = 0;
    std::uint32_t used_ = no_lane;
};

}  // namespace laneway
