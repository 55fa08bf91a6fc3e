// Replica exchange: Metropolis's probabilities, and who ends up with which temperature.
#include "md/exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "laneway/base/error.hpp"

namespace laneway::test {

using apps::exchange_probability;
using apps::replica_ladder;

TEST(ReplicaExchange, ProbabilitiesAreMetropolis) {
    EXPECT_EQ(exchange_probability(1, -10, 2, -10), 1);
    EXPECT_EQ(exchange_probability(1, -5, 2, -10), 1) << "the colder one would get the lower energy";
    EXPECT_DOUBLE_EQ(exchange_probability(1, -10, 2, -6), std::exp(-2));
    EXPECT_DOUBLE_EQ(exchange_probability(2, -6, 1, -10), std::exp(-2)) << "the pair has no order";
    EXPECT_EQ(exchange_probability(1, -1e9, 2, 1e9), 0);
    EXPECT_EQ(exchange_probability(1, 1e300, 2, -1e300), 1);
}

TEST(ReplicaExchange, FactorsKeepTheRatioOfKineticEnergyAndTemperature) {
    replica_ladder ladder({0.5, 2}, 7);
    const auto made = ladder.try_trade(0, 0, 0, -1);
    ASSERT_TRUE(made.accepted);
    EXPECT_EQ(made.lower, 0u);
    EXPECT_EQ(made.upper, 1u);
    EXPECT_DOUBLE_EQ(made.lower_factor, 2);
    EXPECT_DOUBLE_EQ(made.upper_factor, 0.5);
    EXPECT_EQ(ladder.temperature_of(0), 2);
    EXPECT_EQ(ladder.temperature_of(1), 0.5);
    EXPECT_EQ(ladder.replica_on(0), 1u);
    const auto refused = ladder.try_trade(0, 1, -1e6, 1e6);
    EXPECT_FALSE(refused.accepted);
    EXPECT_EQ(refused.lower, 1u);
    EXPECT_EQ(refused.lower_factor, 1);
    EXPECT_EQ(ladder.rung_of(0), 1u);
}

TEST(ReplicaExchange, RoundsAlternate) {
    using rungs = std::vector<std::size_t>;
    const replica_ladder even({1, 2, 3, 4}, 1), odd({1, 2, 3}, 1), two({1, 2}, 1);
    EXPECT_EQ(even.pairs_of(0), (rungs{0, 2}));
    EXPECT_EQ(even.pairs_of(1), (rungs{1}));
    EXPECT_EQ(odd.pairs_of(2), (rungs{0}));
    EXPECT_EQ(odd.pairs_of(3), (rungs{1}));
    EXPECT_EQ(two.pairs_of(1), (rungs{}));
}

TEST(ReplicaExchange, PairsComeInAnyOrder) {
    const std::vector<double> temperatures{1, 1.2, 1.4, 1.6, 1.8, 2};
    std::mt19937_64 random(3);
    std::normal_distribution<double> potential(0, 3);
    replica_ladder forwards(temperatures, 5), backwards(temperatures, 5);
    std::size_t accepted = 0;
    for (std::uint64_t round = 0; round < 200; ++round) {
        std::vector<double> potentials(temperatures.size());
        for (double& each : potentials) each = potential(random);
        accepted += forwards.trade_round(round, potentials).size();
        auto rungs = backwards.pairs_of(round);
        std::reverse(rungs.begin(), rungs.end());
        for (const std::size_t rung : rungs) {
            (void)backwards.try_trade(rung, round, potentials[backwards.replica_on(rung)],
                                      potentials[backwards.replica_on(rung + 1)]);
        }
        std::vector<bool> seen(temperatures.size());
        for (std::size_t r = 0; r < temperatures.size(); ++r) {
            ASSERT_EQ(forwards.rung_of(r), backwards.rung_of(r));
            ASSERT_EQ(forwards.replica_on(forwards.rung_of(r)), r);
            seen[forwards.rung_of(r)] = true;
        }
        ASSERT_EQ(std::count(seen.begin(), seen.end(), true), 6) << "each temperature has one replica";
    }
    EXPECT_GT(accepted, 50u);
    EXPECT_LT(accepted, 490u);
}

TEST(ReplicaExchange, DrawsFollowSeedAndProbability) {
    std::vector<std::size_t> accepted;
    for (const std::uint64_t seed : {1u, 2u, 1u}) {
        std::size_t count = 0;
        std::size_t pattern = 0;
        for (std::uint64_t round = 0; round < 20'000; ++round) {
            replica_ladder ladder({1, 2, 3}, seed);
            const bool made = ladder.try_trade(round % 2, round, round % 2 == 0 ? -1 : -3, 0).accepted;
            count += made ? 1 : 0;  // with probability exp(-1/2)
            pattern = pattern * 31 + (made ? 1 : 0);
        }
        EXPECT_NEAR(static_cast<double>(count), 20'000 * std::exp(-0.5), 5 * std::sqrt(20'000 * 0.24));
        accepted.push_back(pattern);
    }
    EXPECT_NE(accepted[0], accepted[1]);
    EXPECT_EQ(accepted[0], accepted[2]);
}

/// Replicas with two states each: after many rounds a temperature's replicas are in the upper state as often as
/// Boltzmann says, although no replica ever changes its state.
TEST(ReplicaExchange, BalanceIsDetailed) {
    const std::vector<double> temperatures{0.5, 1};
    double upper = 0;
    constexpr int rounds = 40'000;
    replica_ladder ladder(temperatures, 11);
    const std::vector<double> potentials{0, 1};  // of the replicas, for ever
    for (int round = 0; round < rounds; ++round) {
        (void)ladder.trade_round(2 * static_cast<std::uint64_t>(round), potentials);
        upper += ladder.replica_on(0) == 1 ? 1 : 0;
    }
    // Weights of the two ways to share the temperatures: exp(-1/1) and exp(-1/0.5).
    EXPECT_NEAR(upper / rounds, std::exp(-2) / (std::exp(-1) + std::exp(-2)), 0.01);
}

TEST(ReplicaExchange, UnsoundOnesAreRefused) {
    EXPECT_THROW(replica_ladder({1}, 1), usage_error);
    EXPECT_THROW(replica_ladder({2, 1}, 1), usage_error);
    EXPECT_THROW(replica_ladder({1, 1}, 1), usage_error);
    EXPECT_THROW(replica_ladder({0, 1}, 1), usage_error);
    EXPECT_THROW(replica_ladder({1, std::numeric_limits<double>::infinity()}, 1), usage_error);
    EXPECT_THROW(replica_ladder({1, std::numeric_limits<double>::quiet_NaN()}, 1), usage_error);
    replica_ladder ladder({1, 2}, 1);
    EXPECT_THROW((void)ladder.try_trade(1, 0, 0, 0), usage_error);
    EXPECT_THROW((void)ladder.try_trade(0, 0, std::numeric_limits<double>::quiet_NaN(), 0), usage_error);
    EXPECT_THROW((void)ladder.trade_round(0, {1}), usage_error);
}

}  // namespace laneway::test
