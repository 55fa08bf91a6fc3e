// The point-to-point cases that tests of MPI libraries have, written anew: messages to oneself, of all lengths, floods,
// messages that nobody expects yet, to nobody.
#pragma once

#include "communicator_case.hpp"

namespace laneway::test {
namespace {

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

LANEWAY_CASE(MessagesToOneself, to_oneself)
LANEWAY_CASE(AllLengthsArriveWhole, all_lengths)
LANEWAY_CASE(AllSendBeforeAnybodyReceives, head_to_head)
LANEWAY_CASE(UnexpectedMessagesAreProbedFor, probed_unexpected)
LANEWAY_CASE(MessagesDoNotOvertake, not_overtaking)
LANEWAY_CASE(LongPayloadsAreFetchedTogether, many_long_ones)
LANEWAY_CASE(AnySourceTakesOneOfEach, one_of_each)
LANEWAY_CASE(SynchronousSendsAreOverWhenReceived, synchronous_sends)
LANEWAY_CASE(NobodySendsNothing, nobody_there)

LANEWAY_ON_DEVICES(communicator_cases, communicator_devices());

}  // namespace
}  // namespace laneway::test
