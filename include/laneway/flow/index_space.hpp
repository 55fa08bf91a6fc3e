// The index space: a component that hands out numbers to the working warps of all PEs.
//
// Each PE has a range, and its warps take pieces of it from a counter, each when it has done its last one. So a warp
// whose indices take long does not hold up the others of its PE.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "laneway/flow/index_space_ref.hpp"
#include "laneway/run/component_host.hpp"
#include "laneway/run/host_feed.hpp"

namespace laneway {

/// How an index space is cut.
struct index_space_options {
    std::uint64_t max_rows = 64;  ///< a piece has so many indices for each lane of a warp at most
    bool for_warps = false;       ///< an index is for all lanes of a warp: a piece is one
};

/// The part of an index space that copies share.
class shared_index_space final : public session_feed {
public:
    explicit shared_index_space(const index_space_options& options) : options_(options) {}

    void resize(std::uint64_t n) {
        n_ = n;
        counts_.reset();
    }
    void resize(std::vector<std::uint64_t> counts) { counts_ = std::move(counts); }
    void begin(machine& machine, const comm_plan& plan);
    [[nodiscard]] std::string given() const;
    [[nodiscard]] index_space_ref ref(int pe) const { return refs_[static_cast<std::size_t>(pe)]; }

    // In a session: the host leaves nothing, lanes of its body take.
    [[nodiscard]] std::uint64_t filled() const override { return 0; }
    [[nodiscard]] bool any_wait() const override { return false; }
    void attach(machine& machine, const comm_plan& plan) override { begin(machine, plan); }
    void connect(resident_program&) override { in_session_ = true; }
    void disconnect(bool) noexcept override { in_session_ = false; }

private:
    void number_run(machine& machine);
    [[nodiscard]] bool lies_on(const machine& machine) const;
    [[nodiscard]] std::uint64_t piece_of(std::uint64_t count, const pe_grid& grid) const;

    std::uint64_t n_ = 0;
    std::optional<std::vector<std::uint64_t>> counts_;  ///< of each PE, where they are told
    index_space_options options_;
    bool in_session_ = false;
    std::uint32_t run_ = 0;                    ///< number of the last run
    std::vector<buffer<std::uint64_t>> next_;  ///< of each PE of it
    std::vector<index_space_ref> refs_;
};

/// Host half. For one run at a time, or for the body of one session; may be used again. A handle: copies are the same
/// space.
class index_space {
public:
    using ref_type = index_space_ref;

    /// The numbers below n, shared out over all PEs in proportion to their working lanes.
    explicit index_space(std::uint64_t n, const index_space_options& options = {})
        : shared_(std::make_shared<shared_index_space>(options)) {
        resize(n);
    }
    /// For each PE the numbers below its entry.
    explicit index_space(std::vector<std::uint64_t> counts, const index_space_options& options = {})
        : shared_(std::make_shared<shared_index_space>(options)) {
        resize(std::move(counts));
    }
    // Copied, never moved: what has been moved from would be no space.
    index_space(const index_space&) = default;
    index_space& operator=(const index_space&) = default;

    /// Of other numbers, in the runs that come: those that the constructors name.
    void resize(std::uint64_t n) { shared_->resize(n); }
    void resize(std::vector<std::uint64_t> counts) { shared_->resize(std::move(counts)); }

    /// Throws usage_error where there are counts, but not one for each PE, and while a session has it.
    void begin(machine& machine, const comm_plan& plan, const run_deadline&) { shared_->begin(machine, plan); }
    /// How many numbers, by PE where the counts are told: each process shares them out by itself.
    [[nodiscard]] std::string given() const { return shared_->given(); }
    [[nodiscard]] ref_type ref(int pe) const { return shared_->ref(pe); }
    [[nodiscard]] std::shared_ptr<session_feed> feed() const { return shared_; }

private:
    std::shared_ptr<shared_index_space> shared_;
};

}  // namespace laneway
