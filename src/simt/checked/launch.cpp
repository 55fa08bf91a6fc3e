#include "laneway/simt/checked/launch.hpp"

#include <atomic>

namespace laneway::checked {

namespace {

constexpr std::uint64_t start_ns = 100'000'000;  // lanes hear of a deadline, and tell, within that much more

}  // namespace

fiber_launch::fiber_launch(std::uint64_t seed, double timeout_seconds, const checked_accesses& accesses,
                           std::vector<carried_memory> carried)
    : scheduler_(seed, (start_ns + static_cast<std::uint64_t>(timeout_seconds * 2e9)) / scheduler::step_ns),
      watch_(accesses.races, std::move(carried)), accesses_(accesses) {}

fiber_launch::~fiber_launch() = default;

void fiber_launch::add(const pe_environment& env, const launch_shape& shape, const pe_program& program) {
    watch_.watch(env);
    for (int b = 0; b < shape.blocks; ++b) {
        blocks_.push_back(
            std::make_unique<block_state>(shape.warps_per_block, context::warp_lanes, shape.shared_bytes));
        block_state& block = *blocks_.back();
        for (int lane = 0; lane < block.lanes; ++lane) {
            const lane_position position{env.pe, b, lane / context::warp_lanes, lane % context::warp_lanes};
            histories_.push_back(
                std::make_unique<lane_history>(scheduler_, watch_, accesses_.switches_at_plain, env, position));
            lane_history& history = *histories_.back();
            const auto body = [this, &env, &shape, &program, &block, &history] {
                run_lane(env, shape, program, block, history);
            };
            scheduler_.add(body, &history);
            ++lanes_;
        }
    }
}

void fiber_launch::run_lane(const pe_environment& env, const launch_shape& shape, const pe_program& program,
                            block_state& block, lane_history& history) {
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
}

void fiber_launch::add_host(std::function<void(host_context&)> body) {
    scheduler_.add([this, body = std::move(body)] {
        host_context ctx(&scheduler_);
        body(ctx);
    });
}

}  // namespace laneway::checked
