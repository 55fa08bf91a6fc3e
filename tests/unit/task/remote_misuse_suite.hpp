// Remote queues asked for what cannot be, or what never ends: errors name the index and the PE.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "laneway/base/interruption.hpp"
#include "laneway/base/wait_limit.hpp"
#include "remote_job.hpp"

namespace laneway::test {
namespace {

class remote_misuse_test : public testing::TestWithParam<std::string> {
protected:
    /// `seconds`: so many that one PE's wait is told before another hears that nothing goes on, also on busy cores.
    [[nodiscard]] options job(double seconds = 3) const {
        options o = options_of(GetParam(), 0);
        o.timeout_seconds = is_checked(GetParam()) ? 0.02 : seconds;
        return o;
    }
    /// For sessions, whose deadlines are those of host threads, also on checked devices.
    [[nodiscard]] options session_job() const {
        options o = job();
        o.timeout_seconds = 30;
        return o;
    }
    static std::string last_of(const runtime& rt) { return std::to_string(rt.n_pes() - 1); }
};

/// What one lane of PE 0 does wrong; for `never`, of each PE.
enum class wrong : std::uint32_t { pe, queue, signal, signal_pe, buffer, range, type, kernel, waited, never };

struct ignored_call {
    using arguments = no_arguments;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const arguments&) const {}
};

struct do_wrong {
    wrong what;
    symmetric_ref<std::uint32_t> words;
    symmetric_ref<std::uint64_t> doubles;

    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (is_first_lane(ctx) && (ctx.pe() == 0 || what == wrong::never)) (void)act(ctx, remote);  // it ends the run
    }

private:
    template <class Ctx, class Remote>
    LANEWAY_FN status act(Ctx& ctx, Remote& remote) const {
        const int last = ctx.n_pes() - 1;
        const auto row = [&](std::uint64_t count, std::uint32_t buffer) {
            return remote_payload::of(words, 0, count, buffer, 4);
        };
        switch (what) {
            case wrong::pe: return remote.post(ctx, ctx.n_pes() + 4, task<ignored_call>, {});
            case wrong::queue: return remote.post(ctx, last, task<ignored_call>, {}, {2, {}});
            case wrong::signal: return remote.post(ctx, last, task<ignored_call>, {}, {0, {last, 9, 1}});
            case wrong::signal_pe: return remote.post(ctx, last, task<ignored_call>, {}, {0, {77, 0, 1}});
            case wrong::buffer: return remote.post(ctx, last, task<ignored_call>, {}, row(1, 3));
            case wrong::range: return remote.post(ctx, last, task<ignored_call>, {}, row(13, 0));
            case wrong::type:
                return remote.post(ctx, last, task<ignored_call>, {}, remote_payload::of(doubles, 0, 1, 0));
            case wrong::kernel: return remote.launch(ctx, last, 1, {});
            case wrong::waited: return remote.wait_signal(ctx, 5, 1);
            default: return remote.wait_signal(ctx, 0, 4);
        }
    }
};

TEST_P(remote_misuse_test, WhatLanesNameMustExist) {
    runtime rt(job());
    const auto words = rt.allocate<std::uint32_t>(16), target = rt.allocate<std::uint32_t>(16);
    const auto doubles = rt.allocate<std::uint64_t>(2), told = rt.allocate<std::uint64_t>(1);
    remote_queue remote(rt.machine(), {.priorities = {0, 1}}, ignored_call{});
    (void)remote.buffer(target);
    (void)remote.signal(told, 0);
    (void)remote.kernel("only", [](const launch_request&) {});
    const std::string last = last_of(rt), pes = std::to_string(rt.n_pes());
    const auto told_of = [&](wrong what) {
        return thrown<device_fault>([&] { rt.run(do_wrong{what, words.ref(), doubles.ref()}, remote); });
    };
    says(told_of(wrong::pe), "no such PE while posting to a remote queue of PE " + std::to_string(rt.n_pes() + 4));
    says(told_of(wrong::queue),
         "no such index while posting to a remote queue of PE " + last + ": queue 2, where there are 0 to 1");
    says(told_of(wrong::signal),
         "no such index while raising a completion signal of PE " + last + ": signal 9, where there are 0 to 0");
    says(told_of(wrong::signal_pe), "no such PE while raising a completion signal of PE 77");
    says(told_of(wrong::buffer), "no such index while storing the payload of a command on PE " + last +
                                     ": target buffer 3, where there are 0 to 0");
    const std::string range =
        "elements that do not exist, have been freed, or are out of reach while storing the "
        "payload of a command on PE " +
        last + ": target buffer 0";
    says(told_of(wrong::range), range);
    says(told_of(wrong::type), range);
    says(told_of(wrong::kernel),
         "no such index while having a kernel launched on PE " + last + ": kernel 1, where there are 0 to 0");
    says(told_of(wrong::waited),
         "no such index while waiting for a completion signal of PE 0: signal 5, where there "
         "are 0 to 0");
    says(thrown<timeout_error>([&] {
             rt.run(do_wrong{wrong::never, words.ref(), doubles.ref()}, remote);
         }),
         ": signal 0 is less than 4; the deadline is");
    EXPECT_NO_THROW(rt.run(do_nothing{}, remote));  // nothing is left of what failed
    EXPECT_EQ(remote.statistics().run, 0u);
}

/// Posts once; what has been freed is named.
struct post_freed {
    symmetric_ref<std::uint32_t> from;
    bool with_payload;
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (ctx.pe() != 0 || !is_first_lane(ctx)) return;
        const int last = ctx.n_pes() - 1;
        if (with_payload) {
            (void)remote.post(ctx, last, task<ignored_call>, {}, remote_payload::of(from, 0, 1, 0));
        } else {
            (void)remote.post(ctx, last, task<ignored_call>, {}, {0, {last, 0, 1}});
        }
    }
};

TEST_P(remote_misuse_test, FreedMemoryIsNamed) {
    runtime rt(job());
    const auto from = rt.allocate<std::uint32_t>(4);
    remote_queue remote(rt.machine(), ignored_call{});
    {
        const auto target = rt.allocate<std::uint32_t>(4);
        const auto told = rt.allocate<std::uint64_t>(1);
        (void)remote.buffer(target);
        (void)remote.signal(told, 0);
        EXPECT_NO_THROW(rt.run(post_freed{from.ref(), true}, remote));
        EXPECT_NO_THROW(rt.run(post_freed{from.ref(), false}, remote));
    }
    const std::string gone = "elements that do not exist, have been freed, or are out of reach while ";
    says(thrown<device_fault>([&] {
             rt.run(post_freed{from.ref(), true}, remote);
         }),
         gone + "storing the payload of a command on PE " + last_of(rt) + ": target buffer 0");
    says(thrown<device_fault>([&] {
             rt.run(post_freed{from.ref(), false}, remote);
         }),
         gone + "raising a completion signal of PE " + last_of(rt) + ": signal 0");
}

/// Holds its worker beyond the deadline.
struct hold {
    using arguments = no_arguments;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments&) const {
        while (!ctx.is_late(ctx.environment().timeout_ns / 4) && !stopped(ctx)) ctx.pause(1);
    }
};
struct fill_up {
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (ctx.pe() == 0 || !is_first_lane(ctx)) return;
        while (remote.post(ctx, 0, task<hold>, {}) == status::ok) {
        }
    }
};

TEST_P(remote_misuse_test, AFullQueueIsNamedPastTheDeadline) {
    runtime rt(job());
    if (rt.n_pes() == 1) return;
    remote_queue remote(rt.machine(), {.slots = 2}, hold{});
    says(thrown<timeout_error>([&] { rt.run(fill_up{}, remote); }),
         "deadline passed while posting to a remote queue of PE 0: queue 0; the deadline is");
    EXPECT_NO_THROW(rt.run(do_nothing{}, remote));
    EXPECT_EQ(remote.statistics().run, 0u);
}

/// Two that post each other for ever.
struct endless {
    using arguments = no_arguments;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments&, Worker& worker) const {
        if (worker.lane() != 0) return;
        (void)worker.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), task<endless>, {});
    }
};
struct start_endless {
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (ctx.pe() == 0 && is_first_lane(ctx)) (void)remote.post(ctx, 0, task<endless>, {});
    }
};

TEST_P(remote_misuse_test, FunctionsThatPostEachOtherForEverEndAtTheDeadline) {
    runtime rt(job(1));
    remote_queue remote(rt.machine(), endless{});
    const std::string text = thrown<timeout_error>([&] { rt.run(start_endless{}, remote); });
    says(text, "deadline passed while ");
    EXPECT_TRUE(text.find("running a command of PE") != std::string::npos ||
                text.find("waiting for all work to be done") != std::string::npos)
        << text;
}

struct start_kernel {
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (ctx.pe() == 0 && is_first_lane(ctx)) (void)remote.launch(ctx, ctx.n_pes() - 1, 1, {});
    }
};

TEST_P(remote_misuse_test, AKernelThatFailsIsNamed) {
    runtime rt(job());
    remote_queue remote(rt.machine(), ignored_call{});
    (void)remote.kernel("fine", [](const launch_request&) {});
    (void)remote.kernel("bad one", [](const launch_request& r) { (void)r.as<std::uint64_t>(); });
    EXPECT_EQ(thrown<host_call_error>([&] { rt.run(start_kernel{}, remote); }),
              "kernel 1 'bad one' on PE " + last_of(rt) +
                  " (launch 0 there, posted by PE 0): its arguments were posted as 0 bytes, not 8");
}

TEST_P(remote_misuse_test, AStatusThatAKernelThrowsIsTold) {
    runtime rt(session_job());
    remote_queue remote(rt.machine(), ignored_call{});
    (void)remote.kernel("fine", [](const launch_request&) {});
    (void)remote.kernel("full", [](const launch_request&) { throw status{status::no_room}; });
    (void)remote.kernel("odd", [](const launch_request&) { throw 7; });
    const auto told_of = [&](std::uint32_t kernel) {
        auto session = rt.start(remote);
        remote.launch(0, 0, {});
        remote.launch(0, 0, {});
        session.quiesce();
        remote.launch(0, kernel, {});
        const std::string text = thrown<host_call_error>([&] { session.quiesce(); });
        EXPECT_THROW(session.stop(), host_call_error);
        return text;
    };
    says(told_of(1), "kernel 1 'full' on PE 0 (launch 2 there, posted by a host thread): no room left");
    says(told_of(2), "kernel 2 'odd' on PE 0 (launch 2 there, posted by a host thread): unknown exception");
}

/// The same, in a run that does not end before it is told to.
struct start_kernel_and_wait {
    std::uint32_t never;
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (ctx.pe() != 0 || !is_first_lane(ctx)) return;
        (void)remote.launch(ctx, ctx.n_pes() - 1, 1, {});
        (void)remote.wait_signal(ctx, never, 1);
    }
};

/// Has such a run left by an error of CUDA's, as a GPU ends it, while its kernel runs or behind it.
std::string told_of_gpu_error(runtime& rt, remote_queue<ignored_call>& remote, bool behind, bool throws) {
    std::atomic<bool> began = false, over = false;
    (void)remote.kernel("fine", [](const launch_request&) {});
    (void)remote.kernel("suspect", [&](const launch_request&) {
        const wait_limit until{std::chrono::seconds(20)};
        began = true;
        while (!behind && !over && !until.is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (throws) throw cuda_error("launching: an illegal memory access was encountered");
    });
    const interruption mine([&] {
        if (!began) return;
        if (behind) std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until it has returned
        over = true;
        throw cuda_error("running a kernel on cuda:0: an illegal memory access was encountered");
    });
    const auto told = rt.allocate<std::uint64_t>(1);
    return thrown<cuda_error>([&] { rt.run(start_kernel_and_wait{remote.signal(told, 0)}, remote); });
}

TEST_P(remote_misuse_test, AnErrorOfTheGpuNamesTheKernelBesideIt) {
    if (!GetParam().starts_with("cpu")) return;  // a function of a kernel that sleeps holds up a checked device's lanes
    const std::string failed = "running a kernel on cuda:0: an illegal memory access was encountered";
    const std::string launch = " (launch 0 there, posted by PE 0)";
    for (const bool behind : {false, true}) {
        runtime rt(session_job());
        remote_queue remote(rt.machine(), ignored_call{});
        EXPECT_EQ(told_of_gpu_error(rt, remote, behind, false), failed +
                                                                    "; the last kernel of a remote queue that PE " +
                                                                    last_of(rt) + " ran: kernel 1 'suspect'" + launch);
    }
    runtime rt(session_job());
    remote_queue remote(rt.machine(), ignored_call{});
    EXPECT_EQ(told_of_gpu_error(rt, remote, false, true), failed + "; kernel 1 'suspect' on PE " + last_of(rt) +
                                                              launch +
                                                              ": launching: an illegal memory access was encountered");
}

/// Looks for a payload that is not there, or is of another type.
struct look_at_payload {
    using arguments = no_arguments;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments&, Worker& worker) const {
        (void)worker.template payload<float>(ctx);
    }
};
struct start_looking {
    symmetric_ref<std::uint32_t> from;
    bool with_payload;
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (ctx.pe() != 0 || !is_first_lane(ctx)) return;
        const int last = ctx.n_pes() - 1;
        if (with_payload) {
            (void)remote.post(ctx, last, task<look_at_payload>, {}, remote_payload::of(from, 0, 1, 0));
        } else {
            (void)remote.post(ctx, last, task<look_at_payload>, {});
        }
    }
};

TEST_P(remote_misuse_test, APayloadThatHasNotLandedIsNotRead) {
    runtime rt(job());
    const auto from = rt.allocate<std::uint32_t>(4), to = rt.allocate<std::uint32_t>(4);
    remote_queue remote(rt.machine(), look_at_payload{});
    (void)remote.buffer(to);
    says(thrown<device_fault>([&] {
             rt.run(start_looking{from.ref(), false}, remote);
         }),
         "no such index while looking for the payload of a command on PE " + last_of(rt) + ": none has landed");
    says(thrown<device_fault>([&] {
             rt.run(start_looking{from.ref(), true}, remote);
         }),
         "while looking for the payload of a command on PE " + last_of(rt) + ": target buffer 0");
}

#if !defined(__CUDACC__)
TEST_P(remote_misuse_test, AKernelThatDoesNotReturnIsNamed) {
    if (is_checked(GetParam())) return;  // its time is virtual
    using clock = std::chrono::steady_clock;
    runtime rt(job(1));
    remote_queue remote(rt.machine(), ignored_call{});
    (void)remote.kernel("fine", [](const launch_request&) {});
    // The run fails a second behind its deadline, and the host waits two more for its functions.
    const wait_limit until{std::chrono::seconds(3)};
    static std::atomic<double> took{0};  // the thread outlives the test where it is late
    (void)remote.kernel("slow", [until](const launch_request&) {
        const auto start = clock::now();
        while (!until.is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        took = std::chrono::duration<double>(clock::now() - start).count();
    });
    const std::string text = thrown<timeout_error>([&] { rt.run(start_kernel{}, remote); });
    const std::string told = "; kernels of a remote queue: 1 returned, PE " + last_of(rt) + " ran kernel 1 'slow' for ";
    const auto at = text.find(told);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_GE(std::stod(text.substr(at + told.size())), 0.95 * took) << "two digits are told: " << text;
}

struct thrower {
    using arguments = no_arguments;
    static constexpr lw::width width = lw::width::lane;
    template <class Ctx>
    void operator()(Ctx&, const arguments&) const {
        throw std::runtime_error("no luck");
    }
};
struct start_thrower {
    std::uint32_t done;
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (ctx.pe() != 0 || !is_first_lane(ctx)) return;
        const int last = ctx.n_pes() - 1;
        (void)remote.post(ctx, last, task<thrower>, {}, {0, {0, done, 1}});
    }
};

TEST_P(remote_misuse_test, WhatAFunctionThrowsIsToldAndRaisesNoSignal) {
    runtime rt(job());
    const auto told = rt.allocate<std::uint64_t>(1);
    remote_queue remote(rt.machine(), ignored_call{}, thrower{});
    const std::string text = thrown<lane_error>([&] { rt.run(start_thrower{remote.signal(told, 0)}, remote); });
    says(text, "PE " + last_of(rt) + " (");
    says(text, "exception in function 1 of a remote queue while serving PE 0: no luck");
    EXPECT_EQ(told.copy_out(0)[0], 0u);
}
#endif

TEST_P(remote_misuse_test, TheHostRefusesWhatCannotBe) {
    runtime rt(session_job());
    const auto refused = [&](const remote_queue_options& o) {
        return thrown<usage_error>([&] { remote_queue(rt.machine(), o, ignored_call{}); });
    };
    EXPECT_EQ(refused({.priorities = {}}), "remote queue: 1 to 8 queues, not 0");
    EXPECT_EQ(refused({.priorities = std::vector<int>(9)}), "remote queue: 1 to 8 queues, not 9");
    EXPECT_EQ(refused({.slots = 0}), "remote queue: slots: 1 to 65536, not 0");
    EXPECT_EQ(refused({.shards = 1025}), "remote queue: shards: at most 1024, not 1025");
    EXPECT_EQ(refused({.host_slots = 70'000}), "remote queue: host_slots: 1 to 65536, not 70000");
    EXPECT_EQ(refused({.launches = 0}), "remote queue: launches: 1 to 65536, not 0");
    const auto told = rt.allocate<std::uint64_t>(2);
    remote_queue remote(rt.machine(), {.priorities = {0, 0}}, ignored_call{});
    EXPECT_EQ(thrown<usage_error>([&] { (void)remote.signal(told, 2); }),
              "remote queue: a signal at element 2 of an array of 2");
    EXPECT_EQ(thrown<usage_error>([&] { (void)remote.kernel("none", nullptr); }),
              "remote queue: a kernel without a function");
    EXPECT_EQ(thrown<usage_error>([&] { remote.post<ignored_call>(0, {}); }),
              "remote queue: host threads post while a session runs, from runtime::start to stop");
    const std::string pes = std::to_string(rt.n_pes());
    {
        auto session = rt.start(remote);
        EXPECT_EQ(thrown<usage_error>([&] { remote.post<ignored_call>(-1, {}); }),
                  "remote queue: PE -1 does not exist; there are " + pes);
        EXPECT_EQ(thrown<usage_error>([&] {
                      remote.post<ignored_call>(0, {}, {2, {}});
                  }),
                  "remote queue: queue 2 of PE 0, where there are 0 to 1");
        EXPECT_EQ(thrown<usage_error>([&] {
                      remote.post<ignored_call>(0, {}, {0, {0, 0, 1}});
                  }),
                  "remote queue: signal 0 of PE 0, where there are none");
        EXPECT_EQ(thrown<usage_error>([&] {
                      remote.post<ignored_call>(0, {}, {0, {8, 0, 1}});
                  }),
                  "remote queue: for a signal: PE 8 does not exist; there are " + pes);
        EXPECT_EQ(thrown<usage_error>([&] { remote.launch(0, 0, {}); }),
                  "remote queue: kernel 0, where there are none");
        EXPECT_EQ(thrown<usage_error>([&] { (void)remote.signal(told, 0); }),
                  "remote queue: what it names is registered before a session starts");
        session.stop();
        EXPECT_THROW(remote.post<ignored_call>(0, {}), usage_error);
    }
    EXPECT_EQ(remote.signal(told, 1), 0u);
    runtime other(job());
    EXPECT_EQ(thrown<usage_error>([&] { other.run(do_nothing{}, remote); }),
              "a remote queue belongs to the runtime that has made it");
}

TEST_P(remote_misuse_test, AFailedSessionTellsItsPosters) {
    runtime rt(session_job());
    remote_queue remote(rt.machine(), ignored_call{}, hold{});
    (void)remote.kernel("bad", [](const launch_request&) { throw usage_error("not today"); });
    {
        auto session = rt.start(remote);
        remote.launch(0, 0, {});
        says(thrown<host_call_error>([&] {
                 for (;;) remote.call<ignored_call>(0, {});
             }),
             "kernel 0 'bad' on PE 0 (launch 0 there, posted by a host thread): not today");
        EXPECT_THROW(session.stop(), host_call_error);
    }
    auto again = rt.start(remote);
    remote.call<ignored_call>(rt.n_pes() - 1, {});
    again.stop();
    EXPECT_EQ(remote.statistics().run, 1u);
}

TEST_P(remote_misuse_test, FunctionsOfKernelsPostNothing) {
    runtime rt(session_job());
    remote_queue remote(rt.machine(), ignored_call{}), other(rt.machine(), ignored_call{});
    std::function<void(std::uint32_t)> act;
    const auto kernel = remote.kernel("posts", [&](const launch_request& r) { act(r.as<std::uint32_t>()); });
    act = [&](std::uint32_t how) {
        if (how == 0) remote.post<ignored_call>(0, {});
        if (how == 1) other.call<ignored_call>(0, {});
        if (how == 2) remote.launch(0, kernel, bytes_of_arguments(std::uint32_t{9}));
    };
    for (const std::uint32_t how : {0, 1, 2}) {
        auto session = rt.start(remote, other);
        remote.launch(0, kernel, bytes_of_arguments(how));
        says(thrown<host_call_error>([&] { session.quiesce(); }),
             "kernel 0 'posts' on PE 0 (launch 0 there, posted by a host thread): remote queue: the function of a "
             "kernel posts nothing");
        EXPECT_THROW(session.stop(), host_call_error);
    }
}

LANEWAY_ON_DEVICES(remote_misuse_test, remote_devices());

}  // namespace
}  // namespace laneway::test
