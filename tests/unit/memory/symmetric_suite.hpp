// Symmetric memory: one name for a part on every PE.
#pragma once

#include "laneway/memory/symmetric_array.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

constexpr std::uint64_t elements = 10;

/// Every lane adds to each element of its own PE's part; lane 0 notes what it can reach of the others.
struct touch_program {
    static constexpr int cuda_warps = 2;
    symmetric_ref<std::uint64_t> words;
    symmetric_ref<std::uint32_t> reached;  ///< one an n_pes: 1 where this PE sees the part of the other

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t i = 0; i < words.size(); ++i) atomic_add(ctx, words[i], i + 1);
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            const bool own = words.at(ctx, pe) == words.local(ctx);
            reached.local(ctx)[pe] = words.at(ctx, pe) == nullptr ? 0 : own ? 2 : 1;
        }
    }
};

class symmetric_test : public testing::TestWithParam<std::string> {};

TEST_P(symmetric_test, PartsAreSeparateAndZeroedAtTheStart) {
    machine machine(GetParam());
    const symmetric_array<std::uint64_t> before(machine, 3);  // so that the tested segment is not the first
    symmetric_array<std::uint64_t> words(machine, elements);
    const symmetric_array<std::uint32_t> reached(machine, 8);
    std::vector<std::uint64_t> start(elements);
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        EXPECT_EQ(words.copy_out(pe), start);
    }
    start.assign(elements, 1000);
    words.copy_in(machine.n_pes() - 1, start);
    const auto shape = small_grid(machine);
    run_programs(machine, shape, 10, [&](int) { return touch_program{words.ref(), reached.ref()}; });
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        const int warp = warp_lanes_of(*machine.device(pe));
        const int warps = machine.device(pe)->is_gpu() || is_checked(GetParam()) ? shape.warps_per_block : 1;
        const auto lanes = static_cast<std::uint64_t>(shape.blocks * warps * warp);
        for (std::uint64_t i = 0; i < elements; ++i) {
            EXPECT_EQ(words.copy_out(pe)[i], (pe == machine.n_pes() - 1 ? 1000 : 0) + (i + 1) * lanes);
        }
        for (int other = 0; other < machine.n_pes(); ++other) {
            const bool same_kind = machine.device(pe)->is_gpu() == machine.device(other)->is_gpu();
            EXPECT_EQ(reached.copy_out(pe)[static_cast<std::size_t>(other)], pe == other ? 2u
                                                                             : same_kind ? 1u
                                                                                         : 0u)
                << "PE " << pe << " of PE " << other;
        }
    }
    EXPECT_EQ(before.copy_out(0), std::vector<std::uint64_t>(3));
}

/// Lane 0 of each PE reads words where a value may stand in their place, and changes variables by words.
struct pick_program {
    static constexpr int cuda_warps = 2;
    symmetric_ref<std::uint64_t> words;
    symmetric_ref<float> fractions;
    symmetric_ref<std::uint64_t> picked;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        std::uint64_t sum = 0;
        float fraction = 0;
        for (std::uint64_t i = 0; i < words.size(); ++i) {
            const std::uint64_t odd = i % 2 == 1 ? words.local(ctx)[i] : 0;
            const std::uint64_t even = i % 2 == 1 ? 0 : words.local(ctx)[i];
            sum += 1000 * odd + even;
            sum += i % 3 == 0 ? words.local(ctx)[0] : words.local(ctx)[i];
            sum ^= words.local(ctx)[i];
            fraction += i % 2 == 1 ? fractions.local(ctx)[i] : 0;
            fraction *= i == 4 ? fractions.local(ctx)[4] : 1.5F;
        }
        picked.local(ctx)[0] = sum;
        picked.local(ctx)[1] = words.local(ctx)[2] > 7 ? words.local(ctx)[2] : 7;
        picked.local(ctx)[2] = static_cast<std::uint64_t>(fraction * 1024);
    }
};

TEST_P(symmetric_test, WordsStandWhereValuesDo) {
    machine machine(GetParam());
    symmetric_array<std::uint64_t> words(machine, elements);
    symmetric_array<float> fractions(machine, elements);
    const symmetric_array<std::uint64_t> picked(machine, 3);
    std::vector<std::uint64_t> values;
    std::vector<float> parts;
    for (std::uint64_t i = 0; i < elements; ++i) {
        values.push_back(3 + 5 * i);
        parts.push_back(0.25F * static_cast<float>(i));
    }
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        words.copy_in(pe, values);
        fractions.copy_in(pe, parts);
    }
    run_programs(machine, small_grid(machine), 10, [&](int) {
        return pick_program{words.ref(), fractions.ref(), picked.ref()};
    });
    std::uint64_t sum = 0;
    float fraction = 0;
    for (std::uint64_t i = 0; i < elements; ++i) {
        sum += i % 2 == 1 ? 1000 * values[i] : values[i];
        sum += i % 3 == 0 ? values[0] : values[i];
        sum ^= values[i];
        if (i % 2 == 1) fraction += parts[i];
        fraction *= i == 4 ? parts[4] : 1.5F;
    }
    const std::vector<std::uint64_t> expected{sum, 13, static_cast<std::uint64_t>(fraction * 1024)};
    for (int pe = 0; pe < machine.n_pes(); ++pe) EXPECT_EQ(picked.copy_out(pe), expected);
}

TEST_P(symmetric_test, RefusesAWrongNumberOfElements) {
    machine machine(GetParam());
    symmetric_array<std::uint32_t> array(machine, 4);
    EXPECT_THROW(array.copy_in(0, {1, 2, 3}), usage_error);
    EXPECT_THROW(array.copy_in(0, {1, 2, 3, 4, 5}), usage_error);
    EXPECT_NO_THROW(array.copy_in(0, {1, 2, 3, 4}));
    EXPECT_EQ(array.copy_out(0), (std::vector<std::uint32_t>{1, 2, 3, 4}));
}

TEST_P(symmetric_test, RefusesPesThatDoNotExist) {
    machine machine(GetParam());
    symmetric_array<std::uint64_t> words(machine, elements);
    for (const int pe : {-1, machine.n_pes(), 1 << 30}) {
        EXPECT_THROW((void)words.copy_out(pe), usage_error);
        EXPECT_THROW(words.copy_in(pe, std::vector<std::uint64_t>(elements)), usage_error);
    }
}

TEST_P(symmetric_test, ClearingZeroesEveryPart) {
    machine machine(GetParam());
    symmetric_array<std::uint32_t> array(machine, 3);
    for (int pe = 0; pe < machine.n_pes(); ++pe) array.copy_in(pe, {1, 2, 3});
    array.clear();
    for (int pe = 0; pe < machine.n_pes(); ++pe) EXPECT_EQ(array.copy_out(pe), std::vector<std::uint32_t>(3));
}

TEST_P(symmetric_test, RefusesSizesWhoseBytesOverflow) {
    machine machine(GetParam());
    EXPECT_THROW(symmetric_array<std::uint64_t>(machine, std::uint64_t{1} << 61), usage_error);
    EXPECT_NO_THROW(symmetric_array<std::uint64_t>(machine, 1));
}

TEST_P(symmetric_test, RefusesSizesThatNoMemoryHas) {
    machine machine(GetParam());
    for (const std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - 100}) {
        EXPECT_THROW(symmetric_array<char>(machine, bytes), error);
    }
}

TEST_P(symmetric_test, NamesTheLimitOfAllocations) {
    machine machine(GetParam());
    const std::vector<void*> nowhere(static_cast<std::size_t>(machine.n_pes()));
    for (std::uint32_t i = 0; i < max_segments; ++i) EXPECT_EQ(*machine.add_segment(nowhere, 1), i);
    try {
        const symmetric_array<std::uint32_t> array(machine, 1);
        FAIL() << "one more";
    } catch (const usage_error& e) {
        EXPECT_EQ(std::string(e.what()),
                  "no more than 131072 symmetric arrays over the life of a runtime, freed ones included");
    }
    static_assert(trivially_copyable<symmetric_ref<double>> && trivially_copyable<symmetric_ptr<double>>);
}

/// Lane 0 of each PE looks at its part of some arrays, which hold one word each, and whether the names of others name
/// anything.
struct look_program {
    static constexpr int cuda_warps = 2;
    static constexpr std::uint64_t most = 64;
    symmetric_ref<std::uint64_t> kept[most];
    symmetric_ref<std::uint64_t> freed[most];
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        std::uint64_t errors = 0;
        for (std::uint64_t i = 0; i < most; ++i) {
            const bool right = exists(ctx, kept[i][0]) && *kept[i].local(ctx) == i + 1;
            const bool gone = !exists(ctx, freed[i][0]) && freed[i].local(ctx) == nullptr;
            errors += (right ? 0u : 1u) + (gone ? 0u : 1u);
        }
        *wrong.local(ctx) = errors;
    }
};

TEST_P(symmetric_test, FreedArraysLeaveRoomForOthersAndNamesThatNameNothing) {
    machine machine(GetParam());
    symmetric_array<std::uint64_t> wrong(machine, 1);
    std::vector<symmetric_array<std::uint64_t>> kept;
    look_program look;
    for (std::uint64_t i = 0; i < look_program::most; ++i) {
        for (int more = 0; more < 40; ++more) look.freed[i] = symmetric_array<std::uint64_t>(machine, 1).ref();
        kept.emplace_back(machine, 1);
        for (int pe = 0; pe < machine.n_pes(); ++pe) kept.back().copy_in(pe, {i + 1});
        look.kept[i] = kept.back().ref();
    }
    look.wrong = wrong.ref();
    for (int run = 0; run < 3; ++run) {
        for (int pe = 0; pe < machine.n_pes(); ++pe) wrong.copy_in(pe, {99});
        run_programs(machine, small_grid(machine), 10, [&](int) { return look; });
        for (int pe = 0; pe < machine.n_pes(); ++pe) {
            EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << "run " << run << ", PE " << pe;
        }
        // An array goes, and one comes, between runs that have seen the table.
        const auto last = static_cast<std::size_t>(run);
        look.freed[last] = kept[last].ref();
        kept[last] = symmetric_array<std::uint64_t>(machine, 1);
        for (int pe = 0; pe < machine.n_pes(); ++pe) kept[last].copy_in(pe, {last + 1});
        look.kept[last] = kept[last].ref();
    }
}

TEST_P(symmetric_test, ArraysMayOutliveTheMachine) {
    auto machine = std::make_unique<laneway::machine>(GetParam());
    const symmetric_array<std::uint32_t> array(*machine, 2);
    machine.reset();
    EXPECT_EQ(array.copy_out(0), std::vector<std::uint32_t>(2));
}

LANEWAY_ON_DEVICES(symmetric_test, device_lists());

}  // namespace laneway::test
