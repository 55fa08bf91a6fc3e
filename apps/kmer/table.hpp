// The hash table of k-mers: one on each PE, filled by handlers on any of its lanes at once.
//
// Open addressing with linear probing. A slot's words are set once, from 0, by compare-and-swap, and never change
// again. A key of two words is inserted word by word: whoever finds the first word to be its own, or makes it so, goes
// on to the second, and moves on to the next slot if that one has become another's. So a slot may get its first word
// from one lane and its second from another, which then owns it; it still holds a key that was inserted, as both had
// the same first word. Nobody waits. A key never stands twice: all who insert it look at the same slots in the same
// order, see the same final words, and stop at the first slot that has them.
//
// How many requests a multiprocessor can send to places at random bounds how fast it inserts (docs/design/0018). So the
// swap that completes a key has counted it as well, and only who comes later adds to the count.
#pragma once

#include "laneway/memory/symmetric.hpp"
#include "laneway/simt/fail.hpp"
#include "window.hpp"

namespace laneway::apps {

/// Key and count side by side, so that one insert touches one sector of 32 bytes.
template <int Words>
struct alignas(Words * 16) kmer_slot {
    std::uint64_t words[Words];  ///< a kmer_key's; 0: free
    std::uint64_t again;         ///< how often the k-mer has come after the first time

    /// How often the k-mer has come; behind the run that counts.
    [[nodiscard]] LANEWAY_FN std::uint64_t count() const { return words[Words - 1] == 0 ? 0 : again + 1; }

    /// Counts the key if the slot is free or the key's; false: it is another's. Any lane. `reach`: of all who count.
    /// Relaxed: each word is looked at by itself, and counts are read after the run.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool take(Ctx& ctx, const kmer_key<Words>& key, scope reach) {
        bool first = false;
        for (int i = 0; i < Words; ++i) {
            std::uint64_t seen = ctx.load(&words[i], order::relaxed, reach);
            first = seen == 0 && ctx.compare_exchange(&words[i], seen, key.words[i], order::relaxed, reach);
            if (!first && seen != key.words[i]) return false;
        }
        if (!first) ctx.fetch_add(&again, 1, order::relaxed, reach);
        return true;
    }
};

/// Handler: counts a k-mer on the PE that owns it. Where no slot is found within `max_probes`, the table counts as
/// full, and the run ends with status::no_room.
template <int Words>
struct count_kmer {
    static constexpr std::uint64_t max_probes = 1 << 14;
    symmetric_ref<kmer_slot<Words>> table;  ///< a power of two of slots

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const kmer_key<Words>& key) const {
        kmer_slot<Words>* const slots = table.local(ctx);
        const std::uint64_t mask = table.size() - 1;
        std::uint64_t at = key.hash() & mask;
        const std::uint64_t probes = table.size() < max_probes ? table.size() : max_probes;
        for (std::uint64_t probe = 0; probe < probes; ++probe, at = (at + 1) & mask) {
            if (slots[at].take(ctx, key, scope::device)) return;
        }
        (void)fail(ctx, status::no_room, operation::insert, -1, probes, table.size());  // a handler has nobody to tell
    }
};

/// How often a k-mer has been counted in a PE's table, 0 where never; behind the run that counts. The keys that it may
/// have made way for stand before it without a free slot between. `slots`: what `symmetric_ref::local` gives.
template <int Words, class Slots>
LANEWAY_FN std::uint64_t count_in(const Slots& slots, std::uint64_t size, const kmer_key<Words>& key) {
    const std::uint64_t mask = size - 1;
    std::uint64_t at = key.hash() & mask;
    for (std::uint64_t probe = 0; probe < size; ++probe, at = (at + 1) & mask) {
        const kmer_slot<Words>& slot = slots[at];
        if (slot.words[0] == 0) return 0;
        bool same = true;
        for (int i = 0; i < Words; ++i) same = same && slot.words[i] == key.words[i];
        if (same) return slot.count();
    }
    return 0;
}

}  // namespace laneway::apps
