// Atomics of every width, order and scope, under contention, on any device.
#pragma once

#include "laneway/simt/context.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

template <class Word>
struct contended_words {
    Word sum, bits, least, swapped, claims, counted;
};

/// Every lane works on the same words; the answers do not depend on the order.
template <class Word>
struct atomics_program {
    static constexpr int cuda_warps = 2;
    static constexpr Word laps = 50;
    contended_words<Word>* words;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto index = static_cast<Word>((ctx.block() * ctx.n_warps() + ctx.warp()) * Ctx::warp_lanes + ctx.lane());
        for (Word lap = 0; lap < laps; ++lap) {
            ctx.fetch_add(&words->sum, Word{2}, order::relaxed, scope::device);
            ctx.fetch_or(&words->bits, static_cast<Word>(Word{1} << (index % 16)), order::acq_rel, scope::device);
            ctx.fetch_min(&words->least, static_cast<Word>(~Word{0} - index * laps - lap), order::release,
                          scope::device);
            // What an exchange takes out is put in by exactly one other: the sum of all is kept.
            const Word taken = ctx.exchange(&words->swapped, static_cast<Word>(lap + 1), order::acq_rel, scope::device);
            ctx.fetch_add(&words->claims, static_cast<Word>(lap + 1 - taken), order::relaxed, scope::system);
            Word seen = ctx.load(&words->counted, order::relaxed, scope::device);
            while (!ctx.compare_exchange(&words->counted, seen, static_cast<Word>(seen + 1), order::relaxed,
                                         scope::system)) {
            }
        }
    }
};

template <class Word>
void atomics_agree(const std::string& devices) {
    every_round(devices, [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto shape = small_grid(machine);
        buffer<contended_words<Word>> words(machine.device(0), 1);
        contended_words<Word> start{};
        start.least = static_cast<Word>(~Word{0});
        words.copy_in(&start, 1);
        run_programs(machine, shape, o.timeout_seconds, [&](int) { return atomics_program<Word>{words.data()}; });
        const auto end = words.copy_out()[0];
        const int warp = machine.device(0)->is_gpu() ? 32 : is_checked(devices) ? 4 : 1;
        const auto lanes = static_cast<Word>(shape.blocks * shape.warps_per_block * warp);
        const auto laps = atomics_program<Word>::laps;
        EXPECT_EQ(end.sum, static_cast<Word>(2 * laps * lanes));
        EXPECT_EQ(end.counted, static_cast<Word>(laps * lanes));
        EXPECT_EQ(end.least, static_cast<Word>(~Word{0} - lanes * laps + 1));
        EXPECT_EQ(end.bits, static_cast<Word>((Word{1} << std::min<Word>(lanes, 16)) - 1));
        EXPECT_EQ(end.claims, end.swapped);
    });
}

class atomics_test : public testing::TestWithParam<std::string> {};

TEST_P(atomics_test, ThirtyTwoBits) { atomics_agree<std::uint32_t>(GetParam()); }
TEST_P(atomics_test, SixtyFourBits) { atomics_agree<std::uint64_t>(GetParam()); }

LANEWAY_ON_DEVICES(atomics_test, lone_device());

}  // namespace laneway::test
