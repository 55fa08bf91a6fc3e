// Triggered operations in sessions: host threads trigger, prepare and disarm, and handlers trigger.
#pragma once

#include "triggers_job.hpp"

namespace laneway::test {
namespace {

class trigger_sessions_test : public testing::TestWithParam<std::string> {};

TEST_P(trigger_sessions_test, HostThreadsTriggerWhileASessionGoesOn) {
    runtime rt(options_of(GetParam(), 1));
    constexpr std::uint64_t size = 1000, each = 1500;  // more than there are slots
    auto from = rt.allocate<std::uint32_t>(size), to = rt.allocate<std::uint32_t>(size);
    const auto fired = rt.allocate<std::uint64_t>(2);
    const int last = rt.n_pes() - 1;
    from.copy_in(last, numbered(size, 4));
    auto tags = rt.triggers({.tags = 8});
    tags.prepare(last, 6, 2 * each, trigger_operation::put(from.ref(), 0, size, to.ref(), 0, 0).signal(fired.ref()[0]));
    tags.prepare(0, 1, 3, trigger_operation::nothing(0).signal(fired.ref()[1]), firing::each_round);
    auto session = rt.start(tags);
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 2; ++t) {
            threads.emplace_back([&] {
                for (std::uint64_t i = 0; i < each; ++i) tags.trigger(last, 6);
            });
        }
        for (int i = 0; i < 7; ++i) tags.trigger(0, 1, 2);
    }
    session.quiesce();
    EXPECT_EQ(to.copy_out(0), numbered(size, 4));  // the program leaves for it
    EXPECT_EQ(fired.copy_out(0), (std::vector<std::uint64_t>{1, 14 / 3}));
    tags.trigger(0, 1);
    const auto report = session.stop();
    EXPECT_EQ(fired.copy_out(0)[1], 15u / 3);
    EXPECT_TRUE(report.waiting_tags.empty());
}

/// Host threads give tags their operations, trigger and take them back, while handlers trigger them and others.
TEST_P(trigger_sessions_test, HostThreadsPrepareWhileHandlersTrigger) {
    repeat_rounds(GetParam(), few_rounds(GetParam(), 4), [&](options o) {
        o.timeout_seconds = 60;  // threads of the host wait for each other
        runtime rt(o);
        constexpr std::uint64_t size = 1030;  // two pieces
        constexpr std::uint32_t rounds = 4, others = 12;
        const int last = rt.n_pes() - 1;
        auto from = rt.allocate<std::uint32_t>(2 * size), to = rt.allocate<std::uint32_t>(2 * rounds * size);
        const auto fired = rt.allocate<std::uint64_t>(2 * rounds + 1);
        from.copy_in(last, numbered(2 * size, 7));
        auto tags = rt.triggers({.tags = 3, .alone_bytes = o.seed % 2 * 8000});
        tags.prepare(last, 2, 1, trigger_operation::nothing(0).signal(fired.ref()[2 * rounds]), firing::each_round);
        const auto box = rt.mailbox<go>(trigger_handler{tags.tags()});
        auto session = rt.start(box, tags);
        const auto prepare_often = [&](std::uint32_t tag) {
            for (std::uint32_t i = 0; i < rounds; ++i) {
                const std::uint32_t word = tag * rounds + i;
                const auto op = trigger_operation::put(from.ref(), tag * size, size, to.ref(), word * size, 0)
                                    .signal(fired.ref()[word]);
                if (i % 2 == 0) {
                    EXPECT_EQ(tags.disarm(last, tag), i != 0);  // it has fired once for all
                    tags.trigger(last, tag, 2);                 // early, all but one
                }
                tags.prepare(last, tag, 3, op);
                if (i % 2 != 0 && tags.disarm(last, tag)) tags.prepare(last, tag, 3, op);
                tags.trigger(last, tag, i % 2 == 0 ? 1 : 3);
                session.quiesce();
            }
        };
        {
            std::vector<std::jthread> threads;
            for (std::uint32_t tag = 0; tag < 2; ++tag) threads.emplace_back([&, tag] { prepare_often(tag); });
            for (std::uint32_t i = 0; i < others; ++i) session.post(last, go{2});
        }
        EXPECT_TRUE(session.stop().waiting_tags.empty());
        for (std::uint32_t word = 0; word < 2 * rounds; ++word) {
            const auto all = to.copy_out(0);
            const auto part = all.begin() + static_cast<std::ptrdiff_t>(word * size);
            EXPECT_TRUE(std::equal(part, part + size, numbered(size, word < rounds ? 7 : 7 + size).begin())) << word;
        }
        std::vector<std::uint64_t> once(2 * rounds + 1, 1);
        once.back() = others;
        EXPECT_EQ(fired.copy_out(0), once);
    });
}

/// One tag for a host thread that prepares and disarms it and for handlers that trigger it: none is lost.
TEST_P(trigger_sessions_test, HostThreadsDisarmInARaceWithHandlers) {
    repeat_rounds(GetParam(), few_rounds(GetParam(), 4), [&](options o) {
        o.timeout_seconds = 60;  // threads of the host wait for each other
        runtime rt(o);
        constexpr std::uint32_t times = 60;
        const int last = rt.n_pes() - 1;
        const auto fired = rt.allocate<std::uint64_t>(5);
        auto tags = rt.triggers({.tags = 1, .alone_bytes = 0});
        const auto box = rt.mailbox<go>(trigger_handler{tags.tags()});
        auto session = rt.start(box, tags);
        {
            std::jthread poster([&] {
                for (std::uint32_t i = 0; i < times; ++i) session.post(last, go{0});
            });
            for (std::uint32_t i = 0; i < 20; ++i) {
                tags.prepare(last, 0, 2, trigger_operation::nothing(0).signal(fired.ref()[i % 4]), firing::each_round);
                while (!tags.disarm(last, 0)) {  // a round is open
                }
            }
        }
        session.quiesce();
        tags.prepare(last, 0, 1, trigger_operation::nothing(0).signal(fired.ref()[4]), firing::each_round);
        const auto report = session.stop();
        EXPECT_TRUE(report.waiting_tags.empty());
        const auto by = fired.copy_out(0);
        // All have been used, by two, and what was left by one.
        EXPECT_EQ(2 * (by[0] + by[1] + by[2] + by[3]) + by[4], times);
    });
}

/// What an operation starts goes along, of any size.
TEST_P(trigger_sessions_test, HostThreadsOfASessionPrepareMessages) {
    runtime rt(options_of(GetParam(), 1));
    constexpr std::uint64_t size = 40;
    auto from = rt.allocate<std::uint32_t>(size), to = rt.allocate<std::uint32_t>(size);
    const auto counts = rt.allocate<std::uint64_t>(2);
    const int last = rt.n_pes() - 1;
    from.copy_in(0, numbered(size, 9));
    const auto box = rt.mailbox<word>(count_word{to.ref(), counts.ref()});
    auto tags = rt.triggers({.tags = 8}).with(box);
    auto session = rt.start(tags, box);
    tags.prepare(0, 5, 1, trigger_operation::put(from.ref(), 0, size, to.ref(), 0, last).start(word{9}));
    tags.trigger(0, 5);
    session.stop();
    EXPECT_EQ(counts.copy_out(last), (std::vector<std::uint64_t>{1, 0}));
}

TEST_P(trigger_sessions_test, HandlersTriggerInSessionsAndEpochsKnow) {
    runtime rt(options_of(GetParam(), 1));
    constexpr std::uint64_t size = 3000;
    auto from = rt.allocate<std::uint32_t>(size), to = rt.allocate<std::uint32_t>(size);
    const int last = rt.n_pes() - 1;
    from.copy_in(0, numbered(size, 9));
    auto tags = rt.triggers({.tags = 8});
    tags.prepare(0, 5, 2, trigger_operation::put(from.ref(), 0, size, to.ref(), 0, last).then(last, 6),
                 firing::each_round);
    const auto box = rt.mailbox<go>(trigger_handler{tags.tags()});
    auto session = rt.start(box, tags);
    session.post(0, go{5});
    const auto epoch = session.quiesce().waiting_tags;  // a tag that waits is no work
    ASSERT_EQ(epoch.size(), 1u);
    EXPECT_EQ(epoch[0].text(), "tag 5 of PE 0: 1 of 2 triggers, fired 0 times");
    EXPECT_EQ(to.copy_out(last)[0], 0u);
    session.post(0, go{5});
    const auto later = session.quiesce().waiting_tags;
    ASSERT_EQ(later.size(), 1u);
    EXPECT_EQ(later[0].text(), "tag 6 of PE " + std::to_string(last) + ": not prepared, triggered 1 times");
    EXPECT_EQ(to.copy_out(last), numbered(size, 9));
    session.stop();
    ASSERT_EQ(tags.waiting().size(), 1u);
    EXPECT_EQ(tags.waiting()[0].text(), "tag 6 of PE " + std::to_string(last) + ": not prepared, triggered 1 times");
}

INSTANTIATE_TEST_SUITE_P(devices, trigger_sessions_test, testing::ValuesIn(trigger_devices()), name_of);

}  // namespace
}  // namespace laneway::test
