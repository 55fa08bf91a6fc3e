// When threads that wait sleep: late, and not where they do something meanwhile.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <vector>

#include "laneway/simt/wait.hpp"
#include "unit/warp_threads.hpp"

namespace laneway::test {
namespace {

/// How often this thread has slept.
long naps() {
    rusage used{};
    EXPECT_EQ(getrusage(RUSAGE_THREAD, &used), 0);
    return used.ru_nvcsw;
}

class cpu_context_test : public testing::Test {
protected:
    void SetUp() override {
        if (LANEWAY_DELAYS != 0) GTEST_SKIP() << "counts sleeps, and lanes of this build have others";
    }

    static constexpr long few = 20;  ///< what the system has a thread wait for

    /// Calls `once()` for so long.
    template <class Once>
    long naps_in(std::uint64_t milliseconds, Once&& once) {
        const long before = naps();
        for (const std::uint64_t end = cpu::steady_ns() + milliseconds * 1'000'000; cpu::steady_ns() < end;) once();
        return naps() - before;
    }

    lone_environment of_pe{0, 1, 60.0};
    cpu::context ctx{of_pe.get(), 0, 1, nullptr};
};

TEST_F(cpu_context_test, LongWaitsSleep) {
    bounded_spin spin;
    const auto look = [&] { EXPECT_EQ(spin.next(ctx, {operation::barrier}), status::ok); };
    EXPECT_LT(naps_in(50, look), few);
    const long before = naps();
    for (const std::uint64_t end = cpu::steady_ns() + 30'000'000'000; naps() <= before + few;) {
        ASSERT_LT(cpu::steady_ns(), end);
        look();
    }
}

TEST_F(cpu_context_test, ManyShortWaitsDoNot) {
    EXPECT_LT(naps_in(400,
                      [&] {
                          bounded_spin spin;
                          for (int looks = 0; looks < 500; ++looks) (void)spin.next(ctx, {operation::barrier});
                      }),
              few);
}

TEST_F(cpu_context_test, WaitsInWhichSomethingIsDoneDoNotAlsoOnCopies) {
    cpu::context copy(ctx);
    for (cpu::context* const waits : {&ctx, &copy}) {
        bounded_spin spin;
        int looks = 0;
        EXPECT_LT(naps_in(400,
                          [&] {
                              (void)spin.next(*waits, {operation::barrier});
                              if (++looks % 1000 == 0) ctx.worked();
                          }),
                  few);
    }
}

TEST_F(cpu_context_test, LoopsOfAProgramThatPauseDoNot) {
    EXPECT_LT(naps_in(400, [&] { ctx.pause(); }), few);
}

TEST_F(cpu_context_test, ATimelineChangesNothing) {
    std::vector<timeline_wait> waits(4);
    pe_timeline log;
    log.waits = waits.data();
    log.max_waits = 4;
    pe_environment logged = of_pe.get();
    logged.timeline = &log;
    cpu::context noting(logged, 0, 1, nullptr);
    bounded_spin spin;
    EXPECT_LT(naps_in(50, [&] { (void)spin.next(noting, {operation::barrier}); }), few);
    EXPECT_EQ(log.n_waits, 1u);
}

}  // namespace
}  // namespace laneway::test
