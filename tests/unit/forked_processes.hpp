// Jobs of several processes for tests: this one is process 0, the others are forked, so no thread may run yet.
#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "laneway/base/bootstrap.hpp"

namespace laneway::test {

inline std::string unused_job() {
    static int jobs = 0;
    return "test." + std::to_string(getpid()) + "." + std::to_string(jobs++);
}

/// Calls `body(processes)` in each process of a job of `size`, with what links it to the others. What fails in a child
/// fails in its exit status. Returns how each child ended, as waitpid tells it, the first one's at 0.
template <class Body>
std::vector<int> in_processes(int size, Body&& body, double timeout_seconds = 20) {
    const std::string job = unused_job();
    const auto run = [&](int rank) {
        try {
            body(local_processes(job, rank, size, timeout_seconds));
        } catch (const std::exception& thrown) {
            ADD_FAILURE() << "process " << rank << ": " << thrown.what();
        }
    };
    std::vector<pid_t> children;
    std::fflush(nullptr);
    for (int rank = 1; rank < size; ++rank) {
        const pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            run(rank);
            std::fflush(nullptr);
            _exit(testing::Test::HasFailure() ? 1 : 0);
        }
        children.push_back(child);
    }
    run(0);
    std::vector<int> ended;
    for (const pid_t child : children) waitpid(child, &ended.emplace_back(), 0);
    return ended;
}

/// The same where no child may fail.
template <class Body>
void in_processes_that_pass(int size, Body&& body) {
    for (const int ended : in_processes(size, body)) EXPECT_EQ(ended, 0) << "see the child's messages above";
}

inline bool was_killed(int ended) { return WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL; }

/// Names of shared memory on this host that are this library's.
inline std::set<std::string> shared_memory_left() {
    std::set<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
        const std::string name = file.path().filename();
        if (name.find("laneway") != std::string::npos) names.insert(name);
    }
    return names;
}

}  // namespace laneway::test
