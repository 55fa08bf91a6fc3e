// Messages are one line each, whatever others wrote into them.
#pragma once

#include <algorithm>
#include <string>

namespace laneway {

/// The text with `stand_in` in place of each control character, line ends above all. In names a space would be one that
/// they have.
inline std::string one_line(std::string text, char stand_in = '?') {
    const auto control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
    std::replace_if(text.begin(), text.end(), control, stand_in);
    return text;
}

}  // namespace laneway
