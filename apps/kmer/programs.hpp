// What the lanes do in each run of a k-mer count: make reads, post k-mers, look the tables through.
#pragma once

#include "laneway/memory/symmetric.hpp"
#include "laneway/simt/group.hpp"
#include "simulated_reads.hpp"
#include "table.hpp"

namespace laneway::apps {

/// A PE's part of the symbols: `lead` words that repeat the end of the part before, then its own.
struct symbols_ref {
    symmetric_ref<std::uint64_t> words;
    std::uint64_t lead;

    [[nodiscard]] LANEWAY_FN std::uint64_t own() const { return words.size() - lead; }
};

/// Places of an array that the warps of a PE share out among themselves, `piece` at a time.
struct shared_range {
    symmetric_ref<std::uint64_t> taken;  ///< one counter a PE, 0 at the start
    std::uint64_t size;
    std::uint64_t piece;

    /// Start of the warp's next piece; at or behind `size` when there is none left. The whole warp, together.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t next(Ctx& ctx) const {
        return once(ctx, full_warp<Ctx>, [&] { return atomic_add(ctx, taken[0], 1, scope::device) * piece; });
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t end(std::uint64_t begin) const {
        return size - begin < piece ? size : begin + piece;
    }
};

/// Makes each PE's part of simulated reads in its memory.
struct make_reads {
    simulated_reads reads;
    symbols_ref symbols;
    shared_range range;  ///< over all words of the part

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        std::uint64_t* const words = symbols.words.local(ctx);
        const std::uint64_t first = static_cast<std::uint64_t>(ctx.pe()) * symbols.own();
        for (std::uint64_t begin; (begin = range.next(ctx)) < range.size;) {
            for (std::uint64_t i = begin + static_cast<std::uint64_t>(ctx.lane()); i < range.end(begin);
                 i += Ctx::warp_lanes) {
                const std::uint64_t place = first + i;  // counts from `lead` words before the first symbol
                const bool inside = place >= symbols.lead && place - symbols.lead < reads.words();
                words[i] = inside ? reads.word(place - symbols.lead) : gap_word;
            }
        }
    }
};

/// Walks over each PE's symbols and posts every k-mer to its owner. Every lane takes stretches of words, and begins
/// `lead` words earlier, so that it knows the k - 1 bases before its first. The lanes of a warp walk in step: lanes
/// that come to a post together share its cost.
template <int Words>
struct post_kmers {
    symbols_ref symbols;
    std::uint64_t stretch;  ///< words of a lane's stretch
    shared_range range;     ///< over the own words; a piece holds one stretch for each lane of any warp
    int k;
    bool canonical;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t begin; (begin = range.next(ctx)) < range.size;) {
            const std::uint64_t end = range.end(begin);
            for (; begin < end; begin += stretch * Ctx::warp_lanes) {
                if (!walk(ctx, box, begin + static_cast<std::uint64_t>(ctx.lane()) * stretch)) return;
            }
        }
    }

private:
    /// One stretch for each lane of the warp, together; false where the run ends early.
    template <class Ctx, class Box>
    LANEWAY_FN bool walk(Ctx& ctx, Box& box, std::uint64_t begin) const {
        const std::uint64_t* const words = symbols.words.local(ctx);
        kmer_window<Words> window(k, canonical);
        for (std::uint64_t at = 0; at < symbols.lead + stretch; ++at) {
            const bool inside = begin + at < symbols.words.size();
            const bool posted = take(ctx, box, window, inside ? words[begin + at] : gap_word, at >= symbols.lead);
            if (ctx.ballot(full_warp<Ctx>, !posted) != 0) return false;
        }
        return true;
    }

    /// Rolls the window over a word's symbols, and posts what it shows where the word is of the stretch itself.
    template <class Ctx, class Box>
    LANEWAY_FN bool take(Ctx& ctx, Box& box, kmer_window<Words>& window, std::uint64_t word, bool own) const {
        for (unsigned i = 0; i < symbols_a_word; ++i, word >>= symbol_bits) {
            if (!window.push(static_cast<unsigned>(word & 7)) || !own) continue;
            const kmer_key<Words> key = window.key();
            if (box.post(ctx, key.owner(ctx.n_pes()), key) != status::ok) return false;
        }
        return true;
    }
};

/// Looks k-mers up in each PE's table.
template <int Words>
struct look_up_counts {
    symmetric_ref<kmer_slot<Words>> table;
    symmetric_ref<kmer_key<Words>> asked;  ///< of this PE; words of 0 where there is none
    symmetric_ref<std::uint64_t> found;    ///< as many
    shared_range range;                    ///< over them

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        for (std::uint64_t begin; (begin = range.next(ctx)) < range.size;) {
            for (std::uint64_t i = begin + static_cast<std::uint64_t>(ctx.lane()); i < range.end(begin);
                 i += Ctx::warp_lanes) {
                const kmer_key<Words> key = asked.local(ctx)[i];
                if (key.words[0] != 0) found.local(ctx)[i] = count_in(table.local(ctx), table.size(), key);
            }
        }
    }
};

/// Sums over a PE's table.
struct table_sums {
    std::uint64_t total;     ///< of all counts
    std::uint64_t checksum;  ///< of count times hash, mod 2^64: the same however the k-mers are spread over PEs
};

/// Reads each PE's table: its histogram and sums.
template <int Words>
struct tally_counts {
    symmetric_ref<kmer_slot<Words>> table;
    symmetric_ref<std::uint64_t> bins;  ///< bin m counts k-mers that occur m times, the last one all that occur oftener
    symmetric_ref<table_sums> sums;
    shared_range range;  ///< over the slots

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        table_sums mine{};
        for (std::uint64_t begin; (begin = range.next(ctx)) < range.size;) {
            for (std::uint64_t i = begin + static_cast<std::uint64_t>(ctx.lane()); i < range.end(begin);
                 i += Ctx::warp_lanes) {
                add(ctx, table.local(ctx)[i], mine);
            }
        }
        ctx.fetch_add(&sums.local(ctx)->total, mine.total, order::relaxed, scope::device);
        ctx.fetch_add(&sums.local(ctx)->checksum, mine.checksum, order::relaxed, scope::device);
    }

private:
    template <class Ctx>
    LANEWAY_FN void add(Ctx& ctx, const kmer_slot<Words>& slot, table_sums& mine) const {
        const std::uint64_t count = slot.count();
        if (count == 0) return;
        kmer_key<Words> key;
        for (int w = 0; w < Words; ++w) key.words[w] = slot.words[w];
        mine.total += count;
        mine.checksum += count * key.hash();
        const std::uint64_t bin = count < bins.size() ? count : bins.size() - 1;
        // Most k-mers share few bins: lanes that arrive with the same one add together.
        const lane_mask group = ctx.converged();
        const lane_mask same = ctx.match(group, static_cast<std::uint32_t>(bin));
        if (elected(ctx, same)) {
            atomic_add(ctx, bins[bin], static_cast<std::uint64_t>(Ctx::count_lanes(same)), scope::device);
        }
    }
};

}  // namespace laneway::apps
