// How the processes of a job on one host find each other.
#pragma once

#include <string>
#include <vector>

#include "peer_link.hpp"

namespace laneway {

constexpr int look_ms = 20;  ///< between two looks at the deadline and at interruptions

/// Links to all processes, by rank, the own one not connected; see local_processes. Each process connects to those
/// below it and is connected to by those above.
std::vector<peer_link> join_local_job(const std::string& name, int rank, int size, double timeout_seconds);

/// Throws timeout_error.
[[noreturn]] void throw_late(const std::string& doing, double timeout_seconds);

}  // namespace laneway
