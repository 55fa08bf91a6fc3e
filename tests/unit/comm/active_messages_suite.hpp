// Active messages: several types in one run, calls, replies and onward posts, on any devices.
#pragma once

#include <numeric>

#include "laneway/runtime.hpp"
#include "unit/sums.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

class active_messages_test : public testing::TestWithParam<std::string> {};

inline std::uint64_t rounds_a_lane(const std::string& devices) { return devices.starts_with("cpu") ? 40 : 4; }

/// Three types of different size; each says to which PE it was posted.
struct small_message {
    std::uint32_t pe;
};
struct middle_message {
    std::uint64_t pe, value;
};
struct large_message {
    std::uint64_t pe, values[5];
};

struct count_by_type {
    symmetric_ref<std::uint64_t> counts;  ///< small, middle, large, sum of values, wrong

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const small_message& m) const {
        count(ctx, 0, m.pe, 0);
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const middle_message& m) const {
        count(ctx, 1, m.pe, m.value);
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const large_message& m) const {
        std::uint64_t sum = 0;
        for (const std::uint64_t value : m.values) sum += value;
        count(ctx, 2, m.pe, sum);
    }

private:
    template <class Ctx>
    LANEWAY_FN void count(Ctx& ctx, std::uint64_t type, std::uint64_t pe, std::uint64_t sum) const {
        atomic_add(ctx, counts[pe == static_cast<std::uint64_t>(ctx.pe()) ? type : 4], 1);
        atomic_add(ctx, counts[3], sum);
    }
};

struct post_types {
    std::uint64_t rounds;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const auto pe = static_cast<std::uint64_t>((ctx.rank() * 7 + i * 3) % static_cast<unsigned>(ctx.n_pes()));
            const int to = static_cast<int>(pe);
            if ((ctx.rank() + i) % 3 == 0) {
                (void)box.post(ctx, to, small_message{static_cast<std::uint32_t>(pe)});
            } else if ((ctx.rank() + i) % 3 == 1) {
                (void)box.post(ctx, to, middle_message{pe, i});
            } else {
                (void)box.post(ctx, to, large_message{pe, {i, i, i, i, i}});
            }
        }
    }
};

TEST_P(active_messages_test, SeveralTypesShareARun) {
    every_round(GetParam(), [&](options o) {
        o.chunk_bytes += 32;
        runtime rt(o);
        const auto counts = rt.allocate<std::uint64_t>(5);
        const count_by_type serve{counts.ref()};
        const std::uint64_t rounds = rounds_a_lane(GetParam());
        const auto report =
            rt.run(post_types{rounds}, rt.mailbox<small_message, middle_message, large_message>(serve, serve, serve));
        const std::uint64_t lanes = lanes_in(rt);
        std::uint64_t wanted[4] = {};
        for (std::uint64_t rank = 0; rank < lanes; ++rank) {
            for (std::uint64_t i = 0; i < rounds; ++i) {
                ++wanted[(rank + i) % 3];
                wanted[3] += (rank + i) % 3 == 0 ? 0 : (rank + i) % 3 == 1 ? i : 5 * i;
            }
        }
        for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(sum_over_pes(counts, rt.n_pes(), i), wanted[i]) << i;
        EXPECT_EQ(sum_over_pes(counts, rt.n_pes(), 4), 0u) << "a message went to the wrong PE";
        EXPECT_EQ(report.posted, rounds * lanes);
    });
}

/// Draws a number from a counter of the PE it is sent to.
struct draw {
    std::uint32_t counter;
};
struct drawn {
    std::uint64_t number;
    std::uint32_t check;
};
struct serve_draw {
    using answer = drawn;
    symmetric_ref<std::uint64_t> counters;

    template <class Ctx>
    LANEWAY_FN drawn operator()(Ctx& ctx, const draw& d) const {
        return {atomic_add(ctx, counters[d.counter], 1), d.counter ^ static_cast<std::uint32_t>(ctx.pe())};
    }
};

/// Every lane draws numbers from all PEs, in two branches, and ticks them off where it can: none may come twice.
struct draw_numbers {
    std::uint64_t rounds;
    symmetric_ref<std::uint64_t> sums;  ///< of the numbers drawn, by PE drawn from; then failures

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const int pe = static_cast<int>((ctx.rank() + i) % static_cast<unsigned>(ctx.n_pes()));
            if (ctx.rank() % 2 == 0) {
                note(ctx, pe, 0, box.call(ctx, pe, draw{0}));
            } else {
                note(ctx, pe, 1, box.call(ctx, pe, draw{1}));
            }
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN void note(Ctx& ctx, int pe, std::uint32_t counter, const answered<drawn>& a) const {
        const bool right = a.code == status::ok && a.value.check == (counter ^ static_cast<std::uint32_t>(pe));
        atomic_add(ctx, sums[static_cast<std::uint64_t>(right ? pe : ctx.n_pes())], right ? a.value.number : 1);
    }
};

TEST_P(active_messages_test, CallsBringTheAnswerToTheLaneThatAsked) {
    every_round(GetParam(), [&](options o) {
        o.chunk_bytes += 16;
        runtime rt(o);
        const auto counters = rt.allocate<std::uint64_t>(2);
        const auto sums = rt.allocate<std::uint64_t>(static_cast<std::uint64_t>(rt.n_pes()) + 1);
        const std::uint64_t rounds = rounds_a_lane(GetParam());
        rt.run(draw_numbers{rounds, sums.ref()}, rt.mailbox<draw>(serve_draw{counters.ref()}));
        std::uint64_t drawn_in_all = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            // Each counter gave 0, 1, ... n - 1, each once.
            std::uint64_t wanted = 0;
            for (const std::uint64_t n : counters.copy_out(pe)) {
                wanted += n * (n - 1) / 2 * (n > 0 ? 1 : 0);
                drawn_in_all += n;
            }
            EXPECT_EQ(sum_over_pes(sums, rt.n_pes(), static_cast<std::size_t>(pe)), wanted) << "numbers of PE " << pe;
        }
        EXPECT_EQ(sum_over_pes(sums, rt.n_pes(), static_cast<std::size_t>(rt.n_pes())), 0u) << "wrong answers";
        EXPECT_EQ(drawn_in_all, rounds * lanes_in(rt));
    });
}

/// The answer to a posted draw goes to this handler on the poster's PE.
struct keep_drawn {
    symmetric_ref<std::uint64_t> kept;  ///< how many, sum of numbers

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const drawn& d) const {
        atomic_add(ctx, kept[0], 1);
        atomic_add(ctx, kept[1], d.number);
    }
};

struct post_draws {
    std::uint64_t rounds;
    int to = -1;  ///< -1: all PEs by turns

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const int pe = to >= 0 ? to : static_cast<int>((ctx.rank() + i) % static_cast<unsigned>(ctx.n_pes()));
            (void)box.post(ctx, pe, draw{0});
        }
    }
};

inline run_report replies_come_home(const options& o, std::uint64_t rounds, bool hot) {
    runtime rt(o);
    const auto counters = rt.allocate<std::uint64_t>(2);
    const auto kept = rt.allocate<std::uint64_t>(2);
    const auto report = rt.run(post_draws{rounds, hot ? rt.n_pes() - 1 : -1},
                               rt.mailbox<draw, drawn>(serve_draw{counters.ref()}, keep_drawn{kept.ref()}));
    const std::uint64_t lanes = lanes_in(rt);
    std::uint64_t wanted = 0;
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const std::uint64_t n = counters.copy_out(pe)[0];
        wanted += n == 0 ? 0 : n * (n - 1) / 2;
    }
    EXPECT_EQ(sum_over_pes(kept, rt.n_pes(), 0), rounds * lanes);
    EXPECT_EQ(sum_over_pes(kept, rt.n_pes(), 1), wanted);
    EXPECT_EQ(report.posted, rounds * lanes + report.replies);
    EXPECT_EQ(report.carried, 2 * report.replies);
    return report;
}

TEST_P(active_messages_test, RepliesReachTheirHandler) {
    every_round(GetParam(), [&](options o) {
        o.chunk_bytes += 16;
        replies_come_home(o, rounds_a_lane(GetParam()), false);
    });
}

TEST_P(active_messages_test, RepliesOfAHotPeAreNotLost) {
    every_round(GetParam(), [&](options o) {
        o.chunk_bytes += 16;
        replies_come_home(o, rounds_a_lane(GetParam()), true);
    });
}

TEST_P(active_messages_test, TheLeastBuffersLoseNoReply) {
    every_round(GetParam(), [&](const options& o) {
        run_within_least(o, [&](const options& little) {
            return replies_come_home(little, 2 * rounds_a_lane(GetParam()), little.seed % 2 == 0);
        });
    });
}

/// A message that goes on: each server hands two with one hop less to the next PEs.
struct hop {
    std::uint32_t left;
};
struct serve_hop {
    static constexpr bool posts_onward = true;
    symmetric_ref<std::uint64_t> counts;

    template <class Ctx, class Onward>
    LANEWAY_FN void operator()(Ctx& ctx, const hop& h, Onward& onward) const {
        atomic_add(ctx, counts[h.left], 1);
        if (h.left == 0) return;
        for (int i = 1; i <= 2; ++i) {
            if (onward.post(ctx, (ctx.pe() + i) % ctx.n_pes(), hop{h.left - 1}) != status::ok) return;
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

TEST_P(active_messages_test, HandlersPostOnward) {
    every_round(GetParam(), [&](const options& o) { hops_multiply(o, 3); });
}

TEST_P(active_messages_test, TheLeastBuffersLoseNoOnwardPost) {
    // The thousands of lanes of a GPU have more posts open at once than the shortest list holds.
    if (GetParam().find("cuda") != std::string::npos) GTEST_SKIP() << "for CPU devices";
    const std::uint32_t hops = GetParam().starts_with("cpu") ? 8 : 3;
    every_round(GetParam(), [&](const options& o) {
        run_within_least(o, [&](const options& little) { return hops_multiply(little, hops); });
    });
}

/// A message that its handler posts once more to the own PE.
struct echo {
    std::uint32_t first;
};
struct serve_echo {
    static constexpr bool posts_onward = true;
    symmetric_ref<std::uint64_t> counts;

    template <class Ctx, class Onward>
    LANEWAY_FN void operator()(Ctx& ctx, const echo& e, Onward& onward) const {
        atomic_add(ctx, counts[e.first], 1);
        if (e.first != 0) (void)onward.post(ctx, ctx.pe(), echo{0});  // a failure ends the run
    }
};
struct post_echoes {
    std::uint32_t rounds;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint32_t i = 0; i < rounds; ++i) {
            if (box.post(ctx, ctx.pe(), echo{1}) != status::ok) return;
        }
    }
};

/// However many lanes post to their own PE: what a handler posts onward then leaves with the lane that ran it.
TEST_P(active_messages_test, OnwardPostsLeaveWhileFunctorsPost) {
    options o = options_of(GetParam(), 0);
    o.onward_slots = 2;
    runtime rt(o);
    const auto counts = rt.allocate<std::uint64_t>(2);
    const std::uint32_t rounds = GetParam().starts_with("cpu") ? 200'000 : 20;
    rt.run(post_echoes{rounds}, rt.mailbox<echo>(serve_echo{counts.ref()}));
    EXPECT_EQ(sum_over_pes(counts, rt.n_pes(), 1), rounds * lanes_in(rt));
    EXPECT_EQ(sum_over_pes(counts, rt.n_pes(), 0), rounds * lanes_in(rt));
}

/// A message that goes once round all PEs by onward posts and then raises a signal.
struct lap {
    std::uint32_t left;
};
struct serve_lap {
    static constexpr bool posts_onward = true;
    symmetric_ref<std::uint64_t> signal;

    template <class Ctx, class Onward>
    LANEWAY_FN void operator()(Ctx& ctx, const lap& l, Onward& onward) const {
        if (l.left == 0) {
            atomic_add(ctx, signal[0], 1);
        } else {
            (void)onward.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), lap{l.left - 1});  // a failure ends the run
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

TEST_P(active_messages_test, LanesMayWaitForWhatOnwardPostsBring) {
    every_round(GetParam(), [&](options o) {
        o.chunk_bytes += 32;
        runtime rt(o);
        const auto signal = rt.allocate<std::uint64_t>(1);
        rt.run(await_lap{signal.ref()}, rt.one_sided<lap>(serve_lap{signal.ref()}));
        EXPECT_EQ(sum_over_pes(signal, rt.n_pes(), 0), lanes_in(rt));
    });
}

TEST_P(active_messages_test, AnOnwardListThatOverflowsEndsTheRun) {
    options o = options_of(GetParam(), 3);
    o.onward_slots = 2;
    runtime rt(o);
    const auto counts = rt.allocate<std::uint64_t>(21);
    try {
        rt.run(start_hops{20}, rt.mailbox<hop>(serve_hop{counts.ref()}));
        FAIL() << "a list of two places held millions";
    } catch (const device_fault& e) {
        EXPECT_NE(std::string(e.what()).find("no room left while posting onward from a handler"), std::string::npos)
            << e.what();
        EXPECT_NE(std::string(e.what()).find("(2)"), std::string::npos) << e.what();
    }
}

LANEWAY_ON_DEVICES(active_messages_test, device_lists());

}  // namespace laneway::test
