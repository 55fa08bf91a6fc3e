// The host's wait for what it has launched on the PEs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "laneway/base/wait_limit.hpp"
#include "laneway/simt/running.hpp"

namespace laneway {

/// What the wait looks at beside the runs.
struct run_watch {
    wait_limit::seconds grace;      ///< what lanes have to end once they are told to stop
    std::function<bool()> failing;  ///< whether lanes shall stop because something has failed
    std::function<void()> stop;     ///< tells all lanes to stop; called once

    /// Looks at all runs by turns until all are done: what one throws comes at once, whatever the others do. Returns
    /// one that was not done when `limit` was over and has had its chance; the limit becomes `grace` once lanes are
    /// told to stop.
    [[nodiscard]] std::optional<std::size_t> await(const std::vector<std::unique_ptr<running>>& runs,
                                                   wait_limit& limit) const;
};

}  // namespace laneway
