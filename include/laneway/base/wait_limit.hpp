// How long a host thread goes on waiting.
#pragma once

#include <chrono>

#include "laneway/base/awake_clock.hpp"

namespace laneway {

/// The limit of a wait in a loop that asks again and again, at least every 50 ms.
class wait_limit {
public:
    using seconds = std::chrono::duration<double>;

    explicit wait_limit(seconds left) : end_(now() + left) {}

    /// Whether the time is over, not counting that in which the process stood still.
    [[nodiscard]] bool is_over() const { return now() > end_; }
    /// Gives the wait so much time from now on.
    void renew(seconds left) { *this = wait_limit(left); }

private:
    static seconds now() { return awake_clock::now().time_since_epoch(); }

    seconds end_;
};

}  // namespace laneway
