// Two-sided messages: what is sent is received, once, in order, by whoever asks for it.
#pragma once

#include <algorithm>
#include <tuple>

#include "communicator_job.hpp"

namespace laneway::test {
namespace {

class communicator_test : public testing::TestWithParam<std::string> {};

/// Each lane sends a number to its mate on the next PE, under a tag of its own, and receives one from the PE before.
struct pass_round {
    symmetric_ref<std::uint64_t> wrong;
    std::uint64_t threads;  ///< lanes of PE 1, which takes part with all, where it has fewer than PE 0; else 0

    /// Lanes of a PE that take part: with little room for messages, a hundred thousand would take half a minute.
    static constexpr std::uint64_t most = 4096;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t lanes = threads != 0 ? threads : ctx.local_size(), mine = ctx.local_rank();
        if (mine >= lanes || mine >= most) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        for (std::uint64_t round = 0; round < 5; ++round) {
            const auto tag = static_cast<std::int64_t>(mine * 5 + round);  // its mate may be a round ahead
            std::uint64_t sent = value(ctx.pe(), mine, round), got = 0;
            message_request receive, send;
            message_status status_of;
            if (world.irecv(ctx, &got, 1, before, tag, receive) != status::ok) return;
            if (world.isend(ctx, &sent, 1, next, tag, send) != status::ok) return;
            if (world.wait(ctx, send) != status::ok) return;
            if (world.wait(ctx, receive, &status_of) != status::ok) return;
            const bool right = got == value(before, mine, round) && status_of.source == static_cast<unsigned>(before) &&
                               status_of.tag == mine * 5 + round && status_of.bytes == 8 && !status_of.cancelled;
            if (!right) atomic_add(ctx, wrong[0], 1);
        }
    }
    static LANEWAY_FN std::uint64_t value(int pe, std::uint64_t lane, std::uint64_t round) {
        return static_cast<std::uint64_t>(pe) << 40 | lane << 8 | round;
    }
};

TEST_P(communicator_test, LanesPassNumbersRound) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how = small_options(o);
        how.rules = rules_of(o);
        how.engines = engines_of(how.rules);
        auto world = rt.communicator(how);
        const bool mixed = o.devices == "cuda:0,cpu:1";
        rt.run(pass_round{wrong.ref(), mixed ? static_cast<std::uint64_t>(o.cpu_threads) : 0}, world);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
        EXPECT_TRUE(world.pending().empty());
    });
}

/// One lane sends itself many messages at once, through a ring of one slot: all but the first wait for room.
struct send_many {
    symmetric_ref<std::uint64_t> wrong;
    symmetric_ref<std::uint64_t> taken_ns;
    std::uint32_t n;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.rank() != 0) return;
        const std::uint64_t start = ctx.now_ns();
        message_request receives[256], sends[256];
        std::uint64_t sent[256], got[256];
        for (std::uint32_t i = 0; i < n; ++i) {
            sent[i] = i + 1;
            if (world.irecv(ctx, got + i, 1, 0, i, receives[i]) != status::ok) return;
        }
        for (std::uint32_t i = 0; i < n; ++i) {
            if (world.isend(ctx, sent + i, 1, 0, i, sends[i]) != status::ok) return;
        }
        if (world.wait_all(ctx, sends, n) != status::ok || world.wait_all(ctx, receives, n) != status::ok) return;
        for (std::uint32_t i = 0; i < n; ++i) {
            if (got[i] != i + 1) atomic_add(ctx, wrong[0], 1);
        }
        ctx.store(&taken_ns.local(ctx)[0], ctx.now_ns() - start, order::relaxed, scope::device);
    }
};

/// Four times as many take at most eight times as long: were each sender looked at each time, it would be sixteen
/// times. Time of lanes of checked devices is virtual, and the same in each run.
TEST(communicator_waiting_sends, WhatAMessageTakesDoesNotGrowWithThoseThatWait) {
    const auto nanoseconds = [](std::uint32_t n) {
        const options o = options_of("checked:1", 1);
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(1), taken = rt.allocate<std::uint64_t>(1);
        communicator_options small;
        small.requests = 1024;
        small.ring_slots = 1;
        auto world = rt.communicator(small);
        rt.run(send_many{wrong.ref(), taken.ref(), n}, world);
        EXPECT_EQ(wrong.copy_out(0)[0], 0u);
        return taken.copy_out(0)[0];
    };
    const std::uint64_t few = nanoseconds(64), many = nanoseconds(256);
    EXPECT_GT(many, few);
    EXPECT_LT(many, 8 * few);
}

/// One lane posts receives until all places of requests but one are in use, and then one again and again, whose message
/// is there.
struct post_in_the_last_place {
    static constexpr std::uint32_t others = 255, rounds = 64;
    symmetric_ref<std::uint64_t> taken_ns;  ///< by the first receives, and by as many in the last place

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.rank() != 0) return;
        message_request waiting[others];
        std::uint64_t sent = 1, got[others + 1], taken[2] = {};
        for (std::uint32_t i = 0; i < others; ++i) {
            const std::uint64_t start = ctx.now_ns();
            if (world.irecv(ctx, got + i, 1, 0, 1, waiting[i]) != status::ok) return;
            if (i < rounds) taken[0] += ctx.now_ns() - start;
        }
        for (std::uint32_t round = 0; round < rounds; ++round) {
            message_request mine;
            if (world.send(ctx, &sent, 1, 0, 2) != status::ok) return;
            const std::uint64_t start = ctx.now_ns();
            if (world.irecv(ctx, got + others, 1, 0, 2, mine) != status::ok) return;
            taken[1] += ctx.now_ns() - start;
            if (world.wait(ctx, mine) != status::ok) return;
        }
        for (std::uint32_t i = 0; i < others; ++i) {
            if (world.send(ctx, &sent, 1, 0, 1) != status::ok) return;
        }
        for (std::uint32_t i = 0; i < 2; ++i) taken_ns.local(ctx)[i] = taken[i];
        (void)world.wait_all(ctx, waiting, others);
    }
};

/// A place is not looked for among those in use: that would take many times as long. Lanes take turns as the seed has
/// it, so times are those of many posts.
TEST(communicator_requests, TheLastPlaceIsFoundAsFastAsTheFirst) {
    for (std::uint64_t round = 0; round < 4; ++round) {
        runtime rt(options_of("checked:1", round));
        const auto taken = rt.allocate<std::uint64_t>(2);
        communicator_options small;
        small.requests = post_in_the_last_place::others + 1;
        auto world = rt.communicator(small);
        rt.run(post_in_the_last_place{taken.ref()}, world);
        const auto ns = taken.copy_out(0);
        EXPECT_GT(ns[0], 0u);
        EXPECT_LE(ns[1], 3 * ns[0]);
    }
}

/// A lone lane of the last PE sends two messages under one tag, which one of PE 0 awaits by a receive that does not
/// wait and one that does; the answer says what has come.
struct post_and_wait {
    static constexpr std::uint64_t rounds = 50;
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const int last = ctx.n_pes() - 1;
        const bool sends = ctx.rank() == ctx.size() - 1;  // of the last PE, however many lanes others have
        if (ctx.rank() != 0 && !sends) return;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            std::uint64_t first = 2 * round, second = first + 1, sum = 0;
            if (sends) {
                if (world.send(ctx, &first, 1, 0, 5) != status::ok) return;
                if (world.send(ctx, &second, 1, 0, 5) != status::ok) return;
                if (world.recv(ctx, &sum, 1, 0, 6) != status::ok) return;
                if (sum != first + second) atomic_add(ctx, wrong[0], 1);
            } else {
                std::uint64_t one = 0, other = 0;
                message_request begun;
                message_status got;
                if (world.irecv(ctx, &one, 1, last, 5, begun) != status::ok) return;
                if (world.recv(ctx, &other, 1, last, any_tag, &got) != status::ok) return;
                if (world.wait(ctx, begun) != status::ok) return;
                if (one != first || other != second || got.tag != 5 || got.bytes != 8) atomic_add(ctx, wrong[0], 1);
                sum = one + other;
                if (world.send(ctx, &sum, 1, last, 6) != status::ok) return;
            }
        }
    }
};

TEST_P(communicator_test, WhatWasPostedBeforeComesFirst) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        if (rt.n_pes() == 1) return;
        const auto wrong = rt.allocate<std::uint64_t>(1);
        auto world = rt.communicator();
        rt.run(post_and_wait{wrong.ref()}, world);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << "PE " << pe;
        EXPECT_TRUE(world.pending().empty());
    });
}

/// A lane of PE 0 sends a message to one of the last PE.
struct send_one {
    symmetric_ref<std::uint64_t> from, to;
    std::uint64_t count;
    bool synchronous;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const int last = ctx.n_pes() - 1;
        if (ctx.rank() == 0) {
            (void)(synchronous ? world.ssend(ctx, from[0], count, last, 1) : world.send(ctx, from[0], count, last, 1));
        } else if (ctx.rank() == ctx.size() - 1) {
            (void)world.recv(ctx, to[0], count, 0, 1);
        }
    }
};

/// What the receiver would fetch, or answer, is refused between PEs that do not reach each other's memory.
TEST_P(communicator_test, WhatIsLongOrSynchronousNeedsMemoryThatBothReach) {
    const int pes = runtime(options_of(GetParam(), 1)).n_pes();
    const std::string to_other = " while sending a message to PE " + std::to_string(pes - 1);
    for (const auto& [count, synchronous, why] :
         {std::tuple{128u, false, std::string{}},
          {129u, false,
           "more payload bytes than a message can carry" + to_other + ": 1032 bytes, and a chunk has room for "},
          {1u, true, "elements that do not exist, have been freed, or are out of reach" + to_other}}) {
        runtime rt(options_of(GetParam(), 1));
        if (rt.n_pes() == 1) return;
        const int last = rt.n_pes() - 1;
        auto from = rt.allocate<std::uint64_t>(129);
        const auto to = rt.allocate<std::uint64_t>(129);
        from.copy_in(0, std::vector<std::uint64_t>(129, 7));
        auto world = rt.communicator();
        const auto run = [&] { rt.run(send_one{from.ref(), to.ref(), count, synchronous}, world); };
        if (is_mixed(GetParam()) && !why.empty()) {
            const std::string what = thrown<device_fault>(run);
            EXPECT_NE(what.find(why), std::string::npos) << what;
            continue;
        }
        run();
        EXPECT_EQ(to.copy_out(last)[count - 1], 7u);
    }
}

LANEWAY_ON_DEVICES(communicator_test, with_proxies(device_lists(), is_long_run()));

}  // namespace
}  // namespace laneway::test
