// Large trees inside the memory that channels are given: 64 MiB on each PE, whatever the tree's size.
#pragma once

#include <algorithm>

#include "recursion/fibonacci.hpp"
#include "recursion/uts.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

class recursion_memory_test : public testing::TestWithParam<std::string> {
protected:
    static constexpr std::uint64_t memory_bytes = 64 << 20;

    [[nodiscard]] static apps::recursion_options within_memory() {
        apps::recursion_options made;
        made.job.devices = GetParam();
        made.job.timeout_seconds = 600;
        made.memory_bytes = memory_bytes;
        return made;
    }
    /// A program that has the narrowest channels: what it has on each device is little more than what it has beside
    /// these, buffers for messages between devices above all.
    [[nodiscard]] static apps::recursion_options narrowest() {
        apps::recursion_options least = within_memory();
        least.width = 4;
        least.memory_bytes = 0;
        return least;
    }
    /// Channels of no more bytes than these, with what warps keep.
    static void expect_within(const apps::recursion_report& report, const apps::recursion_report& least,
                              std::uint64_t bytes) {
        const auto &all = report.run.device_bytes, &besides = least.run.device_bytes;
        ASSERT_EQ(all.size(), besides.size());
        for (std::size_t pe = 0; pe < all.size(); ++pe) EXPECT_LE(all[pe], besides[pe] + bytes) << "PE " << pe;
    }
    static void expect_fibonacci_within(const apps::recursion_report& report, std::uint64_t bytes) {
        expect_within(report, apps::fibonacci(1, narrowest()).report, bytes);
    }
    static void expect_fibonacci_of_40(std::uint32_t grain, std::uint32_t width) {
        apps::recursion_options large = within_memory();
        large.grain = grain;
        large.width = width;
        const auto made = apps::fibonacci(40, large);
        EXPECT_EQ(made.value, 102334155u);
        EXPECT_EQ(made.calls, 331160281u);
        expect_fibonacci_within(made.report, memory_bytes);
        if (width == 0) return;
        const auto& of_first = made.report.run.device_bytes[0];
        EXPECT_GT(of_first, memory_bytes / 2) << "so wide, channels take most of the memory";
    }
};

TEST_P(recursion_memory_test, Fibonacci40WithAGrain) {
    expect_fibonacci_of_40(16, 0);
    expect_fibonacci_of_40(16, 32768);
}

/// A task for each of 331 million calls, and a continuation for half of them.
TEST_P(recursion_memory_test, Fibonacci40CallByCall) {
    if (is_long_run() || GetParam().starts_with("cuda")) expect_fibonacci_of_40(1, 0);
}

TEST_P(recursion_memory_test, LittleMemoryIsKeptToAsWell) {
    apps::recursion_options little = within_memory();
    little.grain = 16;
    for (const std::uint64_t bytes : {std::uint64_t{1} << 18, std::uint64_t{1} << 20}) {
        little.memory_bytes = bytes;
        const auto made = apps::fibonacci(30, little);
        EXPECT_EQ(made.value, 832040u);
        expect_fibonacci_within(made.report, bytes);
    }
}

TEST_P(recursion_memory_test, AnUnbalancedTree) {
    const apps::uts_sample& sample = apps::uts_sample_of("T1");
    const auto made = apps::uts(sample.tree, within_memory(), sample.levels());
    EXPECT_EQ(made.count, sample.count);
    apps::uts_tree small = sample.tree;
    small.depth = 1;
    expect_within(made.report, apps::uts(small, narrowest(), sample.levels()).report, memory_bytes);
}

LANEWAY_ON_DEVICES(recursion_memory_test, device_lists(1, false));

}  // namespace
}  // namespace laneway::test
