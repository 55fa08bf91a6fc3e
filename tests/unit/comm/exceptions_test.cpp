// What functors and handlers throw on CPU devices ends the run and comes out of it, with the place where it was thrown.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "unit/comm/failing_runs.hpp"

namespace laneway::test {
namespace {

struct own_error : std::runtime_error {
    using std::runtime_error::runtime_error;
    int number = 17;
};

/// Objects that live on stacks of lanes, so that a stack which is left without unwinding is seen.
std::atomic<int> alive{0};
struct counted {
    counted() { ++alive; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --alive; }
};

enum class thrown { own, number, lines };
[[noreturn]] void throw_it(thrown what) {
    if (what == thrown::number) throw 7;
    throw own_error(what == thrown::lines ? "two\nlines" : "own words");
}

/// Throws at message 7.
struct throwing_handler {
    thrown what = thrown::own;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint32_t message) const {
        const counted object;
        if (message == 7) throw_it(what);
    }
};

/// Posts the message one PE further, up to 7.
struct throwing_forward {
    static constexpr bool forwards = true;

    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t message, Forward& forward) const {
        const counted object;
        if (message == 7) throw_it(thrown::own);
        (void)forward.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), message + 1);
    }
};

struct throwing_answer {
    using answer = std::uint64_t;

    template <class Ctx>
    LANEWAY_FN answer operator()(Ctx&, std::uint32_t) const {
        throw_it(thrown::own);
    }
};

/// One lane, or all, throw; the others wait for them at barriers, each with an object on its stack.
struct throwing_functor {
    bool all;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const counted object;
        if (all || ctx.rank() == ctx.size() - 1) throw_it(thrown::own);
        while (box.barrier(ctx) == status::ok) {
        }
    }
};

/// Calls a PE; a value that no handler has made must not reach the lane as an answer.
struct call_pe {
    int pe;
    std::atomic<int>* answers;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const counted object;
        if (ctx.pe() == 0 && box.call(ctx, pe, std::uint32_t{1})) ++*answers;
    }
};

class exceptions_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] static options job(std::uint64_t seed) {
        options o;
        o.devices = GetParam();
        o.timeout_seconds = 30;  // nobody may wait for it
        o.cpu_threads = 2;
        o.seed = seed;
        return o;
    }
    static std::uint64_t rounds() {
        return is_checked(GetParam()) ? (std::min<std::uint64_t>(rounds_of(GetParam()), 40) + 1) / 2 : 5;
    }
    [[nodiscard]] static int other_pe() { return runtime(job(1)).n_pes() - 1; }

    /// Runs what throws, and then what does not, on one runtime; `parts` are what the message says, in this order.
    template <class Functor, class Handler>
    static void expect_thrown(const Functor& functor, const Handler& handler, const std::vector<std::string>& parts,
                              bool own = true) {
        for (std::uint64_t seed = 1; seed <= rounds(); ++seed) {
            SCOPED_TRACE("seed " + std::to_string(seed));
            runtime rt(job(seed));
            try {
                rt.run(functor, rt.mailbox<std::uint32_t>(handler));
                ADD_FAILURE() << "the exception was lost";
            } catch (const lane_error& e) {
                const std::string what = e.what();
                EXPECT_EQ(what.find('\n'), std::string::npos) << what;
                std::size_t at = 0;
                for (const auto& part : parts) {
                    at = what.find(part, at);
                    ASSERT_NE(at, std::string::npos) << "\"" << what << "\" does not say \"" << part << "\"";
                }
                try {
                    std::rethrow_if_nested(e);
                    ADD_FAILURE() << "nothing is nested";
                } catch (const own_error& nested) {
                    EXPECT_TRUE(own);
                    EXPECT_EQ(nested.number, 17);
                } catch (int nested) {
                    EXPECT_FALSE(own);
                    EXPECT_EQ(nested, 7);
                }
            }
            EXPECT_EQ(alive, 0) << "a stack was not unwound";
            const auto report = rt.run(post_to{other_pe(), 10}, rt.mailbox<std::uint32_t>(swallow{}));
            EXPECT_EQ(report.posted, report.direct + report.served);
            EXPECT_GT(report.posted, 0u);
        }
    }
};

TEST_P(exceptions_test, AFunctorsExceptionNamesItsLane) {
    const std::string last = "PE " + std::to_string(other_pe()) + " (";
    const std::string lane = " lane " + std::to_string(is_checked(GetParam()) ? checked::warp_lanes - 1 : 0) + ": ";
    expect_thrown(throwing_functor{false}, swallow{},
                  {last, ") block ", " warp ", lane, "exception in the functor: own words"});
}

TEST_P(exceptions_test, AllLanesMayThrowAtOnce) {
    expect_thrown(throwing_functor{true}, swallow{}, {"PE ", " lane ", ": exception in the functor: own words"});
}

TEST_P(exceptions_test, AHandlersExceptionNamesItsMessageAndThePosterOnThePeThatServes) {
    const int to = other_pe();
    const std::vector<std::string> parts{"PE " + std::to_string(to) + " (", ") block ", " warp ", " lane ",
                                         ": exception in the handler of message type 0 while serving PE 0: "};
    const auto with = [&](const char* words) {
        auto all = parts;
        all.emplace_back(words);
        return all;
    };
    expect_thrown(post_to{to, 20, 7}, throwing_handler{}, with("own words"));
    expect_thrown(post_to{to, 20, 7}, throwing_handler{thrown::lines}, with("two lines"));
    expect_thrown(post_to{to, 20, 7}, throwing_handler{thrown::number}, with("unknown exception"), false);
}

TEST_P(exceptions_test, AHandlerOfAnOwnMessageThrowsWithinPost) {
    expect_thrown(post_to{0, 20, 7}, throwing_handler{},
                  {"PE 0 (", ": exception in the handler of message type 0 while serving PE 0: own words"});
}

TEST_P(exceptions_test, AHandlerThatForwardsThrowsAfterSomeHops) {
    expect_thrown(post_to{0, 20, 0}, throwing_forward{},
                  {"PE " + std::to_string(7 % (other_pe() + 1)) + " (", ": exception in the handler of message type 0",
                   ": own words"});
}

TEST_P(exceptions_test, ACallWhoseHandlerThrowsHasNoAnswer) {
    std::atomic<int> answers{0};
    expect_thrown(call_pe{0, &answers}, throwing_answer{}, {"PE 0 (", ": exception in the handler of message type 0"});
    expect_thrown(call_pe{other_pe(), &answers}, throwing_answer{},
                  {"PE " + std::to_string(other_pe()) + " (", ": exception in the handler of message type 0"});
    EXPECT_EQ(answers, 0);
}

/// Refuses no place, but throws.
struct throwing_place {
    using element = std::uint32_t;
    static constexpr bool allocates = true;

    template <class Ctx>
    LANEWAY_FN symmetric_ptr<std::uint32_t> allocate(Ctx&, std::uint32_t, std::uint64_t) const {
        throw_it(thrown::own);
    }
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint32_t, payload<const std::uint32_t>) const {}
};
struct other_message {
    std::uint64_t number;
};
struct swallow_other {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const other_message&) const {}
};
struct post_long {
    int pe;
    std::atomic<int>* refused;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const std::uint32_t data[64] = {};
        if (ctx.rank() == 0 && box.post(ctx, pe, std::uint32_t{1}, data, 64) == status::rejected) ++*refused;
    }
};

TEST_P(exceptions_test, AnExceptionOfPlaceIsNoRefusal) {
    for (std::uint64_t seed = 1; seed <= rounds(); ++seed) {
        options o = job(seed);
        o.chunk_bytes = 64;
        runtime rt(o);
        std::atomic<int> refused{0};
        try {
            // The second type: its number is told, not that of a message of the library.
            rt.run(post_long{other_pe(), &refused},
                   rt.mailbox<other_message, std::uint32_t>(swallow_other{}, throwing_place{}));
            ADD_FAILURE() << "the exception was lost";
        } catch (const lane_error& e) {
            contains(e.what(), "exception in allocate of the handler of message type 1 while serving PE 0: own words");
        }
        EXPECT_EQ(refused, 0);
    }
}

/// What a functor throws since its run is ending says nothing of why it is.
struct throw_at_failure {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.rank() == 0) (void)fail(ctx, status::handler_failed, operation::user_code, -1, 99);
        while (box.barrier(ctx) == status::ok) {
        }
        throw own_error("the barrier failed");
    }
};

TEST_P(exceptions_test, TheReasonOfARunsEndIsNotHiddenByWhatFollows) {
    for (std::uint64_t seed = 1; seed <= rounds(); ++seed) {
        runtime rt(job(seed));
        EXPECT_THROW(rt.run(throw_at_failure{}, rt.mailbox<std::uint32_t>(swallow{})), device_fault);
    }
}

/// Catches what it throws itself, and posts meanwhile, so that other lanes that do so run in between.
struct catch_and_post {
    std::atomic<int>* wrong;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const auto me = static_cast<int>(ctx.rank());
        try {
            throw me;
        } catch (int caught) {
            for (std::uint32_t i = 0; i < 8; ++i) (void)box.post(ctx, (ctx.pe() + 1) % ctx.n_pes(), i);
            try {
                throw;
            } catch (int again) {
                if (again != me || caught != me) ++*wrong;
            }
        }
        if (std::current_exception() || std::uncaught_exceptions() != 0) ++*wrong;
    }
};

TEST_P(exceptions_test, WhatLanesCatchThemselvesIsTheirs) {
    for (std::uint64_t seed = 1; seed <= rounds(); ++seed) {
        runtime rt(job(seed));
        std::atomic<int> wrong{0};
        EXPECT_NO_THROW(rt.run(catch_and_post{&wrong}, rt.mailbox<std::uint32_t>(swallow{})));
        EXPECT_EQ(wrong, 0);
    }
}

INSTANTIATE_TEST_SUITE_P(devices, exceptions_test, testing::Values("cpu:1", "cpu:2", "cpu:3", "checked:1", "checked:2"),
                         name_of);

std::atomic<bool> let_go{false};
std::atomic<int> held{0};

/// PE 0 throws, and PE 1 hears of nothing.
struct throw_beside_the_deaf {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.pe() == 0) throw_it(thrown::own);
        ++held;
        while (!let_go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        --held;
    }
};

TEST(thrown_beside_the_deaf_test, TheExceptionIsToldWhereARunIsLeftBehind) {
    options o;
    o.devices = "cpu:2";
    try {
        runtime rt(o);
        rt.run(throw_beside_the_deaf{}, rt.mailbox<std::uint32_t>(swallow{}));
        ADD_FAILURE() << "ended";
    } catch (const timeout_error& e) {
        contains(e.what(), "PE 1 (cpu:1): its kernel did not end");
        contains(e.what(), "; PE 0 (cpu:0) block 0 warp 0 lane 0: exception in the functor: own words");
    }
    let_go = true;
    while (held != 0) std::this_thread::yield();
}

}  // namespace
}  // namespace laneway::test
