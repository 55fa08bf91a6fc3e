// Filtering over all devices: the elements that the predicate holds for, in their order, whatever the packets.
#pragma once

#include <random>

#include "dataflow_job.hpp"
#include "laneway/flow/filter.hpp"

namespace laneway::test {
namespace {

class filter_test : public testing::TestWithParam<std::string> {};

template <class T>
struct below {
    T limit;
    LANEWAY_FN bool operator()(T x) const { return x < limit; }
};

template <class T>
std::vector<T> random_values(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<T> values(count);
    for (auto& value : values) value = static_cast<T>(random() % 100);
    return values;
}

template <class T>
void filter_at(const options& o, std::size_t count, int limit, const flow::filter_options& f) {
    flow::context ctx(o);
    const auto values = random_values<T>(count, o.seed);
    std::vector<T> expected;
    const below<T> keeps{static_cast<T>(limit)};
    std::copy_if(values.begin(), values.end(), std::back_inserter(expected), keeps);
    EXPECT_EQ(flow::filter(ctx, values, keeps, f), expected);
    EXPECT_EQ(flow::filter(ctx, values, keeps, f), expected) << "a context does it again";
}

TEST_P(filter_test, WhatIsKeptIsKeptInOrder) {
    dataflow_rounds(GetParam(), [](const options& o) {
        const flow::filter_options f{100 + o.seed % 7 * 30, 1 + static_cast<int>(o.seed % 3), {}};
        const int limits[] = {0, 1, 50, 99, 100};
        filter_at<std::uint32_t>(o, 1500 + o.seed, limits[o.seed % 5], f);
        filter_at<double>(o, 300, limits[(o.seed + 1) % 5], f);
        filter_at<std::int8_t>(o, 700, limits[(o.seed + 2) % 5], f);
    });
}

TEST_P(filter_test, SmallArraysAreArraysToo) {
    const auto o = dataflow_options(GetParam(), 1);
    for (const std::size_t count : {0u, 1u, 2u, 31u, 33u}) filter_at<std::int64_t>(o, count, 50, {64, 2, {}});
}

TEST_P(filter_test, PinnedOrNotTheInputIsTheSame) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto values = random_values<std::uint32_t>(5000, 3);
    const auto expected = flow::filter(ctx, values, below<std::uint32_t>{50}, {512, 2, {}});
    const auto pinned = ctx.pin(values.data(), values.size() * 4);
    EXPECT_EQ(pinned != nullptr, GetParam().find("cuda") != std::string::npos);
    EXPECT_EQ(ctx.pin(values.data(), values.size() * 4), nullptr) << "memory that is pinned already is refused";
    EXPECT_EQ(ctx.pin(values.data(), 0), nullptr);
    EXPECT_EQ(flow::filter(ctx, values, below<std::uint32_t>{50}, {512, 2, {}}), expected);
}

TEST_P(filter_test, AnEvenSplitGivesEachDeviceItsShare) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const std::size_t n = ctx.devices().size(), count = n * 1000;
    const auto values = random_values<std::uint32_t>(count, 1);
    std::size_t kept = 0;
    const auto shares = flow::filter_into(ctx, values.data(), count, below<std::uint32_t>{50},
                                          {80, 2, flow::even_split()}, [&](auto*, std::size_t more) { kept += more; });
    ASSERT_EQ(shares.size(), n);
    std::uint64_t kept_by_all = 0;
    for (const auto& share : shares) {
        EXPECT_EQ(share.elements, 1000u);
        EXPECT_EQ(share.packets, 50u);
        kept_by_all += share.kept;
    }
    EXPECT_EQ(kept_by_all, kept);
}

TEST_P(filter_test, WrongOptionsAndPoliciesLeaveAClosedContext) {
    const auto values = numbers(100);
    const auto refused = [&](const flow::filter_options& f) {
        flow::context ctx(dataflow_options(GetParam(), 0));
        const auto why = thrown<usage_error>([&] { (void)flow::filter(ctx, values, below<std::uint32_t>{1}, f); });
        EXPECT_THROW((void)flow::filter(ctx, values, below<std::uint32_t>{1}), usage_error);
        return why;
    };
    EXPECT_NE(refused({2, 1, {}}).find("packets of 2 bytes hold no element of 4"), std::string::npos);
    EXPECT_NE(refused({64, 0, {}}).find("buffers must be above 0"), std::string::npos);
    const auto nowhere = [](auto&, auto&, auto&) { return flow::route{}; };
    EXPECT_NE(refused({64, 1, nowhere}).find("router 'filter, to devices': its policy"), std::string::npos);
    flow::context ctx(dataflow_options(GetParam(), 0));
    if (ctx.devices().size() < 2) return;
    EXPECT_NE(refused({64, 1, flow::broadcast()}).find("sends each packet to one device, not to "), std::string::npos);
}

TEST_P(filter_test, ManyWarpsKeepTheOrder) {
    auto o = dataflow_options(GetParam(), 1);
    o.cpu_threads = o.checked_blocks = 70;  // more than a group of them
    o.checked_warps = 1;
    filter_at<std::uint32_t>(o, 3000, 50, {4096, 2, {}});
}

#if !defined(__CUDACC__)
struct throwing_predicate {
    bool operator()(std::uint32_t x) const {
        if (x == 777) throw std::runtime_error("no sevens");
        return true;
    }
};

TEST_P(filter_test, APredicateThatThrowsEndsIt) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto values = numbers(2000);
    const auto why = thrown<lane_error>([&] { (void)flow::filter(ctx, values, throwing_predicate{}, {256, 2, {}}); });
    EXPECT_NE(why.find("no sevens"), std::string::npos) << why;
    EXPECT_NE(why.find("worker of "), std::string::npos) << why;
}
#endif

LANEWAY_ON_DEVICES(filter_test, device_lists());

}  // namespace
}  // namespace laneway::test
