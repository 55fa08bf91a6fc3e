// Sums over what the PEs of a runtime hold.
#pragma once

#include "laneway/runtime.hpp"

namespace laneway::test {

inline std::uint64_t sum_over_pes(const symmetric_array<std::uint64_t>& words, int pes, std::size_t index) {
    std::uint64_t sum = 0;
    for (int pe = 0; pe < pes; ++pe) sum += words.copy_out(pe)[index];
    return sum;
}

/// Tells how many lanes a job has, and posts nothing.
struct count_lanes {
    symmetric_ref<std::uint64_t> lanes;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.rank() == 0) lanes.local(ctx)[0] = ctx.size();
    }
};
struct ignore_number {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const std::uint32_t&) const {}
};

/// Lanes of a job on a runtime's devices whose messages are small.
inline std::uint64_t lanes_in(runtime& rt) {
    const auto lanes = rt.allocate<std::uint64_t>(1);
    rt.run(count_lanes{lanes.ref()}, rt.mailbox<std::uint32_t>(ignore_number{}));
    return lanes.copy_out(0)[0];
}

}  // namespace laneway::test
