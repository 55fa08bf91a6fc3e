// What copies by hardware need of a block's shared memory, and what they are where there is none: bulk_copy.hpp has
// those that there are.
#pragma once

#include "laneway/simt/wait.hpp"

namespace laneway {

inline constexpr std::uint32_t bulk_stages = 8, bulk_stage_bytes = 4096;

/// Bulk copies of a block pass through this, of one lane at a time. The same size on all devices.
struct bulk_staging {
    alignas(16) std::byte stages[bulk_stages][bulk_stage_bytes];
    alignas(16) std::uint64_t arrived[bulk_stages];  ///< where the hardware counts a stage's bytes
    std::byte* targets[bulk_stages];                 ///< where what a stage holds goes to
    std::uint32_t lengths[bulk_stages];
    std::uint32_t parities;  ///< a bit a stage: which phase its next use waits for
    std::uint32_t owned;     ///< 1 while a lane copies
};
static_assert(sizeof(bulk_staging) % 16 == 0);

/// Parts of a copy, of a stage at most, that have been begun to load, and that have been begun to store.
struct bulk_progress {
    std::uint32_t loaded = 0;
    std::uint32_t stored = 0;
};

/// Both addresses and the length of a bulk copy are multiples of this.
inline constexpr std::uint64_t bulk_alignment = 16;

/// Bulk copies of a kind of device. `available`: whether there are any. `open`: one lane of the block, before use; a
/// block barrier follows. The lane that owns the staging calls `begin`, `copy` as often as it likes, and `end`: what it
/// can see of the sources at `begin` is copied, and it sees the copies behind `end`. `copy` waits only while all stages
/// are in use. Both fail with stopped or timeout.
template <class Ctx>
struct bulk_copier {
    static LANEWAY_FN bool available() { return false; }
    static LANEWAY_FN void open(bulk_staging&) {}
    static LANEWAY_FN void begin(Ctx&) {}
    static LANEWAY_FN status copy(Ctx&, bulk_staging&, bulk_progress&, std::byte*, const std::byte*, std::uint64_t) {
        return status::ok;
    }
    static LANEWAY_FN status end(Ctx&, bulk_staging&, bulk_progress&) { return status::ok; }
};

}  // namespace laneway
