// Checked devices refuse masks and shuffle sources that a GPU would leave undefined.
#include <gtest/gtest.h>

#include <functional>

#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

enum class call { sync, ballot, match, shuffle };

/// Lane `lane` of block 1 makes a call; the others make it with the right mask, where there is one.
struct call_with {
    call what;
    lane_mask mask;
    lane_mask callers;
    int source = 0;

    template <class Ctx>
    void operator()(Ctx& ctx) const {
        if (ctx.block() != 1 || (callers >> ctx.lane() & 1) == 0) return;
        switch (what) {
            case call::sync: ctx.sync(mask); return;
            case call::ballot: (void)ctx.ballot(mask, true); return;
            case call::match: (void)ctx.match(mask, ctx.lane()); return;
            case call::shuffle: (void)ctx.shuffle(mask, ctx.lane(), source); return;
        }
    }
};

std::string told_of(const call_with& program, std::uint64_t seed) {
    machine machine("checked:2", seed);
    try {
        run_programs(machine, {2, 1, 0}, 1, [&](int) { return program; });
    } catch (const usage_error& e) {
        return e.what();
    }
    return {};
}

constexpr int lanes = checked::warp_lanes;
constexpr call all_calls[] = {call::sync, call::ballot, call::match, call::shuffle};

TEST(wrong_masks_test, RightMasksAndSourcesPass) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        for (const call what : all_calls) {
            for (const lane_mask mask : {0xfu, 0x5u, 0x8u}) {
                EXPECT_EQ(told_of({what, mask, mask, 3 - std::countl_zero(mask << 28)}, seed), "") << mask;
            }
        }
    }
}

TEST(wrong_masks_test, WrongMasksAreNamed) {
    const char* const names[] = {"sync", "ballot", "match", "shuffle"};
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        for (const call what : all_calls) {
            const std::string name = names[static_cast<int>(what)];
            const auto check = [&](const call_with& program, const std::string& lane, const std::string& why) {
                const std::string told = told_of(program, seed);
                EXPECT_NE(told.find(" block 1 warp 0 " + lane + ": " + name + " of operator() (wrong_masks_test.cpp:"),
                          told.npos)
                    << told;
                EXPECT_NE(told.find("): " + why), told.npos) << told;
                EXPECT_EQ(told.rfind("PE ", 0), 0u) << told;
            };
            check({what, 0x0, 0x4}, "lane 2", "the mask is empty");
            check({what, 0x3, 0x4}, "lane 2", "the lane is not in its own mask, lanes 0, 1");
            if constexpr (lanes < 32) {  // else all masks are of lanes
                check({what, 0x8 | lane_mask{1} << lanes, 0x8}, "lane 3",
                      "the mask has lane " + std::to_string(lanes) + ", where a warp has " + std::to_string(lanes));
            }
        }
    }
}

TEST(wrong_masks_test, WrongShuffleSourcesAreNamed) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        for (const int source : {-1, lanes, 32}) {
            const std::string told = told_of({call::shuffle, 0xf, 0xf, source}, seed);
            EXPECT_NE(
                told.find("source lane " + std::to_string(source) + ", where a warp has " + std::to_string(lanes)),
                told.npos)
                << told;
        }
        const std::string told = told_of({call::shuffle, 0x5, 0x5, 1}, seed);
        EXPECT_NE(told.find("source lane 1 is not in the mask, lanes 0, 2"), told.npos) << told;
    }
}

}  // namespace
}  // namespace laneway::test
