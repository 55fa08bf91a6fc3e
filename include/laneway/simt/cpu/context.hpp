// The context of CPU devices: one lane a warp, one warp a block, a block an OS thread.
#pragma once

#include <bit>
#include <chrono>
#include <thread>

#include "laneway/base/awake_clock.hpp"
#include "laneway/simt/context.hpp"
#include "laneway/simt/cpu/atomics.hpp"
#include "laneway/simt/cpu/catching.hpp"
#include "laneway/simt/cpu/random_delays.hpp"

namespace laneway::cpu {

template <class Clock>
std::uint64_t ns_of() {
    const auto now = Clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}
inline std::uint64_t steady_ns() { return ns_of<std::chrono::steady_clock>(); }

/// A wait that goes on, as pause() counts it.
struct vain_wait {
    unsigned pauses = 0;  ///< since anything was done
    std::uint64_t since_ns = 0;
};

class context : public atomics<context>, public catching<context> {
public:
    static constexpr int warp_lanes = 1;
    /// Order of stores of tagged words (queue/tagged_words.hpp): here a release costs nothing, and
    /// ThreadSanitizer sees it.
    static constexpr order tagged_order = order::release;
    static constexpr int count_lanes(lane_mask mask) { return std::popcount(mask); }
    static constexpr int first_lane(lane_mask mask) { return std::countr_zero(mask); }

    context(const pe_environment& env, int block, int n_blocks, std::byte* shared)
        : env_(env), block_(block), n_blocks_(n_blocks), shared_(shared),
          deadline_ns_(ns_of<awake_clock>() + env.timeout_ns) {}

    [[nodiscard]] int pe() const { return env_.pe; }
    [[nodiscard]] int n_pes() const { return env_.n_pes; }
    [[nodiscard]] int block() const { return block_; }
    [[nodiscard]] int n_blocks() const { return n_blocks_; }
    [[nodiscard]] int warp() const { return 0; }
    [[nodiscard]] int n_warps() const { return 1; }
    [[nodiscard]] int lane() const { return 0; }
    /// Place among the lanes that run the application's functor, over all PEs of the job and among those of its PE; set
    /// by the runtime.
    [[nodiscard]] std::uint64_t rank() const { return rank_.before + rank_.local; }
    [[nodiscard]] std::uint64_t size() const { return rank_.size; }
    [[nodiscard]] std::uint64_t local_rank() const { return rank_.local; }
    [[nodiscard]] std::uint64_t local_size() const { return rank_.local_size; }
    void set_rank(const lane_rank& rank) { rank_ = rank; }
    [[nodiscard]] std::byte* shared() const { return shared_; }
    [[nodiscard]] const pe_environment& environment() const { return env_; }

    lane_mask converged() { return 1; }
    void sync(lane_mask) {}
    void sync_block() {}
    lane_mask ballot(lane_mask, bool predicate) { return predicate ? 1 : 0; }
    template <class Key>
    lane_mask match(lane_mask, Key) {
        return 1;
    }
    template <class T>
    T shuffle(lane_mask, T value, int) {
        return value;
    }

    [[nodiscard]] std::uint64_t now_ns() { return steady_ns(); }
    [[nodiscard]] bool is_late(std::uint64_t by_ns = 0) const { return ns_of<awake_clock>() > deadline_ns_ + by_ns; }

    /// There may be more threads than cores: yield, but not at once, as a hand-over between cores takes 100 ns. A
    /// thread that has waited for a tenth of a second, and has done nothing meanwhile, sleeps now and then, so that a
    /// PE without work leaves its cores to others. `goes_on`: this is not the first pause of the wait.
    void pause(unsigned /*patience*/ = 0, bool goes_on = false) {
        vain_.pauses = goes_on ? vain_.pauses + 1 : 0;
        if (++pauses_ % 32 == 0) std::this_thread::yield();
        if (vain_.pauses >= pauses_before_clock && vain_.pauses % 16 == 0) nap_after_long();
    }
    void worked() { vain_.pauses = 0; }
    void step() { random_delays::step(); }

private:
    static constexpr unsigned pauses_before_clock = 1024;
    static constexpr std::uint64_t vain_ns_before_naps = 100'000'000;
    static constexpr auto nap = std::chrono::microseconds(500);

    /// What is handed from thread to thread may meet each of them asleep: had they slept sooner, that alone would make
    /// each wait long enough for the next sleep.
    void nap_after_long() {
        const std::uint64_t now = steady_ns();
        if (vain_.pauses == pauses_before_clock) vain_.since_ns = now;
        if (now - vain_.since_ns >= vain_ns_before_naps) std::this_thread::sleep_for(nap);
    }

    const pe_environment& env_;
    int block_;
    int n_blocks_;
    std::byte* shared_;
    lane_rank rank_;
    std::uint64_t deadline_ns_;  ///< of the awake clock
    unsigned pauses_ = 0;
    /// Of the thread: some waits look with a copy of the context, and what is served meanwhile is told to another one.
    static inline constinit thread_local vain_wait vain_{};
};

static_assert(laneway::context<context>);

}  // namespace laneway::cpu
