// How often a coordinator looks at the host's memory, and how many rounds an epoch takes, on a GPU's control warp: each
// look takes microseconds there. One lane stands for the warp.
#include "laneway/comm/epoch_closing.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "laneway/comm/termination.hpp"
#include "unit/counting_context.hpp"

namespace laneway::test {
namespace {

/// What the host has stored for the coordinator, and who looks at it.
struct epoch_host {
    std::uint64_t asked = 0;
    std::uint64_t done = 0;
    epoch_totals totals[epoch_words::kept];
    int looks = 0;  ///< at `asked`
};

/// The first lane of a GPU's warp, whose others have nothing.
class lead_lane : public counting_context {
public:
    static constexpr int warp_lanes = 32;

    lead_lane(const counting_context& lane, epoch_host& host) : counting_context(lane), host_(&host) {}

    template <class T>
    T shuffle(lane_mask, T value, int source) {
        return source == 0 ? value : T{};
    }
    template <class T>
    T load(const T* word, order o, scope s) {
        if constexpr (std::is_same_v<T, std::uint64_t>) host_->looks += word == &host_->asked ? 1 : 0;
        return counting_context::load(word, o, s);
    }

private:
    epoch_host* host_;
};

/// Work of a PE: what the host has left for it, how much of that it has taken, and how much of that is done.
struct fed_work {
    std::uint64_t filled = 0, taken = 0, completed = 0;
    bool is_open = false;
    int looks = 0;                      ///< at the counters
    std::vector<std::uint64_t> orders;  ///< as they came, and `looked` for each look at the counters
    static constexpr std::uint64_t looked = 100;
};

struct fed_counters {
    fed_work* work;
    static constexpr bool non_generating = false;
    static constexpr bool fed_by_host = true;

    fed_reply look(lead_lane&) const {
        ++work->looks;
        work->orders.push_back(fed_work::looked);
        fed_reply sum;
        sum.completed = sum.host_served = work->completed;
        sum.created = sum.taken = work->taken;
        return sum;
    }
    void apply(lead_lane&, std::uint64_t) const {}
    void take_from_host(lead_lane&, std::uint64_t orders) const {
        work->orders.push_back(orders);
        if ((orders & termination_command::look) != 0) work->taken = work->filled;
        work->is_open = (orders & termination_command::open) != 0;
    }
};

/// One PE's control warp.
struct control_warp {
    control_warp(int pe, int n_pes, epoch_host& host, const termination_ref& ref)
        : alone(pe, n_pes, 30), termination(ref),
          lane(counting_context(cpu::context(alone.get(), 0, 1, nullptr), shape, 0, barrier), host),
          control(lane, termination, fed_counters{&work}) {}
    void turn() { control.turn(lane); }

    lone_environment alone;
    launch_shape shape{1, 1, 64};
    std::barrier<> barrier{1};
    termination_ref termination;
    fed_work work;
    lead_lane lane;
    termination_detector<lead_lane, fed_counters> control;
};

termination_ref coordinator_of(epoch_host& host, std::uint32_t& finished, termination_outcome& outcome) {
    termination_ref made;
    made.finished = &finished;
    made.outcome = &outcome;
    made.epochs = {&host.asked, &host.done, host.totals, 0, 0};
    return made;
}

struct lone_pe {
    epoch_host host;
    std::uint32_t finished = 0;
    termination_outcome outcome;
    control_warp pe{0, 1, host, coordinator_of(host, finished, outcome)};

    lone_pe() {
        for (int i = 0; i < 4; ++i) pe.turn();
        forget();
    }
    void forget() {
        host.looks = pe.work.looks = 0;
        pe.work.orders.clear();
    }
    /// Turns until the epoch is done.
    int close(std::uint64_t epoch, std::uint64_t and_leave = 0) {
        host.asked = 2 * epoch + and_leave;
        int turns = 0;
        for (; host.done != epoch && turns < 100; ++turns) pe.turn();
        return turns;
    }
};

TEST(epoch_closing_test, ALonePeAtRestLooksAtTheHostInEachSecondTurnAndAtNothingElse) {
    lone_pe lone;
    EXPECT_TRUE(lone.pe.work.is_open);
    for (int i = 0; i < 40; ++i) lone.pe.turn();
    EXPECT_LE(lone.host.looks, 21);
    EXPECT_LE(lone.pe.work.looks, 1) << "one may be due after some time";
}

TEST(epoch_closing_test, AnEpochTakesALonePeOneLookAtTheHostAndOneAtItsCounters) {
    lone_pe lone;
    for (std::uint64_t epoch = 1; epoch <= 10; ++epoch) {
        lone.forget();
        lone.pe.work.filled += 3;
        lone.pe.work.completed += 3;  // as soon as they are taken
        EXPECT_LE(lone.close(epoch), 2);
        EXPECT_LE(lone.host.looks, 1);
        // The tags that wait are told behind the look that has found nothing open, and then work is taken again.
        EXPECT_EQ(lone.pe.work.orders, (std::vector<std::uint64_t>{termination_command::look, fed_work::looked, 0,
                                                                   termination_command::open}));
        const epoch_totals& totals = lone.host.totals[epoch % epoch_words::kept];
        EXPECT_EQ(totals.taken, 3 * epoch) << "all that was left before";
        EXPECT_EQ(totals.host_served, 3 * epoch);
    }
}

TEST(epoch_closing_test, WhileWorkIsOpenOnlyTheCountersAreLookedAt) {
    lone_pe lone;
    lone.pe.work.filled = 2;
    lone.host.asked = 2;
    for (int i = 0; i < 20; ++i) lone.pe.turn();
    EXPECT_EQ(lone.host.done, 0u);
    EXPECT_FALSE(lone.pe.work.is_open);
    lone.pe.work.filled = 5;  // of the next epoch
    lone.pe.work.completed = 1;
    lone.pe.turn();
    EXPECT_EQ(lone.host.done, 0u);
    lone.pe.work.completed = 2;
    lone.pe.turn();
    EXPECT_EQ(lone.host.done, 1u);
    EXPECT_EQ(lone.host.totals[1].taken, 2u);
    EXPECT_LE(lone.host.looks, 1);
    EXPECT_TRUE(lone.pe.work.is_open);
}

TEST(epoch_closing_test, AnEpochClosedWhileAnotherClosesComesNext) {
    lone_pe lone;
    lone.pe.work.filled = 1;
    lone.host.asked = 2;
    for (int i = 0; i < 4; ++i) lone.pe.turn();
    lone.pe.work.filled = 2;
    lone.host.asked = 6;  // two more
    lone.pe.work.completed = 1;
    lone.pe.turn();
    EXPECT_EQ(lone.host.done, 1u) << "the third had not been closed when posts were looked for";
    lone.pe.work.completed = 2;
    EXPECT_LE(lone.close(3), 4);
    EXPECT_EQ(lone.host.totals[3].taken, 2u);
}

TEST(epoch_closing_test, TheProgramEndsWithTheEpochThatSaysSo) {
    lone_pe lone;
    EXPECT_LE(lone.close(1, 1), 2);
    EXPECT_EQ(lone.finished, 1u);
    EXPECT_EQ(lone.pe.work.orders, (std::vector<std::uint64_t>{termination_command::look, fed_work::looked, 0,
                                                               termination_command::finish}));
    EXPECT_LE(lone.host.looks, 1);
}

/// Two PEs, whose control warps take turns.
struct two_controls {
    epoch_host host;
    std::uint32_t finished[2] = {};
    termination_outcome outcome;
    std::uint64_t command[tagged_words<termination_command>] = {};
    std::uint64_t reply[tagged_words<fed_reply>] = {};
    word_sender commands[1] = {word_sender{command}};
    word_receiver replies[1] = {word_receiver{reply}};
    control_warp first{0, 2, host, parent()};
    control_warp second{1, 2, host, child()};

    termination_ref parent() {
        termination_ref made = coordinator_of(host, finished[0], outcome);
        made.commands = commands;
        made.replies = replies;
        made.children = 1;
        return made;
    }
    termination_ref child() {
        termination_ref made;
        made.command = word_receiver(command);
        made.reply = word_sender(reply);
        made.finished = &finished[1];
        return made;
    }
    void turns(int n) {
        for (int i = 0; i < n; ++i) {
            first.turn();
            second.turn();
        }
    }
};

TEST(epoch_closing_test, AnEpochInWhichNothingIsOpenTakesSeveralPesOneRoundAndOneThatOpensThem) {
    two_controls pes;
    pes.turns(10);
    for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
        pes.host.looks = 0;
        pes.second.work.orders.clear();
        pes.host.asked = 2 * epoch;
        int turns = 0;
        for (; pes.host.done != epoch && turns < 100; ++turns) pes.turns(1);
        EXPECT_LE(turns, 4);
        EXPECT_LE(pes.host.looks, 1);
        pes.turns(3);
        EXPECT_EQ(
            pes.second.work.orders,
            (std::vector<std::uint64_t>{termination_command::look, fed_work::looked,
                                        termination_command::look | termination_command::open, fed_work::looked}));
    }
}

TEST(epoch_closing_test, WhatWasLeftBeforeIsPartOfTheEpochOnEachPe) {
    two_controls pes;
    pes.turns(10);
    pes.second.work.filled = 4;
    pes.host.asked = 2;
    pes.turns(10);
    EXPECT_EQ(pes.host.done, 0u) << "taken and not done";
    pes.second.work.completed = 4;
    pes.turns(4);
    EXPECT_EQ(pes.host.done, 1u);
    EXPECT_EQ(pes.host.totals[1].taken, 4u);
    EXPECT_EQ(pes.host.totals[1].host_served, 4u);
}

}  // namespace
}  // namespace laneway::test
