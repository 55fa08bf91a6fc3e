// A mailbox of several types for runs one after the other, and a body that uses all of it.
#pragma once

#include <gtest/gtest.h>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

struct coin {
    std::uint64_t hops;
};
/// Counts each coin, and hands it on for so many hops.
struct hand_on {
    static constexpr bool forwards = true;
    symmetric_ref<std::uint64_t> seen;
    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const coin& c, Forward& forward) const {
        atomic_add(ctx, seen[0], 1);
        if (c.hops != 0) (void)forward.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), coin{c.hops - 1});
    }
};
struct price_of {
    std::uint64_t what;
};
struct told_price {
    std::uint64_t much;
};
/// Answers a call, and by a message where it was posted.
struct tell_price {
    using answer = told_price;
    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx&, const price_of& asked) const {
        return {3 * asked.what};
    }
};
struct hear_price {
    symmetric_ref<std::uint64_t> seen;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const told_price& told) const {
        atomic_add(ctx, seen[1], told.much);
    }
};

/// Each lane posts, calls, gets and meets the others, and sees at each barrier that everything before it is done.
struct use_all {
    static constexpr std::uint64_t rounds = 3;
    symmetric_ref<std::uint64_t> seen;
    std::uint64_t already = 0;  ///< coins of runs before, on all PEs

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        one_sided ops(ctx, box);
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            (void)box.post(ctx, next, coin{2});
            (void)box.post(ctx, next, price_of{1});
            const auto price = box.call(ctx, next, price_of{round + ctx.rank()});
            if (!price || price.value.much != 3 * (round + ctx.rank())) atomic_add(ctx, seen[2], 1);
            (void)ops.get_nbi(seen[4], seen[3], next, path::aggregated);
            if (box.barrier(ctx) != status::ok) return;
            std::uint64_t coins = 0;
            for (int pe = 0; pe < ctx.n_pes(); ++pe) coins += ops.get(seen[0], pe).value;
            if (coins != already + 3 * round * ctx.size()) atomic_add(ctx, seen[2], 1);
            if (box.barrier(ctx) != status::ok) return;
        }
    }
};

struct job {
    explicit job(const options& o) : rt(with_chunks(o)), seen(rt.allocate<std::uint64_t>(5)) {}

    /// Of two of the longest message.
    [[nodiscard]] static options with_chunks(options o) {
        o.chunk_bytes = 160;
        return o;
    }

    [[nodiscard]] auto box() {
        return rt.one_sided<coin, price_of, told_price>(hand_on{seen.ref()}, tell_price{}, hear_price{seen.ref()});
    }
    [[nodiscard]] std::uint64_t total(std::size_t index) const {
        std::uint64_t sum = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) sum += seen.copy_out(pe)[index];
        return sum;
    }
    void run_all(std::uint64_t times) {
        const run_report report = rt.run(use_all{seen.ref(), total(0)}, box());
        EXPECT_EQ(total(2), 0u) << "run " << times << ": a barrier or a call was wrong";
        if (times == 1) {
            lanes = total(0) / (3 * use_all::rounds);
            first = report;
        }
        EXPECT_EQ(total(0), times * 3 * use_all::rounds * lanes);
        EXPECT_EQ(total(1), times * 3 * use_all::rounds * lanes);
        EXPECT_EQ(report.replies, first.replies);
        EXPECT_EQ(report.posted, report.direct + report.carried);
        EXPECT_EQ(report.carried, report.served);
        EXPECT_GE(report.posted, 3 * use_all::rounds * lanes);
    }

    runtime rt;
    symmetric_array<std::uint64_t> seen;
    std::uint64_t lanes = 0;
    run_report first;
};

}  // namespace
}  // namespace laneway::test
