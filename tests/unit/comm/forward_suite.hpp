// Forward posts: what handlers post reaches its handler, from the list or with the lane that ran the handler, and the
// list stays short.
#pragma once

#include "unit/sums.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

class forward_test : public testing::TestWithParam<std::string> {};

/// A message that goes on: each server hands two with one hop less to the next PEs.
struct hop {
    std::uint32_t left;
};
struct serve_hop {
    static constexpr bool forwards = true;
    symmetric_ref<std::uint64_t> counts;

    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const hop& h, Forward& forward) const {
        atomic_add(ctx, counts[h.left], 1);
        if (h.left == 0) return;
        for (int i = 1; i <= 2; ++i) {
            if (forward.post(ctx, (ctx.pe() + i) % ctx.n_pes(), hop{h.left - 1}) != status::ok) return;
        }
    }
};
struct start_hops {
    std::uint32_t hops;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.rank() % 3 == 0) (void)box.post(ctx, ctx.n_pes() - 1, hop{hops});
    }
};

inline run_report hops_multiply(const options& o, std::uint32_t hops) {
    runtime rt(o);
    const auto counts = rt.allocate<std::uint64_t>(hops + 1);
    const auto report = rt.run(start_hops{hops}, rt.mailbox<hop>(serve_hop{counts.ref()}));
    const std::uint64_t starts = (lanes_in(rt) + 2) / 3;
    for (std::uint32_t left = 0; left <= hops; ++left) {
        EXPECT_EQ(sum_over_pes(counts, rt.n_pes(), left), starts << (hops - left)) << left << " hops left";
    }
    return report;
}

TEST_P(forward_test, HandlersForward) {
    every_round(GetParam(), [&](const options& o) { hops_multiply(o, 3); });
}

TEST_P(forward_test, TheLeastBuffersLoseNoForward) {
    // The thousands of lanes of a GPU have more posts open at once than the shortest list holds.
    if (GetParam().find("cuda") != std::string::npos) GTEST_SKIP() << "for CPU devices";
    const std::uint32_t hops = GetParam().starts_with("cpu") ? 8 : 3;
    every_round(GetParam(), [&](const options& o) {
        run_within_min(o, [&](const options& little) { return hops_multiply(little, hops); });
    });
}

/// A message to the own PE whose handler posts it on to the same PE `left` times, with leaves beside it.
struct echo {
    std::uint32_t left;
    std::uint32_t leaves;
};
struct leaf {
    std::uint32_t weight;
};
struct count_leaf {
    symmetric_ref<std::uint64_t> counts;  ///< echoes, leaves

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const leaf& l) const {
        atomic_add(ctx, counts[1], l.weight);
    }
};
struct serve_echo {
    static constexpr bool forwards = true;
    static constexpr std::uint32_t endless = ~std::uint32_t{0};
    symmetric_ref<std::uint64_t> counts;

    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const echo& e, Forward& forward) const {
        atomic_add(ctx, counts[0], 1);
        const std::uint32_t left = e.left == endless ? endless : e.left - 1;
        if (e.left != 0 && forward.post(ctx, ctx.pe(), echo{left, e.leaves}) != status::ok) return;
        for (std::uint32_t i = 0; i < e.leaves; ++i) {
            if (forward.post(ctx, ctx.pe(), leaf{1}) != status::ok) return;
        }
    }
};
struct post_echoes {
    std::uint32_t posts;
    echo message;
    bool every_lane = true;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (!every_lane && ctx.local_rank() != 0) return;
        if (box.post(ctx, ctx.pe(), leaf{1}) != status::ok) return;  // so that counts of posts and of calls differ
        for (std::uint32_t i = 0; i < posts; ++i) {
            if (box.post(ctx, ctx.pe(), message) != status::ok) return;
        }
    }
};

/// Echoes and leaves all come; `lanes`: how many post.
inline void echoes_come(const options& o, const post_echoes& program) {
    runtime rt(o);
    const auto counts = rt.allocate<std::uint64_t>(2);
    rt.run(program, rt.mailbox<echo, leaf>(serve_echo{counts.ref()}, count_leaf{counts.ref()}));
    const std::uint64_t lanes = program.every_lane ? lanes_in(rt) : static_cast<std::uint64_t>(rt.n_pes());
    const std::uint64_t echoes = lanes * program.posts * (program.message.left + 1);
    EXPECT_EQ(sum_over_pes(counts, rt.n_pes(), 0), echoes);
    EXPECT_EQ(sum_over_pes(counts, rt.n_pes(), 1), lanes + echoes * program.message.leaves);
}

/// However many lanes post to their own PE: the one post of a handler leaves with the lane that ran it.
TEST_P(forward_test, OnePostOfAHandlerNeedsNoQueue) {
    options o = options_of(GetParam(), 0);
    o.forward_slots = 2;
    echoes_come(o, {GetParam().starts_with("cpu") ? 20'000u : 20u, {1, 0}});
    echoes_come(o, {20u, {0, 1}});
}

/// On CPU devices more forwards than the list holds: it is sent while functors post.
TEST_P(forward_test, TheQueueIsSentWhileFunctorsPost) {
    options o = options_of(GetParam(), 0);
    o.gpu_blocks = 2;
    o.forward_slots = GetParam().find("cuda") == std::string::npos ? 512 : 0;
    echoes_come(o, {GetParam().starts_with("cpu") ? 20'000u : 20u, {0, 3}});
}

/// The same where functors call.
struct question {
    std::uint32_t leaves;
};
struct answer_with_leaves {
    using answer = std::uint32_t;
    static constexpr bool forwards = true;

    template <class Ctx, class Forward>
    LANEWAY_FN std::uint32_t operator()(Ctx& ctx, const question& q, Forward& forward) const {
        for (std::uint32_t i = 0; i < q.leaves; ++i)
            (void)forward.post(ctx, ctx.pe(), leaf{1});  // a failure ends the run
        return q.leaves;
    }
};
struct ask_oneself {
    std::uint32_t calls;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint32_t i = 0; i < calls; ++i) {
            if (box.call(ctx, ctx.pe(), question{3}).code != status::ok) return;
        }
    }
};

TEST_P(forward_test, TheQueueIsSentWhileFunctorsCall) {
    options o = options_of(GetParam(), 0);
    o.gpu_blocks = 2;
    o.forward_slots = GetParam().find("cuda") == std::string::npos ? 512 : 0;
    runtime rt(o);
    const auto counts = rt.allocate<std::uint64_t>(2);
    const std::uint32_t calls = GetParam().starts_with("cpu") ? 20'000 : 20;
    rt.run(ask_oneself{calls}, rt.mailbox<question, leaf>(answer_with_leaves{}, count_leaf{counts.ref()}));
    EXPECT_EQ(sum_over_pes(counts, rt.n_pes(), 1), 3 * calls * lanes_in(rt));
}

/// The list holds what is open of a chain, not all that it ever posts.
TEST_P(forward_test, LongChainsWithLeavesNeedLittleRoom) {
    options o = options_of(GetParam(), 1);
    o.forward_slots = 4096;
    echoes_come(o, {1, {GetParam().starts_with("cpu") ? 20'000u : 300u, 1}, false});
}

TEST_P(forward_test, AnEndlessChainEndsAtTheDeadline) {
    options o = options_of(GetParam(), 1);
    o.timeout_seconds = is_checked(GetParam()) ? 0.1 : 2;
    runtime rt(o);
    const auto counts = rt.allocate<std::uint64_t>(2);
    const auto mailbox = rt.mailbox<echo, leaf>(serve_echo{counts.ref()}, count_leaf{counts.ref()});
    EXPECT_THROW(rt.run(post_echoes{200, {serve_echo::endless, 0}, false}, mailbox), timeout_error);
    EXPECT_NO_THROW(rt.run(post_echoes{1, {0, 0}, false}, mailbox)) << "the kernels had not ended";
}

/// A message that goes once round all PEs by forwards and then raises a signal.
struct lap {
    std::uint32_t left;
};
struct serve_lap {
    static constexpr bool forwards = true;
    symmetric_ref<std::uint64_t> signal;

    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const lap& l, Forward& forward) const {
        if (l.left == 0) {
            atomic_add(ctx, signal[0], 1);
        } else {
            (void)forward.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), lap{l.left - 1});  // a failure ends the run
        }
    }
};
struct await_lap {
    symmetric_ref<std::uint64_t> signal;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        one_sided remote(ctx, box);
        if (box.post(ctx, ctx.pe(), lap{static_cast<std::uint32_t>(ctx.n_pes())}) != status::ok) return;
        (void)remote.wait(signal[0], compare::greater, 0);  // a failure ends the run
    }
};

TEST_P(forward_test, LanesMayWaitForWhatForwardsBring) {
    every_round(GetParam(), [&](options o) {
        o.chunk_bytes += 32;
        runtime rt(o);
        const auto signal = rt.allocate<std::uint64_t>(1);
        rt.run(await_lap{signal.ref()}, rt.one_sided<lap>(serve_lap{signal.ref()}));
        EXPECT_EQ(sum_over_pes(signal, rt.n_pes(), 0), lanes_in(rt));
    });
}

TEST_P(forward_test, AForwardQueueThatOverflowsEndsTheRun) {
    options o = options_of(GetParam(), 3);
    o.forward_slots = 2;
    runtime rt(o);
    const auto counts = rt.allocate<std::uint64_t>(21);
    try {
        rt.run(start_hops{20}, rt.mailbox<hop>(serve_hop{counts.ref()}));
        FAIL() << "a list of two places held millions";
    } catch (const device_fault& e) {
        EXPECT_NE(std::string(e.what()).find("no room left while forwarding from a handler"), std::string::npos)
            << e.what();
        EXPECT_NE(std::string(e.what()).find("of 2 places none is free"), std::string::npos) << e.what();
    }
}

/// One lane of PE 0 posts where another, which has claimed what lay there a lap ago, has not read it.
struct forward_behind {
    static constexpr int cuda_warps = 2;
    forward_queue_ref queue;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.pe() != 0 || ctx.block() != 0 || ctx.warp() != 0 || ctx.lane() != 0) return;
        (void)queue.put(ctx, 0, 0, hop{1});
    }
};

TEST_P(forward_test, APostThatIsNeverReadIsNamedAtTheDeadline) {
    machine machine(GetParam());
    constexpr std::uint64_t capacity = 4;
    buffer<std::uint64_t> words(machine.device(0), 3);
    const std::uint64_t one_taken[] = {capacity, 1, capacity};  // tail, head and count
    words.copy_in(one_taken, 3);
    const buffer<std::byte> slots(machine.device(0), capacity * forward_queue_ref::bytes_of_slot(sizeof(hop)));
    const forward_queue_ref queue{words.data(), words.data() + 1, words.data() + 2,
                                  slots.data(), capacity,         forward_queue_ref::bytes_of_slot(sizeof(hop))};
    const std::string told = told_at_deadline(machine, forward_behind{queue});
    EXPECT_NE(told.find("deadline passed while forwarding from a handler to PE 0: slot 0 of the queue"),
              std::string::npos)
        << told;
}

LANEWAY_ON_DEVICES(forward_test, device_lists());

}  // namespace laneway::test
