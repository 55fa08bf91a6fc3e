// Matching engines to which receives and messages are brought together, against a model that matches one after the
// other.
#pragma once

#include <random>

#include "matching_case.hpp"

namespace laneway::test {
namespace {

/// One team brings receives and messages together, `width` steps of either kind at once. Handles are numbers of steps.
template <bool Block>
struct exchange_program {
    static constexpr int cuda_warps = Block ? 8 : 2;
    matching_engine_ref engine;
    const match_step* steps = nullptr;
    step_outcome* outcomes = nullptr;
    std::uint64_t n_steps = 0;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        as_team<Block>(ctx, [&](auto& team, std::uint64_t lanes) { run(team, lanes); });
    }

private:
    template <class Team>
    LANEWAY_FN void run(Team& team, std::uint64_t lanes) const {
        for (std::uint64_t next = 0; next < n_steps;) {
            const std::uint64_t width = steps[next].width < lanes ? steps[next].width : lanes;
            const std::uint64_t mine = next + team.number();
            const bool active = team.number() < width && mine < n_steps;
            const match_step step = active ? steps[mine] : match_step{};
            const match_result found = engine.exchange_together(team, active, step.kind == step_kind::arrive, step.key,
                                                                static_cast<std::uint32_t>(mine));
            if (active) outcomes[mine] = {found.outcome, found.handle, found.key};
            next += width;
        }
    }
};

/// Receives and messages by turns as it happens, few of one side where `most` of it wait. `kinds` of receives: only
/// those without a wildcard, only those of any source, of any tag, of both, or all of these.
inline std::vector<match_step> random_exchange(std::uint64_t seed, const script_options& wanted, std::uint32_t kinds) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    sequential_matcher model(wanted.rules);
    std::vector<match_step> script;
    while (script.size() < wanted.steps) {
        match_step step;
        const bool comes = below(2) == 0 ? model.waiting() < wanted.most : model.posted() >= wanted.most;
        step.kind = comes ? step_kind::arrive : step_kind::post;
        step.width = 1 + below(wanted.width);
        step.key = {below(wanted.sources), below(wanted.tags)};
        if (!comes) step.key = step.key.with_wildcards(kinds < 4 ? kinds : below(4));
        step.handle = static_cast<std::uint32_t>(script.size());
        (void)model.take(step);
        script.push_back(step);
    }
    return script;
}

class matching_exchange : public testing::TestWithParam<std::string> {
protected:
    /// Who has got whom of an exchange, by steps; nobody: the number of steps. Both sides, or one, are told.
    static std::vector<std::size_t> partners_of(const std::vector<step_outcome>& outcomes) {
        std::vector<std::size_t> partners(outcomes.size(), outcomes.size());
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            if (outcomes[i].outcome != match_outcome::matched) continue;
            partners.at(i) = outcomes[i].handle;
            partners.at(outcomes[i].handle) = i;
        }
        return partners;
    }
    template <bool Block>
    static std::vector<step_outcome> run_exchange(machine& machine, const matching_engine& engine,
                                                  const std::vector<match_step>& script) {
        buffer<match_step> steps(machine.device(0), script.size());
        const buffer<step_outcome> outcomes(machine.device(0), script.size());
        steps.copy_in(script);
        launch_shape shape = small_grid(machine, Block ? sizeof(match_block_shared) : 16);
        if (Block && shape.warps_per_block > 1) shape.warps_per_block = machine.has_gpus() ? 8 : 3;
        run_programs(machine, shape, 60, [&](int) {
            return exchange_program<Block>{engine.ref(), steps.data(), outcomes.data(), script.size()};
        });
        return outcomes.copy_out();
    }
    template <bool Block>
    static void exchange_meets_model(std::uint64_t seed, script_options wanted) {
        machine machine(GetParam(), seed);
        if (Block) wanted.width = is_checked(GetParam()) ? 12 : 256;
        const auto room = static_cast<std::uint32_t>(wanted.steps);
        const matching_engine engine(machine.device(0), {room, room, seed % 3 == 0 ? 1u : 0u, wanted.rules});
        const auto script = random_exchange(seed, wanted, static_cast<std::uint32_t>(seed % 5));
        const auto found = run_exchange<Block>(machine, engine, script);
        sequential_matcher model(wanted.rules);
        std::vector<step_outcome> expected;
        for (const match_step& step : script) expected.push_back(model.take(step));
        ASSERT_EQ(partners_of(found), partners_of(expected));
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (found[i].outcome == match_outcome::matched) {
                ASSERT_EQ(found[i].key, script[found[i].handle].key) << i;
            } else {
                ASSERT_EQ(found[i].outcome, match_outcome::queued) << i;
            }
        }
        const matching_statistics now = engine.statistics();
        EXPECT_EQ(now.posted, model.posted());
        EXPECT_EQ(now.unexpected, model.waiting());
        EXPECT_EQ(now.counts.receives + now.counts.messages, script.size());
        EXPECT_EQ(2 * now.counts.matches + now.posted + now.unexpected, script.size());
    }
};

// Whatever comes together, and however much: who gets whom depends on the order of receives and on that of messages
// only.
TEST_P(matching_exchange, WhatComesTogetherMatchesAsOneAfterTheOther) {
    every_round_within(GetParam(), [&](const options& o) {
        script_options wanted;
        wanted.sources = 1 + static_cast<std::uint32_t>(o.seed % 4);
        wanted.tags = 1 + static_cast<std::uint32_t>(o.seed % 7) * (o.seed % 2 == 0 ? 1 : 20);
        wanted.most = o.seed % 6 == 0 ? 1 : 10 * static_cast<std::uint32_t>(o.seed % 6);
        exchange_meets_model<false>(o.seed, wanted);
        exchange_meets_model<true>(o.seed, wanted);
    });
}

TEST_P(matching_exchange, AnExchangeTakesNothingIntoAFullQueue) {
    machine machine(GetParam());
    const matching_engine engine(machine.device(0), {32, 32, 0, {}});
    std::vector<match_step> script;
    for (std::uint32_t i = 0; i < 33; ++i) script.push_back({step_kind::post, {1, i}, 0, 1});
    script.push_back({step_kind::arrive, {1, 5}, 0, 1});
    for (std::uint32_t i = 0; i < 33; ++i) script.push_back({step_kind::arrive, {2, i}, 0, 1});
    script.push_back({step_kind::post, {any_source, 7}, 0, 1});
    script.push_back({step_kind::arrive, {any_source, 7}, 0, 1});
    const auto found = run_exchange<false>(machine, engine, script);
    for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(found[i].outcome, match_outcome::queued) << i;
    EXPECT_EQ(found[32].outcome, match_outcome::full);
    EXPECT_EQ(found[33], (step_outcome{match_outcome::matched, 5, {1, 5}}));
    for (std::size_t i = 34; i < 66; ++i) EXPECT_EQ(found[i].outcome, match_outcome::queued) << i;
    EXPECT_EQ(found[66].outcome, match_outcome::full);
    EXPECT_EQ(found[67], (step_outcome{match_outcome::matched, 41, {2, 7}}));
    EXPECT_EQ(found[68].outcome, match_outcome::refused);
}

TEST_P(matching_exchange, AnExchangeHoldsPromises) {
    for (const bool block : {false, true}) {
        machine machine(GetParam());
        const matching_engine engine(machine.device(0), {32, 512, 0, {true, false, true}});
        const std::vector<match_step> script = {{step_kind::post, {any_source, 1}, 0, 1},
                                                {step_kind::arrive, {1, 1}, 0, 1},
                                                {step_kind::post, {1, any_tag}, 0, 2},
                                                {step_kind::arrive, {1, 1}, 0, 2}};
        const auto found =
            block ? run_exchange<true>(machine, engine, script) : run_exchange<false>(machine, engine, script);
        EXPECT_EQ(found[0].outcome, match_outcome::refused);
        EXPECT_EQ(found[1].outcome, match_outcome::refused) << "no receive awaits it";
        EXPECT_EQ(found[2].outcome, match_outcome::queued);
        EXPECT_EQ(found[3], (step_outcome{match_outcome::matched, 2, {1, any_tag}}));
    }
}

LANEWAY_ON_DEVICES(matching_exchange, lone_device());

}  // namespace
}  // namespace laneway::test
