// The two ways to another PE's memory.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

/// How a one-sided operation reaches another PE.
enum class path : std::uint32_t {
    by_options,  ///< as options::path says
    direct,      ///< by load, store and atomic, over NVLink; aggregated where the memory cannot be reached so
    aggregated,  ///< as a message, many at a time, served by the owner
};

}  // namespace laneway
