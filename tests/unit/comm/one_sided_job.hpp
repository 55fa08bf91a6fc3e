// What suites of one-sided operations share.
#pragma once

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// Options of a round: all five types of message fit, and the way to carry alternates.
inline options one_sided_options(options o) {
    o.chunk_bytes += 32;
    o.path = o.seed % 2 == 0 ? path::direct : path::aggregated;
    return o;
}

/// Of all PEs, of one element.
template <class T>
T total(const symmetric_array<T>& words, int pes, std::size_t index) {
    T sum{};
    for (int pe = 0; pe < pes; ++pe) sum += words.copy_out(pe)[index];
    return sum;
}

/// Counts the lanes that work.
struct count_ranks {
    symmetric_ref<std::uint64_t> ranks;  ///< all lanes of the job, then those of this PE
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.rank() == 0) ranks.local(ctx)[0] = ctx.size();
        atomic_add(ctx, ranks[1], 1);
    }
};

}  // namespace laneway::test
