// Runs of several components at once, and of none.
#pragma once

#include <gtest/gtest.h>

#include "laneway/runtime.hpp"
#include "unit/run/path_graph.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

struct up {
    std::uint64_t by;
};
struct down {
    std::uint64_t by;
};
struct add_to {
    symmetric_ref<std::uint64_t> sum;
    std::uint64_t index;
    template <class Ctx, class Message>
    LANEWAY_FN void operator()(Ctx& ctx, const Message& m) const {
        atomic_add(ctx, sum[index], m.by);
    }
};
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

options options_for(const std::string& devices, std::uint64_t seed = 1) {
    options o;
    o.devices = devices;
    o.seed = seed;
    return o;
}

template <class T>
std::uint64_t total(const symmetric_array<T>& all, int pes, std::size_t index) {
    std::uint64_t sum = 0;
    for (int pe = 0; pe < pes; ++pe) sum += all.copy_out(pe)[index];
    return sum;
}

class components_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] std::uint64_t seeds() const { return is_checked(GetParam()) ? chosen_seeds() : 3; }
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

/// Of the same type as others, but for another sum; handed on for some hops, and replied to where it was posted.
struct again {
    std::uint64_t by;
    std::uint64_t hops;
};
template <std::uint64_t Factor>
struct add_times {
    static constexpr bool forwards = true;
    symmetric_ref<std::uint64_t> sums;
    std::uint64_t index;
    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const again& m, Forward& forward) const {
        atomic_add(ctx, sums[index], Factor * m.by);
        if (m.hops != 0) (void)forward.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), again{m.by, m.hops - 1});
    }
};
struct how_many {
    std::uint64_t value;
};
template <std::uint64_t Factor>
struct tell_times {
    using answer = up;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx&, const how_many& asked) const {
        return {Factor * asked.value};
    }
};
template <std::uint64_t Factor>
struct sum_of_elements {
    using element = std::uint32_t;
    symmetric_ref<std::uint64_t> sums;
    std::uint64_t index;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const down& m, payload<const element> elements) const {
        std::uint64_t sum = m.by;
        for (std::uint64_t i = 0; i < elements.size; ++i) sum += elements.data[i];
        atomic_add(ctx, sums[index], Factor * sum);
    }
};
/// Each lane does the same with both.
struct use_alike {
    symmetric_ref<std::uint64_t> sums;
    template <class Ctx, class One, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, One& one, Other& other) const {
        use(ctx, one, 1);
        use(ctx, other, 10);
        if (one.barrier(ctx) != status::ok || other.barrier(ctx) != status::ok) return;
        atomic_add(ctx, sums[6], 1);
    }
    template <class Ctx, class Box>
    LANEWAY_FN void use(Ctx& ctx, Box& box, std::uint64_t factor) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        const std::uint32_t elements[] = {3, 4};
        (void)box.post(ctx, next, again{1, 2});
        (void)box.post(ctx, next, how_many{2});
        (void)box.post(ctx, next, down{5}, elements, 2);
        const auto told = box.call(ctx, next, how_many{ctx.rank()});
        if (!told || told.value.by != factor * ctx.rank()) atomic_add(ctx, sums[7], 1);
        (void)box.quiet(ctx);
    }
};

TEST_P(components_test, TwoMailboxesMayCarryTheSameTypes) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        options o = options_for(GetParam(), seed);
        o.chunk_bytes = 128;
        runtime rt(o);
        const auto sums = rt.allocate<std::uint64_t>(8);
        const auto ref = sums.ref();
        const auto one = rt.mailbox<again, how_many, up, down>(add_times<1>{ref, 0}, tell_times<1>{}, add_to{ref, 2},
                                                               sum_of_elements<1>{ref, 4});
        const auto other = rt.mailbox<down, again, how_many, up>(sum_of_elements<10>{ref, 5}, add_times<10>{ref, 1},
                                                                 tell_times<10>{}, add_to{ref, 3});
        for (std::uint64_t run = 1; run <= 2; ++run) {
            const run_report report = rt.run(use_alike{ref}, one, other);
            const std::uint64_t lanes = total(sums, rt.n_pes(), 6);
            EXPECT_GT(lanes, 0u);
            EXPECT_EQ(total(sums, rt.n_pes(), 0), 3 * lanes);
            EXPECT_EQ(total(sums, rt.n_pes(), 1), 30 * lanes);
            EXPECT_EQ(total(sums, rt.n_pes(), 2), 2 * lanes);
            EXPECT_EQ(total(sums, rt.n_pes(), 3), 20 * lanes);
            EXPECT_EQ(total(sums, rt.n_pes(), 4), 12 * lanes);
            EXPECT_EQ(total(sums, rt.n_pes(), 5), 120 * lanes);
            EXPECT_EQ(total(sums, rt.n_pes(), 7), 0u);
            EXPECT_EQ(report.posted, report.direct + report.carried);
            EXPECT_EQ(report.carried, report.served);
        }
    }
}

/// Adds to words of the next PE through two boxes for one-sided operations.
struct add_by_both {
    symmetric_ref<std::uint64_t> sums;
    template <class Ctx, class One, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, One& one, Other& other) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        one_sided first(ctx, one);
        one_sided second(ctx, other);
        (void)first.add(sums[0], next, 1, path::aggregated);
        (void)second.add(sums[1], next, 1, path::aggregated);
        if (!second.fetch_add(sums[1], next, 1, path::aggregated)) return;
        (void)second.get_nbi(sums[3], sums[0], next, path::aggregated);
        if (second.quiet() == status::ok) atomic_add(ctx, sums[2], 1);
    }
};

TEST_P(components_test, TwoBoxesForOneSidedOperations) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        options o = options_for(GetParam(), seed);
        o.chunk_bytes = 512;
        runtime rt(o);
        const auto sums = rt.allocate<std::uint64_t>(4);
        rt.run(add_by_both{sums.ref()}, rt.one_sided(), rt.one_sided());
        const std::uint64_t lanes = total(sums, rt.n_pes(), 2);
        EXPECT_GT(lanes, 0u);
        EXPECT_EQ(total(sums, rt.n_pes(), 0), lanes);
        EXPECT_EQ(total(sums, rt.n_pes(), 1), 2 * lanes);
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
        if (box.slot() == 0) list.propose(ctx, {(vertices / 2 + pe) % vertices, static_cast<std::uint32_t>(pe)});
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
                box.slot() == 0 ? ctx.load(arrived.local(ctx), order::relaxed, scope::device) : 0;
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
        auto sums = rt.collectives();
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
    auto halo = rt.triggers();
    const auto same = halo;
    EXPECT_THROW(rt.run(take_none{}, halo, same), usage_error);
    EXPECT_THROW((void)rt.start(halo, same), usage_error);
    EXPECT_NO_THROW(rt.run(halo));
}

INSTANTIATE_TEST_SUITE_P(devices, components_test, testing::ValuesIn(device_lists()), name_of);

}  // namespace
}  // namespace laneway::test
