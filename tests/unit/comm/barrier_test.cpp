// One PE's part in barriers, beside another PE that a test plays: when it tells its account, and what it concludes.
#include "laneway/comm/barrier.hpp"

#include <gtest/gtest.h>

#include "unit/warp_threads.hpp"

namespace laneway {
namespace {

constexpr std::uint64_t warps = 2;

/// PE 0 of two, with counters that the test sets; PE 1 is the test.
class two_pes {
public:
    two_pes() {
        links.work = &work;
        links.sent = sent;
    }

    /// What PE 1 tells in a round.
    void told(std::uint32_t round, const barrier_account& account) {
        store_tagged(lane, theirs + slot(round), round, account, order::relaxed);
    }
    /// Whether PE 0 has told its account of a round, and which.
    [[nodiscard]] bool tells(std::uint32_t round, barrier_account& account) {
        return load_tagged(lane, mine + slot(round), round, account, order::relaxed);
    }
    [[nodiscard]] bool tells(std::uint32_t round) {
        barrier_account account;
        return tells(round, account);
    }
    [[nodiscard]] bool failed() const { return environment.failed(); }
    [[nodiscard]] barrier_control<cpu::context> control() const { return {words, links, replies, warps}; }

    test::lone_environment environment{0, 2, 10};
    cpu::context lane{environment.get(), 0, 1, nullptr};
    work_counters work;
    link_counters sent[2];
    links_ref links;
    links_ref replies;
    std::uint64_t mine[2 * barrier_ref::account_words] = {};
    std::uint64_t theirs[2 * barrier_ref::account_words] = {};
    word_sender to[2] = {word_sender{}, word_sender(mine)};
    word_receiver from[2] = {word_receiver{}, word_receiver(theirs)};
    barrier_ref words{to, from};

private:
    static std::size_t slot(std::uint32_t round) { return round % 2 * barrier_ref::account_words; }
};

using control_of_pe = barrier_control<cpu::context>;

TEST(barrier_test, APeTellsItsAccountWhenAllItsWarpsHaveCome) {
    two_pes pes;
    control_of_pe control = pes.control();
    pes.sent[1].messages = 7;
    pes.work.arrived = warps - 1;
    control.turn(pes.lane);
    EXPECT_FALSE(pes.tells(1));
    pes.work.arrived = warps;
    control.turn(pes.lane);
    barrier_account account;
    ASSERT_TRUE(pes.tells(1, account));
    EXPECT_EQ(account.sent(), 7u);
    EXPECT_TRUE(account.created());
}

TEST(barrier_test, OneRoundOpensItWhereNobodyHasPosted) {
    two_pes pes;
    control_of_pe control = pes.control();
    pes.work.arrived = warps;
    control.turn(pes.lane);
    EXPECT_EQ(pes.work.released, 0u) << "PE 1 has not come";
    pes.told(1, barrier_account::of(0, false));
    control.turn(pes.lane);
    EXPECT_EQ(pes.work.released, 1u);
    EXPECT_FALSE(pes.tells(2)) << "nobody has come to the next one";
}

TEST(barrier_test, WhatIsOnItsWayIsAwaited) {
    two_pes pes;
    control_of_pe control = pes.control();
    pes.work.arrived = warps;
    pes.told(1, barrier_account::of(9, true));
    control.turn(pes.lane);
    control.turn(pes.lane);
    EXPECT_EQ(pes.work.released, 0u) << "9 messages to PE 0 have not been served";
    pes.work.served = 8;
    control.turn(pes.lane);
    EXPECT_FALSE(pes.tells(2)) << "one of 9 has not been served";
    pes.work.served = 9;
    control.turn(pes.lane);
    barrier_account account;
    ASSERT_TRUE(pes.tells(2, account));
    EXPECT_FALSE(account.created());
    EXPECT_EQ(pes.work.released, 0u) << "PE 1 may still serve";
    pes.told(2, barrier_account::of(9, false));
    control.turn(pes.lane);
    EXPECT_EQ(pes.work.released, 1u);
}

TEST(barrier_test, WhatOthersHaveSentIsNotForgottenAtTheNextOne) {
    two_pes pes;
    control_of_pe control = pes.control();
    pes.work.arrived = warps;
    pes.work.served = 9;
    pes.sent[1].messages = 4;
    for (std::uint32_t round = 1; round <= 2; ++round) {
        pes.told(round, barrier_account::of(9, round == 1));
        for (int i = 0; i < 2; ++i) control.turn(pes.lane);
    }
    ASSERT_EQ(pes.work.released, 1u);
    pes.work.arrived = 2 * warps;
    pes.told(3, barrier_account::of(9, false));
    for (int i = 0; i < 2; ++i) control.turn(pes.lane);
    barrier_account account;
    ASSERT_TRUE(pes.tells(3, account));
    EXPECT_FALSE(account.created()) << "all of it was told before";
    EXPECT_EQ(pes.work.released, 2u);
}

/// What a handler has posted is sent before the PE takes part in another round, and counts as created in that.
TEST(barrier_test, WhatHandlersPostIsAwaitedToo) {
    two_pes pes;
    control_of_pe control = pes.control();
    pes.work.arrived = warps;
    pes.told(1, barrier_account::of(1, true));
    control.turn(pes.lane);
    pes.work.deferred = 1;
    pes.work.served = 1;
    control.turn(pes.lane);
    EXPECT_FALSE(pes.tells(2)) << "the handler's post has not left";
    pes.sent[1].messages = 1;
    pes.work.forwarded = 1;
    control.turn(pes.lane);
    barrier_account account;
    ASSERT_TRUE(pes.tells(2, account));
    EXPECT_TRUE(account.created());
    EXPECT_EQ(account.sent(), 1u);
    pes.told(2, barrier_account::of(1, false));
    for (int i = 0; i < 2; ++i) control.turn(pes.lane);
    EXPECT_EQ(pes.work.released, 0u) << "PE 1 may not have served it";
    pes.told(3, barrier_account::of(1, false));
    for (int i = 0; i < 2; ++i) control.turn(pes.lane);
    EXPECT_EQ(pes.work.released, 1u);
}

/// The same for answers that are messages: they travel in rings of their own.
TEST(barrier_test, RepliesAreAwaitedToo) {
    two_pes pes;
    link_counters replies[2];
    pes.replies.sent = replies;
    control_of_pe control = pes.control();
    pes.work.arrived = warps;
    pes.told(1, barrier_account::of(2, true));
    control.turn(pes.lane);
    pes.work.served = 1;
    pes.work.replied = 1;
    control.turn(pes.lane);
    EXPECT_FALSE(pes.tells(2)) << "one of two is a reply, and has not been served";
    pes.work.replies_served = 1;
    control.turn(pes.lane);
    EXPECT_FALSE(pes.tells(2)) << "a reply has been made and has not left";
    replies[1].messages = 1;
    control.turn(pes.lane);
    barrier_account account;
    ASSERT_TRUE(pes.tells(2, account));
    EXPECT_TRUE(account.created());
    EXPECT_EQ(account.sent(), 1u);
}

TEST(barrier_test, WarpsThatReturnWithoutItEndTheRun) {
    two_pes pes;
    control_of_pe control = pes.control();
    pes.work.arrived = 1;
    control.turn(pes.lane);
    EXPECT_FALSE(pes.failed()) << "the other warp may still come";
    pes.work.returned = 1;
    control.turn(pes.lane);
    EXPECT_TRUE(pes.failed());
}

TEST(barrier_test, APeWhoseWarpsHaveAllReturnedEndsTheRunWhenOthersCome) {
    two_pes pes;
    control_of_pe control = pes.control();
    pes.work.returned = warps;
    control.turn(pes.lane);
    EXPECT_FALSE(pes.failed());
    pes.told(1, {});
    control.turn(pes.lane);
    EXPECT_TRUE(pes.failed());
}

/// A lane's context, where the last warp posts a message and arrives just before this lane sees that it has.
class overtaken_context : public cpu::context {
public:
    overtaken_context(const cpu::context& lane, two_pes& pes) : cpu::context(lane), pes_(pes) {}

    using cpu::context::load;
    std::uint64_t load(const std::uint64_t* at, order o, scope s) {
        if (at == &pes_.work.arrived) {
            pes_.sent[1].messages = 1;
            pes_.work.arrived = warps;
        }
        return cpu::context::load(at, o, s);
    }

private:
    two_pes& pes_;
};

TEST(barrier_test, WhatAPeHasSentIsReadAfterItsWarpsHaveCome) {
    two_pes pes;
    const overtaken_context lane(pes.lane, pes);
    barrier_control<overtaken_context> control(pes.words, pes.links, pes.replies, warps);
    control.turn(lane);
    barrier_account account;
    ASSERT_TRUE(pes.tells(1, account));
    EXPECT_TRUE(account.created());
    EXPECT_EQ(account.sent(), 1u);
}

}  // namespace
}  // namespace laneway
