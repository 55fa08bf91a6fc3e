#include "laneway/comm/block_team.hpp"

#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

class block_team_test : public testing::TestWithParam<std::string> {};

/// A warp begins a task of its block's team, and another of the team never comes.
struct begin_alone {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        auto* const shared = reinterpret_cast<block_team_shared*>(ctx.shared());
        if (ctx.block() != 0 || ctx.warp() != 0) return;
        if (ctx.lane() == 0) shared->open();
        ctx.sync(full_warp<Ctx>);
        block_team<Ctx> team(shared, 0, 2);
        if (!team.lead(ctx)) return;
        team.call(ctx, 0);
        team.take_part(ctx, [](bool) {});
    }
};

TEST_P(block_team_test, AWarpThatNeverComesIsNotWaitedForPastTheDeadline) {
    machine machine(GetParam());
    const std::string told = told_at_deadline(machine, begin_alone{});
    EXPECT_NE(told.find("deadline passed while waiting for the other warps of the block: meeting 1"), std::string::npos)
        << told;
}

INSTANTIATE_TEST_SUITE_P(devices, block_team_test, testing::Values("cpu:1", "checked:1"), name_of);

}  // namespace
}  // namespace laneway::test
