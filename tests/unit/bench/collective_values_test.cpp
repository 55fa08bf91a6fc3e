#include "collective_values.hpp"

#include <gtest/gtest.h>

namespace laneway::bench {
namespace {

constexpr int pes = 4;
constexpr std::uint64_t each = 4099, elements = pes * each;

// What stands in an array at first, and what would come from a wrong PE or a wrong place, is right almost nowhere.
TEST(collective_values, ArraysThatNothingMovedAreWrong) {
    for (const collective_kind kind : all_collectives) {
        for (int pe = 0; pe < pes; ++pe) {
            std::uint64_t untouched = 0, neighbours = 0, places = 0;
            for (std::uint64_t i = 0; i < elements; ++i) {
                const float right = value_behind(kind, pes, pe, i, elements, 3);
                untouched += right == brought_value(pe, i) ? 1 : 0;
                neighbours += right == brought_value((static_cast<int>(i / each) + 1) % pes, i) ? 1 : 0;
                places += right == value_behind(kind, pes, pe, (i + 1) % elements, elements, 3) ? 1 : 0;
            }
            // What a PE gathers or exchanges with itself does not move.
            const std::uint64_t own = kind == collective_kind::all_reduce ? 0 : each, chance = elements / 100;
            EXPECT_LE(untouched, own + chance) << name_of(kind);
            EXPECT_LE(neighbours, chance) << name_of(kind);
            EXPECT_LE(places, chance) << name_of(kind);
        }
    }
}

TEST(collective_values, AreThoseThatTheCollectivesMake) {
    for (const int pe : {0, 3}) {
        const auto to = static_cast<std::uint64_t>(pe) * each;
        EXPECT_EQ(value_behind(collective_kind::all_gather, pes, pe, 2 * each + 5, elements, 9),
                  brought_value(2, 2 * each + 5));
        EXPECT_EQ(value_behind(collective_kind::all_to_all, pes, pe, 2 * each + 5, elements, 9),
                  brought_value(2, to + 5));
        float sum = 0;
        for (int other = 0; other < pes; ++other) sum += brought_value(other, 77);
        EXPECT_EQ(value_behind(collective_kind::all_reduce, pes, pe, 77, elements, 1), sum);
        EXPECT_EQ(value_behind(collective_kind::all_reduce, pes, pe, 77, elements, 3), sum * 16);
    }
}

TEST(collective_values, BusBytesAreThoseOfNcclsTests) {
    EXPECT_EQ(bus_bytes(collective_kind::all_reduce, 100, 4), 150);
    EXPECT_EQ(bus_bytes(collective_kind::all_gather, 100, 4), 75);
    EXPECT_EQ(bus_bytes(collective_kind::all_to_all, 100, 2), 50);
}

}  // namespace
}  // namespace laneway::bench
