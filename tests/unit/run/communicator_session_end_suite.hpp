// What the end of a session leaves of messages of host threads and of their handles.
#pragma once

#include <atomic>
#include <thread>

#include "communicator_session_case.hpp"

namespace laneway::test {
namespace {

struct nothing_to_do {
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx&, World&) const {}
};

struct receive_in_vain {
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        std::uint64_t word = 0;
        if (ctx.pe() == 0 && ctx.local_rank() == 0) (void)world.recv(ctx, &word, 1, ctx.n_pes() - 1, 7);
    }
};

/// The host tells lanes of a session that its deadline has passed.
TEST_P(communicator_session, ADeadlineTellsWhatLanesOfTheBodyWaitFor) {
    options o = options_of(GetParam(), 5);
    o.timeout_seconds = is_checked(GetParam()) ? 0.5 : 1;  // of the host: in which the lane must have come there
    runtime rt(o);
    auto world = rt.communicator();
    const std::string what = thrown<timeout_error>([&] {
        auto session = rt.start(receive_in_vain{}, world);
        session.quiesce();
    });
    const std::string last = std::to_string(rt.n_pes() - 1);
    const std::string wait = "deadline passed while receiving a message from PE " + last + ": tag 7 of communicator 0";
    EXPECT_NE(what.find(wait), std::string::npos) << what;
}

/// A payload of so many words is with its receive when the session has been stopped.
TEST_P(communicator_session, WhatHasBeenSentIsReceivedBeforeTheEnd) {
    for (const std::uint64_t count : {1, 100'000}) {
        runtime rt(options_of(GetParam(), 6));
        auto world = rt.communicator({.host_bytes = 1u << 20});
        const int last = rt.n_pes() - 1;
        const auto sent = words_of(0, count, 1);
        std::vector<std::uint64_t> got(count), again(count);
        auto session = rt.start(world);
        host_message receive = world.irecv(last, got.data(), count, 0, 5);
        host_message send = world.isend(0, sent.data(), count, last, 5);
        session.quiesce();
        (void)send.wait();
        host_message other = world.isend(0, sent.data(), count, last, 6);
        host_message second = world.irecv(last, again.data(), count, 0, 6);
        session.stop();
        EXPECT_TRUE(receive.is_over() && second.is_over() && other.is_over());
        (void)receive.wait();
        (void)second.wait();
        EXPECT_EQ(got, sent);
        EXPECT_EQ(again, sent);
        EXPECT_TRUE(world.pending().empty()) << world.account();
    }
}

TEST_P(communicator_session, ASessionHasItsCommunicatorToItself) {
    runtime rt(options_of(GetParam(), 7));
    auto world = rt.communicator();
    std::uint64_t a = 3, b = 0;
    const int last = rt.n_pes() - 1;
    const std::string why = "the communicator belongs to a session that has not been stopped";
    auto session = rt.start(world);
    host_message receive = world.irecv(last, &b, 1, 0, 5);
    EXPECT_EQ(thrown<usage_error>([&] { rt.run(nothing_to_do{}, world); }), why);
    EXPECT_EQ(thrown<usage_error>([&] { world.clear(); }), why);
    world.send(0, &a, 1, last, 5);
    (void)receive.wait();
    EXPECT_EQ(b, 3u);
}

/// Receives that nobody sends to end with their session, also where a thread waits for one; what stands in the queues
/// stays for later.
TEST_P(communicator_session, TheEndTakesReceivesBack) {
    runtime rt(options_of(GetParam(), 8));
    auto world = rt.communicator();
    const int last = rt.n_pes() - 1;
    std::uint64_t a = 4, b = 0, c = 0;
    std::string what;
    {
        auto session = rt.start(world);
        world.send(0, &a, 1, last, 6);
        host_message left = world.irecv(last, &b, 1, 0, 5);
        std::atomic<bool> waits = false;
        std::thread waiting([&] {
            waits = true;
            what = thrown<usage_error>([&] { (void)world.recv(0, &c, 1, any_source, 7); });
        });
        while (!waits) std::this_thread::yield();
        session.stop();
        waiting.join();
        EXPECT_NE(thrown<usage_error>([&] { (void)left.wait(); }).find("the session was stopped before a message came"),
                  std::string::npos);
    }
    const bool told = what.find("stopped") != std::string::npos || what.find("while a session") != std::string::npos;
    EXPECT_TRUE(told) << what;
    ASSERT_EQ(world.pending().size(), 1u) << world.account();
    rt.run(nothing_to_do{}, world);
    auto session = rt.start(world);
    EXPECT_EQ(world.recv(last, &b, 1, 0, any_tag).tag, 6u);
    EXPECT_EQ(b, 4u);
}

TEST_P(communicator_session, LongSendsThatNobodyReceivesAreTold) {
    runtime rt(options_of(GetParam(), 9));
    auto world = rt.communicator();
    const std::vector<std::uint64_t> words(1000);
    auto session = rt.start(world);
    (void)world.isend(0, words.data(), 1000, rt.n_pes() - 1, 2);
    EXPECT_EQ(thrown<usage_error>([&] { session.stop(); }),
              "communicator 0: the session is stopped with 1 send of host threads for PE 0 that nobody has "
              "received; the communicator's messages are dropped");
    EXPECT_NO_THROW(rt.run(nothing_to_do{}, world));
    EXPECT_TRUE(world.pending().empty());
}

TEST_P(communicator_session, HandlesAreOfTheirSession) {
    runtime rt(options_of(GetParam(), 10));
    auto world = rt.communicator({.host_operations = 2});
    const int last = rt.n_pes() - 1;
    std::uint64_t old = 77, c = 0, d = 0;
    const std::uint64_t x = 1, y = 2;
    host_message earlier;
    {
        auto session = rt.start(world);
        earlier = world.irecv(0, &old, 1, last, 1);
    }
    auto session = rt.start(world);
    host_message first = world.irecv(0, &c, 1, last, 1);
    EXPECT_THROW((void)earlier.wait(), usage_error);
    host_message second = world.irecv(0, &d, 1, last, 2);
    if (last != 0) {
        world.send(last, &x, 1, 0, 1);
        world.send(last, &y, 1, 0, 2);
        (void)first.wait();
        (void)second.wait();
        EXPECT_EQ(c, 1u);
        EXPECT_EQ(d, 2u);
    }
    EXPECT_EQ(old, 77u);
}

TEST_P(communicator_session, ASessionThatWasStoppedLetsTheNextBe) {
    runtime rt(options_of(GetParam(), 12));
    auto world = rt.communicator();
    const int last = rt.n_pes() - 1;
    std::uint64_t a = 5, b = 0;
    const auto next = [&] {  // the first one ends when the next one has begun
        auto first = rt.start(world);
        first.stop();
        return rt.start(world);
    }();
    world.send(0, &a, 1, last, 1);
    (void)world.recv(last, &b, 1, 0, 1);
    EXPECT_EQ(b, 5u);
}

/// A handle that goes before it was waited for keeps no slot and takes no message; nor does taking back need a slot.
TEST_P(communicator_session, HandlesMayBeDropped) {
    runtime rt(options_of(GetParam(), 11));
    auto world = rt.communicator({.host_operations = 1});
    const int last = rt.n_pes() - 1;
    std::uint64_t a = 9, b = 0;
    auto session = rt.start(world);
    for (std::uint64_t i = 0; i < 5; ++i) {
        a = i;
        (void)world.isend(0, &a, 1, last, 1);
        session.quiesce();
        EXPECT_EQ(world.recv(last, &b, 1, 0, 1).bytes, 8u);
        EXPECT_EQ(b, i);
        (void)world.irecv(last, &b, 1, 0, 2);  // is taken back, before this rank is given its slot again
        EXPECT_FALSE(world.iprobe(last, 0, any_tag).has_value());
        world.send(0, &a, 1, last, 2);
        EXPECT_EQ(world.recv(last, &b, 1, 0, 2).bytes, 8u);
        host_message back = world.irecv(last, &b, 1, 0, 3);
        back.cancel();
        EXPECT_TRUE(back.wait().cancelled);
    }
}

}  // namespace
}  // namespace laneway::test
