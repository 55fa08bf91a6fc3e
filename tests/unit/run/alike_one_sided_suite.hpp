// Two boxes for one-sided operations in one run: each keeps to its own.
#pragma once

#include "unit/run/component_job.hpp"

namespace laneway::test {
namespace {

class alike_one_sided_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] std::uint64_t seeds() const { return is_checked(GetParam()) ? rounds_of(GetParam()) : 3; }
};

/// Adds to words of the next PE through two boxes for one-sided operations.
struct add_by_both {
    symmetric_ref<std::uint64_t> sums;
    template <class Ctx, class One, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, One& one, Other& other) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        one_sided first(ctx, one);
        one_sided second(ctx, other);
        (void)first.add(sums[0], next, 1, path::aggregated);
        (void)second.add(sums[1], next, 1, path::aggregated);
        if (!second.fetch_add(sums[1], next, 1, path::aggregated)) return;
        (void)second.get_nbi(sums[3], sums[0], next, path::aggregated);
        const std::uint64_t sent[] = {8, 9};
        (void)second.put(width::lane, sums[4], next, sent, 2, path::aggregated);
        if (second.quiet() != status::ok) return;
        (void)second.put_signal(sums[6], next, 1, sums[7], 1, signal_op::add, path::aggregated);
        if (second.wait(sums[7], compare::greater_equal, 1) != status::ok) return;
        std::uint64_t got[2] = {};
        (void)second.get(width::lane, got, sums[4], next, 2, path::aggregated);
        if (got[0] == 8 && got[1] == 9) atomic_add(ctx, sums[2], 1);
    }
};

TEST_P(alike_one_sided_test, EachAddsToItsOwn) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        options o = options_for(GetParam(), seed);
        o.chunk_bytes = 512;
        runtime rt(o);
        const auto sums = rt.allocate<std::uint64_t>(8);
        rt.run(add_by_both{sums.ref()}, rt.one_sided(), rt.one_sided());
        const std::uint64_t lanes = total(sums, rt.n_pes(), 2);
        EXPECT_GT(lanes, 0u);
        EXPECT_EQ(total(sums, rt.n_pes(), 0), lanes);
        EXPECT_EQ(total(sums, rt.n_pes(), 1), 2 * lanes);
    }
}

INSTANTIATE_TEST_SUITE_P(devices, alike_one_sided_test, testing::ValuesIn(device_lists()), name_of);

}  // namespace
}  // namespace laneway::test
