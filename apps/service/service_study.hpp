// What a service costs: the time of a lone request there and back, and requests a second when many warps post, over
// who serves, the size of a request, and how many warps ask.
#pragma once

#include <optional>

#include "laneway/runtime.hpp"
#include "laneway/task/service_memory.hpp"

namespace laneway::apps {

/// "warps", "host" or "pe"; throws usage_error for others.
service_by parse_servers(const std::string& name);

struct service_study_options {
    options job;
    service_options service;
    std::uint32_t bytes = 8;           ///< of a request: 8, 64 or 256
    std::uint64_t warps = 0;           ///< of the job that post in bulk, in as many blocks as there are; 0: all
    std::uint64_t rounds = 1000;       ///< of lone requests
    std::uint64_t requests = 1 << 20;  ///< in bulk, about
    double min_seconds = 0;            ///< of the run in bulk: it has more requests where it would be over sooner
};

struct service_study_result {
    std::vector<double> round_trip_ns;  ///< of each lone request of PE 0, by its own clock
    double seconds = 0;                 ///< of the run in bulk
    std::uint64_t requests = 0;         ///< in bulk
    std::uint64_t slots = 0;            ///< that they came in
    std::optional<double> joules;  ///< that the devices consumed in bulk: all have a meter, and it took 0.5 s at least
};

/// Measures, and checks every answer and the number of requests that were carried out. Throws usage_error for what
/// cannot be, device_fault where something was lost or answered wrongly, and as runtime::run does.
service_study_result measure_service(const service_study_options& options);

}  // namespace laneway::apps
