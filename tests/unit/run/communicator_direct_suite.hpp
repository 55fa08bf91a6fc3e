// Messages that pass back and forth are received from their rings, by any number of lanes and warps of a PE at once:
// what they ask for is seldom taken by turns of the queues.
#pragma once

#include "communicator_job.hpp"

namespace laneway::test {
namespace {

class communicator_direct : public testing::TestWithParam<std::string> {};

/// How messages pass between the first lanes of warps, or whole warps.
struct passing {
    width by = width::lane;
    std::uint64_t words = 1;
    bool from_any = false;        ///< receives ask for any source
    bool beside_another = false;  ///< of another tag, which waits all the time
};

/// Each passes messages back and forth with its mate on the next PE, or its neighbour, under tags of their own.
struct pass_back_and_forth {
    symmetric_ref<std::uint64_t> from, to, wrong;
    passing how;

    static constexpr std::uint64_t rounds = 12, room = 64, most = 128;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t lanes = ctx.local_size();
        const std::uint64_t n = lanes / static_cast<unsigned>(Ctx::warp_lanes);
        const std::uint64_t mine = ctx.local_rank() / static_cast<unsigned>(Ctx::warp_lanes);
        const bool over_pes = (ctx.pe() | 1) < ctx.n_pes();
        const std::uint64_t pair = over_pes ? mine : mine / 2;
        if (pair >= most || (!over_pes && (mine ^ 1) >= n) || (how.by == width::lane && ctx.lane() != 0)) return;
        const bool begins = over_pes ? ctx.pe() % 2 == 0 : mine % 2 == 0;
        const int mate = over_pes ? ctx.pe() ^ 1 : ctx.pe();
        const auto tag = static_cast<std::int64_t>(2 * pair);
        message_request other;
        const std::int64_t unused = 2 * static_cast<std::int64_t>(most + mine);
        if (how.beside_another && world.irecv(ctx, to[mine * room], 1, mate, unused, other, how.by) != status::ok)
            return;
        for (std::uint64_t round = 0; round < 2 * rounds; ++round) {
            const bool sends = (round % 2 == 0) == begins;
            const std::int64_t now = tag + static_cast<std::int64_t>(round % 2);
            if (!(sends ? send(ctx, world, mine, mate, now, round) : receive(ctx, world, mine, mate, now, round)))
                return;
        }
        if (!how.beside_another || world.cancel(ctx, other, how.by) != status::ok) return;
        (void)world.wait(ctx, other, nullptr, how.by);
    }

private:
    template <class Ctx, class World>
    LANEWAY_FN bool send(Ctx& ctx, World& world, std::uint64_t mine, int mate, std::int64_t tag,
                         std::uint64_t round) const {
        const copy_share share = world.share(ctx, how.by);
        for (std::uint64_t i = share.first; i < how.words; i += share.step) {
            from.local(ctx)[mine * room + i] = word(tag, round, i);
        }
        return world.send(ctx, from[mine * room], how.words, mate, tag, how.by) == status::ok;
    }
    template <class Ctx, class World>
    LANEWAY_FN bool receive(Ctx& ctx, World& world, std::uint64_t mine, int mate, std::int64_t tag,
                            std::uint64_t round) const {
        message_status got;
        const std::int64_t source = how.from_any ? std::int64_t{any_source} : mate;
        if (world.recv(ctx, to[mine * room], how.words, source, tag, &got, how.by) != status::ok) return false;
        bool right = got.tag == static_cast<std::uint64_t>(tag) && got.bytes == 8 * how.words &&
                     got.source == static_cast<unsigned>(mate);
        for (std::uint64_t i = 0; i < how.words; ++i) {  // all lanes see all of it
            const std::uint64_t found = to.local(ctx)[mine * room + i];
            right = right && found == word(tag, round, i);
        }
        if (!right) atomic_add(ctx, wrong[0], 1);
        ctx.fence(scope::device);
        return true;
    }
    static LANEWAY_FN std::uint64_t word(std::int64_t tag, std::uint64_t round, std::uint64_t at) {
        return static_cast<std::uint64_t>(tag) << 32 | round << 16 | at;
    }
};

/// Turns in which there was something to do, and messages.
struct passed {
    std::uint64_t turns = 0, messages = 0;
};
passed pass(options o, const passing& how) {
    o.checked_blocks = o.gpu_blocks = 4;
    runtime rt(o);
    const auto from = rt.allocate<std::uint64_t>(2 * pass_back_and_forth::most * pass_back_and_forth::room);
    const auto to = rt.allocate<std::uint64_t>(2 * pass_back_and_forth::most * pass_back_and_forth::room);
    const auto wrong = rt.allocate<std::uint64_t>(1);
    communicator_options c = small_options(o);
    c.ring_slots = 64;
    c.unexpected = 64;
    c.eager_bytes = 256;
    c.ring_looks = 1u << 14;  // until each message has come
    auto world = rt.communicator(c);
    rt.run(pass_back_and_forth{from.ref(), to.ref(), wrong.ref(), how}, world);
    EXPECT_TRUE(world.pending().empty()) << world.account();
    passed all;
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << "PE " << pe;
        all.turns += world.statistics(pe).turns + world.statistics(pe).team_turns;
        all.messages += world.statistics(pe).counts.matches;
    }
    return all;
}

/// Of all rounds of a way of passing.
void expect_few_turns(const std::string& devices, const passing& how) {
    passed all;
    every_fourth_round(devices, [&](const options& o) {
        const passed one = pass(o, how);
        all.turns += one.turns;
        all.messages += one.messages;
    });
    EXPECT_GT(all.messages, 0u);
    EXPECT_LT(4 * all.turns, all.messages);
}

TEST_P(communicator_direct, LanesUnderTagsOfTheirOwnSeldomTakeTurns) { expect_few_turns(GetParam(), {}); }
TEST_P(communicator_direct, WarpsUnderTagsOfTheirOwnSeldomTakeTurns) {
    expect_few_turns(GetParam(), {.by = width::warp});
}
TEST_P(communicator_direct, PayloadsInSlotsAreReceivedFromThere) {
    expect_few_turns(GetParam(), {.words = 8});
    expect_few_turns(GetParam(), {.by = width::warp, .words = 30});
}
TEST_P(communicator_direct, ReceivesFromAnySourceLookAtAllRings) { expect_few_turns(GetParam(), {.from_any = true}); }
TEST_P(communicator_direct, ReceivesThatWaitForOthersLeaveMessagesToLanes) {
    for (const width by : {width::lane, width::warp}) {
        every_fourth_round(GetParam(), [&](const options& o) { (void)pass(o, {.by = by, .beside_another = true}); });
    }
}

/// A receive of any tag waits when a message comes that the lane asks for as well.
struct receive_behind_another {
    symmetric_ref<std::uint64_t> waits, wrong;

    static constexpr std::int64_t tag = 5, unused = 6;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.n_pes() == 1 || ctx.local_rank() != 0) return;
        if (ctx.pe() == 0) receive_both(ctx, world);
        if (ctx.pe() != 1) return;
        const std::uint64_t* const told = address(ctx, waits[0], 1);
        if (wait_until(ctx, {operation::signal, 1, 0},
                       [&] { return ctx.load(told, order::acquire, scope::system) != 0; }) != status::ok)
            return;
        const std::uint64_t first = 1, second = 2;
        if (world.send(ctx, &first, 1, 0, tag) == status::ok) (void)world.send(ctx, &second, 1, 0, tag);
    }

private:
    template <class Ctx, class World>
    LANEWAY_FN void receive_both(Ctx& ctx, World& world) const {
        std::uint64_t first = 0, second = 0;
        message_request earlier;
        if (world.irecv(ctx, &first, 1, 1, any_tag, earlier) != status::ok) return;
        bool any = false;  // when the probe is over the receive has left the queue, and waits in the engine
        message_status what;
        if (world.iprobe(ctx, 1, unused, any, what) != status::ok) return;
        ctx.store(address(ctx, waits[0], 1), std::uint64_t{1}, order::release, scope::system);
        if (world.recv(ctx, &second, 1, 1, tag) != status::ok || world.wait(ctx, earlier) != status::ok) return;
        if (any || first != 1 || second != 2) atomic_add(ctx, wrong[0], 1);
    }
};
TEST_P(communicator_direct, EarlierReceivesThatWaitGetTheirMessages) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto waits = rt.allocate<std::uint64_t>(1), wrong = rt.allocate<std::uint64_t>(1);
        communicator_options c = small_options(o);
        c.ring_slots = 64;
        c.ring_looks = 1u << 12;
        auto world = rt.communicator(c);
        rt.run(receive_behind_another{waits.ref(), wrong.ref()}, world);
        EXPECT_EQ(wrong.copy_out(0)[0], 0u);
    });
}

#if !defined(__CUDACC__)
/// PE 1 has sent many messages, and PE 2 one, when a lane of PE 0 begins to receive from any source. Another warp's
/// lane looks at a ring all the time, so that turns leave messages there, as a rule.
struct receive_from_both {
    symmetric_ref<std::uint64_t> sent, looking, before;

    static constexpr std::uint64_t many = 32;
    static constexpr std::int64_t tag = 0, last_tag = 1;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t lane = ctx.local_rank();
        if (ctx.pe() == 0 && lane == static_cast<unsigned>(Ctx::warp_lanes)) look_on(ctx, world);
        if (lane != 0) return;
        if (ctx.pe() == 0) return receive_all(ctx, world);
        await(ctx, looking);
        for (std::uint64_t i = 0; i < (ctx.pe() == 1 ? many : 1); ++i) (void)world.send(ctx, &i, 1, 0, tag);
        tell(ctx, sent, 0);
    }

private:
    /// A word for each PE.
    static void tell(auto& ctx, const symmetric_ref<std::uint64_t>& words, int to) {
        ctx.store(address(ctx, words[static_cast<std::uint64_t>(ctx.pe())], to), std::uint64_t{1}, order::release,
                  scope::system);
    }
    static void await(auto& ctx, const symmetric_ref<std::uint64_t>& words, std::uint64_t from = 0) {
        (void)wait_until(ctx, {operation::signal, ctx.pe(), from}, [&] {
            return ctx.load(address(ctx, words[from], ctx.pe()), order::acquire, scope::system) != 0;
        });
    }
    static void look_on(auto& ctx, auto& world) {
        std::uint64_t value = 0;
        (void)world.recv(ctx, &value, 1, 0, last_tag);
    }
    void receive_all(auto& ctx, auto& world) const {
        for (int pe = 1; pe < 3; ++pe) tell(ctx, looking, pe);
        for (std::uint64_t pe = 1; pe < 3; ++pe) await(ctx, sent, pe);
        for (std::uint64_t i = 0; i <= many; ++i) {
            std::uint64_t value = 0;
            message_status got;
            if (world.recv(ctx, &value, 1, any_source, tag, &got) != status::ok) break;
            if (got.source == 2) before.local(ctx)[0] = i;
        }
        const std::uint64_t over = 1;
        (void)world.send(ctx, &over, 1, 0, last_tag);
    }
};
TEST(communicator_direct_test, ReceivesFromAnySourceStarveNoRing) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        runtime rt(options_of("checked:3", seed));
        const auto sent = rt.allocate<std::uint64_t>(3), looking = rt.allocate<std::uint64_t>(3);
        const auto before = rt.allocate<std::uint64_t>(1);
        communicator_options c;
        c.ring_slots = 64;
        c.ring_looks = 1u << 14;
        auto world = rt.communicator(c);
        rt.run(receive_from_both{sent.ref(), looking.ref(), before.ref()}, world);
        // Where a turn has come first it has brought in a batch of each ring.
        EXPECT_LT(before.copy_out(0)[0], 3 * receive_from_both::many / 4) << "seed " << seed;
    }
}
/// Ends of rings lie in blocks' shared memory for the first eight PEs alone.
TEST(communicator_direct_test, ManyPesPassMessages) {
    options o = options_of("checked:10", 0);
    for (const bool from_any : {false, true}) {
        const passed all = pass(o, {.from_any = from_any});
        EXPECT_LT(4 * all.turns, all.messages);
    }
}
#endif

/// Threads of CPU devices look once: others need the core.
std::vector<std::string> devices_that_look() {
    std::vector<std::string> lists = communicator_devices();
    std::erase_if(lists, [](const std::string& list) { return list.starts_with("cpu"); });
    return lists;
}
LANEWAY_ON_DEVICES(communicator_direct, devices_that_look());

}  // namespace
}  // namespace laneway::test
