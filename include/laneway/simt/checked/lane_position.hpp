// Names of lanes, and of places in a program, as messages of checked devices tell them.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>

namespace laneway::checked {

/// "PE 1 (checked:1)". All PEs of a checked run are checked devices, in order.
inline std::string text_of_pe(int pe) {
    const std::string number = std::to_string(pe);
    return "PE " + number + " (checked:" + number + ")";
}

/// "symmetric array 1 (counted from 0 as allocated)".
inline std::string text_of_array(std::uint32_t segment) {
    return "symmetric array " + std::to_string(segment) + " (counted from 0 as allocated)";
}

struct lane_position {
    int pe = 0;
    int block = 0;
    int warp = 0;
    int lane = 0;

    /// "PE 1 (checked:1) block 0 warp 2 lane 3".
    [[nodiscard]] std::string text() const {
        return text_of_pe(pe) + " block " + std::to_string(block) + " warp " + std::to_string(warp) + " lane " +
               std::to_string(lane);
    }
};

/// "barrier (endpoint.hpp:161)".
std::string text_of(const std::source_location& where);

}  // namespace laneway::checked
