// Requests of warps that have kept little: each is met once.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "laneway/task/channel_requests.hpp"
#include "unit/counting_context.hpp"

namespace laneway::test {
namespace {

/// Requests of so many warps of one lane, each of which looks at one word at a time.
class channel_requests_test : public ::testing::Test {
protected:
    using requests = channel_requests<counting_context>;
    static constexpr std::uint32_t warps = 70;

    channel_requests_test() {
        stacks.warps = warps;
        words.resize(stacks.asking_words());
        stacks.asking = words.data();
    }
    /// What a warp takes that has looked at all words.
    std::vector<std::uint32_t> all_taken_by(requests& giver) {
        std::vector<std::uint32_t> taken;
        for (std::uint32_t turn = 0; turn < 2 * warps; ++turn) {
            giver.look(lane.ctx);
            const std::uint32_t number = giver.take(lane.ctx, turn);
            if (number != requests::nobody) taken.push_back(number);
        }
        return taken;
    }

    counting_lane lane;
    channel_stacks_ref stacks;
    std::vector<std::uint32_t> words;
};

TEST_F(channel_requests_test, EachIsTakenOnce) {
    requests giver(stacks, 3);
    EXPECT_TRUE(all_taken_by(giver).empty());
    const std::vector<std::uint32_t> numbers = {0, 31, 32, 69};
    for (const std::uint32_t number : numbers) requests(stacks, number).note(lane.ctx, true, 0);
    std::vector<std::uint32_t> taken = all_taken_by(giver);
    std::sort(taken.begin(), taken.end());
    EXPECT_EQ(taken, numbers);
    EXPECT_EQ(words, std::vector<std::uint32_t>(3)) << "nobody asks any more";
    EXPECT_EQ(lane.ctx.ordered + lane.ctx.releases + lane.ctx.acquires, 0) << "requests are hints";
}

TEST_F(channel_requests_test, OfTwoThatHaveSeenOneTheFasterTakesIt) {
    requests(stacks, 5).note(lane.ctx, true, 0);
    requests fast(stacks, 6), slow(stacks, 7);
    for (std::size_t i = 0; i < words.size(); ++i) {  // the last look is at the first word
        fast.look(lane.ctx);
        slow.look(lane.ctx);
    }
    EXPECT_EQ(fast.take(lane.ctx, 0), 5u);
    EXPECT_EQ(slow.take(lane.ctx, 0), requests::nobody);
}

TEST_F(channel_requests_test, WhoFindsSomethingAsksNoMoreAndWhoDoesNotAsksAgain) {
    requests asks(stacks, 40);
    asks.note(lane.ctx, true, 10);
    EXPECT_EQ(words[1], 1u << 8);
    words[1] = 0;  // somebody has taken it
    asks.note(lane.ctx, true, 20);
    EXPECT_EQ(words[1], 0u) << "not in each turn";
    asks.note(lane.ctx, true, 50);
    EXPECT_EQ(words[1], 1u << 8);
    asks.note(lane.ctx, false, 51);
    EXPECT_EQ(words[1], 0u);
    words[1] = 1u << 8;  // of another's, say
    asks.note(lane.ctx, false, 52);
    EXPECT_EQ(words[1], 1u << 8) << "nothing to take back";
}

}  // namespace
}  // namespace laneway::test
