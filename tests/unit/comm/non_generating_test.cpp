// The rule where served work creates none: one look that finds no PE active concludes, any other does not.
#include <gtest/gtest.h>

#include "laneway/comm/termination.hpp"
#include "unit/warp_threads.hpp"

namespace laneway {
namespace {

/// Tells what a script says, look by look.
struct scripted_counters {
    static constexpr bool non_generating = true;
    std::vector<termination_reply>& script;
    std::size_t& looks;

    bool is_passive(cpu::context&) const { return true; }
    termination_reply look(cpu::context&) {
        ++looks;
        const termination_reply next = script.front();
        if (script.size() > 1) script.erase(script.begin());
        return next;
    }
    void apply(cpu::context&, std::uint64_t) {}
};

/// What one PE alone concludes from a script: whether the run was ended, and after how many looks.
struct conclusions {
    std::size_t looks = 0;
    std::uint32_t finished = 0;

    explicit conclusions(std::vector<termination_reply> script) {
        const test::lone_environment environment(0, 1, 10);
        cpu::context lane(environment.get(), 0, 1, nullptr);
        termination_ref termination;
        termination.finished = &finished;
        termination_outcome outcome;
        termination.outcome = &outcome;
        const std::size_t turns = 2 * script.size() + 2;
        termination_detector<cpu::context, scripted_counters> control(lane, termination, {script, looks});
        for (std::size_t i = 0; i < turns && finished == 0; ++i) control.turn(lane);
    }
};

TEST(non_generating_test, OneLookThatFindsNobodyActiveAndAllServedEndsTheRun) {
    //                    created, completed, deferred, active
    const conclusions found({{6, 3, 0, 1}, {6, 5, 0, 0}, {6, 6, 0, 0}, {6, 6, 0, 0}});
    EXPECT_EQ(found.finished, 1u);
    EXPECT_EQ(found.looks, 3u);
}

TEST(non_generating_test, EqualSumsOfAnActivePeMeanNothing) {
    const conclusions found({{5, 3, 0, 1}, {5, 5, 0, 1}, {9, 8, 0, 0}});
    EXPECT_EQ(found.finished, 0u);
}

}  // namespace
}  // namespace laneway
