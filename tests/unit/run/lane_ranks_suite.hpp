// Where a lane stands among the lanes of its PE and of all PEs; PEs of different devices have different numbers of
// them.
#pragma once

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

class lane_ranks_test : public testing::TestWithParam<std::string> {};

/// What all lanes of a PE say, added up.
struct place_sums {
    enum : unsigned { lanes, local_ranks, squares, local_sizes, before, sizes, n };
    symmetric_ref<std::uint64_t> sums;

    template <class Ctx, class Collectives>
    LANEWAY_FN void operator()(Ctx& ctx, Collectives&) const {
        const std::uint64_t mine = ctx.local_rank();
        const std::uint64_t says[n] = {1, mine, mine * mine, ctx.local_size(), ctx.rank() - mine, ctx.size()};
        for (unsigned i = 0; i < n; ++i) ctx.fetch_add(&sums.local(ctx)[i], says[i], order::relaxed, scope::device);
    }
};

TEST_P(lane_ranks_test, LanesAreNumberedOnTheirPeAndOverAll) {
    runtime rt(options_of(GetParam(), 1));
    const auto sums = rt.allocate<std::uint64_t>(place_sums::n);
    auto together = rt.collectives();
    rt.run(place_sums{sums.ref()}, together);
    std::uint64_t all = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) all += sums.copy_out(pe)[place_sums::lanes];
    std::uint64_t before = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const auto said = sums.copy_out(pe);
        const std::uint64_t lanes = said[place_sums::lanes];
        // Numbers from 0 on, each once: so are those whose sum and sum of squares are these.
        EXPECT_EQ(said[place_sums::local_ranks], lanes * (lanes - 1) / 2) << "PE " << pe;
        EXPECT_EQ(said[place_sums::squares], (lanes - 1) * lanes * (2 * lanes - 1) / 6) << "PE " << pe;
        EXPECT_EQ(said[place_sums::local_sizes], lanes * lanes) << "PE " << pe;
        EXPECT_EQ(said[place_sums::before], before * lanes) << "PE " << pe;
        EXPECT_EQ(said[place_sums::sizes], all * lanes) << "PE " << pe;
        before += lanes;
    }
}

INSTANTIATE_TEST_SUITE_P(devices, lane_ranks_test, testing::ValuesIn(device_lists()), name_of);

}  // namespace
}  // namespace laneway::test
