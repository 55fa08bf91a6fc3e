// Runs one after the other in one runtime: nothing is cleared between them, and each is as if it were the first.
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
struct post_one {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        (void)box.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), coin{0});
    }
};
/// Ends the run while messages of others are on their way.
struct break_off {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; i < 200; ++i) {
            const bool wrong = ctx.rank() + 1 == ctx.size() && i == 60;
            const auto call = box.call(ctx, (ctx.pe() + 1) % ctx.n_pes(), price_of{i});
            if (!call || box.post(ctx, wrong ? ctx.n_pes() : static_cast<int>(i) % ctx.n_pes(), coin{3}) != status::ok)
                return;
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

class successive_runs_test : public testing::TestWithParam<std::string> {};

TEST_P(successive_runs_test, FillNothing) {
    every_fourth_round(GetParam(), [&](const options& o) {
        job all(o);
        (void)all.box();  // makes memory for gets
        const std::uint64_t before = fills(all.rt);
        for (std::uint64_t times = 1; times <= 3; ++times) all.run_all(times);
        EXPECT_EQ(fills(all.rt), before);
    });
}

TEST_P(successive_runs_test, BodiesShareWhatOthersHaveLeft) {
    every_fourth_round(GetParam(), [&](const options& o) {
        job all(o);
        std::uint64_t coins = 0;
        for (int times = 0; times < 3; ++times) {
            const run_report one = all.rt.run(post_one{}, all.box());
            coins += one.posted;
            EXPECT_EQ(all.total(0), coins);
            const run_report none = all.rt.run(all.box());
            EXPECT_EQ(none.posted, 0u);
            EXPECT_EQ(none.carried + none.served + none.direct + none.chunks() + none.items, 0u);
            (void)all.rt.run(use_all{all.seen.ref(), coins}, all.box());
            EXPECT_EQ(all.total(2), 0u);
            coins = all.total(0);
        }
    });
}

TEST_P(successive_runs_test, AfterOneThatFailedAreRight) {
    every_fourth_round(GetParam(), [&](const options& o) {
        job all(o);
        all.run_all(1);
        for (int times = 0; times < 2; ++times) {
            EXPECT_THROW((void)all.rt.run(break_off{}, all.box()), device_fault);
            all.seen.clear();
            const std::uint64_t before = fills(all.rt);
            all.run_all(1);
            EXPECT_GT(fills(all.rt), before) << "what the failed run has left must be cleared";
        }
        all.run_all(2);
    });
}

TEST_P(successive_runs_test, ProgressIsThatOfTheRun) {
    options o = options_of(GetParam(), 1);
    o.progress_samples = 8;
    job all(o);
    for (int times = 0; times < 3; ++times) {
        const run_report report = all.rt.run(use_all{all.seen.ref(), all.total(0)}, all.box());
        ASSERT_FALSE(report.progress.empty());
        EXPECT_EQ(report.progress.back().open, 0u);
        EXPECT_EQ(report.progress.back().served, report.served);
    }
}

TEST_P(successive_runs_test, SessionsComeBackToTheDevicesWithoutFilling) {
    options o = options_of(GetParam(), 1);
    o.timeout_seconds = 60;
    job all(o);
    std::uint64_t before = 0;
    {
        auto session = all.rt.start(all.rt.mailbox<coin>(hand_on{all.seen.ref()}));
        before = fills(all.rt);
        for (int times = 0; times < 5; ++times) {
            for (int i = 0; i < 10; ++i) session.post(i % all.rt.n_pes(), coin{4});
            session.release();
        }
        const run_report report = session.stop();
        EXPECT_EQ(report.posted, 5u * 10 * 5);
    }
    EXPECT_EQ(fills(all.rt), before);
    EXPECT_EQ(all.total(0), 5u * 10 * 5);
}

LANEWAY_ON_DEVICES(successive_runs_test, to_four(device_lists()));

}  // namespace
}  // namespace laneway::test
