// Collectives as a component of a program: the host half. Made by runtime::collectives.
#pragma once

#include <memory>
#include <vector>

#include "laneway/comm/collective/collectives_memory.hpp"
#include "laneway/run/collectives_component_ref.hpp"
#include "laneway/run/component_host.hpp"
#include "laneway/run/host_feed.hpp"

namespace laneway {

/// The part of collectives that copies share. Memory is taken at the first run, when the grids are known, and again
/// where a later run has larger ones.
class shared_collectives final : public session_feed {
public:
    shared_collectives(const machine& machine, const collective_options& options, int mute)
        : machine_(&machine), options_(options), mute_(mute) {}

    [[nodiscard]] std::uint64_t held_bytes(int pe) const {
        return memory_ == nullptr ? 0 : memory_->bytes(static_cast<std::size_t>(pe));
    }
    void begin(machine& machine, const comm_plan& plan) {
        if (&machine != machine_) throw usage_error("collectives belong to the runtime that has made them");
        if (in_session_) throw usage_error("the collectives belong to a session that has not been stopped");
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
    void end() { memory_->end(); }
    [[nodiscard]] collectives_component_ref ref(int pe) const { return {memory_->ref(pe)}; }

    // In a session: the host leaves nothing, lanes of its body meet.
    [[nodiscard]] std::uint64_t filled() const override { return 0; }
    [[nodiscard]] bool any_wait() const override { return false; }
    void attach(machine& machine, const comm_plan& plan) override { begin(machine, plan); }
    void connect(resident_program&) override { in_session_ = true; }
    void disconnect(bool ended_well) noexcept override {
        in_session_ = false;
        if (ended_well) end();
    }

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
    bool in_session_ = false;
};

/// Collectives among the working warps, blocks and grids of a machine's PEs; for one run at a time, or for the body of
/// one session. A handle: copies are the same collectives.
class collectives_component {
public:
    using ref_type = collectives_component_ref;

    /// `mute`: see collectives_memory.
    collectives_component(const machine& machine, const collective_options& options, int mute = -1)
        : shared_(std::make_shared<shared_collectives>(machine, options, mute)) {}

    [[nodiscard]] std::uint64_t held_bytes(int pe) const { return shared_->held_bytes(pe); }
    /// Throws usage_error for another runtime's machine, for options that cannot be, and while a session has them.
    void begin(machine& machine, const comm_plan& plan, const run_deadline&) const { shared_->begin(machine, plan); }
    void end(const run_report&) const { shared_->end(); }
    [[nodiscard]] ref_type ref(int pe) const { return shared_->ref(pe); }
    [[nodiscard]] std::shared_ptr<session_feed> feed() const { return shared_; }

private:
    std::shared_ptr<shared_collectives> shared_;
};

}  // namespace laneway
