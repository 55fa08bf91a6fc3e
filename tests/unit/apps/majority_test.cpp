// The vote by which components find the tree to leave out.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "cc/join_components.hpp"

namespace laneway::test {

apps::majority<std::uint32_t> vote_of(const std::vector<std::uint32_t>& values) {
    apps::majority<std::uint32_t> vote;
    for (const std::uint32_t value : values) vote.merge({value, 1});
    return vote;
}

TEST(majority_test, FindsWhatMoreThanHalfHave) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::uint32_t> values(1 + random() % 40);
        const std::size_t most = values.size() / 2 + 1;
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = i < most ? 7 : static_cast<std::uint32_t>(random() % 5);
        std::shuffle(values.begin(), values.end(), random);
        EXPECT_EQ(vote_of(values).value, 7u);
        // However the samples are divided among lanes, whose votes are merged.
        const auto cut = values.begin() + static_cast<std::ptrdiff_t>(random() % values.size());
        auto vote = vote_of({values.begin(), cut});
        vote.merge(vote_of({cut, values.end()}));
        EXPECT_EQ(vote.value, 7u);
    }
}

TEST(majority_test, LeadsByWhatIsLeft) {
    EXPECT_EQ(vote_of({3, 3, 4}).lead, 1u);
    EXPECT_EQ(vote_of({3, 4}).lead, 0u);
    EXPECT_EQ(vote_of({5, 5, 5}).lead, 3u);
}

}  // namespace laneway::test
