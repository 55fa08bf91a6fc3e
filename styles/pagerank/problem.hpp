// pagerank, what all styles share: arcs in the memory of the PE that owns their tails, and what the owner of a head
// does with shares of rank that it is told of. A style is how shares come from tails to heads.
#pragma once

#include "pagerank/fixed_rank.hpp"
#include "styles/launcher.hpp"

namespace laneway::styles {

/// Rows and arcs that a PE owns.
struct part_size {
    std::uint64_t rows;
    std::uint64_t arcs;
};

/// Device view. Ranks are whole numbers, so that sums are the same in any order; see apps/pagerank/README.md.
struct pagerank_data {
    symmetric_ref<part_size> size;
    symmetric_ref<std::uint32_t> tails;    ///< row of each arc's tail; sized for the PE with most arcs
    symmetric_ref<std::uint64_t> heads;    ///< of each arc: owner in the high half, row there in the low one
    symmetric_ref<std::uint32_t> degrees;  ///< of each row
    symmetric_ref<float> shares;           ///< of each row: what its arcs carry
    symmetric_ref<std::uint64_t> ranks;    ///< of each row
    symmetric_ref<std::uint64_t> sums;     ///< of each row: shares that have come
    symmetric_ptr<std::uint64_t> taken;    ///< 0 when a push begins; free for its use

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t arcs(const Ctx& ctx) const {
        return size.local(ctx)->arcs;
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN int owner(const Ctx& ctx, std::uint64_t arc) const {
        return static_cast<int>(heads.local(ctx)[arc] >> 32);
    }
    /// What the owner of the arc's head must hear: its row in the high half, the share's bits in the low one.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t message(const Ctx& ctx, std::uint64_t arc) const {
        const float share = shares.local(ctx)[tails.local(ctx)[arc]];
        return heads.local(ctx)[arc] << 32 | __builtin_bit_cast(std::uint32_t, share);
    }
    /// Does what the message says at `pe`, whose memory the lane reaches.
    template <class Ctx>
    LANEWAY_FN void add(Ctx& ctx, int pe, std::uint64_t message, scope reach) const {
        const auto share = __builtin_bit_cast(float, static_cast<std::uint32_t>(message));
        ctx.fetch_add(sums.at(ctx, pe) + (message >> 32), static_cast<std::uint64_t>(share), order::relaxed, reach);
    }
};

// Each pushes the shares of all arcs once.
work pagerank_coprocessor(launcher& on, const pagerank_data& data);
work pagerank_direct(launcher& on, const pagerank_data& data);
work pagerank_coalesced(launcher& on, const pagerank_data& data);
work pagerank_coalesced_aggregated(launcher& on, const pagerank_data& data);
work pagerank_laneway(launcher& on, const pagerank_data& data);

}  // namespace laneway::styles
