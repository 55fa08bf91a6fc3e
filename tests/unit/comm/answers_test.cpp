// Answers to calls: a word that a longer answer has left is never taken for one of a later call.
#include <gtest/gtest.h>

#include <array>

#include "laneway/comm/answers.hpp"
#include "unit/warp_threads.hpp"

namespace laneway {
namespace {

constexpr std::uint32_t words = 4, slots = 2, period = answers_ref::calls_period;

/// Slots of PE 0's lanes that PE 1 writes.
struct answered_pe {
    void take_all_with(std::uint32_t tag) {
        for (auto& word : memory) word = std::uint64_t{tag} << 32 | 0xdead;
    }
    [[nodiscard]] bool seems_answered(std::uint32_t slot, std::uint32_t call) {
        std::array<std::uint64_t, 2> value;
        return answers.take(lane, 1, answers_ref::token(slot, call), value);
    }

    test::lone_environment environment{0, 2, 10};
    cpu::context lane{environment.get(), 0, 1, nullptr};
    std::uint64_t memory[slots * words] = {};
    word_sender to[2] = {word_sender{}, word_sender(memory)};
    word_receiver from[2] = {word_receiver{}, word_receiver(memory)};
    answers_ref answers{to, from, words};
};

TEST(answers_test, ALaneRenewsTheWordsOfItsSlotOnceInAPeriod) {
    answered_pe pe;
    pe.take_all_with(7);  // an answer of 4 words, 2^32 calls before the one that will be number 7
    EXPECT_EQ(pe.answers.next_call(pe.lane, 1, 0xffffffff - period), 0u - period);
    EXPECT_FALSE(pe.seems_answered(1, 7));
    EXPECT_FALSE(pe.seems_answered(1, 0u - period)) << "the call that follows is not answered yet";
    EXPECT_TRUE(pe.seems_answered(0, 7)) << "the slot of another lane";
}

TEST(answers_test, NoCallHasTheNumberThatMeansPosted) {
    answered_pe pe;
    EXPECT_EQ(pe.answers.next_call(pe.lane, 0, 0xffffffff), 1u);
    EXPECT_EQ(pe.answers.next_call(pe.lane, 0, 0), 1u);
}

TEST(answers_test, BetweenPeriodsNothingIsStored) {
    answered_pe pe;
    pe.take_all_with(7);
    for (std::uint32_t call = 8; call < 1000; ++call) EXPECT_EQ(pe.answers.next_call(pe.lane, 1, call - 1), call);
    EXPECT_TRUE(pe.seems_answered(1, 7));
}

}  // namespace
}  // namespace laneway
