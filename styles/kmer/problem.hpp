// kmer, what all styles share: simulated reads in the memory of each PE, and the hash tables that count their k-mers.
#pragma once

#include "kmer/table.hpp"
#include "styles/launcher.hpp"

namespace laneway::styles {

/// Device view. A k-mer of 31 bases is counted as itself or its reverse complement, the lesser of them, in the table of
/// the PE that its hash names.
struct kmer_data {
    static constexpr int k = 31;
    static constexpr std::uint64_t lead_words = 2;     ///< that hold the k - 1 bases before a stretch
    static constexpr std::uint64_t stretch_words = 8;  ///< that one lane walks over
    static constexpr std::uint64_t stretch_steps = stretch_words * apps::symbols_a_word;

    symmetric_ref<std::uint64_t> words;  ///< the PE's own, behind `lead_words` of the PE before it
    symmetric_ref<apps::kmer_slot<1>> table;
    symmetric_ptr<std::uint64_t> taken;  ///< 0 when a run begins; free for its use

    /// A multiple of 32, so that warps walk whole.
    [[nodiscard]] LANEWAY_FN std::uint64_t stretches() const { return (words.size() - lead_words) / stretch_words; }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN int owner(const Ctx& ctx, std::uint64_t kmer) const {
        return apps::kmer_key<1>{{kmer}}.owner(ctx.n_pes());
    }

    /// Calls `visit(shown, kmer)` at each symbol of the PE's stretch; `shown`: a k-mer ends there. The whole warp,
    /// together: lanes visit in step.
    template <class Ctx, class Visit>
    LANEWAY_FN void walk(Ctx& ctx, std::uint64_t stretch, Visit&& visit) const {
        const std::uint64_t* const first = words.local(ctx) + stretch * stretch_words;
        apps::kmer_window<1> window(k, true);
        for (std::uint64_t at = 0; at < lead_words + stretch_words; ++at) {
            std::uint64_t word = first[at];
            for (unsigned i = 0; i < apps::symbols_a_word; ++i, word >>= apps::symbol_bits) {
                const bool shown = window.push(static_cast<unsigned>(word & 7));
                ctx.sync(full_warp<Ctx>);
                if (at >= lead_words) visit(shown, window.key().words[0]);
            }
        }
    }

    /// Counts the k-mer at `pe`, whose memory the lane reaches. See apps/kmer/table.hpp.
    template <class Ctx>
    LANEWAY_FN void count(Ctx& ctx, int pe, std::uint64_t kmer, scope reach) const {
        apps::kmer_slot<1>* const slots = table.at(ctx, pe);
        const std::uint64_t mask = table.size() - 1;
        const apps::kmer_key<1> key{{kmer}};
        const std::uint64_t begin = key.hash();
        for (std::uint64_t probe = 0; probe <= mask; ++probe) {
            if (slots[(begin + probe) & mask].take(ctx, key, reach)) return;
        }
        (void)fail(ctx, status::no_room, operation::insert, -1, table.size());  // the host hears of it
    }
};

/// How many stretches are walked before buffers with room for so many messages are full; warps stay whole.
constexpr std::uint64_t stretches_within(std::uint64_t messages) {
    const std::uint64_t warps = messages / kmer_data::stretch_steps / 32;
    return warps == 0 ? 32 : warps * 32;
}

work kmer_coprocessor(launcher& on, const kmer_data& data);
work kmer_direct(launcher& on, const kmer_data& data);
work kmer_coalesced(launcher& on, const kmer_data& data);
work kmer_coalesced_aggregated(launcher& on, const kmer_data& data);
work kmer_laneway(launcher& on, const kmer_data& data);

}  // namespace laneway::styles
