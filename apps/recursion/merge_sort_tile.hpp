// Keys that a whole block sorts and merges: tiles of them lie in shared memory, of which each lane has a piece.
//
// After CUB's merge sort: runs that lanes sort in registers, merged by the merge path (Odeh and others, IPDPSW 2012) in
// shared memory, and tiles of the result of a merge whose beginnings are found by the merge path as well.
#pragma once

#include "recursion/merge_path.hpp"

namespace laneway::apps {

/// A block's shared memory for it, and what its lanes do there. `Worker`: channel_worker. Members that return false do
/// so where the program is ending.
class sort_tile {
public:
    static constexpr std::uint32_t piece = 13;  ///< keys of a lane; odd, so that lanes use different banks
    static constexpr int block_warps = 16;      ///< of a GPU's block, whose lanes then have a piece each
    static constexpr std::uint32_t keys = piece * 32 * block_warps;
    static constexpr std::uint32_t max_tiles = 63;  ///< of a merge

    /// Sorts `count` keys, a tile at most, from `from` to `to`, which may be the same.
    template <class Ctx, class Worker, class From, class To>
    LANEWAY_FN bool sort(Ctx& ctx, Worker& worker, const From& from, const To& to, std::uint32_t begin,
                         std::uint32_t count) {
        const std::uint32_t lane = lane_of(worker), lanes = lanes_of(worker), runs = (count + piece - 1) / piece;
        for (std::uint32_t run = lane; run < runs; run += lanes) {
            std::uint32_t mine[piece];
            // Behind the keys lie greatest ones.
            LANEWAY_UNROLLED
            for (std::uint32_t i = 0; i < piece; ++i)
                mine[i] = i * runs + run < count ? from[begin + i * runs + run] : ~0u;
            sort_run(mine);
            LANEWAY_UNROLLED
            for (std::uint32_t i = 0; i < piece; ++i) sides_[0][run * piece + i] = mine[i];
        }
        std::uint32_t side = 0;
        for (std::uint32_t size = piece; size < runs * piece; size *= 2, side = 1 - side) {
            if (!meet_writers(ctx, worker, 2 * size)) return false;
            for (std::uint32_t p = lane; p < runs; p += lanes) {
                const std::uint32_t first = p * piece / (2 * size) * (2 * size);
                const two_runs both{first, least(first + size, runs * piece), least(first + 2 * size, runs * piece)};
                merge_piece(sides_[side], both, p * piece - first, sides_[1 - side] + p * piece);
            }
        }
        ctx.sync(full_warp<Ctx>);
        write_own(ctx, worker, sides_[side], to, begin, count);
        return worker.sync(ctx);
    }

    /// Merges places [first, last) of two runs, max_tiles tiles at most, from `from` to `to`, from the first key of the
    /// runs on. One barrier a tile: while warps merge one, others put the next one's keys where they lie by turns, and
    /// each warp writes by itself what it has merged.
    template <class Ctx, class Worker, class From, class To>
    LANEWAY_FN bool merge(Ctx& ctx, Worker& worker, const From& from, const To& to, const two_runs& runs,
                          std::uint32_t first, std::uint32_t last) {
        const std::uint32_t lane = lane_of(worker), lanes = lanes_of(worker), tiles = (last - first + keys - 1) / keys;
        const std::uint32_t warp = lane / Ctx::warp_lanes, warps = lanes / Ctx::warp_lanes;
        for (std::uint32_t t = warp; t <= tiles; t += warps) {
            const std::uint32_t taken =
                taken_from_left(from, runs, least(first + t * keys, last), find_by_warp<Ctx>{ctx});
            if (ctx.lane() == 0) taken_[t] = taken;
        }
        if (!worker.sync(ctx)) return false;
        std::uint32_t held[piece] = {};
        fetch(held, from, source_of(runs, first, last, 0), lane, lanes);
        for (std::uint32_t t = 0; t < tiles; ++t) {
            const tile_source source = source_of(runs, first, last, t);
            std::uint32_t* const tile = sides_[t % 2];
            put(held, tile, source.count, lane, lanes);
            for (std::uint32_t i = lane + piece * lanes; i < source.count; i += piece * lanes) {
                fetch(held, from, source, i, lanes);
                put(held, tile, source.count, i, lanes);
            }
            if (!worker.sync(ctx)) return false;
            // The next tile's keys are on their way while this one is merged.
            if (t + 1 < tiles) fetch(held, from, source_of(runs, first, last, t + 1), lane, lanes);
            for (std::uint32_t at = lane * piece; at < source.count; at += lanes * piece)
                merge_piece(tile, {0, source.of_left, source.count}, at, merged_ + at);
            ctx.sync(full_warp<Ctx>);
            write_own(ctx, worker, merged_, to, runs.begin + first + t * keys, source.count);
        }
        return true;
    }

private:
    /// Where the keys of a tile come from: some of the left run, then some of the right one.
    struct tile_source {
        std::uint32_t left, right;  ///< places of the first
        std::uint32_t of_left, count;
    };

    template <class Worker>
    static LANEWAY_FN std::uint32_t lane_of(const Worker& worker) {
        return static_cast<std::uint32_t>(worker.lane());
    }
    template <class Worker>
    static LANEWAY_FN std::uint32_t lanes_of(const Worker& worker) {
        return static_cast<std::uint32_t>(worker.lanes());
    }

    /// By odd-even transposition, as registers have no address.
    static LANEWAY_FN void sort_run(std::uint32_t (&run)[piece]) {
        LANEWAY_UNROLLED
        for (std::uint32_t round = 0; round < piece; ++round) {
            LANEWAY_UNROLLED
            for (std::uint32_t i = round % 2; i + 1 < piece; i += 2) {
                const std::uint32_t a = run[i], b = run[i + 1];
                run[i] = a < b ? a : b;
                run[i + 1] = a < b ? b : a;
            }
        }
    }
    /// Writes a piece of the merged runs, from the place `at` on. Behind the last key lie greatest ones.
    static LANEWAY_FN void merge_piece(const std::uint32_t* from, const two_runs& runs, std::uint32_t at,
                                       std::uint32_t* to) {
        std::uint32_t l = taken_from_left(from, runs, at, find_alone{});
        std::uint32_t r = runs.middle + (at - l);
        l += runs.begin;
        std::uint32_t left = l < runs.middle ? from[l] : ~0u, right = r < runs.end ? from[r] : ~0u;
        const std::uint32_t behind_both = l + r + 1;
        LANEWAY_UNROLLED
        for (std::uint32_t i = 0; i < piece; ++i) {
            // A run that has ended goes on with greatest keys. Where one is taken in place of a true one, which is as
            // great, so are all that follow.
            const bool is_left = left <= right;
            to[i] = is_left ? left : right;
            l = is_left ? l + 1 : l;
            const std::uint32_t at_next = is_left ? l : behind_both + i - l;
            const std::uint32_t end = is_left ? runs.middle : runs.end;
            const std::uint32_t next = at_next < end ? from[at_next] : ~0u;
            left = is_left ? next : left;
            right = is_left ? right : next;
        }
    }
    /// Barrier of those whose pieces a run of `size` keys has, with what they have written: a lane has pieces that are
    /// as many apart as there are lanes, so those of a short run are of one warp.
    template <class Ctx, class Worker>
    static LANEWAY_FN bool meet_writers(Ctx& ctx, Worker& worker, std::uint32_t size) {
        if (size > piece * Ctx::warp_lanes) return worker.sync(ctx);
        ctx.sync(full_warp<Ctx>);
        return true;
    }
    /// Writes what the lanes of a warp have in their pieces of a tile of `count` keys, from a place on.
    template <class Ctx, class Worker, class To>
    static LANEWAY_FN void write_own(Ctx& ctx, const Worker& worker, const std::uint32_t* tile, const To& to,
                                     std::uint32_t place, std::uint32_t count) {
        const std::uint32_t lane = lane_of(worker), lanes = lanes_of(worker), of_warp = lane % Ctx::warp_lanes;
        for (std::uint32_t first = (lane - of_warp) * piece; first < count; first += lanes * piece) {
            const std::uint32_t mine = first + of_warp;
            const std::uint64_t to_mine = std::uint64_t{place} + mine;  // what is added to it stays part of an address
            LANEWAY_UNROLLED
            for (std::uint32_t k = 0; k < piece * Ctx::warp_lanes; k += Ctx::warp_lanes) {
                if (mine + k < count) to[to_mine + k] = tile[mine + k];
            }
        }
        ctx.sync(full_warp<Ctx>);
    }

    [[nodiscard]] LANEWAY_FN tile_source source_of(const two_runs& runs, std::uint32_t first, std::uint32_t last,
                                                   std::uint32_t tile) const {
        const std::uint32_t begin = first + tile * keys, end = least(begin + keys, last), taken = taken_[tile];
        return {runs.begin + taken, runs.middle + (begin - taken), taken_[tile + 1] - taken, end - begin};
    }
    /// Reads the keys i, i + lanes, ... of a tile, all before any of them is needed.
    template <class From>
    static LANEWAY_FN void fetch(std::uint32_t (&held)[piece], const From& from, const tile_source& source,
                                 std::uint32_t i, std::uint32_t lanes) {
        LANEWAY_UNROLLED
        for (std::uint32_t k = 0; k < piece; ++k, i += lanes) {
            if (i < source.count)
                held[k] = from[i < source.of_left ? source.left + i : source.right + (i - source.of_left)];
        }
    }
    static LANEWAY_FN void put(const std::uint32_t (&held)[piece], std::uint32_t* tile, std::uint32_t count,
                               std::uint32_t i, std::uint32_t lanes) {
        LANEWAY_UNROLLED
        for (std::uint32_t k = 0; k < piece; ++k, i += lanes) {
            if (i < count) tile[i] = held[k];
        }
    }

    alignas(16) std::uint32_t sides_[2][keys];
    std::uint32_t merged_[keys];
    std::uint32_t taken_[max_tiles + 1];  ///< from the left run before each tile
};

}  // namespace laneway::apps
