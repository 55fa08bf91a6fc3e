// The seeded scheduler of the checked mode: all lanes of all PEs as fibers of one OS thread.
//
// A lane may lose the processor at every atomic, collective and wait; which lane runs next is drawn from a seeded
// generator, so one seed replays one interleaving, step by step. Time is virtual and counts steps, so deadlines and
// ages replay as well.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/simt/checked/lanes.hpp"
#include "laneway/simt/thrown_log.hpp"

namespace laneway::checked {

class lane_history;

/// Ends a lane of a run that is over.
struct run_over : ends_lane {};

/// The lanes took more steps than a run may: some of them never waited, and so never saw its end.
class out_of_steps : public timeout_error, public run_over {
public:
    explicit out_of_steps(const std::string& what) : timeout_error(what) {}
};

class scheduler {
public:
    /// Lanes of wide warps take shorter steps, as they stand for lanes that run side by side: a deadline then leaves
    /// each as many of its own.
    static constexpr std::uint64_t step_ns = 100 * default_warp_lanes / warp_lanes;

    /// A run that takes more steps than `step_limit` throws out_of_steps.
    explicit scheduler(std::uint64_t seed, std::uint64_t step_limit = 200'000'000);
    ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    /// Adds a lane, or without a history something else that runs among them. Host, before run().
    void add(std::function<void()> lane, const lane_history* history = nullptr);

    /// Runs all lanes to their ends. An exception that leaves a lane ends the others at their next step, by an
    /// exception as well, and is thrown again here. Lanes that do not let it pass are dropped where they stand,
    /// 100,000 steps later or some more. `look` is called now and then on the caller's stack, as a host that watches
    /// would; what it throws ends the lanes in the same way.
    void run(const std::function<void()>& look = {});

    /// From now on the lanes may take `steps` more, at most. Lanes, or `look`.
    void end_within(std::uint64_t steps);

    /// After a run that took too many steps: a lane that had not ended, and what it was in; one that served before
    /// others. Empty: there was none.
    [[nodiscard]] const std::string& endless_lane() const { return endless_lane_; }

    /// A place where the running lane may be switched away. Called by lanes.
    void step();

    /// A place where the running lane waits for others: always switches, if there is another lane.
    void yield();

    /// True with probability 1 / n, from the seeded generator.
    bool one_in(std::uint64_t n);

    /// Virtual time: every step takes step_ns.
    [[nodiscard]] std::uint64_t now_ns() const { return steps_ * step_ns; }

private:
    struct fiber;
    struct machinery;

    std::uint64_t next_random();
    void count_step();
    void end_lane();
    void note_endless();
    [[noreturn]] void leave(fiber& self);
    [[nodiscard]] out_of_steps too_many_steps() const;
    void step_aside();
    void look_from_host();
    void switch_to(std::size_t index);
    static void lane_main();

    std::uint64_t state_;
    std::uint64_t switch_period_;
    std::uint64_t steps_ = 0;
    std::uint64_t step_limit_;
    std::uint64_t ended_at_ = 0;  ///< steps when the first lane was left by an exception
    std::string endless_lane_;
    bool endless_serves_ = false;
    std::function<void()> look_;
    std::unique_ptr<machinery> machinery_;
};

}  // namespace laneway::checked
