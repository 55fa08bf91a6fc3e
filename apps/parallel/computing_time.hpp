// How long warps compute, so that the rest of a program's time can be told: in that they were blocked.
#pragma once

#include <vector>

#include "parallel/working_warp.hpp"

namespace laneway::apps {

/// What a warp spends with computing, in a run or a kernel. All its lanes, together.
class computing_time {
public:
    static constexpr unsigned fraction_bits = 16;  ///< of a nanosecond, as each warp adds its part of an average

    template <class Ctx, class Work>
    LANEWAY_FN void of(Ctx& ctx, Work&& work) {
        const std::uint64_t begin = ctx.now_ns();
        work();
        ns_ += ctx.now_ns() - begin;
    }
    /// Adds it to the PE's `clock`, on average of the `warps` that compute in this run or kernel: kernels of different
    /// grids can share a clock.
    template <class Ctx>
    LANEWAY_FN void add_to(Ctx& ctx, std::uint64_t warps, std::uint64_t* clock) const {
        if (ctx.lane() != 0) return;
        ctx.fetch_add(clock, (ns_ << fraction_bits) / warps, order::relaxed, scope::device);
    }

private:
    std::uint64_t ns_ = 0;
};

/// Seconds of a PE's clock. Host.
inline double seconds_of(std::uint64_t clock) {
    return static_cast<double>(clock) / (std::uint64_t{1} << computing_time::fraction_bits) * 1e-9;
}

}  // namespace laneway::apps
