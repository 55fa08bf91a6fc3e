// What checked devices throw at lanes that do what they must not.
#pragma once

#include <string>

#include "laneway/base/error.hpp"

namespace laneway::checked {

/// Ends the run as a usage_error. The message names the lanes and the places in the program.
class misuse : public usage_error {
public:
    explicit misuse(const std::string& what) : usage_error(what) {}
};

}  // namespace laneway::checked
