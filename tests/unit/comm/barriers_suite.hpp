// Barriers: everything that was posted before, anywhere, has been served with all that followed, and nobody is left
// out.
#pragma once

#include "unit/sums.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

class barriers_test : public testing::TestWithParam<std::string> {};

/// Served, and that is all.
struct token {
    std::uint32_t weight;
};
struct count_token {
    symmetric_ref<std::uint64_t> sum;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const token& t) const {
        atomic_add(ctx, sum[0], t.weight);
    }
};
/// Its handler posts two tokens forward.
struct seed {
    std::uint32_t weight;
};
struct sow {
    static constexpr bool forwards = true;
    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const seed& s, Forward& forward) const {
        for (int i = 1; i <= 2; ++i) {
            if (forward.post(ctx, (ctx.pe() + i) % ctx.n_pes(), token{s.weight}) != status::ok) return;
        }
    }
};
/// Its handler answers with a token to the poster.
struct barrier_question {
    std::uint32_t weight;
};
struct reply_token {
    using answer = token;
    template <class Ctx>
    LANEWAY_FN token operator()(Ctx&, const barrier_question& q) const {
        return {q.weight};
    }
};

/// In each round every lane posts, some often, some never; behind the barrier the sum of all PEs is what it must be,
/// and behind the next one the next round starts. With `forward` messages that bring others, else tokens alone.
template <bool Forward>
struct sum_in_rounds {
    std::uint32_t rounds;
    symmetric_ref<std::uint64_t> sum;
    symmetric_ref<std::uint64_t> early;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            for (std::uint64_t i = 0; i < (ctx.rank() + round) % 4; ++i) {
                post(ctx, box, static_cast<int>((ctx.rank() + i) % static_cast<unsigned>(ctx.n_pes())));
            }
            if (box.barrier(ctx) != status::ok) return;
            check(ctx, round);
            if (box.barrier(ctx) != status::ok) return;  // nobody goes on while others look
        }
    }

    /// What a round adds, in units: a token brings one, a seed two, a question one.
    static LANEWAY_FN std::uint64_t wanted(std::uint64_t rounds, std::uint64_t lanes) {
        std::uint64_t posts = 0;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            for (std::uint64_t rank = 0; rank < lanes; ++rank) posts += (rank + round) % 4;
        }
        return posts * (Forward ? 4 : 1);
    }

private:
    /// A failed post ends the run, and the barrier with it.
    template <class Ctx, class Box>
    LANEWAY_FN void post(Ctx& ctx, Box& box, int pe) const {
        (void)box.post(ctx, pe, token{1});
        if constexpr (Forward) {
            (void)box.post(ctx, pe, seed{1});
            (void)box.post(ctx, pe, barrier_question{1});
        }
    }

    /// One lane of each PE looks at all that it can reach.
    template <class Ctx>
    LANEWAY_FN void check(Ctx& ctx, std::uint64_t round) const {
        if (ctx.lane() != 0 || ctx.rank() % 5 != 0) return;
        std::uint64_t found = 0;
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            if (sum.at(ctx, pe) == nullptr) return;
            found += ctx.load(sum.at(ctx, pe), order::relaxed, scope::system);
        }
        if (found != wanted(round, ctx.size())) atomic_add(ctx, early[0], 1);
    }
};

template <bool Forward>
void sums_are_whole(runtime& rt) {
    const auto sum = rt.allocate<std::uint64_t>(1);
    const auto early = rt.allocate<std::uint64_t>(1);
    constexpr std::uint32_t rounds = 2;
    const sum_in_rounds<Forward> program{rounds, sum.ref(), early.ref()};
    if constexpr (Forward) {
        rt.run(program, rt.mailbox<token, seed, barrier_question>(count_token{sum.ref()}, sow{}, reply_token{}));
    } else {
        rt.run(program, rt.mailbox<token>(count_token{sum.ref()}));
    }
    EXPECT_EQ(sum_over_pes(early, rt.n_pes(), 0), 0u) << "a barrier opened too early";
    EXPECT_EQ(sum_over_pes(sum, rt.n_pes(), 0), program.wanted(rounds, lanes_in(rt)));
}

template <bool Forward>
void sums_are_whole(options o) {
    o.chunk_bytes += 16;
    runtime rt(o);
    sums_are_whole<Forward>(rt);
}

TEST_P(barriers_test, WaitForMessages) {
    every_round(GetParam(), [](const options& o) { sums_are_whole<false>(o); });
}
/// What PEs told each other in one run must not be heard in the next.
TEST_P(barriers_test, EachRunOfARuntimeStartsAnew) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        for (int run = 0; run < 3; ++run) sums_are_whole<false>(rt);
    });
}
TEST_P(barriers_test, WaitForRepliesAndForwards) {
    every_round(GetParam(), [](const options& o) { sums_are_whole<true>(o); });
}

/// Barriers one behind the other. Nothing is posted: lanes count themselves in before each barrier, and behind it all
/// are there.
struct bare_barriers {
    static constexpr std::uint64_t barriers = 5;
    symmetric_ref<std::uint64_t> came;  ///< one word a barrier
    symmetric_ref<std::uint64_t> early;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint64_t i = 0; i < barriers; ++i) {
            ctx.fetch_add(&came.local(ctx)[i], std::uint64_t{1}, order::relaxed, scope::system);
            if (box.barrier(ctx) != status::ok) return;
            if (!all_came(ctx, i)) atomic_add(ctx, early[0], 1);
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN bool all_came(Ctx& ctx, std::uint64_t i) const {
        std::uint64_t found = 0;
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            const std::uint64_t* there = came.at(ctx, pe);
            if (there == nullptr) return look(ctx, came.local(ctx) + i) == ctx.local_size();  // a GPU and a CPU device
            found += look(ctx, there + i);
        }
        return found == ctx.size();
    }
    template <class Ctx>
    static LANEWAY_FN std::uint64_t look(Ctx& ctx, const std::uint64_t* word) {
        return ctx.load(word, order::relaxed, scope::system);
    }
};

inline void meet_in_bare_barriers(runtime& rt) {
    const auto came = rt.allocate<std::uint64_t>(bare_barriers::barriers);
    const auto early = rt.allocate<std::uint64_t>(1);
    rt.run(bare_barriers{came.ref(), early.ref()}, rt.mailbox<token>(count_token{early.ref()}));
    EXPECT_EQ(sum_over_pes(early, rt.n_pes(), 0), 0u) << "a barrier opened before all had come";
    const std::uint64_t lanes = lanes_in(rt);
    for (std::size_t i = 0; i < bare_barriers::barriers; ++i) EXPECT_EQ(sum_over_pes(came, rt.n_pes(), i), lanes);
}

TEST_P(barriers_test, NeedNoMessages) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        meet_in_bare_barriers(rt);
    });
}

/// One warp of the job does not come.
struct missing_warp {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.rank() / Ctx::warp_lanes != 0) (void)box.barrier(ctx);
    }
};

TEST_P(barriers_test, OneThatAWarpLeavesOutEndsTheRun) {
    options o = options_of(GetParam(), 7);
    o.cpu_threads = 3;
    runtime rt(o);
    const auto counts = rt.allocate<std::uint64_t>(1);
    try {
        rt.run(missing_warp{}, rt.mailbox<token>(count_token{counts.ref()}));
        FAIL() << "the others went on";
    } catch (const device_fault& e) {
        const std::string what = e.what();
        EXPECT_NE(what.find("not every working warp called the barrier"), std::string::npos) << what;
        EXPECT_NE(what.find(" working warps came"), std::string::npos) << what;
    }
}

/// Its handler ends the run.
struct bomb {
    std::uint32_t round;
};
struct explode {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const bomb& b) const {
        if (b.round == 3) (void)fail(ctx, status::handler_failed, operation::user_code);
    }
};
/// Lanes post different numbers of messages and meet; somebody's handler fails meanwhile.
struct meet_while_failing {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint32_t round = 0; round < 20; ++round) {
            for (std::uint64_t i = 0; i < 1 + ctx.rank() % 3; ++i) {
                const int pe = static_cast<int>((ctx.rank() + i) % static_cast<unsigned>(ctx.n_pes()));
                (void)box.post(ctx, pe, bomb{ctx.rank() == 0 ? round : 0});  // the barrier fails as well
            }
            if (box.barrier(ctx) != status::ok) return;
        }
    }
};

TEST_P(barriers_test, LanesOfAWarpHearOfTheEndTogether) {
    every_round(GetParam(), [](options o) {
        o.chunk_bytes = 64;
        o.ring_slots = 2;
        runtime rt(o);
        EXPECT_THROW(rt.run(meet_while_failing{}, rt.mailbox<bomb>(explode{})), device_fault);
    });
}

/// A functor that meets in a loop hears of the end of the run.
struct meet_for_ever {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        while (box.barrier(ctx) == status::ok) {
        }
    }
};

TEST_P(barriers_test, ALoopOfBarriersEndsAtTheDeadline) {
    options o = options_of(GetParam(), 1);
    o.timeout_seconds = is_checked(GetParam()) ? 0.05 : 2;
    runtime rt(o);
    const auto sum = rt.allocate<std::uint64_t>(1);
    const auto mailbox = rt.mailbox<token>(count_token{sum.ref()});
    EXPECT_THROW(rt.run(meet_for_ever{}, mailbox), timeout_error);
    EXPECT_NO_THROW(meet_in_bare_barriers(rt)) << "the kernels had not ended";
}

LANEWAY_ON_DEVICES(barriers_test, with_proxies(device_lists()));

}  // namespace laneway::test
