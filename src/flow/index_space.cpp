#include "laneway/flow/index_space.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace laneway {

namespace {

/// A warp comes for about so many pieces, so that the last ones are short beside the whole.
constexpr std::uint64_t pieces_a_warp = 16;
/// So that a count of taken pieces does not grow out of its bits, whoever asks in vain.
constexpr std::uint64_t max_pieces = std::uint64_t{1} << (index_space_ref::taken_bits - 1);

/// Of n indices those of the first `lanes` of `all` lanes.
std::uint64_t share(std::uint64_t n, std::uint64_t lanes, std::uint64_t all) {
    return n / all * lanes + n % all * lanes / all;
}

}  // namespace

void shared_index_space::begin(machine& machine, const comm_plan& plan) {
    if (in_session_) throw usage_error("the index space belongs to a session that has not been stopped");
    const auto pes = static_cast<std::size_t>(machine.n_pes());
    if (counts_ && counts_->size() != pes) {
        throw usage_error("an index space has counts for " + std::to_string(counts_->size()) +
                          " PEs, and the run has " + std::to_string(pes));
    }
    number_run(machine);
    refs_.clear();
    std::uint64_t lanes = 0, before = 0;  // of all PEs, and of the PEs so far
    for (const auto& grid : plan.grids) lanes += grid.worker_lanes();
    for (std::size_t pe = 0; pe < pes; ++pe) {
        const pe_grid& grid = plan.grids[pe];
        index_space_ref& part = refs_.emplace_back();
        if (!counts_) {
            part.first = share(n_, before, lanes);
            part.count = share(n_, before += grid.worker_lanes(), lanes) - part.first;
        } else {
            part.count = (*counts_)[pe];
        }
        part.piece = piece_of(part.count, grid);
        part.pieces = part.count / part.piece + (part.count % part.piece != 0 ? 1 : 0);
        part.run = run_;
        part.next = next_[pe].data();
    }
}

std::string shared_index_space::given() const {
    if (!counts_) return " over " + std::to_string(n_) + " indices";
    std::string counts;
    for (const std::uint64_t count : *counts_) counts += (counts.empty() ? "" : "+") + std::to_string(count);
    return " over " + counts + " indices";
}

/// The words know a run by its number, which comes again after many runs: then they are cleared, and else never.
void shared_index_space::number_run(machine& machine) {
    const bool kept = lies_on(machine);
    if (kept && run_ + 1 < 1u << index_space_ref::run_bits) {
        ++run_;
        return;
    }
    // Where something of it fails, the next run finds the old words and their number.
    std::vector<buffer<std::uint64_t>> fresh;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        if (!kept) fresh.emplace_back(machine.device(pe), 2);
        (kept ? next_[static_cast<std::size_t>(pe)] : fresh.back()).fill_bytes(0);
    }
    if (!kept) next_ = std::move(fresh);
    run_ = 1;
}

/// Whether the words are those of its devices. Another runtime's machine may lie where that of the last run did.
bool shared_index_space::lies_on(const machine& machine) const {
    if (next_.size() != static_cast<std::size_t>(machine.n_pes())) return false;
    for (std::size_t pe = 0; pe < next_.size(); ++pe) {
        if (next_[pe].owner() != machine.device(static_cast<int>(pe))) return false;
    }
    return true;
}

std::uint64_t shared_index_space::piece_of(std::uint64_t count, const pe_grid& grid) const {
    const std::uint64_t at_least = count / max_pieces + 1;
    if (options_.for_warps) return at_least;
    const std::uint64_t rows = count / (grid.worker_lanes() * pieces_a_warp);
    const auto width = static_cast<std::uint64_t>(grid.warp_lanes());
    return std::max(std::clamp<std::uint64_t>(rows, 1, options_.max_rows) * width, at_least);
}

}  // namespace laneway
