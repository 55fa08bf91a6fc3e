// What a warp counts of its dispatches by channel, until it tells it at its end.
//
// A channel's counts lie with one lane of the warp, so that they take as many registers as those of one channel, and to
// count a dispatch costs the warp no memory operation. What is told by queue lies in memory: a warp adds there for
// space that it has not found, and for a queue that it has seen fuller than what it remembers.
#pragma once

#include "laneway/task/channel_set_ref.hpp"

namespace laneway {

/// One lane's. All members are called by whole warps.
template <class Ctx>
class channel_tallies {
public:
    /// The warp has run elements of a queue of this channel, the same for all lanes.
    LANEWAY_FN void note(const Ctx& ctx, std::uint32_t channel) {
        if (channel % lanes == static_cast<std::uint32_t>(ctx.lane())) ++of(channel).dispatches;
    }
    /// Lanes of `open` have run elements of these channels that the warp had kept; those of `back` are not done.
    LANEWAY_FN void note_kept(Ctx& ctx, lane_mask open, lane_mask back, std::uint32_t channel) {
        while (open != 0) {
            const std::uint32_t of_first = ctx.shuffle(full_warp<Ctx>, channel, Ctx::first_lane(open));
            const lane_mask same = ctx.ballot(full_warp<Ctx>, channel == of_first) & open;
            if (of_first % lanes == static_cast<std::uint32_t>(ctx.lane())) {
                channel_tally& to = of(of_first);
                ++to.dispatches;
                to.kept_runs += static_cast<std::uint64_t>(Ctx::count_lanes(same));
                to.kept += static_cast<std::uint64_t>(Ctx::count_lanes(same & ~back));
            }
            open &= ~same;
        }
    }
    /// Adds them to those of the PE.
    LANEWAY_FN void tell(Ctx& ctx, const channel_set_ref& set) const {
        for (std::uint32_t i = 0; i < each; ++i) {
            const channel_tally& from = mine_[i];
            const std::uint32_t channel = i * lanes + static_cast<std::uint32_t>(ctx.lane());
            if (channel >= set.n_channels || from.dispatches == 0) continue;
            channel_tally& to = set.tallies[channel];
            ctx.fetch_add(&to.dispatches, from.dispatches, order::relaxed, scope::device);
            ctx.fetch_add(&to.kept, from.kept, order::relaxed, scope::device);
            ctx.fetch_add(&to.kept_runs, from.kept_runs, order::relaxed, scope::device);
        }
        ctx.sync(full_warp<Ctx>);
    }

private:
    static constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    static constexpr std::uint32_t each = (max_channels + lanes - 1) / lanes;  ///< channels of a lane

    /// That of a channel which lies with this lane. Where a lane has one only, it stays in registers.
    LANEWAY_FN channel_tally& of(std::uint32_t channel) { return mine_[each == 1 ? 0 : channel / lanes]; }

    channel_tally mine_[each] = {};
};

}  // namespace laneway
