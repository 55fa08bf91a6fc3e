// Runs that cannot end well: each ends within its deadline and says who waited where for what.
#include <atomic>
#include <limits>
#include <thread>

#include "unit/comm/failing_runs.hpp"

namespace laneway::test {
namespace {

struct refuse_seven {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t message) const {
        if (message == 7) (void)fail(ctx, status::handler_failed, operation::user_code, -1, message);
    }
};

class faults_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] options job(double timeout_seconds = 1) const {
        options o;
        o.devices = GetParam();
        o.timeout_seconds = is_checked(GetParam()) ? 0.02 : timeout_seconds;
        o.chunk_bytes = 16;
        o.ring_slots = 2;
        return o;
    }
};

TEST_P(faults_test, ADeafServerFillsItsRing) {
    options o = job();
    o.fault = injected_fault::deaf_server;
    o.fault_pe = 1;
    const std::string what = failure<timeout_error>(o, post_to{1, 1000}, swallow{});
    contains(what, "PE 0 ");
    contains(what, "deadline passed while waiting for a free ring slot to PE 1: ticket ");
    contains(what, "ring 0->1: 2 of 2 slots in use");
}

/// As it should be: posts, meets the others now and then, and returns at the first failure.
struct post_and_meet {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint32_t i = 1; i <= 64; ++i) {
            if (box.post(ctx, 1, i) != status::ok) return;
            if (i % 8 == 0 && box.barrier(ctx) != status::ok) return;
        }
    }
};

TEST_P(faults_test, LanesThatHearOfTheEndOneAfterTheOtherAreNotBlamed) {
    for (std::uint64_t seed = 1; seed <= (is_checked(GetParam()) ? 20 : 1); ++seed) {
        options o = job();
        o.seed = seed;
        o.fault = injected_fault::deaf_server;
        o.fault_pe = 1;
        const std::string what = failure<timeout_error>(o, post_and_meet{}, swallow{});
        contains(what, "deadline passed while waiting ");
        EXPECT_EQ(what.find("collective"), std::string::npos) << what;
        EXPECT_EQ(what.find("wait for"), std::string::npos) << "seed " << seed << ": " << what;
    }
}

TEST_P(faults_test, ADeafServerWithRoomInItsRingKeepsTheRunFromEnding) {
    options o = job();
    o.ring_slots = 64;
    o.cpu_threads = 1;
    o.fault = injected_fault::deaf_server;
    o.fault_pe = 1;
    const std::string what = failure<timeout_error>(o, post_to{1, 1}, swallow{});
    contains(what, "deadline passed while waiting for all work to be done: ");
    contains(what, "ring 0->1: ");
    contains(what, " of 64 slots in use");
}

TEST_P(faults_test, StuckCreditsFillTheRingThoughMessagesAreServed) {
    options o = job();
    o.fault = injected_fault::stuck_credit;
    o.fault_pe = 1;
    const std::string what = failure<timeout_error>(o, post_to{1, 1000}, swallow{});
    contains(what, "waiting for a free ring slot to PE 1: ticket ");
    contains(what, "ring 0->1: 2 of 2 slots in use");
}

TEST_P(faults_test, AFaultOfAnotherPeIsNone) {
    options o = job();
    o.timeout_seconds = 10;
    o.fault = injected_fault::deaf_server;
    o.fault_pe = 0;  // nobody posts to it
    runtime rt(o);
    EXPECT_NO_THROW(rt.run(post_to{1, 100}, rt.mailbox<std::uint32_t>(swallow{})));
}

TEST_P(faults_test, AHandlersErrorNamesTheServingPeAtOnce) {
    options o = job();
    o.timeout_seconds = never_seconds;
    const std::string what = failure<device_fault>(o, post_to{1, 20, 7}, refuse_seven{});
    contains(what, "PE 1 ");
    contains(what, "the application reported an error while running application code: number 7");
}

TEST_P(faults_test, APostToNoPeIsNamed) {
    const int n_pes = runtime(job()).n_pes();
    for (const int pe : {-1, std::numeric_limits<int>::min(), n_pes, 1 << 30}) {
        const std::string what = failure<device_fault>(job(30), post_to{pe, 1}, swallow{});
        contains(what, "PE 0 ");
        contains(what, "no such PE while posting a message to PE " + std::to_string(pe) + ": the job has " +
                           std::to_string(n_pes) + " PEs");
    }
}

/// quiet towards a PE that does not serve.
struct post_and_wait {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.pe() != 0 || ctx.rank() != 0) return;
        (void)box.post(ctx, 1, 5);
        (void)box.quiet(ctx);
    }
};

TEST_P(faults_test, QuietNamesWhatItWaitedFor) {
    options o = job();
    o.ring_slots = 64;
    o.fault = injected_fault::deaf_server;
    o.fault_pe = 1;
    const std::string what = failure<timeout_error>(o, post_and_wait{}, swallow{});
    contains(what, "deadline passed while waiting for messages to be served by PE 1: ticket 0; the deadline is ");
    contains(what, is_checked(GetParam()) ? "; the deadline is 0.02 s" : "; the deadline is 1 s");
}

TEST_P(faults_test, ARuntimeWorksOnAfterAFault) {
    options o = job();
    o.timeout_seconds = 10;
    runtime rt(o);
    EXPECT_THROW(rt.run(post_to{1, 20, 7}, rt.mailbox<std::uint32_t>(refuse_seven{})), device_fault);
    const auto report = rt.run(post_to{1, 20, 1}, rt.mailbox<std::uint32_t>(refuse_seven{}));
    EXPECT_EQ(report.posted, report.served);
    EXPECT_GT(report.served, 0u);
}

TEST_P(faults_test, TimeoutsMustBePositiveNumbers) {
    for (const double seconds : {0.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
        options o = job();
        o.timeout_seconds = seconds;
        runtime rt(o);
        EXPECT_THROW(rt.run(post_to{1, 1}, rt.mailbox<std::uint32_t>(swallow{})), usage_error);
    }
}

INSTANTIATE_TEST_SUITE_P(devices, faults_test, testing::Values("cpu:2", "cpu:3", "checked:2", "checked:3"), name_of);

/// Posts on, whatever post says: once the run is ending a post must cost no more than a look.
struct heedless {
    std::uint64_t count;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; i < count; ++i) {
            (void)box.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), static_cast<std::uint32_t>(i));
        }
    }
};

TEST(heedless_functor_test, EndsSoonAfterTheFaultAndLeavesTheRuntimeUsable) {
    options o;
    o.devices = "cpu:2";
    o.timeout_seconds = 1;
    o.fault = injected_fault::deaf_server;
    o.fault_pe = 1;
    runtime rt(o);
    for (int run = 0; run < 2; ++run) {
        try {
            rt.run(heedless{4'000'000}, rt.mailbox<std::uint32_t>(swallow{}));
            ADD_FAILURE() << "the run ended as if nothing had happened";
        } catch (const timeout_error& e) {
            contains(e.what(), "waiting for a free ring slot to PE ");  // either: PE 0 stops serving once it has failed
        }
    }
    EXPECT_NO_THROW(rt.run(heedless{0}, rt.mailbox<std::uint32_t>(swallow{})));
}

std::atomic<bool> may_leave{false};
std::atomic<int> kernels_inside{0};

/// Computes on, whatever it is told.
struct deaf_functor {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.pe() != 1) return;
        ++kernels_inside;
        while (!may_leave) std::this_thread::yield();
        --kernels_inside;
    }
};

TEST(abandoned_machine_test, AKernelThatDoesNotEndIsLeftBehindAndTheMachineRefusesFurtherRuns) {
    options o;
    o.devices = "cpu:2";
    o.timeout_seconds = 2;  // in which the kernel must have begun
    {
        runtime rt(o);
        try {
            rt.run(deaf_functor{}, rt.mailbox<std::uint32_t>(swallow{}));
            ADD_FAILURE() << "ended";
        } catch (const timeout_error& e) {
            contains(e.what(), "its kernel did not end");
            contains(e.what(), "PE 1 (cpu:1)");
            contains(e.what(), "waiting for all work to be done");
        }
        EXPECT_EQ(kernels_inside, 1);
        EXPECT_THROW(rt.run(post_to{1, 1}, rt.mailbox<std::uint32_t>(swallow{})), usage_error);
    }
    may_leave = true;  // what the kernel uses is still there although the runtime is gone
    while (kernels_inside != 0) std::this_thread::yield();
}

}  // namespace
}  // namespace laneway::test
