#include "laneway/comm/roles.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace laneway {
namespace {

/// Place of a lane, all that roles look at.
template <int Lanes>
struct place {
    static constexpr int warp_lanes = Lanes;
    int block_, n_blocks_, warp_, n_warps_;
    [[nodiscard]] int block() const { return block_; }
    [[nodiscard]] int n_blocks() const { return n_blocks_; }
    [[nodiscard]] int warp() const { return warp_; }
    [[nodiscard]] int n_warps() const { return n_warps_; }
};

template <int Lanes>
void shared_out(int blocks, int warps, server_layout layout, bool flushers = false) {
    SCOPED_TRACE(std::to_string(blocks) + " blocks, " + std::to_string(warps) + " warps, " +
                 std::to_string(layout.blocks) + " serving, " + std::to_string(layout.warps_a_block) +
                 " warps of each");
    std::set<int> servers, workers;
    int controls = 0, flushing = 0;
    for (int b = 0; b < blocks; ++b) {
        std::set<int> team;
        int team_warps = 0;
        for (int w = 0; w < warps; ++w) {
            const roles mine(place<Lanes>{b, blocks, w, warps}, layout, flushers);
            controls += mine.control ? 1 : 0;
            if (mine.serves) {
                EXPECT_TRUE(servers.insert(mine.server_index).second);
            }
            if (mine.works) {
                EXPECT_TRUE(workers.insert(mine.worker_index).second);
                if (Lanes > 1) team.insert(mine.team_index);
                team_warps = mine.team_warps;
            }
            flushing += mine.flushes ? 1 : 0;
            EXPECT_TRUE(mine.control || mine.serves || mine.works || mine.flushes);
            EXPECT_FALSE(mine.flushes && (mine.control || mine.serves || mine.works));
        }
        if (!team.empty()) {
            EXPECT_TRUE(*team.begin() == 0 && *team.rbegin() == team_warps - 1);
            EXPECT_EQ(static_cast<int>(team.size()), team_warps);
        }
    }
    EXPECT_EQ(controls, 1);
    EXPECT_EQ(flushing, Lanes > 1 && flushers && layout.any() ? blocks - layout.blocks : 0);
    const auto n_servers = roles::count_servers(blocks, warps, layout, Lanes == 1);
    const auto n_workers = roles::count_workers(blocks, warps, layout, Lanes == 1, flushers);
    EXPECT_EQ(static_cast<int>(servers.size()), n_servers);
    EXPECT_EQ(static_cast<int>(workers.size()), n_workers);
    if (n_servers > 0) {
        EXPECT_TRUE(*servers.begin() == 0 && *servers.rbegin() == n_servers - 1);
    }
    if (n_workers > 0) {
        EXPECT_TRUE(*workers.begin() == 0 && *workers.rbegin() == n_workers - 1);
    }
}

// Few pieces of work go to many multiprocessors.
TEST(roles_test, NeighboursAmongWorkersLieInDifferentBlocks) {
    for (const bool flushers : {false, true}) {
        for (const server_layout layout : {server_layout{}, server_layout{2}, server_layout{0, 1}}) {
            std::map<int, int> block_of;
            constexpr int blocks = 7, warps = 4;
            for (int b = 0; b < blocks; ++b) {
                for (int w = 0; w < warps; ++w) {
                    const roles mine(place<32>{b, blocks, w, warps}, layout, flushers);
                    if (mine.works) block_of[mine.worker_index] = b;
                    if (mine.works && mine.team_index == 0) {
                        EXPECT_EQ(mine.worker_index, mine.team_number);
                    }
                }
            }
            std::set<int> first;
            for (int i = 0; i < blocks - layout.blocks; ++i) first.insert(block_of.at(i));
            EXPECT_EQ(static_cast<int>(first.size()), blocks - layout.blocks);
        }
    }
}

TEST(roles_test, EveryWarpHasARoleAndIndicesHaveNoHoles) {
    for (int blocks = 1; blocks <= 5; ++blocks) {
        shared_out<1>(blocks, 1, 0);
        shared_out<1>(blocks, 1, 0, true);
        for (int warps = 2; warps <= 5; ++warps) {
            for (int server_blocks = 0; server_blocks < blocks; ++server_blocks) {
                shared_out<4>(blocks, warps, server_blocks);
                shared_out<32>(blocks, warps, server_blocks);
                shared_out<32>(blocks, warps, server_blocks, true);
            }
            for (int each = 1; each < warps - 1; ++each) {
                shared_out<4>(blocks, warps, {0, each});
                if (each < warps - 2) shared_out<32>(blocks, warps, {0, each}, true);
            }
        }
    }
}

}  // namespace
}  // namespace laneway
