// Messages are one line each, whatever others wrote into them.
#pragma once

#include <algorithm>
#include <string>

namespace laneway {

/// The text with a space in place of each control character, line ends above all.
inline std::string one_line(std::string text) {
    const auto control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
    std::replace_if(text.begin(), text.end(), control, ' ');
    return text;
}

}  // namespace laneway
