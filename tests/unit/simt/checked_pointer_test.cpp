// Source that uses pointers into symmetric memory means on checked devices what it means on others.
#include "laneway/simt/checked/pointer.hpp"

#include <gtest/gtest.h>

#include <array>

#include "laneway/base/error.hpp"

namespace laneway::checked {
namespace {

enum class color : std::uint8_t { red, green };
struct point {
    int x, y;
};

class checked_pointer_test : public testing::Test {
protected:
    template <class T, std::size_t N>
    pointer<T> to(std::array<T, N>& of) {
        return {history_, {7, 1, true, N, sizeof(T)}, of.data(), 0, std::source_location::current()};
    }

    pe_control control_;
    pe_environment env_{.pe = 1, .n_pes = 2, .control = &control_};
    scheduler sched_{1};
    race_watch watch_{true};
    lane_history history_{sched_, watch_, false, env_, {1, 2, 3, 0}};
};

TEST_F(checked_pointer_test, WordsAreReadAndWritten) {
    std::array<std::uint64_t, 4> words{1, 2, 3, 4};
    const auto p = to(words);
    *p = *p + 1;
    EXPECT_EQ(words[0], 2u);
    p[1] = p[2] = 9;
    EXPECT_EQ(words[1], 9u);
    EXPECT_EQ(words[2], 9u);
    *(p + 3) = *(2 + p);
    EXPECT_EQ(words[3], 9u);
    std::array<std::uint64_t, 1> index{3};
    p[*to(index)] = 4;
    EXPECT_EQ(*(p + to(index)[0]) + 0u, 4u);
    p[0] += 5;
    p[0] -= 1;
    p[0] *= p[0];
    p[0] /= 2;
    p[0] %= 16;
    p[0] |= 32;
    p[0] &= 34;
    p[0] ^= 1;
    p[0] <<= 2;
    p[0] >>= 1;
    EXPECT_EQ(words[0], ((((2u + 5 - 1) * 6 / 2 % 16) | 32) & 34) * 2 + 2);
    EXPECT_EQ(p[0]++, 70u);
    EXPECT_EQ(++p[0], 72u);
    EXPECT_EQ(p[0]--, 72u);
    EXPECT_EQ(--p[0], 70u);
}

TEST_F(checked_pointer_test, ValuesConvertAsThoseOfPlainPointers) {
    std::array<std::uint64_t, 2> words{std::uint64_t{1} << 40, 5};
    const auto p = to(words);
    const std::uint64_t same = *p;
    const double real = *p;
    EXPECT_EQ(same, std::uint64_t{1} << 40);
    EXPECT_EQ(real, 1099511627776.0);
    EXPECT_EQ(static_cast<int>(p[1]), 5);
    EXPECT_TRUE(p[1] ? true : false);
    EXPECT_TRUE(p[0] > p[1] && !(p[0] == 5) && p[1] <= 5 && 6 > p[1]);
    EXPECT_EQ(~p[1] + -p[1], ~std::uint64_t{5} + -std::uint64_t{5});
    static_assert(!std::is_convertible_v<reference<std::uint64_t>, int>, "would cut what `c ? *p : 0` gives");
    static_assert(!std::is_convertible_v<reference<double>, float> && std::is_convertible_v<reference<float>, double>);
    for (const bool chosen : {false, true}) {
        const std::uint64_t whole = chosen ? *p : 0;
        EXPECT_EQ(whole, chosen ? std::uint64_t{1} << 40 : 0);
        EXPECT_EQ(chosen ? *p : same, same);
        EXPECT_EQ(chosen ? 1 : p[1], chosen ? 1u : 5u);
    }
    std::array<color, 1> colors{color::green};
    EXPECT_TRUE(*to(colors) == color::green);
    *to(colors) = color::red;
    EXPECT_EQ(colors[0], color::red);
}

TEST_F(checked_pointer_test, VariablesAreChangedByWords) {
    std::array<std::uint64_t, 3> words{1, 2, 12};
    std::array<const float, 2> fractions{0.5F, 0.25F};
    const auto p = to(words);
    const auto q = to(fractions);
    std::uint64_t number = 3;
    number += p[1];
    EXPECT_EQ(number *= p[2], 60u);
    number |= *p;
    number >>= p[1];
    (number -= p[0]) %= p[2];
    EXPECT_EQ(number, ((60u | 1) >> 2) - 1 - 12);
    double fraction = 2;
    fraction += q[0];
    fraction /= *(q + 1);
    EXPECT_EQ(fraction, 10);
}

TEST_F(checked_pointer_test, ACopyMadeWithAutoKeepsItsValue) {
    std::array<int, 1> words{3};
    const auto p = to(words);
    auto before = *p;
    *p = *p + 1;
    EXPECT_EQ(before + 0, 3);
    EXPECT_EQ(words[0], 4);
    static_assert(!std::is_assignable_v<reference<int>&, int>, "a copy cannot be told from what it was copied from");
    static_assert(std::is_assignable_v<reference<int>&&, int>);
}

TEST_F(checked_pointer_test, BecomesAPlainPointer) {
    std::array<std::uint32_t, 3> words{1, 2, 3};
    auto p = to(words);
    std::uint32_t* const plain = p;
    const std::uint32_t* const constant = p + 1;
    EXPECT_EQ(plain, words.data());
    EXPECT_EQ(constant, plain + 1);
    EXPECT_EQ(static_cast<std::uint32_t*>(&p[2]), plain + 2);
    EXPECT_TRUE(p == plain && p != nullptr && p + 3 == plain + 3 && p < p + 1);
    ++p;
    EXPECT_EQ(*p++ + 0u, 2u);
    EXPECT_EQ(*--p + 0u, 2u);
    EXPECT_EQ(*(p - 1) + 0u, 1u);
}

TEST_F(checked_pointer_test, ElementsOfClassTypeAreReachedAsTheyAre) {
    std::array<point, 2> points{{{1, 2}, {3, 4}}};
    const auto p = to(points);
    p[1].x = 5;
    p->y = 6;
    point& first = *p;
    EXPECT_EQ(first.y, 6);
    EXPECT_EQ(points[1].x, 5);
}

TEST_F(checked_pointer_test, MissingElementsAreRefused) {
    std::array<int, 2> words{};
    std::array<point, 2> points{};
    const auto p = to(words);
    EXPECT_THROW((void)*(p + 2), usage_error);
    EXPECT_THROW((void)p[-1], usage_error);
    EXPECT_THROW((void)static_cast<int*>(p + 3), usage_error);
    EXPECT_NO_THROW((void)static_cast<int*>(p + 2));
    EXPECT_THROW((void)(to(points) + 2)->x, usage_error);
    EXPECT_THROW((void)to(points)[2], usage_error);
    const pointer<int> freed(history_, {7, 1, false, 0}, nullptr, 0, std::source_location::current());
    EXPECT_TRUE(freed == nullptr);
    EXPECT_THROW((void)*freed, usage_error);
    EXPECT_THROW((void)(freed + 1 == nullptr), usage_error);
}

}  // namespace
}  // namespace laneway::checked
