// Leaving a long call of the host before it is done.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>

namespace laneway {

/// While one of these lives, calls of the library on the thread that made it can be left: whatever takes long asks it
/// about every 20 ms, and what it throws leaves the call. A run is ended on all its devices first, and nothing that the
/// call had begun stays behind. The innermost of a thread counts; other threads do not see it. Host only.
class interruption {
public:
    /// Calls `look` on this thread, for a program that has its own way to know.
    explicit interruption(std::function<void()> look);
    /// Throws `interrupted` once `stop` has been requested, on whichever thread.
    explicit interruption(std::stop_token stop);
    ~interruption();
    interruption(const interruption&) = delete;
    interruption& operator=(const interruption&) = delete;

    /// Where a call can be left: asks if that is due. For code that takes long, every few microseconds at most: it
    /// reads the clock. Any thread; does nothing where the thread has no interruption.
    static void poll();

private:
    using clock = std::chrono::steady_clock;

    std::function<void()> look_;
    interruption* outer_;
    clock::time_point due_{};  ///< at once, then every 20 ms
};

/// `interruption::poll()` once in 4,096 calls: for loops whose rounds take nanoseconds.
class interruption_counter {
public:
    void poll() {
        if (++calls_ % 4096 == 0) interruption::poll();
    }

private:
    unsigned calls_ = 0;
};

}  // namespace laneway
