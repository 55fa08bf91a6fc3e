// Universes as tasks of a pool: the same answers on any devices and beside any others, and ends before the end.
#pragma once

#include "laneway/base/interruption.hpp"
#include "laneway/runtime.hpp"
#include "md/md.hpp"
#include "unit/apps/md_universes.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

using apps::md_atoms;
using apps::md_energies;
using apps::md_list_rule;
using apps::md_options;
using apps::md_outcome;
using apps::md_result;

/// Of several sizes; the last one is a block's work.
inline std::vector<md_atoms> many_universes(bool with_large = false) {
    std::vector<md_atoms> made;
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
        made.push_back(gas({0, 0, 0}, {6, 7, 8}, 20 + 9 * seed, 0.95, seed));
    if (with_large) made.push_back(crystal({7, 7, 6}, 0.8442, 2, 9));
    return made;
}

class md_job_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] bool checked() const { return is_checked(GetParam()); }
    [[nodiscard]] md_options chosen(std::uint64_t steps, const std::string& devices = GetParam()) const {
        md_options o;
        o.job.devices = devices;
        o.job.timeout_seconds = 200;
        o.model.sample_steps = 4;
        o.steps = steps;
        return o;
    }
    /// Where the other devices fuse no multiply-adds either.
    [[nodiscard]] std::string one_device() const { return GetParam().starts_with("cuda") ? "cuda:0" : "cpu:1"; }
};

inline void expect_same(const md_outcome& a, const md_outcome& b) {
    EXPECT_EQ(a.atoms.positions, b.atoms.positions);
    EXPECT_EQ(a.atoms.velocities, b.atoms.velocities);
    EXPECT_EQ(a.forces, b.forces);
    EXPECT_EQ(a.state.builds, b.state.builds);
    ASSERT_EQ(a.samples.size(), b.samples.size());
    for (std::size_t i = 0; i < a.samples.size(); ++i) {
        EXPECT_EQ(a.samples[i].step, b.samples[i].step);
        EXPECT_EQ(a.samples[i].potential, b.samples[i].potential);
        EXPECT_EQ(a.samples[i].kinetic, b.samples[i].kinetic);
        EXPECT_EQ(a.samples[i].virial, b.samples[i].virial);
    }
}

TEST_P(md_job_test, UniversesTogetherAreThoseOneByOne) {
    const auto universes = many_universes(true);
    const md_result all = md(universes, chosen(30));
    ASSERT_EQ(all.universes.size(), universes.size());
    EXPECT_TRUE(all.rungs.empty());
    for (std::size_t i = 0; i < universes.size(); ++i) {
        SCOPED_TRACE("universe " + std::to_string(i));
        const md_result alone = md({universes[i]}, chosen(30, one_device()));
        expect_same(all.universes[i], alone.universes[0]);
        const auto& samples = all.universes[i].samples;
        ASSERT_EQ(samples.size(), 9u) << "0, 4 to 28, and the last";
        EXPECT_EQ(samples.back().step, 30u);
        EXPECT_NEAR(samples.back().total(), samples.front().total(), 0.2 * static_cast<double>(universes[i].size()));
        EXPECT_GT(greatest_distance(all.universes[i].atoms, universes[i]), 0.01);
    }
}

TEST_P(md_job_test, AnyNumberOfLanesGivesTheSameBits) {
    const auto universes = many_universes(true);
    md_options o = chosen(12);
    const md_result expected = md(universes, o);
    for (const std::uint32_t lanes : {1u, 3u}) {
        o.lanes = lanes;
        const md_result made = md(universes, o);
        for (std::size_t i = 0; i < universes.size(); ++i) expect_same(made.universes[i], expected.universes[i]);
    }
}

/// Whatever the interleaving of the lanes of warps and blocks.
TEST_P(md_job_test, AnyInterleavingGivesTheSameBits) {
    const std::vector<md_atoms> universes{gas({0, 0, 0}, {6, 7, 8}, 45, 0.95, 51), crystal({7, 7, 6}, 0.8442, 6, 9)};
    md_options o = chosen(4, one_device());
    const md_result expected = md(universes, o);
    repeat_rounds(GetParam(), checked() ? 20 : 4, [&](const options& job) {
        o.job = job;
        o.job.timeout_seconds = 200;
        const md_result made = md(universes, o);
        for (std::size_t i = 0; i < 2; ++i) expect_same(made.universes[i], expected.universes[i]);
    });
}

TEST_P(md_job_test, CallsInARowAreOne) {
    if (checked()) GTEST_SKIP() << "the same code";
    auto parts = many_universes();
    md_options o = chosen(20);
    o.model.rule = md_list_rule::steps;
    o.model.rebuild_steps = 10;  // lists are built at the border, too
    const md_result whole = md(parts, o);
    o.steps = 10;
    for (int part = 0; part < 2; ++part) {
        const md_result made = md(parts, o);
        for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = made.universes[i].atoms;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_LT(greatest_distance(whole.universes[i].atoms, parts[i]), 1e-9);
    }
}

TEST_P(md_job_test, ExchangesFollowTheirSeedAlone) {
    const std::vector<md_atoms> universes(5, gas({0, 0, 0}, {6, 6, 6}, 30, 0.95, 3));
    md_options o = chosen(120, one_device());
    o.temperatures = {1, 1.1, 1.2, 1.3, 1.4};
    o.exchange_steps = 6;
    const std::size_t rounds = o.steps / 6 - 1;
    const md_result expected = md(universes, o);
    EXPECT_EQ(expected.rungs.size(), 5 * (rounds + 1));
    EXPECT_EQ(expected.pairs, 2 * rounds);
    EXPECT_GT(expected.accepted, 0u);
    EXPECT_LT(expected.accepted, expected.pairs);
    std::uint64_t trades = 0;
    for (std::size_t round = 0; round <= rounds; ++round) {
        std::vector<std::uint32_t> row(expected.rungs.begin() + static_cast<std::ptrdiff_t>(5 * round),
                                       expected.rungs.begin() + static_cast<std::ptrdiff_t>(5 * (round + 1)));
        for (std::size_t i = 0; round > 0 && i < 5; ++i) {
            const auto before = expected.rungs[5 * (round - 1) + i];
            trades += row[i] > before ? 1 : 0;
            EXPECT_LE(row[i] > before ? row[i] - before : before - row[i], 1u);
        }
        std::sort(row.begin(), row.end());
        EXPECT_EQ(row, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
    }
    EXPECT_EQ(trades, expected.accepted);
    o.job.devices = GetParam();
    const md_result again = md(universes, o);
    EXPECT_EQ(again.rungs, expected.rungs);
    for (std::size_t i = 0; i < 5; ++i) expect_same(again.universes[i], expected.universes[i]);
    o.exchange_seed = 2;
    EXPECT_NE(md(universes, o).rungs, expected.rungs);
}

/// Kinetic energies have the ratio of the temperatures before the first step, and jump with each trade.
TEST_P(md_job_test, TemperaturesAreScaledTo) {
    const std::vector<md_atoms> universes(2, crystal({4, 4, 4}, 0.8442, 3, 1));
    md_options o = chosen(8);
    o.model.sample_steps = 1;
    o.model.dt = 1e-6;
    o.temperatures = {0.5, 2};
    o.exchange_steps = 4;
    const md_result made = md(universes, o);  // the potentials are the same, to rounding: they trade
    ASSERT_EQ(made.accepted, 1u);
    for (std::size_t i = 0; i < 2; ++i) {
        for (const md_energies& sample : made.universes[i].samples) {
            const bool low = (i == 0) == (sample.step <= 4);
            EXPECT_NEAR(sample.temperature(256), low ? 0.5 : 2, 1e-3) << "universe " << i << ", step " << sample.step;
        }
    }
    o.exchange_steps = 0;
    EXPECT_NEAR(md(universes, o).universes[1].samples.back().temperature(256), 2, 1e-3);
}

TEST_P(md_job_test, SamplesGoOnWhereTheirRoomEnds) {
    if (checked()) GTEST_SKIP() << "takes long";
    md_options o = chosen(70'001);
    o.model.sample_steps = 1;
    const md_result made = md({gas({0, 0, 0}, {6, 6, 6}, 2, 1.1, 6)}, o);
    const auto& samples = made.universes[0].samples;
    ASSERT_EQ(samples.size(), 70'002u);
    for (std::size_t i = 0; i < samples.size(); ++i) ASSERT_EQ(samples[i].step, i);
}

TEST_P(md_job_test, NoStepsTellTheEnergies) {
    const auto universes = many_universes();
    const md_result made = md(universes, chosen(0));
    for (std::size_t i = 0; i < universes.size(); ++i) {
        ASSERT_EQ(made.universes[i].samples.size(), 1u);
        const direct_sum expected = sum_directly(universes[i], 2.5);
        EXPECT_NEAR(made.universes[i].samples[0].potential, expected.potential, 1e-9);
    }
}

TEST_P(md_job_test, AnInterruptedCallLeavesTheDevicesAsTheyWere) {
    const auto universes = many_universes(true);
    runtime devices(chosen(0).job);
    const auto expected = md(devices, universes, chosen(10));
    std::stop_source source;
    {
        const interruption leave(source.get_token());
        source.request_stop();
        EXPECT_THROW((void)md(devices, universes, chosen(std::uint64_t{1} << 60)), interrupted);
    }
    const auto again = md(devices, universes, chosen(10));
    for (std::size_t i = 0; i < universes.size(); ++i) expect_same(again.universes[i], expected.universes[i]);
}

TEST_P(md_job_test, ADeadlineThatPassesIsTold) {
    md_options o = chosen(std::uint64_t{1} << 40);
    o.job.timeout_seconds = 2;  // in which they must have been set up
    try {
        (void)md(many_universes(true), o);
        ADD_FAILURE();
    } catch (const timeout_error& e) {
        EXPECT_STREQ(e.what(),
                     "deadline passed: step 262144 of 1099511627776 was not reached by all universes within 2 s");
    }
}

TEST_P(md_job_test, WhatTheCallerHasSpentCountsForTheDeadline) {
    md_options o = chosen(1);
    o.spent_seconds = o.job.timeout_seconds;
    try {
        (void)md(many_universes(true), o);
        ADD_FAILURE();
    } catch (const timeout_error& e) {
        EXPECT_NE(std::string(e.what()).find("universes were not set up within 200 s"), std::string::npos) << e.what();
    }
}

TEST_P(md_job_test, FailuresNameTheUniverse) {
    auto universes = many_universes();
    universes[3].velocities[5] = 1e7;
    try {
        (void)md(universes, chosen(10));
        ADD_FAILURE();
    } catch (const device_fault& e) {
        EXPECT_TRUE(std::string(e.what()).starts_with("universe 4: step ")) << e.what();
        EXPECT_NE(std::string(e.what()).find("an atom moved further than the box"), std::string::npos) << e.what();
    }
}

TEST_P(md_job_test, UnsoundCallsAreRefused) {
    const auto refused = [&](const std::string& reason,
                             const std::function<void(std::vector<md_atoms>&, md_options&)>& spoil) {
        auto universes = many_universes();
        md_options o = chosen(1);
        spoil(universes, o);
        try {
            (void)md(universes, o);
            ADD_FAILURE() << "taken: " << reason;
        } catch (const usage_error& e) {
            EXPECT_EQ(e.what(), reason);
        }
    };
    refused("there are no universes", [](auto& u, auto&) { u.clear(); });
    refused("energies are sampled after 1 step or more, not 0", [](auto&, auto& o) { o.model.sample_steps = 0; });
    refused("2 temperatures of 5 universes", [](auto&, auto& o) { o.temperatures = {1, 2}; });
    refused("a temperature is -1.000000, not finite and above 0", [](auto&, auto& o) {
        o.temperatures = {1, 2, -1, 3, 4};
    });
    refused("universes that exchange their temperatures need some", [](auto&, auto& o) { o.exchange_steps = 3; });
    refused("replica exchange needs two temperatures or more, not 1", [](auto& u, auto& o) {
        u.resize(1);
        o.temperatures = {1};
        o.exchange_steps = 3;
    });
    refused("universe 2: all velocities are 0, and cannot be scaled to a temperature", [](auto& u, auto& o) {
        u[1].velocities.assign(u[1].velocities.size(), 0);
        o.temperatures = {1, 1, 1, 1, 1};
    });
    refused("universe 3: the box is 5 long along y, not finite and at least 2 (cutoff + skin) = 5.6",
            [](auto& u, auto&) { u[2].box_high[1] = 5; });
    refused("cutoff is 0, not finite and above 0", [](auto& u, auto& o) {
        u.resize(1);
        o.model.cutoff = 0;
    });
}

LANEWAY_ON_DEVICES(md_job_test, program_lists());

}  // namespace laneway::test
