// How far a run is, for those who watch it from another thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace laneway {

class run_meter {
public:
    struct reading {
        std::uint64_t served = 0;  ///< messages served so far, all PEs
        std::uint64_t open = 0;    ///< work created and not yet completed, all PEs
    };

    /// Of the run that goes on, a little late, or at the end of the last one. Host, any thread; does not wait.
    [[nodiscard]] reading read() const {
        const std::lock_guard lock(mutex_);
        if (!words_) return {};
        const auto load = [&](int i) {
            return std::atomic_ref<std::uint64_t>(words_.get()[i]).load(std::memory_order_relaxed);
        };
        return {load(0), load(1)};
    }

    /// Two words that the coordinator of the coming runs stores to: those of a reading. Host.
    void follow(std::shared_ptr<std::uint64_t> words) {
        const std::lock_guard lock(mutex_);
        words_ = std::move(words);
    }

private:
    mutable std::mutex mutex_;
    std::shared_ptr<std::uint64_t> words_;
};

}  // namespace laneway
