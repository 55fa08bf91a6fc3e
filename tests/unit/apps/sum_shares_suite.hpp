// Sums over the arcs of each row, by all lanes of a warp, against a loop.
#pragma once

#include "graph/row_tiles.hpp"
#include "laneway/runtime.hpp"
#include "pagerank/sum_shares.hpp"
#include "unit/apps/sample_graphs.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

struct sum_tiles {
    symmetric_ref<apps::row_tiles_ref> tiles;
    symmetric_ref<std::uint64_t> next;
    symmetric_ref<std::uint32_t> sources;
    symmetric_ref<float> shares;
    symmetric_ref<std::uint64_t> sums;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        const apps::row_tiles_ref mine = *tiles.local(ctx);
        for (;;) {
            const std::uint64_t tile = once(ctx, full_warp<Ctx>, [&] { return atomic_add(ctx, next[0], 1); });
            if (tile >= mine.n_tiles) return;
            mine.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range& arcs, bool) {
                Ctx here(ctx);
                const std::uint64_t sum = apps::sum_shares(here, arcs, sources.local(ctx), shares.local(ctx));
                if (row < mine.rows) atomic_add(ctx, sums[row], sum);
            });
        }
    }
};

struct hear_nothing {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint64_t) const {}
};

class sum_shares_test : public testing::TestWithParam<std::string> {};

// Shares are of any size, so that an arc that is missed, met twice or given to a neighbour's row shows.
TEST_P(sum_shares_test, MeetsALoop) {
    every_round(GetParam(), [&](const options& o) {
        std::mt19937_64 random(o.seed);
        const std::uint64_t scale = is_checked(GetParam()) ? 1 : 20;
        std::vector<std::uint64_t> offsets{0};
        for (std::uint64_t row = 1 + random() % (30 * scale); row > 0; --row) {
            const std::uint64_t kind = random() % 16;
            const std::uint64_t most = kind < 4 ? 1 : kind < 10 ? 5 : kind < 14 ? 40 : 100 * scale;
            offsets.push_back(offsets.back() + random() % most);
        }
        std::vector<float> shares;
        for (int i = 0; i < 97; ++i) shares.push_back(static_cast<float>(random() >> (3 + random() % 61)));
        std::vector<std::uint32_t> sources;
        for (std::uint64_t arc = 0; arc < offsets.back(); ++arc)
            sources.push_back(static_cast<std::uint32_t>(random() % shares.size()));

        runtime runtime(o);
        const auto& device = runtime.machine().device(0);
        buffer<std::uint64_t> stored(device, offsets.size());
        stored.copy_in(offsets);
        const apps::row_tiles cut(device, offsets);
        auto tiles = runtime.allocate<apps::row_tiles_ref>(1);
        tiles.copy_in(0, {cut.ref(stored.data())});
        const auto next = runtime.allocate<std::uint64_t>(1);
        auto source_words = runtime.allocate<std::uint32_t>(sources.size());
        source_words.copy_in(0, sources);
        auto share_words = runtime.allocate<float>(shares.size());
        share_words.copy_in(0, shares);
        const auto sums = runtime.allocate<std::uint64_t>(offsets.size() - 1);
        (void)runtime.run(sum_tiles{tiles.ref(), next.ref(), source_words.ref(), share_words.ref(), sums.ref()},
                          runtime.mailbox<std::uint64_t>(hear_nothing{}));  // nothing is posted
        std::vector<std::uint64_t> expected;
        for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
            std::uint64_t sum = 0;
            for (std::uint64_t arc = offsets[row]; arc < offsets[row + 1]; ++arc) {
                sum += static_cast<std::uint64_t>(shares[sources[arc]]);
            }
            expected.push_back(sum);
        }
        EXPECT_EQ(sums.copy_out(0), expected);
    });
}

LANEWAY_ON_DEVICES(sum_shares_test, lone_device());

}  // namespace laneway::test
