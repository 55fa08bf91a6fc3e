// A mutex whose holder can tell that it is the holder.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace laneway {

/// As std::recursive_timed_mutex: the thread that has it may lock it again.
class held_mutex {
public:
    void lock() {
        mutex_.lock();
        enter();
    }
    [[nodiscard]] bool try_lock() {
        const bool has = mutex_.try_lock();
        if (has) enter();
        return has;
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
        const bool has = mutex_.try_lock_for(wait);
        if (has) enter();
        return has;
    }
    void unlock() {
        if (--depth_ == 0) holder_ = std::thread::id{};
        mutex_.unlock();
    }
    /// Whether the calling thread has it.
    [[nodiscard]] bool is_mine() const { return holder_ == std::this_thread::get_id(); }

private:
    void enter() {
        if (depth_++ == 0) holder_ = std::this_thread::get_id();
    }

    std::recursive_timed_mutex mutex_;
    int depth_ = 0;  ///< of the holder's locks
    std::atomic<std::thread::id> holder_;
};

}  // namespace laneway
