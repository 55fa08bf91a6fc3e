// Turns of a shard that free warps of a block take together, where much waits.
#pragma once

#include <random>

#include "communicator_job.hpp"
#include "unit/sequential_matcher.hpp"

namespace laneway::test {
namespace {

class communicator_team : public testing::TestWithParam<std::string> {};

/// A message to the next PE.
struct stream_message {
    match_key key;
    std::uint32_t words = 0;
};
/// A receive, and the message from the PE before that it is to get.
struct stream_receive {
    match_key key;
    std::uint32_t number = 0;
    stream_message message;
};

constexpr std::uint32_t stream_steps = 96;
constexpr std::uint64_t stream_words = 160;  ///< of a message, at most

/// What the first lane begins first.
enum class in_turn : std::uint32_t { receives_first, sends_first, three };

/// The first lane of each PE begins all receives and all sends, and waits for all of them. What other lanes do
/// meanwhile is `Others`.
template <class Others>
struct stream {
    symmetric_ref<stream_receive> receives;
    symmetric_ref<stream_message> sends;
    symmetric_ref<std::uint64_t> from, to;  ///< stream_words for each step
    symmetric_ref<std::uint64_t> wrong;
    symmetric_ref<std::uint64_t> over;  ///< 1 when the first lane has all that it awaits
    std::uint32_t n;
    in_turn by;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t lane = ctx.local_rank();
        if (lane != 0) return Others{}(ctx, world, over, lane);
        if (!exchange(ctx, world)) return;
        Others::release(ctx, world, over);
    }

private:
    template <class Ctx, class World>
    LANEWAY_FN bool exchange(Ctx& ctx, World& world) const {
        message_request receiving[stream_steps], sending[stream_steps];
        message_status got[stream_steps];
        const std::uint32_t each = by == in_turn::three ? 3 : n;
        for (std::uint32_t i = 0; i < n; i += each) {
            const std::uint32_t end = i + each < n ? i + each : n;
            if (by == in_turn::sends_first && !send(ctx, world, i, end, sending)) return false;
            if (!receive(ctx, world, i, end, receiving)) return false;
            if (by != in_turn::sends_first && !send(ctx, world, i, end, sending)) return false;
        }
        for (std::uint32_t i = 0; i < n; ++i) {
            if (world.wait(ctx, receiving[i], got + i) != status::ok) return false;
            check(ctx, i, got[i]);
        }
        return world.wait_all(ctx, sending, n) == status::ok;
    }
    template <class Ctx, class World>
    LANEWAY_FN bool receive(Ctx& ctx, World& world, std::uint32_t i, std::uint32_t end, message_request* begun) const {
        for (; i < end; ++i) {
            const match_key key = receives.local(ctx)[i].key;
            const auto buffer = to[i * stream_words];
            if (world.irecv(ctx, buffer, stream_words, key.source, key.tag, begun[i]) != status::ok) return false;
        }
        return true;
    }
    template <class Ctx, class World>
    LANEWAY_FN bool send(Ctx& ctx, World& world, std::uint32_t i, std::uint32_t end, message_request* begun) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        for (; i < end; ++i) {
            const stream_message s = sends.local(ctx)[i];
            const std::uint64_t first = i * stream_words;
            for (std::uint64_t w = 0; w < s.words; ++w) from.local(ctx)[first + w] = std::uint64_t{i} << 32 | w;
            const status sent = i % 7 == 0 ? world.issend(ctx, from[first], s.words, next, s.key.tag, begun[i])
                                           : world.isend(ctx, from[first], s.words, next, s.key.tag, begun[i]);
            if (sent != status::ok) return false;
        }
        return true;
    }
    template <class Ctx>
    LANEWAY_FN void check(Ctx& ctx, std::uint32_t i, const message_status& got) const {
        const stream_receive asked = receives.local(ctx)[i];
        const stream_message& wanted = asked.message;
        bool right = got.bytes == wanted.words * 8 && got.tag == wanted.key.tag && got.source == wanted.key.source;
        for (std::uint64_t w = 0; w < wanted.words; ++w) {
            const std::uint64_t found = to.local(ctx)[i * stream_words + w];
            right = right && found == (std::uint64_t{asked.number} << 32 | w);
        }
        if (!right) atomic_add(ctx, wrong[0], 1);
    }
};

/// Their bodies return at once.
struct others_return {
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx&, World&, const symmetric_ref<std::uint64_t>&, std::uint64_t) const {}
    template <class Ctx, class World>
    static LANEWAY_FN void release(Ctx&, World&, const symmetric_ref<std::uint64_t>&) {}
};

/// The lanes of one warp do not return before the first lane has all its messages: one of them waits for a message that
/// comes then, the others look at a word and take no part in anything.
struct others_stay {
    static constexpr std::int64_t last_tag = 77;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, const symmetric_ref<std::uint64_t>& over,
                               std::uint64_t lane) const {
        const std::uint64_t of_warp = Ctx::warp_lanes;
        if (lane / of_warp != 1) return;
        if (lane == of_warp) {
            std::uint64_t got = 0;
            (void)world.recv(ctx, &got, 1, ctx.pe(), last_tag);
            return;
        }
        (void)wait_until(ctx, {operation::signal, ctx.pe(), 1},
                         [&] { return ctx.load(address(ctx, over[0], ctx.pe()), order::acquire, scope::device) != 0; });
    }
    template <class Ctx, class World>
    static LANEWAY_FN void release(Ctx& ctx, World& world, const symmetric_ref<std::uint64_t>& over) {
        const std::uint64_t value = 1, of_warp = Ctx::warp_lanes;
        ctx.store(address(ctx, over[0], ctx.pe()), value, order::release, scope::device);
        if (ctx.local_size() <= of_warp) return;
        (void)world.send(ctx, &value, 1, ctx.pe(), last_tag);
    }
};

/// What a PE receives, in its order, and what it is sent.
struct stream_script {
    std::vector<stream_receive> receives;
    std::vector<stream_message> sends;
};

/// At most so many of each, of which all are matched, with wildcards. From one PE: so MPI knows one outcome.
stream_script random_stream(std::uint64_t seed, std::uint32_t source, std::uint32_t n) {
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    stream_script made;
    sequential_matcher model({});
    std::vector<stream_receive> posted(n);
    std::vector<bool> matched(n);
    for (std::uint32_t i = 0; i < n; ++i) {
        posted[i].key = {below(3) == 0 ? any_source : source, below(4) == 0 ? any_tag : below(4)};
        (void)model.take({step_kind::post, posted[i].key, i});
    }
    for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t most = below(4) != 0 ? 7 : static_cast<std::uint32_t>(stream_words);
        const stream_message step{{source, below(4)}, 1 + below(most)};
        const auto met = model.take({step_kind::arrive, step.key, i});
        if (met.outcome != match_outcome::matched) continue;
        matched[met.handle] = true;
        posted[met.handle].message = step;
        posted[met.handle].number = static_cast<std::uint32_t>(made.sends.size());
        made.sends.push_back(step);
    }
    for (std::uint32_t i = 0; i < n; ++i) {
        if (matched[i]) made.receives.push_back(posted[i]);
    }
    return made;
}

options with_many_warps(options o) {
    o.checked_warps = 5;
    return o;
}

struct team_outcome {
    std::uint64_t turns = 0, team_turns = 0;
    std::uint64_t blocks = 0;  ///< of which warps could have met
};

/// Runs a stream between all PEs, and says in how many turns it went. `n`: of receives and messages, at most.
template <class Others>
team_outcome run_stream(runtime& rt, communicator& world, const options& o, std::uint32_t n) {
    auto receives = rt.allocate<stream_receive>(stream_steps);
    auto sends = rt.allocate<stream_message>(stream_steps);
    const auto from = rt.allocate<std::uint64_t>(stream_steps * stream_words),
               to = rt.allocate<std::uint64_t>(stream_steps * stream_words);
    const auto wrong = rt.allocate<std::uint64_t>(1), over = rt.allocate<std::uint64_t>(1);
    const int pes = rt.n_pes();
    std::uint32_t matched = 0;
    for (int pe = 0; pe < pes; ++pe) {
        stream_script script = random_stream(o.seed, static_cast<std::uint32_t>((pe + pes - 1) % pes), n);
        matched = static_cast<std::uint32_t>(script.sends.size());  // one seed, so as many everywhere
        script.receives.resize(stream_steps);
        script.sends.resize(stream_steps);
        receives.copy_in(pe, script.receives);
        sends.copy_in(pe, script.sends);
    }
    const auto by = static_cast<in_turn>(o.seed / 2 % 3);
    rt.run(stream<Others>{receives.ref(), sends.ref(), from.ref(), to.ref(), wrong.ref(), over.ref(), matched, by},
           world);
    EXPECT_TRUE(world.pending().empty()) << world.account();
    team_outcome all;
    for (int pe = 0; pe < pes; ++pe) {
        EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << "receives of PE " << pe;
        const communicator_statistics seen = world.statistics(pe);
        EXPECT_EQ(seen.counts.matches, seen.counts.messages);
        all.blocks += static_cast<std::uint64_t>(o.checked_blocks);
        all.turns += seen.turns;
        all.team_turns += seen.team_turns;
    }
    return all;
}

template <class Others>
team_outcome run_stream(const options& o, const communicator_options& how, std::uint32_t n) {
    runtime rt(o);
    auto world = rt.communicator(how);
    return run_stream<Others>(rt, world, o, n);
}

/// Room for all of a stream at once; or rings, and what may wait, of a round.
communicator_options team_options(const options& o, bool small) {
    communicator_options how = small ? small_options(o) : communicator_options{};
    if (small) how.unexpected = 1 + static_cast<std::uint32_t>(o.seed % 5) * 2;
    how.requests = o.devices.starts_with("cuda") ? 16384 : 256;
    how.team_load = 1;
    return how;
}

TEST_P(communicator_team, StreamsHaveTheirOneOutcome) {
    team_outcome all;
    every_round_within(GetParam(), [&](const options& o) {
        const auto how = team_options(o, o.seed % 2 == 0);
        const team_outcome one = run_stream<others_return>(with_many_warps(o), how, stream_steps);
        all.team_turns += one.team_turns;
        all.blocks += one.blocks;
    });
    if (is_checked(GetParam())) {
        // A block's warps meet again and again.
        EXPECT_GT(all.team_turns, GetParam() == "checked:1" ? 0 : all.blocks);
    }
    if (GetParam().starts_with("cpu")) {
        EXPECT_EQ(all.team_turns, 0u);  // blocks of one warp
    }
}

TEST_P(communicator_team, WarpsThatDoNotReturnHoldNobodyUp) {
    team_outcome all;
    every_fourth_round(GetParam(), [&](const options& o) {
        const auto how = team_options(o, o.seed % 8 == 5);
        all.team_turns += run_stream<others_stay>(with_many_warps(o), how, 64).team_turns;
    });
    if (is_checked(GetParam())) {
        EXPECT_GT(all.team_turns, 0u);
    }
}

TEST_P(communicator_team, NoTeamWhereTheOptionsSayNever) {
    every_fourth_round(GetParam(), [&](const options& o) {
        communicator_options how = team_options(o, false);
        how.team_load = 0;
        const team_outcome one = run_stream<others_return>(with_many_warps(o), how, stream_steps);
        EXPECT_EQ(one.team_turns, 0u);
        EXPECT_GT(one.turns, 0u);
    });
}

/// One lane of each PE sends itself one message after the other.
struct send_one_by_one {
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.local_rank() != 0) return;
        for (std::uint64_t i = 0; i < 24; ++i) {
            std::uint64_t got = 0;
            message_request receive;
            if (world.irecv(ctx, &got, 1, any_source, any_tag, receive) != status::ok) return;
            if (world.send(ctx, &i, 1, ctx.pe(), 1) != status::ok) return;
            if (world.wait(ctx, receive) != status::ok) return;
            if (got != i) atomic_add(ctx, wrong[0], 1);
        }
    }
};

TEST_P(communicator_team, MuchIsForTheTeamAndLittleForOneWarp) {
    team_outcome much;
    every_fourth_round(GetParam(), [&](const options& wanted) {
        const options o = with_many_warps(wanted);
        communicator_options how = team_options(o, false);
        how.team_load = 8;
        const team_outcome one = run_stream<others_return>(o, how, stream_steps);
        much.turns += one.turns;
        much.team_turns += one.team_turns;
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        auto world = rt.communicator(how);
        rt.run(send_one_by_one{wrong.ref()}, world);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
            EXPECT_EQ(world.statistics(pe).team_turns, 0u);
            EXPECT_GT(world.statistics(pe).turns, 0u);
        }
    });
    if (is_checked(GetParam())) {
        EXPECT_GT(much.team_turns, 0u);
    }
}

/// The first lane of each PE sends itself messages that nobody receives.
struct leave_messages {
    std::uint64_t n;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.local_rank() != 0) return;
        for (std::uint64_t i = 0; i < n; ++i) {
            if (world.send(ctx, &i, 1, ctx.pe(), 5) != status::ok) return;
        }
    }
};

TEST_P(communicator_team, AllPlacesOfMessagesComeBack) {
    every_fourth_round(GetParam(), [&](const options& wanted) {
        const options o = with_many_warps(wanted);
        communicator_options how = team_options(o, true);
        how.unexpected = 24;
        runtime rt(o);
        auto world = rt.communicator(how);
        for (std::uint64_t i = 0; i < 3; ++i) {
            options by = o;
            by.seed += 2 * i;
            (void)run_stream<others_return>(rt, world, by, stream_steps);
        }
        rt.run(leave_messages{how.unexpected}, world);  // all of them find room: they would not count as done elsewhere
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(world.statistics(pe).unexpected, how.unexpected);
    });
}

/// The first lane of each PE fills the room for messages that wait, then the ring, and receives what is last in it;
/// then all others.
struct take_before_its_turn {
    static constexpr std::uint32_t room = 4, in_ring = 3;
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.local_rank() != 0) return;
        const int me = ctx.pe();
        constexpr std::uint32_t n = room + in_ring + 1;
        message_request receives[n];
        std::uint64_t got[n] = {};
        for (std::uint64_t i = 0; i < n; ++i) {
            if (world.send(ctx, &i, 1, me, tag_of(i)) != status::ok) return;
        }
        if (world.recv(ctx, got + n - 1, 1, me, tag_of(n - 1)) != status::ok) return;
        for (std::uint32_t i = 0; i < n - 1; ++i) {
            if (world.irecv(ctx, got + i, 1, me, tag_of(i), receives[i]) != status::ok) return;
        }
        if (world.wait_all(ctx, receives, n - 1) != status::ok) return;
        for (std::uint64_t i = 0; i < n; ++i) {
            if (got[i] != i) atomic_add(ctx, wrong[0], 1);
        }
    }
    static LANEWAY_FN std::int64_t tag_of(std::uint64_t i) { return i < room ? 0 : i < room + in_ring ? 1 : 2; }
};

TEST_P(communicator_team, WhatCameInBeforeItsTurnDoesNotComeAgain) {
    every_round_within(GetParam(), [&](const options& wanted) {
        const options o = with_many_warps(wanted);
        communicator_options how = team_options(o, false);
        how.unexpected = take_before_its_turn::room;
        how.ring_slots = 16;
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        auto world = rt.communicator(how);
        rt.run(take_before_its_turn{wrong.ref()}, world);
        EXPECT_TRUE(world.pending().empty()) << world.account();
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
    });
}

/// A lane of each PE sends its PE messages and receives the last one straight from the ring, before its turn, while
/// another lane waits in a receive of its own, so that no turn takes the others meanwhile.
struct leave_before_its_turn {
    static constexpr std::uint32_t n = 8, looks = 1u << 20;
    static constexpr std::int64_t last_tag = 77;
    symmetric_ref<std::uint64_t> wrong, waits;  ///< 1: the other lane is about to wait

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t lanes = ctx.local_size(), lane = ctx.local_rank();
        constexpr std::uint64_t of_warp = Ctx::warp_lanes;
        if (lanes <= of_warp || lane % of_warp != 0 || lane > of_warp) return;
        const int me = ctx.pe();
        std::uint64_t* const word = address(ctx, waits[0], me);
        const std::uint64_t one = 1;
        std::uint64_t got = 0;
        if (lane == 0) {
            ctx.store(word, one, order::release, scope::device);
            (void)world.recv(ctx, &got, 1, me, last_tag);
            return;
        }
        (void)wait_until(ctx, {operation::signal, me, 1},
                         [&] { return ctx.load(word, order::acquire, scope::device) != 0; });
        for (int i = 0; i < 200; ++i) ctx.pause();
        for (std::uint64_t i = 0; i < n; ++i) {
            if (world.send(ctx, &i, 1, me, static_cast<std::int64_t>(i)) != status::ok) return;
        }
        if (world.recv(ctx, &got, 1, me, n - 1) != status::ok || got != n - 1) atomic_add(ctx, wrong[0], 1);
        (void)world.send(ctx, &one, 1, me, last_tag);
    }
};

TEST_P(communicator_team, TeamsTakeWhatIsLeftOfARingOfWhichOneCameBefore) {
    std::uint64_t team_turns = 0;
    every_round_within(GetParam(), [&](const options& wanted) {
        const options o = with_many_warps(wanted);
        communicator_options how = team_options(o, false);
        how.ring_slots = 16;
        how.ring_looks = leave_before_its_turn::looks;
        runtime rt(o);
        const auto wrong = rt.allocate<std::uint64_t>(1), waits = rt.allocate<std::uint64_t>(1);
        auto world = rt.communicator(how);
        rt.run(leave_before_its_turn{wrong.ref(), waits.ref()}, world);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const communicator_statistics seen = world.statistics(pe);
            EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
            if (is_checked(GetParam())) {
                EXPECT_EQ(seen.unexpected, leave_before_its_turn::n - 1);
            }
            team_turns += seen.team_turns;
        }
    });
    if (is_checked(GetParam())) {
        EXPECT_GT(team_turns, 0u);
    }
}

/// More receives than one warp takes at once, of which one is too short for its message.
struct post_one_too_short {
    symmetric_ref<std::uint64_t> room;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.rank() != 0) return;
        constexpr std::uint32_t n = 40;
        message_request receives[n], sends[n];
        for (std::uint32_t i = 0; i < n; ++i) {
            if (world.irecv(ctx, room[2 * i], i == 29 ? 1 : 2, 0, 3, receives[i]) != status::ok) return;
        }
        for (std::uint32_t i = 0; i < n; ++i) {
            if (world.isend(ctx, room[2 * n], 2, 0, 3, sends[i]) != status::ok) return;
        }
        (void)world.wait_all(ctx, receives, n);
    }
};

TEST_P(communicator_team, AMessageThatIsTooLongEndsTheRunForAllOfTheTeam) {
    every_fourth_round(GetParam(), [&](const options& o) {
        runtime rt(with_many_warps(o));
        const auto room = rt.allocate<std::uint64_t>(128);
        auto world = rt.communicator(team_options(o, false));
        const std::string what = thrown<device_fault>([&] { rt.run(post_one_too_short{room.ref()}, world); });
        EXPECT_NE(what.find("a message is longer than its receive"), std::string::npos) << what;
        const auto wrong = rt.allocate<std::uint64_t>(1);
        rt.run(send_one_by_one{wrong.ref()}, world);  // it is as new
        EXPECT_EQ(wrong.copy_out(0)[0], 0u);
    });
}

LANEWAY_ON_DEVICES(communicator_team, communicator_devices());

}  // namespace
}  // namespace laneway::test
