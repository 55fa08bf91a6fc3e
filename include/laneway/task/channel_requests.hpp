// How warps, or blocks, that have kept little ask others of their PE for elements.
//
// Each has a bit that says that it asks. Who has more than it needs takes one bit away, which only one can do, and puts
// elements into the shard of that warp, which looks there first. So each request is met once, and what was given is
// found without a search. With a count of those that ask, many would give for the same warp, and all that ask would
// look for each element, through all shards, of which one gets it.
#pragma once

#include "laneway/task/channel_stack.hpp"

namespace laneway {

/// One lane's. All members are called by whole warps.
template <class Ctx>
class channel_requests {
public:
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};

    /// `number`: of this warp among those that decide, see channel_warp.
    LANEWAY_FN channel_requests(const channel_stacks_ref& stacks, std::uint32_t number)
        : words_(stacks.asking), n_words_(stacks.asking_words()), number_(number) {}

    /// Says whether this warp asks. Again now and then, as others may have taken what was put there for it.
    LANEWAY_FN void note(Ctx& ctx, bool asks, unsigned turn) {
        if (asks ? asks_ && turn - since_ < turns_to_repeat : !asks_) return;
        asks_ = asks;
        since_ = turn;
        if (ctx.lane() != 0) return;
        std::uint32_t* const word = words_ + number_ / 32;
        const std::uint32_t bit = std::uint32_t{1} << number_ % 32;
        // Relaxed: requests are hints, and elements go through queues.
        if (asks) {
            ctx.fetch_or(word, bit, order::relaxed, scope::device);
        } else {
            ctx.fetch_and(word, ~bit, order::relaxed, scope::device);
        }
    }
    /// Requests of some warps, a word for each lane; of other warps with each call. Long before take(), so that nothing
    /// waits for them.
    LANEWAY_FN void look(Ctx& ctx) {
        first_ = first_ + lanes < n_words_ ? first_ + lanes : 0;
        const std::uint32_t at = first_ + static_cast<std::uint32_t>(ctx.lane());
        seen_ = at < n_words_ ? ctx.load(words_ + at, order::relaxed, scope::device) : 0;
    }
    /// Takes one of the requests that were seen: the number of the warp, which gets elements from this one; nobody
    /// where there are none, or another warp was faster. Warps begin at different ones.
    [[nodiscard]] LANEWAY_FN std::uint32_t take(Ctx& ctx, unsigned turn) const {
        const lane_mask some = ctx.ballot(full_warp<Ctx>, seen_ != 0);
        if (some == 0) return nobody;
        const std::uint32_t drawn = (turn + number_) * 0x9e3779b9u;
        const std::uint32_t lane = first_from(some, (drawn >> 27) % lanes);
        const std::uint32_t bits = ctx.shuffle(full_warp<Ctx>, seen_, static_cast<int>(lane));
        const std::uint32_t number = first_from(bits, drawn >> 22 & 31), bit = std::uint32_t{1} << number;
        const std::uint32_t before = once(ctx, full_warp<Ctx>, [&] {
            return ctx.fetch_and(words_ + first_ + lane, ~bit, order::relaxed, scope::device);
        });
        return (before & bit) != 0 ? 32 * (first_ + lane) + number : nobody;
    }

private:
    static constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    static constexpr unsigned turns_to_repeat = 32;

    /// The first bit that is set, from `begin` on and then from 0 on; one is.
    static LANEWAY_FN std::uint32_t first_from(std::uint32_t bits, std::uint32_t begin) {
        const std::uint32_t behind = bits >> begin << begin;
        return static_cast<std::uint32_t>(Ctx::first_lane(behind != 0 ? behind : bits));
    }

    std::uint32_t* words_;
    std::uint32_t n_words_;
    std::uint32_t number_;
    std::uint32_t first_ = 0;  ///< word that the first lane has looked at
    std::uint32_t seen_ = 0;
    unsigned since_ = 0;  ///< turn of the last request
    bool asks_ = false;
};

}  // namespace laneway
