#include "laneway/flow/hub_shards_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace laneway {
namespace {

// Shards must cover each hub's arcs once, in pieces that a worker may take, and leave all other vertices alone.
TEST(hub_shards_test, CoverTheArcsOfEachHubOnce) {
    const std::vector<std::uint64_t> degrees{
        0, shard_arcs, shard_arcs + 1, 3, 2 * shard_arcs, 2 * shard_arcs + 1, 0, 100, 7 * shard_arcs, 511, 513};
    std::vector<std::uint64_t> offsets{0};
    for (const auto d : degrees) offsets.push_back(offsets.back() + d);
    const hub_shards hubs(open_device({device_kind::cpu, 0}), offsets);
    const hub_shards_ref ref = hubs.ref();
    std::uint64_t shards = 0;
    for (std::uint32_t v = 0; v < degrees.size(); ++v) {
        if (degrees[v] <= shard_arcs) continue;
        const arc_range of = ref.of(v);
        EXPECT_EQ(of.begin, shards) << "vertex " << v;
        std::uint64_t next = offsets[v];
        for (std::uint64_t s = of.begin; s < of.begin + of.count; ++s) {
            const arc_range arcs = ref.arcs(static_cast<std::uint32_t>(s));
            EXPECT_EQ(arcs.begin, next);
            EXPECT_TRUE(arcs.count >= 1 && arcs.count <= shard_arcs);
            next += arcs.count;
        }
        EXPECT_EQ(next, offsets[v + 1]);
        shards += of.count;
    }
    EXPECT_EQ(hubs.shards(), shards);
    EXPECT_EQ(ref.n_hubs, static_cast<std::uint32_t>(
                              std::count_if(degrees.begin(), degrees.end(), [](auto d) { return d > shard_arcs; })));
}

TEST(hub_shards_test, KnowTheLeastWeightOfEachShard) {
    const std::vector<std::uint64_t> offsets{0, 3, 3 + 2 * shard_arcs + 1};
    std::vector<std::uint32_t> weights(offsets.back(), 50);
    weights[0] = 1;  // of no hub
    weights[3 + 7] = 20;
    weights[3 + shard_arcs] = 30;
    const hub_shards hubs(open_device({device_kind::cpu, 0}), offsets, weights);
    ASSERT_EQ(hubs.shards(), 3u);
    const std::vector<std::uint32_t> expected{20, 30, 50};
    for (std::uint64_t s = 0; s < 3; ++s) EXPECT_EQ(hubs.ref().min_of(s), expected[s]);
    const hub_shards unweighted(open_device({device_kind::cpu, 0}), offsets);
    EXPECT_EQ(unweighted.ref().min_of(1), 0u);
}

TEST(hub_shards_test, AGraphWithoutHubsHasNone) {
    const hub_shards none(open_device({device_kind::cpu, 0}), {0, 5, 5, 9});
    EXPECT_EQ(none.shards(), 0u);
    EXPECT_EQ(none.ref().n_hubs, 0u);
    const hub_shards empty(open_device({device_kind::cpu, 0}), {0});
    EXPECT_EQ(empty.shards(), 0u);
}

}  // namespace
}  // namespace laneway
