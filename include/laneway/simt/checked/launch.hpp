// Launching in the checked mode: the lanes of all PEs become fibers of one scheduler.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/simt/checked/context.hpp"
#include "laneway/simt/host_service.hpp"
#include "laneway/simt/pe_program.hpp"

namespace laneway::checked {

/// All PEs of one job. Add every PE's program, then run.
class fiber_launch {
public:
    /// A run ends for its deadline before its steps: `timeout_seconds` of virtual time, twice. `carried`: what host
    /// services carry between PEs.
    fiber_launch(std::uint64_t seed, double timeout_seconds, const checked_accesses& accesses,
                 std::vector<carried_memory> carried = {});
    ~fiber_launch();
    fiber_launch(const fiber_launch&) = delete;
    fiber_launch& operator=(const fiber_launch&) = delete;

    /// `env`, `shape` and `program` outlive the run.
    void add(const pe_environment& env, const launch_shape& shape, const pe_program& program);

    /// Adds a thread of the host, a fiber as the lanes are.
    void add_host(std::function<void(host_context&)> body);

    /// Lanes that have not ended.
    [[nodiscard]] int lanes() const { return lanes_; }
    /// Of the first lanes that waited for mates who never came: who, for whom, and where. Empty: there were none.
    [[nodiscard]] const std::string& lost() const { return lost_; }

    /// See scheduler::endless_lane.
    [[nodiscard]] const std::string& endless() const { return scheduler_.endless_lane(); }

    void run(const std::function<void()>& look) { scheduler_.run(look); }
    /// The run has been told to end: lanes that do not hear of it have a second left, as on other devices.
    void end_soon() { scheduler_.end_within(1'000'000'000 / scheduler::step_ns); }

private:
    void run_lane(const pe_environment& env, const launch_shape& shape, const pe_program& program, block_state& block,
                  lane_history& history);

    scheduler scheduler_;
    race_watch watch_;
    checked_accesses accesses_;
    std::vector<std::unique_ptr<block_state>> blocks_;
    std::vector<std::unique_ptr<lane_history>> histories_;
    int lanes_ = 0;
    std::string lost_;
};

}  // namespace laneway::checked
