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

}  // namespace laneway
