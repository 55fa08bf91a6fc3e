// Names of lanes, and of places in a program, as messages of checked devices tell them.
#pragma once

#include <source_location>
#include <string>

namespace laneway::checked {

struct lane_place {
    int pe = 0;
    int block = 0;
    int warp = 0;
    int lane = 0;

    /// "PE 1 block 0 warp 2 lane 3".
    [[nodiscard]] std::string text() const {
        return "PE " + std::to_string(pe) + " block " + std::to_string(block) + " warp " + std::to_string(warp) +
               " lane " + std::to_string(lane);
    }
};

/// "barrier (box.hpp:161)".
std::string text_of(const std::source_location& where);

}  // namespace laneway::checked
