// Work on several cores that its caller can leave.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"

namespace laneway {

/// Whether the work of a thread of in_threads is still wanted. It looks at the first of 4,096 calls, so that a loop may
/// ask each time; once it says no it says no again.
class keep_going {
public:
    explicit keep_going(std::stop_token stop) : stop_(std::move(stop)) {}
    explicit operator bool() {
        if (calls_++ % 4096 == 0 && stop_.stop_requested()) ended_ = true;
        return !ended_;
    }

private:
    std::stop_token stop_;
    unsigned calls_ = 0;
    bool ended_ = false;
};

/// Cuts 0..n-1 into so many ranges of equal length, or nearly.
inline std::vector<std::uint64_t> equal_cuts(std::uint64_t n, std::uint64_t ranges) {
    std::vector<std::uint64_t> cuts;
    for (std::uint64_t i = 0; i <= ranges; ++i) cuts.push_back(n / ranges * i + std::min(i, n % ranges));
    return cuts;
}

/// Calls body(begin, end, going) for the ranges between neighbouring cuts, which rise, that are not empty, each by a
/// thread of its own, and waits for all. `going` is a `keep_going`; a body returns early where it says no. When all
/// threads have ended it throws what a body has thrown, what an interruption of the calling thread throws, or
/// system_error where a thread could not be started.
template <class Body>
void in_threads(const std::vector<std::uint64_t>& cuts, const Body& body) {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t running = 0;
    std::exception_ptr thrown;
    std::stop_source leaving;
    const auto work = [&](std::uint64_t begin, std::uint64_t end) noexcept {
        std::exception_ptr mine;
        try {
            keep_going going(leaving.get_token());
            body(begin, end, going);
        } catch (...) {
            mine = std::current_exception();
            leaving.request_stop();
        }
        const std::lock_guard lock(mutex);
        if (!thrown) thrown = mine;
        --running;
        changed.notify_all();
    };
    std::vector<std::jthread> threads;  // they are joined before what they use goes
    try {
        for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
            if (cuts[i] == cuts[i + 1]) continue;
            const std::lock_guard starting(mutex);
            try {
                threads.emplace_back(work, cuts[i], cuts[i + 1]);
            } catch (const std::system_error& refused) {
                throw system_error("a host thread could not be started: " + refused.code().message());
            }
            ++running;
        }
        std::unique_lock lock(mutex);
        while (!changed.wait_for(lock, std::chrono::milliseconds(20), [&] { return running == 0; })) {
            lock.unlock();
            interruption::poll();
            lock.lock();
        }
    } catch (...) {
        leaving.request_stop();
        throw;
    }
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace laneway
