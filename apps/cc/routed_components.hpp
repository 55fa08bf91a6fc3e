// Connected components of a graph that the host deals out to devices arc by arc: the host's view.
#pragma once

#include <cstddef>

#include "cc.hpp"

namespace laneway::apps {

struct routed_components_options {
    options job;                   ///< devices, deadline, seed
    std::size_t packet_bytes = 0;  ///< of the arcs that a device takes at once; 0: 64 KiB to 4 MiB
    int buffers = 2;               ///< packets of arcs that a device holds, and as many of other devices' forests
};

/// As connected_components; the result is the same. No device has the graph: packets of arcs go through a router to
/// whichever device has room first, which joins them in a forest over all vertices of its own. Forests are merged up a
/// binomial tree of devices, and the first one's goes to the host. Each device holds a word a vertex and its packets,
/// so the arcs need not fit. The report's messages are arcs and vertices of forests, its chunks packets, and the
/// diagonal of its matrix is what went between the host and each device. Throws usage_error for wrong options and
/// packets that do not fit into options::buffer_bytes, timeout_error, device_fault and cuda_error for a failed run.
/// Method: Groute (Ben-Nun, Sutton, Pai and Pingali, 2020), section on connected components.
cc_result components_by_router(const graph::graph& graph, const routed_components_options& options);
/// With the workspace's devices, which stay open for the next one; `options.job` is the workspace's.
cc_result components_by_router(workspace& devices, const graph::graph& graph, routed_components_options options);

}  // namespace laneway::apps
