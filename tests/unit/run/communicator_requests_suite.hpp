// Requests of two-sided messages, as cases of MPI libraries' tests have them: null ones, ones taken back, completions
// of several, and too few of them.
#pragma once

#include "communicator_case.hpp"

namespace laneway::test {
namespace {

/// As waitany-null, inactivereq, waittestnull: null requests are passed over, finished ones are over.
struct null_requests {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        message_request none[3], mixed[3];
        std::uint32_t which = 0;
        bool over = false;
        LANEWAY_OK(world.wait(ctx, none[0]));
        LANEWAY_OK(world.wait_all(ctx, none, 3));
        LANEWAY_OK(world.test(ctx, none[1], over));
        v.expect(ctx, over);
        LANEWAY_OK(world.wait_any(ctx, none, 3, which));
        v.expect(ctx, which == 3);
        std::uint64_t a = 4, b = 0;
        LANEWAY_OK(world.irecv(ctx, &b, 1, ctx.pe(), 9, mixed[1]));
        LANEWAY_OK(world.test(ctx, mixed[1], over));
        v.expect(ctx, !over && !mixed[1].is_null());
        LANEWAY_OK(world.send(ctx, &a, 1, ctx.pe(), 9));
        LANEWAY_OK(world.wait_any(ctx, mixed, 3, which));
        v.expect(ctx, which == 1 && b == 4 && mixed[1].is_null());
        LANEWAY_OK(world.wait_any(ctx, mixed, 3, which));
        v.expect(ctx, which == 3);
    }
};

/// As rcancel, cancelanysrc: receives are taken back, and one that has its message is not.
struct taken_back {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        std::uint64_t a = 1, b = 0, c = 0;
        message_request first, second, third;
        message_status got;
        const int me = ctx.pe();
        LANEWAY_OK(world.irecv(ctx, &b, 1, v.any_but(me), 5, first));
        LANEWAY_OK(world.irecv(ctx, &c, 1, me, 5, second));
        LANEWAY_OK(world.cancel(ctx, first));
        LANEWAY_OK(world.wait(ctx, first, &got));
        v.expect(ctx, got.cancelled && got.bytes == 0);
        LANEWAY_OK(world.send(ctx, &a, 1, me, 5));
        LANEWAY_OK(world.wait(ctx, second, &got));
        v.expect(ctx, !got.cancelled && c == 1 && b == 0);
        LANEWAY_OK(world.send(ctx, &++a, 1, me, 6));
        LANEWAY_OK(world.probe(ctx, me, 6, got));  // it has come: the receive gets it at once
        LANEWAY_OK(world.irecv(ctx, &b, 1, me, v.any_tag_but(6), third));
        LANEWAY_OK(world.cancel(ctx, third));
        LANEWAY_OK(world.wait(ctx, third, &got));
        v.expect(ctx, !got.cancelled && b == 2);
    }
};

/// As waitsome, testall, testany, testsome: several receives, whose messages come in the other order.
struct some_of_several {
    static constexpr std::uint32_t n = 5;
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const int me = ctx.pe();
        message_request receives[n];
        message_status got[n];
        std::uint64_t words[n] = {};
        std::uint32_t which = 9, n_over = 9, indices[n] = {};
        bool over = false;
        LANEWAY_OK(world.test_any(ctx, receives, n, which, over));
        v.expect(ctx, over && which == n);
        LANEWAY_OK(world.test_all(ctx, receives, n, over = false));
        v.expect(ctx, over);
        LANEWAY_OK(world.wait_some(ctx, receives, n, n_over, indices));
        v.expect(ctx, n_over == 0);
        for (std::uint32_t i = 0; i < n; ++i) LANEWAY_OK(world.irecv(ctx, words + i, 1, me, i, receives[i]));
        LANEWAY_OK(world.test_any(ctx, receives, n, which, over));
        v.expect(ctx, !over && which == n);
        LANEWAY_OK(world.test_some(ctx, receives, n, n_over = 9, indices, got));
        v.expect(ctx, n_over == 0);
        LANEWAY_OK(send(ctx, world, 3));
        while (!over) LANEWAY_OK(world.test_any(ctx, receives, n, which, over, got));
        v.expect(ctx, which == 3 && words[3] == 13 && got[0].tag == 3 && receives[3].is_null());
        LANEWAY_OK(send(ctx, world, 4));
        LANEWAY_OK(send(ctx, world, 1));
        for (std::uint32_t seen = 0; seen < 2; seen += n_over) {
            LANEWAY_OK(world.wait_some(ctx, receives, n, n_over, indices, got));
            v.expect(ctx, n_over >= 1 && n_over <= 2);
            for (std::uint32_t i = 0; i < n_over; ++i) {
                v.expect(ctx, indices[i] == got[i].tag && words[indices[i]] == 10 + got[i].tag);
                v.expect(ctx, receives[indices[i]].is_null());
            }
        }
        LANEWAY_OK(send(ctx, world, 0));
        LANEWAY_OK(world.test_all(ctx, receives, n, over));
        v.expect(ctx, !over && !receives[0].is_null());
        LANEWAY_OK(send(ctx, world, 2));
        while (!over) LANEWAY_OK(world.test_all(ctx, receives, n, over, got));
        v.expect(ctx, words[0] == 10 && words[2] == 12 && got[2].tag == 2 && receives[0].is_null());
    }
    template <class Ctx, class World>
    LANEWAY_FN status send(Ctx& ctx, World& world, std::uint64_t tag) const {
        const std::uint64_t value = 10 + tag;
        return world.send(ctx, &value, 1, ctx.pe(), static_cast<std::int64_t>(tag));
    }
};

LANEWAY_CASE(NullRequestsArePassedOver, null_requests)
LANEWAY_CASE(ReceivesAreTakenBack, taken_back)
LANEWAY_CASE(SomeOfSeveralAreOver, some_of_several)

/// With as many receives as there are requests, each can be taken back.
struct all_taken_back {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        message_request all[32];
        std::uint64_t words[32];
        for (int i = 0; i < 32; ++i) LANEWAY_OK(world.irecv(ctx, words + i, 1, ctx.pe(), i, all[i]));
        bool found = true;
        message_status got;
        LANEWAY_OK(world.iprobe(ctx, v.any_but(0), v.any_tag_but(0), found, got));
        v.expect(ctx, !found);
        for (int i = 0; i < 32; ++i) LANEWAY_OK(world.cancel(ctx, all[i]));
        for (int i = 0; i < 32; ++i) {
            LANEWAY_OK(world.wait(ctx, all[i], &got));
            v.expect(ctx, got.cancelled);
        }
    }
};

TEST_P(communicator_cases, ReceivesAreTakenBackWithoutARequest) {
    run_case<all_taken_back>(GetParam(), {.requests = 32});
}

/// Lanes of each PE send long and short messages to the next one, each under tags of its own, through rings of one slot
/// and with too few requests for all of them at once: they wait for each other's.
struct many_lanes_few_requests {
    static constexpr std::uint64_t lanes = 7, words = 40;
    case_view v;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t me = ctx.local_rank();
        if (me >= lanes) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        const auto tag = static_cast<std::int64_t>(me);
        for (std::uint64_t round = 0; round < 2; ++round) {
            message_request receive, send, shorts[3];
            v.write(ctx, me * words, words, round);
            LANEWAY_OK(world.irecv(ctx, v.to[me * words], words, before, tag, receive));
            LANEWAY_OK(world.isend(ctx, v.from[me * words], words, next, tag, send));
            LANEWAY_OK(world.wait(ctx, send));
            std::uint64_t sent[3], got = 0;
            for (std::uint64_t i = 0; i < 3; ++i) {
                sent[i] = round << 8 | i;
                LANEWAY_OK(world.isend(ctx, sent + i, 1, next, 100 + tag, shorts[i]));
            }
            LANEWAY_OK(world.wait(ctx, receive));
            v.expect_words(ctx, me * words, words, static_cast<unsigned>(before), round);
            LANEWAY_OK(world.wait_all(ctx, shorts, 3));
            for (std::uint64_t i = 0; i < 3; ++i) {
                LANEWAY_OK(world.recv(ctx, &got, 1, before, 100 + tag));
                v.expect(ctx, got == sent[i]);
            }
        }
    }
};

TEST_P(communicator_cases, LanesWaitForRequests) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto from = rt.allocate<std::uint64_t>(512), to = rt.allocate<std::uint64_t>(512);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        auto world = rt.communicator(
            {.requests = 32, .unexpected = 64, .ring_slots = 1, .eager_bytes = 64, .host_operations = 1});
        rt.run(many_lanes_few_requests{{from.ref(), to.ref(), wrong.ref()}}, world);
        for (int pe = 0; pe < rt.n_pes(); ++pe) ASSERT_EQ(wrong.copy_out(pe)[0], 0u) << "PE " << pe;
        EXPECT_TRUE(world.pending().empty()) << world.account();
    });
}

/// A further engine takes room for receives of all requests, and no more: chains of keys, which it would have most of,
/// are shared out like the receives.
TEST(communicator_memory, OfFurtherEnginesIsThatOfTheirEntries) {
    options o;
    o.devices = "checked:1";
    runtime rt(o);
    communicator_options how;
    how.requests = 16384;
    how.unexpected = 32;
    how.ring_slots = 4;
    how.eager_bytes = 64;
    how.rules = {.no_any_source = true, .no_any_tag = true};
    for (const bool unordered : {false, true}) {
        how.rules.allow_overtaking = unordered;
        const auto held_by = [&](std::uint32_t engines) {
            how.engines = engines;
            return rt.communicator(how).held_bytes(0);
        };
        const std::uint64_t of_one = held_by(1), of_many = held_by(64);
        const std::uint64_t a_receive = (of_many - of_one) / 63 / how.requests;
        EXPECT_LE(a_receive, unordered ? 48u : 92u);
    }
}

}  // namespace
}  // namespace laneway::test
