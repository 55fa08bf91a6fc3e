// Runs that cannot end well: each ends within its deadline and says who waited where for what.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

struct swallow {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint32_t) const {}
};

struct refuse_seven {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t message) const {
        if (message == 7) (void)fail(ctx, status::handler_failed, operation::user_code, -1, message);
    }
};

/// Every lane posts `count` messages to `pe`, the last of them `message`.
struct post_to {
    int pe;
    std::uint32_t count;
    std::uint32_t message = 0;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.pe() != 0) return;
        for (std::uint32_t i = 1; i <= count; ++i) {
            if (box.post(ctx, pe, i == count ? message : 0) != status::ok) return;
        }
    }
};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What the run throws, after a check that it ends in time.
template <class Error, class Functor, class Handler>
std::string failure(const options& o, const Functor& functor, const Handler& handler) {
    runtime rt(o);
    const auto start = std::chrono::steady_clock::now();
    std::string what;
    try {
        rt.run(functor, rt.mailbox<std::uint32_t>(handler));
        ADD_FAILURE() << "the run ended as if nothing had happened";
    } catch (const Error& e) {
        what = e.what();
    }
    // The checked mode's deadline is virtual; the other ends at most an eighth and a second of grace late.
    if (!is_checked(o.devices)) {
        EXPECT_LT(seconds_since(start), o.timeout_seconds * 1.125 + 1.5);
    }
    EXPECT_EQ(what.find('\n'), std::string::npos);
    EXPECT_EQ(what.rfind("PE ", 0), 0u) << what;
    for (const char* word : {" block ", " warp ", " lane "}) EXPECT_NE(what.find(word), std::string::npos) << what;
    return what;
}

void contains(const std::string& text, const std::string& part) {
    if (text.find(part) == std::string::npos) ADD_FAILURE() << "\"" << text << "\" does not say \"" << part << "\"";
}

class faults_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] options job(double timeout_seconds = 0.2) const {
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
    options o = job(30);
    o.timeout_seconds = 30;  // in the checked mode as well: nobody may wait for the deadline
    const auto start = std::chrono::steady_clock::now();
    const std::string what = failure<device_fault>(o, post_to{1, 20, 7}, refuse_seven{});
    EXPECT_LT(seconds_since(start), 5);
    contains(what, "PE 1 ");
    contains(what, "handler reported an error while running application code: number 7");
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
    contains(failure<timeout_error>(o, post_and_wait{}, swallow{}),
             "deadline passed while waiting for messages to be served by PE 1: ticket 0; the deadline is 0.");
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

struct thrower {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.pe() == ctx.n_pes() - 1 && ctx.rank() == ctx.size() - 1) throw std::runtime_error("from the functor");
    }
};

TEST_P(faults_test, AFunctorsExceptionComesOutAtOnce) {
    options o = job(30);
    runtime rt(o);
    const auto start = std::chrono::steady_clock::now();
    try {
        rt.run(thrower{}, rt.mailbox<std::uint32_t>(swallow{}));
        FAIL() << "the exception was lost";
    } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "from the functor");
    }
    EXPECT_LT(seconds_since(start), 5);
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
    o.timeout_seconds = 0.5;
    o.fault = injected_fault::deaf_server;
    o.fault_pe = 1;
    runtime rt(o);
    for (int run = 0; run < 2; ++run) {
        const auto start = std::chrono::steady_clock::now();
        try {
            rt.run(heedless{20'000'000}, rt.mailbox<std::uint32_t>(swallow{}));
            ADD_FAILURE() << "the run ended as if nothing had happened";
        } catch (const timeout_error& e) {
            contains(e.what(), "waiting for a free ring slot to PE ");  // either: PE 0 stops serving once it has failed
        }
        EXPECT_LT(seconds_since(start), o.timeout_seconds + 2);
    }
    EXPECT_NO_THROW(rt.run(heedless{0}, rt.mailbox<std::uint32_t>(swallow{})));
}

/// Calls one member again and again until it fails; there is never anything to wait for.
enum class idle_call { quiet, flush, drain, fence, barrier, flush_old, run_dry, advance, help, get, put, add, post };
struct call_for_ever {
    idle_call what;
    symmetric_ref<std::uint64_t> word;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        while (call(ctx, box) == status::ok) {
        }
    }

private:
    template <class Ctx, class Box>
    LANEWAY_FN status call(Ctx& ctx, Box& box) const {
        one_sided remote(ctx, box);
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        switch (what) {
            case idle_call::quiet: return box.quiet(ctx);
            case idle_call::flush: return box.flush(ctx);
            case idle_call::drain: return box.drain(ctx);
            case idle_call::fence: return remote.fence();
            case idle_call::barrier: return box.barrier(ctx);
            case idle_call::flush_old: return box.flush_old(ctx);
            case idle_call::run_dry: return box.run_dry(ctx);
            case idle_call::advance: return box.advance(ctx);
            case idle_call::help: return box.help(ctx, ctx.converged());
            case idle_call::get: return remote.get(word[0], next).code;
            case idle_call::put: return remote.put(word[0], next, 1);
            case idle_call::add: return remote.add(word[0], next, 1);
            default: return box.post(ctx, next, std::uint32_t{1});
        }
    }
};

class idle_calls_test : public testing::TestWithParam<std::string> {};

TEST_P(idle_calls_test, LoopsThatFindNothingToWaitForEndAtTheDeadline) {
    options o;
    o.devices = GetParam();
    o.timeout_seconds = is_checked(GetParam()) ? 0.01 : 0.1;
    o.cpu_threads = 2;
    runtime rt(o);
    const auto word = rt.allocate<std::uint64_t>(1);
    const auto mailbox = rt.one_sided<std::uint32_t>(swallow{});
    // Where other warps look after the PE, what is direct looks at nothing but the word.
    const auto last = is_checked(GetParam()) ? idle_call::barrier : idle_call::post;
    for (int what = 0; what <= static_cast<int>(last); ++what) {
        const auto start = std::chrono::steady_clock::now();
        try {
            rt.run(call_for_ever{static_cast<idle_call>(what), word.ref()}, mailbox);
            ADD_FAILURE() << "the run ended as if nothing had happened";
        } catch (const timeout_error& e) {
            contains(e.what(), "deadline passed while waiting");
        } catch (const usage_error& e) {
            FAIL() << "call " << what - 1 << " left the machine unusable: " << e.what();
        }
        if (!is_checked(o.devices)) {
            EXPECT_LT(seconds_since(start), o.timeout_seconds * 1.125 + 0.9) << "call " << what;
        }
    }
    EXPECT_NO_THROW(rt.run(post_to{0, 1}, mailbox));
}

INSTANTIATE_TEST_SUITE_P(devices, idle_calls_test, testing::Values("cpu:1", "cpu:2", "cpu:4", "checked:1", "checked:2"),
                         name_of);

std::atomic<bool> let_go{false};
std::atomic<int> held{0};

/// Computes on, whatever it is told.
struct deaf_functor {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.pe() != 1) return;
        ++held;
        while (!let_go) std::this_thread::yield();
        --held;
    }
};

TEST(abandoned_machine_test, AKernelThatDoesNotEndIsLeftBehindAndTheMachineRefusesFurtherRuns) {
    options o;
    o.devices = "cpu:2";
    o.timeout_seconds = 0.1;
    {
        runtime rt(o);
        const auto start = std::chrono::steady_clock::now();
        try {
            rt.run(deaf_functor{}, rt.mailbox<std::uint32_t>(swallow{}));
            ADD_FAILURE() << "ended";
        } catch (const timeout_error& e) {
            contains(e.what(), "its kernel did not end");
            contains(e.what(), "PE 1 (cpu:1)");
            contains(e.what(), "waiting for all work to be done");
        }
        EXPECT_LT(seconds_since(start), 0.1 * 1.125 + 2.5);
        EXPECT_THROW(rt.run(post_to{1, 1}, rt.mailbox<std::uint32_t>(swallow{})), usage_error);
    }
    let_go = true;  // what the kernel uses is still there although the runtime is gone
    while (held != 0) std::this_thread::yield();
}

std::function<void()> use_runtime;
/// Lane 0 uses the runtime that it runs on.
struct use_in_functor {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.rank() == 0) use_runtime();
    }
};
struct call_host {
    host_calls_ref<std::uint32_t, std::uint32_t> calls;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.rank() == 0) (void)calls.call(ctx, 1);
    }
};

class nested_use_test : public testing::TestWithParam<std::string> {};

TEST_P(nested_use_test, ARuntimeIsNotUsedFromItsOwnRun) {
    options o;
    o.devices = GetParam();
    o.timeout_seconds = 5;
    runtime rt(o);
    auto words = rt.allocate<std::uint64_t>(8);
    const auto mailbox = rt.mailbox<std::uint32_t>(swallow{});
    const auto calls = rt.host_calls<std::uint32_t, std::uint32_t>("again", [](std::uint32_t x) {
        use_runtime();
        return x;
    });
    const std::vector<std::function<void()>> uses{
        [&] {
            rt.run(post_to{0, 1}, mailbox);
        },
        [&] { (void)rt.allocate<std::uint64_t>(1); },
        [&] { (void)rt.one_sided<std::uint32_t>(swallow{}); },
        [&] { (void)rt.host_calls<std::uint32_t>("new", [](std::uint32_t) {}); },
        [&] { words.clear(); },
        [&] { words.copy_in(0, std::vector<std::uint64_t>(8)); },
        [&] { (void)words.copy_out(0); },
    };
    for (const auto& use : uses) {
        use_runtime = use;
        try {
            rt.run(use_in_functor{}, mailbox);
            ADD_FAILURE() << "accepted from a functor";
        } catch (const usage_error& e) {
            contains(e.what(), "a run goes on");
        }
        try {
            rt.run(call_host{calls.ref()}, mailbox);
            ADD_FAILURE() << "accepted from a host function";
        } catch (const host_call_error& e) {
            contains(e.what(), "host calls 'again': ");
            contains(e.what(), "a run goes on");
        }
        EXPECT_NO_THROW(rt.run(post_to{0, 3}, mailbox));
        EXPECT_EQ(words.copy_out(0), std::vector<std::uint64_t>(8));
    }
    use_runtime = [] {
        options other;
        other.devices = "cpu:1";
        runtime own(other);
        own.run(post_to{0, 1}, own.mailbox<std::uint32_t>(swallow{}));
    };
    EXPECT_NO_THROW(rt.run(call_host{calls.ref()}, mailbox)) << "other devices are free";
    use_runtime = {};
}

INSTANTIATE_TEST_SUITE_P(devices, nested_use_test, testing::Values("cpu:1", "cpu:2", "checked:2"), name_of);

/// Polls for ever by loads that say nothing of the end of the run.
struct deaf_lane {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        while (ctx.load(ctx.environment().host_stop, order::relaxed, scope::system) < 2) {
        }
    }
};

/// Lane 1 of PE 1 does not do what the others do together.
struct missing_mate {
    enum { computes, waits, leaves, fails } how;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.pe() == 1 && ctx.lane() == 1 && ctx.rank() % 8 == 1) {
            if (how == leaves) return;
            if (how == fails) (void)fail(ctx, status::handler_failed, operation::user_code, -1, 77);
            if (how == computes) deaf_lane{}(ctx, box);
            if (how == waits) (void)wait_until(ctx, {operation::user_code, -1, 5}, [] { return false; });
            return;
        }
        (void)box.barrier(ctx);
    }
};

TEST(checked_mode_test, ALaneThatIsMissingAtABarrierIsNamed) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        options o;
        o.devices = "checked:2";
        o.seed = seed;
        o.timeout_seconds = 0.02;
        runtime rt(o);
        const auto mailbox = rt.mailbox<std::uint32_t>(swallow{});
        // Its mates wait for it in the barrier, or it meets them where functors end.
        const std::string what = failure<timeout_error>(o, missing_mate{missing_mate::computes}, swallow{});
        contains(what, "deadline passed while ");
        contains(what, "; PE 1 block 1 warp 0: lanes 0, 2, 3 wait for lane 1 in sync of barrier (box.hpp:");
        contains(failure<timeout_error>(o, missing_mate{missing_mate::waits}, swallow{}),
                 "; PE 1 block 1 warp 0: lanes of one mask are in different collectives: sync of barrier (box.hpp:");
        try {
            rt.run(missing_mate{missing_mate::leaves}, mailbox);
            ADD_FAILURE() << "met, seed " << seed;
        } catch (const usage_error& e) {
            contains(e.what(), "PE 1 block 1 warp 0: lanes of one mask are in different collectives: ");
            contains(e.what(), "sync of barrier (box.hpp:");
            contains(e.what(), "sync of operator() (mailbox.hpp:");
        }
        // A fault that a device reports comes first.
        contains(failure<device_fault>(o, missing_mate{missing_mate::fails}, swallow{}),
                 "handler reported an error while running application code");
        EXPECT_NO_THROW(rt.run(post_to{1, 1}, mailbox)) << "seed " << seed;
    }
}

/// Lane 1 has no part in a post by rendezvous of its warp, or of one of a block's two working warps.
struct take_all {
    using element = std::uint32_t;
    static constexpr bool places = true;
    symmetric_ref<std::uint32_t> room;

    template <class Ctx>
    LANEWAY_FN symmetric_ptr<std::uint32_t> place(Ctx&, std::uint32_t, std::uint64_t) const {
        return room[0];
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint32_t, elements<const std::uint32_t>) const {}
};
struct lone_post {
    width lanes;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (lanes == width::warp && ctx.rank() % 8 == 1) {
            deaf_lane{}(ctx, box);
            return;
        }
        if (lanes == width::block && box.team().index == 0) return;
        const std::uint32_t data[64] = {};
        (void)box.post(ctx, lanes, (ctx.pe() + 1) % ctx.n_pes(), std::uint32_t{1}, data, 64);
    }
};

/// A large post of the block; without `all`, of one warp of it.
struct led_post {
    bool all;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (!all && box.team().index == 1) return;
        const std::uint32_t data[64] = {};
        (void)box.post(ctx, width::block, (ctx.pe() + 1) % ctx.n_pes(), std::uint32_t{1}, data, 64);
    }
};

TEST(checked_mode_test, ALaneOrWarpThatIsMissingAtALargePostIsNamed) {
    options o;
    o.devices = "checked:2";
    o.timeout_seconds = 0.02;
    o.chunk_bytes = 64;
    o.checked_warps = 3;
    runtime rt(o);
    const auto room = rt.allocate<std::uint32_t>(64);
    const auto mailbox = rt.mailbox<std::uint32_t>(take_all{room.ref()});
    try {
        rt.run(lone_post{width::warp}, mailbox);
        ADD_FAILURE() << "sent";
    } catch (const timeout_error& e) {
        contains(e.what(), "lanes 0, 2, 3 wait for lane 1 in shuffle of send_together (rendezvous.hpp:");
    }
    try {
        rt.run(lone_post{width::block}, mailbox);
        ADD_FAILURE() << "sent";
    } catch (const timeout_error& e) {
        contains(e.what(), "warp 1 lane 0: deadline passed while finding a place for a large message");
    }
    // The first warp asks and stores its part; nobody waits for the other.
    for (const bool all : {true, false}) {
        try {
            rt.run(led_post{all}, mailbox);
            EXPECT_TRUE(all) << "a message was lost";
        } catch (const device_fault& e) {
            EXPECT_FALSE(all);
            contains(e.what(), "not every working warp of the block took part in a post of all while finding a place");
            contains(e.what(), ": 1 of 2 working warps came");
        }
    }
}

TEST(checked_mode_test, ARunThatTakesTooManyStepsTellsWhatItsDevicesReported) {
    options o;
    o.devices = "checked:1";
    o.timeout_seconds = 0.01;
    contains(failure<timeout_error>(o, deaf_lane{}, swallow{}),
             "deadline passed while waiting for all work to be done");
    // Whoever takes the last step: a host thread, mostly, where it has many turns and lanes are few.
    for (o.seed = 1; o.seed <= 20; ++o.seed) {
        o.host_threads = 8;
        runtime rt(o);
        const auto calls = rt.host_calls<std::uint32_t>("idle", [](std::uint32_t) {});
        try {
            rt.run(deaf_lane{}, rt.mailbox<std::uint32_t>(swallow{}));
            ADD_FAILURE() << "ended";
        } catch (const timeout_error& e) {
            contains(e.what(), "deadline passed while waiting for all work to be done");
        }
    }
}

}  // namespace
}  // namespace laneway::test
