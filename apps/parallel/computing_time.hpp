// How long warps compute, so that the rest of a program's time can be told: in that they were blocked.
#pragma once

#include <vector>

#include "parallel/working_warp.hpp"

namespace laneway::apps {

/// What a warp spends with computing. All its lanes, together.
class computing_time {
public:
    template <class Ctx, class Work>
    LANEWAY_FN void of(Ctx& ctx, Work&& work) {
        const std::uint64_t begin = ctx.now_ns();
        work();
        ns_ += ctx.now_ns() - begin;
    }
    /// Within what it computes: `work` is none of it. Any lane.
    template <class Ctx, class Work>
    LANEWAY_FN void but_for(Ctx& ctx, Work&& work) {
        const std::uint64_t begin = ctx.now_ns();
        work();
        ns_ -= ctx.now_ns() - begin;
    }
    /// Adds it to the PE's: `clock` has nanoseconds, and of how many warps they are.
    template <class Ctx>
    LANEWAY_FN void add_to(Ctx& ctx, const working_warp& mine, std::uint64_t* clock) const {
        if (ctx.lane() != 0) return;
        ctx.fetch_add(clock, ns_, order::relaxed, scope::device);
        if (mine.number == 0) ctx.store(clock + 1, mine.warps, order::relaxed, scope::device);
    }

private:
    std::uint64_t ns_ = 0;
};

/// Seconds of a PE's `clock`, on average of its warps. Host.
inline double seconds_of(const std::vector<std::uint64_t>& clock) {
    return clock[1] == 0 ? 0 : static_cast<double>(clock[0]) / static_cast<double>(clock[1]) * 1e-9;
}

}  // namespace laneway::apps
