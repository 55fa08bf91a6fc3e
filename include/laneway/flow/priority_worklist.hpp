// A PE's worklist with soft priorities over its own ids: work below the threshold runs, the rest waits.
//
// Each id has one word that holds its key and says where the id is: in a near ring, in a far ring, pending. Keys only
// fall. An id always goes to the rings of the same working block and stands in each at most once, so rings of as many
// places as a block has ids never overflow. threshold_scan.hpp has the threshold.
#pragma once

#include "laneway/flow/threshold_scan.hpp"
#include "laneway/queue/id_ring.hpp"

namespace laneway {

/// Key of an id in its word: the upper bits; the lower three tell its state. All ones, the value of fresh memory filled
/// with 0xff, is an id that was never reached and stands nowhere.
template <class Key>
struct worklist_word {
    static constexpr Key away_near = 1;  ///< not in a near ring
    static constexpr Key away_far = 2;   ///< not in a far ring
    static constexpr Key claimed = 4;    ///< its key has been handed to a worker
    static constexpr int state_bits = 3;
    static constexpr Key unreached = static_cast<Key>(~Key{0}) >> state_bits;  ///< no valid key reaches it
    static constexpr Key too_great = unreached + 1;  ///< what is proposed in place of a key that does not fit
};

/// Counters of one working block in PE memory: a line that the block writes, and a line that producers add to.
struct worklist_block : threshold_counters {
    std::uint64_t near_taken = 0;  ///< places of the near ring, before this program; of the far ring `far_taken` tells
    std::uint64_t near_begin = 0, near_end = 0;  ///< the places that a wave takes
    std::uint64_t far_begin = 0, far_end = 0;
    std::uint32_t overflowed = 0;  ///< 1: a key that was proposed does not fit
    alignas(destructive_bytes) std::uint64_t near_pushes = 0;
    std::uint64_t far_pushes = 0;

    /// Places that a wave takes.
    [[nodiscard]] LANEWAY_FN std::uint64_t wave() const { return near_end - near_begin + far_end - far_begin; }
};

/// What the warps of a working block share, in its shared memory.
struct alignas(16) worklist_shared {
    std::uint64_t near_head;
    std::uint64_t far_head;
    threshold_shared threshold;
};

template <class Key>
struct priority_worklist_ref {
    using word = worklist_word<Key>;

    Key* words = nullptr;                  ///< one an id; PE memory
    std::uint32_t* near_places = nullptr;  ///< rings × capacity
    std::uint32_t* far_places = nullptr;   ///< rings × capacity
    std::uint64_t capacity = 0;            ///< places of a ring
    std::uint32_t rings = 1;               ///< working blocks
    worklist_block* blocks = nullptr;      ///< one a ring
    std::uint64_t* threshold = nullptr;    ///< PE memory; written by the control lane; grows while there is work
    bool in_waves = false;  ///< a run does what waited when it began, and the host moves the threshold between runs

    [[nodiscard]] LANEWAY_FN id_ring_ref near(std::uint32_t ring) const {
        return {near_places + ring * capacity, capacity, &blocks[ring].near_pushes};
    }
    [[nodiscard]] LANEWAY_FN id_ring_ref far(std::uint32_t ring) const {
        return {far_places + ring * capacity, capacity, &blocks[ring].far_pushes};
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t current_threshold(Ctx& ctx) const {
        return ctx.load(threshold, order::relaxed, scope::device);
    }

    /// Lowers the key of an id and makes it pending, if `key` is below its key; returns whether it was. Any lane, also
    /// in divergent code. `bound` may be an old threshold: it only decides how soon the id is worked on.
    template <class Ctx>
    LANEWAY_FN bool lower(Ctx& ctx, std::uint32_t id, Key key, std::uint64_t bound) const {
        return lower(ctx, id, key, bound, ctx.load(words + id, order::relaxed, scope::device));
    }

    /// The same for a caller that has already looked at the id's word and saw `seen`.
    template <class Ctx>
    LANEWAY_FN bool lower(Ctx& ctx, std::uint32_t id, Key key, std::uint64_t bound, Key seen) const {
        return offer(ctx, id, key, bound, seen, false) != offered::refused;
    }

    enum class offered { refused, pending, claimed };
    /// The same for a caller that may want to work on the id itself, at once: where `claims` and the id would be put
    /// into a near ring, it is claimed instead, as if the caller had taken it from there.
    template <class Ctx>
    LANEWAY_FN offered offer(Ctx& ctx, std::uint32_t id, Key key, std::uint64_t bound, Key seen, bool claims) const {
        // All relaxed: the word is its own data, and a place in a ring is published by the ring.
        const bool is_near = key < bound;
        Key gone, taken;
        do {
            if (key >= seen >> word::state_bits) return offered::refused;
            const bool waits = (seen & word::away_near) == 0 || (!is_near && (seen & word::away_far) == 0);
            taken = !waits && is_near && claims ? word::claimed : Key{0};
            gone = waits || taken != 0 ? Key{0} : (is_near ? word::away_near : word::away_far);
        } while (!ctx.compare_exchange(words + id, seen,
                                       static_cast<Key>(key << word::state_bits) | taken |
                                           (seen & (word::away_near | word::away_far) & static_cast<Key>(~gone)),
                                       order::relaxed, scope::device));
        if (in_waves && !is_near) note_least(ctx, blocks[id % rings], key);
        // A push fails only as the run ends. Relaxed: whoever takes the id changes its word, which has the key by then.
        if (gone == word::away_near) (void)near(id % rings).push(ctx, id, order::relaxed);
        if (gone == word::away_far) (void)far(id % rings).push(ctx, id, order::relaxed);
        return taken != 0 ? offered::claimed : offered::pending;
    }

    /// Notes a key that waits for a higher threshold: in waves the host raises it to the least. Any lane.
    template <class Ctx>
    LANEWAY_FN void note_least(Ctx& ctx, worklist_block& block, std::uint64_t key) const {
        if (key < ctx.load(&block.least, order::relaxed, scope::device)) {
            ctx.fetch_min(&block.least, key, order::relaxed, scope::device);
        }
    }
};

}  // namespace laneway
