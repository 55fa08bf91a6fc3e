// Matching engines against a model that matches one after the other.
#pragma once

#include <map>
#include <random>

#include "matching_case.hpp"

namespace laneway::test {
namespace {

/// One team does all steps, a warp or a block. Warps of blocks probe and cancel one after the other.
template <bool Block>
struct matching_program {
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
        std::uint64_t next = 0;
        while (next < n_steps) {
            const step_kind kind = steps[next].kind;
            const bool by_warp = kind == step_kind::probe || kind == step_kind::cancel;
            const std::uint64_t most = by_warp ? Team::context_type::warp_lanes : lanes;
            std::uint64_t end = next + 1;
            while (end < n_steps && end - next < most && end - next < steps[next].width && steps[end].kind == kind) {
                ++end;
            }
            const std::uint64_t mine = next + team.number();
            const bool active = mine < end;
            const match_step step = active ? steps[mine] : match_step{};
            const match_result found = take(team, kind, active, step);
            if (active) outcomes[mine] = {found.outcome, found.handle, found.key};
            next = end;
        }
    }
    template <class Team>
    LANEWAY_FN match_result take(Team& team, step_kind kind, bool active, const match_step& step) const {
        if (kind == step_kind::arrive) return engine.arrive_together(team, active, step.key, step.handle);
        if (kind == step_kind::post) return engine.post_together(team, active, step.key, step.handle);
        match_result found;
        if (team.number() < Team::context_type::warp_lanes) {
            found = kind == step_kind::probe ? engine.probe(team.ctx(), active, step.key)
                                             : engine.cancel(team.ctx(), active, step.key, step.handle);
        }
        team.sync();
        return found;
    }
};

/// Runs of steps of one kind, so that warps find some to take together.
inline std::vector<match_step> random_script(std::uint64_t seed, const script_options& wanted) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    const auto chance = [&](double share) { return static_cast<double>(random() % 1000) < 1000 * share; };
    sequential_matcher model(wanted.rules);
    std::vector<match_step> script;
    std::vector<std::pair<std::uint32_t, match_key>> receives;
    std::map<std::uint64_t, std::uint32_t> posts;  // by key
    while (script.size() < wanted.steps) {
        match_step step;
        const std::uint32_t drawn = below(20);
        step.kind = drawn < 9    ? step_kind::arrive
                    : drawn < 18 ? step_kind::post
                    : drawn < 19 ? step_kind::probe
                                 : step_kind::cancel;
        step.width = 1 + below(wanted.width);
        for (std::uint32_t run = 1 + below(wanted.width + 8); run > 0 && script.size() < wanted.steps; --run) {
            step.key = {below(wanted.sources), below(wanted.tags)};
            step.handle = static_cast<std::uint32_t>(script.size());
            if (step.kind == step_kind::post || step.kind == step_kind::probe) {
                if (chance(wanted.wildcards)) step.key.source = any_source;
                if (chance(wanted.wildcards)) step.key.tag = any_tag;
            }
            if (step.kind == step_kind::post) step.handle = posts[step.key.bits()]++;  // other keys have it as well
            if (step.kind == step_kind::cancel) {
                if (receives.empty()) break;
                std::tie(step.handle, step.key) = receives[random() % receives.size()];
            }
            if (step.kind == step_kind::post) receives.emplace_back(step.handle, step.key);
            // No queue gets full: that is for a test of its own.
            if (step.kind == step_kind::arrive && model.waiting() >= wanted.most) break;
            if (step.kind == step_kind::post && model.posted() >= wanted.most) break;
            (void)model.take(step);
            script.push_back(step);
        }
    }
    return script;
}

class matching_test : public testing::TestWithParam<std::string> {
protected:
    template <bool Block = false>
    static std::vector<step_outcome> run(machine& machine, const matching_engine& engine,
                                         const std::vector<match_step>& script) {
        buffer<match_step> steps(machine.device(0), script.size());
        const buffer<step_outcome> outcomes(machine.device(0), script.size());
        steps.copy_in(script);
        launch_shape shape = small_grid(machine, Block ? sizeof(match_block_shared) : 16);
        if (Block && shape.warps_per_block > 1) shape.warps_per_block = machine.has_gpus() ? 8 : 3;
        run_programs(machine, shape, 60, [&](int) {
            return matching_program<Block>{engine.ref(), steps.data(), outcomes.data(), script.size()};
        });
        return outcomes.copy_out();
    }

    /// Runs a script on an engine whose queues hold `most` and what a team brings, and the model.
    template <bool Block = false>
    static void meets_model(std::uint64_t seed, script_options wanted, std::uint32_t chains) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(chains) + " chains");
        machine machine(GetParam(), seed);
        if (Block) wanted.width = is_checked(GetParam()) ? 12 : 256;
        const std::uint32_t room = wanted.most + wanted.width;
        const matching_engine engine(machine.device(0), {room, room, chains, wanted.rules});
        const auto script = random_script(seed, wanted);
        const auto found = run<Block>(machine, engine, script);
        sequential_matcher model(wanted.rules);
        for (std::size_t i = 0; i < script.size(); ++i) {
            ASSERT_EQ(found[i], model.take(script[i]))
                << "step " << i << " of kind " << static_cast<unsigned>(script[i].kind);
        }
        const matching_statistics now = engine.statistics();
        EXPECT_EQ(now.posted, model.posted());
        EXPECT_EQ(now.unexpected, model.waiting());
    }
};

TEST_P(matching_test, MatchesAsOneAfterTheOther) {
    every_round_within(GetParam(), [&](const options& o) {
        script_options wanted;
        wanted.wildcards = static_cast<double>(o.seed % 4) * 0.2;
        wanted.sources = 1 + static_cast<std::uint32_t>(o.seed % 5);
        wanted.tags = 1 + static_cast<std::uint32_t>(o.seed % 7);
        meets_model(o.seed, wanted, o.seed % 3 == 0 ? 1 : o.seed % 3 == 1 ? 4 : 0);
    });
}

TEST_P(matching_test, BlocksMatchAsOneAfterTheOther) {
    every_round_within(GetParam(), [&](const options& o) {
        script_options wanted;
        wanted.wildcards = static_cast<double>(o.seed % 4) * 0.2;
        wanted.sources = 1 + static_cast<std::uint32_t>(o.seed % 5);
        wanted.tags = 1 + static_cast<std::uint32_t>(o.seed % 7) * (o.seed % 2 == 0 ? 1 : 20);
        wanted.most = 40 + 100 * static_cast<std::uint32_t>(o.seed % 5);
        meets_model<true>(o.seed, wanted, o.seed % 3 == 0 ? 1 : o.seed % 3 == 1 ? 4 : 0);
    });
}

TEST_P(matching_test, BlocksHoldPromises) {
    for (const match_rules rules : {match_rules{true, false, false},
                                    {false, true, false},
                                    {true, true, false},
                                    {false, false, true},
                                    {true, true, true}}) {
        script_options wanted;
        wanted.rules = rules;
        wanted.steps = 1000;
        meets_model<true>(8, wanted, 0);
    }
}

/// All of one kind, in the order in which they came, of one key and of many: whole runs of a chain leave together.
TEST_P(matching_test, BlocksTakeOutRuns) {
    for (const std::uint32_t wildcards : {0u, 1u, 2u, 3u}) {
        for (const std::uint32_t tags : {1u, 1000u}) {
            machine machine(GetParam());
            const matching_engine engine(machine.device(0), {1024, 1024, 0, {}});
            std::vector<match_step> script;
            const auto bring = [&](step_kind kind, std::uint32_t n) {
                for (std::uint32_t i = 0; i < n; ++i) {
                    const match_key key{i % 3, i % tags};
                    script.push_back({kind, kind == step_kind::post ? key.with_wildcards(wildcards) : key, i, 512});
                }
            };
            for (const std::uint32_t n : {5u, 300u, 500u}) {
                bring(step_kind::arrive, n);
                bring(step_kind::post, n + 7);
                bring(step_kind::arrive, 9);
            }
            const auto found = run<true>(machine, engine, script);
            sequential_matcher model({});
            for (std::size_t i = 0; i < script.size(); ++i) ASSERT_EQ(found[i], model.take(script[i])) << i;
        }
    }
}

/// Teams compare hashes of keys first: see detail::same_keys.
TEST_P(matching_test, KeysWithOneHash) {
    const match_key keys[] = {{0, 0x9e3779b9u}, {1, 0}};
    for (const bool block : {false, true}) {
        machine machine(GetParam());
        const matching_engine engine(machine.device(0), {64, 64, 0, {}});
        std::vector<match_step> script;
        for (std::uint32_t i = 0; i < 32; ++i) script.push_back({step_kind::arrive, keys[i % 3 % 2], i, 32});
        for (std::uint32_t i = 0; i < 32; ++i) script.push_back({step_kind::post, keys[i % 2], i, 32});
        const auto found = block ? run<true>(machine, engine, script) : run(machine, engine, script);
        sequential_matcher model({});
        for (std::size_t i = 0; i < script.size(); ++i) ASSERT_EQ(found[i], model.take(script[i])) << i;
    }
}

TEST_P(matching_test, LongQueues) {
    script_options wanted;
    wanted.steps = is_checked(GetParam()) ? 3000 : 20000;
    wanted.most = 600;
    wanted.tags = 400;
    wanted.wildcards = 0.05;
    meets_model(1, wanted, 0);
    meets_model<true>(1, wanted, 0);
    wanted.tags = 3;
    wanted.wildcards = 0.7;
    meets_model(2, wanted, 0);
    meets_model<true>(2, wanted, 0);
}

TEST_P(matching_test, PromisesAreHeld) {
    for (const match_rules rules : {match_rules{true, false, false},
                                    {false, true, false},
                                    {true, true, false},
                                    {false, false, true},
                                    {true, true, true}}) {
        script_options wanted;
        wanted.rules = rules;
        meets_model(7, wanted, 0);
    }
}

TEST_P(matching_test, FullQueuesTakeNothing) {
    machine machine(GetParam());
    const matching_engine engine(machine.device(0), {32, 32, 0, {}});
    std::vector<match_step> script;
    for (std::uint32_t i = 0; i < 33; ++i) script.push_back({step_kind::arrive, {1, i}, i, 1});
    for (std::uint32_t i = 0; i < 33; ++i) script.push_back({step_kind::post, {2, i}, 100 + i, 1});
    script.push_back({step_kind::post, {1, 5}, 200, 1});
    script.push_back({step_kind::cancel, {2, 3}, 103, 1});
    script.push_back({step_kind::post, {any_source, 5}, 201, 1});
    script.push_back({step_kind::post, {any_source, 6}, 202, 1});
    const auto found = run(machine, engine, script);
    for (std::size_t i = 0; i < 66; ++i) {
        EXPECT_EQ(found[i].outcome, i % 33 == 32 ? match_outcome::full : match_outcome::queued) << i;
    }
    EXPECT_EQ(found[66].outcome, match_outcome::full) << "also where it would be matched: nobody overtakes";
    EXPECT_EQ(found[67], (step_outcome{match_outcome::matched, 103, {2, 3}}));
    EXPECT_EQ(found[68], (step_outcome{match_outcome::matched, 5, {1, 5}}));
    EXPECT_EQ(found[69], (step_outcome{match_outcome::matched, 6, {1, 6}}));
    const matching_statistics now = engine.statistics();
    EXPECT_EQ(now.posted, 31u);
    EXPECT_EQ(now.unexpected, 30u);
    EXPECT_EQ(now.max_posted, 32u);
    EXPECT_EQ(now.max_unexpected, 32u);
    EXPECT_EQ(now.counts.messages, 32u);
    EXPECT_EQ(now.counts.unexpected, 32u);
    EXPECT_EQ(now.counts.receives, 34u);
    EXPECT_EQ(now.counts.matches, 2u);
}

TEST_P(matching_test, QueuesWithTooLittleRoomTakeNothing) {
    machine machine(GetParam());
    const matching_engine engine(machine.device(0), {32, 32, 0, {}});
    const auto together = static_cast<std::uint32_t>(warp_lanes_of(*machine.device(0)));
    const std::uint32_t room = together - 1;
    std::vector<match_step> script;
    for (std::uint32_t i = 0; i < 32 - room; ++i) script.push_back({step_kind::arrive, {1, 7}, i, 1});
    for (std::uint32_t i = 0; i < together; ++i) script.push_back({step_kind::arrive, {2, i}, 100 + i, together});
    script.push_back({step_kind::probe, {2, any_tag}, 0, 1});
    for (std::uint32_t i = 0; i < room; ++i) script.push_back({step_kind::arrive, {3, i}, 200 + i, room});
    const auto found = run(machine, engine, script);
    const std::size_t first = 32 - room;
    for (std::size_t i = 0; i < together; ++i) EXPECT_EQ(found[first + i].outcome, match_outcome::full) << i;
    EXPECT_EQ(found[first + together].outcome, match_outcome::none) << "none of them has come";
    for (std::size_t i = 0; i < room; ++i) {
        EXPECT_EQ(found[first + together + 1 + i].outcome, match_outcome::queued) << i;
    }
    EXPECT_EQ(engine.statistics().unexpected, 32u);
    EXPECT_EQ(engine.statistics().counts.messages, 32u);
}

TEST_P(matching_test, SearchesAreShortHoweverLongTheQueues) {
    machine machine(GetParam());
    const matching_engine engine(machine.device(0), {1024, 1024, 0, {}});
    std::vector<match_step> script;
    // Every third receive asks for any source, or for any tag, of which no two messages have the same.
    const auto receive = [](std::uint32_t i) {
        return match_key{i % 3 == 1 ? any_source : i, i % 3 == 2 ? any_tag : i};
    };
    for (std::uint32_t i = 0; i < 1000; ++i) script.push_back({step_kind::post, receive(i), i});
    for (std::uint32_t i = 1000; i > 0; --i) script.push_back({step_kind::arrive, {i - 1, i - 1}, i});
    for (std::uint32_t i = 0; i < 1000; ++i) script.push_back({step_kind::arrive, {i, i}, i});
    for (std::uint32_t i = 1000; i > 0; --i) script.push_back({step_kind::post, receive(i - 1), i});
    const auto found = run(machine, engine, script);
    for (std::uint32_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(found[1000 + i].handle, 999 - i);
        ASSERT_EQ(found[3000 + i].handle, 999 - i);
    }
    EXPECT_EQ(engine.statistics().counts.matches, 2000u);
    EXPECT_LT(engine.statistics().counts.looks, 6000u) << "in 4000 searches";
}

TEST_P(matching_test, TellsTheDeepestSearch) {
    machine machine(GetParam());
    const matching_engine engine(machine.device(0), {64, 64, 1, {}});  // all keys in one chain
    const auto depth_behind = [&](const std::vector<match_step>& script) {
        (void)run(machine, engine, script);
        return engine.statistics().counts.max_depth();
    };
    std::vector<match_step> posts;
    for (std::uint32_t i = 0; i < 9; ++i) posts.push_back({step_kind::post, {1, i}, i, 1});
    EXPECT_EQ(depth_behind(posts), 0u) << "no message waits";
    EXPECT_EQ(depth_behind({{step_kind::arrive, {1, 0}, 0, 1}}), 1u);
    EXPECT_EQ(depth_behind({{step_kind::arrive, {1, 8}, 1, 1}}), 8u);
    EXPECT_EQ(depth_behind({{step_kind::arrive, {1, 2}, 2, 1}}), 8u) << "the second one";
    EXPECT_EQ(engine.statistics().counts.looks, 11u);
}

TEST_P(matching_test, RefusesSizesThatCannotBe) {
    machine machine(GetParam());
    const auto device = machine.device(0);
    EXPECT_THROW(matching_engine(device, {31, 1024, 0, {}}), usage_error);
    EXPECT_THROW(matching_engine(device, {1024, 1u << 25, 0, {}}), usage_error);
    EXPECT_THROW(matching_engine(device, {1024, 1024, 3, {}}), usage_error);
}

TEST(match_rules_test, EnginesShareKeysAsFarAsPromisesAllow) {
    const match_rules none, sources{true, false, false}, both{true, true, false}, tags{false, true, false};
    std::vector<int> by_source(8), by_key(8);
    for (std::uint32_t source = 0; source < 64; ++source) {
        for (std::uint32_t tag = 0; tag < 64; ++tag) {
            const match_key key{source, tag};
            EXPECT_EQ(none.engine_of(key, 8), 0u);
            EXPECT_EQ(tags.engine_of(key, 8), 0u) << "any source may be asked for";
            EXPECT_EQ(sources.engine_of(key, 8), sources.engine_of({source, any_tag}, 8));
            ++by_source[sources.engine_of(key, 8)];
            ++by_key[both.engine_of(key, 8)];
        }
    }
    const match_rules no_order{true, true, false, true};
    std::vector<int> by_neighbours(8);
    for (std::uint32_t tag = 0; tag < 4096 * neighbouring_tags; tag += neighbouring_tags / 2) {
        const std::uint32_t engine = no_order.engine_of({3, tag}, 8);
        EXPECT_EQ(engine, no_order.engine_of({3, tag + neighbouring_tags / 2 - 1}, 8));
        EXPECT_EQ(engine, no_order.engine_of({3, tag / neighbouring_tags * neighbouring_tags}, 8));
        ++by_neighbours[engine];
    }
    for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(by_neighbours[i], 1024, 256);
    for (int i = 0; i < 8; ++i) {
        EXPECT_GT(by_source[static_cast<std::size_t>(i)], 0);
        EXPECT_NEAR(by_key[static_cast<std::size_t>(i)], 512, 128);
    }
}

LANEWAY_ON_DEVICES(matching_test, lone_device());

}  // namespace
}  // namespace laneway::test
