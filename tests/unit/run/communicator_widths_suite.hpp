// Messages of whole warps and blocks, of all lanes at once, from run to run, and in several communicators.
#pragma once

#include "communicator_job.hpp"

namespace laneway::test {
namespace {

class communicator_widths : public testing::TestWithParam<std::string> {};

/// Each warp, or block, writes a buffer together, sends it on and checks together what it has received.
struct exchange_together {
    symmetric_ref<std::uint64_t> from, to, wrong;
    std::uint64_t room;  ///< words of each warp or block
    width lanes;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const int number = lanes == width::block ? ctx.block() : ctx.block() * ctx.n_warps() + ctx.warp();
        const auto group = static_cast<std::uint64_t>(number);
        const copy_share mine = world.share(ctx, lanes);
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        for (std::uint64_t round = 0; round < 4; ++round) {
            const std::uint64_t words = round == 0 ? 3 : round == 1 ? 12 : room;
            for (std::uint64_t i = mine.first; i < words; i += mine.step) {
                from.local(ctx)[group * room + i] = value(ctx.pe(), group, round, i);
            }
            message_request receive, send;
            message_status got;
            if (world.irecv(ctx, to[group * room], room, before, number, receive, lanes) != status::ok) return;
            if (world.isend(ctx, from[group * room], words, next, number, send, lanes) != status::ok) return;
            if (world.wait(ctx, receive, &got, lanes) != status::ok) return;
            bool right = got.bytes == words * 8 && got.tag == group && got.source == static_cast<unsigned>(before);
            for (std::uint64_t i = 0; i < words; ++i) {  // all of them see all of it
                const std::uint64_t found = to.local(ctx)[group * room + i];
                right = right && found == value(before, group, round, i);
            }
            if (!right) atomic_add(ctx, wrong[0], 1);
            if (world.wait(ctx, send, nullptr, lanes) != status::ok) return;
        }
    }
    static LANEWAY_FN std::uint64_t value(int pe, std::uint64_t group, std::uint64_t round, std::uint64_t at) {
        return static_cast<std::uint64_t>(pe) << 48 | group << 32 | round << 24 | at;
    }
};

TEST_P(communicator_widths, WarpsAndBlocksShareABuffer) {
    for (const width lanes : {width::warp, width::block}) {
        every_fourth_round(GetParam(), [lanes](const options& o) {
            runtime rt(o);
            constexpr std::uint64_t room = 200, groups = 512;
            const auto from = rt.allocate<std::uint64_t>(groups * room), to = rt.allocate<std::uint64_t>(groups * room);
            const auto wrong = rt.allocate<std::uint64_t>(1);
            auto world = rt.communicator(small_options(o));
            rt.run(exchange_together{from.ref(), to.ref(), wrong.ref(), room, lanes}, world);
            for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
            EXPECT_TRUE(world.pending().empty()) << world.account();
        });
    }
}

/// Warps, or blocks, look, probe, take back and complete together: all of them hear the same.
struct complete_together {
    symmetric_ref<std::uint64_t> from, to, wrong;
    std::uint64_t room;
    width lanes;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const int number = lanes == width::block ? ctx.block() : ctx.block() * ctx.n_warps() + ctx.warp();
        const auto first = static_cast<std::uint64_t>(number) * room;  // of what it sends; it receives thrice that
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        const std::int64_t tag = 4 * std::int64_t{number};
        bool right = true, found = false, over = false;
        message_status what;
        message_request sends[2], receives[3];
        if (world.share(ctx, lanes).first == 0) from.local(ctx)[first] = word(ctx.pe(), number);
        if (world.issend(ctx, from[first], 1, next, tag, sends[0], lanes) != status::ok) return;
        if (world.issend(ctx, from[first], room, next, tag + 1, sends[1], lanes) != status::ok) return;
        if (world.test_all(ctx, sends, 2, over, nullptr, lanes) != status::ok) return;
        if (world.probe(ctx, before, tag, what, lanes) != status::ok) return;
        right = right && what.bytes == 8 && what.tag == static_cast<unsigned>(tag);
        if (world.iprobe(ctx, before, tag, found, what = {}, lanes) != status::ok) return;
        right = right && found && what.bytes == 8;
        for (std::uint32_t i = 0; i < 3; ++i) {
            const std::int64_t wanted = tag + (i + 2) % 3;  // first the one that nobody sends
            if (world.irecv(ctx, to[3 * first + i * room], room, before, wanted, receives[i], lanes) != status::ok)
                return;
        }
        if (world.cancel(ctx, receives[0], lanes) != status::ok) return;
        if (world.wait(ctx, receives[0], &what, lanes) != status::ok) return;
        right = right && what.cancelled;
        receives[0] = {};
        std::uint32_t seen = 0, n_over = 0, indices[3] = {};
        message_status got[3];
        while (seen != 6) {
            if (world.wait_some(ctx, receives, 3, n_over, indices, got, lanes) != status::ok) return;
            right = right && n_over > 0;
            for (std::uint32_t i = 0; i < n_over; ++i) {
                right = right && got[i].tag == static_cast<unsigned>(tag + (indices[i] + 2) % 3);
                seen |= 1u << indices[i];
            }
        }
        for (std::uint64_t i = 1; i < 3; ++i) {
            const std::uint64_t came = to.local(ctx)[3 * first + i * room];
            right = right && came == word(before, number);
        }
        for (over = false; !over;) {
            if (world.test_all(ctx, sends, 2, over, nullptr, lanes) != status::ok) return;
        }
        std::uint32_t which = 0;
        if (world.wait_any(ctx, sends, 2, which, nullptr, lanes) != status::ok) return;
        if (world.test(ctx, sends[0], found = false, nullptr, lanes) != status::ok) return;
        if (!right || which != 2 || !found) atomic_add(ctx, wrong[0], 1);
    }
    static LANEWAY_FN std::uint64_t word(int pe, int number) {
        return static_cast<std::uint64_t>(pe) << 32 | static_cast<std::uint64_t>(number + 1);
    }
};

TEST_P(communicator_widths, WarpsAndBlocksCompleteTogether) {
    for (const width lanes : {width::warp, width::block}) {
        every_fourth_round(GetParam(), [lanes](const options& o) {
            runtime rt(o);
            constexpr std::uint64_t room = 100, groups = 512;
            const auto from = rt.allocate<std::uint64_t>(groups * room),
                       to = rt.allocate<std::uint64_t>(3 * groups * room);
            const auto wrong = rt.allocate<std::uint64_t>(1);
            communicator_options how = small_options(o);
            how.unexpected = 1024;  // all groups send before one receives
            how.rules = rules_of(o);
            auto world = rt.communicator(how);
            rt.run(complete_together{from.ref(), to.ref(), wrong.ref(), room, lanes}, world);
            for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
            EXPECT_TRUE(world.pending().empty()) << world.account();
        });
    }
}

/// Every lane sends to every PE, and receives as many, from any source where it may; half of the lanes in a branch.
struct all_lanes_at_once {
    symmetric_ref<std::uint64_t> sums;
    bool from_any;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.lane() % 2 == 0) {
            talk(ctx, world, 1);
        } else {
            talk(ctx, world, 2);
        }
    }
    template <class Ctx, class World>
    LANEWAY_FN void talk(Ctx& ctx, World& world, std::int64_t tag) const {
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            const std::uint64_t value = ctx.rank() + 1;
            if (world.send(ctx, &value, 1, pe, tag) != status::ok) return;
        }
        for (int i = 0; i < ctx.n_pes(); ++i) {
            std::uint64_t got = 0;
            const std::int64_t source = from_any ? std::int64_t{any_source} : i;
            if (world.recv(ctx, &got, 1, source, tag) != status::ok) return;
            atomic_add(ctx, sums[0], got);
        }
        if (ctx.rank() == 0) atomic_add(ctx, sums[1], ctx.size());
    }
};

TEST_P(communicator_widths, AllLanesSendToAllPes) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto sums = rt.allocate<std::uint64_t>(2);
        communicator_options how = small_options(o);
        how.unexpected = 1024;  // what all lanes may leave before one receives
        how.rules = rules_of(o);
        auto world = rt.communicator(how);
        rt.run(all_lanes_at_once{sums.ref(), !how.rules.no_any_source}, world);
        const std::uint64_t lanes = sums.copy_out(0)[1];
        std::uint64_t all = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) all += sums.copy_out(pe)[0];
        EXPECT_EQ(all, lanes * (lanes + 1) / 2 * static_cast<unsigned>(rt.n_pes()));
    });
}

/// Every lane exchanges with its mate on each PE, under a tag of its own; engines share the tags.
struct lanes_with_tags {
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t mine = ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes()));
        for (int i = 0; i < 2 * ctx.n_pes(); ++i) {
            const int to = (ctx.pe() + i) % ctx.n_pes(), from = (ctx.pe() + 2 * ctx.n_pes() - i) % ctx.n_pes();
            const std::uint64_t sent = ctx.rank() * 100 + static_cast<unsigned>(i);
            std::uint64_t got = 0;
            const auto tag = static_cast<std::int64_t>(mine);
            if (world.sendrecv(ctx, &sent, 1, to, tag, &got, 1, from, tag) != status::ok) return;
            const std::uint64_t mate =
                ctx.size() / static_cast<unsigned>(ctx.n_pes()) * static_cast<unsigned>(from) + mine;
            if (got != mate * 100 + static_cast<unsigned>(i)) atomic_add(ctx, wrong[0], 1);
        }
    }
};

TEST_P(communicator_widths, EnginesShareTheTags) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how = small_options(o);
        how.rules = rules_of(o);
        how.rules.no_any_source = true;
        how.rules.allow_overtaking = false;  // a lane's mate may be a message ahead
        how.engines = 2u << o.seed % 3;
        how.unexpected = 64;
        auto world = rt.communicator(how);
        rt.run(lanes_with_tags{wrong.ref()}, world);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
    });
}

/// More messages than may wait: their senders wait, and nothing is lost.
struct more_than_may_wait {
    symmetric_ref<std::uint64_t> wrong;
    std::uint32_t n;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes())) != 0) return;
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

TEST_P(communicator_widths, WhatMayNotWaitWaitsWithItsSender) {
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
        if (ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes())) != 0) return;
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

TEST_P(communicator_widths, WhatAReceiveAwaitsComesInBeyondTheBound) {
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
        if (ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes())) != 0) return;
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

TEST_P(communicator_widths, AwaitedMessagesOvertakeThoseThatMayNotComeIn) {
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

/// PE 0 sends in one run, the last rank receives in the next; the other communicator has its own messages.
struct over_two_runs {
    symmetric_ref<std::uint64_t> got;
    bool sends;

    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other& other) const {
        if (ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes())) != 0) return;
        const int last = ctx.n_pes() - 1;
        if (sends && ctx.pe() == 0) {
            const std::uint64_t a = 5, b = 6;
            (void)world.send(ctx, &a, 1, last, 1);
            (void)other.send(ctx, &b, 1, last, 1);
        }
        if (!sends && ctx.pe() == last) {
            (void)other.recv(ctx, got[1], 1, any_source, any_tag);
            (void)world.recv(ctx, got[0], 1, 0, 1);
        }
    }
};

TEST_P(communicator_widths, MessagesWaitFromRunToRun) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto got = rt.allocate<std::uint64_t>(2);
        auto world = rt.communicator(small_options(o)), other = rt.communicator();
        for (int time = 0; time < 3; ++time) {
            rt.run(over_two_runs{got.ref(), true}, world, other);
            ASSERT_EQ(world.pending().size(), 1u);
            EXPECT_EQ(world.pending()[0].text(), "unexpected message of 8 bytes, tag 1 from PE 0");
            rt.run(over_two_runs{got.ref(), false}, world, other);
            EXPECT_EQ(got.copy_out(rt.n_pes() - 1), (std::vector<std::uint64_t>{5, 6}));
            EXPECT_TRUE(world.pending().empty());
        }
        rt.run(over_two_runs{got.ref(), true}, world, other);
        world.clear();
        EXPECT_TRUE(world.pending().empty());
        EXPECT_EQ(other.pending().size(), 1u);
    });
}

/// Payloads of `words` each, numbered; sent in one run, received in another, those sent last first.
struct payloads_over_two_runs {
    symmetric_ref<std::uint64_t> room, wrong;
    std::uint32_t words, count;
    bool sends;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes())) != 0) return;
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

TEST_P(communicator_widths, PayloadsWithoutMemoryKeepTheirSlotsAndNoneIsLost) {
    every_fourth_round(GetParam(), [](const options& o) {
        if (o.seed > 4) return;
        runtime rt(o);
        const auto room = rt.allocate<std::uint64_t>(16), wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how = small_options(o);
        how.unexpected = 64;
        how.unexpected_bytes = 1024;  // one page: eight payloads
        how.eager_bytes = 128;
        how.ring_slots = 16;
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
        const bool mine = ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes())) == 0;
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

TEST_P(communicator_widths, MorePayloadsThanMemoryAndRingHoldWaitWithTheirSender) {
    every_fourth_round(GetParam(), [](const options& o) {
        if (o.seed > 4) return;
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
        if (ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes())) != 0) return;
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

TEST_P(communicator_widths, WithoutAnOrderMessagesComePastSlotsThatAreNotFree) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto room = rt.allocate<std::uint64_t>(15 * 16), wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how = small_options(o);
        how.unexpected = o.seed % 2 == 0 ? 10 : 64;  // no more may wait, or some
        how.unexpected_bytes = 1024;
        how.eager_bytes = 128;
        how.ring_slots = 2;
        how.rules = {.no_any_source = true, .no_any_tag = true, .no_unexpected = false, .allow_overtaking = true};
        auto world = rt.communicator(how);
        for (std::uint32_t by = 0; by < 3; ++by) {
            rt.run(receive_past_kept_slots{room.ref(), wrong.ref(), by}, world);
            EXPECT_EQ(wrong.copy_out(rt.n_pes() - 1)[0], 0u);
            EXPECT_TRUE(world.pending().empty());
        }
        const matching_statistics seen = world.statistics(rt.n_pes() - 1);
        EXPECT_EQ(seen.counts.receives, 3u * 14 + 2);
        EXPECT_EQ(seen.counts.matches, seen.counts.receives);
        EXPECT_GE(seen.counts.looks, seen.counts.matches);
        EXPECT_EQ(seen.posted, 0u);
        EXPECT_EQ(seen.max_posted, 2u);
    });
}

LANEWAY_ON_DEVICES(communicator_widths, communicator_devices());

}  // namespace
}  // namespace laneway::test
