// The data part of a triggered operation, at every alignment and length, by one lane and by many.
#include "laneway/comm/triggers/move_range.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace laneway::test {

namespace {

constexpr std::uint64_t longest = 600;  // several batches of 16 lanes, in words of 16 bytes

template <class T>
T reference(memory_op op, T a, T b) {
    if (op == memory_op::add) return static_cast<T>(a + b);
    return op == memory_op::min ? std::min(a, b) : std::max(a, b);
}

/// Both ranges, from these elements of words of 16 bytes on, in a larger array whose other elements must stay.
template <class T>
void combines(memory_op op, std::uint64_t to_first, std::uint64_t from_first, std::uint64_t count,
              std::uint64_t lanes) {
    std::mt19937 random(static_cast<std::uint32_t>(count));
    std::vector<number_pack<T>> to_words(longest), from_words(longest);
    T *const to = to_words[0].numbers, *const from = from_words[0].numbers;
    const std::uint64_t all = longest * (16 / sizeof(T));
    for (std::uint64_t i = 0; i < all; ++i) {
        to[i] = static_cast<T>(random() % 1000);
        from[i] = static_cast<T>(random() % 1000);
    }
    std::vector<T> expected(to, to + all);
    for (std::uint64_t i = 0; i < count; ++i) {
        expected[to_first + i] = reference(op, to[to_first + i], from[from_first + i]);
    }
    for (std::uint64_t lane = 0; lane < lanes; ++lane) {
        combine_range(op, remote_ptr<T>(to + to_first), remote_ptr<const T>(from + from_first), count, {lane, lanes});
    }
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to))
        << count << " elements from " << to_first << " and " << from_first << " on, " << lanes << " lanes";
}

template <class T>
class move_range_test : public testing::Test {};
using numbers = testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(move_range_test, numbers);

TYPED_TEST(move_range_test, CombinesWhateverTheAlignmentAndTheLength) {
    for (const memory_op op : {memory_op::add, memory_op::min, memory_op::max}) {
        for (const std::uint64_t lanes : {1, 16}) {
            for (const std::uint64_t count : {0, 1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1023}) {
                for (std::uint64_t first = 0; first < 4; ++first) {
                    combines<TypeParam>(op, first, first, count, lanes);
                    combines<TypeParam>(op, first, 0, count, lanes);
                    combines<TypeParam>(op, 4, first, count, lanes);
                }
            }
        }
    }
}

TEST(store_range_test, StoresWhateverTheAlignmentAndTheLength) {
    for (const std::uint64_t lanes : {1, 16}) {
        for (std::uint64_t words = 0; words < 300; ++words) {
            for (std::uint64_t first = 0; first < 4; ++first) {
                std::vector<number_pack<std::uint32_t>> to(longest), from(longest);
                for (std::uint32_t i = 0; i < 4 * longest; ++i) from[i / 4].numbers[i % 4] = i + 1;
                for (std::uint64_t lane = 0; lane < lanes; ++lane) {
                    store_range(reinterpret_cast<std::byte*>(to[0].numbers + 4),
                                reinterpret_cast<const std::byte*>(from[0].numbers + first), 4 * words, {lane, lanes});
                }
                for (std::uint64_t i = 0; i < 4 * longest; ++i) {
                    const bool stored = i >= 4 && i < 4 + words;
                    ASSERT_EQ(to[i / 4].numbers[i % 4], stored ? i - 4 + first + 1 : 0) << words << " words";
                }
            }
        }
    }
}

}  // namespace
}  // namespace laneway::test
