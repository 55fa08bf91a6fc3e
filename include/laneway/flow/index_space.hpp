// The index space: a component that hands out the numbers below n to the working warps of all PEs.
//
// Each PE owns a range, in proportion to its working lanes, and its warps take pieces of it from a counter, each when
// it has done its last one. So a warp whose indices take long does not hold up the others of its PE.
#pragma once

#include <algorithm>
#include <vector>

#include "laneway/flow/index_space_ref.hpp"
#include "laneway/run/component_host.hpp"

namespace laneway {

/// Host half. For one run at a time; may be used again.
class index_space {
public:
    using ref_type = index_space_ref;

    explicit index_space(std::uint64_t n) : n_(n) {}
    index_space(const index_space&) = delete;
    index_space& operator=(const index_space&) = delete;

    void begin(machine& machine, const comm_plan& plan, const run_deadline&) {
        refs_.clear();
        if (machine_ != &machine) next_.clear();
        machine_ = &machine;
        std::uint64_t lanes = 0;
        for (const auto& grid : plan.grids) lanes += grid.worker_lanes();
        std::uint64_t before = 0;  // lanes of the PEs so far
        for (int pe = 0; pe < machine.n_pes(); ++pe) {
            const auto p = static_cast<std::size_t>(pe);
            const pe_grid& grid = plan.grids[p];
            if (next_.size() == p) next_.emplace_back(machine.device(pe), 1);
            next_[p].fill_bytes(0);
            ref_type& part = refs_.emplace_back();
            part.first = share(before, lanes);
            part.count = share(before += grid.worker_lanes(), lanes) - part.first;
            const auto width = static_cast<std::uint64_t>(grid.warp_lanes());
            const std::uint64_t rows = part.count / (grid.worker_lanes() * pieces_a_warp);
            part.piece = std::clamp<std::uint64_t>(rows, 1, max_rows) * width;
            part.next = next_[p].data();
        }
    }
    [[nodiscard]] ref_type ref(int pe) const { return refs_[static_cast<std::size_t>(pe)]; }

private:
    /// A warp comes for about so many pieces, so that the last ones are short beside the whole; each has so many rows
    /// of the warp's lanes at most.
    static constexpr std::uint64_t pieces_a_warp = 16, max_rows = 64;

    /// Indices of the first `lanes` of `all` lanes.
    [[nodiscard]] std::uint64_t share(std::uint64_t lanes, std::uint64_t all) const {
        return n_ / all * lanes + n_ % all * lanes / all;
    }

    std::uint64_t n_;
    const machine* machine_ = nullptr;  ///< of the last run
    std::vector<buffer<std::uint64_t>> next_;
    std::vector<ref_type> refs_;
};

}  // namespace laneway
