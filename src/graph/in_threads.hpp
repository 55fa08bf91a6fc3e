// Work on several cores that its caller can leave.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "laneway/base/interruption.hpp"

namespace laneway::graph {

/// What a thread of in_threads looks at now and then: whether its work is still wanted.
class wanted {
public:
    explicit wanted(std::stop_token stop) : stop_(std::move(stop)) {}
    explicit operator bool() { return ++calls_ % 4096 != 0 || !stop_.stop_requested(); }

private:
    std::stop_token stop_;
    unsigned calls_ = 0;
};

/// Calls body(begin, end, going) for the ranges between neighbouring cuts, each by a thread of its own, and waits for
/// all. `going` is a `wanted`; a body returns early where it says no, and must not throw. Throws what an interruption
/// of the calling thread throws, after all threads have ended.
template <class Body>
void in_threads(const std::vector<std::uint64_t>& cuts, const Body& body) {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t running = cuts.size() - 1;
    std::stop_source leaving;
    std::vector<std::jthread> threads;
    try {
        for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
            threads.emplace_back([&, begin = cuts[i], end = cuts[i + 1]] {
                wanted going(leaving.get_token());
                body(begin, end, going);
                const std::lock_guard lock(mutex);
                --running;
                changed.notify_all();
            });
        }
        std::unique_lock lock(mutex);
        while (!changed.wait_for(lock, std::chrono::milliseconds(20), [&] { return running == 0; })) {
            lock.unlock();
            interruption::poll();
            lock.lock();
        }
    } catch (...) {
        leaving.request_stop();
        threads.clear();  // joins them
        throw;
    }
}

}  // namespace laneway::graph
