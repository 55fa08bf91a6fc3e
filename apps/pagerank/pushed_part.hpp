// What a PE holds of a graph whose residuals are pushed, on the host's side.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "graph/mirrors.hpp"
#include "graph/row_tiles.hpp"
#include "laneway/simt/device.hpp"
#include "push_residuals.hpp"

namespace laneway::apps {

/// One PE's arcs, and what its rows and mirrors gather.
class pushed_part {
public:
    /// `starts`: division::starts().
    template <class Vertex>
    pushed_part(const std::shared_ptr<device>& owner, const graph::csr_slice<Vertex>& arcs,
                const mirrored_rows<Vertex>& mirrored, const std::vector<std::uint64_t>& starts, bool weighted)
        : rows_(arcs.vertices()), mirrors_(mirrored.mirrors.size()), tiles_(owner, arcs.offsets),
          offsets_(owner, arcs.offsets.size()), heads_(owner, arcs.arcs()), weights_(owner, weighted ? arcs.arcs() : 0),
          outgoing_(owner, weighted ? rows_ : 0), part_weights_(owner, weighted ? tiles_.count() : 0),
          owners_(owner, mirrors_), mirror_arcs_(owner, mirrors_), dues_(owner, tiles_.count()), ranks_(owner, rows_),
          account_(owner, 1) {
        offsets_.copy_in(arcs.offsets);
        heads_.copy_in(mirrored.sources);
        owners_.copy_in(owners_of(mirrored.mirrors, starts));
        mirror_arcs_.copy_in(arcs_to_mirrors(mirrored.sources));
        for (std::uint64_t row = 0; row < rows_; ++row) {
            row_costs_ += std::max(arcs.offsets[row + 1] - arcs.offsets[row], std::uint64_t{1});
        }
        if (!weighted) return;
        weights_.copy_in(arcs.weights.data(), arcs.arcs());
        outgoing_.copy_in(outgoing_of(arcs));
        part_weights_.copy_in(part_weights_of(arcs));
    }

    [[nodiscard]] std::uint64_t rows() const { return rows_; }
    [[nodiscard]] std::uint64_t words() const { return rows_ + mirrors_; }
    /// What rows may be kept waiting for together: their arcs, and one for a row without.
    [[nodiscard]] std::uint64_t row_costs() const { return row_costs_; }
    /// The same of mirrors: the arcs that lead to them.
    [[nodiscard]] std::uint64_t mirror_costs() const { return mirror_costs_; }

    [[nodiscard]] pushed_rows ref() {
        return {tiles_.ref(offsets_.data()),
                heads_.data(),
                weights_.data(),
                outgoing_.data(),
                part_weights_.data(),
                owners_.data(),
                mirror_arcs_.data(),
                dues_.data(),
                ranks_.data(),
                account_.data(),
                mirrors_};
    }

    /// No rank, and nothing due.
    void clear() {
        ranks_.fill_bytes(0);
        dues_.fill_bytes(0);
    }
    void clear_account() { account_.fill_bytes(0); }
    [[nodiscard]] push_account account() const { return account_.copy_out()[0]; }
    [[nodiscard]] std::vector<std::uint64_t> ranks() const { return ranks_.copy_out(); }

private:
    template <class Vertex>
    static std::vector<std::uint64_t> outgoing_of(const graph::csr_slice<Vertex>& arcs) {
        std::vector<std::uint64_t> outgoing(arcs.vertices());
        for (std::uint64_t row = 0; row < outgoing.size(); ++row) {
            outgoing[row] = weight_of(arcs, arcs.offsets[row], arcs.offsets[row + 1]);
        }
        return outgoing;
    }
    /// Of arcs [begin, end).
    template <class Vertex>
    static std::uint64_t weight_of(const graph::csr_slice<Vertex>& arcs, std::uint64_t begin, std::uint64_t end) {
        return std::accumulate(arcs.weights.begin() + static_cast<std::ptrdiff_t>(begin),
                               arcs.weights.begin() + static_cast<std::ptrdiff_t>(end), std::uint64_t{0});
    }
    /// Of each tile the arcs there of the row that began before it.
    template <class Vertex>
    [[nodiscard]] std::vector<std::uint64_t> part_weights_of(const graph::csr_slice<Vertex>& arcs) const {
        std::vector<std::uint64_t> part_weights(tiles_.count());
        const row_tiles_ref tiles = tiles_.ref(arcs.offsets.data());
        for (std::uint64_t row = 0; row < rows_; ++row) {
            const tile_span span = tiles.span(row);
            for (std::uint64_t tile = span.first + 1; tile < span.first + span.count; ++tile) {
                const arc_range part = tiles.part(row, tile);
                part_weights[tile] = weight_of(arcs, part.begin, part.begin + part.count);
            }
        }
        return part_weights;
    }

    template <class Vertex>
    static std::vector<mirror_target> owners_of(const std::vector<Vertex>& mirrors,
                                                const std::vector<std::uint64_t>& starts) {
        std::vector<mirror_target> owners;
        owners.reserve(mirrors.size());
        std::uint32_t pe = 0;
        for (const Vertex place : mirrors) {  // ascending
            while (place >= starts[pe + 1]) ++pe;
            owners.push_back({pe, static_cast<std::uint32_t>(place - starts[pe])});
        }
        return owners;
    }
    std::vector<std::uint32_t> arcs_to_mirrors(const std::vector<std::uint32_t>& heads) {
        std::vector<std::uint32_t> arcs(mirrors_);
        for (const std::uint32_t word : heads) {
            if (word < rows_) continue;
            ++arcs[word - rows_];
            ++mirror_costs_;
        }
        return arcs;
    }

    std::uint64_t rows_;
    std::uint64_t mirrors_;
    std::uint64_t row_costs_ = 0;
    std::uint64_t mirror_costs_ = 0;
    row_tiles tiles_;
    buffer<std::uint64_t> offsets_;
    buffer<std::uint32_t> heads_;
    buffer<std::uint32_t> weights_;
    buffer<std::uint64_t> outgoing_;
    buffer<std::uint64_t> part_weights_;
    buffer<mirror_target> owners_;
    buffer<std::uint32_t> mirror_arcs_;
    buffer<std::uint64_t> dues_;
    buffer<std::uint64_t> ranks_;
    buffer<push_account> account_;
};

}  // namespace laneway::apps
