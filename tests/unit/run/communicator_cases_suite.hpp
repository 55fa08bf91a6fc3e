// The point-to-point cases that tests of MPI libraries have, written anew: messages to oneself, of all lengths, floods,
// messages that nobody expects yet, null requests, requests taken back, several completions.
#pragma once

#include "communicator_job.hpp"

namespace laneway::test {
namespace {

class communicator_cases : public testing::TestWithParam<std::string> {};

constexpr std::uint64_t room = 2048;  // words of each buffer

/// What a case on one lane of each PE works with.
struct case_view {
    symmetric_ref<std::uint64_t> from, to, wrong;
    match_rules rules{};
    std::uint64_t part = 0;

    /// What a receive asks for: any, or this where the program promises that.
    [[nodiscard]] LANEWAY_FN std::int64_t any_but(std::int64_t source) const {
        return rules.no_any_source ? source : std::int64_t{any_source};
    }
    [[nodiscard]] LANEWAY_FN std::int64_t any_tag_but(std::int64_t tag) const {
        return rules.no_any_tag ? tag : std::int64_t{any_tag};
    }
    /// A word that no other message has.
    static LANEWAY_FN std::uint64_t word(std::uint64_t source, std::uint64_t number, std::uint64_t at) {
        return source << 48 | number << 32 | at << 8 | 5;
    }
    template <class Ctx>
    LANEWAY_FN void expect(Ctx& ctx, bool right) const {
        if (!right) atomic_add(ctx, wrong[part], 1);
    }
    template <class Ctx>
    LANEWAY_FN void write(Ctx& ctx, std::uint64_t at, std::uint64_t count, std::uint64_t number) const {
        for (std::uint64_t i = 0; i < count; ++i) {
            from.local(ctx)[at + i] = word(static_cast<std::uint64_t>(ctx.pe()), number, i);
        }
    }
    template <class Ctx>
    LANEWAY_FN void expect_words(Ctx& ctx, std::uint64_t at, std::uint64_t count, std::uint64_t source,
                                 std::uint64_t number) const {
        bool right = true;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t found = to.local(ctx)[at + i];
            right = right && found == word(source, number, i);
        }
        expect(ctx, right);
    }
};

/// Runs `Case` on the first lane of each PE.
template <class Case>
struct on_first {
    case_view view;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t lanes = ctx.size() / static_cast<unsigned>(ctx.n_pes());
        if (ctx.rank() % lanes == 0) Case{view}(ctx, world);
    }
};

/// `how` differs from the options of the round where it says something.
template <class Case>
void run_case(const std::string& devices, const communicator_options& how = {}) {
    every_fourth_round(devices, [&](const options& o) {
        runtime rt(o);
        const auto from = rt.allocate<std::uint64_t>(8 * room), to = rt.allocate<std::uint64_t>(8 * room);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        communicator_options small = small_options(o);
        small.unexpected = std::max(small.unexpected, 8u);  // a case may leave so many before it receives
        const communicator_options unsaid;
        if (how.unexpected != unsaid.unexpected) small.unexpected = how.unexpected;
        if (how.requests != unsaid.requests) small.requests = how.requests;
        small.rules = rules_of(o);
        small.engines = small.rules.no_any_source ? 2 : 1;
        auto world = rt.communicator(small);
        rt.run(on_first<Case>{{from.ref(), to.ref(), wrong.ref(), small.rules}}, world);
        for (int pe = 0; pe < rt.n_pes(); ++pe) ASSERT_EQ(wrong.copy_out(pe)[0], 0u) << "PE " << pe;
        EXPECT_TRUE(world.pending().empty()) << world.account();
    });
}

#define LANEWAY_OK(call) \
    if ((call) != status::ok) return

/// As sendself: every way of sending meets every way of receiving, with probes.
struct to_oneself {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const int me = ctx.pe();
        std::uint64_t a = 17, b = 0;
        message_request r, s;
        message_status got, seen;
        LANEWAY_OK(world.irecv(ctx, &b, 1, me, 0, r));
        LANEWAY_OK(world.send(ctx, &a, 1, me, 0));
        LANEWAY_OK(world.wait(ctx, r, &got));
        v.expect(ctx, b == 17 && got.bytes == 8);
        LANEWAY_OK(world.isend(ctx, &++a, 1, me, 1, s));
        LANEWAY_OK(world.probe(ctx, v.any_but(me), v.any_tag_but(1), seen));
        v.expect(ctx, seen.source == static_cast<unsigned>(me) && seen.tag == 1 && seen.bytes == 8);
        LANEWAY_OK(world.recv(ctx, &b, 1, seen.source, seen.tag, &got));
        LANEWAY_OK(world.wait(ctx, s));
        v.expect(ctx, b == 18 && got.tag == 1);
        LANEWAY_OK(world.sendrecv(ctx, &++a, 1, me, 2, &b, 1, me, 2, &got));
        v.expect(ctx, b == 19 && got.tag == 2);
        bool found = true;
        LANEWAY_OK(world.iprobe(ctx, me, v.any_tag_but(2), found, seen));
        v.expect(ctx, !found);
        v.write(ctx, 0, room, 3);  // a long one is not over before it has been received
        bool over = true;
        LANEWAY_OK(world.isend(ctx, v.from[0], room, me, 3, s));
        LANEWAY_OK(world.test(ctx, s, over));
        v.expect(ctx, !over);
        LANEWAY_OK(world.recv(ctx, v.to[0], room, v.any_but(me), 3, &got));
        LANEWAY_OK(world.wait(ctx, s));
        v.expect(ctx, got.bytes == room * 8);
        v.expect_words(ctx, 0, room, static_cast<unsigned>(me), 3);
    }
};

/// As pingping, eagerdt, large_message: all lengths, those around the bounds between forms above all.
struct all_lengths {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        std::int64_t tag = 0;
        for (std::uint64_t count = 0; count <= room; count += count < 36 ? 1 : 1 + count / 2) {
            v.write(ctx, 0, count, count);
            message_status got;
            LANEWAY_OK(world.sendrecv(ctx, v.from[0], count, next, tag, v.to[0], room, before, tag, &got));
            v.expect(ctx, got.template count<std::uint64_t>() == count && got.source == static_cast<unsigned>(before));
            v.expect_words(ctx, 0, count, static_cast<unsigned>(before), count);
            ++tag;
        }
        for (std::uint64_t bytes = 0; bytes < 80; ++bytes, ++tag) {  // of bytes, from places that are not aligned
            std::byte mine[160], theirs[160];
            for (std::uint64_t i = 0; i < 160; ++i) {
                mine[i] = static_cast<std::byte>(bytes + i);
                theirs[i] = std::byte{0xee};
            }
            if (bytes > short_bytes) break;
            LANEWAY_OK(world.sendrecv(ctx, mine + 1, bytes, next, tag, theirs + 3, bytes, before, tag));
            bool right = theirs[2] == std::byte{0xee} && theirs[bytes + 3] == std::byte{0xee};
            for (std::uint64_t i = 0; i < bytes; ++i)
                right = right && theirs[3 + i] == static_cast<std::byte>(bytes + 1 + i);
            v.expect(ctx, right);
        }
    }
};

/// As sendrecv3 and sendflood: all send before anybody receives, as much as may be under way.
struct head_to_head {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        constexpr std::uint32_t n = 24;
        message_request sends[n], receives[n];
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        const std::uint64_t length = room / n;
        for (std::uint32_t i = 0; i < n; ++i) {
            v.write(ctx, i * length, length, i);
            const std::uint64_t count = i % 4 == 3 ? length : i % 4 * 4 + 1;
            LANEWAY_OK(world.isend(ctx, v.from[i * length], count, next, i, sends[i]));
        }
        for (std::uint32_t i = n; i-- > 0;) {  // receives in the other order
            LANEWAY_OK(world.irecv(ctx, v.to[i * length], length, before, i, receives[i]));
        }
        message_status got[n];
        LANEWAY_OK(world.wait_all(ctx, receives, n, got));
        LANEWAY_OK(world.wait_all(ctx, sends, n));
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint64_t count = i % 4 == 3 ? length : i % 4 * 4 + 1;
            v.expect(ctx, got[i].bytes == count * 8 && got[i].tag == i);
            v.expect_words(ctx, i * length, count, static_cast<unsigned>(before), i);
        }
    }
};

/// As probe-unexp: messages of all forms wait unexpected, are probed for, and received in the other order.
struct probed_unexpected {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        constexpr std::uint32_t n = 5;
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        message_request sends[n];
        for (std::uint32_t i = 0; i < n; ++i) {
            v.write(ctx, i * room / 8, length(i), i);
            LANEWAY_OK(world.isend(ctx, v.from[i * room / 8], length(i), next, i, sends[i]));
        }
        for (std::uint32_t i = n; i-- > 0;) {
            message_status seen, got;
            LANEWAY_OK(world.probe(ctx, before, i, seen));
            v.expect(ctx, seen.bytes == length(i) * 8 && seen.tag == i);
            LANEWAY_OK(world.recv(ctx, v.to[0], seen.template count<std::uint64_t>(), seen.source, i, &got));
            v.expect(ctx, got.bytes == seen.bytes);
            v.expect_words(ctx, 0, length(i), static_cast<unsigned>(before), i);
        }
        LANEWAY_OK(world.wait_all(ctx, sends, n));
    }
    static LANEWAY_FN std::uint64_t length(std::uint32_t i) { return i == 0 ? 0 : std::uint64_t{4} << 2 * (i - 1); }
};

/// MPI's order: of messages under one tag the first sent is received first, whatever their forms.
struct not_overtaking {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (v.rules.allow_overtaking) return;
        constexpr std::uint32_t n = 20;
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        message_request sends[n], receives[n];
        const std::uint64_t part = room / n;
        for (std::uint32_t i = 0; i < n; ++i) {
            v.write(ctx, i * part, part, i);
            LANEWAY_OK(world.isend(ctx, v.from[i * part], 1 + (i * 37 + 1) % part, next, 7, sends[i]));
        }
        for (std::uint32_t i = 0; i < n; ++i) {
            const bool any = i % 3 == 1;
            const std::int64_t source = any ? v.any_but(before) : before, tag = i % 3 == 2 ? v.any_tag_but(7) : 7;
            LANEWAY_OK(world.irecv(ctx, v.to[i * part], part, source, tag, receives[i]));
        }
        for (std::uint32_t i = 0; i < n; ++i) {
            message_status got;
            LANEWAY_OK(world.wait(ctx, receives[i], &got));
            v.expect(ctx, got.bytes == (1 + (i * 37 + 1) % part) * 8);
            v.expect_words(ctx, i * part, got.bytes / 8, static_cast<unsigned>(before), i);
        }
        LANEWAY_OK(world.wait_all(ctx, sends, n));
    }
};

/// As manylmt, many_isend: many long payloads at once, fetched in pieces, to and from all.
struct many_long_ones {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        constexpr std::uint32_t most = 8;
        message_request requests[2 * most];
        const auto pes = static_cast<std::uint32_t>(ctx.n_pes());
        std::uint32_t n = 0;
        const std::uint64_t length = 4 * room - 3;  // 64 KiB: several pieces
        v.write(ctx, 0, length, 1);
        for (std::uint32_t pe = 0; pe < pes && pe < 2; ++pe) {
            const std::uint32_t other = (static_cast<std::uint32_t>(ctx.pe()) + pe) % pes;
            const std::uint32_t source = (static_cast<std::uint32_t>(ctx.pe()) + pes - pe) % pes;
            LANEWAY_OK(world.irecv(ctx, v.to[pe * 4 * room], length, source, pe, requests[n++]));
            LANEWAY_OK(world.isend(ctx, v.from[0], length, other, pe, requests[n++]));
        }
        LANEWAY_OK(world.wait_all(ctx, requests, n));
        for (std::uint32_t pe = 0; pe < pes && pe < 2; ++pe) {
            const std::uint32_t source = (static_cast<std::uint32_t>(ctx.pe()) + pes - pe) % pes;
            v.expect_words(ctx, pe * 4 * room, length, source, 1);
        }
    }
};

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

/// As anyall and waitany: receives of any source take one message of each rank, in the order in which they come.
struct one_of_each {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        constexpr std::uint32_t most = 8;
        message_request receives[most];
        std::uint64_t got[most] = {};
        const auto n = static_cast<std::uint32_t>(ctx.n_pes());
        for (std::uint32_t i = 0; i < n; ++i)
            LANEWAY_OK(world.irecv(ctx, got + i, 1, v.any_but(i), v.any_tag_but(40 + i), receives[i]));
        const std::uint64_t mine = 100 + static_cast<unsigned>(ctx.pe());
        for (std::uint32_t i = 0; i < n; ++i) LANEWAY_OK(world.send(ctx, &mine, 1, i, 40 + ctx.pe()));
        std::uint32_t seen = 0;
        for (std::uint32_t i = 0; i < n; ++i) {
            std::uint32_t which = 0;
            message_status what;
            LANEWAY_OK(world.wait_any(ctx, receives, n, which, &what));
            v.expect(ctx, which < n && got[which] == 100 + what.source && what.tag == 40 + what.source);
            seen |= 1u << what.source;
        }
        v.expect(ctx, seen == (1u << n) - 1);
    }
};

/// As issend and ssend tests: over when a receive has got the message, of all forms, whether the receive or the message
/// was first; through rings of few slots, where the others wait.
struct synchronous_sends {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        constexpr std::uint32_t n = 8;
        const int me = ctx.pe(), next = (me + 1) % ctx.n_pes(), before = (me + ctx.n_pes() - 1) % ctx.n_pes();
        message_request sends[n], receives[n];
        bool over = true;
        std::uint64_t a = 1, b = 0;
        LANEWAY_OK(world.issend(ctx, &a, 1, me, 100, sends[0]));  // nobody receives it
        for (int i = 0; i < 3; ++i) {
            LANEWAY_OK(world.test(ctx, sends[0], over));
            v.expect(ctx, !over);
        }
        LANEWAY_OK(world.recv(ctx, &b, 1, me, 100));
        LANEWAY_OK(world.wait(ctx, sends[0]));
        v.expect(ctx, b == 1);
        for (std::uint32_t i = 0; i < n; ++i) {
            v.write(ctx, i * room / 8, room / 8, i);
            if (i % 2 != 0) LANEWAY_OK(receive(ctx, world, before, i, receives[i]));
            LANEWAY_OK(world.issend(ctx, v.from[i * room / 8], length(i), next, i, sends[i]));
        }
        LANEWAY_OK(world.test_all(ctx, sends, n, over));
        message_status seen;  // none is lost to a probe, nor over for it
        LANEWAY_OK(world.probe(ctx, before, 2, seen));
        v.expect(ctx, seen.bytes == length(2) * 8);
        for (std::uint32_t i = 0; i < n; i += 2) LANEWAY_OK(receive(ctx, world, before, i, receives[i]));
        message_status got[n];
        LANEWAY_OK(world.wait_all(ctx, receives, n, got));
        LANEWAY_OK(world.wait_all(ctx, sends, n));
        for (std::uint32_t i = 0; i < n; ++i) {
            v.expect(ctx, got[i].bytes == length(i) * 8 && got[i].source == static_cast<unsigned>(before));
            v.expect_words(ctx, i * room / 8, length(i), static_cast<unsigned>(before), i);
        }
        std::uint64_t seven[7] = {1, 2, 3, 4, 5, 6, 7}, others[7] = {};  // of a length that takes a slot
        LANEWAY_OK(world.irecv(ctx, others, 7, before, 50, receives[0]));
        for (std::uint64_t i = 0; i < 7; ++i) v.from.local(ctx)[i] = seven[i];
        LANEWAY_OK(world.ssend(ctx, v.from[0], 7, next, 50));
        LANEWAY_OK(world.wait(ctx, receives[0]));
        for (std::uint64_t i = 0; i < 7; ++i) v.expect(ctx, others[i] == seven[i]);
    }
    static LANEWAY_FN std::uint64_t length(std::uint32_t i) {
        constexpr std::uint64_t lengths[] = {0, 1, 6, 7, 8, 20, 40, room / 8};
        return lengths[i];
    }
    template <class Ctx, class World>
    LANEWAY_FN status receive(Ctx& ctx, World& world, int source, std::uint32_t i, message_request& begun) const {
        return world.irecv(ctx, v.to[i * room / 8], room / 8, source, i, begun);
    }
};

/// As the tests of MPI_PROC_NULL: what goes to nobody is sent, what comes from nobody is there, and empty.
struct nobody_there {
    case_view v;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        std::uint64_t a = 1, b = 2;
        message_request requests[3];
        message_status got;
        bool found = false;
        LANEWAY_OK(world.send(ctx, &a, 1, proc_null, 3));
        LANEWAY_OK(world.ssend(ctx, &a, 1, proc_null, 3));
        LANEWAY_OK(world.issend(ctx, v.from[0], room, proc_null, 3, requests[0]));
        LANEWAY_OK(world.recv(ctx, &b, 1, proc_null, v.any_tag_but(3), &got));
        v.expect(ctx, is_nothing(got) && b == 2);
        LANEWAY_OK(world.irecv(ctx, &b, 1, proc_null, 3, requests[1]));
        LANEWAY_OK(world.cancel(ctx, requests[1]));
        std::uint32_t which = 9;
        got = {};
        LANEWAY_OK(world.wait_any(ctx, requests + 1, 2, which, &got));
        v.expect(ctx, which == 0 && is_nothing(got) && requests[1].is_null());
        LANEWAY_OK(world.wait(ctx, requests[0]));
        LANEWAY_OK(world.iprobe(ctx, proc_null, 3, found, got = {}));
        v.expect(ctx, found && is_nothing(got));
        LANEWAY_OK(world.probe(ctx, proc_null, 3, got = {}));
        v.expect(ctx, is_nothing(got));
        // As with a grid's edge: what comes from the other side goes on.
        const int me = ctx.pe(), last = ctx.n_pes() - 1;
        const std::int64_t right = me == last ? std::int64_t{proc_null} : me + 1;
        const std::int64_t left = me == 0 ? std::int64_t{proc_null} : me - 1;
        a = 10 + static_cast<unsigned>(me);
        LANEWAY_OK(world.sendrecv(ctx, &a, 1, right, 4, &b, 1, left, 4, &got));
        v.expect(ctx, me == 0 ? is_nothing(got) && b == 2 : b == a - 1 && got.bytes == 8);
    }
    static LANEWAY_FN bool is_nothing(const message_status& got) {
        return got.source == proc_null && got.tag == any_tag && got.bytes == 0 && !got.cancelled;
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

#define LANEWAY_CASE(name, what) \
    TEST_P(communicator_cases, name) { run_case<what>(GetParam()); }
LANEWAY_CASE(MessagesToOneself, to_oneself)
LANEWAY_CASE(AllLengthsArriveWhole, all_lengths)
LANEWAY_CASE(AllSendBeforeAnybodyReceives, head_to_head)
LANEWAY_CASE(UnexpectedMessagesAreProbedFor, probed_unexpected)
LANEWAY_CASE(MessagesDoNotOvertake, not_overtaking)
LANEWAY_CASE(LongPayloadsAreFetchedTogether, many_long_ones)
LANEWAY_CASE(NullRequestsArePassedOver, null_requests)
LANEWAY_CASE(ReceivesAreTakenBack, taken_back)
LANEWAY_CASE(AnySourceTakesOneOfEach, one_of_each)
LANEWAY_CASE(SynchronousSendsAreOverWhenReceived, synchronous_sends)
LANEWAY_CASE(NobodySendsNothing, nobody_there)
LANEWAY_CASE(MatchedProbesTakeMessagesOut, matched_probes)
LANEWAY_CASE(SomeOfSeveralAreOver, some_of_several)
#undef LANEWAY_CASE

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
        const std::uint64_t me = ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes()));
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

LANEWAY_ON_DEVICES(communicator_cases, communicator_devices());

}  // namespace
}  // namespace laneway::test
