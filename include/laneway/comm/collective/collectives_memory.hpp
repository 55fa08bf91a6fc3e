// Host owner of the memory for collectives of a machine's PEs.
#pragma once

#include <vector>

#include "laneway/comm/collective/collective_options.hpp"
#include "laneway/comm/collective/collectives_ref.hpp"
#include "laneway/transport/peer_memory.hpp"

namespace laneway {

/// Sizes of the memory for collectives. Pure arithmetic: it needs no device.
struct collectives_plan {
    collective_options options;
    std::vector<working_counts> most;  ///< of each PE, that its grids may have
    group_words words[3];              ///< by kind

    /// `most`: working warps and blocks of each PE, at most. Throws usage_error for sizes and teams that cannot be.
    collectives_plan(const collective_options& options, const std::vector<working_counts>& most);

    [[nodiscard]] std::size_t n_pes() const { return most.size(); }
    [[nodiscard]] bool same_team(std::size_t a, std::size_t b) const {
        return options.teams.empty() || options.teams[a] == options.teams[b];
    }
    /// Words that one PE writes for another.
    [[nodiscard]] std::uint64_t pair_words() const;
    /// Everything that counts for a PE: the words that it reads, and its tables and counters.
    [[nodiscard]] std::uint64_t bytes(std::size_t pe) const;

private:
    friend class collectives_memory;
    [[nodiscard]] std::uint64_t round_words(std::size_t pe) const;
    [[nodiscard]] std::uint64_t value_words(std::size_t pe) const;
};

/// Host only; not thread-safe. Rounds run on from run to run, so nothing is cleared between runs that end well.
class collectives_memory {
public:
    /// Allocates what the plan says. `mute`: a PE whose words reach nobody, an injected fault; -1: none.
    collectives_memory(machine& machine, const collectives_plan& plan, int mute = -1);
    collectives_memory(const collectives_memory&) = delete;
    collectives_memory& operator=(const collectives_memory&) = delete;

    [[nodiscard]] const collectives_plan& plan() const { return plan_; }
    /// What the plan says of a PE, and staging.
    [[nodiscard]] std::uint64_t bytes(std::size_t pe) const {
        return plan_.bytes(pe) + memory_.staging_bytes(static_cast<int>(pe));
    }

    /// Before each run, whose grids have these working warps and blocks. Where the run before has not ended well, its
    /// words and rounds are cleared. Throws usage_error where a grid is larger than planned.
    void begin(const std::vector<working_counts>& counts);
    /// After a run that has ended well.
    void end() { open_ = false; }

    /// Of the run that has begun.
    [[nodiscard]] collectives_ref ref(int pe) const;

private:
    void place_words(machine& machine, int mute);
    void reset();

    machine& machine_;
    collectives_plan plan_;
    peer_memory memory_;
    std::vector<buffer<word_sender>> to_;
    std::vector<buffer<word_receiver>> from_;
    buffer<std::uint64_t> unheard_;               ///< what the mute PE writes
    std::vector<buffer<working_counts>> counts_;  ///< where PEs differ, or not all are in one team
    std::vector<buffer<std::uint64_t>> rounds_;
    std::vector<buffer<std::uint64_t>> values_;
    std::vector<buffer<grid_words>> grids_;
    std::vector<working_counts> now_;  ///< of the run
    bool alike_ = true;                ///< all PEs have the same, and are in one team
    bool open_ = false;                ///< a run has begun and not ended well
};

}  // namespace laneway
