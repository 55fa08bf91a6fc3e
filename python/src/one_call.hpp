// One compiled call at a time on an object that several Python threads share.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"

namespace laneway::python {

/// What a call holds while it goes on. Others wait for it, and where the call is interruptible, their wait can be left.
/// A call that a signal handler makes on the thread that holds it already is refused: it would wait for itself.
class one_call {
public:
    /// `what` goes on, in messages. Throws usage_error as above.
    explicit one_call(std::string what) : what_(std::move(what)) {}

    void lock() {
        const std::thread::id self = std::this_thread::get_id();
        if (holder_.load(std::memory_order_relaxed) == self) {
            throw usage_error(what_ + " goes on already: a signal handler cannot begin another in the midst of it");
        }
        while (!held_.try_lock_for(std::chrono::milliseconds(20))) interruption::poll();
        holder_.store(self, std::memory_order_relaxed);  // only this thread can find itself there
    }
    /// Never waits.
    [[nodiscard]] bool try_lock() {
        const std::thread::id self = std::this_thread::get_id();
        if (holder_.load(std::memory_order_relaxed) == self || !held_.try_lock()) return false;
        holder_.store(self, std::memory_order_relaxed);
        return true;
    }
    void unlock() {
        holder_.store({}, std::memory_order_relaxed);
        held_.unlock();
    }

private:
    std::string what_;
    std::timed_mutex held_;
    std::atomic<std::thread::id> holder_{};
};

}  // namespace laneway::python
