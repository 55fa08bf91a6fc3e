// Probes for two-sided messages: matched ones, and those where no more messages may wait.
#pragma once

#include "communicator_case.hpp"

namespace laneway::test {
namespace {

/// As mprobe: a message that has been matched is nobody else's, and is received later, of whatever form.
struct matched_probes {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        constexpr std::uint32_t n = 4;
        const int me = ctx.pe(), next = (me + 1) % ctx.n_pes(), before = (me + ctx.n_pes() - 1) % ctx.n_pes();
        message_request sends[n], messages[n];
        message_status what, got;
        bool found = true;
        LANEWAY_OK(world.improbe(ctx, me, 77, found, messages[0], what));
        v.expect(ctx, !found && messages[0].is_null());
        for (std::uint32_t i = 0; i < n; ++i) {
            v.write(ctx, i * room / 8, length(i), i);
            LANEWAY_OK(world.isend(ctx, v.from[i * room / 8], length(i), next, 5 + i / 2, sends[i]));
        }
        for (std::uint32_t i = 0; i < n; ++i) {  // the first of two under one tag
            LANEWAY_OK(world.mprobe(ctx, before, 5 + i / 2, messages[i], what));
            const bool known = what.bytes == length(i) * 8 || v.rules.allow_overtaking;
            v.expect(ctx, known && what.tag == 5 + i / 2 && what.source == static_cast<unsigned>(before));
        }
        LANEWAY_OK(world.iprobe(ctx, before, 5, found, what));
        v.expect(ctx, !found);
        LANEWAY_OK(world.imrecv(ctx, v.to[0], room / 8, messages[0]));
        for (std::uint32_t i = n; i-- > 1;) {
            LANEWAY_OK(world.mrecv(ctx, v.to[i * room / 8], room / 8, messages[i], &got));
            v.expect(ctx, got.tag == 5 + i / 2);
            if (!v.rules.allow_overtaking)
                v.expect_words(ctx, i * room / 8, length(i), static_cast<unsigned>(before), i);
        }
        LANEWAY_OK(world.wait(ctx, messages[0], &got));
        LANEWAY_OK(world.wait_all(ctx, sends, n));
        std::uint64_t a = 4, b = 0;  // into a lane's own variable
        LANEWAY_OK(world.issend(ctx, &a, 1, me, 9, sends[0]));
        LANEWAY_OK(world.mprobe(ctx, me, 9, messages[0], what));
        LANEWAY_OK(world.test(ctx, sends[0], found));
        v.expect(ctx, !found);
        LANEWAY_OK(world.mrecv(ctx, &b, 1, messages[0]));
        LANEWAY_OK(world.wait(ctx, sends[0]));
        LANEWAY_OK(world.mprobe(ctx, proc_null, 9, messages[1], what));
        LANEWAY_OK(world.mrecv(ctx, &b, 1, messages[1], &got));
        v.expect(ctx, b == 4 && what.source == proc_null && got.source == proc_null && got.bytes == 0);
    }
    static LANEWAY_FN std::uint64_t length(std::uint32_t i) { return std::uint64_t{3} << 2 * i; }
};

LANEWAY_CASE(MatchedProbesTakeMessagesOut, matched_probes)

/// A probe finds a message that may not come in, as no more may wait; not if a receive is there for it.
struct probed_beyond_the_bound {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        std::uint64_t first = 1, second = 2, third = 3, got = 0;
        bool found = true;
        message_request sent[3], receive;
        message_status seen;
        LANEWAY_OK(world.isend(ctx, &first, 1, next, 1, sent[0]));
        LANEWAY_OK(world.isend(ctx, &second, 1, next, 2, sent[1]));
        LANEWAY_OK(world.isend(ctx, &third, 1, next, 3, sent[2]));
        LANEWAY_OK(world.probe(ctx, v.any_but(before), 2, seen));
        v.expect(ctx, seen.tag == 2 && seen.bytes == 8);
        LANEWAY_OK(world.irecv(ctx, &got, 1, v.any_but(before), 2, receive));
        LANEWAY_OK(world.iprobe(ctx, before, 2, found, seen));
        v.expect(ctx, !found);
        LANEWAY_OK(world.wait(ctx, receive));
        v.expect(ctx, got == 2);
        message_request message;
        LANEWAY_OK(world.mprobe(ctx, v.any_but(before), 3, message, seen));
        LANEWAY_OK(world.mrecv(ctx, &got, 1, message));
        v.expect(ctx, got == 3);
        LANEWAY_OK(world.recv(ctx, &got, 1, v.any_but(before), 1));
        v.expect(ctx, got == 1);
        LANEWAY_OK(world.wait_all(ctx, sent, 3));
    }
};

TEST_P(communicator_cases, AProbeFindsWhatMayNotComeIn) {
    run_case<probed_beyond_the_bound>(GetParam(), {.unexpected = 1});
}

/// A message that comes while a probe looks, where no more may wait, is the receive's that was posted before the probe.
struct probed_as_it_comes {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        constexpr std::uint64_t rounds = 12;
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        std::uint64_t first = 7, got = 0;
        LANEWAY_OK(world.send(ctx, &first, 1, next, 1));  // the one that may wait
        for (std::uint64_t round = 0; round < rounds; ++round) {
            const auto tag = static_cast<std::int64_t>(2 + round);
            message_request receive, sent, message;
            message_status seen;
            bool over = false, found = false;
            LANEWAY_OK(world.irecv(ctx, &got, 1, before, tag, receive));
            LANEWAY_OK(world.isend(ctx, &round, 1, next, tag, sent));
            while (!over) {
                LANEWAY_OK(round % 2 == 0 ? world.iprobe(ctx, before, tag, found, seen)
                                          : world.improbe(ctx, before, tag, found, message, seen));
                v.expect(ctx, !found);
                if (!message.is_null()) LANEWAY_OK(world.mrecv(ctx, &got, 1, message));
                if (found) LANEWAY_OK(world.cancel(ctx, receive));
                LANEWAY_OK(world.test(ctx, receive, over));
            }
            v.expect(ctx, got == round);
            LANEWAY_OK(world.wait(ctx, sent));
        }
        LANEWAY_OK(world.recv(ctx, &got, 1, before, 1));
        v.expect(ctx, got == first);
    }
};

TEST_P(communicator_cases, AProbeTakesNothingFromAnEarlierReceive) {
    run_case<probed_as_it_comes>(GetParam(), {.unexpected = 1});
}

/// What a probe has found beyond the bound is found again when a receive has made room, before it has come in.
struct probed_again_as_there_is_room {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        for (std::uint64_t round = 0; round < 12; ++round) {
            std::uint64_t got[2];
            message_request sent[2], receive;
            message_status seen;
            for (std::int64_t tag = 0; tag < 2; ++tag) {
                LANEWAY_OK(world.isend(ctx, &round, 1, next, tag, sent[tag]));
            }
            LANEWAY_OK(world.probe(ctx, before, 1, seen));
            bool found = false;
            LANEWAY_OK(world.irecv(ctx, got, 1, before, 0, receive));
            if (round % 2 == 0) {
                LANEWAY_OK(world.iprobe(ctx, before, 1, found, seen));
                LANEWAY_OK(world.recv(ctx, got + 1, 1, before, 1));
            } else {
                message_request message;
                LANEWAY_OK(world.improbe(ctx, before, 1, found, message, seen));
                if (found) LANEWAY_OK(world.mrecv(ctx, got + 1, 1, message));
            }
            v.expect(ctx, found);
            LANEWAY_OK(world.wait(ctx, receive));
            v.expect(ctx, got[0] == round && got[1] == round);
            LANEWAY_OK(world.wait_all(ctx, sent, 2));
        }
    }
};

TEST_P(communicator_cases, AProbeFindsAgainWhatItHasFound) {
    run_case<probed_again_as_there_is_room>(GetParam(), {.unexpected = 1});
}

/// Where no more may wait, a probe first lets in what earlier receives await, and in its order, though others of
/// another rank wait beside it.
struct awaited_before_a_probe {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        constexpr std::uint32_t n = 40, ahead = 3;
        const int last = ctx.n_pes() - 1;
        if (ctx.pe() == 0) {
            for (std::uint64_t i = 0; i <= ahead; ++i) LANEWAY_OK(world.send(ctx, &i, 1, last, i == ahead ? 2 : 1));
        }
        if (ctx.pe() != last) return;
        std::uint64_t got[n] = {};
        message_request receives[n];
        LANEWAY_OK(world.recv(ctx, got, 1, 0, 2));  // one of those before it has come in, the others stay in their ring
        for (std::uint64_t i = 0; i < n; ++i) LANEWAY_OK(world.send(ctx, &i, 1, last, 3));
        for (std::uint32_t i = 0; i < n; ++i) LANEWAY_OK(world.irecv(ctx, got + i, 1, last, 3, receives[i]));
        bool found = true;
        message_status what;
        LANEWAY_OK(world.iprobe(ctx, last, 3, found, what));
        v.expect(ctx, !found);
        LANEWAY_OK(world.wait_all(ctx, receives, n));
        for (std::uint32_t i = 0; i < n; ++i) v.expect(ctx, got[i] == i);
        for (std::uint64_t i = 0; i < ahead; ++i) {
            LANEWAY_OK(world.recv(ctx, got, 1, 0, 1));
            v.expect(ctx, got[0] == i);
        }
    }
};

TEST_P(communicator_cases, WhatIsAwaitedComesInBeforeAProbeInItsOrder) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        auto world = rt.communicator({.requests = 64, .unexpected = 1, .ring_slots = 64});
        rt.run(on_first<awaited_before_a_probe>{{wrong.ref(), wrong.ref(), wrong.ref()}}, world);
        EXPECT_EQ(wrong.copy_out(rt.n_pes() - 1)[0], 0u);
        EXPECT_TRUE(world.pending().empty()) << world.account();
    });
}

}  // namespace
}  // namespace laneway::test
