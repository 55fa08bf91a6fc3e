// Tiles: pieces of a PE's rows that take about the same time, whatever the degrees are.
//
// Rows and arcs stand in one sequence, each row before its arcs; a tile is a fixed number of places of it, so a long
// row lies in many tiles, and many rows without arcs are cut as well (merge-path: Merrill and Garland, SC 2016). Warps
// take tiles one by one from an index space, or each its own.
#pragma once

#include <algorithm>
#include <bit>

#include "graph/graph_part.hpp"
#include "laneway/flow/balance.hpp"

namespace laneway::apps {

/// The tiles that have places of a row.
struct tile_span {
    std::uint64_t first;
    std::uint64_t count;
};

/// Device view of one PE's tiles; PE memory.
struct row_tiles_ref {
    const std::uint64_t* offsets = nullptr;    ///< of the rows
    const std::uint32_t* first_row = nullptr;  ///< n_tiles + 1: the row that holds the tile's first place
    std::uint64_t rows = 0;
    std::uint64_t n_tiles = 0;
    std::uint64_t tile_places = 1;

    /// Of each tile at most one row begins in it and goes on behind it. Any lane.
    [[nodiscard]] LANEWAY_FN tile_span span(std::uint64_t row) const {
        const std::uint64_t first = (row + offsets[row]) / tile_places;
        return {first, (row + offsets[row + 1]) / tile_places - first + 1};
    }

    /// The arcs of a row that lie in one of the tiles of its span. Any lane.
    [[nodiscard]] LANEWAY_FN arc_range part(std::uint64_t row, std::uint64_t tile) const {
        const std::uint64_t begin = tile * tile_places;
        const std::uint64_t end = begin + tile_places;
        // Arc a of the row has place row + 1 + a.
        const std::uint64_t from = offsets[row] + row + 1 < begin ? begin - row - 1 : offsets[row];
        const std::uint64_t to = offsets[row + 1] + row + 1 > end ? end - row - 1 : offsets[row + 1];
        return {from, static_cast<std::uint32_t>(to - from)};
    }

    /// Calls `visit(row, arcs, begins)` for every row that has places in the tile: `arcs` are those of the row that lie
    /// in the tile, and `begins` says whether the row itself does, which holds for one tile a row. The whole warp,
    /// together; lanes without a row get row = rows, no arcs and false.
    template <class Ctx, class Visit>
    LANEWAY_FN void for_each_row(Ctx& ctx, std::uint64_t tile, Visit&& visit) const {
        const std::uint64_t begin = tile * tile_places;
        const std::uint64_t end = begin + tile_places;
        const std::uint64_t last = first_row[tile + 1];
        for (std::uint64_t base = first_row[tile]; base <= last && base < rows; base += Ctx::warp_lanes) {
            const std::uint64_t row = base + static_cast<std::uint64_t>(ctx.lane());
            arc_range arcs;
            bool begins = false;
            if (row < rows && row <= last && row + offsets[row] < end) {
                arcs = part(row, tile);
                begins = row + offsets[row] >= begin;
            }
            visit(row < rows ? row : rows, arcs, begins);
        }
    }
};

/// Host owner of one PE's tiles.
class row_tiles {
public:
    /// Tiles of rows whose arcs are [offsets[i], offsets[i + 1]), at least four for each warp of a device where there
    /// are so many rows and arcs. Rows number less than 2^32.
    row_tiles(const std::shared_ptr<device>& owner, const std::vector<std::uint64_t>& offsets)
        : rows_(offsets.size() - 1) {
        constexpr std::uint64_t least = 4, most = 1024, tiles_a_warp = 4;
        const auto warps = static_cast<std::uint64_t>(owner->multiprocessors()) * 32;
        const std::uint64_t places = rows_ + offsets.back();
        tile_places_ = std::bit_floor(std::clamp(places / (warps * tiles_a_warp), least, most));
        std::vector<std::uint32_t> first_row;
        std::uint64_t row = 0;
        for (std::uint64_t place = 0; place < places; place += tile_places_) {
            while (row + 1 < rows_ && row + 1 + offsets[row + 1] <= place) ++row;
            first_row.push_back(static_cast<std::uint32_t>(row));
        }
        n_tiles_ = first_row.size();
        first_row.push_back(static_cast<std::uint32_t>(rows_));
        first_row_ = buffer<std::uint32_t>(owner, first_row.size());
        first_row_.copy_in(first_row);
    }

    [[nodiscard]] std::uint64_t count() const { return n_tiles_; }
    /// `offsets`: the rows' in PE memory.
    [[nodiscard]] row_tiles_ref ref(const std::uint64_t* offsets) const {
        return {offsets, first_row_.data(), rows_, n_tiles_, tile_places_};
    }

private:
    std::uint64_t rows_;
    std::uint64_t n_tiles_ = 0;
    std::uint64_t tile_places_ = 1;
    buffer<std::uint32_t> first_row_;
};

}  // namespace laneway::apps
