// Tiles of rows: every row and every arc lies in one tile, and tiles are of one size.
#pragma once

#include "graph/row_tiles.hpp"
#include "laneway/runtime.hpp"
#include "unit/apps/sample_graphs.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// Counts for each row how often it begins, and for each arc how often it is met from its own row.
struct count_places {
    symmetric_ref<apps::row_tiles_ref> tiles;
    symmetric_ref<std::uint64_t> next;
    symmetric_ref<std::uint32_t> begun;
    symmetric_ref<std::uint32_t> met;
    symmetric_ref<std::uint32_t> most;   ///< places of the fullest tile
    symmetric_ref<std::uint64_t> parts;  ///< of each row: tiles that it was met in, less those that it should

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        const apps::row_tiles_ref mine = *tiles.local(ctx);
        for (;;) {
            const std::uint64_t tile = once(ctx, full_warp<Ctx>, [&] { return atomic_add(ctx, next[0], 1); });
            if (tile >= mine.n_tiles) return;
            std::uint32_t places = 0;
            mine.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range& arcs, bool begins) {
                if (begins) atomic_add(ctx, begun[row], 1);
                if (begins || arcs.count > 0) {
                    const apps::tile_span span = mine.span(row);
                    atomic_add(ctx, parts[row], begins == (tile == span.first) ? 1 : 1000);
                    if (begins) atomic_add(ctx, parts[row], 0 - span.count);
                }
                for (std::uint32_t i = 0; i < arcs.count; ++i) {
                    const std::uint64_t arc = arcs.begin + i;
                    const bool own = mine.offsets[row] <= arc && arc < mine.offsets[row + 1];
                    atomic_add(ctx, met[arc], own ? 1 : 1000);
                }
                places += arcs.count + (begins ? 1 : 0);
            });
            const auto all = warp_sum(ctx, places);
            if (ctx.lane() == 0) ctx.fetch_max(local(ctx, most[0]), all, order::relaxed, scope::device);
        }
    }
};

struct ignore {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint64_t) const {}
};

inline void meets_all_places(const options& o, const std::vector<std::uint64_t>& offsets) {
    runtime runtime(o);
    const auto& device = runtime.machine().device(0);
    const std::uint64_t rows = offsets.size() - 1;
    buffer<std::uint64_t> stored(device, offsets.size());
    stored.copy_in(offsets);
    const apps::row_tiles cut(device, offsets);
    auto tiles = runtime.allocate<apps::row_tiles_ref>(1);
    tiles.copy_in(0, {cut.ref(stored.data())});
    const auto next = runtime.allocate<std::uint64_t>(1);
    const auto begun = runtime.allocate<std::uint32_t>(rows);
    const auto met = runtime.allocate<std::uint32_t>(offsets.back());
    const auto most = runtime.allocate<std::uint32_t>(1);
    const auto parts = runtime.allocate<std::uint64_t>(rows);
    (void)runtime.run(count_places{tiles.ref(), next.ref(), begun.ref(), met.ref(), most.ref(), parts.ref()},
                      runtime.mailbox<std::uint64_t>(ignore{}));  // nothing is posted, so nothing is to account for
    EXPECT_EQ(begun.copy_out(0), std::vector<std::uint32_t>(rows, 1));
    EXPECT_EQ(met.copy_out(0), std::vector<std::uint32_t>(offsets.back(), 1));
    EXPECT_EQ(parts.copy_out(0), std::vector<std::uint64_t>(rows, 0));
    const std::uint64_t places = rows + offsets.back();
    EXPECT_EQ(most.copy_out(0)[0], std::min(places, cut.ref(stored.data()).tile_places));
}

class row_tiles_test : public testing::TestWithParam<std::string> {};

TEST_P(row_tiles_test, EveryRowAndArcOnce) {
    every_round_within(GetParam(), [&](const options& o) {
        std::mt19937_64 random(o.seed);
        std::vector<std::uint64_t> offsets{0};
        const std::uint64_t max_rows = is_checked(GetParam()) ? 40 : 4000;
        for (std::uint64_t row = 1 + random() % max_rows; row > 0; --row) {
            const std::uint64_t kind = random() % 16;  // many rows without arcs, some that fill several tiles
            offsets.push_back(offsets.back() + (kind < 6 ? 0 : kind < 15 ? random() % 5 : random() % (max_rows / 4)));
        }
        meets_all_places(o, offsets);
    });
}

TEST_P(row_tiles_test, OddRows) {
    const options o = options_of(GetParam(), 0);
    meets_all_places(o, {0});
    meets_all_places(o, {0, 0});
    meets_all_places(o, {0, 5000});
    meets_all_places(o, std::vector<std::uint64_t>(5000, 0));
}

LANEWAY_ON_DEVICES(row_tiles_test, lone_device());

}  // namespace laneway::test
