// Delays of CPU lanes at random, for builds that look for code and tests that depend on who is faster.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

/// At about one of so many accesses to memory that lanes share, a thread sleeps as one does whose core others use. 0:
/// never, and nothing is compiled. One value for all files of a program.
#ifndef LANEWAY_DELAYS
#define LANEWAY_DELAYS 0
#endif

namespace laneway::cpu {

/// Those of the calling thread. They cannot be repeated: runs differ, as what comes of a sleep does.
class random_delays {
public:
    static void step() {
        if constexpr (LANEWAY_DELAYS > 0) {
            if (random_ == 0) random_ = static_cast<std::uint64_t>(clock::now().time_since_epoch().count()) | 1;
            random_ ^= random_ << 13;  // xorshift64 (Marsaglia, Journal of Statistical Software 8(14), 2003)
            random_ ^= random_ >> 7;
            random_ ^= random_ << 17;
            const std::uint64_t turn = random_ >> 32;  // the low bits of neighbours in time are alike
            if (turn % one_of == 0) std::this_thread::sleep_for(shortest + std::chrono::microseconds(random_ % 5000));
        }
    }

private:
    using clock = std::chrono::steady_clock;
    static constexpr std::uint64_t one_of = LANEWAY_DELAYS > 0 ? LANEWAY_DELAYS : 1;
    static constexpr std::chrono::microseconds shortest{500};
    static inline constinit thread_local std::uint64_t random_ = 0;
};

}  // namespace laneway::cpu
