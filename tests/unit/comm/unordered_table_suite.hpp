// Tables for matching without an order against a model of sets.
#pragma once

#include <map>
#include <random>
#include <set>

#include "laneway/comm/matching/matching_memory.hpp"
#include "unit/sequential_matcher.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

/// What a lane has done, in its order.
struct lane_step {
    step_kind kind = step_kind::arrive;
    match_key key;
    std::uint32_t handle = 0;  ///< of what it brought, or took back
    match_result result;
};

/// Each lane does its own steps. It has handles of its own, and goes on to the next one when something waits with one.
/// What a handle names has its key written down, which whoever is matched with it reads.
struct unordered_program {
    static constexpr int cuda_warps = 2;
    unordered_table_ref table;
    lane_step* steps = nullptr;  ///< of lane 0, then of lane 1, ...
    std::uint32_t n_steps = 0;   ///< of each lane, and its handles of each side
    std::uint32_t n_lanes = 0;
    std::uint64_t* named = nullptr;  ///< by handles of messages, and behind them of receives

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        const auto warp = static_cast<std::uint32_t>(ctx.block() * ctx.n_warps() + ctx.warp());
        const std::uint32_t lane = warp * Ctx::warp_lanes + static_cast<std::uint32_t>(ctx.lane());
        if (lane >= n_lanes) return;
        std::uint32_t message = lane * n_steps, receive = message, last = message;
        for (std::uint32_t i = 0; i < n_steps; ++i) {
            lane_step& step = steps[lane * n_steps + i];
            switch (step.kind) {
                case step_kind::arrive:
                    step.handle = message;
                    name(ctx, message, step.key);
                    if (i % 2 == 0) step.result = table.meet(ctx, step.key);  // as a communicator does
                    if (step.result.outcome != match_outcome::matched)
                        step.result = table.arrive(ctx, step.key, message);
                    if (step.result.outcome == match_outcome::queued) ++message;
                    check(step.result, n_lanes * n_steps);
                    break;
                case step_kind::post:
                    name(ctx, n_lanes * n_steps + receive, step.key);
                    step.result = table.post(ctx, step.key, step.handle = receive);
                    last = receive;
                    if (step.result.outcome == match_outcome::queued) ++receive;
                    check(step.result, 0);
                    break;
                case step_kind::probe: step.result = table.probe(ctx, step.key); break;
                default: step.result = table.cancel(ctx, step.key, step.handle = last);
            }
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN void name(Ctx& ctx, std::uint32_t at, const match_key& key) const {
        named[at] = key.bits();
        ctx.fence(order::release, scope::device);
    }
    LANEWAY_FN void check(match_result& result, std::uint32_t first) const {
        const bool matched = result.outcome == match_outcome::matched;
        if (matched && named[first + result.handle] != result.key.bits()) result.outcome = match_outcome::refused;
    }
};

struct table_script {
    std::uint32_t lanes = 8, steps = 40, keys = 5, buckets = 0;
};

class unordered_table_test : public testing::TestWithParam<std::string> {
protected:
    using handles = std::set<std::uint32_t>;

    static std::vector<lane_step> random_steps(std::uint64_t seed, const table_script& wanted) {
        std::mt19937_64 random(seed);
        std::vector<lane_step> steps(std::size_t{wanted.lanes} * wanted.steps);
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const auto drawn = static_cast<std::uint32_t>(random() % 20);
            steps[i].kind = drawn < 9    ? step_kind::arrive
                            : drawn < 18 ? step_kind::post
                            : drawn < 19 ? step_kind::probe
                                         : step_kind::cancel;
            const auto key = static_cast<std::uint32_t>(random() % wanted.keys);
            steps[i].key = {key % 3, key / 3};
            // Of the receive that the lane posted last.
            if (steps[i].kind == step_kind::cancel) {
                std::size_t at = i;
                while (at % wanted.steps != 0 && steps[at].kind != step_kind::post) --at;
                steps[i].key = steps[at].key;
            }
        }
        return steps;
    }
    static std::vector<lane_step> run(machine& machine, const unordered_table& table, std::vector<lane_step> script,
                                      std::uint32_t lanes) {
        buffer<lane_step> steps(machine.device(0), script.size());
        steps.copy_in(script);
        const buffer<std::uint64_t> named(machine.device(0), 2 * script.size());
        run_programs(machine, small_grid(machine), 60, [&](int) {
            return unordered_program{table.ref(), steps.data(), static_cast<std::uint32_t>(script.size() / lanes),
                                     lanes, named.data()};
        });
        return steps.copy_out();
    }
    static std::uint32_t all_lanes(const machine& machine) {
        const launch_shape grid = small_grid(machine);
        const int lanes = warp_lanes_of(*machine.device(0));
        return static_cast<std::uint32_t>(grid.blocks * grid.warps_per_block * lanes);
    }

    /// Of each key: what has waited, by handle, and what of it has been taken.
    struct account {
        handles waited[2], taken[2];  ///< receives, messages
        std::int64_t surplus = 0;     ///< messages less receives
    };
    static void check_step(const lane_step& step, std::map<std::uint64_t, account>& keys) {
        account& key = keys[step.key.bits()];
        const bool matched = step.result.outcome == match_outcome::matched;
        if (matched) {
            ASSERT_EQ(step.result.key, step.key);
        }
        if (step.kind == step_kind::arrive || step.kind == step_kind::post) {
            const bool is_message = step.kind == step_kind::arrive;
            key.surplus += is_message ? 1 : -1;
            if (matched) {
                ASSERT_TRUE(key.taken[!is_message].insert(step.result.handle).second) << "matched twice";
            } else {
                ASSERT_EQ(step.result.outcome, match_outcome::queued);
                ASSERT_TRUE(key.waited[is_message].insert(step.handle).second);
            }
        } else if (step.kind == step_kind::cancel && matched) {
            ASSERT_EQ(step.result.handle, step.handle);
            ASSERT_TRUE(key.taken[0].insert(step.handle).second) << "matched and taken back";
            ++key.surplus;
        }
    }
    static void check(const std::vector<lane_step>& steps, const unordered_table& table) {
        std::map<std::uint64_t, account> keys;
        for (const lane_step& step : steps) {
            check_step(step, keys);
            if (testing::Test::HasFatalFailure()) return;
        }
        std::map<std::uint64_t, handles> left[2];
        for (const auto& entry : table.waiting()) left[entry.is_message][entry.key.bits()].insert(entry.handle);
        for (const auto& [bits, key] : keys) {
            for (const bool is_message : {false, true}) {
                handles expected = key.waited[is_message];
                for (const std::uint32_t handle : key.taken[is_message]) {
                    EXPECT_EQ(expected.erase(handle), 1u) << "taken, but has never waited: " << handle;
                }
                EXPECT_EQ(left[is_message][bits], expected);
                const std::int64_t surplus = is_message ? key.surplus : -key.surplus;
                EXPECT_EQ(expected.size(), static_cast<std::size_t>(std::max<std::int64_t>(surplus, 0)));
            }
        }
    }
    static void meets_model(const std::string& devices, std::uint64_t seed, table_script wanted, bool alone = false) {
        machine machine(devices, seed);
        wanted.lanes = alone ? 1 : all_lanes(machine);
        const std::uint32_t most = wanted.lanes * wanted.steps;
        const unordered_table table(machine.device(0), most, most, wanted.buckets);
        check(run(machine, table, random_steps(seed, wanted), wanted.lanes), table);
    }
};

TEST_P(unordered_table_test, NothingIsLostOrMatchedTwice) {
    every_round_within(GetParam(), [&](const options& o) {
        table_script wanted;
        wanted.keys = 1 + static_cast<std::uint32_t>(o.seed % 7) * static_cast<std::uint32_t>(o.seed % 5);
        wanted.buckets = o.seed % 3 == 0 ? 1 : o.seed % 3 == 1 ? 4 : 0;  // long chains, some, short ones
        meets_model(GetParam(), o.seed, wanted);
    });
}

TEST_P(unordered_table_test, ALoneLaneFindsWhatWaits) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        machine machine(GetParam(), seed);
        table_script wanted;
        wanted.lanes = 1;
        wanted.steps = 400;
        const unordered_table table(machine.device(0), 400, 400, seed % 2 == 0 ? 1 : 0);
        const auto steps = run(machine, table, random_steps(seed, wanted), 1);
        std::map<std::uint64_t, handles> messages, receives;
        for (const lane_step& step : steps) {
            const bool is_message = step.kind == step_kind::arrive;
            handles& same = (is_message ? messages : receives)[step.key.bits()];
            handles& others = (is_message ? receives : messages)[step.key.bits()];
            const bool matched = step.result.outcome == match_outcome::matched;
            if (step.kind == step_kind::cancel) {
                ASSERT_EQ(matched, same.erase(step.handle) == 1);
                continue;
            }
            ASSERT_EQ(matched, !others.empty());
            if (matched) {
                ASSERT_EQ(others.count(step.result.handle), 1u);
            }
            if (step.kind == step_kind::probe) continue;
            if (matched) {
                others.erase(step.result.handle);
            } else {
                same.insert(step.handle);
            }
        }
    }
}

/// One lane comes to a chain that another was changing when it went away.
struct find_all_locked {
    static constexpr int cuda_warps = 2;
    unordered_table_ref table;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        for (std::uint32_t i = 0; i < table.n_buckets; ++i) table.buckets[i] = unordered_entry::links + 1;
        (void)table.post(ctx, {0, 7}, 0);
    }
};

TEST_P(unordered_table_test, AChainThatStaysLockedIsNotWaitedForPastTheDeadline) {
    machine machine(GetParam());
    const unordered_table table(machine.device(0), 4, 4);
    const std::string told = told_at_deadline(machine, find_all_locked{table.ref()});
    EXPECT_NE(told.find("deadline passed while inserting into a table of fixed size: place 7"), std::string::npos)
        << told;
}

/// One lane sees that a message waits, but not yet what of: the words of its entry, or one of them, are of an earlier
/// use. `there`: which of them are.
struct find_half_an_entry {
    static constexpr int cuda_warps = 2;
    unordered_table_ref table;
    std::uint32_t there = 0;
    match_result* result = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        const match_key key{0x89abcdef, 0x12345678};
        const auto before = unordered_entry::of(key.bits(), 6, 0), now = unordered_entry::of(key.bits(), 7, 0);
        table.entries[2] = {(there & 1) != 0 ? now.low : before.low, (there & 2) != 0 ? now.high : before.high};
        for (std::uint32_t i = 0; i < table.n_buckets; ++i) table.buckets[i] = unordered_entry::link_to(2, 7);
        *result = table.post(ctx, key, 0);
    }
};

TEST_P(unordered_table_test, AnEntryWhoseWordsAreNotAllThereIsLookedAtAgain) {
    for (std::uint32_t there = 0; there < 4; ++there) {
        machine machine(GetParam());
        const unordered_table table(machine.device(0), 4, 4, 1);
        const buffer<match_result> result(machine.device(0), 1);
        const find_half_an_entry program{table.ref(), there, result.data()};
        if (there < 3) {
            EXPECT_NE(told_at_deadline(machine, program).find("inserting into a table of fixed size"),
                      std::string::npos);
            continue;
        }
        run_programs(machine, small_grid(machine), 60, [&](int) { return program; });
        EXPECT_EQ(result.copy_out()[0].outcome, match_outcome::matched);
        EXPECT_EQ(result.copy_out()[0].handle, 2u);
        EXPECT_TRUE(table.waiting().empty());
    }
}

TEST_P(unordered_table_test, ManyKeys) {
    table_script wanted;
    wanted.steps = is_checked(GetParam()) ? 200 : 2000;
    wanted.keys = 1000;
    meets_model(GetParam(), 3, wanted);
    wanted.keys = 2;
    meets_model(GetParam(), 4, wanted);
}

/// One lane brings what a table must not take.
struct refused_program {
    static constexpr int cuda_warps = 2;
    unordered_table_ref table;
    match_result* results = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        results[0] = table.arrive(ctx, {any_source, 1}, 0);
        results[1] = table.post(ctx, {1, any_tag}, 0);
        results[2] = table.probe(ctx, {1, any_tag});
        results[3] = table.arrive(ctx, {1, 1}, 4);
        results[4] = table.post(ctx, {1, 1}, 8);
        results[5] = table.cancel(ctx, {1, 1}, 8);
    }
};

TEST_P(unordered_table_test, RefusesWildcardsAndHandlesWithoutAPlace) {
    machine machine(GetParam());
    const unordered_table table(machine.device(0), 4, 8);
    const buffer<match_result> results(machine.device(0), 6);
    run_programs(machine, small_grid(machine), 60, [&](int) { return refused_program{table.ref(), results.data()}; });
    const auto found = results.copy_out();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(found[static_cast<std::size_t>(i)].outcome, match_outcome::refused) << i;
    EXPECT_EQ(found[3].outcome, match_outcome::full);
    EXPECT_EQ(found[4].outcome, match_outcome::full);
    EXPECT_EQ(found[5].outcome, match_outcome::none);
    EXPECT_TRUE(table.waiting().empty());
    EXPECT_THROW(unordered_table(machine.device(0), 0, 8), usage_error);
    EXPECT_THROW(unordered_table(machine.device(0), 8, (1u << 24) + 1), usage_error);
    EXPECT_THROW(unordered_table(machine.device(0), 8, 8, 3), usage_error);
}

/// One lane takes what waits, or sees that it does.
struct taking_program {
    static constexpr int cuda_warps = 2;
    unordered_table_ref table;
    match_result* results = nullptr;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        const match_key key{1, 2}, other{2, 1};
        const auto awaited = [&] {
            return table.is_awaited(ctx, key) ? match_result{match_outcome::matched} : match_result{};
        };
        const auto any = [](std::uint32_t) { return true; };
        results[0] = table.meet(ctx, key);
        results[1] = awaited();
        (void)table.post(ctx, key, 3);
        (void)table.post(ctx, other, 4);
        results[2] = awaited();
        results[3] = table.take_message(ctx, key, any);
        results[4] = table.meet(ctx, key);
        results[5] = awaited();
        (void)table.arrive(ctx, key, 2);
        results[6] = table.meet(ctx, key);
        results[7] = awaited();
        results[8] = table.take_message(ctx, key, [](std::uint32_t handle) { return handle != 2; });
        if (results[8].outcome == match_outcome::none) results[8] = table.take_message(ctx, key, any);
        results[9] = table.take_message(ctx, key, any);
    }
};

TEST_P(unordered_table_test, TakesWhatIsThere) {
    for (const std::uint32_t buckets : {0, 1}) {
        machine machine(GetParam());
        const unordered_table table(machine.device(0), 8, 8, buckets);
        const buffer<match_result> results(machine.device(0), 10);
        run_programs(machine, small_grid(machine), 60, [&](int) {
            return taking_program{table.ref(), results.data()};
        });
        const auto found = results.copy_out();
        for (std::size_t i = 0; i < found.size(); ++i) {
            const bool is_there = i == 2 || i == 4 || i == 8;
            EXPECT_EQ(found[i].outcome, is_there ? match_outcome::matched : match_outcome::none) << i;
        }
        EXPECT_EQ(found[4].handle, 3u);
        EXPECT_EQ(found[8].handle, 2u);
        EXPECT_EQ(table.waiting().size(), 1u);
    }
}

LANEWAY_ON_DEVICES(unordered_table_test, lone_device());

}  // namespace
}  // namespace laneway::test
