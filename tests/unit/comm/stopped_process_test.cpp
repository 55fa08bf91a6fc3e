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
    std::uint64_t* waits;
    const std::uint64_t* word;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        ctx.store(waits, std::uint64_t{1}, order::relaxed, scope::system);
        bounded_spin spin;
        while (ctx.load(word, order::relaxed, scope::system) == 0) {
            if (spin.next(ctx, {}) != status::ok) return;
        }
    }
};

void await_awake(std::chrono::seconds time) {
    for (const wait_limit limit(time); !limit.is_over();) std::this_thread::sleep_for(1ms);
}

/// Waits on CPU devices for a second of what the deadline, of 3 s, counts, and tells through the pipe when it does.
/// Returns an exit status.
int wait_within_deadline(int pipe) {
    options o;
    o.devices = "cpu:2";
    o.timeout_seconds = 3;
    runtime rt(o);
    std::uint64_t waits = 0, word = 0;
    std::thread opener([&] {
        while (std::atomic_ref(waits).load() == 0) std::this_thread::sleep_for(1ms);
        if (write(pipe, "w", 1) == 1) await_awake(1s);
        std::atomic_ref(word).store(1);
    });
    int status = 0;
    try {
        rt.run(wait_for_word{&waits, &word});
    } catch (const error& e) {
        std::fprintf(stderr, "%s\n", e.what());
        status = 1;
    }
    opener.join();
    return status;
}

TEST(stopped_process_test, TheTimeDoesNotCountForDeadlines) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(wait_within_deadline(ends[1]));
    }
    char told;
    ASSERT_EQ(read(ends[0], &told, 1), 1);
    kill(child, SIGSTOP);
    std::this_thread::sleep_for(4s);
    kill(child, SIGCONT);
    int ended = 0;
    waitpid(child, &ended, 0);
    EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0) << "see the child's message above";
    close(ends[0]);
    close(ends[1]);
}

}  // namespace
}  // namespace laneway::test
