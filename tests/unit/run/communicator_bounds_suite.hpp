// More two-sided messages than may wait, or than their memory holds: what comes in, what overtakes, what waits with its
// sender.
#pragma once

#include "communicator_job.hpp"

namespace laneway::test {
namespace {

class communicator_bounds : public testing::TestWithParam<std::string> {};

/// More messages than may wait: their senders wait, and nothing is lost.
struct more_than_may_wait {
    symmetric_ref<std::uint64_t> wrong;
    std::uint32_t n;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.local_rank() != 0) return;
        const int last = ctx.n_pes() - 1;
        if (ctx.pe() == last) {
            message_request sends[32];
            for (std::uint64_t i = 0; i < n; ++i) {
                if (world.isend(ctx, &i, 1, 0, 3, sends[i]) != status::ok) return;
            }
            if (last != 0) (void)world.wait_all(ctx, sends, n);
            if (last == 0) receive(ctx, world, last);
            if (last == 0) (void)world.wait_all(ctx, sends, n);
        } else if (ctx.pe() == 0) {
            receive(ctx, world, last);
        }
    }
    template <class Ctx, class World>
    LANEWAY_FN void receive(Ctx& ctx, World& world, int last) const {
        for (std::uint64_t i = 0; i < n; ++i) {
            std::uint64_t got = 0;
            if (world.recv(ctx, &got, 1, last, 3) != status::ok) return;
            if (got != i) atomic_add(ctx, wrong[0], 1);
        }
    }
};

TEST_P(communicator_bounds, WhatMayNotWaitWaitsWithItsSender) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how = small_options(o);
        how.unexpected = 1 + static_cast<std::uint32_t>(o.seed % 5);
        how.ring_slots = 1u << o.seed % 2;
        auto world = rt.communicator(how);
        rt.run(more_than_may_wait{wrong.ref(), 30}, world);
        EXPECT_EQ(wrong.copy_out(0)[0], 0u);
        EXPECT_LE(world.statistics(0).max_unexpected, how.unexpected);
    });
}

/// As many messages as may wait, and behind them the one that is received first.
struct receive_the_last_first {
    symmetric_ref<std::uint64_t> wrong;
    std::uint32_t waiting;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.local_rank() != 0) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        for (std::uint64_t i = 0; i <= waiting; ++i) {
            if (world.send(ctx, &i, 1, next, i == waiting ? 2 : 1) != status::ok) return;
        }
        std::uint64_t got = 0;
        if (world.recv(ctx, &got, 1, any_source, 2) != status::ok) return;
        if (got != waiting) atomic_add(ctx, wrong[0], 1);
        for (std::uint64_t i = 0; i < waiting; ++i) {
            if (world.recv(ctx, &got, 1, any_source, any_tag) != status::ok) return;
            if (got != i) atomic_add(ctx, wrong[0], 1);
        }
    }
};

TEST_P(communicator_bounds, WhatAReceiveAwaitsComesInBeyondTheBound) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how = small_options(o);
        how.unexpected = 1 + static_cast<std::uint32_t>(o.seed % 7);
        auto world = rt.communicator(how);
        rt.run(receive_the_last_first{wrong.ref(), how.unexpected}, world);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
    });
}

/// More messages than may wait, and behind them those that are received first: they overtake what is in the ring.
struct receive_from_behind {
    symmetric_ref<std::uint64_t> room, wrong;
    std::uint64_t ahead, wanted, words;
    bool in_order, posts_first;

    static constexpr std::uint64_t most = 47;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.local_rank() != 0) return;
        const int last = ctx.n_pes() - 1;
        message_request sends[most];
        const auto all = static_cast<std::uint32_t>(ahead + wanted);
        if (ctx.pe() == 0) {
            for (std::uint64_t i = 0; i < all; ++i) {
                for (std::uint64_t w = 0; w < words; ++w) room.local(ctx)[i * words + w] = i + w;
                if (world.isend(ctx, room[i * words], words, last, i < ahead ? 1 : 2, sends[i]) != status::ok) return;
            }
        }
        if (ctx.pe() == last && !receive(ctx, world)) return;
        (void)world.wait_all(ctx, sends, all);
    }

private:
    template <class Ctx, class World>
    LANEWAY_FN bool receive(Ctx& ctx, World& world) const {
        constexpr std::uint64_t to = most * 16;
        message_status seen;
        message_request receives[most];
        if (posts_first) {
            for (std::uint64_t i = 0; i < wanted; ++i) {
                if (world.irecv(ctx, room[to + i * words], words, 0, 2, receives[i]) != status::ok) return false;
            }
        } else {
            if (world.probe(ctx, 0, 2, seen) != status::ok) return false;
            if (seen.bytes != words * 8) atomic_add(ctx, wrong[0], 1);
        }
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < ahead + wanted; ++i) {
            const std::uint64_t here = to + i * words;
            const bool posted = posts_first && i < wanted;
            if ((posted ? world.wait(ctx, receives[i]) : world.recv(ctx, room[here], words, 0, i < wanted ? 2 : 1)) !=
                status::ok)
                return false;
            const std::uint64_t first = room.local(ctx)[here], end = room.local(ctx)[here + words - 1];
            if (end != first + words - 1 || (i < wanted) != (first >= ahead)) atomic_add(ctx, wrong[0], 1);
            if (in_order && first != (i < wanted ? ahead + i : i - wanted)) atomic_add(ctx, wrong[0], 1);
            sum += first;
        }
        if (sum != (ahead + wanted) * (ahead + wanted - 1) / 2) atomic_add(ctx, wrong[0], 1);
        return true;
    }
};

TEST_P(communicator_bounds, AwaitedMessagesOvertakeThoseThatMayNotComeIn) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto room = rt.allocate<std::uint64_t>(2 * 47 * 16), wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how = small_options(o);
        how.unexpected = 4;
        how.unexpected_bytes = 1024;
        how.eager_bytes = 128;
        how.ring_slots = o.seed % 2 == 0 ? 8 : 64;
        how.rules = rules_of(o);
        const std::uint64_t wanted = how.rules.is_unordered() ? 40 : 5;  // as many as there are, or as the ring holds
        auto world = rt.communicator(how);
        for (int time = 0; time < (o.seed <= 4 ? 3 : 1); ++time) {
            // Three stay in the ring before those that are wanted.
            rt.run(receive_from_behind{room.ref(), wrong.ref(), 7, wanted, o.seed % 5 == 0 ? 16u : 1u,
                                       !how.rules.is_unordered(), o.seed % 2 == 0},
                   world);
            EXPECT_EQ(wrong.copy_out(rt.n_pes() - 1)[0], 0u);
            EXPECT_TRUE(world.pending().empty());
            EXPECT_LE(world.statistics(rt.n_pes() - 1).max_unexpected, 4u);
        }
    });
}

/// Payloads of `words` each, numbered; sent in one run, received in another, those sent last first.
struct payloads_over_two_runs {
    symmetric_ref<std::uint64_t> room, wrong;
    std::uint32_t words, count;
    bool sends;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.local_rank() != 0) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t number = sends ? i : count - 1 - i;
            const int source = sends ? ctx.pe() : before;
            if (sends) fill(ctx, source, number);
            const status done =
                sends ? world.send(ctx, room[0], words, next, number) : world.recv(ctx, room[0], words, before, number);
            if (done != status::ok) return;
            if (!sends && !is_filled(ctx, source, number)) atomic_add(ctx, wrong[0], 1);
        }
    }

private:
    static LANEWAY_FN std::uint64_t word(int source, std::uint32_t number, std::uint32_t i) {
        return static_cast<std::uint64_t>(source + 1) << 40 | std::uint64_t{number} << 16 | i;
    }
    template <class Ctx>
    LANEWAY_FN void fill(Ctx& ctx, int source, std::uint32_t number) const {
        for (std::uint32_t i = 0; i < words; ++i) room.local(ctx)[i] = word(source, number, i);
    }
    template <class Ctx>
    LANEWAY_FN bool is_filled(Ctx& ctx, int source, std::uint32_t number) const {
        bool right = true;
        for (std::uint32_t i = 0; i < words; ++i) {
            const std::uint64_t found = room.local(ctx)[i];
            right = right && found == word(source, number, i);
        }
        return right;
    }
};

TEST_P(communicator_bounds, PayloadsWithoutMemoryKeepTheirSlotsAndNoneIsLost) {
    every_fourth_round(GetParam(), [](options o) {
        o.checked_warps = 4;
        runtime rt(o);
        const auto room = rt.allocate<std::uint64_t>(16), wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how = small_options(o);
        how.unexpected = 64;
        how.unexpected_bytes = 1024;  // one page: eight payloads
        how.eager_bytes = 128;
        how.ring_slots = 16;
        how.team_load = o.seed % 2;
        auto world = rt.communicator(how);
        payloads_over_two_runs what{room.ref(), wrong.ref(), 16, 20, true};  // 12 in the ring
        for (int time = 0; time < 2; ++time) {
            what.sends = true;
            rt.run(what, world);
            EXPECT_EQ(world.pending().size(), 20u * static_cast<unsigned>(rt.n_pes()));
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                const quota_statistics memory = world.unexpected_memory(pe);
                EXPECT_EQ(memory.allowed_bytes, 1024u);
                EXPECT_EQ(memory.live_allocations(), 8u);
                EXPECT_EQ(memory.refused_requests, 12u * static_cast<unsigned>(time + 1));
            }
            what.sends = false;
            rt.run(what, world);
            EXPECT_TRUE(world.pending().empty());
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
                EXPECT_EQ(world.unexpected_memory(pe).live_allocations(), 0u);
            }
        }
    });
}

/// More than memory and ring hold: the rest waits with the sender.
struct more_payloads_than_fit {
    payloads_over_two_runs what;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const bool mine = ctx.local_rank() == 0;
        if (!mine || (ctx.pe() != 0 && ctx.pe() != ctx.n_pes() - 1)) return;
        constexpr std::uint32_t n = 30;
        const int last = ctx.n_pes() - 1;
        std::uint64_t data[7] = {};
        if (ctx.pe() == 0) {
            for (std::uint64_t i = 0; i < n; ++i) {
                for (std::uint64_t w = 0; w < 16; ++w) what.room.local(ctx)[w] = i * 16 + w;
                if (world.send(ctx, what.room[0], 16, last, 1) != status::ok) return;
            }
            if (last != 0 && world.send(ctx, data, 1, last, 2) != status::ok) return;
        }
        if (ctx.pe() != last || last == 0) return;
        for (std::uint64_t i = 0; i < n; ++i) {
            if (world.recv(ctx, what.room[16], 16, 0, 1) != status::ok) return;
            for (std::uint64_t w = 0; w < 16; ++w) {
                const std::uint64_t found = what.room.local(ctx)[16 + w];
                if (found != i * 16 + w) atomic_add(ctx, what.wrong[0], 1);
            }
        }
        (void)world.recv(ctx, data, 1, 0, 2);
    }
};

TEST_P(communicator_bounds, MorePayloadsThanMemoryAndRingHoldWaitWithTheirSender) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        if (rt.n_pes() == 1) return;
        const auto room = rt.allocate<std::uint64_t>(32), wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how = small_options(o);
        how.unexpected_bytes = 1024;
        how.eager_bytes = 128;
        how.ring_slots = 4;
        auto world = rt.communicator(how);
        rt.run(more_payloads_than_fit{{room.ref(), wrong.ref(), 16, 0, false}}, world);
        const int last = rt.n_pes() - 1;
        EXPECT_EQ(wrong.copy_out(last)[0], 0u);
        EXPECT_TRUE(world.pending().empty());
        EXPECT_LE(world.unexpected_memory(last).peak_bytes, 1024u);
        EXPECT_EQ(world.unexpected_memory(last).live_allocations(), 0u);
    });
}

/// Where payloads wait that find no memory, their slots are not free: messages without an order come past them.
struct receive_past_kept_slots {
    symmetric_ref<std::uint64_t> room, wrong;
    std::uint32_t how;  ///< what is received before its turn: by a receive, or found by a probe, or matched by one

    static constexpr std::uint32_t payloads = 9, all = 14, words = 16;  // eight fit the memory; the ring has two slots

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.local_rank() != 0) return;
        const int last = ctx.n_pes() - 1;
        if (ctx.pe() == last && how == 0 && !meet_two(ctx, world)) return;
        message_request sends[all];
        for (std::uint32_t i = 0; i < all; ++i) {
            if (ctx.pe() == 0) {
                room.local(ctx)[i * words] = i;
                if (world.isend(ctx, room[i * words], length(i), last, i, sends[i]) != status::ok) return;
            }
            if (i < payloads && !is_kept(ctx, world, i)) return;
        }
        // The slot of number 8 is also that of 10 and 12, which wait with the sender until it is received.
        constexpr std::uint32_t in_turn[all] = {11, 13, 8, 12, 10, 9, 0, 1, 2, 3, 4, 5, 6, 7};
        for (std::uint32_t i = 0; ctx.pe() == last && i < all; ++i) {
            if (!receive(ctx, world, in_turn[i], i < 2 ? how : 0)) return;
        }
        (void)world.wait_all(ctx, sends, all);
    }

private:
    static LANEWAY_FN std::uint64_t length(std::uint32_t number) { return number < payloads ? words : 1; }

    /// Payloads come one by one, so that the last one is the one that finds no memory.
    template <class Ctx, class World>
    LANEWAY_FN bool is_kept(Ctx& ctx, World& world, std::uint32_t number) const {
        const int last = ctx.n_pes() - 1;
        const std::int64_t answer = 100 + number;
        message_status seen;
        if (ctx.pe() == last && world.probe(ctx, 0, number, seen) != status::ok) return false;
        if (last == 0) return true;
        if (ctx.pe() == last) return world.send(ctx, &number, 1, 0, answer) == status::ok;
        return ctx.pe() != 0 || world.recv(ctx, &number, 1, last, answer) == status::ok;
    }
    /// Two receives wait when their messages are sent.
    template <class Ctx, class World>
    LANEWAY_FN bool meet_two(Ctx& ctx, World& world) const {
        message_request receives[2];
        std::uint64_t got[2] = {};
        for (std::uint32_t i = 0; i < 2; ++i) {
            if (world.irecv(ctx, got + i, 1, ctx.pe(), all + i, receives[i]) != status::ok) return false;
        }
        for (std::uint64_t i = 0; i < 2; ++i) {
            if (world.send(ctx, &i, 1, ctx.pe(), static_cast<std::int64_t>(all + i)) != status::ok) return false;
        }
        if (world.wait_all(ctx, receives, 2) != status::ok) return false;
        if (got[0] != 0 || got[1] != 1) atomic_add(ctx, wrong[0], 1);
        return true;
    }

    template <class Ctx, class World>
    LANEWAY_FN bool receive(Ctx& ctx, World& world, std::uint32_t number, std::uint32_t by) const {
        message_status seen;
        message_request message;
        if (by == 1 && world.probe(ctx, 0, number, seen) != status::ok) return false;
        if (by == 2 && world.mprobe(ctx, 0, number, message, seen) != status::ok) return false;
        const auto to = room[all * words];
        const status got =
            by == 2 ? world.mrecv(ctx, to, words, message, &seen) : world.recv(ctx, to, words, 0, number, &seen);
        const std::uint64_t found = room.local(ctx)[all * words];
        if (found != number || seen.bytes != length(number) * 8) atomic_add(ctx, wrong[0], 1);
        return got == status::ok;
    }
};

TEST_P(communicator_bounds, WithoutAnOrderMessagesComePastSlotsThatAreNotFree) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto room = rt.allocate<std::uint64_t>(15 * 16), wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how = small_options(o);
        how.unexpected = o.seed % 2 == 0 ? 10 : 64;  // no more may wait, or some
        how.unexpected_bytes = 1024;
        how.eager_bytes = 128;
        how.ring_slots = 2;
        how.rules = {.no_any_source = true, .no_any_tag = true, .no_unexpected = false, .allow_overtaking = true};
        // A communicator each: once a probe has told of a message in a ring, later ones look into rings, and so say
        // no more that a payload is kept.
        for (std::uint32_t by = 0; by < 3; ++by) {
            auto world = rt.communicator(how);
            rt.run(receive_past_kept_slots{room.ref(), wrong.ref(), by}, world);
            EXPECT_EQ(wrong.copy_out(rt.n_pes() - 1)[0], 0u);
            EXPECT_TRUE(world.pending().empty());
            const matching_statistics seen = world.statistics(rt.n_pes() - 1);
            EXPECT_EQ(seen.counts.receives, by == 0 ? 16u : 14u);
            EXPECT_EQ(seen.counts.matches, seen.counts.receives);
            EXPECT_GE(seen.counts.looks, seen.counts.matches);
            // No more is known of the deepest search: for a message that may not come in one looks again and again.
            EXPECT_GT(seen.counts.max_depth(), 0u);
            EXPECT_EQ(seen.posted, 0u);
            if (by == 0) {
                EXPECT_EQ(seen.max_posted, 2u);
            }
            EXPECT_LE(seen.max_posted, 2u);
        }
    });
}

/// Receives that are taken back, one after the other, and one that is not.
struct take_back_and_receive {
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.pe() != 0 || ctx.rank() != 0) return;
        std::uint64_t got = 0;
        message_request receive;
        for (std::uint32_t i = 0; i < 5; ++i) {
            if (world.irecv(ctx, &got, 1, 0, 3, receive) != status::ok || world.cancel(ctx, receive) != status::ok ||
                world.wait(ctx, receive) != status::ok)
                return;
        }
        const std::uint64_t value = 1;
        if (world.irecv(ctx, &got, 1, 0, 3, receive) != status::ok || world.send(ctx, &value, 1, 0, 3) != status::ok ||
            world.wait(ctx, receive) != status::ok)
            return;
    }
};

TEST_P(communicator_bounds, ReceivesThatAreTakenBackDoNotWait) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        communicator_options how = small_options(o);
        how.rules = {.no_any_source = true, .no_any_tag = true, .no_unexpected = false, .allow_overtaking = true};
        auto world = rt.communicator(how);
        rt.run(take_back_and_receive{}, world);
        const matching_statistics seen = world.statistics(0);
        EXPECT_EQ(seen.posted, 0u);
        EXPECT_EQ(seen.max_posted, 1u);
    });
}

LANEWAY_ON_DEVICES(communicator_bounds, communicator_devices());

}  // namespace
}  // namespace laneway::test
