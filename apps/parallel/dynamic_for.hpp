// Pieces of work that the working warps of a PE take from a counter, each when it has done its last one.
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

/// The same for a loop over pieces: once the run is ending, a number that no piece has, nor the first of its rows. What
/// is left is not done, and the barrier behind it fails.
template <class Ctx>
LANEWAY_FN std::uint64_t claim_piece(Ctx& ctx, symmetric_ptr<std::uint64_t> counter) {
    ctx.sync(full_warp<Ctx>);
    return once(ctx, full_warp<Ctx>, [&] {
        constexpr std::uint64_t none = std::uint64_t{1} << 48;
        return stopped(ctx) ? none : atomic_add(ctx, counter, 1, scope::device);
    });
}

/// The same for loops that neither post nor use one-sided operations: on CPU devices nobody else may look at the
/// deadline or at what the host says.
template <class Ctx, class Box>
LANEWAY_FN std::uint64_t claim_piece(Ctx& ctx, Box& box, symmetric_ptr<std::uint64_t> counter) {
    (void)box.progress(ctx);
    return claim_piece(ctx, counter);
}

/// Calls `body(i)` for every i below `total`, once on this PE, by lanes of neighbouring i: warps claim `rows` rows of a
/// warp at a time. Every working warp of the PE, together; `counter` starts at 0.
template <class Ctx, class Body>
LANEWAY_FN void dynamic_for(Ctx& ctx, symmetric_ptr<std::uint64_t> counter, std::uint64_t total, std::uint64_t rows,
                            Body&& body) {
    const std::uint64_t piece = rows * Ctx::warp_lanes;
    for (;;) {
        const std::uint64_t begin = claim_piece(ctx, counter) * piece;
        if (begin >= total) return;
        const std::uint64_t end = begin + piece < total ? begin + piece : total;
        for (std::uint64_t i = begin + static_cast<std::uint64_t>(ctx.lane()); i < end; i += Ctx::warp_lanes) body(i);
    }
}

}  // namespace laneway::apps
