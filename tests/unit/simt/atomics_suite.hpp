// Atomics of both widths under contention, and payloads behind flags of every scope, on any device.
#pragma once

#include "laneway/simt/context.hpp"
#include "laneway/simt/wait.hpp"
#include "unit/test_devices.hpp"
#include "unit/warp_threads.hpp"

namespace laneway::test {

template <class Word>
struct contended_words {
    Word sum, bits, cleared, flipped, least, most, swapped, claims, counted;
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
            ctx.fetch_max(&words->most, static_cast<Word>(index * laps + lap), order::release, scope::device);
            ctx.fetch_and(&words->cleared, static_cast<Word>(~(Word{1} << (index % 16))), order::acq_rel,
                          scope::device);
            ctx.fetch_xor(&words->flipped, static_cast<Word>(index * laps + lap), order::relaxed, scope::system);
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
    every_round_within(devices, [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto shape = small_grid(machine);
        buffer<contended_words<Word>> words(machine.device(0), 1);
        contended_words<Word> start{};
        start.least = start.cleared = static_cast<Word>(~Word{0});
        words.copy_in(&start, 1);
        run_programs(machine, shape, o.timeout_seconds, [&](int) { return atomics_program<Word>{words.data()}; });
        const auto end = words.copy_out()[0];
        const int warp = warp_lanes_of(*machine.device(0));
        const auto lanes = static_cast<Word>(shape.blocks * shape.warps_per_block * warp);
        const auto laps = atomics_program<Word>::laps;
        EXPECT_EQ(end.sum, static_cast<Word>(2 * laps * lanes));
        EXPECT_EQ(end.counted, static_cast<Word>(laps * lanes));
        EXPECT_EQ(end.least, static_cast<Word>(~Word{0} - lanes * laps + 1));
        EXPECT_EQ(end.most, static_cast<Word>(lanes * laps - 1));
        EXPECT_EQ(end.cleared, static_cast<Word>(~end.bits));
        Word flipped = 0;
        for (Word i = 0; i < lanes * laps; ++i) flipped ^= i;
        EXPECT_EQ(end.flipped, flipped);
        EXPECT_EQ(end.bits, static_cast<Word>((Word{1} << std::min<Word>(lanes, 16)) - 1));
        EXPECT_EQ(end.claims, end.swapped);
    });
}

/// Every lane works on the words of its block, whose memory other blocks do not reach.
template <class Word>
struct block_words_program {
    static constexpr int cuda_warps = 2;
    static constexpr Word laps = 20;
    std::uint32_t* wrong;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        auto* const words = reinterpret_cast<contended_words<Word>*>(ctx.shared());
        const auto index = static_cast<Word>(ctx.warp() * Ctx::warp_lanes + ctx.lane());
        if (index == 0) start(*words);
        ctx.sync_block();
        for (Word lap = 0; lap < laps; ++lap) update(ctx, *words, static_cast<Word>(index * laps + lap));
        ctx.sync_block();
        const auto lanes = static_cast<Word>(ctx.n_warps() * Ctx::warp_lanes);
        if (!holds(ctx, *words, lanes)) ctx.fetch_add(wrong, 1u, order::relaxed, scope::device);
    }

private:
    LANEWAY_FN static void start(contended_words<Word>& words) {
        words = {};
        words.cleared = static_cast<Word>(~Word{0});
        words.least = 100;
        words.swapped = 1;
    }
    template <class Ctx>
    LANEWAY_FN void update(Ctx& ctx, contended_words<Word>& words, Word number) const {
        const auto bit = static_cast<Word>(Word{1} << (number / laps % 16));
        ctx.fetch_add(&words.sum, Word{2}, order::relaxed, scope::block);
        ctx.fetch_or(&words.bits, bit, order::acq_rel, scope::block);
        ctx.fetch_and(&words.cleared, static_cast<Word>(~bit), order::release, scope::block);
        ctx.fetch_xor(&words.flipped, number, order::acquire, scope::block);
        ctx.fetch_min(&words.least, static_cast<Word>(number - 5), order::relaxed, scope::block);
        ctx.fetch_max(&words.most, static_cast<Word>(number - 5), order::relaxed, scope::block);
        const Word taken = ctx.exchange(&words.swapped, number, order::acq_rel, scope::block);
        ctx.fetch_add(&words.claims, static_cast<Word>(number - taken), order::relaxed, scope::block);
        Word seen = ctx.load(&words.counted, order::acquire, scope::block);
        while (!ctx.compare_exchange(&words.counted, seen, static_cast<Word>(seen + 1), order::acq_rel, scope::block)) {
        }
    }
    /// Of words without a sign -5 is one of the largest.
    template <class Ctx>
    LANEWAY_FN bool holds(Ctx& ctx, const contended_words<Word>& words, Word lanes) const {
        const auto now = [&](const Word& word) { return ctx.load(&word, order::relaxed, scope::block); };
        const auto bits = static_cast<Word>((Word{1} << (lanes < 16 ? lanes : 16)) - 1);
        const auto least = static_cast<Word>(std::is_signed_v<Word> ? Word{0} - 5 : Word{0});
        const auto most = static_cast<Word>(std::is_signed_v<Word> ? lanes * laps - 6 : Word{0} - 1);
        Word flipped = 0;
        for (Word number = 0; number < lanes * laps; ++number) flipped ^= number;
        return now(words.sum) == 2 * laps * lanes && now(words.bits) == bits &&
               now(words.cleared) == static_cast<Word>(~bits) && now(words.flipped) == flipped &&
               now(words.least) == least && now(words.most) == most &&
               now(words.claims) == static_cast<Word>(now(words.swapped) - 1) && now(words.counted) == lanes * laps;
    }
};

template <class Word>
void words_of_blocks_agree(const std::string& devices) {
    every_round_within(devices, [&](const options& o) {
        machine machine(o.devices, o.seed);
        const buffer<std::uint32_t> wrong(machine.device(0), 1);
        run_programs(machine, small_grid(machine), o.timeout_seconds,
                     [&](int) { return block_words_program<Word>{wrong.data()}; });
        EXPECT_EQ(wrong.copy_out()[0], 0u) << "lanes whose block's words were not right";
    });
}

/// Every lane adds to, lowers and raises the same numbers with a fraction; all sums are exact.
template <class Number>
struct fractions_program {
    static constexpr int cuda_warps = 2;
    Number* words;  ///< sum, least, most

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto index =
            static_cast<Number>((ctx.block() * ctx.n_warps() + ctx.warp()) * Ctx::warp_lanes + ctx.lane());
        ctx.fetch_add(&words[0], Number{0.5}, order::relaxed, scope::device);
        ctx.fetch_min(&words[1], Number{-0.25} - index, order::relaxed, scope::system);
        ctx.fetch_max(&words[2], Number{0.25} + index, order::relaxed, scope::device);
    }
};

template <class Number>
void fractions_agree(const std::string& devices) {
    every_round_within(devices, [&](const options& o) {
        machine machine(o.devices, o.seed);
        const auto shape = small_grid(machine);
        const buffer<Number> words(machine.device(0), 3);
        run_programs(machine, shape, o.timeout_seconds, [&](int) { return fractions_program<Number>{words.data()}; });
        const int warp = warp_lanes_of(*machine.device(0));
        const auto lanes = static_cast<Number>(shape.blocks * shape.warps_per_block * warp);
        const std::vector<Number> wanted{lanes / 2, Number{-0.25} - (lanes - 1), Number{0.25} + (lanes - 1)};
        EXPECT_EQ(words.copy_out(), wanted);
    });
}

/// What two lanes write to each other: plain words behind a flag.
struct letters {
    static constexpr int words = 8;
    std::uint32_t there[words];
    std::uint32_t back[words];
    std::uint32_t there_flag;
    std::uint32_t back_flag;
    std::uint32_t wrong;
};

/// Two lanes send each other words that the release store of a flag publishes and its acquire load receives; or
/// `Fences`, each one of half an order, do so for relaxed ones. For the block's scope they are of two warps of one
/// block, else of two blocks.
template <scope Scope, bool Fences>
struct letters_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint32_t rounds = 100;
    letters* between;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const int place = Scope == scope::block ? ctx.warp() : ctx.block();
        const int other = Scope == scope::block ? ctx.block() : ctx.warp();
        if (ctx.lane() != 0 || other != 0 || place > 1) return;
        letters& l = *between;
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            if (place == 0) write(ctx, l.there, &l.there_flag, round);
            if (!read(ctx, place == 0 ? l.back : l.there, place == 0 ? &l.back_flag : &l.there_flag, round)) return;
            if (place == 1) write(ctx, l.back, &l.back_flag, round);
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN void write(Ctx& ctx, std::uint32_t* words, std::uint32_t* flag, std::uint32_t round) const {
        for (std::uint32_t i = 0; i < letters::words; ++i) words[i] = round * 16 + i;
        if (Fences) ctx.fence(order::release, Scope);
        ctx.store(flag, round, Fences ? order::relaxed : order::release, Scope);  // Partner: the load in read.
    }
    template <class Ctx>
    LANEWAY_FN bool read(Ctx& ctx, const std::uint32_t* words, const std::uint32_t* flag, std::uint32_t round) const {
        constexpr order o = Fences ? order::relaxed : order::acquire;
        // Partner: the store in write.
        if (wait_until(ctx, {}, [&] { return ctx.load(flag, o, Scope) == round; }) != status::ok) return false;
        if (Fences) ctx.fence(order::acquire, Scope);
        for (std::uint32_t i = 0; i < letters::words; ++i) {
            if (words[i] != round * 16 + i) ctx.fetch_add(&between->wrong, 1, order::relaxed, scope::device);
        }
        return true;
    }
};

template <scope Scope, bool Fences = false>
void letters_arrive(const std::string& devices) {
    every_round_within(devices, [&](const options& o) {
        machine machine(o.devices, o.seed);
        const buffer<letters> between(machine.device(0), 1);
        const letters_program<Scope, Fences> program{between.data()};
        if (Scope == scope::block && machine.device(0)->id().kind == device_kind::cpu) {
            const lone_environment alone(0, 1, o.timeout_seconds);  // a CPU device's blocks have one warp
            run_warp_threads(alone.get(), {1, 2, 0}, program);
        } else {
            run_programs(machine, small_grid(machine), o.timeout_seconds, [&](int) { return program; });
        }
        const letters end = between.copy_out()[0];
        EXPECT_EQ(end.wrong, 0u);
        EXPECT_EQ(end.back_flag, program.rounds) << "the last letter did not come back";
    });
}

class atomics_test : public testing::TestWithParam<std::string> {};

TEST_P(atomics_test, ThirtyTwoBits) { atomics_agree<std::uint32_t>(GetParam()); }
TEST_P(atomics_test, SixtyFourBits) { atomics_agree<std::uint64_t>(GetParam()); }
TEST_P(atomics_test, WordsOfTheBlock) {
    words_of_blocks_agree<std::uint32_t>(GetParam());
    words_of_blocks_agree<std::uint64_t>(GetParam());
    words_of_blocks_agree<std::int32_t>(GetParam());
    words_of_blocks_agree<std::int64_t>(GetParam());
}
TEST_P(atomics_test, Floats) { fractions_agree<float>(GetParam()); }
TEST_P(atomics_test, Doubles) { fractions_agree<double>(GetParam()); }
TEST_P(atomics_test, FlagsOfTheBlockPublish) { letters_arrive<scope::block>(GetParam()); }
TEST_P(atomics_test, FlagsOfTheDevicePublish) { letters_arrive<scope::device>(GetParam()); }
TEST_P(atomics_test, FlagsOfTheSystemPublish) { letters_arrive<scope::system>(GetParam()); }
TEST_P(atomics_test, FencesOfTheBlockPublish) { letters_arrive<scope::block, true>(GetParam()); }
TEST_P(atomics_test, FencesOfTheDevicePublish) { letters_arrive<scope::device, true>(GetParam()); }
TEST_P(atomics_test, FencesOfTheSystemPublish) { letters_arrive<scope::system, true>(GetParam()); }

LANEWAY_ON_DEVICES(atomics_test, lone_device());

}  // namespace laneway::test
