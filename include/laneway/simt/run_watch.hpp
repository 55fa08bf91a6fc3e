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
    wait_limit::seconds grace;      ///< what lanes have to end once they are told to
    std::function<bool()> failing;  ///< whether lanes shall stop because something has failed
    std::function<void()> stop;     ///< tells all lanes to stop; called once
    std::function<void()> late;     ///< tells all lanes that the time is over; called once

    /// Looks at all runs by turns until all are done: what one throws comes at once, whatever the others do. When
    /// `limit` is over, lanes are told so, and have the grace; so they have once they are told to stop. Returns one of
    /// the runs that go on behind that and have had their chance.
    [[nodiscard]] std::optional<std::size_t> await(const std::vector<std::unique_ptr<running>>& runs,
                                                   wait_limit& limit) const;
};

}  // namespace laneway
