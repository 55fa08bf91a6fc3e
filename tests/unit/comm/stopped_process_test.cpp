// A process that is stopped, by Ctrl-Z or a debugger, and goes on later: its waits go on as well.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <thread>

#include "laneway/base/wait_limit.hpp"
#include "laneway/runtime.hpp"

namespace laneway::test {
namespace {

using namespace std::chrono_literals;

struct wait_for_word {
    const std::uint64_t* word;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        bounded_spin spin;
        while (ctx.load(word, order::relaxed, scope::system) == 0) {
            if (spin.next(ctx, {}) != status::ok) return;
        }
    }
};

/// Waits on CPU devices for 0.6 s of what the deadline counts, of 1 s. Returns an exit status.
int wait_within_deadline() {
    options o;
    o.devices = "cpu:2";
    o.timeout_seconds = 1;
    runtime rt(o);
    std::uint64_t word = 0;
    std::thread opener([&] {
        const wait_limit enough{600ms};
        while (!enough.is_over()) std::this_thread::sleep_for(1ms);
        std::atomic_ref(word).store(1);
    });
    int status = 0;
    try {
        rt.run(wait_for_word{&word});
    } catch (const error& e) {
        std::fprintf(stderr, "%s\n", e.what());
        status = 1;
    }
    opener.join();
    return status;
}

TEST(stopped_process_test, TheTimeDoesNotCountForDeadlines) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(wait_within_deadline());
    }
    std::this_thread::sleep_for(300ms);
    kill(child, SIGSTOP);
    std::this_thread::sleep_for(1500ms);
    kill(child, SIGCONT);
    int ended = 0;
    waitpid(child, &ended, 0);
    EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0) << "see the child's message above";
}

}  // namespace
}  // namespace laneway::test
