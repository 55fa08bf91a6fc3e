// What the system says of its errors.
#pragma once

#include <cctype>
#include <string>
#include <system_error>

namespace laneway {

/// "no such file or directory": in the case of all other messages, as the Python part says it too.
inline std::string reason_of(const std::error_code& error) {
    std::string words = error.message();
    if (!words.empty()) words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
    return words;
}
/// The same of a number that errno had.
inline std::string reason_of(int error) { return reason_of(std::error_code(error, std::generic_category())); }

}  // namespace laneway
