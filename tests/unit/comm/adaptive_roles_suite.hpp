// Roles that adapt: where any warp may claim what has arrived, those that have nothing of their own serve.
#pragma once

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

struct crate {
    std::uint32_t weight;
};
/// Counts crates, and those that no warp of the floor has served: of each block the first one beside the control warp.
struct weigh_crate {
    symmetric_ref<std::uint64_t> sums;  ///< all, by others

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const crate& p) const {
        atomic_add(ctx, sums[0], p.weight);
        if (ctx.warp() > (ctx.block() == 0 ? 1 : 0)) atomic_add(ctx, sums[1], p.weight);
    }
};
/// Answered by a crate to the poster.
struct order_for_crate {
    std::uint32_t weight;
};
struct send_crate {
    using answer = crate;
    template <class Ctx>
    LANEWAY_FN crate operator()(Ctx&, const order_for_crate& asked) const {
        return {asked.weight};
    }
};

class adaptive_roles_test : public testing::TestWithParam<std::string> {};

/// Lanes of PE 0 post to PE 1, of which one thread does nothing but wait until all has been served.
struct compute_beside_messages {
    symmetric_ref<std::uint64_t> sums;
    std::uint64_t messages;  ///< of each lane

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; ctx.pe() == 0 && i < messages; ++i) (void)box.post(ctx, 1, crate{1});
        if (ctx.pe() != 1 || ctx.block() != 1) return;
        const std::uint64_t all = messages * static_cast<std::uint64_t>(ctx.n_blocks());
        while (ctx.load(&sums.local(ctx)[0], order::relaxed, scope::system) < all && !stopped(ctx)) ctx.pause();
    }
};

#if !defined(__CUDACC__)
TEST(adaptive_threads_test, ServeForOneThatComputes) {
    every_fourth_round("cpu:2", [&](options o) {
        o.cpu_threads = 3;
        runtime rt(o);
        const auto sums = rt.allocate<std::uint64_t>(2);
        const std::uint64_t messages = 300;
        rt.run(compute_beside_messages{sums.ref(), messages}, rt.mailbox<crate>(weigh_crate{sums.ref()}));
        EXPECT_EQ(sums.copy_out(1)[0], 3 * messages);
    });
}
#endif

/// Lanes of PE 0 post crates and orders to PE 1, whose bodies return at once.
struct post_to_idle_pe {
    std::uint64_t messages;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; ctx.pe() == 0 && i < messages; ++i) {
            (void)box.post(ctx, 1, crate{1});
            (void)box.post(ctx, 1, order_for_crate{1});
        }
    }
};

TEST_P(adaptive_roles_test, WarpsThatHaveReturnedServe) {
    std::uint64_t by_others = 0;
    every_round(GetParam(), [&](options o) {
        o.servers_in_every_block = true;
        o.server_share = 0.001;  // one warp of each block
        o.checked_warps = 5;
        runtime rt(o);
        const auto sums = rt.allocate<std::uint64_t>(2);
        const auto report =
            rt.run(post_to_idle_pe{8}, rt.mailbox<crate, order_for_crate>(weigh_crate{sums.ref()}, send_crate{}));
        EXPECT_EQ(3 * sums.copy_out(1)[0], report.posted) << "crates, orders, and crates that these bring";
        EXPECT_EQ(sums.copy_out(0)[0], sums.copy_out(1)[0]) << "each order has brought a crate";
        by_others += sums.copy_out(1)[1];
    });
    if (is_checked(GetParam())) {
        EXPECT_GT(by_others, 0u);
    }
}

LANEWAY_ON_DEVICES(adaptive_roles_test, device_lists(2));

}  // namespace laneway::test
