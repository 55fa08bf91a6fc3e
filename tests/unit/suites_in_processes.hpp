// Runs suites of this test program in several processes that are one job.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

extern char** environ;

namespace laneway::test {

/// Starts this program `size` times with the tests of a filter, which all use the job of the environment, and waits for
/// all. A process that fails, or runs no test, fails the test, with what it wrote.
inline void pass_in_processes(int size, const std::string& filter) {
    const std::string job = "suites." + std::to_string(getpid());
    const auto log_of = [&](int rank) { return testing::TempDir() + job + "." + std::to_string(rank) + ".log"; };
    std::vector<pid_t> children;
    for (int rank = 0; rank < size; ++rank) {
        setenv("LANEWAY_JOB", job.c_str(), 1);
        setenv("LANEWAY_SIZE", std::to_string(size).c_str(), 1);
        setenv("LANEWAY_RANK", std::to_string(rank).c_str(), 1);
        std::string chosen = "--gtest_filter=" + filter, name = "/proc/self/exe";
        std::array<char*, 3> arguments{name.data(), chosen.data(), nullptr};
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_addopen(&files, 1, log_of(rank).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        posix_spawn_file_actions_adddup2(&files, 1, 2);
        ASSERT_EQ(posix_spawn(&children.emplace_back(), "/proc/self/exe", &files, nullptr, arguments.data(), environ),
                  0);
        posix_spawn_file_actions_destroy(&files);
    }
    for (const char* variable : {"LANEWAY_JOB", "LANEWAY_SIZE", "LANEWAY_RANK"}) unsetenv(variable);
    for (int rank = 0; rank < size; ++rank) {
        int ended = 0;
        waitpid(children[static_cast<std::size_t>(rank)], &ended, 0);
        std::stringstream wrote;
        wrote << std::ifstream(log_of(rank)).rdbuf();
        std::remove(log_of(rank).c_str());
        EXPECT_EQ(ended, 0) << "process " << rank << ":\n" << wrote.str();
        EXPECT_NE(wrote.str().find("[       OK ]"), std::string::npos) << "process " << rank << " ran no test";
    }
}

}  // namespace laneway::test
