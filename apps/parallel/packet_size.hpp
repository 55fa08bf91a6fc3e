// How much of an array that the host streams to devices goes into a packet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "laneway/base/error.hpp"
#include "laneway/base/options.hpp"

namespace laneway::apps {

/// Payload of a packet where each device holds `held` of them within the job's bound: `asked`; where that is 0, each
/// device could have eight, so that there is something to balance, of 64 KiB to 4 MiB. Throws usage_error for packets
/// that do not fit.
inline std::size_t packet_size(std::size_t asked, std::uint64_t held, std::uint64_t array_bytes, std::size_t devices,
                               const options& job) {
    const std::uint64_t most = job.buffer_bytes / held;
    if (asked > most) {
        throw usage_error("packet_bytes: " + std::to_string(held) + " packets of " + std::to_string(asked) +
                          " bytes on a device do not fit into " + std::to_string(job.buffer_bytes) +
                          " bytes of buffers");
    }
    if (asked != 0) return asked;
    return std::min<std::uint64_t>(most, std::clamp<std::uint64_t>(array_bytes / (8 * devices), 64 << 10, 4 << 20));
}

}  // namespace laneway::apps
