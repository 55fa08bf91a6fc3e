// Two-sided messages of host threads in a session, among each other and with lanes of later runs.
#pragma once

#include <atomic>
#include <thread>

#include "communicator_session_case.hpp"

namespace laneway::test {
namespace {

/// Each rank has a thread; messages of all forms go round.
TEST_P(communicator_session, ThreadsPassMessagesRound) {
    runtime rt(options_of(GetParam(), 1));
    auto world = rt.communicator({.eager_bytes = 256});
    auto session = rt.start(world);
    const int n = rt.n_pes();
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int rank = 0; rank < n; ++rank) {
        threads.emplace_back([&, rank] {
            std::uint64_t number = 0;
            for (const std::uint64_t count : {0, 1, 7, 8, 32, 33, 4000, 8192}) {
                ++number;
                const int before = (rank + n - 1) % n;
                const auto sent = words_of(rank, count, number);
                std::vector<std::uint64_t> got(8192, 5);
                const message_status what =
                    world.sendrecv(rank, sent.data(), count, (rank + 1) % n, 3, got.data(), 8192, any_source, any_tag);
                auto wanted = words_of(before, count, number);
                wanted.resize(8192, 5);
                const bool right = got == wanted && what.source == static_cast<unsigned>(before) && what.tag == 3 &&
                                   what.bytes == count * 8;
                if (!right) ++wrong;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    session.stop();
    EXPECT_TRUE(world.pending().empty()) << world.account();
}

TEST_P(communicator_session, ThreadsWaitForOneOfSeveral) {
    runtime rt(options_of(GetParam(), 5));
    auto world = rt.communicator();
    auto session = rt.start(world);
    const int last = rt.n_pes() - 1;
    std::uint64_t got[3] = {};
    std::vector<host_message> receives;
    for (int i = 0; i < 3; ++i) receives.push_back(world.irecv(0, got + i, 1, last, i));
    std::thread other([&] {
        for (const std::uint64_t tag : {2, 0, 1}) {
            const std::uint64_t value = tag + 10;
            world.send(last, &value, 1, 0, static_cast<std::int64_t>(tag));
        }
        EXPECT_EQ(world.probe(last, 0, 8).bytes, 16u);
    });
    std::uint32_t seen = 0;
    for (int i = 0; i < 3; ++i) {
        message_status what;
        const std::size_t which = communicator::wait_any(receives, what);
        ASSERT_LT(which, 3u);
        EXPECT_EQ(what.tag, which);
        EXPECT_EQ(got[which], which + 10);
        seen |= 1u << which;
    }
    EXPECT_EQ(seen, 7u);
    message_status nothing;
    EXPECT_EQ(communicator::wait_any(receives, nothing), 3u);
    std::vector<host_message> sends;
    sends.push_back(world.isend(0, got, 2, last, 8));
    communicator::wait_all(sends);
    other.join();
    EXPECT_EQ(world.recv(last, got, 3, any_source, any_tag).bytes, 16u);
}

TEST_P(communicator_session, SynchronousSendsAndSomeOfSeveral) {
    runtime rt(options_of(GetParam(), 13));
    auto world = rt.communicator({.host_bytes = 8192});
    const int last = rt.n_pes() - 1;
    auto session = rt.start(world);
    for (const std::uint64_t count : {0, 1, 7, 100, 1000}) {
        const auto sent = words_of(0, count, 3);
        std::vector<std::uint64_t> got(count);
        host_message send = world.issend(0, sent.data(), count, last, 3);
        (void)world.probe(last, 0, 3);
        EXPECT_FALSE(send.is_over()) << count;
        EXPECT_EQ(world.recv(last, got.data(), count, 0, 3).bytes, count * 8);
        (void)send.wait();
        EXPECT_EQ(got, sent);
    }
    std::uint64_t words[4] = {}, value = 5;
    std::vector<host_message> all;
    EXPECT_TRUE(communicator::test_any(all) && communicator::test_all(all));
    for (int i = 0; i < 4; ++i) all.push_back(world.irecv(last, words + i, 1, 0, i));
    EXPECT_FALSE(communicator::test_any(all));
    EXPECT_TRUE(communicator::test_some(all).empty());
    for (const int tag : {2, 0}) world.ssend(0, &value, 1, last, tag);
    std::size_t seen = 0;
    while (seen < 2) {
        for (const completed_message& one : communicator::wait_some(all)) {
            EXPECT_TRUE((one.which == 2 || one.which == 0) && one.got.tag == one.which && words[one.which] == 5);
            ++seen;
        }
    }
    EXPECT_FALSE(communicator::test_all(all));
    for (const int tag : {1, 3}) world.ssend(0, &value, 1, last, tag);
    communicator::wait_all(all = {all[1], all[3]});
    EXPECT_EQ(words[1] + words[3], 10u);
}

TEST_P(communicator_session, NobodySendsNothingToThreads) {
    runtime rt(options_of(GetParam(), 14));
    auto world = rt.communicator({.host_operations = 1});
    auto session = rt.start(world);
    std::uint64_t a = 1, b = 2;
    host_message sent = world.isend(0, &a, 1, proc_null, 1), got = world.irecv(0, &b, 1, proc_null, any_tag);
    EXPECT_TRUE(sent.is_over() && got.is_over());
    (void)sent.wait();
    const message_status what = got.wait();
    EXPECT_TRUE(what.source == proc_null && what.tag == any_tag && what.bytes == 0 && !what.cancelled);
    EXPECT_EQ(b, 2u);
    EXPECT_EQ(world.probe(0, proc_null, 1).source, proc_null);
    EXPECT_EQ(thrown<usage_error>([&] { (void)world.isend(0, &a, 1, proc_null, -1); }),
              "send of tag -1 to nobody by a host thread for PE 0, communicator 0: tags are 0 to 2147483647");
}

struct receive_there {
    symmetric_ref<std::uint64_t> got;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        if (ctx.pe() != ctx.n_pes() - 1 || ctx.local_rank() != 0) return;
        (void)world.recv(ctx, got[0], 1, 0, 2);
    }
};

TEST_P(communicator_session, WhatThreadsHaveSentLanesReceiveLater) {
    runtime rt(options_of(GetParam(), 3));
    auto world = rt.communicator();
    const auto got = rt.allocate<std::uint64_t>(1);
    const int last = rt.n_pes() - 1;
    for (std::uint64_t time = 1; time <= 3; ++time) {
        {
            auto session = rt.start(world);
            world.send(0, &time, 1, last, 2);
            session.stop();
        }
        rt.run(receive_there{got.ref()}, world);
        EXPECT_EQ(got.copy_out(last)[0], time);
    }
}

TEST_P(communicator_session, WhatThreadsMayNotDoIsRefused) {
    options o = options_of(GetParam(), 4);
    o.timeout_seconds = 1;
    runtime rt(o);
    auto world = rt.communicator({.host_operations = 2, .host_bytes = 128});
    std::uint64_t words[17] = {};
    const std::string pes = "where there are 0 to " + std::to_string(rt.n_pes() - 1);
    const auto refused = [&](auto&& call) { return thrown<usage_error>(call); };
    EXPECT_EQ(refused([&] { world.send(0, words, 1, 0, 1); }),
              "host threads send and receive while a session of the communicator goes on");
    {
        auto session = rt.start(world);
        EXPECT_EQ(refused([&] { world.send(9, words, 1, 0, 1); }),
                  "send of tag 1 to PE 0 by a host thread for PE 9, communicator 0: no PE 9, " + pes);
        EXPECT_EQ(refused([&] { world.recv(0, words, 1, 9, any_tag); }),
                  "receive of any tag from PE 9 by a host thread for PE 0, communicator 0: no PE 9, " + pes);
        EXPECT_EQ(refused([&] { world.send(0, words, 1, 0, -1); }),
                  "send of tag -1 to PE 0 by a host thread for PE 0, communicator 0: tags are 0 to 2147483647");
        EXPECT_EQ(
            refused([&] { world.send(0, words, 17, 0, 1); }),
            "send of tag 1 to PE 0 by a host thread for PE 0, communicator 0: 136 bytes, and host threads have room "
            "for 128, see communicator_options::host_bytes");
        EXPECT_EQ(
            refused([&] { world.send(0, words, (std::uint64_t{1} << 61) + 1, 0, 1); }),
            "send of tag 1 to PE 0 by a host thread for PE 0, communicator 0: 18446744073709551615 bytes, and host "
            "threads have room for 128, see communicator_options::host_bytes");
        host_message first = world.irecv(0, words, 1, 0, 1), second = world.irecv(0, words + 1, 1, 0, 2);
        EXPECT_EQ(
            refused([&] { (void)world.irecv(0, words, 1, 0, 3); }),
            "receive of tag 3 from PE 0 by a host thread for PE 0, communicator 0: 2 operations go on there already, "
            "see communicator_options::host_operations");
    }
    runtime later(o);
    auto other = later.communicator({.host_operations = 4});
    auto session = later.start(other);
    other.send(0, words, 1, 0, 1);
    host_message once = other.irecv(0, words, 1, 0, 1);
    (void)once.wait();
    EXPECT_EQ(refused([&] { (void)once.wait(); }), "the host thread's operation has been waited for already");
    const std::string late = thrown<timeout_error>([&] { (void)other.recv(0, words, 1, 0, 7); });
    EXPECT_EQ(late.rfind("receive of tag 7 from PE 0 by a host thread for PE 0, communicator 0: ", 0), 0u) << late;
}

/// What a communicator promises not to use is refused to threads, and the session goes on.
TEST_P(communicator_session, ThreadsKeepThePromises) {
    options o = options_of(GetParam(), 15);
    o.timeout_seconds = 60;  // real time: a host thread waits
    runtime rt(o);
    const std::string why = "a wildcard that the communicator promises not to use";
    const std::string by = " by a host thread for PE 0, communicator ";
    for (const bool tags : {false, true}) {
        auto world = rt.communicator({.rules = {.no_any_source = !tags, .no_any_tag = tags}});
        auto session = rt.start(world);
        const std::int64_t source = tags ? 0 : std::int64_t{any_source}, tag = tags ? std::int64_t{any_tag} : 3;
        const std::string key = (tags ? "any tag from PE 0" : "tag 3 from any PE") + by + (tags ? "1: " : "0: ") + why;
        std::uint64_t a = 6, b = 0;
        const auto refused = [](auto&& call) { return thrown<usage_error>(call); };
        EXPECT_EQ(refused([&] { (void)world.recv(0, &b, 1, source, tag); }), "receive of " + key);
        EXPECT_EQ(refused([&] { (void)world.irecv(0, &b, 1, source, tag); }), "receive of " + key);
        EXPECT_EQ(refused([&] { (void)world.sendrecv(0, &a, 1, 0, 3, &b, 1, source, tag); }), "receive of " + key);
        EXPECT_EQ(refused([&] { (void)world.probe(0, source, tag); }), "look for " + key);
        EXPECT_EQ(refused([&] { (void)world.iprobe(0, source, tag); }), "look for " + key);
        world.send(0, &a, 1, 0, 3);  // nothing was sent, or posted, by what was refused
        const message_status got = world.recv(0, &b, 1, tags ? std::int64_t{any_source} : 0, tags ? 3 : any_tag);
        EXPECT_TRUE(got.tag == 3 && got.source == 0 && b == 6);
        session.stop();
        EXPECT_TRUE(world.pending().empty()) << world.account();
    }
}

TEST_P(communicator_session, AMessageThatThreadsMayNotLeaveEndsTheSession) {
    for (const bool unordered : {false, true}) {
        options o = options_of(GetParam(), 16);
        o.timeout_seconds = 60;
        runtime rt(o);
        communicator_options how;
        how.rules = {unordered, unordered, true, unordered};  // no_unexpected
        auto world = rt.communicator(how);
        const int last = rt.n_pes() - 1;
        std::uint64_t a = 6, b = 0;
        const std::string what = thrown<device_fault>([&] {
            auto session = rt.start(world);
            host_message receive = world.irecv(last, &b, 1, 0, 3);
            session.quiesce();
            world.send(0, &a, 1, last, 3);
            EXPECT_EQ(receive.wait().bytes, 8u);
            EXPECT_EQ(b, 6u);
            (void)world.isend(0, &a, 1, last, 4);
            session.stop();
        });
        EXPECT_NE(what.find("a message found no receive, as the communicator promises while receiving a message from "
                            "PE 0: tag 4 of communicator 0"),
                  std::string::npos)
            << what;
    }
}

LANEWAY_ON_DEVICES(communicator_session, communicator_devices());

}  // namespace
}  // namespace laneway::test
