// Host threads of a session look for messages: probes, matched probes, and receives of what these have found.
#pragma once

#include <atomic>
#include <thread>

#include "communicator_session_case.hpp"

namespace laneway::test {
namespace {

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

/// A lane sends a message of 16 words, or receives it.
struct one_of_lanes {
    enum what : std::uint32_t { sends, receives };
    symmetric_ref<std::uint64_t> words;
    what does;
    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t lanes = ctx.local_size();
        const int last = ctx.n_pes() - 1;
        // Not of the control warp, which comes to host threads when it has left the body.
        if (ctx.local_rank() != lanes - 1 || ctx.pe() != (does == sends ? 0 : last)) return;
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
        const std::uint64_t lanes = ctx.local_size();
        if (ctx.local_rank() != lanes - 1 || ctx.pe() != 0) return;
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

}  // namespace
}  // namespace laneway::test
