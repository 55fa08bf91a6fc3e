// Blocks of several one-lane warps, each an OS thread: what threads mode, with its one warp a block, never does. Under
// ThreadSanitizer this shows the orders that the warps of one block need among themselves.
#pragma once

#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "laneway/simt/cpu/context.hpp"

namespace laneway::test {

/// One lane, alone in its warp, with sibling warps in its block.
class warp_context : public cpu::atomics<warp_context> {
public:
    static constexpr int warp_lanes = 1;
    static constexpr order tagged_order = order::release;  ///< as that of CPU devices
    static constexpr int count_lanes(lane_mask mask) { return cpu::context::count_lanes(mask); }
    static constexpr int first_lane(lane_mask mask) { return cpu::context::first_lane(mask); }

    warp_context(cpu::context alone, const launch_shape& shape, int warp, std::barrier<>& block)
        : alone_(alone), shape_(shape), warp_(warp), barrier_(block) {}

    [[nodiscard]] int pe() const { return alone_.pe(); }
    [[nodiscard]] int n_pes() const { return alone_.n_pes(); }
    [[nodiscard]] int block() const { return alone_.block(); }
    [[nodiscard]] int n_blocks() const { return shape_.blocks; }
    [[nodiscard]] int warp() const { return warp_; }
    [[nodiscard]] int n_warps() const { return shape_.warps_per_block; }
    [[nodiscard]] int lane() const { return 0; }
    [[nodiscard]] std::uint64_t rank() const { return alone_.rank(); }
    [[nodiscard]] std::uint64_t size() const { return alone_.size(); }
    [[nodiscard]] std::uint64_t local_rank() const { return alone_.local_rank(); }
    [[nodiscard]] std::uint64_t local_size() const { return alone_.local_size(); }
    [[nodiscard]] std::byte* shared() const { return alone_.shared(); }
    [[nodiscard]] const pe_environment& environment() const { return alone_.environment(); }

    lane_mask converged() { return 1; }
    void sync(lane_mask) {}
    void sync_block() { barrier_.arrive_and_wait(); }
    lane_mask ballot(lane_mask, bool predicate) { return predicate ? 1 : 0; }
    template <class Key>
    lane_mask match(lane_mask, Key) {
        return 1;
    }
    template <class T>
    T shuffle(lane_mask, T value, int) {
        return value;
    }

    [[nodiscard]] std::uint64_t now_ns() { return alone_.now_ns(); }
    [[nodiscard]] bool is_late(std::uint64_t by_ns = 0) { return alone_.is_late(by_ns); }
    void pause(unsigned = 0, bool = false) { alone_.pause(); }
    void worked() {}
    void step() {}

private:
    cpu::context alone_;
    const launch_shape& shape_;
    int warp_;
    std::barrier<>& barrier_;
};

static_assert(laneway::context<warp_context>);

/// Environment of one PE outside a machine: deadlines and faults work, symmetric memory does not.
class lone_environment {
public:
    lone_environment(int pe, int n_pes, double timeout_seconds) {
        env_.pe = pe;
        env_.n_pes = n_pes;
        env_.timeout_ns = static_cast<std::uint64_t>(timeout_seconds * 1e9);
        env_.control = &control_;
        env_.fault = &fault_;
        env_.host_stop = &host_stop_;
    }
    lone_environment(const lone_environment&) = delete;
    lone_environment& operator=(const lone_environment&) = delete;

    [[nodiscard]] const pe_environment& get() const { return env_; }
    [[nodiscard]] bool failed() const { return fault_.written != 0; }
    [[nodiscard]] const fault_record& fault() const { return fault_; }

private:
    pe_environment env_;
    pe_control control_;
    fault_record fault_;
    std::uint32_t host_stop_ = 0;
};

/// Calls `program(ctx)` on a thread for each warp of the grid and returns when all have ended.
template <class Program>
void run_warp_threads(const pe_environment& env, const launch_shape& shape, const Program& program) {
    struct alignas(128) line {
        std::byte bytes[128];
    };
    std::vector<std::vector<line>> shared(static_cast<std::size_t>(shape.blocks));
    std::vector<std::unique_ptr<std::barrier<>>> barriers;
    std::vector<std::jthread> threads;
    for (int block = 0; block < shape.blocks; ++block) {
        auto& memory = shared[static_cast<std::size_t>(block)];
        memory.resize(shape.shared_bytes / sizeof(line) + 1);
        auto& barrier = *barriers.emplace_back(std::make_unique<std::barrier<>>(shape.warps_per_block));
        for (int warp = 0; warp < shape.warps_per_block; ++warp) {
            threads.emplace_back([&, block, warp] {
                warp_context ctx(cpu::context(env, block, shape.blocks, memory.data()->bytes), shape, warp, barrier);
                program(ctx);
            });
        }
    }
}

}  // namespace laneway::test
