// A PE's worklist with soft priorities over its own ids: work below the threshold runs, the rest waits.
//
// Each id has one word that holds its key and says where the id is: in the near ring, in the far ring, pending. Keys
// only fall. An id stands in each ring at most once, so rings of as many places as there are ids never overflow, and
// an update that does not need a place costs one atomic. Near and far after Davidson et al. (IPDPS 2014); the shared
// threshold is Groute's soft priority (TOPC 2020, section 5).
#pragma once

#include "laneway/queue/id_ring.hpp"

namespace laneway {

/// Key of an id in its word: the upper bits; the lower three tell its state. All ones, the value of fresh memory filled
/// with 0xff, is an id that was never reached and stands nowhere.
template <class Key>
struct worklist_word {
    static constexpr Key away_near = 1;  ///< not in the near ring
    static constexpr Key away_far = 2;   ///< not in the far ring
    static constexpr Key settled = 4;    ///< its key has been handed to a worker
    static constexpr int state_bits = 3;
    static constexpr Key unreached = static_cast<Key>(~Key{0}) >> state_bits;  ///< no valid key reaches it
};

/// Words of one PE's worklist that all its lanes look at.
struct worklist_levels {
    alignas(destructive_bytes) std::uint64_t threshold = 0;  ///< written by the control lane; only grows
    std::uint64_t far_limit = 0;  ///< far places before this one are to be looked through; written by the control lane
};

template <class Key>
struct priority_worklist_ref {
    using word = worklist_word<Key>;

    Key* words = nullptr;  ///< one an id; PE memory
    id_ring_ref near;
    id_ring_ref far;
    worklist_levels* levels = nullptr;  ///< PE memory

    /// What a lane took from the list.
    struct taken {
        bool popped = false;  ///< a place was emptied: count it as completed when done
        bool active = false;  ///< `id` is to be worked on with `key`
        std::uint32_t id = 0;
        Key key = 0;
    };

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t threshold(Ctx& ctx) const {
        return ctx.load(&levels->threshold, order::relaxed, scope::device);
    }

    /// Lowers the key of an id and makes it pending, if `key` is below its key; returns whether it was. Any lane, also
    /// in divergent code. `threshold` may be old: it only decides how soon the id is worked on.
    template <class Ctx>
    LANEWAY_FN bool lower(Ctx& ctx, std::uint32_t id, Key key, std::uint64_t threshold) const {
        // All relaxed: the word is its own data, and a place in a ring is published by the ring.
        Key seen = ctx.load(words + id, order::relaxed, scope::device);
        const bool is_near = key < threshold;
        Key gone;
        do {
            if (key >= seen >> word::state_bits) return false;
            const bool waits = (seen & word::away_near) == 0 || (!is_near && (seen & word::away_far) == 0);
            gone = waits ? Key{0} : (is_near ? word::away_near : word::away_far);
        } while (!ctx.compare_exchange(words + id, seen,
                                       (key << word::state_bits) |
                                           (seen & (word::away_near | word::away_far) & static_cast<Key>(~gone)),
                                       order::relaxed, scope::device));
        if (gone == word::away_near) near.push(ctx, ctx.converged(), id);
        if (gone == word::away_far) far.push(ctx, ctx.converged(), id);
        return true;
    }

    /// Takes work for the lanes of a warp, all together: near ids first, then far ids that the threshold has passed.
    /// `sharers`: how many warps take from this list.
    template <class Ctx>
    LANEWAY_FN taken take(Ctx& ctx, std::uint64_t sharers) const {
        taken mine;
        mine.popped = near.pop(ctx, full_warp<Ctx>, sharers, mine.id);
        if (mine.popped) {
            const Key old = ctx.fetch_or(words + mine.id, word::away_near | word::settled, order::relaxed,
                                         scope::device);
            mine.active = (old & word::settled) == 0;
            mine.key = old >> word::state_bits;
        }
        if (ctx.ballot(full_warp<Ctx>, mine.popped) != 0) return mine;
        return take_far(ctx, sharers);
    }

private:
    template <class Ctx>
    LANEWAY_FN taken take_far(Ctx& ctx, std::uint64_t sharers) const {
        taken mine;
        const std::uint64_t limit = ctx.load(&levels->far_limit, order::relaxed, scope::device);
        mine.popped = far.pop(ctx, full_warp<Ctx>, sharers, mine.id, limit);
        if (!mine.popped) return mine;
        const std::uint64_t threshold = this->threshold(ctx);
        Key seen = ctx.load(words + mine.id, order::relaxed, scope::device);
        Key next;
        do {
            const bool stale = (seen & word::settled) != 0 || (seen & word::away_near) == 0;
            const bool waits = !stale && (seen >> word::state_bits) >= threshold;
            if (waits) {
                far.push(ctx, ctx.converged(), mine.id);  // keeps its place in the far ring, at the end
                return mine;
            }
            mine.active = !stale;
            next = seen | word::away_far | (mine.active ? word::settled : Key{0});
        } while (!ctx.compare_exchange(words + mine.id, seen, next, order::relaxed, scope::device));
        mine.key = seen >> word::state_bits;
        return mine;
    }
};

}  // namespace laneway
