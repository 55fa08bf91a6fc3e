#include "laneway/comm/block_team.hpp"
#include "laneway/comm/matching/matching_memory.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

class match_warps_test : public testing::TestWithParam<std::string> {};

/// Where the shared memory of a block has what its warps match by.
struct match_warps_memory {
    block_team_shared meeting;
    match_warps_shared<4> told;
};

/// A warp matches as one of two, and the other never comes.
struct match_alone {
    matching_engine_ref engine;
    std::uint32_t* found =
        nullptr;  ///< what a lane has found or been told, a bit for each way; 32: it has come to the end

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        using team_type = match_block<Ctx, block_team<Ctx>, match_warps_shared<4>>;
        auto* const shared = reinterpret_cast<match_warps_memory*>(ctx.shared());
        if (ctx.block() != 0 || ctx.warp() != 0) return;
        if (ctx.lane() == 0) shared->meeting.open();
        ctx.sync(full_warp<Ctx>);
        const block_team<Ctx> mine(&shared->meeting, 0, 2);
        team_type team(ctx, mine, &shared->told);
        const match_key key{0, team.number() % 2};
        const match_result posted = engine.post_together(team, true, key, team.number());
        const match_result come = engine.arrive_together(team, true, key, team.number());
        // Loops of who matches end where nobody asks for anything.
        std::uint32_t what = 32;
        what |= posted.outcome != match_outcome::none || come.outcome != match_outcome::none ? 1 : 0;
        what |= team.any(true) ? 2 : 0;
        what |= team.from(1, 0).any_asks ? 4 : 0;
        what |= team.rank(true, std::uint64_t{1}) != 0 ? 8 : 0;
        what |= team.share(true).all + team.share(true, 1).all != 0 ? 16 : 0;
        ctx.fetch_or(found, what, order::relaxed, scope::device);
    }
};

TEST_P(match_warps_test, NothingIsMatchedWhereTheProgramEndsMeanwhile) {
    machine machine(GetParam());
    const matching_engine engine(machine.device(0), {});
    buffer<std::uint32_t> found(machine.device(0), 1);
    std::string told;
    try {
        const launch_shape shape = small_grid(machine, sizeof(match_warps_memory));
        run_programs(machine, shape, 0.02, [&](int) { return match_alone{engine.ref(), found.data()}; });
        ADD_FAILURE() << "it ended as if nothing had been missing";
    } catch (const timeout_error& late) {
        told = late.what();
    }
    EXPECT_NE(told.find("meeting 1"), std::string::npos) << told;
    EXPECT_EQ(found.copy_out()[0], 32u);
    const matching_statistics now = engine.statistics();
    EXPECT_EQ(now.posted, 0u);
    EXPECT_EQ(now.unexpected, 0u);
    EXPECT_EQ(now.counts.receives + now.counts.messages, 0u);
}

INSTANTIATE_TEST_SUITE_P(devices, match_warps_test, testing::Values("checked:1"), name_of);

}  // namespace
}  // namespace laneway::test
