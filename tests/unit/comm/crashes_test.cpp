// A lane of a checked device that crashes says who it was and what it ran into, in one line, before the process ends.
#include <csignal>

#include "unit/comm/failing_runs.hpp"

namespace laneway::test {
namespace {

enum class crash { none, deep_stack, null, behind_array, far_away };

/// A frame too large for its stack in so many calls.
template <class Ctx>
[[gnu::noinline]] int deep(Ctx& ctx, int calls) {
    volatile char room[1024];
    room[0] = static_cast<char>(calls);
    room[1023] = static_cast<char>(ctx.lane());
    const int below = calls == 0 ? 0 : deep(ctx, calls - 1);
    return below + room[0] + room[1023];
}

struct crash_in {
    crash how;
    symmetric_ref<std::uint64_t> table;
    symmetric_ref<std::uint64_t> sums;

    template <class Ctx, class Box>
    void operator()(Ctx& ctx, Box&) const {
        if (ctx.pe() != 1 || !is_lane_of_every_other_warp(ctx, 2)) return;
        std::uint64_t* const words = table.local(ctx);
        volatile std::uint64_t* word = words;
        switch (how) {
            case crash::none: *lw::local(ctx, sums[0]) = static_cast<std::uint64_t>(deep(ctx, 40)); return;
            case crash::deep_stack: *lw::local(ctx, sums[0]) = static_cast<std::uint64_t>(deep(ctx, 4000)); return;
            case crash::null: word = nullptr; break;
            case crash::behind_array: word = words + table.size() + 32; break;
            case crash::far_away: word = reinterpret_cast<std::uint64_t*>(std::uintptr_t{1} << 46); break;
        }
        *word = 1;
    }
};

void run_and_crash(crash how) {
    options o;
    o.devices = "checked:2";
    runtime rt(o);
    const auto table = rt.allocate<std::uint64_t>(512);
    const auto sums = rt.allocate<std::uint64_t>(1);
    rt.run(crash_in{how, table.ref(), sums.ref()}, rt.mailbox<std::uint32_t>(swallow{}));
}

constexpr const char* lane = "laneway: PE 1 .checked:1. block . warp . lane 2: ";

TEST(crashes_test, AStackThatOverflowsIsNamed) {
    EXPECT_NO_THROW(run_and_crash(crash::none));
    EXPECT_DEATH(run_and_crash(crash::deep_stack), std::string(lane) + "its stack has overflowed");
}

TEST(crashes_test, NullIsNamed) {
    EXPECT_DEATH(run_and_crash(crash::null), std::string(lane) + "an access through a null pointer");
}

#if !defined(__SANITIZE_ADDRESS__)  // which tells of it itself
TEST(crashes_test, APlainPointerThatRunsBehindAnArrayStopsAndTheArrayIsNamed) {
    EXPECT_DEATH(run_and_crash(crash::behind_array), std::string(lane) +
                                                         "an access 256 bytes behind the end of symmetric array 0 "
                                                         ".counted from 0 as allocated. on PE 1, which has 4096 bytes");
}
#endif

TEST(crashes_test, OtherAccessesNameTheLane) {
    EXPECT_DEATH(run_and_crash(crash::far_away), std::string(lane) + "an access to memory that is not there");
}

TEST(crashes_test, WhatTheProgramDoesOfItselfIsLeftAlone) {
    struct sigaction before {
    }, after{};
    sigaction(SIGSEGV, nullptr, &before);
    EXPECT_NO_THROW(run_and_crash(crash::none));
    sigaction(SIGSEGV, nullptr, &after);
    EXPECT_EQ(before.sa_handler, after.sa_handler);
    stack_t stack{};
    sigaltstack(nullptr, &stack);
    EXPECT_NE(stack.ss_flags & SS_DISABLE, 0);
}

}  // namespace
}  // namespace laneway::test
