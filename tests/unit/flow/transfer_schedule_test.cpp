#include "laneway/flow/transfer_schedule.hpp"

#include <gtest/gtest.h>

#include <set>

#include "laneway/base/error.hpp"

namespace laneway::flow {
namespace {

using step_kind = transfer_step::kind;

std::uint64_t sent_elements(const std::vector<transfer_step>& steps) {
    std::uint64_t sent = 0;
    for (const auto& step : steps) sent += step.what == step_kind::send ? step.count : 0;
    return sent;
}

std::size_t peers_of(const std::vector<transfer_step>& steps) {
    std::set<std::size_t> peers;
    for (const auto& step : steps) peers.insert(step.peer);
    return peers.size();
}

std::size_t rounds_of_tree(std::size_t n) {
    std::size_t rounds = 0;
    while ((std::size_t{1} << rounds) < n) ++rounds;
    return rounds;
}

TEST(transfer_schedule, ARootTalksToAsManyAsItsTreeHasRounds) {
    for (std::size_t n = 1; n <= 9; ++n) {
        for (std::size_t root = 0; root < n; ++root) {
            const auto down = plan_scatter(shape::tree, {n, 5, 2}, root);
            const auto up = plan_gather(shape::tree, {n, 5, 2}, root);
            EXPECT_EQ(peers_of(down[root]), rounds_of_tree(n)) << n << " members";
            EXPECT_EQ(peers_of(up[root]), rounds_of_tree(n)) << n << " members";
            EXPECT_EQ(sent_elements(down[root]), (n - 1) * 5) << "each block once";
            EXPECT_EQ(sent_elements(up[root]), 0u);
            for (std::size_t i = 0; i < n; ++i) {
                if (i == root) continue;
                EXPECT_GE(sent_elements(up[i]), 5u) << "its own, at least";
                EXPECT_EQ(sent_elements(up[i]), sent_elements(down[i]) + 5) << "what it passes down, and its own";
            }
        }
    }
}

TEST(transfer_schedule, DirectlyEachBlockGoesOneHop) {
    for (std::size_t root = 0; root < 5; ++root) {
        const auto down = plan_scatter(shape::direct, {5, 3, 1}, root);
        const auto up = plan_gather(shape::direct, {5, 3, 1}, root);
        EXPECT_EQ(peers_of(down[root]), 4u);
        for (std::size_t i = 0; i < 5; ++i) {
            if (i == root) continue;
            EXPECT_EQ(down[i], (std::vector<transfer_step>{{step_kind::receive, root, 3 * i, 3}}));
            EXPECT_EQ(up[i], (std::vector<transfer_step>{{step_kind::send, root, 3 * i, 3}}));
        }
    }
}

/// By a tree none has more to do with others than its tree has rounds, up and down.
TEST(transfer_schedule, AllGatherAndReduceScatterByATreeAreTrees) {
    for (std::size_t n = 2; n <= 9; ++n) {
        for (const auto& plan :
             {plan_all_gather(shape::tree, {n, 4, 3}), plan_reduce_scatter(shape::tree, {n, 4, 3})}) {
            for (const auto& steps : plan) EXPECT_LE(peers_of(steps), rounds_of_tree(n)) << n << " members";
        }
    }
}

TEST(transfer_schedule, NoRingForBlocksOfOne) {
    EXPECT_THROW((void)plan_scatter(shape::ring, {3, 1, 1}, 0), usage_error);
    EXPECT_THROW((void)plan_gather(shape::ring, {3, 1, 1}, 0), usage_error);
}

}  // namespace
}  // namespace laneway::flow
