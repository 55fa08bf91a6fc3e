// Runs of a worklist: what its application throws ends the run, whichever of its functions it is.
#include "laneway/flow/worklist.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

#include "laneway/flow/hub_shards_memory.hpp"
#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

using key = std::uint32_t;
constexpr std::uint64_t vertices_of_a_pe = 8;

enum class where { arcs, visit, nowhere, too_far, never };

/// A ring of arcs, one from each vertex to the next; throws at vertex 5 of a PE, or proposes nothing, or a key that
/// does not fit to the next PE.
struct throwing_ring {
    std::uint64_t first = 0;
    std::uint64_t vertices = 0;
    where throws = where::visit;

    LANEWAY_FN arc_range arcs(std::uint32_t id) const {
        if (throws == where::arcs && id == 5) throw std::out_of_range("vertex 5");
        return {first + id, 1};
    }
    template <class Ctx>
    LANEWAY_FN proposal<key> visit(Ctx&, std::uint64_t arc, key distance) const {
        if (throws == where::nowhere) return {(arc + 1) % vertices};
        if (throws == where::too_far && (arc + 1) % vertices_of_a_pe == 0) {
            return {(arc + 1) % vertices, worklist_word<key>::too_great};
        }
        if (throws == where::visit && arc % vertices_of_a_pe == 5) throw std::out_of_range("arc 5");
        return {(arc + 1) % vertices, distance + 1};
    }
};

TEST(worklist_misuse_test, StartsAndPoliciesThatCannotBeAreRefused) {
    runtime rt(options_of("cpu:2", 0));
    const std::uint64_t n = 2 * vertices_of_a_pe;
    const std::vector<std::uint64_t> starts{0, vertices_of_a_pe, n};
    const hub_shards hubs(rt.machine().device(0), std::vector<std::uint64_t>(9));
    std::vector<worklist_share<throwing_ring>> shares;
    for (std::uint64_t pe = 0; pe < 2; ++pe) {
        shares.push_back({{starts[pe], n}, {starts.data()}, starts[pe], vertices_of_a_pe, hubs.ref(), 0});
    }
    EXPECT_THROW((worklist<key, throwing_ring>(rt.machine(), shares, n, {5, 0, 0})), usage_error);
    worklist<key, throwing_ring> list(rt.machine(), shares, n, {100, 100, 0});
    EXPECT_THROW(list.set_policy({5, 0, 0}), usage_error);
    EXPECT_THROW(list.start_with({0, n}), usage_error);
    list.set_fused(false);
    EXPECT_THROW((void)rt.start(list), usage_error) << "a session has no waves";
    list.set_fused(true);
    EXPECT_THROW(list.start_with({0}, worklist_word<key>::unreached), usage_error);
    list.start_with(std::vector<std::uint64_t>(1000, 6));  // more than a ring has room for
    list.set_policy({1, 1, ~std::uint64_t{0}});            // much work may run while the threshold rises
    EXPECT_THROW(rt.run(list), lane_error) << "vertex 5 is the last of the ring that is reached";
}

class worklist_run_test : public testing::TestWithParam<std::string> {};

/// A ring over all PEs, each with the same number of vertices, of which the first starts.
class ring_of_pes {
public:
    ring_of_pes(runtime& rt, where throws) : hubs_(rt.machine().device(0), std::vector<std::uint64_t>(9)) {
        const auto pes = static_cast<std::uint64_t>(rt.n_pes());
        for (std::uint64_t pe = 0; pe <= pes; ++pe) starts_.push_back(pe * vertices_of_a_pe);
        for (std::uint64_t pe = 0; pe < pes; ++pe) {
            shares_.push_back({{starts_[pe], starts_.back(), throws},
                               {starts_.data()},
                               starts_[pe],
                               vertices_of_a_pe,
                               hubs_.ref(),
                               0});
        }
    }
    [[nodiscard]] worklist<key, throwing_ring> list(runtime& rt, std::uint64_t start = 0) const {
        worklist<key, throwing_ring> made(rt.machine(), shares_, starts_.back(), {100, 100, 0});
        made.start_with({start});
        return made;
    }

private:
    hub_shards hubs_;
    std::vector<std::uint64_t> starts_;
    std::vector<worklist_share<throwing_ring>> shares_;
};

TEST_P(worklist_run_test, WhatArcsAndVisitThrowComesOutOfTheRun) {
    for (std::uint64_t seed = 1; seed <= (is_checked(GetParam()) ? rounds_of(GetParam()) : 3); ++seed) {
        options o;
        o.devices = GetParam();
        o.seed = seed;
        runtime rt(o);
        for (const where throws : {where::arcs, where::visit}) {
            const ring_of_pes ring(rt, throws);
            auto list = ring.list(rt);
            try {
                rt.run(list);
                ADD_FAILURE() << "the exception was lost";
            } catch (const lane_error& e) {
                const std::string what = e.what();
                const std::string text =
                    throws == where::arcs ? "arcs of the worklist: vertex 5" : "visit of the worklist: arc 5";
                EXPECT_EQ(what.rfind("PE 0 (", 0), 0u) << what;
                EXPECT_NE(what.find(": exception in " + text), std::string::npos) << what;
                EXPECT_THROW(std::rethrow_if_nested(e), std::out_of_range);
            }
        }
    }
}

TEST_P(worklist_run_test, WhatIsNotProposedIsNotSent) {
    options o;
    o.devices = GetParam();
    runtime rt(o);
    auto list = ring_of_pes(rt, where::nowhere).list(rt, vertices_of_a_pe - 1);  // the next one is another PE's
    const auto report = rt.run(list);
    EXPECT_EQ(report.items, 1u);
    EXPECT_EQ(report.carried, 0u);
}

/// One lane proposes a key that does not fit.
struct propose_too_much {
    template <class Ctx, class List>
    LANEWAY_FN void operator()(Ctx& ctx, List& list) const {
        if (ctx.rank() == 0) list.propose(ctx, {1, worklist_word<key>::too_great});
    }
};

TEST_P(worklist_run_test, KeysThatDoNotFitAreToldAndNotSent) {
    options o;
    o.devices = GetParam();
    runtime rt(o);
    const ring_of_pes far(rt, where::too_far), ring(rt, where::never);
    auto list = far.list(rt, 1);
    EXPECT_FALSE(list.overflowed());
    for (const bool fused : {true, false}) {
        list.set_fused(fused);
        const auto report = run_keys(rt, list);
        EXPECT_TRUE(list.overflowed());
        EXPECT_EQ(report.items, vertices_of_a_pe - 1);
        EXPECT_EQ(report.carried, 0u);
        EXPECT_EQ(list.keys(0)[0], worklist_word<key>::unreached);
    }
    auto other = ring.list(rt);
    rt.run(other);
    EXPECT_FALSE(other.overflowed());
    rt.run(propose_too_much{}, other);
    EXPECT_TRUE(other.overflowed()) << "a body has proposed it";
    EXPECT_EQ(other.keys(0)[1], 1u);
    rt.run(other);
    EXPECT_FALSE(other.overflowed()) << "it is of the last run";
}

// A setter gives up the waves that wait: the next run begins with the starts.
TEST_P(worklist_run_test, WavesAreGivenUpBySetters) {
    options o;
    o.devices = GetParam();
    runtime rt(o);
    const ring_of_pes ring(rt, where::never);
    auto list = ring.list(rt);
    const threshold_policy steps{1, 1, 0};
    const auto leave_waves = [&] {
        list.set_fused(false);
        list.set_policy(steps);
        rt.run(list);
        EXPECT_TRUE(list.goes_on());
    };
    const auto last_key = [&] { return list.keys(0)[vertices_of_a_pe - 1]; };
    leave_waves();
    list.set_policy({100, 100, 0});
    EXPECT_FALSE(list.goes_on());
    leave_waves();
    list.set_fused(true);
    EXPECT_FALSE(list.goes_on());
    rt.run(list);
    EXPECT_EQ(last_key(), vertices_of_a_pe - 1);
    leave_waves();
    list.start_with({vertices_of_a_pe - 1});
    EXPECT_FALSE(list.goes_on());
    (void)run_keys(rt, list);
    EXPECT_EQ(last_key(), 0u);
}

TEST(worklist_misuse_test, TheDeadlineOfWavesCountsWhatTheHostDoesBetween) {
    options o;
    o.devices = "cpu:1";
    o.timeout_seconds = 0.3;
    runtime rt(o);
    auto list = ring_of_pes(rt, where::never).list(rt);
    list.set_fused(false);
    list.set_policy({1, 1, 0});
    rt.run(list);
    ASSERT_TRUE(list.goes_on());
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
    while (std::chrono::steady_clock::now() < until) {
        (void)list.keys(0);
        (void)wait_limit(wait_limit::seconds(0)).is_over();  // as threads that wait do
    }
    EXPECT_THROW(rt.run(list), timeout_error);
    EXPECT_FALSE(list.goes_on());
}

INSTANTIATE_TEST_SUITE_P(devices, worklist_run_test, testing::Values("cpu:1", "cpu:2", "checked:1", "checked:2"),
                         name_of);

}  // namespace
}  // namespace laneway::test
