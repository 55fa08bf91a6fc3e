// Messages without an order that lanes send together: they share slots of rings, and none is lost.
#pragma once

#include "communicator_job.hpp"

namespace laneway::test {
namespace {

class communicator_together : public testing::TestWithParam<std::string> {};

constexpr match_rules no_order{.no_any_source = true, .no_any_tag = true, .allow_overtaking = true};

/// Each lane sends its mate on another PE messages of all lengths under one tag, most of them short, and receives as
/// many from a third, in whatever order they come.
struct mixed_lengths {
    symmetric_ref<std::uint8_t> from, to;  ///< `room` bytes a lane
    symmetric_ref<std::uint64_t> wrong;
    std::uint64_t seed;
    std::uint64_t tag_step;  ///< between lanes: those in one ring have neighbouring tags

    static constexpr std::uint64_t room = 2048, most = 64, rounds = 12;  // lanes of a PE that take part

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t mine = ctx.local_rank();
        if (mine >= most) return;
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes()), pe = static_cast<std::uint64_t>(ctx.pe());
        const std::uint64_t step = mine / 2 % pes;  // two neighbours send to one PE, the next two to another
        const std::uint64_t next = (pe + step) % pes, before = (pe + pes - step) % pes;
        const auto tag = static_cast<std::int64_t>(mine * tag_step);
        std::uint64_t due = 0, got = 0;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            if (!exchange(ctx, world, mine, round, static_cast<std::int64_t>(next), static_cast<std::int64_t>(before),
                          tag, got))
                return;
            const std::uint64_t length = length_of(before, mine, round);
            due += digest(length, length == 0 ? 0 : byte_of(before, mine, round, 0));
        }
        if (due != got) atomic_add(ctx, wrong[0], 1);
    }

private:
    static LANEWAY_FN std::uint64_t mixed(std::uint64_t x) {
        x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
        return (x ^ x >> 27) * 0x81dadef4bc2dd44du;
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t length_of(std::uint64_t pe, std::uint64_t lane, std::uint64_t round) const {
        constexpr std::uint64_t lengths[] = {8, 8, 8, 8, 0, 1, 3, 8, 9, 56, 57, 64, 200, 1100, 8, 4};
        return lengths[mixed(seed << 32 ^ pe << 24 ^ lane << 8 ^ round) >> 40 & 15];
    }
    /// The first byte tells the round.
    static LANEWAY_FN std::uint8_t byte_of(std::uint64_t pe, std::uint64_t lane, std::uint64_t round, std::uint64_t i) {
        return static_cast<std::uint8_t>(i == 0 ? round : mixed(pe << 40 ^ lane << 24 ^ round << 12 ^ i) >> 20);
    }
    static LANEWAY_FN std::uint64_t digest(std::uint64_t length, std::uint64_t first) {
        return mixed(length << 8 | first);
    }
    template <class Ctx, class World>
    LANEWAY_FN bool exchange(Ctx& ctx, World& world, std::uint64_t mine, std::uint64_t round, std::int64_t next,
                             std::int64_t before, std::int64_t tag, std::uint64_t& got) const {
        const auto me = static_cast<std::uint64_t>(ctx.pe());
        const std::uint64_t length = length_of(me, mine, round);
        for (std::uint64_t i = 0; i < length; ++i) from.local(ctx)[mine * room + i] = byte_of(me, mine, round, i);
        message_request receive, sent;
        message_status what;
        if (world.irecv(ctx, to[mine * room], room, before, tag, receive) != status::ok) return false;
        if (world.isend(ctx, from[mine * room], length, next, tag, sent) != status::ok) return false;
        if (world.wait(ctx, receive, &what) != status::ok || world.wait(ctx, sent) != status::ok) return false;
        const std::uint64_t first = what.bytes == 0 ? 0 : std::uint64_t{to.local(ctx)[mine * room]};
        const auto source = static_cast<std::uint64_t>(before);
        bool right = what.source == source && what.tag == static_cast<std::uint64_t>(tag) && what.bytes <= room;
        for (std::uint64_t i = 0; right && i < what.bytes; ++i) {
            const std::uint8_t byte = to.local(ctx)[mine * room + i];
            right = byte == byte_of(source, mine, first, i);
        }
        if (!right) atomic_add(ctx, wrong[0], 1);
        got += digest(what.bytes, first);
        return true;
    }
};

TEST_P(communicator_together, MixedLengthsToSeveralPesAreAllReceived) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto from = rt.allocate<std::uint8_t>(mixed_lengths::most * mixed_lengths::room);
        const auto to = rt.allocate<std::uint8_t>(mixed_lengths::most * mixed_lengths::room);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how = small_options(o);
        how.requests = std::max(how.requests, 512u);
        how.rules = no_order;
        how.engines = 1u << o.seed % 3;
        how.unexpected_bytes = o.seed % 2 == 0 ? how.unexpected_bytes : 1024;
        constexpr std::uint64_t steps[] = {1, 2, neighbouring_tags};
        auto world = rt.communicator(how);
        rt.run(mixed_lengths{from.ref(), to.ref(), wrong.ref(), o.seed, steps[o.seed / 3 % 3]}, world);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << "PE " << pe;
            const communicator_statistics seen = world.statistics(pe);
            EXPECT_EQ(seen.counts.matches, seen.counts.receives);
            EXPECT_LE(seen.slots, seen.counts.matches);
        }
        EXPECT_TRUE(world.pending().empty()) << world.account();
    });
}

/// Whole warps send words, all lanes to one PE, and receive them when all have been sent.
struct words_of_warps {
    symmetric_ref<std::uint64_t> wrong;
    std::int64_t tag_step;
    static constexpr std::uint32_t count = 8;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t mine = ctx.local_rank();
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        const std::int64_t tag = static_cast<std::int64_t>(mine) * tag_step;
        std::uint64_t due = 0, sum = 0;
        for (std::uint64_t i = 1; i <= count; ++i) {
            const std::uint64_t word = mine << 8 | i;
            ctx.sync(full_warp<Ctx>);
            if (world.send(ctx, &word, 1, next, tag) != status::ok) return;
            due += word;
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            std::uint64_t word = 0;
            if (world.recv(ctx, &word, 1, before, tag) != status::ok) return;
            sum += word;
        }
        if (sum != due) atomic_add(ctx, wrong[0], 1);
    }
};

TEST_P(communicator_together, ShortMessagesOfAWarpTakeOneSlot) {
    std::uint64_t slots = 0, messages = 0;
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        for (const bool ordered : {false, true}) {
            communicator_options how;
            how.requests = 16384;
            how.ring_slots = o.seed % 3 == 0 ? 2 : 1024;  // lanes wait for a slot, and share it then
            how.unexpected = 1u << 17;
            how.eager_bytes = 64u << o.seed % 4;  // slots of five messages or more, of a checked warp of four lanes
            how.rules = no_order;
            how.rules.allow_overtaking = !ordered;
            auto world = rt.communicator(how);
            rt.run(words_of_warps{wrong.ref(), o.seed % 2 == 0 ? 1 : 7}, world);
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << "PE " << pe;
                const communicator_statistics seen = world.statistics(pe);
                if (ordered) {
                    EXPECT_EQ(seen.slots, seen.counts.messages);
                } else {
                    slots += seen.slots;
                    messages += seen.counts.messages;
                }
            }
            EXPECT_TRUE(world.pending().empty()) << world.account();
        }
    });
    // Lanes of a CPU device are warps of their own; on checked devices any of those that could have come together do.
    // On GPUs nothing is promised either, but lanes that have just met are mostly still together.
    if (GetParam().starts_with("cpu")) {
        EXPECT_EQ(slots, messages);
    } else if (is_checked(GetParam())) {
        EXPECT_LE(3 * slots, 2 * messages);
    } else {
        EXPECT_LE(2 * slots, messages);  // 3.4 to 3.9 share one on H200s, where rings of two slots part some
    }
}

/// Rings of one slot are nearly always full. Calls that block wait there together, so lanes share what becomes free.
TEST_P(communicator_together, LanesThatBlockShareSlotsOfFullRings) {
    std::uint64_t slots = 0, messages = 0;
    every_fourth_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how;
        how.requests = 16384;
        how.ring_slots = 1;
        how.unexpected = 1u << 17;
        how.rules = no_order;
        auto world = rt.communicator(how);
        rt.run(words_of_warps{wrong.ref(), 1}, world);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << "PE " << pe;
            slots += world.statistics(pe).slots;
            messages += world.statistics(pe).counts.messages;
        }
    });
    if (GetParam().starts_with("cpu")) {
        EXPECT_EQ(slots, messages);
    } else {
        EXPECT_LE(3 * slots, 2 * messages);
    }
}

/// A warp sends to a ring that is full, until the receiver has word, by another communicator, from those of its lanes
/// that do not wait.
struct words_that_wait_and_not {
    symmetric_ref<std::uint64_t> wrong;
    static constexpr std::uint32_t ahead = 3;  // one waits there, one in the ring, one with its sender
    static constexpr std::int64_t ahead_tag = 99;

    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other& other) const {
        const std::uint64_t mine = ctx.local_rank();
        if (mine < Ctx::warp_lanes && ctx.pe() == 0) send(ctx, world, other, mine);
        if (mine == 0 && ctx.pe() == ctx.n_pes() - 1) receive(ctx, world, other);
    }

private:
    template <class Ctx, class World, class Other>
    LANEWAY_FN void send(Ctx& ctx, World& world, Other& other, std::uint64_t mine) const {
        const int to = ctx.n_pes() - 1;
        const auto tag = static_cast<std::int64_t>(mine);
        message_request first[ahead], sent;
        for (std::uint32_t i = 0; mine == 0 && i < ahead; ++i) {
            if (world.isend(ctx, &mine, 1, to, ahead_tag, first[i]) != status::ok) return;
        }
        ctx.sync(full_warp<Ctx>);
        if (mine % 2 == 0) {
            (void)world.send(ctx, &mine, 1, to, tag);
        } else if (world.isend(ctx, &mine, 1, to, tag, sent) == status::ok) {
            (void)other.send(ctx, &mine, 1, to, tag);
            (void)world.wait(ctx, sent);
        }
        if (mine == 0) (void)world.wait_all(ctx, first, ahead);
    }
    template <class Ctx, class World, class Other>
    LANEWAY_FN void receive(Ctx& ctx, World& world, Other& other) const {
        std::uint64_t word = 0;
        for (std::int64_t lane = 1; lane < Ctx::warp_lanes; lane += 2) {
            if (other.recv(ctx, &word, 1, 0, lane) != status::ok) return;
        }
        for (std::uint32_t i = 0; i < ahead; ++i) {
            if (world.recv(ctx, &word, 1, 0, ahead_tag) != status::ok) return;
        }
        // In whatever order lanes have sent: what waits with its sender does not come in before what is ahead of it.
        std::uint64_t words[Ctx::warp_lanes];
        message_request receives[Ctx::warp_lanes];
        for (int lane = 0; lane < Ctx::warp_lanes; ++lane) {
            if (world.irecv(ctx, words + lane, 1, 0, lane, receives[lane]) != status::ok) return;
        }
        if (world.wait_all(ctx, receives, Ctx::warp_lanes) != status::ok) return;
        for (int lane = 0; lane < Ctx::warp_lanes; ++lane) {
            if (words[lane] != static_cast<std::uint64_t>(lane)) atomic_add(ctx, wrong[0], 1);
        }
    }
};

TEST_P(communicator_together, LanesThatDoNotWaitReturnBesideThoseThatDo) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        if (rt.n_pes() == 1) return;
        const auto wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how = small_options(o);
        how.ring_slots = 1;
        how.unexpected = 1;
        how.rules = no_order;
        auto world = rt.communicator(how);
        communicator_options of_words = small_options(o);
        of_words.unexpected = std::max(of_words.unexpected, 16u);  // half a GPU's warp has word at once
        auto other = rt.communicator(of_words);
        rt.run(words_that_wait_and_not{wrong.ref()}, world, other);
        EXPECT_EQ(wrong.copy_out(rt.n_pes() - 1)[0], 0u);
        EXPECT_TRUE(world.pending().empty()) << world.account();
    });
}

/// A warp of each PE sends words to the next one, where one lane receives them, the last first.
struct words_last_first {
    symmetric_ref<std::uint64_t> wrong;
    static constexpr std::uint64_t count = 3;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        constexpr std::uint64_t lanes = Ctx::warp_lanes;
        const std::uint64_t mine = ctx.local_rank();
        if (mine >= lanes) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        message_request sent[count];
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t word = i * lanes + mine;
            if (world.isend(ctx, &word, 1, next, static_cast<std::int64_t>(word), sent[i]) != status::ok) return;
        }
        for (std::uint64_t tag = count * lanes; mine == 0 && tag-- > 0;) {
            std::uint64_t word = 0;
            if (world.recv(ctx, &word, 1, before, static_cast<std::int64_t>(tag)) != status::ok) return;
            if (word != tag) atomic_add(ctx, wrong[0], 1);
        }
        (void)world.wait_all(ctx, sent, count);
    }
};

TEST_P(communicator_together, WhatIsAwaitedComesOutOfSharedSlotsFirst) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        communicator_options how;
        how.rules = no_order;
        how.unexpected = 1 + static_cast<std::uint32_t>(o.seed % 3);  // most are beyond the bound
        auto world = rt.communicator(how);
        rt.run(words_last_first{wrong.ref()}, world);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << "PE " << pe;
        EXPECT_TRUE(world.pending().empty()) << world.account();
    });
}

/// Words that nobody receives, and a receive of another.
struct words_for_nobody {
    symmetric_ref<std::uint64_t> sent;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t mine = ctx.local_rank();
        if (mine >= lanes) return;
        std::uint64_t word = mine;
        if (world.send(ctx, &word, 1, 0, 1) != status::ok) return;
        atomic_add(ctx, sent[0], 1);
        if (ctx.pe() == 0 && mine == 0) (void)world.recv(ctx, &word, 1, 0, 2);
    }
    static constexpr std::uint64_t lanes = 8;
};

TEST_P(communicator_together, AllThatAreOnTheirWayAreTold) {
    every_fourth_round(GetParam(), [](options o) {
        o.timeout_seconds = is_checked(o.devices) ? 0.04 : 1;
        o.cpu_threads = static_cast<int>(words_for_nobody::lanes);
        runtime rt(o);
        const auto sent = rt.allocate<std::uint64_t>(1);
        communicator_options how;
        how.rules = no_order;
        how.unexpected = 1;
        auto world = rt.communicator(how);
        const std::string what = thrown<timeout_error>([&] { rt.run(words_for_nobody{sent.ref()}, world); });
        std::uint64_t all = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) all += sent.copy_out(pe)[0];
        EXPECT_NE(what.find(std::to_string(all - 1) + " messages on their way to it"), std::string::npos) << what;
    });
}

LANEWAY_ON_DEVICES(communicator_together, to_four(communicator_devices()));

}  // namespace
}  // namespace laneway::test
