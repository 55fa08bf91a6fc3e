// Launching in the checked mode: the lanes of all PEs become fibers of one scheduler.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/simt/checked/context.hpp"
#include "laneway/simt/host_service.hpp"

namespace laneway::checked {

/// All PEs of one job. Add every PE's program, then run.
class fiber_launch {
public:
    /// A run ends for its deadline before its steps: `timeout_seconds` of virtual time, twice.
    fiber_launch(std::uint64_t seed, double timeout_seconds, const checked_accesses& accesses)
        : scheduler_(seed, 1'000'000 + static_cast<std::uint64_t>(timeout_seconds * 2e9) / scheduler::step_ns),
          watch_(accesses.races), accesses_(accesses) {}

    template <class Program>
    void add(const pe_environment& env, const launch_shape& shape, const Program& program) {
        watch_.watch(env);
        for (int b = 0; b < shape.blocks; ++b) {
            blocks_.push_back(
                std::make_unique<block_state>(shape.warps_per_block, context::warp_lanes, shape.shared_bytes));
            block_state& block = *blocks_.back();
            for (int lane = 0; lane < block.lanes; ++lane) {
                const lane_place place{env.pe, b, lane / context::warp_lanes, lane % context::warp_lanes};
                histories_.push_back(
                    std::make_unique<lane_history>(scheduler_, watch_, accesses_.switches_at_plain, env, place));
                lane_history& history = *histories_.back();
                const auto body = [this, &env, &shape, &program, &block, &history] {
                    context ctx(scheduler_, block, shape, history);
                    try {
                        program(ctx);
                    } catch (const lost_lane& lost) {
                        if (lost_.empty()) lost_ = lost.told;
                    } catch (const run_over&) {
                        throw;  // of the scheduler
                    } catch (...) {
                        if (env.thrown == nullptr) throw;
                        env.thrown->keep_as_it_is(std::current_exception());
                        std::atomic_ref(env.control->stop).store(1);
                    }
                    --lanes_;
                };
                scheduler_.add(body, &history);
                ++lanes_;
            }
        }
    }

    /// Adds a thread of the host, a fiber as the lanes are.
    void add_host(std::function<void(host_context&)> body) {
        scheduler_.add([this, body = std::move(body)] {
            host_context ctx(&scheduler_);
            body(ctx);
        });
    }

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
    scheduler scheduler_;
    race_watch watch_;
    checked_accesses accesses_;
    std::vector<std::unique_ptr<block_state>> blocks_;
    std::vector<std::unique_ptr<lane_history>> histories_;
    int lanes_ = 0;
    std::string lost_;
};

}  // namespace laneway::checked
