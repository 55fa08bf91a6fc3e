// The service of programs that have warps or threads of the host copy for them.
#pragma once

#include "laneway/task/service.hpp"

namespace laneway::apps {

inline service_options copying_service(bool by_host_threads) {
    service_options made;
    made.by = by_host_threads ? service_by::host : service_by::warps;
    made.heap_bytes = 0;
    return made;
}

}  // namespace laneway::apps
