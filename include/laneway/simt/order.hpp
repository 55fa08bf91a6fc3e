// Memory order and scope of device-side atomics, as the CUDA and C++ memory models name them.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

enum class order { relaxed, acquire, release, acq_rel };

/// Who may look: lanes of one block, of one device, or anyone (other devices and the host).
enum class scope { block, device, system };

/// A set of lanes of one warp, bit i for lane i.
using lane_mask = std::uint32_t;

/// Whether an acquire fence behind a relaxed load costs less than to load again with acquire, as on GPUs. Checked
/// devices and ThreadSanitizer know an order by the word that makes it.
template <class Ctx>
inline constexpr bool acquires_by_fence = requires {
    requires Ctx::fences_to_acquire;
};

/// The orders of operations that share a fence, where fences are what takes long: of those that tell others something,
/// behind a release fence of their lane; of those that hear, before its acquire fence. Elsewhere each has its own.
template <class Ctx>
inline constexpr order behind_fence = acquires_by_fence<Ctx> ? order::relaxed : order::release;
template <class Ctx>
inline constexpr order before_fence = acquires_by_fence<Ctx> ? order::relaxed : order::acquire;
/// The fence that they share. Any lane; of lanes that call it together one instruction, which counts for each of them.
template <class Ctx>
LANEWAY_FN void shared_fence([[maybe_unused]] Ctx& ctx, [[maybe_unused]] order o, [[maybe_unused]] scope s) {
    if constexpr (acquires_by_fence<Ctx>) ctx.fence(o, s);
}

/// The orders of operations that have no fence on such devices: what is told depends on values that were read before
/// it, and whoever hears it does, depending on its value, only what a device does in that order: docs/design/0022.
/// Elsewhere each has its own.
template <class Ctx>
inline constexpr order dependent_release = acquires_by_fence<Ctx> ? order::relaxed : order::release;
template <class Ctx>
inline constexpr order dependent_acquire = acquires_by_fence<Ctx> ? order::relaxed : order::acquire;

}  // namespace laneway
