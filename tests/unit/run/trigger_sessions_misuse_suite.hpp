// Triggered operations in sessions that cannot be: errors name the tag, and what has been refused changes nothing.
#pragma once

#include <optional>

#include "triggers_job.hpp"

namespace laneway::test {
namespace {

class trigger_sessions_misuse_test : public testing::TestWithParam<std::string> {
protected:
    /// For what meets no deadline, however busy the machine is.
    [[nodiscard]] static options unhurried_job() {
        options o = options_of(GetParam(), 1);
        o.timeout_seconds = 60;
        return o;
    }
};

TEST_P(trigger_sessions_misuse_test, WhatAFailedSessionHasCountedIsGone) {
    runtime rt(options_of(GetParam(), 1));
    auto tags = rt.triggers({.tags = 8});
    tags.prepare(0, 5, 3, trigger_operation::nothing(0));
    const auto box = rt.mailbox<go>(trigger_handler{tags.tags()});
    {
        auto session = rt.start(box, tags);
        for (int i = 0; i < 4; ++i) session.post(0, go{5});
        EXPECT_THROW(session.quiesce(), device_fault);
        EXPECT_THROW(session.stop(), device_fault);
    }
    auto session = rt.start(box, tags);
    for (int i = 0; i < 2; ++i) session.post(0, go{5});
    session.stop();
    // That session has ended well, so that its triggers count.
    EXPECT_NO_THROW(rt.run(trigger_once{5, 1, 0}, tags));
    EXPECT_TRUE(tags.waiting().empty());
}

TEST_P(trigger_sessions_misuse_test, HostThreadsAreToldOfTagsThatAreNotThere) {
    runtime rt(options_of(GetParam(), 1));
    auto tags = rt.triggers({.tags = 8});
    const int last = rt.n_pes() - 1;
    auto session = rt.start(tags);
    EXPECT_EQ(thrown<usage_error>([&] { tags.trigger(0, 8); }), "tag 8 of PE 0: no such tag, where there are 0 to 7");
    EXPECT_THROW(tags.trigger(rt.n_pes(), 0), usage_error);
    EXPECT_THROW(tags.trigger(0, 0, 1u << 30), usage_error);
    tags.trigger(last, 5, 3);
    const auto left = session.stop().waiting_tags;
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].text(), "tag 5 of PE " + std::to_string(last) + ": not prepared, triggered 3 times");
}

TEST_P(trigger_sessions_misuse_test, TheHostClearsNothingWhileASessionGoesOn) {
    runtime rt(unhurried_job());
    const auto fired = rt.allocate<std::uint64_t>(1);
    auto tags = rt.triggers({.tags = 8});
    {
        auto session = rt.start(tags);
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(thrown<usage_error>([&] { tags.clear(); }),
                      "triggers: operations and counts are cleared before a session begins, or behind its end");
            tags.trigger(0, 5);
            session.quiesce();
        }
        session.stop();
        const auto left = tags.waiting();
        ASSERT_EQ(left.size(), 1u);
        EXPECT_EQ(left[0].count, 2u) << "what the session has counted is there";
        EXPECT_NO_THROW(tags.clear());
        EXPECT_TRUE(tags.waiting().empty());
        EXPECT_NO_THROW(tags.prepare(0, 2, 1, trigger_operation::nothing(0).signal(fired.ref()[0])));
    }
    auto session = rt.start(tags);
    tags.trigger(0, 2);
    session.stop();
    EXPECT_EQ(fired.copy_out(0)[0], 1u);
}

/// What is refused changes nothing, and the session goes on.
TEST_P(trigger_sessions_misuse_test, HostThreadsOfASessionAreRefusedWhatCannotBe) {
    runtime rt(unhurried_job());
    const int last = rt.n_pes() - 1;
    const auto fired = rt.allocate<std::uint64_t>(3);
    auto tags = rt.triggers({.tags = 8, .chains = 1});
    std::optional<symmetric_array<std::uint32_t>> freed(rt.allocate<std::uint32_t>(8));
    const auto moves = trigger_operation::put(freed->ref(), 0, 8, freed->ref(), 0, last);
    freed.reset();
    auto session = rt.start(tags);
    const std::string of_pe = " of PE " + std::to_string(last) + ": ";
    const auto op = [&](std::uint64_t word) { return trigger_operation::nothing(last).signal(fired.ref()[word]); };
    const auto refused = [&](std::uint32_t tag, std::uint32_t threshold, const trigger_operation& what) {
        return thrown<usage_error>([&] { tags.prepare(last, tag, threshold, what); });
    };
    EXPECT_EQ(refused(8, 1, op(0)), "tag 8" + of_pe + "no such tag, where there are 0 to 7");
    EXPECT_EQ(refused(1, 0, op(0)), "tag 1" + of_pe + "a threshold of 1 to 1073741823, not 0");
    EXPECT_EQ(refused(1, 1, moves),
              "tag 1" + of_pe + "elements that do not exist, have been freed, or are out of reach");
    tags.trigger(last, 2, 2);
    EXPECT_EQ(refused(2, 1, op(0)), "tag 2" + of_pe + "triggered 2 times already, and it fires once, at 1");
    tags.prepare(last, 2, 2, op(0));  // both count
    tags.prepare(last, 3, 2, op(1), firing::each_round);
    EXPECT_EQ(refused(3, 2, op(2)), "tag 3" + of_pe + "it has an operation already");
    if (rt.n_pes() > 1) {
        tags.prepare(last, 5, 1, op(2).then(0, 7));
        EXPECT_EQ(refused(6, 1, op(2).then(0, 4)),
                  "tag 6" + of_pe + "PE 0 has 1 chains already; see trigger_options::chains");
        EXPECT_TRUE(tags.disarm(last, 5));
    }
    session.while_away([&] {
        EXPECT_EQ(thrown<usage_error>([&] { tags.prepare(last, 1, 1, op(0)); }),
                  "triggers: prepare or disarm: called by a function that uses the session's devices meanwhile");
        EXPECT_THROW((void)tags.disarm(last, 3), usage_error);
    });
    EXPECT_FALSE(tags.disarm(last, 6)) << "nothing has come of what was refused";
    tags.prepare(last, 6, 1, op(2));
    EXPECT_THROW((void)tags.disarm(last, 8), usage_error);
    EXPECT_THROW((void)tags.disarm(rt.n_pes(), 0), usage_error);
    for (const std::uint32_t tag : {3u, 3u, 3u, 6u}) tags.trigger(last, tag);
    const auto left = session.stop().waiting_tags;
    EXPECT_EQ(fired.copy_out(last), (std::vector<std::uint64_t>{1, 1, 1}));
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].text(), "tag 3" + of_pe + "1 of 2 triggers, fired 1 times");
    EXPECT_EQ(thrown<usage_error>([&] { tags.prepare(last, 3, 1, op(2)); }),
              "tag 3" + of_pe + "it has an operation already");
    tags.prepare(last, 6, 1, op(2));  // it has fired once for all
}

/// Chains run out: a tag that was spent stays so, keeps its chain, and the other link's cell is free again.
TEST_P(trigger_sessions_misuse_test, WhatIsRefusedForItsChainsChangesNothing) {
    runtime rt(unhurried_job());
    if (rt.n_pes() < 3) return;
    auto tags = rt.triggers({.tags = 8, .chains = 1});
    const auto op = trigger_operation::nothing(0);
    auto session = rt.start(tags);
    const auto refused = [&](std::uint32_t tag, const trigger_operation& what) {
        return thrown<usage_error>([&] { tags.prepare(0, tag, 1, what); });
    };
    const std::string of_one = ": PE 1 has 1 chains already; see trigger_options::chains";
    tags.prepare(0, 1, 1, op.then(1, 7));
    tags.trigger(0, 1);
    session.quiesce();
    EXPECT_EQ(refused(1, op.then(2, 3).then(1, 6)), "tag 1 of PE 0" + of_one);
    EXPECT_EQ(refused(2, op.then(2, 3).then(1, 6)), "tag 2 of PE 0" + of_one);
    tags.prepare(0, 3, 1, op.then(2, 3));  // in the cell that was given back
    tags.prepare(0, 1, 1, op.then(1, 7));  // in the one that it has kept
    tags.trigger(0, 1);
    tags.trigger(0, 3);
    session.quiesce();
    EXPECT_EQ(refused(1, op.then(1, 6)), "tag 1 of PE 0" + of_one);
    const auto left = session.stop().waiting_tags;
    ASSERT_EQ(left.size(), 2u);  // those of PEs 1 and 2; tag 1 of PE 0 is spent
    EXPECT_EQ(left[0].text(), "tag 7 of PE 1: not prepared, triggered 2 times");
    EXPECT_EQ(left[1].text(), "tag 3 of PE 2: not prepared, triggered 1 times");
}

/// The PE does what an interrupted thread has asked, and the next one, or the session's end, sees what came of it.
TEST_P(trigger_sessions_misuse_test, AnInterruptionLosesNoAnswer) {
    runtime rt(unhurried_job());
    const auto fired = rt.allocate<std::uint64_t>(1);
    auto tags = rt.triggers({.tags = 8});
    const auto op = trigger_operation::nothing(0).signal(fired.ref()[0]);
    auto session = rt.start(tags);
    const auto prepare = [&] { tags.prepare(0, 1, 1, op, firing::each_round); };
    for (std::uint32_t i = 0; i < 8; ++i) {
        EXPECT_TRUE(is_interrupted(session, prepare));
        EXPECT_EQ(thrown<usage_error>(prepare), "tag 1 of PE 0: it has an operation already");
        EXPECT_TRUE(tags.disarm(0, 1));
    }
    EXPECT_TRUE(is_interrupted(session, prepare));
    session.stop();
    EXPECT_EQ(thrown<usage_error>(prepare), "tag 1 of PE 0: it has an operation already");
    auto next = rt.start(tags);
    tags.trigger(0, 1);
    next.stop();
    EXPECT_EQ(fired.copy_out(0)[0], 1u);
}

TEST_P(trigger_sessions_misuse_test, WhatHostThreadsHavePreparedOutlivesAFailedSession) {
    runtime rt(options_of(GetParam(), 1));
    const auto fired = rt.allocate<std::uint64_t>(2);
    auto tags = rt.triggers({.tags = 8});
    const auto op = [&](std::uint64_t word) { return trigger_operation::nothing(0).signal(fired.ref()[word]); };
    tags.prepare(0, 4, 1, op(0));
    tags.prepare(0, 5, 1, op(0));
    {
        auto session = rt.start(tags);
        EXPECT_TRUE(tags.disarm(0, 4));
        EXPECT_TRUE(tags.disarm(0, 5));
        tags.prepare(0, 5, 2, op(1));
        tags.trigger(0, 5, 3);
        EXPECT_THROW(session.stop(), device_fault);
    }
    auto session = rt.start(tags);
    tags.trigger(0, 4);
    tags.trigger(0, 5, 2);
    const auto left = session.stop().waiting_tags;
    EXPECT_EQ(fired.copy_out(0), (std::vector<std::uint64_t>{0, 1}));
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].text(), "tag 4 of PE 0: not prepared, triggered 1 times");
}

/// As many as an epoch tells of one PE, and some more of another.
TEST_P(trigger_sessions_misuse_test, EpochsTellHowManyTagsTheyLeaveOut) {
    runtime rt(unhurried_job());
    auto tags = rt.triggers({.tags = 100});
    const int last = rt.n_pes() - 1;
    auto session = rt.start(tags);
    EXPECT_EQ(session.quiesce().waiting_tags_left_out, 0u);
    for (std::uint32_t tag = 0; tag < 64; ++tag) tags.trigger(0, tag);
    EXPECT_EQ(session.quiesce().waiting_tags_left_out, 0u);
    for (std::uint32_t tag = 0; tag < 71; ++tag) tags.trigger(last, 99 - tag);
    const auto epoch = session.quiesce();
    const std::uint64_t all = last == 0 ? 100 : 64 + 71;
    EXPECT_EQ(epoch.waiting_tags.size(), last == 0 ? 64u : 128u);
    EXPECT_EQ(epoch.waiting_tags_left_out, all - epoch.waiting_tags.size());
    EXPECT_EQ(session.stop().waiting_tags.size(), all);
}

INSTANTIATE_TEST_SUITE_P(devices, trigger_sessions_misuse_test, testing::ValuesIn(trigger_devices()), name_of);

}  // namespace
}  // namespace laneway::test
