// Collectives as a component of a program: the host half. Made by runtime::collectives.
#pragma once

#include <memory>
#include <vector>

#include "laneway/comm/collective/collectives_memory.hpp"
#include "laneway/run/collectives_component_ref.hpp"
#include "laneway/run/component_host.hpp"

namespace laneway {

/// Memory of the collectives among working warps, blocks and grids of a machine's PEs; for one run at a time. It is
/// taken at the first run, when the grids are known, and again where a later run has larger ones.
class collectives_component {
public:
    using ref_type = collectives_component_ref;

    /// `mute`: see collectives_memory.
    collectives_component(const machine& machine, const collective_options& options, int mute = -1)
        : machine_(&machine), options_(options), mute_(mute) {}

    [[nodiscard]] std::uint64_t held_bytes(int pe) const {
        return memory_ == nullptr ? 0 : memory_->plan().bytes(static_cast<std::size_t>(pe));
    }

    /// Throws usage_error for another runtime's machine, and for options that cannot be.
    void begin(machine& machine, const comm_plan& plan, const run_deadline&) {
        if (&machine != machine_) throw usage_error("collectives belong to the runtime that has made them");
        std::vector<working_counts> counts;
        for (const pe_grid& grid : plan.grids) {
            counts.push_back({static_cast<std::uint32_t>(grid.worker_warps()), grid.worker_blocks()});
        }
        if (!has_room_for(counts)) {
            memory_.reset();
            memory_ = std::make_unique<collectives_memory>(machine, collectives_plan(options_, counts), mute_);
        }
        memory_->begin(counts);
    }
    void end(const run_report&) { memory_->end(); }
    [[nodiscard]] ref_type ref(int pe) const { return {memory_->ref(pe)}; }

private:
    [[nodiscard]] bool has_room_for(const std::vector<working_counts>& counts) const {
        if (memory_ == nullptr) return false;
        for (std::size_t pe = 0; pe < counts.size(); ++pe) {
            const working_counts& most = memory_->plan().most[pe];
            if (counts[pe].warps > most.warps || counts[pe].blocks > most.blocks) return false;
        }
        return true;
    }

    const machine* machine_;
    collective_options options_;
    int mute_;
    std::unique_ptr<collectives_memory> memory_;
};

}  // namespace laneway
