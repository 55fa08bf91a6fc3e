// Messages that are longer than their receives, by all calls that receive: the run ends and both lengths are named.
#pragma once

#include "communicator_misuse_case.hpp"

namespace laneway::test {
namespace {

enum class receiving { irecv_before, irecv, recv, mrecv, imrecv, sendrecv };
constexpr receiving all_receiving[] = {receiving::irecv_before, receiving::irecv,  receiving::recv,
                                       receiving::mrecv,        receiving::imrecv, receiving::sendrecv};

/// A message to oneself of so many words, and a receive of `taken`.
struct too_short {
    receiving by;
    std::uint64_t words, taken;
    width lanes = width::lane;

    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other&, const symmetric_ref<std::uint64_t>& room) const {
        const int me = ctx.pe();
        const auto to = room[512];
        message_request receive, send;
        message_status seen;
        if (by == receiving::sendrecv) {
            (void)world.sendrecv(ctx, room[0], words, me, 1, to, taken, me, 1, nullptr, lanes);
            return;
        }
        const bool before = by == receiving::irecv_before;
        if (before && world.irecv(ctx, to, taken, me, 1, receive, lanes) != status::ok) return;
        if (world.isend(ctx, room[0], words, me, 1, send, lanes) != status::ok) return;
        if (by == receiving::recv) {
            (void)world.recv(ctx, to, taken, me, 1, nullptr, lanes);
            return;
        }
        const bool matches = by == receiving::mrecv || by == receiving::imrecv;
        if (matches && world.mprobe(ctx, me, 1, receive, seen, lanes) != status::ok) return;
        if (by == receiving::mrecv) {
            (void)world.mrecv(ctx, to, taken, receive, nullptr, lanes);
            return;
        }
        if (by == receiving::imrecv && world.imrecv(ctx, to, taken, receive, lanes) != status::ok) return;
        if (by == receiving::irecv && world.irecv(ctx, to, taken, me, 1, receive, lanes) != status::ok) return;
        (void)world.wait(ctx, receive, nullptr, lanes);
    }
};

/// On all warps, or blocks; who comes first ends the run.
struct too_short_together {
    too_short wrong;
    symmetric_ref<std::uint64_t> room;

    template <class Ctx, class World, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, World& world, Other& other) const {
        wrong(ctx, world, other, room);
    }
};

/// In words, as a payload in a slot, fetched.
constexpr std::uint64_t lengths_in_words[] = {3, 100, 500};

std::string lengths_of(std::uint64_t words) {
    return "the message has " + std::to_string(8 * words) + " bytes, the receive takes " +
           std::to_string(8 * (words - 1));
}
const std::string too_long = "a message is longer than its receive while receiving a message from PE ";

TEST_P(communicator_misuse, AReceiveThatIsTooShortNamesBothLengths) {
    communicator_options unordered;
    unordered.rules = {.no_any_source = true, .no_any_tag = true, .allow_overtaking = true};
    for (const communicator_options& how : {communicator_options{}, unordered}) {
        for (const receiving by : all_receiving) {
            SCOPED_TRACE("call " + std::to_string(static_cast<int>(by)));
            expect<device_fault>(too_short{by, 3, 2}, too_long, how);
            for (const std::uint64_t words : lengths_in_words) {
                expect<device_fault>(too_short{by, words, words - 1}, lengths_of(words), how);
            }
        }
    }
}

TEST_P(communicator_misuse, TheExactLengthThatIsPromisedIsChecked) {
    communicator_options exact;
    exact.exact_length = true;
    const std::string what = "not as long as its receive, as the communicator promises while";
    for (const receiving by : all_receiving) {
        SCOPED_TRACE("call " + std::to_string(static_cast<int>(by)));
        expect<device_fault>(too_short{by, 3, 4}, what, exact);
        expect<device_fault>(too_short{by, 3, 4}, "the message has 24 bytes, the receive takes 32", exact);
    }
}

TEST_P(communicator_misuse, WarpsAndBlocksAreToldOfReceivesThatAreTooShort) {
    for (const width lanes : {width::warp, width::block}) {
        for (const receiving by : all_receiving) {
            for (const std::uint64_t words : lengths_in_words) {
                SCOPED_TRACE("call " + std::to_string(static_cast<int>(by)) + ", words " + std::to_string(words));
                runtime rt(job());
                const auto room = rt.allocate<std::uint64_t>(1024);
                auto world = rt.communicator(), other = rt.communicator();
                const too_short_together wrong{{by, words, words - 1, lanes}, room.ref()};
                const std::string what = thrown<device_fault>([&] { rt.run(wrong, world, other); });
                EXPECT_NE(what.find(too_long), std::string::npos) << what;
                EXPECT_NE(what.find(lengths_of(words)), std::string::npos) << what;
            }
        }
    }
}

/// What the fault says that ends the session of a host thread whose receive is too short.
template <class Receive>
std::string session_fault(options o, std::uint64_t words, Receive&& receive) {
    o.timeout_seconds = 60;  // real time: a host thread waits
    runtime rt(o);
    auto world = rt.communicator();
    const std::vector<std::uint64_t> sent(words);
    std::vector<std::uint64_t> got(words);
    return thrown<device_fault>([&] {
        auto session = rt.start(world);
        host_message send = world.isend(0, sent.data(), words, rt.n_pes() - 1, 1);
        receive(world, rt.n_pes() - 1, got.data(), words - 1);
        session.stop();
    });
}

TEST_P(communicator_misuse, HostThreadsAreToldOfReceivesThatAreTooShort) {
    for (const std::uint64_t words : lengths_in_words) {
        const auto later = [](communicator& world, int rank, std::uint64_t* to, std::uint64_t taken) {
            (void)world.irecv(rank, to, taken, 0, 1).wait();
        };
        const auto at_once = [](communicator& world, int rank, std::uint64_t* to, std::uint64_t taken) {
            (void)world.recv(rank, to, taken, any_source, any_tag);
        };
        for (const std::string& what : {session_fault(job(), words, later), session_fault(job(), words, at_once)}) {
            EXPECT_NE(what.find(too_long), std::string::npos) << what;
            EXPECT_NE(what.find(lengths_of(words)), std::string::npos) << what;
        }
    }
}

}  // namespace
}  // namespace laneway::test
