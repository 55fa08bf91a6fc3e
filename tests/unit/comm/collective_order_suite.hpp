// What collectives order: plain accesses before and behind barriers and around arrays, which checked devices know to
// have an order.
#pragma once

#include "collectives_job.hpp"
#include "laneway/memory/symmetric_array.hpp"

namespace laneway::test {

class collective_order_test : public testing::TestWithParam<std::string> {};

/// In each round every lane writes a word of its PE, and behind the barrier reads that of another lane of its group,
/// maybe on another PE.
struct write_and_read {
    symmetric_ref<std::uint64_t> words;  ///< one for each lane
    symmetric_ref<std::uint64_t> wrong;
    working_counts counts;
    group kind;
    std::uint64_t rounds;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        const int warp = position.pe_warp, lanes = Ctx::warp_lanes;
        const auto mine = static_cast<std::uint64_t>(warp * lanes + ctx.lane());
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            words.local(ctx)[mine] = round * 1000 + static_cast<std::uint64_t>(ctx.pe());
            if (sums.barrier(ctx, kind) != status::ok) return;
            const int pe =
                static_cast<int>((static_cast<std::uint64_t>(ctx.pe()) + round) % static_cast<unsigned>(ctx.n_pes()));
            const std::uint64_t theirs = neighbour(ctx, mine, round);
            std::uint64_t seen = words.at(ctx, pe)[theirs];
            if (seen != round * 1000 + static_cast<std::uint64_t>(pe)) atomic_add(ctx, wrong[0], 1);
            if (sums.barrier(ctx, kind) != status::ok) return;  // nobody goes on while others read
        }
    }

private:
    /// A lane of the same group: of the warp, or of any warp where the group is the grid.
    template <class Ctx>
    LANEWAY_FN std::uint64_t neighbour(Ctx&, std::uint64_t mine, std::uint64_t round) const {
        constexpr auto lanes = static_cast<std::uint64_t>(Ctx::warp_lanes);
        if (kind == group::grid) return (mine + round * 5) % (counts.warps * lanes);
        return mine / lanes * lanes + (mine + round) % lanes;
    }
};

TEST_P(collective_order_test, BarriersOrderPlainAccesses) {
    every_round(GetParam(), [&](options o) {
        o.checked_warps = 2;
        for (const group kind : {group::warp, group::block, group::grid}) {
            collectives_job job(o);
            const auto lanes = static_cast<std::uint64_t>(job.lanes(0)) * job.counts[0].warps;
            symmetric_array<std::uint64_t> words(job.machine, lanes), wrong(job.machine, 1);
            job.run([&](int) { return write_and_read{words.ref(), wrong.ref(), job.counts[0], kind, 4}; });
            for (int pe = 0; pe < job.machine.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
        }
    });
}

/// The lanes of a member fill an array, reduce it, and read elements that other lanes filled.
struct fill_and_reduce {
    symmetric_ref<std::uint64_t> arrays;
    symmetric_ref<std::uint64_t> wrong;
    working_counts counts;
    group kind;
    std::uint64_t count;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        const bool grid = kind == group::grid;
        auto values = arrays.local(ctx) + (grid ? 0 : static_cast<std::uint64_t>(position.block)) * count;
        const auto lane =
            static_cast<std::uint64_t>((grid ? position.pe_warp : position.warp) * Ctx::warp_lanes + ctx.lane());
        const auto lanes =
            static_cast<std::uint64_t>(grid ? static_cast<int>(counts.warps) : position.warps) * Ctx::warp_lanes;
        for (std::uint64_t e = lane; e < count; e += lanes) values[e] = e;
        if (sums.all_reduce(ctx, values, count, reduction::sum{}, kind) != status::ok) return;
        for (std::uint64_t e = 0; e < count; ++e) {
            const std::uint64_t sum = values[e];
            if (sum != e * static_cast<std::uint64_t>(ctx.n_pes())) atomic_add(ctx, wrong[0], 1);
        }
    }
};

TEST_P(collective_order_test, ArraysAreSeenByAllCallers) {
    every_round(GetParam(), [&](const options& o) {
        for (const group kind : {group::block, group::grid}) {
            for (const std::uint64_t count : {3, 50}) {
                collectives_job job(o);
                symmetric_array<std::uint64_t> arrays(job.machine, count * job.counts[0].blocks), wrong(job.machine, 1);
                job.run([&](int) { return fill_and_reduce{arrays.ref(), wrong.ref(), job.counts[0], kind, count}; });
                for (int pe = 0; pe < job.machine.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
            }
        }
    });
}

LANEWAY_ON_DEVICES(collective_order_test, equal_devices());

}  // namespace laneway::test
