// What a run beside a service comes to.
#pragma once

#include <cstdint>

namespace laneway::apps {

struct served_run {
    double seconds = 0;
    std::uint64_t requests = 0;  ///< that the service has carried out
};

}  // namespace laneway::apps
