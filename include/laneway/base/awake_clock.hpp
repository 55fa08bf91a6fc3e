// A clock for the limits of waits.
#pragma once

#include <chrono>

namespace laneway {

/// The steady clock without the time in which the process stood still: stopped by a debugger or by Ctrl-Z, or with its
/// machine. Whoever is waited for stood still as well, and needs the rest of the time. Where two looks at the clock, of
/// whichever threads, lie further apart, it goes on by some 50 ms, 32 to 64; so it is of use where threads look at it
/// all the time. Leaves out half a year in all. Meets the requirements of a C++ Clock.
class awake_clock {
public:
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<awake_clock>;
    static constexpr bool is_steady = false;

    static time_point now() noexcept;
};

}  // namespace laneway
