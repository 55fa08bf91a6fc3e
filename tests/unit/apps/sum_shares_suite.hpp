// Sums over the arcs of each row, by all lanes of a warp, against a loop.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "graph/row_tiles.hpp"
#include "laneway/runtime.hpp"
#include "pagerank/sum_shares.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

template <bool Weighted>
struct sum_tiles {
    symmetric_ref<std::uint64_t> offsets;
    symmetric_ref<std::uint32_t> first_row;
    std::uint64_t tile_places;
    symmetric_ref<std::uint64_t> next;
    symmetric_ref<std::uint32_t> sources;
    symmetric_ref<std::uint32_t> weights;
    symmetric_ref<float> shares;
    symmetric_ref<std::uint64_t> sums;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        const apps::row_tiles_ref mine{offsets.local(ctx), first_row.local(ctx), offsets.size() - 1,
                                       first_row.size() - 1, tile_places};
        for (;;) {
            const std::uint64_t tile = once(ctx, full_warp<Ctx>, [&] { return atomic_add(ctx, next[0], 1); });
            if (tile >= mine.n_tiles) return;
            mine.for_each_row(ctx, tile, [&](std::uint64_t row, const arc_range& arcs, bool) {
                Ctx here(ctx);
                const apps::arc_shares<Weighted> in{sources.local(ctx), weights.local(ctx), shares.local(ctx)};
                const std::uint64_t sum = apps::sum_shares(here, arcs, in);
                if (row < mine.rows) atomic_add(ctx, sums[row], sum);
            });
        }
    }
};

struct hear_nothing {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint64_t) const {}
};

/// Rows of few and of many arcs, and shares of any size, so that an arc that is missed, met twice or given to a
/// neighbour's row shows.
struct sum_input {
    std::vector<std::uint64_t> offsets{0};
    std::vector<std::uint32_t> sources;
    std::vector<std::uint32_t> weights;
    std::vector<float> shares;

    sum_input(std::uint64_t seed, std::uint64_t scale) {
        std::mt19937_64 random(seed);
        for (std::uint64_t row = 1 + random() % (30 * scale); row > 0; --row) {
            const std::uint64_t kind = random() % 16;
            const std::uint64_t most = kind < 4 ? 1 : kind < 10 ? 5 : kind < 14 ? 40 : 100 * scale;
            offsets.push_back(offsets.back() + random() % most);
        }
        for (int i = 0; i < 97; ++i) shares.push_back(static_cast<float>(random() >> (3 + random() % 61)));
        while (sources.size() < offsets.back()) {
            sources.push_back(static_cast<std::uint32_t>(random() % shares.size()));
            weights.push_back(static_cast<std::uint32_t>(random() >> (32 + random() % 33)));  // also 0
        }
    }

    [[nodiscard]] std::uint64_t rows() const { return offsets.size() - 1; }
    /// The first row of each tile, and behind them the number of rows.
    [[nodiscard]] std::vector<std::uint32_t> cut(std::uint64_t tile_places) const {
        std::vector<std::uint32_t> first_row;
        std::uint32_t row = 0;
        for (std::uint64_t place = 0; place < rows() + offsets.back(); place += tile_places) {
            while (row + 1 < rows() && row + 1 + offsets[row + 1] <= place) ++row;
            first_row.push_back(row);
        }
        first_row.push_back(static_cast<std::uint32_t>(rows()));
        return first_row;
    }
    /// The shares are small enough beside the weights that no sum overflows.
    [[nodiscard]] std::vector<std::uint64_t> sums(bool weighted) const {
        std::vector<std::uint64_t> result(rows());
        for (std::size_t row = 0; row < rows(); ++row) {
            for (std::uint64_t arc = offsets[row]; arc < offsets[row + 1]; ++arc) {
                const double share = shares[sources[arc]];
                result[row] += static_cast<std::uint64_t>(weighted ? share * weights[arc] : share);
            }
        }
        return result;
    }
};

template <class T>
symmetric_array<T> copy_of(runtime& runtime, const std::vector<T>& values) {
    auto result = runtime.allocate<T>(values.size());
    result.copy_in(0, values);
    return result;
}

class sum_shares_test : public testing::TestWithParam<std::string> {};

template <bool Weighted>
void meets_a_loop(const std::string& devices) {
    every_round_within(devices, [&](const options& o) {
        sum_input input(o.seed, is_checked(devices) ? 1 : 20);
        // A share for a weight of 1 has a fraction.
        if (Weighted) std::for_each(input.shares.begin(), input.shares.end(), [](float& s) { s = std::ldexp(s, -40); });
        const std::uint64_t tile_places = o.seed % 3 == 0 ? 4 : o.seed % 3 == 1 ? 100 : 5000;
        runtime runtime(o);
        const auto offsets = copy_of(runtime, input.offsets);
        const auto first_row = copy_of(runtime, input.cut(tile_places));
        const auto sources = copy_of(runtime, input.sources);
        const auto weights = copy_of(runtime, input.weights);
        const auto shares = copy_of(runtime, input.shares);
        const auto next = runtime.allocate<std::uint64_t>(1);
        const auto sums = runtime.allocate<std::uint64_t>(input.rows());
        (void)runtime.run(sum_tiles<Weighted>{offsets.ref(), first_row.ref(), tile_places, next.ref(), sources.ref(),
                                              weights.ref(), shares.ref(), sums.ref()},
                          runtime.mailbox<std::uint64_t>(hear_nothing{}));  // nothing is posted
        EXPECT_EQ(sums.copy_out(0), input.sums(Weighted));
    });
}

TEST_P(sum_shares_test, MeetsALoop) { meets_a_loop<false>(GetParam()); }
TEST_P(sum_shares_test, WeightedArcsMeetALoop) { meets_a_loop<true>(GetParam()); }

LANEWAY_ON_DEVICES(sum_shares_test, lone_device());

}  // namespace laneway::test
