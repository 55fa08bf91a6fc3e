// Messages are one line each, whatever others wrote into them.
#pragma once

#include <string>

namespace laneway {

/// The text with `stand_in` in place of each control character, line ends above all. In names a space would be one that
/// they have.
inline std::string one_line(std::string text, char stand_in = '?') {
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = stand_in;
    }
    return text;
}

}  // namespace laneway
