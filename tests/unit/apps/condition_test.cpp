#include "filter/condition.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "filter/filter.hpp"
#include "laneway/base/error.hpp"
#include "unit/thrown.hpp"

namespace laneway::apps {
namespace {

template <class T>
std::vector<bool> holds(const std::string& text, const std::vector<T>& values) {
    const auto parsed = parse_condition<T>(text);
    std::vector<bool> all;
    for (const T x : values) all.push_back(parsed(x));
    return all;
}

using bools = std::vector<bool>;

TEST(condition, ComparisonsCompare) {
    const std::vector<int> x = {-3, 0, 2, 3};
    EXPECT_EQ(holds("x<2", x), (bools{true, true, false, false}));
    EXPECT_EQ(holds(" x <= 2 ", x), (bools{true, true, true, false}));
    EXPECT_EQ(holds("x > -3", x), (bools{false, true, true, true}));
    EXPECT_EQ(holds("x >= +2", x), (bools{false, false, true, true}));
    EXPECT_EQ(holds("x == 2", x), (bools{false, false, true, false}));
    EXPECT_EQ(holds("x != 2", x), (bools{true, true, false, true}));
    EXPECT_EQ(holds("x >= 0 and x < 3", x), (bools{false, true, true, false}));
    EXPECT_EQ(holds("x < 0 or x == 3 or x == 2", x), (bools{true, false, true, true}));
}

TEST(condition, RemaindersAreThoseOfPython) {
    EXPECT_EQ(holds<int>("x % 3 == 1", {-5, -4, -2, 1, 4}), (bools{true, false, true, true, true}));
    EXPECT_EQ(holds<double>("x % 1.5 == 0.5", {-1.0, 0.5, 2.0, 1.5}), (bools{true, true, true, false}));
    EXPECT_EQ(holds<std::uint8_t>("x % 200 == 55", {255, 55, 54}), (bools{true, true, false}));
    EXPECT_EQ(holds<std::int64_t>("x % 9223372036854775807 == 9223372036854775806",
                                  {-1, std::numeric_limits<std::int64_t>::min()}),
              (bools{true, true}));
}

TEST(condition, EachTypeHasItsNumbers) {
    EXPECT_EQ(holds<std::uint64_t>("x == 18446744073709551615", {~std::uint64_t{0}}), bools{true});
    EXPECT_EQ(holds<std::int8_t>("x >= -128", {-128}), bools{true});
    EXPECT_EQ(holds<float>("x < inf", {1e38f, std::numeric_limits<float>::infinity()}), (bools{true, false}));
    EXPECT_EQ(holds<double>("x > 1e-3 and x != 0.25", {0.001, 0.002, 0.25, std::numeric_limits<double>::quiet_NaN()}),
              (bools{false, true, false, false}));
}

template <class T>
std::string refused(const std::string& text) {
    return test::thrown<usage_error>([&] { (void)parse_condition<T>(text); });
}

TEST(condition, WhatIsNoneIsToldWithItsPlace) {
    EXPECT_EQ(refused<int>(""),
              "condition \"\": expected x at character 1: \"x > 0.5\", \"x >= 10 and x < 20\", "
              "\"x % 3 == 0\"");
    EXPECT_NE(refused<int>("y > 1").find("expected x at character 1"), std::string::npos);
    EXPECT_NE(refused<int>("xx > 1").find("expected x"), std::string::npos);
    EXPECT_NE(refused<int>("x = 1").find("one of < <= > >= == != at character 3"), std::string::npos);
    EXPECT_NE(refused<int>("x >").find("a number at character 4"), std::string::npos);
    EXPECT_NE(refused<int>("x > 1 x < 2").find("and, or, or the end at character 7"), std::string::npos);
    EXPECT_NE(refused<int>("x > 1 and x < 2 or x == 5").find("all by `or`"), std::string::npos);
    EXPECT_NE(refused<int>("x > 1 or x < 2 and x == 5").find("all by `or`"), std::string::npos);
    EXPECT_NE(refused<int>("x % 0 == 1").find("above 0"), std::string::npos);
    EXPECT_NE(refused<int>("x % -2 == 1").find("above 0"), std::string::npos);
    std::string nine = "x > 1";
    for (int i = 0; i < 8; ++i) nine += " or x > 1";
    EXPECT_NE(refused<int>(nine).find("no more than 8"), std::string::npos);
}

TEST(condition, NumbersThatATypeLacksAreNamed) {
    EXPECT_NE(refused<std::uint8_t>("x < 300").find("300 is no number of type uint8"), std::string::npos);
    EXPECT_NE(refused<std::uint16_t>("x < -1").find("-1 is no number of type uint16"), std::string::npos);
    EXPECT_NE(refused<std::int32_t>("x < 0.5").find("0.5 is no number of type int32"), std::string::npos);
    EXPECT_NE(refused<std::int64_t>("x < 1e30").find("int64"), std::string::npos);
    EXPECT_NE(refused<float>("x < 1e300").find("1e300 is no number of type float32"), std::string::npos);
    EXPECT_NE(refused<double>("x < nan").find("nan is no number"), std::string::npos);
    EXPECT_NE(refused<double>("x < one").find("one is no number of type float64"), std::string::npos);
}

TEST(filter, TheProgramKeepsAndCounts) {
    filter_options options;
    options.job.devices = "cpu:2";
    options.condition = "x % 3 == 1";
    options.packet_bytes = 400;
    std::vector<std::uint16_t> values(10'000), expected;
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<std::uint16_t>(i * 31);
        if (values[i] % 3 == 1) expected.push_back(values[i]);
    }
    for (const auto policy : {filter_policy::available, filter_policy::even}) {
        options.policy = policy;
        const auto result = filter(values.data(), values.size(), options);
        EXPECT_EQ(result.kept, expected);
        EXPECT_EQ(result.elements[0] + result.elements[1], values.size());
        EXPECT_EQ(result.packets[0] + result.packets[1], 50u);
        EXPECT_EQ(result.report.posted, values.size() + expected.size());
        EXPECT_EQ(result.report.bytes(), 2 * result.report.posted);
        EXPECT_EQ(result.report.chunks(), 100u);
    }
    EXPECT_EQ(filter(values.data(), 0, options).kept.size(), 0u);
    options.job.buffer_bytes = 1000;
    EXPECT_NE(test::thrown<usage_error>([&] {
                  (void)filter(values.data(), 1, options);
              }).find("5 packets of 400 bytes on a device do not fit into 1000"),
              std::string::npos);
    options.packet_bytes = 0;
    EXPECT_EQ(filter(values.data(), values.size(), options).kept, expected);
    options.buffers = 0;
    EXPECT_THROW((void)filter(values.data(), 1, options), usage_error);
    EXPECT_THROW((void)parse_filter_policy("odd"), usage_error);
}

}  // namespace
}  // namespace laneway::apps
