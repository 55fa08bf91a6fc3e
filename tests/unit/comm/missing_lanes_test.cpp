// Checked mode: lanes and warps that others wait for in vain are named.
#include "unit/comm/failing_runs.hpp"

namespace laneway::test {
namespace {

/// Lane 1 of PE 1 does not do what the others do together.
struct missing_mate {
    enum { computes, waits, leaves, fails } how;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.pe() == 1 && is_lane_of_every_other_warp(ctx, 1)) {
            if (how == leaves) return;
            if (how == fails) (void)fail(ctx, status::handler_failed, operation::user_code, -1, 77);
            if (how == computes) deaf_lane{}(ctx, box);
            if (how == waits) (void)wait_until(ctx, {operation::user_code, -1, 5}, [] { return false; });
            return;
        }
        (void)box.barrier(ctx);
    }
};

TEST(checked_mode_test, ALaneThatIsMissingAtABarrierIsNamed) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        options o;
        o.devices = "checked:2";
        o.seed = seed;
        o.timeout_seconds = 0.02;
        runtime rt(o);
        const auto mailbox = rt.mailbox<std::uint32_t>(swallow{});
        // Its mates wait for it in the barrier, or it meets them where functors end.
        const std::string what = failure<timeout_error>(o, missing_mate{missing_mate::computes}, swallow{});
        contains(what, "deadline passed while ");
        contains(what, "; PE 1 (checked:1) block 1 warp 0: " + mates_of(1) +
                           " wait for lane 1 in sync of barrier (endpoint.hpp:");
        // That its mates hear of the end elsewhere is nobody's mistake.
        const std::string waits = failure<timeout_error>(o, missing_mate{missing_mate::waits}, swallow{});
        contains(waits, "deadline passed while ");
        EXPECT_EQ(waits.find("different collectives"), std::string::npos) << waits;
        try {
            rt.run(missing_mate{missing_mate::leaves}, mailbox);
            ADD_FAILURE() << "met, seed " << seed;
        } catch (const usage_error& e) {
            contains(e.what(), "PE 1 (checked:1) block 1 warp 0: lanes of one mask are in different collectives: ");
            contains(e.what(), "sync of barrier (endpoint.hpp:");
            contains(e.what(), "sync of run_body (program.hpp:");
        }
        // A fault that a device reports comes first.
        contains(failure<device_fault>(o, missing_mate{missing_mate::fails}, swallow{}),
                 "the application reported an error while running application code");
        EXPECT_NO_THROW(rt.run(post_to{1, 1}, mailbox)) << "seed " << seed;
    }
}

/// Lane 1 has no part in a post by rendezvous of its warp, or of one of a block's two working warps.
struct take_all {
    using element = std::uint32_t;
    static constexpr bool allocates = true;
    symmetric_ref<std::uint32_t> room;

    template <class Ctx>
    LANEWAY_FN symmetric_ptr<std::uint32_t> allocate(Ctx&, std::uint32_t, std::uint64_t) const {
        return room[0];
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint32_t, payload<const std::uint32_t>) const {}
};
struct lone_post {
    width lanes;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (lanes == width::warp && is_lane_of_every_other_warp(ctx, 1)) {
            deaf_lane{}(ctx, box);
            return;
        }
        if (lanes == width::block && box.team().index == 0) return;
        const std::uint32_t data[64] = {};
        (void)box.post(ctx, lanes, (ctx.pe() + 1) % ctx.n_pes(), std::uint32_t{1}, data, 64);
    }
};

/// A large post of the block; without `all`, of one warp of it.
struct led_post {
    bool all;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (!all && box.team().index == 1) return;
        const std::uint32_t data[64] = {};
        (void)box.post(ctx, width::block, (ctx.pe() + 1) % ctx.n_pes(), std::uint32_t{1}, data, 64);
    }
};

TEST(checked_mode_test, ALaneOrWarpThatIsMissingAtALargePostIsNamed) {
    options o;
    o.devices = "checked:2";
    o.timeout_seconds = 0.02;
    o.chunk_bytes = 64;
    o.checked_warps = 3;
    runtime rt(o);
    const auto room = rt.allocate<std::uint32_t>(64);
    const auto mailbox = rt.mailbox<std::uint32_t>(take_all{room.ref()});
    try {
        rt.run(lone_post{width::warp}, mailbox);
        ADD_FAILURE() << "sent";
    } catch (const timeout_error& e) {
        contains(e.what(), mates_of(1) + " wait for lane 1 in ballot of send_by_rendezvous (endpoint.hpp:");
    }
    try {
        rt.run(lone_post{width::block}, mailbox);
        ADD_FAILURE() << "sent";
    } catch (const timeout_error& e) {
        contains(e.what(), "warp 1 lane 0: deadline passed while allocating memory for a large message");
    }
    // The first warp asks and stores its part; nobody waits for the other.
    for (const bool all : {true, false}) {
        try {
            rt.run(led_post{all}, mailbox);
            EXPECT_TRUE(all) << "a message was lost";
        } catch (const device_fault& e) {
            EXPECT_FALSE(all);
            contains(e.what(),
                     "not every working warp of the block took part in a post of all while allocating memory");
            contains(e.what(), ": 1 of 2 working warps came");
        }
    }
}

/// Lanes of both branches meet on one line, in two groups.
struct converge_on_a_line {
    symmetric_ref<std::uint64_t> mixed;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        const bool odd = ctx.lane() % 2 == 1;
        const lane_mask group = odd ? ctx.converged() : ctx.converged();
        constexpr lane_mask odd_lanes = 0xaaaaaaaa;
        if ((group & (odd ? ~odd_lanes : odd_lanes)) != 0) atomic_add(ctx, mixed[0], 1);
    }
};

TEST(checked_mode_test, GroupsOfTwoPlacesOnALineStayApart) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        options o;
        o.devices = "checked:1";
        o.seed = seed;
        runtime rt(o);
        const auto mixed = rt.allocate<std::uint64_t>(1);
        rt.run(converge_on_a_line{mixed.ref()}, rt.mailbox<std::uint32_t>(swallow{}));
        EXPECT_EQ(mixed.copy_out(0)[0], 0u) << "seed " << seed;
    }
}

TEST(checked_mode_test, ARunThatTakesTooManyStepsTellsWhatItsDevicesReported) {
    options o;
    o.devices = "checked:1";
    o.timeout_seconds = 0.0025 * checked::warp_lanes;  // deaf lanes take most steps, and the control warp's few must do
    const std::string what = failure<timeout_error>(o, deaf_lane{}, swallow{});
    contains(what, "deadline passed while waiting for all work to be done");
    contains(what, " was still in its functor or what that calls");
    // Whoever takes the last step: a host thread, mostly, where it has many turns and lanes are few.
    for (o.seed = 1; o.seed <= 20; ++o.seed) {
        o.host_threads = 8;
        runtime rt(o);
        const auto calls = rt.host_calls<std::uint32_t>("idle", [](std::uint32_t) {});
        try {
            rt.run(deaf_lane{}, rt.mailbox<std::uint32_t>(swallow{}));
            ADD_FAILURE() << "ended";
        } catch (const timeout_error& e) {
            contains(e.what(), "deadline passed while waiting for all work to be done");
        }
    }
}

/// Serves one message for ever, and looks at nothing.
struct serve_for_ever {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t) const {
        while (ctx.load(ctx.environment().host_stop, order::relaxed, scope::system) < 2) {
        }
    }
};

/// Its posters report first, as they wait for it in vain.
TEST(checked_mode_test, AHandlerThatLoopsIsNamedBesideThoseThatWaitForIt) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        options o;
        o.devices = "checked:2";
        o.seed = seed;
        o.timeout_seconds = 0.01;
        const std::string what = failure<timeout_error>(o, post_to{1, 40}, serve_for_ever{});
        contains(what, "; PE 1 (checked:1) block 0 warp ");
        contains(what, " was still in a handler of messages of PE 0");
    }
}

}  // namespace
}  // namespace laneway::test
