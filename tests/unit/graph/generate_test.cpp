#include "laneway/graph/generate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "graph/checksum.hpp"
#include "laneway/base/error.hpp"

namespace laneway::graph {
namespace {

const csr32& made_csr(const graph& g) { return std::get<csr32>(g.arcs); }

template <class F>
void for_each_arc(const csr32& csr, F f) {
    for (std::uint32_t v = 0; v < csr.vertices(); ++v)
        for (std::uint64_t arc = csr.offsets[v]; arc < csr.offsets[v + 1]; ++arc)
            f(v, csr.heads[arc], csr.weights[arc]);
}

void expect_symmetric(const csr32& csr) {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, int> excess;
    for_each_arc(csr, [&](std::uint32_t tail, std::uint32_t head, std::uint32_t weight) {
        ++excess[{tail, head, weight}];
        --excess[{head, tail, weight}];
    });
    EXPECT_TRUE(std::all_of(excess.begin(), excess.end(), [](const auto& entry) { return entry.second == 0; }));
}

std::uint64_t fingerprint(const csr32& csr) {
    checksum sum;
    sum.add(csr.offsets.data(), csr.offsets.size() * 8);
    sum.add(csr.heads.data(), csr.heads.size() * 4);
    sum.add(csr.weights.data(), csr.weights.size() * 4);
    return sum.value();
}

double mean_weight(const csr32& csr) {
    double sum = 0;
    for (const std::uint32_t weight : csr.weights) sum += weight;
    return sum / static_cast<double>(csr.arcs());
}

TEST(generate_grid_test, FullGridHasAllFourNeighbours) {
    const graph g = generate_grid({.width = 3, .height = 2, .keep = 1});
    EXPECT_EQ(made_csr(g).offsets, (std::vector<std::uint64_t>{0, 2, 5, 7, 9, 12, 14}));
    EXPECT_EQ(made_csr(g).heads, (std::vector<std::uint32_t>{1, 3, 0, 2, 4, 1, 5, 0, 4, 1, 3, 5, 2, 4}));
    EXPECT_EQ(g.ids.vertices, 6u);
}

TEST(generate_grid_test, ArcCountIsExactAndArcsAreSpreadEvenly) {
    const graph g = generate_grid({.width = 200, .height = 100, .arcs = 49'000});
    const csr32& csr = made_csr(g);
    EXPECT_EQ(csr.arcs(), 49'000u);
    std::uint64_t first_half = csr.offsets[10'000], horizontal = 0;
    for_each_arc(csr, [&](std::uint32_t tail, std::uint32_t head, std::uint32_t) {
        const std::uint32_t distance = std::max(tail, head) - std::min(tail, head);
        ASSERT_TRUE(distance == 200 || (distance == 1 && tail / 200 == head / 200));
        horizontal += distance == 1;
    });
    EXPECT_NEAR(static_cast<double>(first_half), 24'500, 600);
    EXPECT_NEAR(static_cast<double>(horizontal), 24'500, 600);
    expect_symmetric(csr);
}

TEST(generate_grid_test, WeightsAreUniformOverTheirRange) {
    const graph g = generate_grid({.width = 300, .height = 300, .keep = 1});
    const auto [least, greatest] = std::minmax_element(made_csr(g).weights.begin(), made_csr(g).weights.end());
    EXPECT_GE(*least, 1u);
    EXPECT_LE(*least, 5u);
    EXPECT_LE(*greatest, 10'000u);
    EXPECT_GE(*greatest, 9'995u);
    EXPECT_NEAR(mean_weight(made_csr(g)), 5'000.5, 40);
}

TEST(generate_grid_test, KeepShareAndSeed) {
    const grid_options options{.width = 100, .height = 100, .keep = 0.25};
    const graph g = generate_grid(options);
    EXPECT_EQ(made_csr(g).arcs(), 2u * 4950);
    EXPECT_EQ(fingerprint(made_csr(g)), fingerprint(made_csr(generate_grid(options))));
    grid_options other = options;
    other.seed = 2;
    EXPECT_NE(fingerprint(made_csr(g)), fingerprint(made_csr(generate_grid(other))));
    EXPECT_EQ(generate_grid({.width = 1, .height = 1}).arc_count(), 0u);
    EXPECT_EQ(generate_grid({.width = 9, .height = 9, .keep = 0}).arc_count(), 0u);
}

TEST(generate_grid_test, ImpossibleGridsAreRefused) {
    for (const grid_options& wrong :
         {grid_options{}, grid_options{.width = 70'000, .height = 70'000},
          grid_options{.width = 3, .height = 2, .arcs = 16}, grid_options{.width = 3, .height = 2, .arcs = 3},
          grid_options{.width = 2, .height = 2, .keep = 1.5}, grid_options{.width = 2, .height = 2, .max_weight = 0}})
        EXPECT_THROW((void)generate_grid(wrong), usage_error);
}

TEST(generate_kronecker_test, CountsAreExactAndWeightsUniform) {
    const graph g = generate_kronecker({.scale = 10, .arcs = 60'000});
    const csr32& csr = made_csr(g);
    EXPECT_EQ(csr.vertices(), 1024u);
    EXPECT_EQ(csr.arcs(), 60'000u);
    EXPECT_EQ(csr.offsets.back(), 60'000u);
    const auto [least, greatest] = std::minmax_element(csr.weights.begin(), csr.weights.end());
    EXPECT_EQ(*least, 1u);
    EXPECT_EQ(*greatest, 255u);
    EXPECT_NEAR(mean_weight(csr), 128, 1.5);
    expect_symmetric(csr);
}

// Graph500's probabilities give each level a row split of .76 to .24: the fullest of 2^10 rows holds .76^10 of the
// tails.
TEST(generate_kronecker_test, DegreesFollowThePowerLaw) {
    const graph g = generate_kronecker({.scale = 10, .arcs = 1'000'000, .symmetric = false});
    std::vector<std::uint64_t> out(1024), in(1024);
    for_each_arc(made_csr(g), [&](std::uint32_t tail, std::uint32_t head, std::uint32_t) { ++out[tail], ++in[head]; });
    const double expected = 1'000'000 * 0.0642888;
    EXPECT_NEAR(static_cast<double>(*std::max_element(out.begin(), out.end())), expected, 1500);
    EXPECT_NEAR(static_cast<double>(*std::max_element(in.begin(), in.end())), expected, 1500);
    EXPECT_EQ(std::max_element(out.begin(), out.end()) - out.begin(),
              std::max_element(in.begin(), in.end()) - in.begin());
}

TEST(generate_kronecker_test, HubsAreSpreadOverTheVertices) {
    const graph g = generate_kronecker({.scale = 14, .arcs = 400'000});
    const csr32& csr = made_csr(g);
    for (std::uint64_t quarter = 0; quarter < 4; ++quarter) {
        const auto arcs = csr.offsets[(quarter + 1) * 4096] - csr.offsets[quarter * 4096];
        EXPECT_NEAR(static_cast<double>(arcs), 100'000, 30'000) << "quarter " << quarter;
    }
}

TEST(generate_uniform_test, CountsAreExactAndAllVerticesAreAlike) {
    const graph g = generate_uniform({.vertices = 1000, .arcs = 1'000'000, .symmetric = false});
    const csr32& csr = made_csr(g);
    EXPECT_EQ(csr.vertices(), 1000u);
    EXPECT_EQ(csr.offsets.back(), 1'000'000u);
    EXPECT_EQ(g.ids.vertices, 1000u);
    std::vector<std::uint64_t> out(1000), in(1000);
    std::uint64_t loops = 0;
    for_each_arc(csr, [&](std::uint32_t tail, std::uint32_t head, std::uint32_t) {
        ++out[tail], ++in[head];
        loops += tail == head;
    });
    for (const auto* degrees : {&out, &in}) {  // 1,000 on average; five standard deviations are 158
        EXPECT_NEAR(static_cast<double>(*std::max_element(degrees->begin(), degrees->end())), 1000, 158);
        EXPECT_NEAR(static_cast<double>(*std::min_element(degrees->begin(), degrees->end())), 1000, 158);
    }
    EXPECT_NEAR(static_cast<double>(loops), 1000, 158);
    EXPECT_NEAR(mean_weight(csr), 128, 0.4);
    expect_symmetric(made_csr(generate_uniform({.vertices = 300, .arcs = 5000})));
}

TEST(generate_uniform_test, SmallestAndImpossible) {
    EXPECT_EQ(generate_uniform({.vertices = 1, .arcs = 2}).arc_count(), 2u);
    EXPECT_EQ(generate_uniform({.vertices = 7, .arcs = 0}).vertices(), 7u);
    for (const uniform_options& wrong :
         {uniform_options{}, uniform_options{.vertices = std::uint64_t{1} << 32},
          uniform_options{.vertices = 3, .arcs = 3}, uniform_options{.vertices = 3, .arcs = 2, .max_weight = 0}})
        EXPECT_THROW((void)generate_uniform(wrong), usage_error);
}

// A literal: other compilers, machines and numbers of threads must arrive at the same graph.
TEST(generate_test, SameGraphEverywhere) {
    EXPECT_EQ(fingerprint(made_csr(generate_kronecker({.scale = 8, .arcs = 4000}))), 10'779'525'995'113'562'275u);
    EXPECT_EQ(fingerprint(made_csr(generate_grid({.width = 40, .height = 30}))), 4'628'307'153'154'847'623u);
    EXPECT_EQ(fingerprint(made_csr(generate_uniform({.vertices = 300, .arcs = 4000}))), 4'940'014'464'605'687'827u);
    EXPECT_NE(fingerprint(made_csr(generate_kronecker({.scale = 8, .arcs = 4000, .seed = 2}))),
              fingerprint(made_csr(generate_kronecker({.scale = 8, .arcs = 4000}))));
}

TEST(generate_kronecker_test, SmallestAndImpossible) {
    EXPECT_EQ(generate_kronecker({.scale = 0, .arcs = 2}).arc_count(), 2u);
    EXPECT_EQ(generate_kronecker({.scale = 1, .arcs = 0}).vertices(), 2u);
    EXPECT_THROW((void)generate_kronecker({.scale = 32, .arcs = 2}), usage_error);
    EXPECT_THROW((void)generate_kronecker({.scale = 3, .arcs = 3}), usage_error);
    EXPECT_THROW((void)generate_kronecker({.scale = 3, .arcs = 2, .max_weight = 0}), usage_error);
}

}  // namespace
}  // namespace laneway::graph
