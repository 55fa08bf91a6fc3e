// Runs of several components at once, and of none.
#pragma once

#include "laneway/run/communicator.hpp"
#include "laneway/run/transfers.hpp"
#include "unit/run/component_job.hpp"
#include "unit/run/path_graph.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

/// Each lane posts to the next PE through one mailbox, and to the one after it through the other.
struct post_both {
    std::uint64_t posts;
    template <class Ctx, class Up, class Down>
    LANEWAY_FN void operator()(Ctx& ctx, Up& ups, Down& downs) const {
        for (std::uint64_t i = 0; i < posts; ++i) {
            if (ups.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), up{1}) != status::ok) return;
            if (i % 2 == 0 && downs.post(ctx, (ctx.pe() + 2) % ctx.n_pes(), down{3}) != status::ok) return;
        }
    }
};

class components_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] std::uint64_t seeds() const { return is_checked(GetParam()) ? rounds_of(GetParam()) : 3; }
};

TEST_P(components_test, TwoMailboxesServeTheirOwnMessages) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        runtime rt(options_for(GetParam(), seed));
        const auto sums = rt.allocate<std::uint64_t>(2);
        const auto ups = rt.mailbox<up>(add_to{sums.ref(), 0});
        const auto downs = rt.mailbox<down>(add_to{sums.ref(), 1});
        const run_report report = rt.run(post_both{10}, ups, downs);
        const std::uint64_t posted = total(sums, rt.n_pes(), 0);
        EXPECT_GT(posted, 0u);
        EXPECT_EQ(posted % 10, 0u);
        EXPECT_EQ(total(sums, rt.n_pes(), 1), posted / 10 * 5 * 3);
        EXPECT_EQ(report.posted, posted / 10 * 15);
    }
}

struct count_index {
    symmetric_ref<std::uint64_t> seen;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i) const {
        atomic_add(ctx, seen[i], 1);
    }
};
struct post_index {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i, Box& box) const {
        (void)box.post(ctx, static_cast<int>(i % static_cast<unsigned>(ctx.n_pes())), up{i});
    }
};

TEST_P(components_test, EachIndexIsHandedOutOnce) {
    runtime rt(options_for(GetParam()));
    for (const std::uint64_t n : {0, 1, 7, 64, 1000, 4099}) {
        const auto seen = rt.allocate<std::uint64_t>(n + 1);
        rt.for_each(n, count_index{seen.ref()});
        for (std::uint64_t i = 0; i <= n; ++i) {
            ASSERT_EQ(total(seen, rt.n_pes(), i), i < n ? 1u : 0u) << i << " of " << n;
        }
    }
}

TEST_P(components_test, BodiesOfIndicesPost) {
    runtime rt(options_for(GetParam()));
    const auto sum = rt.allocate<std::uint64_t>(1);
    const run_report report = rt.for_each(1000, post_index{}, rt.mailbox<up>(add_to{sum.ref(), 0}));
    EXPECT_EQ(total(sum, rt.n_pes(), 0), 999u * 1000 / 2);
    EXPECT_EQ(report.posted, 1000u);
}

/// One lane of each PE proposes a key for a vertex of another one, and all lanes post.
struct propose_and_post {
    std::uint64_t vertices;
    template <class Ctx, class List, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, List& list, Box& box) const {
        (void)box.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), up{1});
        const auto pe = static_cast<std::uint64_t>(ctx.pe());
        if (ctx.local_rank() == 0) list.propose(ctx, {(vertices / 2 + pe) % vertices, static_cast<std::uint32_t>(pe)});
    }
};

TEST_P(components_test, AWorklistRunsBesideAMailboxAndTheBodyMayProposeKeys) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        runtime rt(options_for(GetParam(), seed));
        const path_graph graph(rt);
        auto list = graph.list(rt.machine());
        const auto sum = rt.allocate<std::uint64_t>(1);
        const std::uint64_t vertices = graph.vertices, middle = vertices / 2;
        for (int again = 0; again < 2; ++again) {
            list.start_with({middle + 3}, 1);
            const run_report report = rt.run(propose_and_post{vertices}, list, rt.mailbox<up>(add_to{sum.ref(), 0}));
            EXPECT_GT(total(sum, rt.n_pes(), 0), 0u);
            EXPECT_EQ(report.served, report.carried);
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                const std::vector<std::uint32_t> keys = list.keys(pe);
                ASSERT_EQ(keys.size(), path_of_a_pe);
                for (std::uint64_t i = 0; i < path_of_a_pe; ++i) {
                    const std::uint64_t v = static_cast<std::uint64_t>(pe) * path_of_a_pe + i;
                    std::uint32_t expected = worklist_word<std::uint32_t>::unreached;
                    if (v >= middle) expected = static_cast<std::uint32_t>(v - middle);
                    if (v >= middle + 3) expected = static_cast<std::uint32_t>(v - middle - 2);
                    ASSERT_EQ(keys[i], expected) << "vertex " << v << ", seed " << seed;
                }
            }
        }
    }
}

/// Lanes post, meet, and add up what they are and what has arrived.
struct post_and_sum {
    symmetric_ref<std::uint64_t> arrived;
    symmetric_ref<std::uint64_t> wrong;
    template <class Ctx, class Box, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box, Sums& sums) const {
        for (std::uint64_t round = 1; round <= 3; ++round) {
            (void)box.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), up{1});
            const auto ranks = sums.all_reduce(ctx, ctx.rank() + 1, reduction::sum{});
            if (!ranks) return;
            if (ranks.value != ctx.size() * (ctx.size() + 1) / 2) atomic_add(ctx, wrong[0], 1);
            if (box.barrier(ctx) != status::ok) return;
            const std::uint64_t here =
                ctx.local_rank() == 0 ? ctx.load(arrived.local(ctx), order::relaxed, scope::device) : 0;
            const auto all = sums.all_reduce(ctx, here, reduction::sum{});
            if (!all) return;
            if (all.value != round * ctx.size()) atomic_add(ctx, wrong[0], 1);
        }
    }
};

TEST_P(components_test, CollectivesAddUpWhatMessagesHaveDone) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        runtime rt(options_for(GetParam(), seed));
        auto arrived = rt.allocate<std::uint64_t>(1);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        const auto sums = rt.collectives();
        for (int again = 0; again < 2; ++again) {
            arrived.clear();
            rt.run(post_and_sum{arrived.ref(), wrong.ref()}, rt.mailbox<up>(add_to{arrived.ref(), 0}), sums);
            ASSERT_EQ(total(wrong, rt.n_pes(), 0), 0u) << "seed " << seed;
        }
        runtime other(options_for(GetParam(), seed));
        EXPECT_THROW(
            other.run(post_and_sum{arrived.ref(), wrong.ref()}, other.mailbox<up>(add_to{arrived.ref(), 0}), sums),
            usage_error);
    }
}

/// Lanes post to the PEs of their team, which meets as often as no other does. PEs are in turn in one of two teams.
struct post_and_meet_in_team {
    symmetric_ref<std::uint64_t> arrived;
    symmetric_ref<std::uint64_t> wrong;
    template <class Ctx, class Box, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box, Sums& team) const {
        const auto lanes = team.all_reduce(ctx, std::uint64_t{1}, reduction::sum{});
        if (!lanes) return;
        const std::uint64_t rounds = ctx.pe() % 2 == 0 ? 2 : 5;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            for (int pe = ctx.pe() % 2; pe < ctx.n_pes(); pe += 2) (void)box.post(ctx, pe, up{1});
            if (box.quiet(ctx) != status::ok || team.barrier(ctx) != status::ok) return;
            // Relaxed: what handlers have done comes before the barrier.
            const std::uint64_t here = ctx.load(arrived.local(ctx), order::relaxed, scope::device);
            if (here != round * lanes.value) atomic_add(ctx, wrong[0], 1);
            if (team.barrier(ctx) != status::ok) return;  // all have looked before anybody posts again
        }
    }
};

TEST_P(components_test, ATeamOfPesWaitsForItsMessagesByQuietAndABarrierOfItsOwn) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        runtime rt(options_for(GetParam(), seed));
        const auto arrived = rt.allocate<std::uint64_t>(1), wrong = rt.allocate<std::uint64_t>(1);
        collective_options in_turn;
        for (int pe = 0; pe < rt.n_pes(); ++pe) in_turn.teams.push_back(pe % 2);
        rt.run(post_and_meet_in_team{arrived.ref(), wrong.ref()}, rt.mailbox<up>(add_to{arrived.ref(), 0}),
               rt.collectives(in_turn));
        ASSERT_EQ(total(wrong, rt.n_pes(), 0), 0u) << "seed " << seed;
    }
}

/// Lanes post and meet at barriers with a value, behind which all that was posted has come.
struct post_and_meet {
    symmetric_ref<std::uint64_t> arrived;
    symmetric_ref<std::uint64_t> wrong;
    template <class Ctx, class Box, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box, Sums& sums) const {
        for (std::uint64_t round = 1; round <= 3; ++round) {
            (void)box.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), up{ctx.rank() + round});
            const auto posted = sums.barrier(ctx, box, ctx.rank() + round, reduction::sum{});
            if (!posted) return;
            const std::uint64_t before = round * (round - 1) / 2 * ctx.size();
            const std::uint64_t ranks = ctx.size() * (ctx.size() - 1) / 2;
            const std::uint64_t here =
                ctx.local_rank() == 0 ? ctx.load(arrived.local(ctx), order::relaxed, scope::device) : 0;
            const auto all = sums.barrier(ctx, box, here, reduction::sum{});
            if (!all) return;
            if (posted.value != ranks + round * ctx.size()) atomic_add(ctx, wrong[0], 1);
            if (all.value != round * ranks + before + round * ctx.size()) atomic_add(ctx, wrong[0], 1);
        }
    }
};

TEST_P(components_test, ABarrierWithAValueWaitsForMessagesAsWell) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        runtime rt(options_for(GetParam(), seed));
        const auto arrived = rt.allocate<std::uint64_t>(1), wrong = rt.allocate<std::uint64_t>(1);
        const auto sums = rt.collectives();
        rt.run(post_and_meet{arrived.ref(), wrong.ref()}, rt.mailbox<up>(add_to{arrived.ref(), 0}), sums);
        ASSERT_EQ(total(wrong, rt.n_pes(), 0), 0u) << "seed " << seed;
        ASSERT_GT(total(arrived, rt.n_pes(), 0), 0u);
    }
}

/// To be counted at one of four places.
struct vote {
    std::uint32_t place;
};
struct count_votes {
    symmetric_ref<std::uint64_t> counts;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const vote& v) const {
        atomic_add(ctx, counts[v.place], 1);
    }
};

/// Each lane posts votes, some to another PE; behind a barrier with all counts each PE has those of all.
struct vote_and_meet {
    static constexpr std::uint32_t places = 4;
    symmetric_ref<std::uint64_t> counts;  ///< `places` of each round
    symmetric_ref<std::uint64_t> wrong;
    bool in_reach;  ///< of each other's loads and stores: all PEs
    template <class Ctx, class Box, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box, Sums& sums) const {
        for (std::uint32_t round = 0; round < 3; ++round) {
            const auto own = counts.local(ctx) + round * places;
            post(ctx, box, round, round * places);
            if (meet(ctx, box, sums, round) != status::ok) return;
            for (std::uint32_t i = 0; i < places; ++i) {
                if (own[i] != votes(ctx.size(), round, i)) atomic_add(ctx, wrong[0], 1);
            }
        }
    }

    template <class Ctx, class Box>
    static LANEWAY_FN void post(Ctx& ctx, Box& box, std::uint32_t round, std::uint32_t first) {
        const auto place = static_cast<std::uint32_t>(ctx.rank() + round) % places;
        const int pe = static_cast<int>((ctx.rank() + round) % static_cast<unsigned>(ctx.n_pes()));
        (void)box.post(ctx, pe, vote{first + place});
    }
    static LANEWAY_FN std::uint64_t votes(std::uint64_t ranks, std::uint32_t round, std::uint32_t place) {
        const std::uint64_t before = (place + places - round % places) % places;  // the least rank that votes for it
        return (ranks + places - 1 - before) / places;
    }

    /// In turns with an array of the PE's memory, and as one that is symmetric, where that can be.
    template <class Ctx, class Box, class Sums>
    LANEWAY_FN status meet(Ctx& ctx, Box& box, Sums& sums, std::uint32_t round) const {
        const std::uint32_t first = round * places;
        if (round % 2 == 1 && in_reach) return sums.barrier(ctx, box, counts[first], places, reduction::sum{});
        return sums.barrier(ctx, box, counts.local(ctx) + first, places, reduction::sum{});
    }
};

TEST_P(components_test, ABarrierWithAnArrayCombinesWhatMessagesHaveDone) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        runtime rt(options_for(GetParam(), seed));
        const auto counts = rt.allocate<std::uint64_t>(12), wrong = rt.allocate<std::uint64_t>(1);
        const auto sums = rt.collectives();
        const bool in_reach = !is_mixed(GetParam());
        rt.run(vote_and_meet{counts.ref(), wrong.ref(), in_reach}, rt.mailbox<vote>(count_votes{counts.ref()}), sums);
        ASSERT_EQ(total(wrong, rt.n_pes(), 0), 0u) << "seed " << seed;
    }
}

/// The same with one array for all rounds: handlers add to what the round before has left in it on each PE.
struct vote_again {
    static constexpr std::uint32_t places = vote_and_meet::places, rounds = 6;
    symmetric_ref<std::uint64_t> counts;
    symmetric_ref<std::uint64_t> wrong;
    bool in_reach;
    template <class Ctx, class Box, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box, Sums& sums) const {
        const auto own = counts.local(ctx);
        std::uint64_t wanted[places] = {};
        for (std::uint32_t round = 0; round < rounds; ++round) {
            vote_and_meet::post(ctx, box, round, 0);
            const status met = round % 3 == 2 && in_reach ? sums.barrier(ctx, box, counts[0], places, reduction::sum{})
                                                          : sums.barrier(ctx, box, own, places, reduction::sum{});
            if (met != status::ok) return;
            for (std::uint32_t i = 0; i < places; ++i) {
                wanted[i] = wanted[i] * static_cast<unsigned>(ctx.n_pes()) + vote_and_meet::votes(ctx.size(), round, i);
            }
        }
        for (std::uint32_t i = 0; i < places; ++i) {
            if (own[i] != wanted[i]) atomic_add(ctx, wrong[0], 1);
        }
    }
};

TEST_P(components_test, ElementsOfABarrierCountOnInTheNext) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        runtime rt(options_for(GetParam(), seed));
        const auto counts = rt.allocate<std::uint64_t>(4), wrong = rt.allocate<std::uint64_t>(1);
        const auto sums = rt.collectives();
        const bool in_reach = !is_mixed(GetParam());
        rt.run(vote_again{counts.ref(), wrong.ref(), in_reach}, rt.mailbox<vote>(count_votes{counts.ref()}), sums);
        ASSERT_EQ(total(wrong, rt.n_pes(), 0), 0u) << "seed " << seed;
    }
}

TEST_P(components_test, ASymmetricArrayOutOfReachIsNoPlaceForABarrier) {
    if (!is_mixed(GetParam())) GTEST_SKIP() << "all memory is in reach";
    runtime rt(options_for(GetParam(), 1));
    const auto counts = rt.allocate<std::uint64_t>(12), wrong = rt.allocate<std::uint64_t>(1);
    const std::string text = thrown<device_fault>([&] {
        rt.run(vote_and_meet{counts.ref(), wrong.ref(), true}, rt.mailbox<vote>(count_votes{counts.ref()}),
               rt.collectives());
    });
    EXPECT_NE(text.find("element 4 is out of reach of loads and stores"), std::string::npos) << text;
}

struct count_bodies {
    symmetric_ref<std::uint64_t> bodies;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        atomic_add(ctx, bodies[0], 1);
    }
};

TEST_P(components_test, ABodyNeedsNoComponent) {
    runtime rt(options_for(GetParam()));
    const auto bodies = rt.allocate<std::uint64_t>(1);
    EXPECT_EQ(rt.run(count_bodies{bodies.ref()}).posted, 0u);
    EXPECT_GE(total(bodies, rt.n_pes(), 0), static_cast<std::uint64_t>(rt.n_pes()));
}

TEST_P(components_test, AWorklistOfAnotherRuntimeIsRefused) {
    runtime rt(options_for(GetParam())), other(options_for(GetParam()));
    const path_graph graph(rt);
    auto list = graph.list(rt.machine());
    EXPECT_THROW(other.run(list), usage_error);
    list.start_with({0});
    EXPECT_EQ(rt.run(list).items, graph.vertices);
}

TEST_P(components_test, AMailboxOfAnotherRuntimeIsRefused) {
    runtime rt(options_for(GetParam())), other(options_for(GetParam()));
    const auto sums = rt.allocate<std::uint64_t>(2);
    const auto box = rt.mailbox<up>(add_to{sums.ref(), 0});
    const auto refused = [&](auto&& use) {
        try {
            use();
            ADD_FAILURE() << "accepted";
        } catch (const usage_error& e) {
            EXPECT_STREQ(e.what(), "a mailbox belongs to the runtime that has made it");
        }
    };
    refused([&] { (void)other.run(box); });
    refused([&] { (void)other.for_each(9, post_index{}, box); });
    refused([&] { (void)other.run(other.one_sided(), box); });
    refused([&] { (void)other.start(box); });
    EXPECT_EQ(rt.for_each(9, post_index{}, box).posted, 9u);
}

/// One lane of each PE triggers a tag, waits for its operation's signal, and passes a message on.
struct trigger_and_pass {
    symmetric_ref<std::uint64_t> told, passed;
    template <class Ctx, class Triggers, class World, class Copies>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers, World& world, Copies& copies) const {
        if (ctx.local_rank() != 0) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        if (triggers.trigger(ctx, 1) != status::ok || triggers.wait_signal(ctx, told[0], 1) != status::ok) return;
        const auto mine = static_cast<std::uint64_t>(ctx.pe()) + 1;
        std::uint64_t got = 0;
        if (world.sendrecv(ctx, &mine, 1, next, 0, &got, 1, before, 0) != status::ok) return;
        passed.local(ctx)[0] = got;
        const auto copied = copies.post(ctx, transfer::copy(passed[0], ctx.pe(), passed[1], ctx.pe(), 1));
        if (copied) (void)copies.wait(ctx, copied.value);  // a failure ends the run
    }
};

TEST_P(components_test, ConstantsArePreparedAsWell) {
    if (is_mixed(GetParam())) GTEST_SKIP() << "PEs of several kinds have no triggers";
    runtime rt(options_for(GetParam()));
    const auto told = rt.allocate<std::uint64_t>(1), passed = rt.allocate<std::uint64_t>(2);
    auto prepared = rt.triggers({.tags = 2});
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        prepared.prepare(pe, 1, 1, trigger_operation::nothing(pe).signal(told.ref()[0]));
    }
    const auto triggers = prepared;
    const auto world = rt.communicator();
    const transfers copies(rt.machine());
    rt.run(trigger_and_pass{told.ref(), passed.ref()}, triggers, world, copies);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const auto before = static_cast<std::uint64_t>((pe + rt.n_pes() - 1) % rt.n_pes());
        EXPECT_EQ(passed.copy_out(pe), std::vector<std::uint64_t>(2, before + 1));
    }
}

struct take_none {
    template <class Ctx, class First, class Second>
    LANEWAY_FN void operator()(Ctx&, First&, Second&) const {}
};

TEST_P(components_test, AComponentIsGivenOnce) {
    runtime rt(options_for(GetParam()));
    index_space indices(10);
    EXPECT_THROW(rt.run(take_none{}, indices, indices), usage_error);
    index_space more(10);
    EXPECT_NO_THROW(rt.run(take_none{}, indices, more));
}

TEST_P(components_test, ACopyOfAComponentIsTheSame) {
    if (is_mixed(GetParam())) GTEST_SKIP() << "PEs of several kinds have no triggers";
    runtime rt(options_for(GetParam()));
    auto halo = rt.triggers();
    const auto same = halo;
    EXPECT_THROW(rt.run(take_none{}, halo, same), usage_error);
    EXPECT_THROW((void)rt.start(halo, same), usage_error);
    EXPECT_NO_THROW(rt.run(halo));
}

INSTANTIATE_TEST_SUITE_P(devices, components_test, testing::ValuesIn(device_lists()), name_of);

}  // namespace
}  // namespace laneway::test
