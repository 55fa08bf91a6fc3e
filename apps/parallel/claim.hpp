// Numbers that the warps of a PE draw from a counter.
#pragma once

#include "laneway/memory/symmetric.hpp"
#include "laneway/simt/fail.hpp"
#include "laneway/simt/group.hpp"

namespace laneway::apps {

/// The next number of a PE's counter, the same for all lanes of the warp. The whole warp, together.
template <class Ctx>
LANEWAY_FN std::uint64_t claim(Ctx& ctx, symmetric_ptr<std::uint64_t> counter) {
    ctx.sync(full_warp<Ctx>);
    return once(ctx, full_warp<Ctx>, [&] { return atomic_add(ctx, counter, 1, scope::device); });
}

}  // namespace laneway::apps
