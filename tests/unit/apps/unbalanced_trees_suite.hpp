// Unbalanced tree search: the published counts, and trees of all shapes at the least width, whose work moves between
// PEs.
#pragma once

#include <algorithm>
#include <utility>

#include "recursion/uts_node.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

using apps::uts_shape;
using apps::uts_tree;

/// Of 150 to 210 nodes each.
inline const uts_tree small_trees[] = {{uts_shape::fixed, 3, 4, 0, 0, 1},       {uts_shape::linear, 4, 6, 0, 0, 4},
                                       {uts_shape::cyclic, 3, 4, 0, 0, 22},     {uts_shape::exponential, 4, 3, 0, 0, 1},
                                       {uts_shape::binomial, 30, 0, 4, 0.2, 2}, {uts_shape::hybrid, 4, 6, 3, 0.25, 1}};

class unbalanced_trees_test : public testing::TestWithParam<std::string> {};

TEST_P(unbalanced_trees_test, TreesOfAllShapesAreCountedAtTheLeastWidth) {
    std::uint64_t moved = 0;
    every_round(GetParam(), [&](const options& o) {
        const uts_tree& tree = small_trees[o.seed % std::size(small_trees)];
        const apps::uts_count expected = apps::uts_by_stack(tree);
        apps::recursion_options narrow;
        narrow.job = o;
        narrow.job.chunk_bytes = std::max<std::size_t>(o.chunk_bytes, 48);  // a node that moves
        narrow.width = o.seed % 4 == 0 ? 64 : 4;
        // Warps keep nothing, or little.
        narrow.memory_bytes = o.seed % 3 == 0 ? 0 : (o.seed % 16) << 10;
        const auto made = apps::uts(tree, narrow, static_cast<std::uint32_t>(expected.depth) + 1);
        EXPECT_EQ(made.count, expected) << "tree " << o.seed % std::size(small_trees);
        moved += made.report.channels.moved;
    });
    if (is_checked(GetParam())) {
        EXPECT_EQ(moved > 0, !GetParam().ends_with(":1"));
    }
}

TEST_P(unbalanced_trees_test, ANodeBelowTheDeepestLevelIsRefused) {
    apps::recursion_options options;
    options.job = options_of(GetParam(), 1);
    try {
        (void)apps::uts(small_trees[0], options, 3);
        FAIL() << "three levels were enough";
    } catch (const device_fault& e) {
        EXPECT_NE(std::string(e.what()).find("channel 0 has 3 levels"), std::string::npos) << e.what();
    }
}

TEST_P(unbalanced_trees_test, ADeepTreeFindsRoomWhereItsDepthIsTold) {
    if (is_checked(GetParam())) return;
    const uts_tree chain{uts_shape::binomial, 1, 0, 1, 0.9997, 0};  // of 3,136 nodes
    const apps::uts_count expected = apps::uts_by_stack(chain);
    ASSERT_GT(expected.depth, 2048u) << "deeper than trees of this shape mostly are";
    apps::recursion_options options;
    options.job.devices = GetParam();
    options.memory_bytes = 16 << 20;
    EXPECT_THROW((void)apps::uts(chain, options), device_fault) << "too deep";
    const apps::uts_sample told{"chain", chain, expected};
    const auto made = apps::uts(chain, options, told.levels());
    EXPECT_EQ(made.count, expected);
    EXPECT_EQ(made.report.width, 64u) << "narrower levels would be full most of the time";
}

TEST_P(unbalanced_trees_test, OneWarpDecidesForAll) {
    repeat_rounds(GetParam(), few_rounds(GetParam(), 4), [&](const options& o) {
        const uts_tree& tree = small_trees[o.seed % std::size(small_trees)];
        const apps::uts_count expected = apps::uts_by_stack(tree);
        apps::recursion_options how;
        how.job = o;
        how.job.chunk_bytes = std::max<std::size_t>(o.chunk_bytes, 48);
        how.width = 4;
        how.scheduler = channel_scheduler::one_warp;
        const auto made = apps::uts(tree, how, static_cast<std::uint32_t>(expected.depth) + 1);
        EXPECT_EQ(made.count, expected);
        EXPECT_EQ(made.report.channels.moved, 0u) << "PEs without orders ask for nothing";
    });
}

LANEWAY_ON_DEVICES(unbalanced_trees_test, with_checked_pair(program_lists()));

class published_trees_test : public testing::TestWithParam<std::string> {};

TEST_P(published_trees_test, HaveThePublishedNumbersOfNodes) {
    if (is_checked(GetParam())) return;
    // All of them once, but on GPUs: each has four million nodes.
    std::vector<const char*> names{"T1"};
    if (GetParam() == "cpu:3") names = {"T3", "T2", "T4", "T5"};
    if (GetParam() == "cuda") names = {"T1", "T3", "T2", "T4", "T5"};
    for (const char* name : names) {
        const auto& sample = apps::uts_sample_of(name);
        apps::recursion_options options;
        options.job.devices = GetParam();
        options.memory_bytes = 64 << 20;
        EXPECT_EQ(apps::uts(sample.tree, options, sample.levels()).count, sample.count) << name;
    }
}

/// Trees that are too large to be counted in an ordinary run, and some for GPUs alone. The deepest ones are counted in
/// no test.
TEST_P(published_trees_test, LargeOnesHaveThemInLongRuns) {
    if (!is_long_run() || (GetParam() != "cpu:3" && GetParam() != "cuda")) return;
    std::vector<const char*> names{"T1L", "T2L"};
    if (GetParam() == "cuda") names.insert(names.end(), {"T1XL", "T1XXL", "T1WL"});
    for (const char* name : names) {
        const auto& sample = apps::uts_sample_of(name);
        apps::recursion_options options;
        options.job.devices = GetParam();
        options.job.timeout_seconds = 600;
        EXPECT_EQ(apps::uts(sample.tree, options, sample.levels()).count, sample.count) << name;
    }
}

/// The first seven levels, as a program has counted them that has nothing in common with this one but the benchmark's
/// definition, and SHA-1 from a library.
TEST_P(published_trees_test, LargeOnesBeginAsOthersCount) {
    const std::pair<const char*, apps::uts_count> beginnings[] = {
        {"T2L", {5370, 4628, 6}},    {"T3XXL", {11845, 6922, 6}}, {"T2XXL", {11675, 6837, 6}},
        {"T1WL", {16000, 12839, 6}}, {"T2WL", {11545, 6772, 6}},  {"T3WL", {11545, 6772, 6}}};
    for (const auto& [name, count] : beginnings) {
        uts_tree tree = apps::uts_sample_of(name).tree;
        tree.deepest = 6;
        apps::recursion_options options;
        options.job.devices = GetParam();
        EXPECT_EQ(apps::uts(tree, options, 7).count, count) << name;
        EXPECT_EQ(apps::uts_by_stack(tree), count) << name;
    }
}

LANEWAY_ON_DEVICES(published_trees_test, device_lists(1, false));

TEST(uts_samples_test, AnUnknownNameIsRefused) {
    EXPECT_THROW((void)apps::uts_sample_of("T9"), usage_error);
    EXPECT_EQ(apps::uts_sample_of("T1").count, apps::uts_by_stack(apps::uts_sample_of("T1").tree));
}

/// Of four zero bytes, and of "abcdefgh", as sha1sum gives them.
TEST(sha1_test, KnownDigests) {
    EXPECT_EQ(apps::sha1({0u}), (apps::sha1_digest{{0x9069ca78, 0xe7450a28, 0x5173431b, 0x3e52c5c2, 0x5299e473}}));
    EXPECT_EQ(apps::sha1({0x61626364u, 0x65666768u}),
              (apps::sha1_digest{{0x425af12a, 0x0743502b, 0x322e93a0, 0x15bcf868, 0xe324d56a}}));
}

}  // namespace
}  // namespace laneway::test
