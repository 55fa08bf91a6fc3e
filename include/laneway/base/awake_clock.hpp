// A clock for the limits of waits.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace laneway {

/// The steady clock without the time in which the process stood still: stopped by a debugger or by Ctrl-Z, or with its
/// machine. Whoever is waited for stood still as well, and needs the rest of the time. Where two looks at the clock, of
/// whichever threads, lie more than 50 ms apart, it goes on by 50 ms; so it is of use where threads look at it all the
/// time. Threads may find it milliseconds apart. Meets the requirements of a C++ Clock.
class awake_clock {
public:
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<awake_clock>;
    static constexpr bool is_steady = false;

    static time_point now() noexcept {
        const auto steady = std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch());
        return time_point(steady - tick * static_cast<rep>(lost_ticks(static_cast<std::uint64_t>(steady / tick))));
    }

private:
    static constexpr duration tick{4'000'000};
    static constexpr std::uint64_t longest_look = std::chrono::milliseconds(52) / tick;
    /// What is lost lies in the low bits (12 days of ticks), the tick of the last look above it: one word, so that no
    /// thread sees one without the other.
    static constexpr int lost_bits = 28;
    static constexpr std::uint64_t most_lost = (std::uint64_t{1} << lost_bits) - 1;

    /// A look: how many ticks the process has stood still until now.
    static std::uint64_t lost_ticks(std::uint64_t now) noexcept {
        std::uint64_t seen = looks_.load(std::memory_order_relaxed);
        for (;;) {
            const std::uint64_t last = seen >> lost_bits, lost = seen & most_lost;
            if (now <= last) return lost;  // also of a thread that took the time a while ago
            const std::uint64_t gap = now - last;
            const std::uint64_t more = last == 0 || gap <= longest_look ? 0 : gap - longest_look;
            const std::uint64_t made = now << lost_bits | std::min(lost + more, most_lost);
            if (looks_.compare_exchange_weak(seen, made, std::memory_order_relaxed)) return made & most_lost;
        }
    }

    static inline constinit std::atomic<std::uint64_t> looks_{0};
};

}  // namespace laneway
