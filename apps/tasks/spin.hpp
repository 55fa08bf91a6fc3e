// The task type `spin`: takes a given time on the device's clock, and no memory. For measurements of what a pool adds.
#pragma once

#include "laneway/simt/wait.hpp"

namespace laneway::apps {

struct spin {
    /// Nanoseconds.
    using arguments = std::uint64_t;
    /// Nanoseconds that it took.
    using result = std::uint64_t;

    template <class Ctx>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& nanoseconds) const {
        const std::uint64_t start = ctx.now_ns();
        // Where the program is ending, so does the task.
        (void)wait_until(ctx, wait_site{}, [&] { return ctx.now_ns() - start >= nanoseconds; });
        return ctx.now_ns() - start;
    }
};

}  // namespace laneway::apps
