#include "laneway/graph/from_arrays.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "test_files.hpp"

namespace laneway::graph {
namespace {

using test::arcs_of;
using ends = std::vector<std::int64_t>;

numbering numbered(std::uint64_t vertices) {
    numbering ids;
    ids.vertices = vertices;
    return ids;
}

std::string called(std::uint64_t place) { return "w" + std::to_string(place); }

template <class Number>
whole_weights weights(std::vector<Number> numbers) {
    return make_weights<Number>(numbers, called);
}

template <class F>
std::string refusal(F f) {
    try {
        f();
    } catch (const usage_error& error) {
        return error.what();
    }
    return "accepted";
}

TEST(from_csr_test, KeepsOrderLoopsAndParallelArcs) {
    const graph g =
        from_csr(ends{0, 3, 3, 4}, ends{2, 0, 2, 1}, weights<std::int64_t>({7, 0, 5, 4294967295}), numbered(3));
    EXPECT_EQ(arcs_of(g), "0>2:7 0>0:0 0>2:5 2>1:4294967295");
    EXPECT_TRUE(std::holds_alternative<csr32>(g.arcs));
    EXPECT_EQ(g.ids.vertices, 3u);
    EXPECT_EQ(arcs_of(from_csr(ends{0, 1, 1}, ends{1}, {}, numbered(2))), "0>1");
    EXPECT_EQ(from_csr(ends{0}, {}, {}, numbered(0)).vertices(), 0u);
    EXPECT_EQ(from_csr(ends{0, 0}, {}, {{}, 100, true}, numbered(1)).weight_scale, 1u) << "no arcs, no weights";
}

TEST(from_csr_test, RefusesWhatIsNoMatrix) {
    const auto with = [](ends offsets, ends heads, whole_weights w = {}) {
        return refusal([&] { (void)from_csr(offsets, heads, std::move(w), numbered(2)); });
    };
    EXPECT_EQ(with({}, {}), "indptr is empty: it has one entry more than there are vertices");
    EXPECT_EQ(with({1, 1, 1}, {0}), "indptr[0] = 1 is not 0");
    EXPECT_EQ(with({0, 2, 1}, {0}), "indptr[2] = 1 is less than indptr[1] = 2");
    EXPECT_EQ(with({0, -1, 1}, {0}), "indptr[1] = -1 is less than indptr[0] = 0");
    EXPECT_EQ(with({0, 1, 3}, {0}), "the last entry of indptr, 3, is not the length of indices, 1");
    EXPECT_EQ(with({0, 1, 2}, {0, 2}), "indices[1] = 2 is outside a graph of 2 vertices");
    EXPECT_EQ(with({0, 1, 2}, {-1, 1}), "indices[0] = -1 is outside a graph of 2 vertices");
    EXPECT_EQ(with({0, 1, 2}, {0, 1}, weights<std::int64_t>({1})), "1 weights for 2 arcs");
    EXPECT_EQ(with({0, 1, 2, 2}, {0, 1}), "2 ids for 3 vertices");
}

TEST(from_arcs_test, SortsByTailAndMirrors) {
    const auto w = weights<std::int64_t>({1, 2, 3, 4});
    EXPECT_EQ(arcs_of(from_arcs(ends{2, 0, 2, 1}, ends{1, 2, 0, 1}, w, numbered(4), false)), "0>2:2 1>1:4 2>1:1 2>0:3");
    EXPECT_EQ(arcs_of(from_arcs(ends{2, 0, 2, 1}, ends{1, 2, 0, 1}, w, numbered(4), true)),
              "0>2:2 0>2:3 1>2:1 1>1:4 2>1:1 2>0:2 2>0:3");
    EXPECT_EQ(arcs_of(from_arcs(ends{1}, ends{0}, {}, numbered(2), false)), "1>0");
    EXPECT_EQ(refusal([] { (void)from_arcs(ends{0}, ends{0, 1}, {}, numbered(2), false); }), "1 tails for 2 heads");
    EXPECT_EQ(refusal([] {
                  (void)from_arcs(ends{0, 2}, ends{0, 1}, {}, numbered(2), false);
              }),
              "tails[1] = 2 is outside a graph of 2 vertices");
    EXPECT_EQ(refusal([] {
                  (void)from_arcs(ends{0, 1}, ends{-4, 1}, {}, numbered(2), false);
              }),
              "heads[0] = -4 is outside a graph of 2 vertices");
    EXPECT_EQ(refusal([] { (void)from_arcs(ends{0}, ends{0}, {}, numbered(1ull << 40), false); }),
              "1099511627776 vertices for 1 arcs: over the limit of 16778240");
    EXPECT_EQ(refusal([] {
                  (void)from_arcs(ends{0}, ends{0}, weights<double>({1, 2}), numbered(2), false);
              }),
              "2 weights for 1 arcs");
}

TEST(make_weights_test, RealNumbersAreTheShortestDecimalsThatStandForThem) {
    const whole_weights exact = weights<double>({0.1, 2, 0.25, 0, -0.0});
    EXPECT_EQ(exact.values, (std::vector<std::uint32_t>{10, 200, 25, 0, 0}));
    EXPECT_EQ(exact.scale, 100u);
    EXPECT_FALSE(exact.rounded);
    EXPECT_EQ(weights<float>({0.1f, 3e-5f}).values, (std::vector<std::uint32_t>{10000, 3}));
    EXPECT_EQ(weights<double>({4294967295.0, 1e9}).scale, 1u);
    const whole_weights third = weights<double>({1.0 / 3, 4});
    EXPECT_EQ(third.values, (std::vector<std::uint32_t>{333333333, 4000000000}));
    EXPECT_TRUE(third.rounded);
}

TEST(make_weights_test, RefusesWhatIsNoLength) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(refusal([] { (void)weights<std::int64_t>({1, -2}); }), "w1 is negative: -2");
    EXPECT_EQ(refusal([] {
                  (void)weights<std::int64_t>({1, 1, std::numeric_limits<std::int64_t>::min()});
              }),
              "w2 is negative: -9223372036854775808");
    EXPECT_EQ(refusal([] {
                  (void)weights<std::uint64_t>({1, 1ull << 32});
              }),
              "w1, 4294967296, is over the limit of 4294967295");
    EXPECT_EQ(refusal([] { (void)weights<double>({-1e-300}); }), "w0 is negative: -1e-300");
    EXPECT_EQ(refusal([] { (void)weights<double>({0.5, std::nan("")}); }), "w1 is not a number");
    EXPECT_EQ(refusal([] { (void)weights<double>({infinity}); }), "w0, inf, is over the limit of 4294967295");
    EXPECT_EQ(refusal([] { (void)weights<double>({-infinity}); }), "w0 is negative: -inf");
    EXPECT_EQ(refusal([] { (void)weights<float>({4294967296.0f}); }),
              "w0, 4294967296, is over the limit of 4294967295");
    EXPECT_EQ(refusal([] { (void)weights<double>({5e9, 0.4}); }), "w0, 5e+09, is over the limit of 4294967295");
    EXPECT_EQ(
        refusal([] {
            (void)weights<double>({3, 0.4, 4e9});
        }),
        "w1: weight 0.4 beside one of 4000000000 would become 0: weights have 32 bits for the digits of the least "
        "to those of the greatest");
}

TEST(from_csr_test, RefusesScalesAndIdsOfNoGraph) {
    const auto with = [](whole_weights w, std::vector<std::uint64_t> labels) {
        numbering ids = numbered(2);
        ids.labels = std::move(labels);
        return refusal([&] { (void)from_csr(ends{0, 1, 1}, ends{1}, w, ids); });
    };
    EXPECT_EQ(with({{7}, 10, false}, {3, 9}), "accepted");
    EXPECT_EQ(with({{7}, 0, false}, {}), "the scale of weights must be a power of ten, not 0");
    EXPECT_EQ(with({{7}, 20, false}, {}), "the scale of weights must be a power of ten, not 20");
    const std::string reason = "the ids of the vertices do not rise, or are not one a vertex";
    EXPECT_EQ(with({}, {9, 3}), reason);
    EXPECT_EQ(with({}, {3, 3}), reason);
    EXPECT_EQ(with({}, {3}), reason);
}

// Another thread may write to the arrays at any moment; here it is what looks whether the call shall be left.
TEST(from_arrays_test, WhatChangesMeanwhileMakesNoBrokenGraph) {
    ends offsets{0, 4'000, 10'000}, tails(10'000, 1), heads(10'000, 1);
    const auto meanwhile = [&](auto call) {
        bool changed = false;
        const interruption look([&] {
            offsets[1] = 1'000'000;
            tails[0] = heads[0] = 2;
            changed = true;
        });
        const graph made = call();
        EXPECT_TRUE(changed);
        offsets[1] = 4'000;
        tails[0] = heads[0] = 1;
        return std::get<csr32>(made.arcs);
    };
    const csr32 rows = meanwhile([&] { return from_csr(offsets, heads, {}, numbered(2)); });
    EXPECT_EQ(rows.offsets, (std::vector<std::uint64_t>{0, 4'000, 10'000}));
    EXPECT_EQ(rows.heads, std::vector<std::uint32_t>(10'000, 1));
    const csr32 arcs = meanwhile([&] { return from_arcs(tails, heads, {}, numbered(2), false); });
    EXPECT_EQ(arcs.offsets, (std::vector<std::uint64_t>{0, 0, 10'000}));
    EXPECT_EQ(arcs.heads, std::vector<std::uint32_t>(10'000, 1));
}

struct left : std::exception {};

TEST(from_arrays_test, CallsCanBeLeft) {
    const std::vector<std::int64_t> many(10'000, 0);
    const std::vector<double> decimals(10'000, 0.5);
    const auto can_be_left = [](auto call) {
        const interruption leave([] { throw left(); });
        try {
            (void)call();
        } catch (const left&) {
            return true;
        }
        return false;
    };
    EXPECT_TRUE(can_be_left([&] { return make_weights<std::int64_t>(many, called); }));
    EXPECT_TRUE(can_be_left([&] { return make_weights<double>(decimals, called); }));
    EXPECT_TRUE(can_be_left([&] { return from_arcs(many, many, {}, numbered(1), false); }));
    EXPECT_TRUE(can_be_left([&] { return from_csr(ends{0, 10'000}, many, {}, numbered(1)); })) << "by its heads";
    EXPECT_TRUE(can_be_left([&] { return from_csr(many, {}, {}, numbered(9'999)); })) << "by its offsets";
}

}  // namespace
}  // namespace laneway::graph
