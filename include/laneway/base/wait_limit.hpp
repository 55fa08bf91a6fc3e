// How long a host thread goes on waiting.
#pragma once

#include <algorithm>
#include <chrono>

namespace laneway {

/// The limit of a wait in a loop that looks again and again, at least every 50 ms. A look that has taken longer counts
/// as 50 ms: then most likely the machine stood still, and with it the threads that are waited for, which need time to
/// see their own deadline. What is not counted is a minute at most.
class wait_limit {
public:
    using seconds = std::chrono::duration<double>;
    static constexpr seconds longest_look{0.05};
    static constexpr seconds most_forgiven{60};

    explicit wait_limit(seconds left) : left_(left) {}

    /// Whether the time is over. Once a look.
    [[nodiscard]] bool is_over() {
        const auto now = clock::now();
        const seconds took = now - last_;
        const auto forgiven = std::clamp(took - longest_look, seconds(0), forgivable_);
        forgivable_ -= forgiven;
        left_ -= took - forgiven;
        last_ = now;
        return left_ < seconds(0);
    }
    /// Gives the wait so much time from now on.
    void renew(seconds left) { *this = wait_limit(left); }

private:
    using clock = std::chrono::steady_clock;

    seconds left_;
    seconds forgivable_ = most_forgiven;
    clock::time_point last_ = clock::now();
};

}  // namespace laneway
