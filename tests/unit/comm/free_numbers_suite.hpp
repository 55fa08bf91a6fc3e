// Free numbers: nobody has one that another lane has, and none is lost, however many lanes want more than there are.
#pragma once

#include <algorithm>
#include <bit>
#include <numeric>

#include "laneway/comm/two_sided/free_numbers.hpp"
#include "laneway/simt/wait.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

/// All lanes take numbers and put them back, some two at a time.
struct take_and_put_back {
    static constexpr int cuda_warps = 2;

    free_numbers_ref numbers;
    std::uint32_t* uses = nullptr;   ///< plain words, one a number: seen by whoever has it
    std::uint32_t* wrong = nullptr;  ///< total
    std::uint32_t rounds = 0;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const bool takes_two = ctx.lane() % 3 == 1;
        bounded_spin spin;
        for (std::uint32_t round = 0; round < rounds;) {
            const std::uint32_t first = numbers.take(ctx);
            const std::uint32_t second = takes_two ? numbers.take(ctx) : free_numbers_ref::none;
            if (first != free_numbers_ref::none) use(ctx, first);
            if (second != free_numbers_ref::none) use(ctx, second);
            if (first == second && first != free_numbers_ref::none)
                ctx.fetch_add(wrong, 1u, order::relaxed, scope::device);
            if (first != free_numbers_ref::none) numbers.put_back(ctx, first);
            if (second != free_numbers_ref::none) numbers.put_back(ctx, second);
            if (first != free_numbers_ref::none) ++round;
            if (first == free_numbers_ref::none && spin.next(ctx, {operation::user_code, -1, 0}) != status::ok) return;
        }
    }

private:
    /// Two lanes with one number at a time would lose an addition.
    template <class Ctx>
    LANEWAY_FN void use(Ctx& ctx, std::uint32_t number) const {
        ++uses[number];
        ctx.fetch_add(wrong + 1, 1u, order::relaxed, scope::device);
    }
};

class free_numbers_test : public testing::TestWithParam<std::string> {};

TEST_P(free_numbers_test, EachIsOneLanesAtATimeAndNoneIsLost) {
    every_round_within(GetParam(), [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto& device = machine.device(0);
        for (const std::uint32_t count : {1u, 3u, 32u, 100u}) {
            std::vector<std::uint32_t> all(std::bit_ceil(count));
            std::iota(all.begin(), all.begin() + count, 1);
            buffer<std::uint32_t> places(device, all.size());
            places.copy_in(all);
            buffer<free_numbers_words> words(device, 1);
            const free_numbers_words full{count, 0, count};
            words.copy_in(&full, 1);
            const buffer<std::uint32_t> uses(device, count), totals(device, 2);
            run_programs(machine, small_grid(machine), o.timeout_seconds, [&](int) {
                return take_and_put_back{{places.data(), words.data(), static_cast<std::uint32_t>(all.size())},
                                         uses.data(),
                                         totals.data(),
                                         is_checked(GetParam()) ? 2u : 20u};
            });
            EXPECT_EQ(totals.copy_out()[0], 0u);
            const auto used = uses.copy_out();
            EXPECT_EQ(std::accumulate(used.begin(), used.end(), 0u), totals.copy_out()[1]);
            EXPECT_EQ(words.copy_out()[0].available, count);
            EXPECT_EQ(words.copy_out()[0].drawn - words.copy_out()[0].taken, count);
            auto left = places.copy_out();
            std::erase(left, 0u);
            std::sort(left.begin(), left.end());
            all.resize(count);
            EXPECT_EQ(left, all);
        }
    });
}

/// One lane takes the number that somebody has counted and not put back, or puts one where somebody has counted and not
/// taken.
struct meet_no_number {
    static constexpr int cuda_warps = 2;
    free_numbers_ref numbers;
    bool takes;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        if (takes) {
            (void)numbers.take(ctx);
        } else {
            numbers.put_back(ctx, 1);
        }
    }
};

TEST_P(free_numbers_test, WhoNeverComesIsNotWaitedForPastTheDeadline) {
    for (const bool takes : {true, false}) {
        machine machine(GetParam());
        buffer<std::uint32_t> places(machine.device(0), 4);
        buffer<free_numbers_words> words(machine.device(0), 1);
        const free_numbers_words counted{0, 0, takes ? std::uint64_t{1} : 0};
        words.copy_in(&counted, 1);
        if (!takes) places.copy_in({1, 2, 3, 4});
        const free_numbers_ref numbers{places.data(), words.data(), 4};
        const std::string told = told_at_deadline(machine, meet_no_number{numbers, takes});
        EXPECT_NE(told.find("deadline passed while using a request: request 0"), std::string::npos) << told;
    }
}

LANEWAY_ON_DEVICES(free_numbers_test, lone_device());

}  // namespace laneway::test
