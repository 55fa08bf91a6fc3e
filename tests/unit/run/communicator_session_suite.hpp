// Two-sided messages of host threads in a session, among each other and with lanes of later runs.
#pragma once

#include <thread>

#include "communicator_job.hpp"

namespace laneway::test {
namespace {

class communicator_session : public testing::TestWithParam<std::string> {};

std::vector<std::uint64_t> words_of(int rank, std::uint64_t count, std::uint64_t number) {
    std::vector<std::uint64_t> words(count);
    for (std::uint64_t i = 0; i < count; ++i) words[i] = static_cast<std::uint64_t>(rank) << 48 | number << 32 | i;
    return words;
}

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

TEST_P(communicator_session, ThreadsProbeAndTakeBack) {
    runtime rt(options_of(GetParam(), 2));
    auto world = rt.communicator();
    auto session = rt.start(world);
    const int last = rt.n_pes() - 1;
    std::uint64_t a = 7, b = 0, c = 0;
    EXPECT_FALSE(world.iprobe(0, any_source, any_tag).has_value());
    host_message back = world.irecv(0, &b, 1, any_source, 4), stays = world.irecv(0, &c, 1, last, any_tag);
    EXPECT_FALSE(back.is_over());
    back.cancel();
    EXPECT_TRUE(back.wait().cancelled);
    world.send(last, &a, 1, 0, 4);
    EXPECT_FALSE(stays.wait().cancelled);
    EXPECT_EQ(c, 7u);
    EXPECT_EQ(b, 0u);
    world.send(last, &a, 1, 0, 9);
    session.quiesce();  // it has come
    const auto seen = world.iprobe(0, last, any_tag);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->tag, 9u);
    EXPECT_EQ(seen->bytes, 8u);
    EXPECT_EQ(world.recv(0, &b, 1, last, 9).bytes, 8u);
    session.release();
    world.send(0, &a, 1, last, 1);  // the program comes back
    EXPECT_EQ(world.recv(last, &b, 1, 0, 1).tag, 1u);
}

/// Messages of all forms wait, are taken out, and received in another order.
TEST_P(communicator_session, ThreadsReceiveWhatTheyHaveMatched) {
    runtime rt(options_of(GetParam(), 7));
    auto world = rt.communicator({.eager_bytes = 256, .host_operations = 8});
    auto session = rt.start(world);
    const int last = rt.n_pes() - 1;
    EXPECT_FALSE(world.improbe(0, any_source, any_tag).has_value());
    const std::vector<std::uint64_t> counts{1, 20, 4000, 2};
    std::vector<std::vector<std::uint64_t>> sent;
    std::vector<host_message> sends;
    for (std::size_t i = 0; i < counts.size(); ++i) sent.push_back(words_of(last, counts[i], i));
    for (const auto& words : sent) sends.push_back(world.isend(last, words.data(), words.size(), 0, 5));
    std::vector<matched_host_message> matched;
    for (std::size_t i = 0; i < 3; ++i) {
        matched.push_back(i == 1 ? world.improbe(0, last, 5).value() : world.mprobe(0, any_source, any_tag));
        EXPECT_TRUE(matched[i].status().source == static_cast<unsigned>(last) && matched[i].status().tag == 5);
        EXPECT_EQ(matched[i].status().bytes, 8 * counts[i]);
        if (i == 0) session.quiesce();  // the others have come
    }
    std::vector<std::uint64_t> got(4000);
    EXPECT_EQ(world.recv(0, got.data(), 4000, last, 5).bytes, 8 * counts[3]) << "the first that nobody has matched";
    EXPECT_FALSE(world.iprobe(0, any_source, any_tag).has_value());
    EXPECT_EQ(thrown<usage_error>([&] { (void)world.mrecv(got.data(), 19, matched[1]); }),
              "receive of tag 5 from PE " + std::to_string(last) +
                  " by a host thread for PE 0, communicator 0: room for 152 of its 160 bytes");
    for (const std::size_t i : {2, 1, 0}) {
        std::fill(got.begin(), got.end(), 0);
        EXPECT_EQ(world.mrecv(got.data(), 4000, matched[i]).bytes, 8 * counts[i]);
        got.resize(counts[i]);
        EXPECT_EQ(got, sent[i]);
        got.resize(4000);
    }
    EXPECT_EQ(thrown<usage_error>([&] { (void)world.mrecv(got.data(), 4000, matched[0]); }),
              "receive of tag 5 from PE " + std::to_string(last) +
                  " by a host thread for PE 0, communicator 0: the message has been received already");
    communicator::wait_all(sends);
    EXPECT_EQ(world.mrecv(got.data(), 1, world.mprobe(0, proc_null, 3)).source, proc_null);
    session.stop();
    EXPECT_TRUE(world.pending().empty()) << world.account();
}

/// Two threads wait for the same messages, and each is one's; what is left when the session is stopped is told of.
TEST_P(communicator_session, AMatchedMessageIsNobodyElses) {
    runtime rt(options_of(GetParam(), 8));
    auto world = rt.communicator({.host_operations = 4});
    const int last = rt.n_pes() - 1;
    constexpr std::uint64_t n = 16;
    std::atomic<std::uint64_t> sum = 0;
    const std::string why = thrown<usage_error>([&] {
        auto session = rt.start(world);
        const auto take = [&] {
            for (std::uint64_t i = 0; i < n / 2; ++i) {
                std::uint64_t got = 0;
                (void)world.mrecv(&got, 1, world.mprobe(last, any_source, 2));
                sum += got;
            }
        };
        std::thread one(take), other(take);
        for (std::uint64_t i = 1; i <= n; ++i) world.send(0, &i, 1, last, 2);
        one.join();
        other.join();
        world.send(0, &n, 1, last, 3);
        (void)world.mprobe(last, 0, 3);
        session.stop();
    });
    EXPECT_EQ(sum, n * (n + 1) / 2);
    EXPECT_EQ(why, "communicator 0: the session is stopped with 1 message that host threads have matched for PE " +
                       std::to_string(last) + " and not received; the communicator's messages are dropped");
    auto again = rt.start(world);
    std::uint64_t got = 0;
    world.send(0, &n, 1, last, 4);
    EXPECT_EQ(world.mrecv(&got, 1, world.mprobe(last, 0, any_tag)).tag, 4u) << "and not what was dropped";
    again.stop();
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
        if (ctx.pe() != ctx.n_pes() - 1 || ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes())) != 0) return;
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

struct nothing_to_do {
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx&, World&) const {}
};

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

/// A lane sends a message of 16 words, or receives it.
struct one_of_lanes {
    enum what : std::uint32_t { sends, receives };
    symmetric_ref<std::uint64_t> words;
    what does;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t lanes = ctx.size() / static_cast<unsigned>(ctx.n_pes());
        const int last = ctx.n_pes() - 1;
        // Not of the control warp, which comes to host threads when it has left the body.
        if (ctx.rank() % lanes != lanes - 1 || ctx.pe() != (does == sends ? 0 : last)) return;
        if (does == sends) (void)world.send(ctx, words[0], 16, last, 5);
        if (does == receives) (void)world.recv(ctx, words[0], 16, 0, 5);
    }
};

/// What is longer than host threads have room for stays in the queues.
TEST_P(communicator_session, LongMessagesAreLeftForLanes) {
    for (const bool unordered : {false, true}) {
        runtime rt(options_of(GetParam(), 8));
        auto words = rt.allocate<std::uint64_t>(16), got = rt.allocate<std::uint64_t>(16);
        const int last = rt.n_pes() - 1;
        words.copy_in(0, words_of(0, 16, 3));
        auto world = rt.communicator({.rules = {unordered, unordered, false, unordered}, .host_bytes = 64});
        rt.run(one_of_lanes{words.ref(), one_of_lanes::sends}, world);
        auto session = rt.start(world);
        const std::string why = "look for tag 5 from PE 0 by a host thread for PE " + std::to_string(last) +
                                ", communicator 0: 128 bytes, and host threads have room for 64, see "
                                "communicator_options::host_bytes";
        EXPECT_EQ(thrown<usage_error>([&] { (void)world.improbe(last, 0, 5); }), why);
        EXPECT_EQ(thrown<usage_error>([&] { (void)world.mprobe(last, 0, 5); }), why);
        std::uint64_t a = 4, b = 0;
        world.send(0, &a, 1, last, 6);
        EXPECT_EQ(world.mrecv(&b, 1, world.mprobe(last, 0, 6)).bytes, 8u);
        EXPECT_EQ(b, 4u);
        session.stop();
        rt.run(one_of_lanes{got.ref(), one_of_lanes::receives}, world);
        EXPECT_EQ(got.copy_out(last), words_of(0, 16, 3));
        EXPECT_TRUE(world.pending().empty()) << world.account();
    }
}

/// A lane sends two short messages, and a long one behind them.
struct long_one_behind_others {
    symmetric_ref<std::uint64_t> words;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t lanes = ctx.size() / static_cast<unsigned>(ctx.n_pes());
        if (ctx.rank() % lanes != lanes - 1 || ctx.pe() != 0) return;
        const int last = ctx.n_pes() - 1;
        for (std::uint32_t i = 1; i < 3; ++i) {
            if (world.send(ctx, words[i], 1, last, i) != status::ok) return;
        }
        (void)world.send(ctx, words[0], 16, last, 5);
    }
};

/// One that is too long for a matched probe, and lies in its ring still, does not overtake what was sent before it.
TEST_P(communicator_session, LongMessagesThatAreLeftKeepTheirTurn) {
    for (const bool unordered : {false, true}) {
        runtime rt(options_of(GetParam(), 9));
        auto words = rt.allocate<std::uint64_t>(16), got = rt.allocate<std::uint64_t>(16);
        const int last = rt.n_pes() - 1;
        words.copy_in(0, words_of(0, 16, 3));
        auto world =
            rt.communicator({.unexpected = 1, .rules = {unordered, unordered, false, unordered}, .host_bytes = 64});
        auto session = rt.start(long_one_behind_others{words.ref()}, world);
        EXPECT_EQ(world.probe(last, 0, 5).bytes, 128u);  // all have come, and one may wait
        EXPECT_NE(thrown<usage_error>([&] { (void)world.improbe(last, 0, 5); }).find("128 bytes"), std::string::npos);
        EXPECT_NE(thrown<usage_error>([&] { (void)world.mprobe(last, 0, 5); }).find("128 bytes"), std::string::npos);
        for (std::uint32_t i = 1; i < 3; ++i) {
            std::uint64_t a[8] = {};
            EXPECT_EQ(world.recv(last, a, 8, 0, unordered ? i : any_tag).tag, i);
            EXPECT_EQ(a[0], words_of(0, 16, 3)[i]);
        }
        session.stop();
        rt.run(one_of_lanes{got.ref(), one_of_lanes::receives}, world);
        EXPECT_EQ(got.copy_out(last), words_of(0, 16, 3));
        EXPECT_TRUE(world.pending().empty()) << world.account();
        EXPECT_LE(world.statistics(last).max_unexpected, 1u);
    }
}

/// A thread is interrupted while its matched probe goes on: the next one gets the message.
TEST_P(communicator_session, AnInterruptionLosesNoMatchedMessage) {
    runtime rt(options_of(GetParam(), 8));
    auto world = rt.communicator({.host_operations = 2});
    const int last = rt.n_pes() - 1;
    auto session = rt.start(world);
    for (std::uint64_t i = 1; i < 9; ++i) {
        world.send(0, &i, 1, last, 2);
        std::uint64_t got = 0;
        EXPECT_TRUE(is_interrupted(session, [&] { (void)world.improbe(last, 0, 2); }));
        EXPECT_EQ(world.mrecv(&got, 1, world.mprobe(last, any_source, 2)).bytes, 8u);
        EXPECT_EQ(got, i);
    }
    session.stop();
    EXPECT_TRUE(world.pending().empty()) << world.account();
}

/// All requests of a PE are in use: a matched probe waits until one is free, and the session goes on.
TEST_P(communicator_session, MatchedProbesWaitForARequest) {
    runtime rt(options_of(GetParam(), 8));
    if (rt.n_pes() == 1) return;  // threads for one PE have as many operations as it has requests
    const auto got = rt.allocate<std::uint64_t>(16);
    auto world = rt.communicator({.requests = 32, .host_operations = 32});
    const int last = rt.n_pes() - 1;
    auto session = rt.start(one_of_lanes{got.ref(), one_of_lanes::receives}, world);
    std::uint64_t a = 5, b = 0, c = 0;
    std::vector<host_message> receives;
    for (int i = 0; i < 31; ++i) receives.push_back(world.irecv(last, &b, 1, 0, 10 + i));
    {
        std::jthread looker([&] { EXPECT_EQ(world.mrecv(&c, 1, world.mprobe(last, 0, 3)).bytes, 8u); });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        world.send(0, &a, 1, last, 10);
        EXPECT_EQ(receives[0].wait().bytes, 8u);  // its request is free
        world.send(0, &a, 1, last, 3);
    }
    EXPECT_TRUE(b == 5 && c == 5);
    const auto words = words_of(0, 16, 1);
    world.send(0, words.data(), 16, last, 5);
    session.stop();
    EXPECT_EQ(got.copy_out(last), words);
}

LANEWAY_ON_DEVICES(communicator_session, communicator_devices());

}  // namespace
}  // namespace laneway::test
