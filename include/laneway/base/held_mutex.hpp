// A mutex whose holder can tell that it is the holder.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace laneway {

/// As std::recursive_timed_mutex, which ThreadSanitizer of GCC 12 does not know to be locked by try_lock_for: the
/// thread that has it may lock it again.
class held_mutex {
public:
    void lock() {
        std::unique_lock lock(mutex_);
        free_.wait(lock, [&] { return is_free(); });
        enter();
    }
    [[nodiscard]] bool try_lock() { return try_lock_for(std::chrono::seconds(0)); }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
        std::unique_lock lock(mutex_);
        const bool has = free_.wait_for(lock, wait, [&] { return is_free(); });
        if (has) enter();
        return has;
    }
    void unlock() {
        const std::lock_guard lock(mutex_);
        if (--depth_ != 0) return;
        holder_ = std::thread::id{};
        free_.notify_one();
    }
    /// Whether the calling thread has it.
    [[nodiscard]] bool is_mine() const { return holder_ == std::this_thread::get_id(); }

private:
    [[nodiscard]] bool is_free() const { return depth_ == 0 || is_mine(); }
    void enter() {
        if (depth_++ == 0) holder_ = std::this_thread::get_id();
    }

    std::mutex mutex_;  ///< of depth_
    std::condition_variable free_;
    int depth_ = 0;  ///< of the holder's locks
    std::atomic<std::thread::id> holder_;
};

}  // namespace laneway
