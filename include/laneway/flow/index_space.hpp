// The index space: a component that hands out numbers to the working warps of all PEs.
//
// Each PE has a range, and its warps take pieces of it from a counter, each when it has done its last one. So a warp
// whose indices take long does not hold up the others of its PE.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "laneway/flow/index_space_ref.hpp"
#include "laneway/run/component_host.hpp"

namespace laneway {

/// How an index space is cut.
struct index_space_options {
    std::uint64_t max_rows = 64;  ///< a piece has so many indices for each lane of a warp at most
    bool for_warps = false;       ///< an index is for all lanes of a warp: a piece is one
};

/// Host half. For one run at a time; may be used again.
class index_space {
public:
    using ref_type = index_space_ref;

    /// The numbers below n, shared out over all PEs in proportion to their working lanes.
    explicit index_space(std::uint64_t n, const index_space_options& options = {}) : n_(n), options_(options) {}
    /// For each PE the numbers below its entry.
    explicit index_space(std::vector<std::uint64_t> counts, const index_space_options& options = {})
        : counts_(std::move(counts)), options_(options) {}
    /// Of other numbers, in the runs that come: those that the constructors name.
    void resize(std::uint64_t n) {
        n_ = n;
        counts_.reset();
    }
    void resize(std::vector<std::uint64_t> counts) { counts_ = std::move(counts); }
    index_space(const index_space&) = delete;
    index_space& operator=(const index_space&) = delete;

    /// Throws usage_error where there are counts, but not one for each PE.
    void begin(machine& machine, const comm_plan& plan, const run_deadline&);
    [[nodiscard]] ref_type ref(int pe) const { return refs_[static_cast<std::size_t>(pe)]; }

private:
    void number_run(machine& machine);
    [[nodiscard]] bool lies_on(const machine& machine) const;
    [[nodiscard]] std::uint64_t piece_of(std::uint64_t count, const pe_grid& grid) const;

    std::uint64_t n_ = 0;
    std::optional<std::vector<std::uint64_t>> counts_;  ///< of each PE, where they are told
    index_space_options options_;
    std::uint32_t run_ = 0;                    ///< number of the last run
    std::vector<buffer<std::uint64_t>> next_;  ///< of each PE of it
    std::vector<ref_type> refs_;
};

}  // namespace laneway
