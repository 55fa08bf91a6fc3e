// Processes of one host that measure together, one a GPU: other libraries want a process for each. They are forked, so
// the parent must not have touched CUDA, and meet in a page of shared memory.
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "laneway/base/error.hpp"

namespace laneway::bench {

/// Seconds on a clock that all processes share.
inline double now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// What one process knows of the others. Its waits end at the latest when the parent's deadline ends the process.
class team {
public:
    static constexpr int most = 64;
    static constexpr std::size_t max_bytes = 256;  ///< of what a process hands to the others

    struct page {
        std::atomic<std::uint64_t> arrived{0};
        std::byte seats[most][max_bytes];
    };

    team(page& shared, int rank, int size) : shared_(shared), rank_(rank), size_(size) {}

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }

    /// Waits until all processes have come.
    void meet() {
        awaited_ += static_cast<std::uint64_t>(size_);
        shared_.arrived.fetch_add(1);
        while (shared_.arrived.load() < awaited_) std::this_thread::yield();
    }

    /// What each process has, in order of rank.
    template <class T>
    [[nodiscard]] std::vector<T> gather(const T& mine) {
        std::vector<T> all(static_cast<std::size_t>(size_));
        exchange(mine,
                 [&](int rank) { std::memcpy(&all[static_cast<std::size_t>(rank)], shared_.seats[rank], sizeof(T)); });
        return all;
    }
    /// What process 0 has.
    template <class T>
    [[nodiscard]] T from_first(T mine) {
        exchange(mine, [&](int rank) {
            if (rank == 0) std::memcpy(&mine, shared_.seats[0], sizeof(T));
        });
        return mine;
    }

private:
    template <class T, class Read>
    void exchange(const T& mine, Read read) {
        static_assert(sizeof(T) <= max_bytes && std::is_trivially_copyable_v<T>);
        std::memcpy(shared_.seats[rank_], &mine, sizeof(T));
        meet();
        for (int rank = 0; rank < size_; ++rank) read(rank);
        meet();
    }

    page& shared_;
    int rank_;
    int size_;
    std::uint64_t awaited_ = 0;
};

/// Children of this process; none outlives the object.
class child_processes {
public:
    child_processes() = default;
    child_processes(const child_processes&) = delete;
    child_processes& operator=(const child_processes&) = delete;
    ~child_processes() {
        for (const pid_t child : running_) {
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
        }
    }

    /// Starts `body()` in a process of its own.
    template <class Body>
    void start(Body body) {
        std::fflush(nullptr);
        const pid_t child = fork();
        if (child < 0) throw system_error("no further process can be started");
        if (child > 0) {
            running_.push_back(child);
            return;
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int code = 0;
        try {
            body();
        } catch (const std::exception& failure) {
            std::fprintf(stderr, "%s\n", failure.what());
            code = 1;
        }
        std::fflush(nullptr);
        _exit(code);
    }

    /// Waits for all; throws when the first has failed, and past the deadline.
    void join(double timeout_seconds) {
        const double deadline = now_seconds() + timeout_seconds;
        while (!running_.empty()) {
            if (now_seconds() > deadline) throw timeout_error("the processes have not ended in time");
            int code = 0;
            const pid_t ended = waitpid(running_.back(), &code, WNOHANG);
            if (ended == 0) {
                std::rotate(running_.begin(), running_.end() - 1, running_.end());  // look at another one next
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                continue;
            }
            running_.pop_back();
            if (!WIFEXITED(code) || WEXITSTATUS(code) != 0) throw system_error("one of the processes has failed");
        }
    }

private:
    std::vector<pid_t> running_;
};

/// Runs `body(team)` in `size` processes. Throws where one fails or the deadline passes.
template <class Body>
void run_processes(int size, double timeout_seconds, Body body) {
    if (size < 1 || size > team::most) throw usage_error("pes must be from 1 to " + std::to_string(team::most));
    void* const memory = mmap(nullptr, sizeof(team::page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw system_error("no memory for the processes to share");
    auto* const shared = new (memory) team::page;
    {
        child_processes children;
        for (int rank = 0; rank < size; ++rank) {
            children.start([&] {
                team mine(*shared, rank, size);
                body(mine);
            });
        }
        children.join(timeout_seconds);
    }
    munmap(memory, sizeof(team::page));
}

}  // namespace laneway::bench
