// Active messages: several types in one run, calls and replies, on any devices.
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

/// The answer to a posted draw goes to this handler on the posting lane's PE.
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
        run_within_min(o, [&](const options& little) {
            return replies_come_home(little, 2 * rounds_a_lane(GetParam()), little.seed % 2 == 0);
        });
    });
}

LANEWAY_ON_DEVICES(active_messages_test, device_lists());

}  // namespace laneway::test
