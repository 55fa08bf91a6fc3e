// Index spaces of each PE's own numbers, in passes, and over many runs.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "unit/run/component_job.hpp"

namespace laneway::test {
namespace {

struct count_own_index {
    symmetric_ref<std::uint64_t> seen;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint64_t i) const {
        atomic_add(ctx, seen[i], 1);
    }
};

class index_space_test : public testing::TestWithParam<std::string> {
protected:
    static constexpr std::uint64_t max_count = 1000;

    /// Of each PE others, none among them where there are several.
    [[nodiscard]] std::vector<std::uint64_t> counts() const {
        std::vector<std::uint64_t> all;
        for (int pe = 0; pe < rt_.n_pes(); ++pe) all.push_back(pe == 1 ? 0 : max_count - 7 * static_cast<unsigned>(pe));
        return all;
    }
    void expect_seen(const symmetric_array<std::uint64_t>& seen, std::uint64_t times) const {
        const std::vector<std::uint64_t> own = counts();
        for (int pe = 0; pe < rt_.n_pes(); ++pe) {
            std::vector<std::uint64_t> expected(seen.size());
            std::fill_n(expected.begin(), own[static_cast<std::size_t>(pe)], times);
            EXPECT_EQ(seen.copy_out(pe), expected) << "PE " << pe;
        }
    }

    runtime rt_{options_for(GetParam())};
};

TEST_P(index_space_test, EachPEHasItsOwnIndices) {
    for (const index_space_options& how : {index_space_options{}, index_space_options{.max_rows = 1}}) {
        const auto seen = rt_.allocate<std::uint64_t>(max_count + 1);
        index_space own(counts(), how);
        rt_.for_each(own, count_own_index{seen.ref()});
        expect_seen(seen, 1);
    }
}

TEST_P(index_space_test, ThereIsACountForEachPE) {
    index_space own(std::vector<std::uint64_t>(static_cast<std::size_t>(rt_.n_pes()) + 1, 3));
    const auto seen = rt_.allocate<std::uint64_t>(3);
    EXPECT_THROW(rt_.for_each(own, count_own_index{seen.ref()}), usage_error);
    own.resize(std::vector<std::uint64_t>{});
    EXPECT_THROW(rt_.for_each(own, count_own_index{seen.ref()}), usage_error) << "no counts are none for any PE";
}

/// All warps count the indices in some of many passes.
struct count_in_passes {
    static constexpr std::uint32_t all = 12;
    symmetric_ref<std::uint64_t> seen;

    /// Nobody takes anything in the others, of which two follow each other.
    static LANEWAY_FN bool takes(std::uint32_t pass) { return pass != 2 && pass != 5 && pass != 6; }

    template <class Ctx, class Single, class Joint, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Single& single, Joint& joint, Box& box) const {
        for (std::uint32_t pass = 0; pass < all; ++pass) {
            const auto count = [&](std::uint64_t i) { atomic_add(ctx, seen[i], 1); };
            const auto count_once = [&](std::uint64_t i) {
                if (ctx.lane() == 0) count(i);
            };
            if (takes(pass)) single.for_each(ctx, count, pass);
            if (!takes(pass)) joint.for_each_together(ctx, count_once, pass);
            ctx.sync(full_warp<Ctx>);
            if (box.barrier(ctx) != status::ok) return;
        }
    }
};

TEST_P(index_space_test, EachPassHandsOutAll) {
    index_space single(counts()), joint(counts(), {.for_warps = true});
    const auto seen = rt_.allocate<std::uint64_t>(max_count);
    const auto box = rt_.mailbox<up>(add_to{seen.ref(), 0});
    for (std::uint64_t run = 1; run <= 3; ++run) {
        rt_.run(count_in_passes{seen.ref()}, single, joint, box);
        expect_seen(seen, run * count_in_passes::all);
    }
}

/// Every warp takes one piece at most, and leaves the rest.
struct take_one {
    symmetric_ref<std::uint64_t> seen;
    template <class Ctx, class Indices>
    LANEWAY_FN void operator()(Ctx& ctx, Indices& indices) const {
        index_piece piece;
        if (!indices.take(ctx, piece)) return;
        const std::uint64_t mine = piece.first + static_cast<std::uint64_t>(ctx.lane());
        if (mine < piece.last) atomic_add(ctx, seen[mine], 1);
    }
};
struct take_nothing {
    template <class Ctx, class Indices>
    LANEWAY_FN void operator()(Ctx&, Indices&) const {}
};

TEST_P(index_space_test, WhatARunLeavesDoesNotCountInTheNext) {
    index_space own(counts(), {.max_rows = 1});
    const auto some = rt_.allocate<std::uint64_t>(max_count), seen = rt_.allocate<std::uint64_t>(max_count);
    for (std::uint64_t run = 1; run <= 3; ++run) {
        rt_.run(take_one{some.ref()}, own);
        rt_.run(take_nothing{}, own);
        rt_.for_each(own, count_own_index{seen.ref()});
        expect_seen(seen, run);
    }
}

TEST_P(index_space_test, ANumberOfARunThatComesAgainIsOfThatRun) {
    index_space own(counts());
    const auto seen = rt_.allocate<std::uint64_t>(max_count);
    rt_.for_each(own, count_own_index{seen.ref()});
    pe_grid grid;
    grid.shape = {1, 1};
    comm_plan plan;
    plan.grids.assign(counts().size(), grid);
    // Runs in which nobody takes anything, as many as until the number of the first one comes again.
    for (std::uint32_t i = 2; i < 1u << index_space_ref::run_bits; ++i) own.begin(rt_.machine(), plan, run_deadline(1));
    rt_.for_each(own, count_own_index{seen.ref()});
    expect_seen(seen, 2);
}

// Machines that are made one after the other may lie at the same address.
TEST_P(index_space_test, GoesWithOneRuntimeAfterAnother) {
    index_space all(max_count);
    for (int round = 0; round < 6; ++round) {
        runtime other(options_for(round % 2 == 0 ? GetParam() : "cpu:" + std::to_string(1 + round % 3)));
        const auto seen = other.allocate<std::uint64_t>(max_count);
        for (int run = 0; run < 2; ++run) other.for_each(all, count_own_index{seen.ref()});
        std::vector<std::uint64_t> sums(max_count);
        for (int pe = 0; pe < other.n_pes(); ++pe) {
            const std::vector<std::uint64_t> its = seen.copy_out(pe);
            std::transform(its.begin(), its.end(), sums.begin(), sums.begin(), std::plus<>());
        }
        EXPECT_EQ(sums, std::vector<std::uint64_t>(max_count, 2)) << "round " << round;
    }
}

INSTANTIATE_TEST_SUITE_P(devices, index_space_test, testing::ValuesIn(device_lists()), name_of);

}  // namespace
}  // namespace laneway::test
