// What a PE keeps of its tags, in symmetric memory: a slot a tag, what is left of operations that warps share, and what
// others trigger by: cells of other PEs' operations and of streams, and a count for each tag of other PEs' lanes.
//
// A tag's count and threshold are one word, so a trigger is one add. The count grows by triggers and falls by the
// threshold when a round is over: a round is open while the count is no less than the threshold, and exactly one add
// has taken it there. Rounds therefore never overlap, and nobody needs a lock to fire.
#pragma once

#include "laneway/comm/triggers/trigger_operation.hpp"

namespace laneway {

/// A tag's count (32 bits), threshold (30; 0: not prepared), whether it fires once, and whether it has.
struct trigger_word {
    std::uint64_t bits = 0;

    /// Of triggers at once, of a threshold, and of triggers that wait: what is more is an error.
    static constexpr std::uint32_t max_count = (1u << 30) - 1;

    /// What is added to the word when the operation is prepared.
    [[nodiscard]] static LANEWAY_FN std::uint64_t prepared(std::uint32_t threshold, firing how) {
        return std::uint64_t{threshold} << 32 | (how == firing::once ? std::uint64_t{1} << 63 : 0);
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t count() const { return static_cast<std::uint32_t>(bits); }
    [[nodiscard]] LANEWAY_FN std::uint32_t threshold() const {
        return static_cast<std::uint32_t>(bits >> 32) & max_count;
    }
    [[nodiscard]] LANEWAY_FN bool fires_once() const { return bits >> 63 != 0; }
    /// Whether a tag that fires once has: its round is over.
    [[nodiscard]] LANEWAY_FN bool spent() const { return (bits & spent_bit) != 0; }
    /// Whether a round is open: its operation is being carried out.
    [[nodiscard]] LANEWAY_FN bool open() const { return threshold() != 0 && count() >= threshold() && !spent(); }
    /// The word without its operation, which is not open. Triggers that no round has used stay.
    [[nodiscard]] LANEWAY_FN std::uint64_t disarmed() const { return spent() ? 0 : count(); }
    /// Whether nothing of the tag waits for more triggers, when it has fired so often.
    [[nodiscard]] LANEWAY_FN bool is_passive(std::uint64_t fired) const {
        if (spent() || (threshold() == 0 && count() == 0)) return true;
        return count() == 0 && fired != 0 && !fires_once();
    }
    /// As fault records tell it.
    [[nodiscard]] LANEWAY_FN std::uint64_t told() const { return std::uint64_t{threshold()} << 32 | count(); }

    static constexpr std::uint64_t spent_bit = std::uint64_t{1} << 62;
};

/// A tag of a PE.
struct alignas(destructive_bytes) trigger_slot {
    std::uint64_t word = 0;    ///< a trigger_word
    std::uint64_t fired = 0;   ///< rounds that are over, and whose tag may be prepared again
    std::uint64_t closed = 0;  ///< rounds so far, which who closes them counts
    std::uint32_t done = 0;    ///< pieces of this round; more than there are: what it starts has begun
    std::uint32_t pieces = 0;
    std::uint32_t piece_units = 0;  ///< elements of a piece, in units of unit_elements
    std::uint32_t held_at = 0;      ///< rounds that the tag had had when it got its operation, modulo 2^32
    std::uint32_t cells[trigger_operation::max_links] = {};  ///< of links to other PEs, 1 more each; 0: none
    trigger_operation operation;                             // it, and what comes before it, takes one line of memory

    static constexpr std::uint64_t max_pieces = 1024;  ///< of an operation, that warps share out
    static constexpr std::uint64_t unit_elements = 64;

    [[nodiscard]] LANEWAY_FN std::uint64_t piece_elements() const { return piece_units * unit_elements; }
    /// Whether the operation that the tag has, or had last, has been set off: one of its rounds is over, or open.
    [[nodiscard]] LANEWAY_FN bool set_off() const {
        constexpr std::uint32_t behind = 1u << 16;  // `fired` may lag so far behind `closed`, at most
        const std::uint32_t since = static_cast<std::uint32_t>(fired) - held_at;
        return (since != 0 && since < ~behind) || trigger_word{word}.open();
    }

    /// When another operation takes the place of this one: links that are the same keep their cells.
    LANEWAY_FN void keep_cells(const trigger_operation& next) {
        for (int i = 0; i < trigger_operation::max_links; ++i) {
            if (i >= operation.n_links() || i >= next.n_links() || !operation.link(i).same_as(next.link(i)))
                cells[i] = 0;
        }
    }

    /// Shares an operation out in pieces of 4 KiB, or larger ones of whole lines of memory.
    LANEWAY_FN void hold(const trigger_operation& prepared) {
        operation = prepared;
        held_at = static_cast<std::uint32_t>(closed);
        const std::uint64_t min_piece = 4096 / prepared.element_bytes(), unit = 512 / prepared.element_bytes();
        const std::uint64_t even = (prepared.count() + max_pieces - 1) / max_pieces;
        const std::uint64_t piece = even < min_piece ? min_piece : (even + unit - 1) / unit * unit;
        const std::uint64_t all = (prepared.count() + piece - 1) / piece;
        piece_units = static_cast<std::uint32_t>(piece / unit_elements);
        pieces = all == 0 ? 1 : static_cast<std::uint32_t>(all);
    }
};

static_assert(sizeof(trigger_slot) == destructive_bytes);

/// How others trigger a tag of this PE: they count in `sent`, and whoever finds that more have been sent than seen
/// triggers the tag. A cell for each operation that another PE chains to a tag here, which that PE alone writes, and
/// for each trigger from outside the program: a stream that stores how often it has, or kernels that add.
struct alignas(32) trigger_cell {
    std::uint64_t sent = 0;
    std::uint64_t seen = 0;
    std::uint64_t owed = 0;  ///< of a trigger from outside: how many there will be, as far as declared
    std::uint32_t tag = 0;
    std::uint32_t n = 0;
};

/// Counters of a PE.
struct trigger_counters {
    alignas(destructive_bytes) std::uint64_t created = 0;    ///< rounds opened, and triggers sent to other PEs
    alignas(destructive_bytes) std::uint64_t completed = 0;  ///< rounds over, and triggers of other PEs seen
    alignas(destructive_bytes) std::uint32_t shared = 0;     ///< bits of trigger_ref::shared that are set, about
    /// What all that poll look at: cells of other PEs' operations that are in use, those of triggers from outside,
    alignas(destructive_bytes) std::uint32_t cells = 0;
    std::uint32_t outside = 0;
    std::uint64_t called = 0;  ///< and of which tags, modulo 64, lanes of other PEs have raised the count
};

/// Device view of all PEs' tags: the same bits on every PE, so handlers of messages may hold it.
struct trigger_ref {
    symmetric_ref<trigger_slot> slots;
    symmetric_ref<trigger_counters> counters;
    symmetric_ref<std::uint32_t> shared;  ///< a bit for each tag, set while pieces of its round may be left to take
    symmetric_ref<std::uint32_t> left;    ///< how many, for each tag: none where this is, as a signed number, below 1
    symmetric_ref<trigger_cell> cells;    ///< first those of triggers from outside, then those of other PEs' operations
    /// For each tag: triggers by lanes of other PEs that nobody has seen, and `ended`.
    symmetric_ref<std::uint64_t> calls;
    std::uint32_t outside = 0;      ///< cells for triggers from outside
    std::uint64_t alone_bytes = 0;  ///< an operation of no more is carried out by the lane that reaches the threshold

    [[nodiscard]] LANEWAY_FN std::uint32_t tags() const { return static_cast<std::uint32_t>(slots.size()); }
    /// Cells for other PEs' operations.
    [[nodiscard]] LANEWAY_FN std::uint32_t chains() const { return static_cast<std::uint32_t>(cells.size()) - outside; }

    /// Words of `shared`, and a tag's bit in its own.
    static LANEWAY_FN std::uint32_t shared_words(std::uint32_t tags) { return (tags + 31) / 32; }
    static LANEWAY_FN std::uint32_t shared_bit(std::uint32_t tag) { return std::uint32_t{1} << tag % 32; }
    /// In such a word: what an operation of the tag has started on another PE is done.
    static constexpr std::uint64_t ended = std::uint64_t{1} << 63;
    static constexpr std::uint32_t max_tags = 1u << 20;
};

}  // namespace laneway
