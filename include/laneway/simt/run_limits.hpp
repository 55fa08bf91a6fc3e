// How long a run may go on once its time is over, before the host gives it up.
#pragma once

#include <chrono>

namespace laneway {

/// Of lanes, from when they are told to end.
inline constexpr std::chrono::seconds time_to_leave{1};
/// The same on CPU devices: so long, at most, lanes get beyond that which have had little processor time.
inline constexpr std::chrono::seconds longest_held_back{3};
/// Of host functions, once the last lane has ended.
inline constexpr std::chrono::seconds time_to_return{2};
/// From when lanes are told to end until the host has given up whatever goes on, with some time for itself.
inline constexpr std::chrono::seconds time_to_give_up{10};
static_assert(4 * time_to_leave + longest_held_back + time_to_return < time_to_give_up);

}  // namespace laneway
