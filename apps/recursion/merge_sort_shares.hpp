// Keys that several PEs have sorted a share each of, on the way to being in order over all of them.
#pragma once

#include "laneway/comm/one_sided.hpp"
#include "laneway/memory/symmetric_array.hpp"
#include "laneway/run/component.hpp"
#include "parallel/working_warp.hpp"
#include "recursion/merge_path.hpp"

namespace laneway::apps {

/// Places [0, keys) lie on PEs behind each other, `share` of them on each, but for the last ones.
struct key_shares {
    std::uint32_t first_pe, pes, share, keys;

    /// Of a PE, or behind the last one of the PE before.
    [[nodiscard]] LANEWAY_FN std::uint32_t begin_of(std::uint32_t pe) const {
        const std::uint64_t begin = std::uint64_t{pe - first_pe} * share;
        return begin < keys ? static_cast<std::uint32_t>(begin) : keys;
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t size_of(std::uint32_t pe) const {
        return pe < first_pe || pe >= first_pe + pes ? 0 : begin_of(pe + 1) - begin_of(pe);
    }
    /// Where the keys lie that a PE gets a part of when neighbours of `group` PEs are merged, each of which is in
    /// order. The right run is empty where nobody is left to merge with.
    [[nodiscard]] LANEWAY_FN two_runs runs_of(std::uint32_t pe, std::uint32_t group) const {
        if (size_of(pe) == 0) return {0, 0, 0};
        const std::uint32_t first = (pe - first_pe) / (2 * group) * (2 * group);
        const auto begin_of_share = [&](std::uint32_t number) { return begin_of(first_pe + least(number, pes)); };
        return {begin_of_share(first), begin_of_share(first + group), begin_of_share(first + 2 * group)};
    }
};

/// The keys of all PEs by their places. `Remote`: one_sided.
template <class Remote>
struct keys_of_all {
    Remote& remote;
    symmetric_ref<std::uint32_t> keys;
    const key_shares& shares;

    LANEWAY_FN std::uint32_t operator[](std::uint32_t place) const {
        return remote.get(keys[place % shares.share], static_cast<int>(shares.first_pe + place / shares.share)).value;
    }
};

/// Each PE gets the keys that come to lie on it when neighbouring groups are merged, into memory of its own: those of
/// the left run, then those of the right one. The merge path tells which. A body over one_sided.
struct fetch_sources {
    static constexpr double server_share = 0.01;          ///< nothing to serve where PEs reach each other's memory
    static constexpr int cuda_warps = small_block_warps;  ///< so that lanes have registers for keys on their way
    static constexpr std::uint32_t at_once = 2048;        ///< keys that a warp fetches

    symmetric_ref<std::uint32_t> keys, fetched;
    symmetric_ref<std::uint32_t> taken;  ///< from the left run before the PE's first place, and behind its last one
    key_shares shares;
    std::uint32_t group;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        one_sided remote(ctx, box);
        const auto pe = static_cast<std::uint32_t>(ctx.pe());
        const two_runs runs = shares.runs_of(pe, group);
        const bool merges = runs.middle != runs.end;
        if (merges) find_sources(ctx, remote, runs, pe);
        if (remote.barrier() != status::ok || !merges) return;
        const working_warp own = working_warp::of(ctx);
        const std::uint32_t size = shares.size_of(pe), step = at_once * static_cast<std::uint32_t>(own.warps);
        for (std::uint32_t at = at_once * static_cast<std::uint32_t>(own.number); at < size; at += step) {
            if (!fetch(ctx, remote, runs, pe, at, at + least(at_once, size - at))) return;
        }
    }

private:
    template <class Ctx, class Remote>
    LANEWAY_FN void find_sources(Ctx& ctx, Remote& remote, const two_runs& runs, std::uint32_t pe) const {
        const working_warp own = working_warp::of(ctx);
        const auto to = taken.local(ctx);
        for (auto end = static_cast<std::uint32_t>(own.number); end < 2; end += static_cast<std::uint32_t>(own.warps)) {
            const std::uint32_t count = shares.begin_of(pe + end) - runs.begin;
            const keys_of_all<Remote> all{remote, keys, shares};
            const std::uint32_t found = taken_from_left(all, runs, count, find_by_warp<Ctx>{ctx});
            if (ctx.lane() == 0) to[end] = found;
        }
    }
    /// Places [at, end) of what the PE gets. False where the program is ending.
    template <class Ctx, class Remote>
    LANEWAY_FN bool fetch(Ctx& ctx, Remote& remote, const two_runs& runs, std::uint32_t pe, std::uint32_t at,
                          std::uint32_t end) const {
        const auto from_left = taken.local(ctx);
        const std::uint32_t before = from_left[0], behind = from_left[1], of_left = behind - before;
        const std::uint32_t of_right_before = shares.begin_of(pe) - runs.begin - before;
        std::uint32_t* const to = address(ctx, fetched[0]);
        while (at < end) {
            const bool is_left = at < of_left;
            const std::uint32_t place =
                is_left ? runs.begin + before + at : runs.middle + of_right_before + (at - of_left);
            const std::uint32_t of_pe = place % shares.share,
                                n = least(shares.share - of_pe, (is_left ? least(of_left, end) : end) - at);
            const status got = remote.get(width::warp, to + at, keys[of_pe],
                                          static_cast<int>(shares.first_pe + place / shares.share), n);
            if (!all_go_on(ctx, got)) return false;
            at += n;
        }
        return true;
    }
};

}  // namespace laneway::apps
