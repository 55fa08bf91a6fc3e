// What host threads of a session wait for is damaged: the wait ends at its deadline, and a program without the damage
// works.
#pragma once

#include "injected_faults_job.hpp"
#include "laneway/run/communicator.hpp"
#include "laneway/run/transfers.hpp"

namespace laneway::test {
namespace {

class session_faults_test : public with_faults {};

TEST_P(session_faults_test, HostThreadsOfACommunicatorNameWhatNobodyTakes) {
    const auto send = [](runtime& rt) {
        auto world = rt.communicator();
        auto session = rt.start(world);
        std::uint64_t word = 5;
        auto sent = world.isend(1, &word, 1, 0, 3);
        EXPECT_EQ(world.recv(0, &word, 1, 1, 3).source, 1u);
        (void)sent.wait();
    };
    ends(injected_fault::shut_inbox, 1,
         {"receive of tag 3 from PE 1 by a host thread for PE 0, communicator 0: ", "did not do in time"}, send,
         late::host_threads);
    const auto close = [](runtime& rt) {
        auto world = rt.communicator();
        auto session = rt.start(world);
        const std::uint64_t word = 5;
        auto sent = world.isend(1, &word, 1, 0, 3);
        session.quiesce();  // waits until the PE has taken what came before
        std::uint64_t got = 0;
        (void)world.recv(0, &got, 1, 1, 3);
        (void)sent.wait();
    };
    ends(injected_fault::shut_inbox, 1, {"the session did not do in time"}, close, late::host_threads);
}

TEST_P(session_faults_test, HostThreadsThatPostTransfersNameWhatNobodyTakes) {
    if (is_mixed(GetParam())) GTEST_SKIP() << "a store reaches no PE of another kind";
    const auto post = [](std::uint64_t count, bool waits) {
        return [count, waits](runtime& rt) {
            const auto words = rt.allocate<std::uint64_t>(count + 1);
            transfers moves(rt.machine());
            auto session = rt.start(moves);
            for (std::uint64_t i = 1; i <= count; ++i) {
                const host_transfer posted = moves.post(1, transfer::copy(words.ref()[0], 1, words.ref()[i], 1, 1));
                if (waits) posted.wait();
            }
            session.quiesce();
        };
    };
    ends(injected_fault::shut_inbox, 1,
         {"transfer 0 of host threads for PE 1: the session did not do in time what a host thread waited for"},
         post(1, true), late::host_threads);
    for (const std::uint64_t count : {1, 1000}) {
        ends(injected_fault::shut_inbox, 1, {"the session did not do in time"}, post(count, false), late::host_threads);
    }
}

TEST_P(session_faults_test, TriggersOfHostThreadsThatNobodyTakesMeetTheDeadline) {
    if (is_mixed(GetParam())) GTEST_SKIP() << "a store reaches no PE of another kind";
    ends(
        injected_fault::mute_termination, 0, {"did not do in time"},  // so that PE 1 is told to take none
        [](runtime& rt) {
            auto tags = rt.triggers({.tags = 4});
            tags.prepare(1, 2, 1, trigger_operation::nothing(1), firing::each_round);
            auto session = rt.start(tags);
            for (int i = 0; i < 1100; ++i) tags.trigger(1, 2);  // more than there are slots
            session.quiesce();
        },
        late::host_threads);
}

TEST_P(session_faults_test, ASessionThatDoesNotLeaveTheDevicesMeetsItsDeadline) {
    for (const bool stops : {false, true}) {
        ends(
            injected_fault::mute_termination, 1, {"did not do in time", "1 epochs are open"},
            [stops](runtime& rt) {
                auto session = rt.start(rt.mailbox<note>(read_note{}));
                session.post(0, note{0});
                if (stops) {
                    session.stop();
                } else {
                    session.release();
                }
            },
            late::host_threads);
    }
}

TEST_P(session_faults_test, AnInboxThatNobodyEmptiesIsNamed) {
    const auto post = [](runtime& rt) {
        auto session = rt.start(rt.mailbox<note>(read_note{}));
        for (int i = 0; i < 3; ++i) session.post(1, note{0});
        session.quiesce();
    };
    ends(injected_fault::shut_inbox, 1, {"did not do in time", "inbox of PE 1: 3 of 1024 slots in use"}, post,
         late::host_threads);
    const auto call = [](runtime& rt) {
        auto session = rt.start(rt.mailbox<enquiry>(reply_to{}));
        EXPECT_EQ(session.call(0, enquiry{4}), 5u);
    };
    ends(injected_fault::shut_inbox, 0, {"did not do in time", "inbox of PE 0: 1 of 1024 slots in use"}, call,
         late::host_threads);
    const auto fill = [](runtime& rt) {
        auto session = rt.start(rt.mailbox<note>(read_note{}));
        for (int i = 0; i < 1100; ++i) session.post(1, note{0});
    };
    ends(injected_fault::shut_inbox, 1, {"did not do in time", "inbox of PE 1: 1024 of 1024 slots in use"}, fill,
         late::host_threads);
}

TEST_P(session_faults_test, AMessageThatIsLostIsFoundWhenItsEpochIsDone) {
    runtime rt(with(injected_fault::losing_inbox, 1, late::host_threads));
    const auto box = rt.mailbox<note>(read_note{});
    {
        auto session = rt.start(box);
        session.post(0, note{0});
        EXPECT_NO_THROW(session.quiesce());
        session.post(0, note{0});
        session.post(1, note{0});
        const std::string lost = thrown<device_fault>([&] { session.quiesce(); });
        EXPECT_EQ(lost,
                  "audit mismatch in epoch 2: 3 messages of host threads left, 3 taken, 2 served; 0 messages "
                  "carried between PEs, 0 served");
        EXPECT_EQ(thrown<device_fault>([&] { session.quiesce(); }), lost);
        EXPECT_EQ(thrown<device_fault>([&] { session.post(0, note{0}); }), lost);
        (void)rt.allocate<int>(1);  // the program has left the devices
        EXPECT_EQ(thrown<device_fault>([&] { session.stop(); }), lost);
    }
    auto session = rt.start(box);
    session.post(0, note{0});
    EXPECT_NO_THROW(session.quiesce());
    EXPECT_EQ(session.stop().posted, 1u);
}

TEST_P(session_faults_test, AnEpochThatAPeDoesNotTellOfMeetsItsDeadline) {
    const auto use = [](runtime& rt) {
        auto session = rt.start(rt.mailbox<note>(read_note{}));
        session.post(1, note{0});
        session.quiesce();
    };
    for (const int pe : {0, 1}) {
        ends(injected_fault::mute_termination, pe, {"did not do in time", "1 epochs are open"}, use,
             late::host_threads);
    }
}

LANEWAY_ON_DEVICES(session_faults_test, lists_of_late_hosts());

}  // namespace
}  // namespace laneway::test
