// Programs whose lanes divide work beforehand count on every PE having as many of them: see working_warp::of_run.
#pragma once

#include <string>

#include "laneway/runtime.hpp"

namespace laneway::apps {

/// Throws usage_error where PEs would run grids of different sizes: CPU devices beside GPUs, or unequal GPUs.
/// `program`: its name.
inline void require_equal_lanes(runtime& rt, const std::string& program) {
    const device& first = *rt.machine().device(0);
    for (int pe = 1; pe < rt.n_pes(); ++pe) {
        const device& other = *rt.machine().device(pe);
        if (other.id().kind == first.id().kind && other.multiprocessors() == first.multiprocessors()) continue;
        throw usage_error(program + ": " + first.name() + " and " + other.name() +
                          " run different numbers of lanes, but its work is divided evenly: choose equal devices");
    }
}

}  // namespace laneway::apps
