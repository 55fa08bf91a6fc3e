// Channels as narrow as a program can have them, for suites of recursive programs.
#pragma once

#include "recursion/recursion.hpp"

namespace laneway::test {
namespace {

/// Options of one round: the least width of a program in two of three, then a wider one; warps keep nothing, or little,
/// or all that they want.
inline apps::recursion_options narrow(const options& o, std::uint32_t least) {
    apps::recursion_options made;
    made.job = o;
    made.width = o.seed % 3 != 0 ? least : least * 16;
    if (o.seed % 4 != 3) made.memory_bytes = o.seed % 2 == 0 ? 0 : (8 + o.seed % 16) << 10;
    return made;
}

/// The least width in every round, and warps that keep nothing: where there is no room, elements are put back.
inline apps::recursion_options narrowest(const options& o, std::uint32_t least) {
    apps::recursion_options made;
    made.job = o;
    made.width = least;
    made.memory_bytes = 0;
    return made;
}

}  // namespace
}  // namespace laneway::test
