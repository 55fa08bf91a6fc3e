#include "laneway/base/awake_clock.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace laneway {

namespace {

constexpr std::chrono::nanoseconds look_tick{16'000'000};
constexpr std::uint64_t longest_look = 3;  // ticks
// What is lost lies in the low bits, the tick of the last look above it: one word, so that no thread sees one without
// the other. In ticks: half a year, and eight years from the machine's start.
constexpr int lost_bits = 30;
constexpr std::uint64_t max_lost = (std::uint64_t{1} << lost_bits) - 1;

std::uint64_t after_look(std::uint64_t before, std::uint64_t tick) {
    const std::uint64_t last = before >> lost_bits, lost = before & max_lost;
    const std::uint64_t gap = tick - last;
    const std::uint64_t more = last == 0 || gap <= longest_look ? 0 : gap - longest_look;
    return tick << lost_bits | std::min(lost + more, max_lost);
}

}  // namespace

awake_clock::time_point awake_clock::now() noexcept {
    // All look and change it here; nothing else is ordered by it.
    static constinit std::atomic<std::uint64_t> looks{0};
    const auto steady = std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch());
    const auto tick = static_cast<std::uint64_t>(steady / look_tick);
    std::uint64_t seen = looks.load(std::memory_order_relaxed);
    while (seen >> lost_bits < tick) {
        const std::uint64_t made = after_look(seen, tick);
        if (looks.compare_exchange_weak(seen, made, std::memory_order_relaxed)) seen = made;
    }
    // A thread may have read the time long before another one looked.
    const duration last = look_tick * static_cast<rep>(seen >> lost_bits);
    return time_point(std::max(steady, last) - look_tick * static_cast<rep>(seen & max_lost));
}

}  // namespace laneway
