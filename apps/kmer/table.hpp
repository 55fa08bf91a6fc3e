// The hash table of k-mers: one on each PE, filled by handlers on any of its lanes at once.
//
// Open addressing with linear probing. A slot's words are set once, from 0, by compare-and-swap, and never change
// again. A key of two words is inserted word by word: whoever finds the first word to be its own, or makes it so, goes
// on to the second, and moves on to the next slot if that one has become another's. So a slot may get its first word
// from one lane and its second from another, which then owns it; it still holds a key that was inserted, as both had
// the same first word. Nobody waits. A key never stands twice: all who insert it look at the same slots in the same
// order, see the same final words, and stop at the first slot that has them.
#pragma once

#include "laneway/memory/symmetric.hpp"
#include "laneway/simt/fail.hpp"
#include "window.hpp"

namespace laneway::apps {

/// Key and count side by side, so that one insert touches one sector of 32 bytes.
template <int Words>
struct alignas(Words * 16) kmer_slot {
    std::uint64_t words[Words];  ///< a kmer_key's; 0: free
    std::uint64_t count;
};

/// Handler: counts a k-mer on the PE that owns it. Where no slot is found within `most_probes`, the table counts as
/// full, and the run ends with status::no_room.
template <int Words>
struct count_kmer {
    static constexpr std::uint64_t most_probes = 1 << 14;
    symmetric_ref<kmer_slot<Words>> table;  ///< a power of two of slots

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const kmer_key<Words>& key) const {
        kmer_slot<Words>* const slots = table.local(ctx);
        const std::uint64_t mask = table.size() - 1;
        std::uint64_t at = key.hash() & mask;
        const std::uint64_t probes = table.size() < most_probes ? table.size() : most_probes;
        for (std::uint64_t probe = 0; probe < probes; ++probe, at = (at + 1) & mask) {
            if (!claim(ctx, slots[at], key)) continue;
            ctx.fetch_add(&slots[at].count, 1, order::relaxed, scope::device);
            return;
        }
        (void)fail(ctx, status::no_room, operation::insert, -1, table.size());  // a handler has nobody to tell
    }

private:
    /// Whether the slot is the key's, now or before. Relaxed: each word is looked at by itself, and counts are read
    /// after the run.
    template <class Ctx>
    LANEWAY_FN static bool claim(Ctx& ctx, kmer_slot<Words>& slot, const kmer_key<Words>& key) {
        for (int i = 0; i < Words; ++i) {
            std::uint64_t seen = ctx.load(&slot.words[i], order::relaxed, scope::device);
            if (seen == 0 && ctx.compare_exchange(&slot.words[i], seen, key.words[i], order::relaxed, scope::device)) {
                continue;
            }
            if (seen != key.words[i]) return false;
        }
        return true;
    }
};

}  // namespace laneway::apps
