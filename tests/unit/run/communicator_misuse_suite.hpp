// Two-sided messages that cannot be, or that nobody receives: errors name source, tag and communicator.
#pragma once

#include "communicator_misuse_case.hpp"

namespace laneway::test {
namespace {

/// One call that is refused.
struct one_call {
    enum class kind { send, receive, probe } what;
    std::int64_t peer;
    std::int64_t tag;
    std::uint64_t count = 1;
    std::uint64_t at = 0;

    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        if (ctx.pe() != 0) return;
        message_status seen;
        bool found = false;
        if (what == kind::send) (void)world.send(ctx, room[at], count, peer, tag);
        if (what == kind::receive) (void)world.recv(ctx, room[at], count, peer, tag);
        if (what == kind::probe) (void)world.iprobe(ctx, peer, tag, found, seen);
    }
};

TEST_P(communicator_misuse, RanksAndTagsThatCannotBe) {
    using kind = one_call::kind;
    const int pes = runtime(job()).n_pes();
    const std::string there = "the job has " + std::to_string(pes) + (pes == 1 ? " PE" : " PEs");
    expect<device_fault>(one_call{kind::send, pes, 1},
                         "no such PE while sending a message to PE " + std::to_string(pes) + ": " + there);
    expect<device_fault>(one_call{kind::receive, -1, 1}, "no such PE while receiving a message from PE -1: " + there);
    expect<device_fault>(one_call{kind::probe, 99, 1}, "no such PE while probing for a message from PE 99: " + there);
    expect<device_fault>(
        one_call{kind::send, 0, any_source},
        "no such tag while sending a message to PE 0: tag 4294967295, where there are 0 to 2147483647");
    expect<device_fault>(one_call{kind::send, 0, -3}, "tag -3, where there are 0 to 2147483647");
    expect<device_fault>(one_call{kind::receive, any_source, -1},
                         "no such tag while receiving a message: tag -1, where there are 0 to 2147483647");
    expect<device_fault>(one_call{kind::receive, 0, std::int64_t{1} << 31}, "tag 2147483648, where there are");
    expect<device_fault>(one_call{kind::send, any_source, 0}, "no such PE while sending a message to PE -1");
    expect<device_fault>(one_call{kind::send, proc_null, -3}, "no such tag while sending a message: tag -3, where");
    expect<device_fault>(one_call{kind::receive, proc_null, -3},
                         "no such tag while receiving a message: tag -3, where");
    expect<device_fault>(one_call{kind::probe, proc_null, -3},
                         "no such tag while probing for a message: tag -3, where");
    expect<device_fault>(one_call{kind::send, 0, 0, 5, 1020}, "element 8192, where there are 0 to 8191");
    expect<device_fault>(one_call{kind::receive, 0, 0, 1025}, "element 8192, where there are 0 to 8191");
    constexpr auto wraps = std::uint64_t{1} << 61;  // 0 bytes, modulo 2^64
    expect<device_fault>(one_call{kind::send, 0, 0, wraps}, "element 8192, where there are 0 to 8191");
    expect<device_fault>(one_call{kind::receive, 0, 0, wraps}, "element 8192, where there are 0 to 8191");
}

TEST_P(communicator_misuse, PromisesAreKeptOrTheRunEnds) {
    using kind = one_call::kind;
    communicator_options how;
    how.rules = {.no_any_source = true, .no_any_tag = true};
    expect<device_fault>(one_call{kind::receive, any_source, 3},
                         "a wildcard that the communicator promises not to use while receiving a message: from any PE, "
                         "tag 3 of communicator 0",
                         how);
    expect<device_fault>(one_call{kind::probe, 0, any_tag},
                         "probing for a message from PE 0: any tag of communicator 0", how);
    how.rules.allow_overtaking = true;
    expect<device_fault>(one_call{kind::receive, 0, any_tag},
                         "a wildcard that the communicator promises not to use while receiving a message from PE 0",
                         how);
    for (const bool unordered : {false, true}) {
        how.rules = {unordered, unordered, true, unordered};
        expect<device_fault>(one_call{kind::send, 0, 4},
                             "a message found no receive, as the communicator promises while receiving a message from "
                             "PE 0: tag 4 of communicator 0",
                             how);
    }
}

struct waits_twice {
    bool tests;
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        message_request receive;
        if (world.irecv(ctx, room[0], 1, ctx.pe(), 1, receive) != status::ok) return;
        if (world.send(ctx, room[1], 1, ctx.pe(), 1) != status::ok) return;
        message_request again = receive;
        if (world.wait(ctx, receive) != status::ok) return;
        bool over = false;
        (void)(tests ? world.test(ctx, again, over) : world.wait(ctx, again));
    }
};
struct waits_elsewhere {
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other& other, const symmetric_ref<std::uint64_t>& room) const {
        message_request receive;
        if (world.irecv(ctx, room[0], 1, ctx.pe(), 1, receive) != status::ok) return;
        (void)other.wait(ctx, receive);
    }
};
/// Requests that are none, among others.
struct looks_at_several {
    enum class call { test_any, test_all, test_some, wait_any, wait_some } what;
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        message_request all[2];
        if (world.irecv(ctx, room[0], 1, ctx.pe(), 1, all[0]) != status::ok) return;
        if (world.send(ctx, room[1], 1, ctx.pe(), 1) != status::ok) return;
        if (world.irecv(ctx, room[0], 1, ctx.pe(), 2, all[1]) != status::ok) return;
        if (world.wait(ctx, all[0]) != status::ok) return;
        std::uint32_t which = 0, n = 0, indices[2];
        bool over = false;
        if (what == call::test_any) (void)world.test_any(ctx, all, 2, which, over);
        if (what == call::test_all) (void)world.test_all(ctx, all, 2, over);
        if (what == call::test_some) (void)world.test_some(ctx, all, 2, n, indices);
        if (what == call::wait_any) (void)world.wait_any(ctx, all, 2, which);
        if (what == call::wait_some) (void)world.wait_some(ctx, all, 2, n, indices);
    }
};
/// A short message that nobody receives: a plain send would be over.
struct synchronous_in_vain {
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        if (ctx.pe() == 0) (void)world.ssend(ctx, room[0], 2, ctx.n_pes() - 1, 8);
    }
};
/// A message that has been matched: it is received, once, and not just waited for.
struct matched_and_not_received {
    enum class then { wait, leave, twice } what;
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        message_request message;
        message_status seen;
        if (world.send(ctx, room[1], 1, ctx.pe(), 1) != status::ok) return;
        if (world.mprobe(ctx, ctx.pe(), 1, message, seen) != status::ok) return;
        if (what == then::wait) (void)world.wait(ctx, message);
        if (what != then::twice || world.mrecv(ctx, room[0], 1, message) != status::ok) return;
        (void)world.mrecv(ctx, room[0], 1, message);
    }
};
struct never_waits {
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        message_request receive;
        (void)world.irecv(ctx, room[0], 1, any_source, 6, receive);
    }
};
struct too_many {
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        message_request receive;
        for (std::uint32_t i = 0; i < 33; ++i) {
            if (world.irecv(ctx, room[i], 1, 0, i, receive) != status::ok) return;
        }
    }
};

TEST_P(communicator_misuse, RequestsAreWaitedForOnce) {
    const std::string used =
        "the request has been waited for already, or belongs to another communicator while using a request: request #";
    expect<device_fault>(waits_twice{false}, used.substr(0, used.size() - 1));
    expect<device_fault>(waits_twice{true}, " of communicator 0");
    expect<device_fault>(waits_elsewhere{}, " of communicator 1");
    using then = matched_and_not_received::then;
    expect<device_fault>(matched_and_not_received{then::wait}, used.substr(0, used.size() - 1));
    expect<device_fault>(matched_and_not_received{then::twice}, used.substr(0, used.size() - 1));
    expect<device_fault>(matched_and_not_received{then::leave}, "nobody has waited for the request of the operation");
    using call = looks_at_several::call;
    for (const call what : {call::test_any, call::test_all, call::test_some, call::wait_any, call::wait_some}) {
        expect<device_fault>(looks_at_several{what}, used.substr(0, used.size() - 1));
    }
    expect<device_fault>(never_waits{},
                         "nobody has waited for the request of the operation while receiving a message: from any PE, "
                         "tag 6 of communicator 0");
    expect<device_fault>(too_many{},
                         "of 32 places none is free for another request, see communicator_options.requests");
}

/// A receive in vain, whose handle stays behind.
struct leave_a_handle {
    symmetric_ref<message_request> kept;
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        message_request receive;
        if (world.irecv(ctx, room[0], 1, ctx.pe(), 1, receive) != status::ok) return;
        kept.local(ctx)[0] = receive;
        (void)world.wait(ctx, receive);
    }
};
/// A receive that takes the same place, and is not meant by that handle.
struct wait_for_kept_handle {
    symmetric_ref<message_request> kept;
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        message_request receive;
        if (world.irecv(ctx, room[0], 1, ctx.pe(), 1, receive) != status::ok) return;
        if (world.send(ctx, room[1], 1, ctx.pe(), 1) != status::ok) return;
        message_request before = kept.local(ctx)[0];
        (void)world.wait(ctx, before);
    }
};

TEST_P(communicator_misuse, HandlesOfARunThatFailedNameNoLaterRequest) {
    runtime rt(job(1));
    const auto room = rt.allocate<std::uint64_t>(2);
    const auto kept = rt.allocate<message_request>(1);
    auto world = rt.communicator({.requests = 32}), other = rt.communicator();
    EXPECT_NE(thrown<timeout_error>([&] {
                  rt.run(first_lane<leave_a_handle>{{kept.ref()}, room.ref()}, world, other);
              }).find("tag 1 of communicator 0"),
              std::string::npos);
    rt.set_timeout(job().timeout_seconds);
    const std::string what = thrown<device_fault>([&] {
        rt.run(first_lane<wait_for_kept_handle>{{kept.ref()}, room.ref()}, world, other);
    });
    EXPECT_NE(what.find("the request has been waited for already"), std::string::npos) << what;
}

/// The last rank sends two messages that PE 0 does not ask for; it waits for another.
struct waits_in_vain {
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        if (ctx.pe() == ctx.n_pes() - 1) {
            if (world.send(ctx, room[0], 2, 0, 8) != status::ok || world.send(ctx, room[0], 0, 0, 9) != status::ok)
                return;
        }
        if (ctx.pe() == 0) (void)world.recv(ctx, room[0], 1, 0, 7);
    }
};

TEST_P(communicator_misuse, WhoWaitsInVainIsToldWhatStandsInTheQueues) {
    const std::string last = std::to_string(runtime(job()).n_pes() - 1);
    expect<timeout_error>(
        waits_in_vain{},
        {"deadline passed while receiving a message from PE 0: tag 7 of communicator 0; the deadline is",
         "communicator 0: PE 0 has receive of tag 7 from PE 0; unexpected message of 16 bytes, tag 8 from PE " + last +
             ", unexpected message of 0 bytes, tag 9 from PE " + last});
}

TEST_P(communicator_misuse, ASynchronousSendThatNobodyReceivesIsTold) {
    const std::string last = std::to_string(runtime(job()).n_pes() - 1);
    expect<timeout_error>(
        synchronous_in_vain{},
        {"deadline passed while sending a message to PE " + last + ": tag 8 of communicator 0; the deadline is",
         "PE 0 has send of 16 bytes, tag 8 to PE " + last, "unexpected message of 16 bytes, tag 8 from PE 0"});
}

/// Each rank sends a long message to the next and waits before it receives: nobody ever does.
struct send_in_a_circle {
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        if (world.send(ctx, room[0], 500, next, 2) == status::ok) (void)world.recv(ctx, room[0], 500, any_source, 2);
    }
};
/// The same with short messages, more than may wait unexpected.
struct flood_in_a_circle {
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        for (int i = 0; i < 40; ++i) {
            if (world.send(ctx, room[0], 1, next, 2) != status::ok) return;
        }
        for (int i = 0; i < 40; ++i) {
            if (world.recv(ctx, room[0], 1, any_source, 2) != status::ok) return;
        }
    }
};

TEST_P(communicator_misuse, ADeadlockIsToldAsACircleOfRanks) {
    const int pes = runtime(job()).n_pes();
    const auto circle = [&](const std::string& size) {
        std::string text = "ranks wait in a circle:";
        for (int pe = 0; pe < pes; ++pe) {
            text += " PE " + std::to_string(pe) + " (send of " + size + " bytes, tag 2 to PE " +
                    std::to_string((pe + 1) % pes) + ") ->";
        }
        return text + " PE 0";
    };
    expect<timeout_error>(send_in_a_circle{}, circle("4000"));
    expect<timeout_error>(flood_in_a_circle{}, circle("8"), {.unexpected = 8, .ring_slots = 4});
    EXPECT_NO_THROW((void)failure<std::nullptr_t>(flood_in_a_circle{}, {.unexpected = 64, .ring_slots = 4}));
}

/// All but the last rank wait for whoever sends: that one might have.
struct wait_for_who_has_returned {
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        if (ctx.pe() != ctx.n_pes() - 1) (void)world.recv(ctx, room[0], 1, any_source, 2);
    }
};
/// What ends the run is no wait, though all ranks have receives.
struct receive_too_little {
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        if (world.send(ctx, room[0], 4, next, 2) != status::ok) return;
        (void)world.recv(ctx, room[8], 2, before, 2);
    }
};

TEST_P(communicator_misuse, WhereARankMightStillSendThereIsNoCircle) {
    const std::string little = failure<device_fault>(receive_too_little{});
    EXPECT_EQ(little.find("circle"), std::string::npos) << little;
    if (runtime(job()).n_pes() == 1) return;
    const std::string late = failure<timeout_error>(wait_for_who_has_returned{}, {}, 0.5);
    EXPECT_EQ(late.find("circle"), std::string::npos) << late;
}

/// The last rank sends more than may wait and the ring holds before what PE 0 waits for.
struct wait_behind_all {
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        if (ctx.pe() == ctx.n_pes() - 1) {
            for (int i = 0; i < 20; ++i) {
                if (world.send(ctx, room[0], 1, 0, 1) != status::ok) return;
            }
            if (world.send(ctx, room[0], 1, 0, 2) != status::ok) return;
        }
        if (ctx.pe() == 0) (void)world.recv(ctx, room[0], 1, ctx.n_pes() - 1, 2);
    }
};

TEST_P(communicator_misuse, MoreThanMayWaitBeforeWhatIsAwaitedIsTold) {
    const std::string last = std::to_string(runtime(job()).n_pes() - 1);
    const communicator_options how{.unexpected = 8, .ring_slots = 4};
    expect<timeout_error>(wait_behind_all{},
                          "no room for more unexpected messages, communicator_options::unexpected, 8", how);
    const std::string send = "(send of 8 bytes, tag 1 to PE 0)";
    if (last == "0") return expect<timeout_error>(wait_behind_all{}, "circle: PE 0 " + send + " -> PE 0", how);
    expect<timeout_error>(
        wait_behind_all{},
        "ranks wait in a circle: PE 0 (receive of tag 2 from PE " + last + ") -> PE " + last + " " + send + " -> PE 0",
        how);
}

/// As many payloads as memory and ring hold, then a receive of what is sent behind one more.
struct wait_behind_payloads {
    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        message_request sent[14];
        for (std::uint32_t i = 0; i < 14; ++i) {
            if (world.isend(ctx, room[0], 16, next, i, sent[i]) != status::ok) return;
        }
        (void)world.recv(ctx, room[16], 16, any_source, 13);
    }
};

TEST_P(communicator_misuse, MemoryThatIsUsedUpIsNamed) {
    expect<timeout_error>(
        wait_behind_payloads{},
        "used up memory for unexpected messages, communicator_options::unexpected_bytes, 1024 of 1024 "
        "bytes in 8 payloads",
        {.unexpected_bytes = 1024, .ring_slots = 4, .eager_bytes = 128});
}

TEST_P(communicator_misuse, TheHostRefusesWhatCannotBe) {
    runtime rt(job());
    const auto refused = [&](const communicator_options& o) {
        return thrown<usage_error>([&] { (void)rt.communicator(o); });
    };
    EXPECT_EQ(refused({.requests = 100}), "communicator_options::requests: a power of two from 32 to 1048576, not 100");
    EXPECT_EQ(refused({.unexpected = 0}), "communicator_options::unexpected: from 1 to 1048576, not 0");
    EXPECT_EQ(refused({.unexpected_bytes = std::uint64_t{1} << 40}),
              "communicator_options::unexpected_bytes: 17179869184 at most, not 1099511627776");
    EXPECT_EQ(
        refused({.engines = 4}),
        "communicator_options::engines: 4 share messages by their source, or by source and tag, so rules.no_any_source "
        "must be promised");
    EXPECT_EQ(refused({.ring_slots = 3}), "communicator_options::ring_slots: a power of two from 1 to 65536, not 3");
    EXPECT_EQ(refused({.ring_looks = 1u << 21}), "communicator_options::ring_looks: 1048576 at most, not 2097152");
    EXPECT_EQ(refused({.eager_bytes = 100}),
              "communicator_options::eager_bytes: a multiple of 16 from 64 to 1048576, not 100");
    runtime other(job());
    auto world = rt.communicator(), second = rt.communicator();
    EXPECT_EQ(thrown<usage_error>([&] { other.run(nothing_at_all{}, world, second); }),
              "a communicator belongs to the runtime that has made it");
}

LANEWAY_ON_DEVICES(communicator_misuse, communicator_devices());

}  // namespace
}  // namespace laneway::test
