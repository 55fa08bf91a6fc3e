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
        const std::uint64_t mine = ctx.local_rank();
        for (int i = 0; i < 2 * ctx.n_pes(); ++i) {
            const int to = (ctx.pe() + i) % ctx.n_pes(), from = (ctx.pe() + 2 * ctx.n_pes() - i) % ctx.n_pes();
            const std::uint64_t sent = ctx.rank() * 100 + static_cast<unsigned>(i);
            std::uint64_t got = 0;
            const auto tag = static_cast<std::int64_t>(mine);
            if (world.sendrecv(ctx, &sent, 1, to, tag, &got, 1, from, tag) != status::ok) return;
            const std::uint64_t mate = ctx.local_size() * static_cast<unsigned>(from) + mine;
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

/// PE 0 sends in one run, the last rank receives in the next; the other communicator has its own messages.
struct over_two_runs {
    symmetric_ref<std::uint64_t> got;
    bool sends;

    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other& other) const {
        if (ctx.local_rank() != 0) return;
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

LANEWAY_ON_DEVICES(communicator_widths, communicator_devices());

}  // namespace
}  // namespace laneway::test
