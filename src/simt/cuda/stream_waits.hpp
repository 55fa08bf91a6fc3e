// What streams of GPUs wait for, and first launches of kernels, which the driver may hold up behind it.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "laneway/base/error.hpp"

namespace laneway::cuda_backend {

/// Waits for words of the library's streams that have not ended, on all GPUs of the process: a stream may wait for an
/// event behind such a wait on another GPU. Any thread.
///
/// The first launch of a kernel may take until all is over that streams have begun, inside the driver, which lets no
/// other thread end a wait meanwhile. So it comes when nothing waits; each wait ends at its deadline.
class stream_waits {
public:
    static stream_waits& get() {
        static auto& all = *new stream_waits;  // never destroyed: threads of streams may outlive main
        return all;
    }

    /// One more, which has ended when the result goes. Not while a kernel is launched for the first time.
    [[nodiscard]] std::shared_ptr<void> open(double timeout_seconds) {
        {
            const std::lock_guard lock(mutex_);
            longest_ = std::max(longest_, timeout_seconds);
            ++open_;
        }
        return {nullptr, [this](void*) {
                    const std::lock_guard lock(mutex_);
                    if (--open_ == 0) none_.notify_all();
                }};
    }

    /// Calls `launch` when there are none. Throws timeout_error where new ones always come: when those that are there
    /// now, one behind the other, each behind a kernel, would have passed their deadlines.
    template <class Launch>
    void when_none(const std::string& device, Launch&& launch) {
        std::unique_lock lock(mutex_);
        const std::chrono::duration<double> limit(std::min(1 + 2 * open_ * longest_, 1e9));
        const auto end = clock::now() + std::chrono::duration_cast<clock::duration>(limit);
        if (!none_.wait_until(lock, end, [&] { return open_ == 0; })) {
            throw timeout_error(device +
                                ": a kernel is to run there for the first time, and streams always wait for "
                                "words: run the program once before they do");
        }
        launch();
    }

private:
    using clock = std::chrono::steady_clock;

    std::mutex mutex_;
    std::condition_variable none_;
    int open_ = 0;
    double longest_ = 0;  ///< deadline of a wait so far, in seconds
};

}  // namespace laneway::cuda_backend
