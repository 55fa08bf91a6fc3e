// The mailbox through the runtime: whatever lanes post, from wherever, is served once on the PE it was posted to.
#pragma once

#include <array>
#include <map>

#include "laneway/runtime.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

constexpr std::uint64_t table_words = 64;

struct table_update {
    std::uint32_t index;
    std::uint32_t value;
    std::uint32_t check;  ///< index ^ value ^ the PE it was posted to
};

/// Counts each message by its index, and those that are damaged or at the wrong PE.
struct count_updates {
    symmetric_ref<std::uint64_t> counts;
    symmetric_ref<std::uint64_t> sums;
    symmetric_ref<std::uint64_t> wrong;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const table_update& m) const {
        if ((m.index ^ m.value ^ m.check) != static_cast<std::uint32_t>(ctx.pe()) || m.index >= table_words) {
            atomic_add(ctx, wrong[0], 1);
            return;
        }
        atomic_add(ctx, counts[m.index], 1);
        atomic_add(ctx, sums[m.index], m.value);
    }
};

/// Message i of a lane: where it goes and what it says, the same for poster and host.
struct plan {
    std::uint64_t messages;  ///< at most, a lane
    bool hot = false;        ///< all to the last PE
    bool uneven = false;     ///< lanes post different numbers

    [[nodiscard]] LANEWAY_FN std::uint64_t count(std::uint64_t rank) const {
        return uneven ? rank * 7 % (messages + 1) : messages;
    }
    [[nodiscard]] LANEWAY_FN int pe(std::uint64_t rank, std::uint64_t i, int n_pes) const {
        const std::uint64_t hash = (rank * 1000003 + i + 1) * 0x9e3779b97f4a7c15u >> 33;
        return hot ? n_pes - 1 : static_cast<int>(hash % static_cast<std::uint64_t>(n_pes));
    }
    [[nodiscard]] LANEWAY_FN table_update message(std::uint64_t rank, std::uint64_t i, int pe) const {
        const auto index = static_cast<std::uint32_t>((rank + i * 5) % table_words);
        const auto value = static_cast<std::uint32_t>(1 + rank * 31 + i);
        return {index, value, index ^ value ^ static_cast<std::uint32_t>(pe)};
    }
};

/// Posts the plan in loops of different lengths, from two branches of one condition.
struct post_all {
    plan what;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; i < what.count(ctx.rank()); ++i) {
            const int pe = what.pe(ctx.rank(), i, ctx.n_pes());
            const table_update message = what.message(ctx.rank(), i, pe);
            if ((ctx.rank() + i) % 3 == 0) {
                (void)box.post(ctx, pe, message);
            } else {
                if (i % 4 == 3) (void)box.flush_old(ctx);
                (void)box.post(ctx, pe, message);
            }
        }
    }
};

/// Lanes of a job: what ctx.size() is.
struct note_size {
    symmetric_ref<std::uint64_t> size;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.rank() == 0) size.local(ctx)[0] = ctx.size();
        atomic_add(ctx, size[1], 1);
        atomic_add(ctx, size[2], ctx.rank());
    }
};

class mailbox_test : public testing::TestWithParam<std::string> {};

inline auto handler_box(const runtime& rt, const count_updates& handler) { return rt.mailbox<table_update>(handler); }

inline std::uint64_t lanes_of(runtime& rt) {
    const auto size = rt.allocate<std::uint64_t>(3);
    const auto none = rt.allocate<std::uint64_t>(table_words);
    rt.run(note_size{size.ref()}, handler_box(rt, count_updates{none.ref(), none.ref(), none.ref()}));
    const std::uint64_t lanes = size.copy_out(0)[0];
    std::uint64_t ran = 0, ranks = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        ran += size.copy_out(pe)[1];
        ranks += size.copy_out(pe)[2];
    }
    EXPECT_EQ(ran, lanes) << "every rank runs the functor once";
    EXPECT_EQ(ranks, lanes * (lanes - 1) / 2);
    return lanes;
}

inline void audit(const run_report& report, std::uint64_t posted, int n_pes) {
    EXPECT_EQ(report.posted, posted);
    EXPECT_EQ(report.posted, report.direct + report.carried);
    EXPECT_EQ(report.carried, report.served);
    ASSERT_EQ(report.traffic_matrix.size(), static_cast<std::size_t>(n_pes * n_pes));
    std::uint64_t messages = 0;
    for (int s = 0; s < n_pes; ++s) {
        const auto& own = report.traffic_matrix[static_cast<std::size_t>(s * n_pes + s)];
        EXPECT_EQ(own.messages + own.chunks, 0u) << "nothing is carried to the own PE";
        for (int d = 0; d < n_pes; ++d)
            messages += report.traffic_matrix[static_cast<std::size_t>(s * n_pes + d)].messages;
    }
    EXPECT_EQ(messages, report.carried);
    EXPECT_EQ(report.bytes(), report.carried * sizeof(table_update));
    EXPECT_EQ(report.devices.size(), static_cast<std::size_t>(n_pes));
}

inline run_report all_served_once(runtime& rt, const plan& what, std::uint64_t lanes) {
    const auto counts = rt.allocate<std::uint64_t>(table_words);
    const auto sums = rt.allocate<std::uint64_t>(table_words);
    const auto wrong = rt.allocate<std::uint64_t>(1);
    const auto report = rt.run(post_all{what}, handler_box(rt, count_updates{counts.ref(), sums.ref(), wrong.ref()}));
    const auto pes = static_cast<std::size_t>(rt.n_pes());
    std::vector<std::vector<std::uint64_t>> count(pes, std::vector<std::uint64_t>(table_words)), sum = count;
    std::uint64_t posted = 0;
    for (std::uint64_t rank = 0; rank < lanes; ++rank) {
        for (std::uint64_t i = 0; i < what.count(rank); ++i, ++posted) {
            const int pe = what.pe(rank, i, rt.n_pes());
            const table_update m = what.message(rank, i, pe);
            ++count[static_cast<std::size_t>(pe)][m.index];
            sum[static_cast<std::size_t>(pe)][m.index] += m.value;
        }
    }
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        EXPECT_EQ(counts.copy_out(pe), count[static_cast<std::size_t>(pe)]);
        EXPECT_EQ(sums.copy_out(pe), sum[static_cast<std::size_t>(pe)]);
        EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
    }
    audit(report, posted, rt.n_pes());
    return report;
}

/// What every program stands on runs under 1,000 seeds. The lanes of a job depend on its list and grids only.
template <class Body>
void with_lanes(const std::string& devices, Body&& body) {
    std::map<std::array<int, 3>, std::uint64_t> lanes;
    every_round(
        devices,
        [&](const options& o) {
            runtime rt(o);
            const std::array grid{o.cpu_threads, o.checked_warps, o.gpu_blocks};
            if (!lanes.contains(grid)) lanes[grid] = lanes_of(rt);
            body(rt, lanes[grid], o);
        },
        4);
}

inline std::uint64_t messages_on(const std::string& devices) { return devices.starts_with("cpu") ? 500 : 5; }

TEST_P(mailbox_test, AllToAll) {
    with_lanes(GetParam(), [&](runtime& rt, std::uint64_t lanes, const options&) {
        all_served_once(rt, {messages_on(GetParam())}, lanes);
    });
}

TEST_P(mailbox_test, UnevenLanes) {
    with_lanes(GetParam(), [&](runtime& rt, std::uint64_t lanes, const options&) {
        all_served_once(rt, {messages_on(GetParam()), false, true}, lanes);
    });
}

TEST_P(mailbox_test, OneHotDestination) {
    with_lanes(GetParam(), [&](runtime& rt, std::uint64_t lanes, const options&) {
        all_served_once(rt, {messages_on(GetParam()), true}, lanes);
    });
}

TEST_P(mailbox_test, TheLeastBuffersLoseNothing) {
    with_lanes(GetParam(), [&](runtime&, std::uint64_t lanes, const options& o) {
        const plan what{4 * messages_on(GetParam()), o.seed % 2 == 0};
        run_within_min(o, [&](const options& little) {
            runtime rt(little);
            return all_served_once(rt, what, lanes);
        });
    });
}

TEST_P(mailbox_test, RunsFollowEachOtherOnOneRuntime) {
    options o = options_of(GetParam(), 5);
    runtime rt(o);
    const std::uint64_t lanes = lanes_of(rt);
    for (std::uint64_t messages = 0; messages < 6; ++messages) all_served_once(rt, {messages, false, true}, lanes);
}

TEST_P(mailbox_test, ServersMayLieInEveryBlock) {
    every_fourth_round(GetParam(), [&](options o) {
        o.servers_in_every_block = true;
        o.checked_warps = 4 + static_cast<int>(o.seed % 2);
        runtime rt(o);
        all_served_once(rt, {messages_on(GetParam()), false, true}, lanes_of(rt));
    });
}

/// Adds to one word for each lane of the job.
struct count_by_lane {
    symmetric_ref<std::uint64_t> counts;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t lane) const {
        atomic_add(ctx, counts[lane], 1);
    }
};

/// quiet: what a lane posted before has been served, and what the handlers wrote is visible. No lane counts for
/// another, so a wait that is missing shows however many lanes there are.
struct quiet_rounds {
    symmetric_ref<std::uint64_t> counts;
    symmetric_ref<std::uint64_t> early;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const int pe = (ctx.pe() + 1) % ctx.n_pes();
        for (std::uint32_t round = 1; round <= 3; ++round) {
            (void)box.post(ctx, pe, static_cast<std::uint32_t>(ctx.rank()));
            if (box.quiet(ctx) != status::ok) return;
            const std::uint64_t* word = counts.at(ctx, pe);
            if (word != nullptr && ctx.load(word + ctx.rank(), order::relaxed, scope::system) != round) {
                atomic_add(ctx, early[0], 1);
            }
        }
    }
};

TEST_P(mailbox_test, QuietWaitsUntilWhatWasPostedIsServed) {
    with_lanes(GetParam(), [&](runtime& rt, std::uint64_t lanes, const options&) {
        const auto counts = rt.allocate<std::uint64_t>(lanes);
        const auto early = rt.allocate<std::uint64_t>(1);
        rt.run(quiet_rounds{counts.ref(), early.ref()}, rt.mailbox<std::uint32_t>(count_by_lane{counts.ref()}));
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(early.copy_out(pe)[0], 0u) << "quiet returned too early on PE " << pe;
        }
    });
}

/// Messages that only age or the end of the run can send: the poster waits for its own answer, as in a ping.
struct wait_for_age {
    symmetric_ref<std::uint64_t> counts;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.pe() != 0 || ctx.rank() != 0 || ctx.n_pes() == 1) return;
        (void)box.post(ctx, 1, table_update{3, 4, 3 ^ 4 ^ 1});
        const std::uint64_t* word = counts.at(ctx, 1);
        if (word == nullptr) return;
        (void)wait_until(
            ctx, {operation::user_code, 1, 3}, [&] { return ctx.load(word + 3, order::acquire, scope::system) != 0; },
            [&] { (void)box.flush_old(ctx); });
    }
};

TEST_P(mailbox_test, FlushOldSendsWhatHasWaitedForLongerThanItsAge) {
    every_round(GetParam(), [&](options o) {
        o.chunk_bytes = 4096;
        o.age_ns = 2000;
        runtime rt(o);
        const auto counts = rt.allocate<std::uint64_t>(table_words);
        const auto report = rt.run(wait_for_age{counts.ref()},
                                   handler_box(rt, count_updates{counts.ref(), counts.ref(), counts.ref()}));
        EXPECT_EQ(report.carried, rt.n_pes() > 1 ? 1u : 0u);
    });
}

#if !defined(__CUDACC__)
// In threads mode: elsewhere other warps of the block run dry and send it.
TEST(mailbox_age_test, YoungMessagesStayInTheirBuffer) {
    options o = options_of("cpu:2", 0);
    o.chunk_bytes = 4096;
    o.timeout_seconds = 0.1;
    o.age_ns = 1'000'000'000'000'000;  // never
    runtime rt(o);
    const auto counts = rt.allocate<std::uint64_t>(table_words);
    EXPECT_THROW(
        rt.run(wait_for_age{counts.ref()}, handler_box(rt, count_updates{counts.ref(), counts.ref(), counts.ref()})),
        timeout_error);
}

/// Posts slowly, to the own PE and the next by turns, and waits for the first to be served without a flush of its own.
struct post_by_turns {
    symmetric_ref<std::uint64_t> counts;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.pe() != 0) return;
        for (std::uint32_t i = 0; i < 130; ++i) {
            (void)box.post(ctx, 0, table_update{1, i, 1 ^ i});
            (void)box.post(ctx, 1, table_update{3, i, 3 ^ i ^ 1});
            const std::uint64_t start = ctx.now_ns();
            while (ctx.now_ns() < start + 20'000) {
            }
        }
        const std::uint64_t* word = counts.at(ctx, 1);
        (void)wait_until(ctx, {operation::user_code, 1, 3},
                         [&] { return ctx.load(word + 3, order::acquire, scope::system) != 0; });
    }
};

TEST(mailbox_age_test, OldMessagesLeaveThoughOthersToTheOwnPeComeBetween) {
    options o = options_of("cpu:2", 0);
    o.chunk_bytes = 4096;
    o.age_ns = 1000;
    runtime rt(o);
    const auto counts = rt.allocate<std::uint64_t>(table_words);
    const auto report =
        rt.run(post_by_turns{counts.ref()}, handler_box(rt, count_updates{counts.ref(), counts.ref(), counts.ref()}));
    EXPECT_EQ(report.direct, 130u);
    EXPECT_EQ(report.carried, 130u);
}
#endif

LANEWAY_ON_DEVICES(mailbox_test, with_proxies(device_lists()));

}  // namespace laneway::test
