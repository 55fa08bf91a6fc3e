// The service of programs that have warps or threads of the host copy for them.
#pragma once

#include <string>

#include "laneway/runtime.hpp"
#include "laneway/task/service.hpp"

namespace laneway::apps {

/// Throws usage_error for host threads where there are GPUs. `program`: its name.
inline service_options copying_service(runtime& rt, const std::string& program, bool by_host_threads) {
    if (by_host_threads && rt.machine().has_gpus()) {
        throw usage_error(program + ": host threads copy nothing in a GPU's memory: choose another style");
    }
    service_options made;
    made.by = by_host_threads ? service_by::host : service_by::warps;
    made.heap_bytes = 0;
    return made;
}

}  // namespace laneway::apps
