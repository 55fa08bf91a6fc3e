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

/// Makes each PE's part of simulated reads in its memory. For each word of the part.
struct make_reads {
    simulated_reads reads;
    symbols_ref symbols;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i) const {
        // Counts from `lead` words before the first symbol.
        const std::uint64_t place = static_cast<std::uint64_t>(ctx.pe()) * symbols.own() + i;
        const bool inside = place >= symbols.lead && place - symbols.lead < reads.words();
        symbols.words.local(ctx)[i] = inside ? reads.word(place - symbols.lead) : gap_word;
    }
};

/// Walks over each PE's symbols and posts every k-mer to its owner. Every lane takes stretches of words, and begins
/// `lead` words earlier, so that it knows the k - 1 bases before its first. The lanes of a warp walk in step: lanes
/// that come to a post together share its cost.
template <int Words>
struct post_kmers {
    static constexpr std::uint64_t widest_warp = 32;

    symbols_ref symbols;
    std::uint64_t stretch;  ///< words of a lane's stretch
    int k;
    bool canonical;

    /// Pieces of the own words, of one stretch for each lane of any warp.
    [[nodiscard]] LANEWAY_FN std::uint64_t piece_words() const { return widest_warp * stretch; }
    [[nodiscard]] std::uint64_t pieces() const { return (symbols.own() + piece_words() - 1) / piece_words(); }

    /// `warp_pieces`: their numbers, for whole warps.
    template <class Ctx, class Pieces, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Pieces& warp_pieces, Box& box) const {
        warp_pieces.for_each_together(ctx, [&](std::uint64_t piece) {
            const std::uint64_t first = piece * piece_words(), left = symbols.own() - first;
            const std::uint64_t end = first + (left < piece_words() ? left : piece_words());
            for (std::uint64_t begin = first; begin < end; begin += stretch * Ctx::warp_lanes) {
                if (!walk(ctx, box, begin + static_cast<std::uint64_t>(ctx.lane()) * stretch)) return;
            }
        });
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

/// Looks k-mers up in each PE's table. For each of them.
template <int Words>
struct look_up_counts {
    symmetric_ref<kmer_slot<Words>> table;
    symmetric_ref<kmer_key<Words>> asked;  ///< of this PE; words of 0 where there is none
    symmetric_ref<std::uint64_t> found;    ///< as many

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i) const {
        const kmer_key<Words> key = asked.local(ctx)[i];
        if (key.words[0] != 0) found.local(ctx)[i] = count_in(table.local(ctx), table.size(), key);
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

    template <class Ctx, class Slots>
    LANEWAY_FN void operator()(Ctx& ctx, Slots& slots) const {
        table_sums mine{};
        slots.for_each(ctx, [&](std::uint64_t i) { add(ctx, table.local(ctx)[i], mine); });
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
