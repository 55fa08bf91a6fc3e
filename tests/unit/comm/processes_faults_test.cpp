// What happens in one process of a job is told in all: faults, exceptions, ends, and calls that differ.
#include <chrono>
#include <thread>

#include "laneway/base/interruption.hpp"
#include "laneway/runtime.hpp"
#include "unit/forked_processes.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

namespace {

using job_link = std::shared_ptr<bootstrap>;

options options_in(const job_link& job, const std::string& devices = "cpu:1") {
    options o;
    o.devices = devices;
    o.processes = job;
    o.timeout_seconds = never_seconds;  // what one process knows the others must learn from it
    return o;
}

template <class Error, class Call>
std::string refusal_of(Call&& call) {
    try {
        call();
    } catch (const Error& refused) {
        return refused.what();
    } catch (const std::exception& other) {
        ADD_FAILURE() << "something else was thrown: " << other.what();
        return {};
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

/// Whether all processes have got the same text.
void expect_the_same(const job_link& job, const std::string& text) {
    const auto all = job->all_gather({text, {}}, 20);
    for (const auto& other : all) EXPECT_EQ(other.bytes, text);
}

enum class deed { nothing, fail_in_handler, throw_in_body, die, stop, wait_for_ever, never_end };

struct doer {
    deed what;
    symmetric_ref<std::uint64_t> served;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t) const {
        const std::uint64_t before = atomic_add(ctx, served[0], 1);
        if (ctx.pe() != 1 || before != 50) return;
        if (what == deed::fail_in_handler) (void)fail(ctx, status::handler_failed, operation::user_code, -1, 77);
        if (what == deed::die) ::raise(SIGKILL);
        if (what == deed::stop) ::raise(SIGSTOP);
    }
};

/// Every lane posts to every PE.
struct post_around {
    deed what;
    symmetric_ref<std::uint64_t> served;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; i < 1000; ++i) {
            if (what == deed::throw_in_body && ctx.pe() == 1 && i == 500) throw std::runtime_error("five hundred");
            if (box.post(ctx, static_cast<int>(i % static_cast<std::uint64_t>(ctx.n_pes())), i) != status::ok) return;
        }
        // Until the process has ended.
        while (what == deed::never_end && ctx.pe() == 1) std::this_thread::sleep_for(std::chrono::seconds(1));
        if (what != deed::wait_for_ever || ctx.pe() != 0) return;
        (void)wait_until(ctx, {operation::user_code, 1, 5}, [&] { return stopped(ctx); });
    }
};

run_report run_one(runtime& rt, deed what) {
    const auto served = rt.allocate<std::uint64_t>(1);
    return rt.run(post_around{what, served.ref()}, rt.mailbox<std::uint64_t>(doer{what, served.ref()}));
}

/// Fails where it is told to, beside lanes that do nothing.
class failing_service : public host_service {
public:
    failing_service(bool at_open, bool at_audit) : at_open_(at_open), at_audit_(at_audit) {}
    [[nodiscard]] int threads() const override { return 1; }
    void open() override {
        if (at_open_) throw std::logic_error("it does not open");
    }
    bool turn(host_context&, int) override { return false; }
    [[nodiscard]] std::string account() const override { return {}; }
    void audit() const override {
        if (at_audit_) throw std::logic_error("something is lost");
    }

private:
    bool at_open_;
    bool at_audit_;
};

struct no_work {
    static constexpr int cuda_warps = 1;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&) const {}
};

struct other_work : no_work {};

template <class Program>
double run_on_all(machine& machine, const launch_shape& shape = {}) {
    const auto pes = static_cast<std::size_t>(machine.n_pes());
    return machine.run(std::vector<Program>(pes), std::vector<launch_shape>(pes, shape), 20,
                       [] { return std::string(); });
}

TEST(processes_faults_test, AFaultIsToldInAllWithItsPe) {
    in_processes_that_pass(3, [](const job_link& job) {
        runtime rt(options_in(job));
        for (int repeat = 0; repeat < 3; ++repeat) {
            const std::string told = refusal_of<device_fault>([&] { (void)run_one(rt, deed::fail_in_handler); });
            EXPECT_TRUE(told.starts_with("PE 1 (cpu:0 of process 1) block 0")) << told;
            EXPECT_NE(told.find("number 77"), std::string::npos) << told;
            EXPECT_EQ(run_one(rt, deed::nothing).posted, 3000u) << "the job goes on";
        }
    });
}

TEST(processes_faults_test, WhatALaneThrowsIsToldInAll) {
    in_processes_that_pass(2, [](const job_link& job) {
        runtime rt(options_in(job, "cpu:2"));
        const std::string told = refusal_of<lane_error>([&] { (void)run_one(rt, deed::throw_in_body); });
        EXPECT_NE(told.find("PE 1 (cpu:1 of process 0)"), std::string::npos) << told;
        EXPECT_NE(told.find("five hundred"), std::string::npos) << told;
        expect_the_same(job, told);
        EXPECT_EQ(run_one(rt, deed::nothing).posted, 4000u);
    });
}

TEST(processes_faults_test, ADeadlineIsToldInAll) {
    in_processes_that_pass(2, [](const job_link& job) {
        options o = options_in(job);
        o.timeout_seconds = 2;  // in which both processes must have set up
        o.fault = injected_fault::deaf_server;
        o.fault_pe = 1;
        runtime rt(o);
        const std::string told = refusal_of<timeout_error>([&] { (void)run_one(rt, deed::nothing); });
        EXPECT_NE(told.find("of process "), std::string::npos) << told;
    });
}

// Its lanes may still write any PE's memory.
TEST(processes_faults_test, WhatOneProcessLeavesBehindAbandonsTheDevicesOfAll) {
    in_processes_that_pass(2, [](const job_link& job) {
        options o = options_in(job);
        o.timeout_seconds = 2;
        runtime rt(o);
        EXPECT_THROW((void)run_one(rt, deed::never_end), error);
        const std::string told = refusal_of<usage_error>([&] { (void)run_one(rt, deed::nothing); });
        EXPECT_NE(told.find("an earlier run on these devices did not end"), std::string::npos) << told;
    });
}

TEST(processes_faults_test, AProcessKilledInTheMiddleEndsTheOthersRun) {
    const auto before = shared_memory_left();
    const auto ended = in_processes(3, [](const job_link& job) {
        runtime rt(options_in(job));
        const std::string told = refusal_of<process_error>([&] { (void)run_one(rt, deed::die); });
        EXPECT_NE(told.find("process 1 (pid "), std::string::npos) << told;
        EXPECT_NE(told.find("has ended"), std::string::npos) << told;
    });
    EXPECT_TRUE(was_killed(ended[0]));
    EXPECT_EQ(ended[1], 0);
    EXPECT_EQ(shared_memory_left(), before);
}

/// As by Ctrl-Z, or by a debugger.
TEST(processes_faults_test, ADeadlineNamesTheProcessThatDoesNotAnswer) {
    const std::vector<int> ended = in_processes(2, [](const job_link& job) {
        const auto all = job->all_gather({std::to_string(getpid()), {}}, 20);
        options o = options_in(job);
        o.timeout_seconds = 2;  // as above
        runtime rt(o);
        const std::string told = refusal_of<timeout_error>([&] { (void)run_one(rt, deed::stop); });
        EXPECT_NE(told.find("waiting for process 1 (pid " + all[1].bytes + ") of job"), std::string::npos) << told;
        kill(static_cast<pid_t>(std::stol(all[1].bytes)), SIGKILL);
    });
    EXPECT_TRUE(was_killed(ended.front()));
}

TEST(processes_faults_test, AProcessThatLeavesARunEndsTheOthers) {
    in_processes_that_pass(2, [](const job_link& job) {
        runtime rt(options_in(job));
        if (job->rank() == 0) {
            int looks = 0;
            const interruption leave([&] {
                if (++looks > 2) throw interrupted("enough");
            });
            EXPECT_THROW((void)run_one(rt, deed::wait_for_ever), interrupted);
        } else {
            const std::string told = refusal_of<process_error>([&] { (void)run_one(rt, deed::wait_for_ever); });
            EXPECT_NE(told.find("process 0"), std::string::npos) << told;
            EXPECT_NE(told.find("enough"), std::string::npos) << told;
        }
    });
}

TEST(processes_faults_test, ADeadlineThatPassesInTheSetUpOfOneProcessIsToldInAll) {
    in_processes_that_pass(2, [](const job_link& job) {
        options o = options_in(job);
        if (job->rank() == 1) o.timeout_seconds = 1e-6;
        runtime rt(o);
        if (job->rank() == 1) {
            EXPECT_THROW((void)run_one(rt, deed::nothing), timeout_error);
        } else {
            const std::string told = refusal_of<process_error>([&] { (void)run_one(rt, deed::nothing); });
            EXPECT_NE(told.find("process 1 (pid "), std::string::npos) << told;
            EXPECT_NE(told.find("has left: deadline passed while the devices were set up"), std::string::npos) << told;
        }
    });
}

TEST(processes_faults_test, WhatAServiceThrowsBeforeARunIsToldInAll) {
    in_processes_that_pass(2, [](const job_link& job) {
        machine machine("cpu:1", 1, {}, job);
        const auto service = std::make_shared<failing_service>(job->rank() == 1, false);
        machine.attach(service);
        if (job->rank() == 1) {
            EXPECT_THROW(run_on_all<no_work>(machine), std::logic_error);
        } else {
            const std::string told = refusal_of<process_error>([&] { run_on_all<no_work>(machine); });
            EXPECT_NE(told.find("process 1 (pid "), std::string::npos) << told;
            EXPECT_NE(told.find("has left: it does not open"), std::string::npos) << told;
        }
    });
}

TEST(processes_faults_test, DevicesThatOneProcessCannotOpenAreToldInAll) {
    in_processes_that_pass(2, [](const job_link& job) {
        if (job->rank() == 1) {
            EXPECT_THROW(machine("nonsense", 1, {}, job), usage_error);
        } else {
            const std::string told = refusal_of<process_error>([&] { const machine machine("cpu:1", 1, {}, job); });
            EXPECT_NE(told.find("has left: "), std::string::npos) << told;
            EXPECT_NE(told.find("nonsense"), std::string::npos) << told;
        }
    });
}

TEST(processes_faults_test, WhatAnAuditOfAServiceFindsIsToldInAll) {
    in_processes_that_pass(2, [](const job_link& job) {
        machine machine("cpu:1", 1, {}, job);
        auto service = std::make_shared<failing_service>(false, job->rank() == 1);
        machine.attach(service);
        if (job->rank() == 1) {
            EXPECT_THROW(run_on_all<no_work>(machine), std::logic_error);
        } else {
            const std::string told = refusal_of<process_error>([&] { run_on_all<no_work>(machine); });
            EXPECT_NE(told.find("process 1"), std::string::npos) << told;
            EXPECT_NE(told.find("something is lost"), std::string::npos) << told;
        }
        service.reset();
        EXPECT_GT(run_on_all<no_work>(machine), 0) << "the job goes on";
    });
}

TEST(processes_faults_test, CallsThatDifferAreRefused) {
    in_processes_that_pass(2, [](const job_link& job) {
        runtime rt(options_in(job));
        const std::string told =
            refusal_of<process_error>([&] { (void)rt.allocate<std::uint64_t>(job->rank() == 0 ? 100 : 200); });
        EXPECT_NE(told.find("allocating "), std::string::npos) << told;
        EXPECT_NE(told.find("800 bytes on PE 0"), std::string::npos) << told;
    });
}

TEST(processes_faults_test, GridsThatDifferAreRefused) {
    in_processes_that_pass(2, [](const job_link& job) {
        options o = options_in(job);
        o.cpu_threads = 1 + job->rank();
        runtime rt(o);
        (void)refusal_of<process_error>([&] { (void)run_one(rt, deed::nothing); });
    });
    in_processes_that_pass(2, [](const job_link& job) {
        machine machine("cpu:1", 1, {}, job);
        const std::string told = refusal_of<process_error>([&] {
            run_on_all<no_work>(machine, {1 + job->rank(), 1, 0});
        });
        EXPECT_NE(told.find("running a program on grids 1x1x0 1x1x0"), std::string::npos) << told;
        EXPECT_NE(told.find("running a program on grids 2x1x0 2x1x0"), std::string::npos) << told;
    });
}

struct idle_body {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint64_t) const {}
};

TEST(processes_faults_test, IndexSpacesThatDifferAreRefused) {
    in_processes_that_pass(2, [](const job_link& job) {
        runtime rt(options_in(job));
        (void)rt.for_each(1000, idle_body{});
        const auto n = 1000 + static_cast<std::uint64_t>(job->rank());
        const std::string told = refusal_of<process_error>([&] { (void)rt.for_each(n, idle_body{}); });
        EXPECT_NE(told.find(" over 1000 indices'"), std::string::npos) << told;
        EXPECT_NE(told.find(" over 1001 indices'"), std::string::npos) << told;
    });
    in_processes_that_pass(2, [](const job_link& job) {
        runtime rt(options_in(job));
        index_space counts(std::vector<std::uint64_t>{5, job->rank() == 0 ? 6u : 7u});
        const std::string told = refusal_of<process_error>([&] { (void)rt.for_each(counts, idle_body{}); });
        EXPECT_NE(told.find(" over 5+6 indices'"), std::string::npos) << told;
        EXPECT_NE(told.find(" over 5+7 indices'"), std::string::npos) << told;
    });
}

TEST(processes_faults_test, ProgramsThatDifferAreRefused) {
    in_processes_that_pass(2, [](const job_link& job) {
        machine machine("cpu:1", 1, {}, job);
        const std::string told = refusal_of<process_error>([&] {
            if (job->rank() == 0) run_on_all<no_work>(machine);
            if (job->rank() == 1) run_on_all<other_work>(machine);
        });
        EXPECT_NE(told.find("is running another program than process "), std::string::npos) << told;
        EXPECT_EQ(told.find("no_work"), std::string::npos) << told;
    });
}

TEST(processes_faults_test, WhatSeveralProcessesCannotHaveIsRefused) {
    in_processes_that_pass(2, [](const job_link& job) {
        const std::string told = refusal_of<usage_error>([&] { const runtime rt(options_in(job, "checked:1")); });
        EXPECT_NE(told.find("checked:0"), std::string::npos) << told;
        runtime rt(options_in(job));
        const auto served = rt.allocate<std::uint64_t>(1);
        EXPECT_THROW((void)rt.start(rt.mailbox<std::uint64_t>(doer{deed::nothing, served.ref()})), usage_error);
    });
}

TEST(processes_faults_test, EachProcessServesTheHostCallsOfItsPes) {
    in_processes_that_pass(2, [](const job_link& job) {
        runtime rt(options_in(job, "cpu:2"));
        std::uint64_t sum = 0;
        const auto calls = rt.host_calls<std::uint64_t>("sum", [&](std::uint64_t pe) { sum += pe + 1; });
        const auto served = rt.allocate<std::uint64_t>(1);
        rt.run(
            [called = calls.ref()](auto& ctx, auto&) { (void)called.post(ctx, static_cast<std::uint64_t>(ctx.pe())); },
            rt.mailbox<std::uint64_t>(doer{deed::nothing, served.ref()}));
        EXPECT_EQ(calls.served(), 2u);
        EXPECT_EQ(sum, job->rank() == 0 ? 3u : 7u);
    });
}

TEST(processes_faults_test, WhatAHostFunctionThrowsIsToldInAll) {
    in_processes_that_pass(2, [](const job_link& job) {
        runtime rt(options_in(job));
        const auto calls = rt.host_calls<std::uint64_t>("picky", [&](std::uint64_t) {
            if (job->rank() == 1) throw std::runtime_error("not this one");
        });
        const auto served = rt.allocate<std::uint64_t>(1);
        const auto run = [&] {
            rt.run([called = calls.ref()](auto& ctx, auto&) { (void)called.post(ctx, 5); },
                   rt.mailbox<std::uint64_t>(doer{deed::nothing, served.ref()}));
        };
        const std::string told = job->rank() == 1 ? refusal_of<host_call_error>(run) : refusal_of<process_error>(run);
        EXPECT_NE(told.find("host calls 'picky': not this one"), std::string::npos) << told;
    });
}

TEST(processes_faults_test, CopiesSeeWhatTheOwnerHasWrittenBefore) {
    in_processes_that_pass(2, [](const job_link& job) {
        runtime rt(options_in(job, "cpu:2"));
        const auto rows = rt.allocate<std::uint64_t>(1000);
        auto table = rt.allocate<std::uint64_t>(1000);
        for (std::uint64_t round = 0; round < 200; ++round) {
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                table.copy_in(pe, std::vector<std::uint64_t>(1000, round * 10 + static_cast<std::uint64_t>(pe)));
            }
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                const auto part = table.copy_out(pe);
                ASSERT_EQ(part, std::vector<std::uint64_t>(1000, round * 10 + static_cast<std::uint64_t>(pe)));
            }
        }
        EXPECT_EQ(rows.copy_out(3), std::vector<std::uint64_t>(1000));
    });
}

}  // namespace

}  // namespace laneway::test
