// A payload of a host thread as lanes find it.
#pragma once

#include "laneway/simt/context.hpp"

namespace laneway {

/// Before the bytes of a host thread's payload, in memory that the host and its PE share.
struct alignas(16) staged_payload {
    std::uint32_t is_used = 0;  ///< 1: lanes have used the payload, and nobody needs these bytes any more

    [[nodiscard]] LANEWAY_FN std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
};

}  // namespace laneway
