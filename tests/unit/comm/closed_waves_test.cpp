// The rule where served work creates none: one look that finds nobody busy concludes, any other does not.
#include <gtest/gtest.h>

#include "laneway/comm/waves.hpp"
#include "unit/warp_threads.hpp"

namespace laneway {
namespace {

/// Tells what a script says, look by look.
struct scripted_ledger {
    static constexpr bool closed = true;
    std::vector<wave_reply>& script;
    std::size_t& looks;

    bool at_rest(cpu::context&) const { return true; }
    wave_reply look(cpu::context&) {
        ++looks;
        const wave_reply next = script.front();
        if (script.size() > 1) script.erase(script.begin());
        return next;
    }
    void apply(cpu::context&, std::uint64_t) {}
};

constexpr std::size_t office_words = proven_words<wave_reply>;

/// What one PE alone concludes from a script: whether the run was ended, and after how many looks.
struct conclusions {
    std::size_t looks = 0;
    std::uint32_t finished = 0;

    explicit conclusions(std::vector<wave_reply> script) {
        const test::lone_environment environment(0, 1, 10);
        cpu::context lane(environment.get(), 0, 1, nullptr);
        const std::uint64_t words[office_words] = {};  // of other PEs, of which there are none
        const std::uint64_t* const reply = words;
        waves_ref waves;
        waves.replies = &reply;
        waves.command = words;
        waves.finished = &finished;
        const std::size_t turns = 2 * script.size() + 2;
        wave_control<cpu::context, scripted_ledger> control(lane, waves, {script, looks});
        for (std::size_t i = 0; i < turns && finished == 0; ++i) control.turn(lane);
    }
};

TEST(closed_waves_test, OneLookThatFindsNobodyBusyAndAllServedEndsTheRun) {
    //                    created, completed, deferred, busy
    const conclusions found({{6, 3, 0, 1}, {6, 5, 0, 0}, {6, 6, 0, 0}, {6, 6, 0, 0}});
    EXPECT_EQ(found.finished, 1u);
    EXPECT_EQ(found.looks, 3u);
}

TEST(closed_waves_test, EqualSumsOfABusyPeMeanNothing) {
    const conclusions found({{5, 3, 0, 1}, {5, 5, 0, 1}, {9, 8, 0, 0}});
    EXPECT_EQ(found.finished, 0u);
}

}  // namespace
}  // namespace laneway
