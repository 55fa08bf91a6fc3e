// Errors of a GPU under a run and a session. In processes of their own: behind them no call of CUDA succeeds in a
// process.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "component_job.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

constexpr int has_told = 3;

/// An address at which no GPU has memory; 0: none.
struct reached_address {
    std::uint64_t value;
};
struct store_or_count {
    symmetric_ref<std::uint64_t> counted;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const reached_address& m) const {
        if (m.value == 0) {
            atomic_add(ctx, counted[0], 1);
        } else {
            *reinterpret_cast<volatile std::uint64_t*>(m.value) = 1;
        }
    }
};
constexpr std::uint64_t no_memory = 64;

/// The last PE has an error when all have begun for certain; lanes of the others post until the run ends.
struct fail_beside_busy_ones {
    static constexpr std::uint64_t before_ns = 20'000'000, busy_ns = 20'000'000'000;
    bool fails;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const std::uint64_t begin = ctx.now_ns();
        if (ctx.pe() + 1 == ctx.n_pes()) {
            if (ctx.rank() + 1 != ctx.size()) return;
            while (ctx.now_ns() - begin < before_ns) {
            }
            if (fails) *reinterpret_cast<volatile std::uint64_t*>(no_memory) = 1;
            return;
        }
        while (ctx.now_ns() - begin < (fails ? busy_ns : before_ns)) {
            if (box.post(ctx, ctx.pe(), reached_address{0}) != status::ok) return;
        }
    }
};

/// Writes what the run throws, and whether it was within 100 ms of the error.
[[noreturn]] void tell_of_the_other_gpu() {
    runtime rt(options_of("cuda", 0));
    const auto counted = rt.allocate<std::uint64_t>(1);
    const auto box = rt.mailbox<reached_address>(store_or_count{counted.ref()});
    rt.run(fail_beside_busy_ones{false}, box);  // so that the program has been loaded
    const auto begin = std::chrono::steady_clock::now();
    const std::string text = thrown<error>([&] { rt.run(fail_beside_busy_ones{true}, box); });
    const auto took = std::chrono::steady_clock::now() - begin;
    const bool soon =
        took < std::chrono::nanoseconds(fail_beside_busy_ones::before_ns) + std::chrono::milliseconds(100);
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
    std::fprintf(stderr, "%s, %lld ms: %s\n", soon ? "soon" : "late", static_cast<long long>(ms), text.c_str());
    std::_Exit(has_told);
}

/// Writes what each call of a session says behind the error, or that all is well where there is none.
[[noreturn]] void tell_of_a_session(std::uint64_t address) {
    runtime rt(options_of("cuda:0", 0));
    const auto counted = rt.allocate<std::uint64_t>(1);
    auto session = rt.start(rt.mailbox<reached_address>(store_or_count{counted.ref()}));
    session.post(0, reached_address{address});
    if (address == 0) {
        session.quiesce();
        session.stop();
        std::fprintf(stderr, "counted %d\n", static_cast<int>(counted.copy_out(0)[0]));
        std::_Exit(has_told);
    }
    const std::string text = thrown<error>([&] { session.quiesce(); });
    bool same = thrown<error>([&] { session.post(0, reached_address{0}); }) == text;
    same = thrown<error>([&] { session.quiesce(); }) == text && same;
    same = thrown<error>([&] { session.stop(); }) == text && same;
    std::fprintf(stderr, "%s: %s\n", same ? "all say" : "they differ", text.c_str());
    std::_Exit(has_told);
}

class cuda_faults_test : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }  // a process that has not opened CUDA
};

TEST_P(cuda_faults_test, AnErrorOfOneGpuIsToldWhileOthersAreBusy) {
    if (GetParam() != "cuda") GTEST_SKIP() << "one GPU";
    EXPECT_EXIT(tell_of_the_other_gpu(), testing::ExitedWithCode(has_told),
                "soon, .*cuda:[1-9][0-9]*: an illegal memory access was encountered");
}

TEST_P(cuda_faults_test, ASessionSaysSoAtEachCallAndAnotherProcessHasANewOne) {
    if (GetParam() != "cuda:0") GTEST_SKIP() << "once";
    EXPECT_EXIT(tell_of_a_session(no_memory), testing::ExitedWithCode(has_told),
                "all say: .*cuda:0: an illegal memory access was encountered");
    EXPECT_EXIT(tell_of_a_session(0), testing::ExitedWithCode(has_told), "counted 1");
}

LANEWAY_ON_DEVICES(cuda_faults_test, device_lists());

}  // namespace
}  // namespace laneway::test
