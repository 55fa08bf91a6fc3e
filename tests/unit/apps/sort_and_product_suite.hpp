// Merge sort and Strassen's product on channels, at the least width and wider ones.
#pragma once

#include <algorithm>
#include <random>

#include "recursion/merge_sort.hpp"
#include "recursion/strassen.hpp"
#include "unit/apps/narrow_channels.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

inline std::vector<std::uint32_t> random_words(std::uint64_t count, std::uint64_t seed, std::uint32_t below = ~0u) {
    std::mt19937_64 draw(seed);
    std::vector<std::uint32_t> words(count);
    for (auto& word : words) word = static_cast<std::uint32_t>(draw()) % below;
    return words;
}

/// Narrow channels, and chunks that hold the one-sided operations by which PEs fetch each other's keys.
inline apps::recursion_options narrow_sort(const options& o, std::uint32_t least) {
    apps::recursion_options made = narrow(o, least);
    made.job.chunk_bytes = std::max<std::size_t>(o.chunk_bytes, 64);
    return made;
}

class sort_and_product_test : public testing::TestWithParam<std::string> {};

TEST_P(sort_and_product_test, KeysComeInOrderAtTheLeastWidth) {
    every_round(GetParam(), [&](const options& o) {
        const std::uint64_t count = is_checked(GetParam()) ? 1 + o.seed * 7 % 90 : 1 + o.seed * 701 % 9000;
        auto keys = random_words(count, o.seed, o.seed % 2 == 0 ? 10 : ~0u);
        apps::recursion_options narrowed = narrow_sort(o, 8);
        narrowed.grain = is_checked(GetParam()) ? 8 : 16;
        const auto made = apps::merge_sort(keys, narrowed);
        std::sort(keys.begin(), keys.end());
        ASSERT_EQ(made.keys, keys) << count << " keys";
    });
}

/// Random ones, ones with many equals, ones in order and in the opposite order, and ones of which most are the
/// greatest.
inline std::vector<std::uint32_t> keys_of_kind(std::uint64_t kind, std::uint64_t count, std::uint64_t seed) {
    auto keys = random_words(count, seed, kind == 1 || kind == 4 ? 10 : ~0u);
    if (kind == 4) {
        for (auto& key : keys) key = key < 3 ? key : ~0u;
        return keys;
    }
    if (kind >= 2) std::sort(keys.begin(), keys.end());
    if (kind == 3) std::reverse(keys.begin(), keys.end());
    return keys;
}

TEST_P(sort_and_product_test, BlocksSortTilesAndMergeThem) {
    every_round(GetParam(), [&](const options& o) {
        // From parts of a tile, and merges of more parts than a function forks, to a block that merges tiles.
        constexpr std::uint32_t grains[] = {65, 1000, 9000, apps::max_block_keys};
        const std::uint32_t grain = grains[o.seed % 4];
        const std::uint64_t most = is_checked(GetParam()) ? 1500 : grain == 65 ? 20000 : 90000;
        const std::uint64_t count = o.seed % 5 == 0 ? o.seed / 5 : o.seed * 7919 % most;
        auto keys = keys_of_kind(o.seed / 4 % 5, count, o.seed);
        if (count != 0) keys[count / 2] = ~0u;
        apps::recursion_options of_round = narrow_sort(o, 32);
        of_round.grain = grain;
        const auto made = apps::merge_sort(keys, of_round);
        std::sort(keys.begin(), keys.end());
        ASSERT_EQ(made.keys, keys) << count << " keys, grain " << grain;
    });
}

TEST_P(sort_and_product_test, PesMergeWhatTheyHaveSorted) {
    every_round(GetParam(), [&](const options& o) {
        // By lanes and by blocks; shares that differ, that are empty, and so few keys that one PE has them all.
        constexpr std::uint32_t grains[] = {1, 7, 64, 65, 1000};
        const std::uint32_t grain = grains[o.seed % 5];
        const std::uint64_t most = grain * (is_checked(GetParam()) ? 12 : 60);
        const std::uint64_t count = o.seed % 7 == 0 ? o.seed / 7 % 12 : o.seed * 7919 % (most + 1);
        auto keys = keys_of_kind(o.seed / 2 % 5, count, o.seed);
        apps::recursion_options of_round = narrow_sort(o, 32);
        of_round.grain = grain;
        of_round.job.path = o.seed % 2 == 0 ? path::direct : path::aggregated;
        const auto made = apps::merge_sort(keys, of_round);
        std::sort(keys.begin(), keys.end());
        ASSERT_EQ(made.keys, keys) << count << " keys, grain " << grain;
        const std::uint64_t sorting = is_mixed(GetParam()) ? 1 : made.report.run.devices.size();
        if (count != 0) {
            EXPECT_EQ(made.report.roots, count / sorting < grain ? 1 : sorting);
            // They fetch each other's keys; the host merges nothing.
            const bool by_messages = made.report.roots > 1 && of_round.job.path == path::aggregated;
            EXPECT_EQ(made.report.run.posted > 0, by_messages);
        }
    });
}

TEST_P(sort_and_product_test, ProductsAreThoseOfTheDefinition) {
    every_round(GetParam(), [&](const options& o) {
        apps::recursion_options narrowed = narrow(o, 7);
        narrowed.grain = is_checked(GetParam()) ? 1 : 2;
        const std::uint32_t n = narrowed.grain << (is_checked(GetParam()) ? o.seed % 3 : o.seed % 5);
        const auto a = random_words(std::uint64_t{n} * n, o.seed), b = random_words(std::uint64_t{n} * n, o.seed + 99);
        ASSERT_EQ(apps::strassen(a, b, n, narrowed).product, apps::product_by_definition(a, b, n)) << n << " rows";
    });
}

TEST_P(sort_and_product_test, ProductsOfLargeBlocksAreMadeInTiles) {
    repeat_rounds(GetParam(), is_checked(GetParam()) ? 2 : 3, [&](const options& o) {
        apps::recursion_options of_round = narrow(o, 7);
        of_round.grain = is_checked(GetParam()) ? 32 : 32 << o.seed % 4;  // up to two tiles side by side
        const std::uint32_t n = of_round.grain << (is_checked(GetParam()) || o.seed == 2 ? o.seed % 3 / 2 : 0);
        const auto a = random_words(std::uint64_t{n} * n, o.seed), b = random_words(std::uint64_t{n} * n, o.seed + 99);
        ASSERT_EQ(apps::strassen(a, b, n, of_round).product, apps::product_by_definition(a, b, n)) << n << " rows";
    });
}

TEST_P(sort_and_product_test, OneWarpDecidesForAll) {
    repeat_rounds(GetParam(), few_rounds(GetParam(), 4), [&](const options& o) {
        apps::recursion_options how = narrow_sort(o, 32);
        how.scheduler = channel_scheduler::one_warp;
        how.grain = o.seed % 2 == 0 ? 16 : 65;  // a lane's, a block's
        auto keys = random_words(is_checked(GetParam()) ? 200 : 2000, o.seed);
        const auto sorted = apps::merge_sort(keys, how).keys;
        std::sort(keys.begin(), keys.end());
        EXPECT_EQ(sorted, keys);
        how.grain = is_checked(GetParam()) ? 2 : 4;
        const std::uint32_t n = 4 * how.grain;
        const auto a = random_words(std::uint64_t{n} * n, 1), b = random_words(std::uint64_t{n} * n, 2);
        EXPECT_EQ(apps::strassen(a, b, n, how).product, apps::product_by_definition(a, b, n));
    });
}

TEST_P(sort_and_product_test, LargeInputsAndWhatIsRefused) {
    if (is_checked(GetParam())) return;
    apps::recursion_options options;
    options.job.devices = GetParam();
    auto keys = random_words(200000, 5);
    const auto sorted = apps::merge_sort(keys, options).keys;
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(sorted, keys);
    const auto small = apps::merge_sort(keys_of_kind(3, 200, 1), options);
    EXPECT_TRUE(std::is_sorted(small.keys.begin(), small.keys.end()));
    const auto pes = small.report.run.devices.size();
    const bool on_gpus = small.report.run.devices[0].starts_with("cuda");
    EXPECT_EQ(small.report.roots, on_gpus || 200 / pes < 64 ? 1 : pes);
    EXPECT_TRUE(apps::merge_sort({}, options).keys.empty());
    options.grain = 32768;
    EXPECT_EQ(apps::merge_sort(random_words(200000, 5), options).keys, keys);
    options.grain = apps::max_block_keys + 1;
    EXPECT_THROW((void)apps::merge_sort(keys, options), usage_error);
    options.grain = 0;
    const auto a = random_words(128 * 128, 1), b = random_words(128 * 128, 2);
    EXPECT_EQ(apps::strassen(a, b, 128, options).product, apps::product_by_definition(a, b, 128));
    EXPECT_THROW((void)apps::strassen(a, b, 127, options), usage_error);
    EXPECT_THROW((void)apps::strassen(a, {}, 128, options), usage_error);
    for (const std::uint32_t grain : {3u, 48u, 2 * apps::max_strassen_block}) {
        options.grain = grain;
        EXPECT_THROW((void)apps::strassen(a, b, 128, options), usage_error) << grain;
    }
}

TEST_P(sort_and_product_test, ProductsByDefaultSuitTheDevices) {
    EXPECT_EQ(apps::strassen_grain(4, false), 4u);
    EXPECT_EQ(apps::strassen_grain(4096, false), apps::strassen_block);
    EXPECT_EQ(apps::strassen_grain(4, true), 4u);
    EXPECT_EQ(apps::strassen_grain(64, true), 2 * apps::strassen_block);
    EXPECT_EQ(apps::strassen_grain(512, true), 64u);    // 343 tiles
    EXPECT_EQ(apps::strassen_grain(2048, true), 512u);  // 392
    EXPECT_EQ(apps::strassen_grain(4096, true), apps::max_strassen_block);
    apps::recursion_options options;
    options.job.devices = GetParam();
    for (const std::uint32_t n : {1u, 8u, is_checked(GetParam()) ? 16u : 64u}) {
        const auto a = random_words(std::uint64_t{n} * n, 1), b = random_words(std::uint64_t{n} * n, 2);
        EXPECT_EQ(apps::strassen(a, b, n, options).product, apps::product_by_definition(a, b, n)) << n << " rows";
    }
}

LANEWAY_ON_DEVICES(sort_and_product_test, with_checked_pair(program_lists()));

}  // namespace
}  // namespace laneway::test
