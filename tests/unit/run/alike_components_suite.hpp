// Two mailboxes in one run: each keeps to its own, also where they carry the same types.
#pragma once

#include "unit/run/component_job.hpp"

namespace laneway::test {
namespace {

class alike_components_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] std::uint64_t seeds() const { return is_checked(GetParam()) ? rounds_of(GetParam()) : 3; }
};

/// Of the same type as others, but for another sum; handed on for some hops, and replied to where it was posted.
struct again {
    std::uint64_t by;
    std::uint64_t hops;
};
template <std::uint64_t Factor>
struct add_times {
    static constexpr bool forwards = true;
    symmetric_ref<std::uint64_t> sums;
    std::uint64_t index;
    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const again& m, Forward& forward) const {
        atomic_add(ctx, sums[index], Factor * m.by);
        if (m.hops != 0) (void)forward.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), again{m.by, m.hops - 1});
    }
};
struct how_many {
    std::uint64_t value;
};
template <std::uint64_t Factor>
struct tell_times {
    using answer = up;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx&, const how_many& asked) const {
        return {Factor * asked.value};
    }
};
template <std::uint64_t Factor>
struct sum_of_elements {
    using element = std::uint32_t;
    symmetric_ref<std::uint64_t> sums;
    std::uint64_t index;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const down& m, payload<const element> elements) const {
        std::uint64_t sum = m.by;
        for (std::uint64_t i = 0; i < elements.size; ++i) sum += elements.data[i];
        atomic_add(ctx, sums[index], Factor * sum);
    }
};
/// Each lane does the same with both.
struct use_alike {
    symmetric_ref<std::uint64_t> sums;
    template <class Ctx, class One, class Other>
    LANEWAY_FN void operator()(Ctx& ctx, One& one, Other& other) const {
        use(ctx, one, 1);
        use(ctx, other, 10);
        if (one.barrier(ctx) != status::ok || other.barrier(ctx) != status::ok) return;
        atomic_add(ctx, sums[6], 1);
    }
    template <class Ctx, class Box>
    LANEWAY_FN void use(Ctx& ctx, Box& box, std::uint64_t factor) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        const std::uint32_t elements[] = {3, 4};
        (void)box.post(ctx, next, again{1, 2});
        (void)box.post(ctx, next, how_many{2});
        (void)box.post(ctx, next, down{5}, elements, 2);
        const auto told = box.call(ctx, next, how_many{ctx.rank()});
        if (!told || told.value.by != factor * ctx.rank()) atomic_add(ctx, sums[7], 1);
        (void)box.quiet(ctx);
    }
};

TEST_P(alike_components_test, TwoMailboxesMayCarryTheSameTypes) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        options o = options_for(GetParam(), seed);
        o.chunk_bytes = 128;
        o.gpu_blocks = 8;  // all lanes of two GPUs take ten seconds with such chunks
        runtime rt(o);
        const auto sums = rt.allocate<std::uint64_t>(8);
        const auto ref = sums.ref();
        const auto one = rt.mailbox<again, how_many, up, down>(add_times<1>{ref, 0}, tell_times<1>{}, add_to{ref, 2},
                                                               sum_of_elements<1>{ref, 4});
        const auto other = rt.mailbox<down, again, how_many, up>(sum_of_elements<10>{ref, 5}, add_times<10>{ref, 1},
                                                                 tell_times<10>{}, add_to{ref, 3});
        for (std::uint64_t run = 1; run <= 2; ++run) {
            const run_report report = rt.run(use_alike{ref}, one, other);
            const std::uint64_t lanes = total(sums, rt.n_pes(), 6);
            EXPECT_GT(lanes, 0u);
            EXPECT_EQ(total(sums, rt.n_pes(), 0), 3 * lanes);
            EXPECT_EQ(total(sums, rt.n_pes(), 1), 30 * lanes);
            EXPECT_EQ(total(sums, rt.n_pes(), 2), 2 * lanes);
            EXPECT_EQ(total(sums, rt.n_pes(), 3), 20 * lanes);
            EXPECT_EQ(total(sums, rt.n_pes(), 4), 12 * lanes);
            EXPECT_EQ(total(sums, rt.n_pes(), 5), 120 * lanes);
            EXPECT_EQ(total(sums, rt.n_pes(), 7), 0u);
            EXPECT_EQ(report.posted, report.direct + report.carried);
            EXPECT_EQ(report.carried, report.served);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(devices, alike_components_test, testing::ValuesIn(device_lists()), name_of);

}  // namespace
}  // namespace laneway::test
