// The two models by which what one PE writes becomes readable by another.
#pragma once

#include <cstdint>

namespace laneway {

/// How the PEs of a job reach each other.
enum class transport_model : std::uint8_t {
    mapped,   ///< lanes store into memory that the other PE loads from
    proxied,  ///< lanes store into memory of their own PE, and a thread of the host carries it, as a network would
};

}  // namespace laneway
