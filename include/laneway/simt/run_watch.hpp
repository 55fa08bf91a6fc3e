// The host's wait for what it has launched on the PEs.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "laneway/simt/running.hpp"

namespace laneway {

/// What the wait looks at beside the runs.
struct run_watch {
    std::chrono::steady_clock::time_point limit;  ///< when the wait ends at the latest
    std::chrono::steady_clock::duration grace;    ///< what lanes have to end once they are told to stop
    std::function<bool()> failing;                ///< whether lanes shall stop because something has failed
    std::function<void()> stop;                   ///< tells all lanes to stop; called once

    /// Looks at all runs by turns until all are done: what one throws comes at once, whatever the others do. Returns
    /// the first that was not done in time.
    [[nodiscard]] std::optional<std::size_t> await(const std::vector<std::unique_ptr<running>>& runs) const;
};

}  // namespace laneway
