// Tags of two-sided messages: the largest ones, and the same ones in several communicators at once.
#pragma once

#include "communicator_case.hpp"

namespace laneway::test {
namespace {

/// As large_tag: tags around the largest are as good as others, for messages of all forms, and told as they are.
struct largest_tags {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        constexpr std::uint32_t n = 6;
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        message_request sends[n];
        for (std::uint32_t i = 0; i < n; ++i) {
            v.write(ctx, i * room / 8, length(i), i);
            LANEWAY_OK(world.isend(ctx, v.from[i * room / 8], length(i), next, tag(i), sends[i]));
        }
        for (const std::uint32_t i : {3u, 0u, 4u, 1u, 5u, 2u}) {
            const std::uint64_t at = i * room / 8;
            message_status seen, got;
            LANEWAY_OK(world.probe(ctx, before, tag(i), seen));
            v.expect(ctx, seen.tag == static_cast<std::uint64_t>(tag(i)) && seen.bytes == 8 * length(i));
            const bool last = i == 2;
            LANEWAY_OK(world.recv(ctx, v.to[at], room / 8, before, last ? v.any_tag_but(tag(i)) : tag(i), &got));
            v.expect(ctx, got.tag == static_cast<std::uint64_t>(tag(i)) && got.bytes == 8 * length(i));
            v.expect_words(ctx, at, length(i), static_cast<unsigned>(before), i);
        }
        LANEWAY_OK(world.wait_all(ctx, sends, n));
    }
    static LANEWAY_FN std::int64_t tag(std::uint32_t i) {
        constexpr std::int64_t most = std::int64_t{max_message_tag};
        constexpr std::int64_t tags[] = {most, most - 1, most - 2, 0, std::int64_t{1} << 30, most / 2};
        return tags[i];
    }
    static LANEWAY_FN std::uint64_t length(std::uint32_t i) {
        constexpr std::uint64_t lengths[] = {1, 20, room / 8, 7, room / 8, 8};
        return lengths[i];
    }
};
LANEWAY_CASE(TheLargestTagIsAsGoodAsOthers, largest_tags)

/// One lane of each PE sends the next one many messages, each under a tag of its own, which that one looks for and
/// takes in every way, the last first.
struct many_tags {
    case_view v;
    static constexpr std::uint32_t n = 64;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        message_request sends[n];
        for (std::uint64_t i = 0; i < n; ++i) {
            LANEWAY_OK(world.isend(ctx, &i, 1, next, static_cast<std::int64_t>(i), sends[i]));
        }
        for (std::uint64_t i = n; i-- > 0;) {
            std::uint64_t got = n;
            message_status what;
            if (!take(ctx, world, before, static_cast<std::int64_t>(i), got, what)) return;
            v.expect(ctx, got == i && what.tag == i && what.source == static_cast<unsigned>(before));
        }
        LANEWAY_OK(world.wait_all(ctx, sends, n));
    }

private:
    template <class Ctx, class World>
    LANEWAY_FN bool take(Ctx& ctx, World& world, int from, std::int64_t tag, std::uint64_t& got,
                         message_status& what) const {
        message_request message;
        bool found = false;
        if (tag % 4 == 0) {
            if (world.mprobe(ctx, from, tag, message, what) != status::ok) return false;
            return world.mrecv(ctx, &got, 1, message) == status::ok;
        }
        if (tag % 4 == 1 && world.probe(ctx, from, tag, what) != status::ok) return false;
        while (tag % 4 == 2 && !found) {
            if (world.iprobe(ctx, from, tag, found, what) != status::ok) return false;
        }
        return world.recv(ctx, &got, 1, from, tag, &what) == status::ok;
    }
};

TEST_P(communicator_cases, TagsShareMessagesOutWhereNoReceiveAsksForAny) {
    const match_rules by_source{.no_any_source = true}, by_both{.no_any_source = true, .no_any_tag = true};
    const match_rules in_no_order{.no_any_source = true, .no_any_tag = true, .allow_overtaking = true};
    for (const match_rules& rules : {by_source, by_both, in_no_order}) {
        every_fourth_round(GetParam(), [&](const options& o) {
            runtime rt(o);
            const auto wrong = rt.allocate<std::uint64_t>(1);
            auto world = rt.communicator({.requests = 256, .unexpected = many_tags::n, .engines = 8, .rules = rules});
            rt.run(on_first<many_tags>{{wrong.ref(), wrong.ref(), wrong.ref()}}, world);
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << "PE " << pe;
                const std::uint32_t used = world.statistics(pe).engines_used;
                if (rules == in_no_order) {
                    EXPECT_LE(used, many_tags::n / neighbouring_tags) << "neighbouring tags are one engine's";
                } else {
                    EXPECT_EQ(used, rules == by_source ? 1u : 8u) << "one PE sends to it";
                }
                EXPECT_EQ(world.statistics(pe).counts.matches, many_tags::n);
            }
            EXPECT_TRUE(world.pending().empty()) << world.account();
        });
    }
}

/// All lanes of a PE share a few tags, and exchange under them with the next PE in three communicators at once.
struct same_tags {
    symmetric_ref<std::uint64_t> sums;  ///< of each communicator what was received, then what was sent
    symmetric_ref<std::uint64_t> wrong;

    static constexpr std::uint64_t most = 1024;  // lanes of a PE that take part
    static constexpr int tags = 5, rounds = 4;

    template <class Ctx, class A, class B, class C>
    LANEWAY_FN void operator()(Ctx& ctx, A& a, B& b, C& c) const {
        const std::uint64_t mine = ctx.local_rank();
        for (int round = 0; mine < most && round < rounds; ++round) {
            const std::int64_t tag = (static_cast<std::int64_t>(mine) + round) % tags;
            one_communicator first{*this, 0, tag}, second{*this, 1, tag}, third{*this, 2, tag};
            const bool begun = first.receive(ctx, a) && second.receive(ctx, b) && third.receive(ctx, c) &&
                               third.send(ctx, c) && second.send(ctx, b) && first.send(ctx, a);
            if (!begun || !second.finish(ctx, b) || !first.finish(ctx, a) || !third.finish(ctx, c)) return;
        }
    }

private:
    struct one_communicator {
        const same_tags& all;
        std::uint64_t which;
        std::int64_t tag;
        std::uint64_t sent = 0, got = 0;
        message_request receives{}, sends{};

        template <class Ctx, class World>
        LANEWAY_FN bool receive(Ctx& ctx, World& world) {
            const int before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
            return world.irecv(ctx, &got, 1, before, tag, receives) == status::ok;
        }
        template <class Ctx, class World>
        LANEWAY_FN bool send(Ctx& ctx, World& world) {
            sent = (which + 1) << 56 | static_cast<std::uint64_t>(tag) << 48 | (ctx.rank() + 1);
            return world.isend(ctx, &sent, 1, (ctx.pe() + 1) % ctx.n_pes(), tag, sends) == status::ok;
        }
        template <class Ctx, class World>
        LANEWAY_FN bool finish(Ctx& ctx, World& world) {
            message_status what;
            if (world.wait(ctx, receives, &what) != status::ok || world.wait(ctx, sends) != status::ok) return false;
            const bool right = got >> 48 == sent >> 48 && what.tag == static_cast<unsigned>(tag) && what.bytes == 8;
            if (!right) atomic_add(ctx, all.wrong[0], 1);
            constexpr std::uint64_t number = (std::uint64_t{1} << 48) - 1;
            atomic_add(ctx, all.sums[which], got & number);
            atomic_add(ctx, all.sums[3 + which], sent & number);
            return true;
        }
    };
};

TEST_P(communicator_cases, CommunicatorsKeepTheSameTagsApart) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto sums = rt.allocate<std::uint64_t>(6), wrong = rt.allocate<std::uint64_t>(1);
        communicator_options relaxed = small_options(o), many = small_options(o);
        relaxed.rules = rules_of(o);
        many.rules = {.no_any_source = true};
        many.engines = 2;
        auto a = rt.communicator(small_options(o)), b = rt.communicator(relaxed), c = rt.communicator(many);
        rt.run(same_tags{sums.ref(), wrong.ref()}, a, b, c);
        std::uint64_t all[6] = {};
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(wrong.copy_out(pe)[0], 0u) << "PE " << pe;
            for (std::size_t i = 0; i < 6; ++i) all[i] += sums.copy_out(pe)[i];
        }
        for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(all[i], all[3 + i]) << "communicator " << i;
        EXPECT_GT(all[0], 0u);
        for (const communicator* each : {&a, &b, &c}) EXPECT_TRUE(each->pending().empty()) << each->account();
    });
}

}  // namespace
}  // namespace laneway::test
