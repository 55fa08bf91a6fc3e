#include "host_calls_suite.hpp"  // on CPU devices

#include <atomic>
#include <chrono>
#include <thread>

namespace laneway::test {
namespace {

TEST(host_calls_options_test, NumbersThatCannotBeAreRefused) {
    for (const int threads : {0, -1, 5000}) {
        options o = options_of("cpu:1", 0);
        o.host_threads = threads;
        runtime rt(o);
        EXPECT_THROW((void)(rt.host_calls<host_question, reply>("echo", reply_to)), usage_error);
    }
    options o = options_of("cpu:1", 0);
    o.host_slots = 0;
    runtime rt(o);
    EXPECT_THROW((void)(rt.host_calls<host_question, reply>("echo", reply_to)), usage_error);
}

TEST(stuck_host_function_test, IsLeftBehindAndTheRunSaysWhoWaitedForIt) {
    for (const bool waits : {true, false}) {
        options o = options_of("cpu:2", 0);
        o.timeout_seconds = 2;  // in which the host thread must have begun
        std::atomic<bool> let_go{false};
        std::atomic<int> inside{0};
        {
            runtime rt(o);
            const auto calls = rt.host_calls<host_question, reply>("swamp", [&](const host_question& q) {
                ++inside;
                while (!let_go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                --inside;
                return reply_to(q);
            });
            const std::string what = failure_of<timeout_error>(rt, {calls.ref(), waits});
            says(what, waits
                           ? "deadline passed while waiting for a host function's answer: ticket 0; the deadline is 2 s"
                           : "a host thread did not return within the deadline");
            says(what, "; host calls 'swamp': 1 posted, 0 served");
            EXPECT_THROW(rt.run(ask_once{calls.ref(), waits}, rt.mailbox<std::uint32_t>(keep_quiet{})), usage_error);
        }
        EXPECT_EQ(inside, 1);
        let_go = true;
        while (inside != 0) std::this_thread::yield();
    }
}

}  // namespace
}  // namespace laneway::test
