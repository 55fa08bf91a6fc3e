// Checked devices find accesses to symmetric memory that have no order, under every seed, and no others.
#include "unit/comm/failing_runs.hpp"

namespace laneway::test {
namespace {

constexpr std::uint64_t words = 8;
constexpr std::uint64_t seeds = 10;

options job(std::uint64_t seed, const std::string& devices = "checked:2") {
    options o;
    o.devices = devices;
    o.seed = seed;
    o.timeout_seconds = 1;
    return o;
}

/// Adds to a word as if no other handler could.
struct add_plainly {
    symmetric_ref<std::uint64_t> table;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t i) const {
        auto word = lw::local(ctx, table[i]);
        *word = *word + 1;
    }
};
struct add_by_operator {
    symmetric_ref<std::uint64_t> table;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t i) const {
        table.local(ctx)[i] += 1;
    }
};
/// Some add atomically and some look.
struct add_and_look {
    symmetric_ref<std::uint64_t> table;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t i) const {
        lw::atomic_add(ctx, table[i / 2], 1);
        if (i % 2 == 1 && *lw::local(ctx, table[i / 2]) == 0) lw::atomic_add(ctx, table[7], 1);
    }
};
struct add_atomically {
    symmetric_ref<std::uint64_t> table;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, std::uint32_t i) const {
        lw::atomic_add(ctx, table[i], 1);
    }
};

/// Every lane posts `i` to every PE.
struct post_everywhere {
    std::uint32_t i = 5;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            if (box.post(ctx, pe, i) != status::ok) return;
        }
    }
};
/// One lane posts two messages to PE 1: with nothing between them, they are served one beside the other.
struct post_two {
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.rank() != 0) return;
        (void)box.post(ctx, 1, std::uint32_t{5});
        (void)box.post(ctx, 1, std::uint32_t{5});
    }
};

/// What a run over a table throws; empty: nothing.
template <class MakeFunctor, class MakeHandler>
std::string race_of(const options& o, MakeFunctor&& functor, MakeHandler&& handler) {
    runtime rt(o);
    const auto table = rt.allocate<std::uint64_t>(words);
    try {
        rt.run(functor(table.ref()), rt.one_sided<std::uint32_t>(handler(table.ref())));
    } catch (const usage_error& e) {
        return e.what();
    }
    return {};
}

template <class Functor, class Handler>
void races(const Functor& functor, const std::vector<std::string>& told, const std::string& devices = "checked:2") {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const std::string what = race_of(
            job(seed, devices), [&](auto) { return functor; }, [](auto table) { return Handler{table}; });
        SCOPED_TRACE("seed " + std::to_string(seed));
        contains(what, "no order between two accesses to word ");
        for (const std::string& part : told) contains(what, part);
        if (testing::Test::HasFailure()) return;
    }
}

TEST(races_test, AHandlerThatAddsPlainlyIsFoundUnderEverySeed) {
    const std::vector<std::string> told = {"word 5, of 8 bytes, of symmetric array ",
                                           "plain write by PE ",
                                           " block ",
                                           " warp ",
                                           " lane ",
                                           "operator() (races_test.cpp:"};
    races<post_everywhere, add_plainly>({}, told);
    races<post_everywhere, add_plainly>({}, told, "checked:1");
    races<post_everywhere, add_by_operator>({}, {"word 5", "operator() (races_test.cpp:"});
    races<post_two, add_plainly>({}, {"PE 1 (checked:1): ", "which serves, in operator()"});
}

TEST(races_test, APlainReadBesideAtomicsIsFound) {
    races<post_everywhere, add_and_look>(
        {3}, {"word 1,", "plain read by PE ", "atomic update by PE ", "operator() (races_test.cpp:"});
}

TEST(races_test, AtomicsHaveNoRaces) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        EXPECT_EQ(
            race_of(
                job(seed), [](auto) { return post_everywhere{}; }, [](auto table) { return add_atomically{table}; }),
            "");
    }
}

TEST(races_test, CanBeLetAlone) {
    options o = job(3);
    o.checked_accesses.races = false;
    EXPECT_EQ(race_of(
                  o, [](auto) { return post_everywhere{}; }, [](auto table) { return add_plainly{table}; }),
              "");
}

/// How lane 0 hands words to others.
enum class way {
    nothing,
    warp_sync,
    release,
    fences,
    half_fences,
    swapped_fences,
    lock,
    barrier,
    one_barrier_a_round,
    two_barriers_a_round,
    post,
    fence_and_post,
    call,
    call_and_fence,
    quiet,
    signal,
    get_without_waiting
};

struct hand_over {
    way how;
    symmetric_ref<std::uint64_t> table;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const auto word = lw::local(ctx, table[0]);
        const auto flag = lw::local(ctx, table[1]);
        const bool first = ctx.rank() == 0;
        const bool mate = ctx.rank() > 0 && ctx.rank() < Ctx::warp_lanes;
        switch (how) {
            case way::nothing:
            case way::warp_sync:
                if (first) *word = 1;
                if (how == way::warp_sync) ctx.sync(full_warp<Ctx>);
                if (mate) use(ctx, *word);
                return;
            case way::release:
                if (first) {
                    *word = 1;
                    ctx.store(flag, 1, order::release, scope::device);
                } else if (mate && ctx.load(flag, order::acquire, scope::device) == 1) {
                    use(ctx, *word);
                }
                return;
            case way::fences:
                if (first) {
                    *word = 1;
                    ctx.fence(scope::device);
                    ctx.store(flag, 1, order::relaxed, scope::device);
                } else if (mate && ctx.load(flag, order::relaxed, scope::device) == 1) {
                    ctx.fence(scope::device);
                    use(ctx, *word);
                }
                return;
            case way::half_fences:
            case way::swapped_fences: return by_half_fences(ctx, word, flag);
            case way::lock: return count_under_lock(ctx, word, flag);
            case way::barrier:
                if (first) *word = 1;
                if (box.barrier(ctx) == status::ok && ctx.pe() == 0) use(ctx, *word);
                return;
            default: return by_messages(ctx, box);
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN void use(Ctx& ctx, std::uint64_t value) const {
        lw::atomic_add(ctx, table[2], value);
    }

    /// With the right half on each side, or with the wrong one.
    template <class Ctx, class Pointer>
    LANEWAY_FN void by_half_fences(Ctx& ctx, Pointer word, Pointer flag) const {
        const bool swapped = how == way::swapped_fences;
        if (ctx.rank() == 0) {
            *word = 1;
            ctx.fence(swapped ? order::acquire : order::release, scope::device);
            ctx.store(flag, 1, order::relaxed, scope::device);
        } else if (ctx.rank() < Ctx::warp_lanes) {
            while (ctx.load(flag, order::relaxed, scope::device) != 1 && !stopped(ctx)) ctx.pause();
            ctx.fence(swapped ? order::release : order::acquire, scope::device);
            use(ctx, *word);
        }
    }

    template <class Ctx, class Pointer>
    LANEWAY_FN void count_under_lock(Ctx& ctx, Pointer word, Pointer flag) const {
        for (bool done = false; !done && !stopped(ctx);) {
            std::uint64_t open = 0;
            if (!ctx.compare_exchange(flag, open, 1, order::acquire, scope::device)) continue;
            ++*word;
            ctx.store(flag, 0, order::release, scope::device);
            done = true;
        }
    }

    template <class Ctx, class Box>
    LANEWAY_FN void by_messages(Ctx& ctx, Box& box) const {
        const auto word = lw::local(ctx, table[0]);
        const bool first = ctx.rank() == 0;
        const int other = 1 - ctx.pe();
        lw::one_sided remote(ctx, box);
        switch (how) {
            case way::one_barrier_a_round:
            case way::two_barriers_a_round:
                for (int round = 0; round < 3; ++round) {
                    if (first) (void)box.post(ctx, 1, std::uint32_t{0});
                    if (box.barrier(ctx) != status::ok) return;
                    if (ctx.pe() == 1) use(ctx, *word);
                    if (how == way::two_barriers_a_round && box.barrier(ctx) != status::ok) return;
                }
                return;
            case way::post:
            case way::fence_and_post:
                if (!first) return;
                *(table.at(ctx, 1) + 3) = 1;
                if (how == way::fence_and_post) ctx.fence(scope::system);
                (void)box.post(ctx, 1, std::uint32_t{3});
                return;
            case way::quiet:
                if (!first) return;
                (void)box.post(ctx, 1, std::uint32_t{0});
                if (box.quiet(ctx) == status::ok) use(ctx, *table.at(ctx, 1));
                return;
            case way::signal:
                if (first) (void)remote.put_signal(table[0], 1, 7, table[1], 1);
                if (ctx.pe() != 1 || remote.wait(table[1], compare::equal, 1) != status::ok) return;
                use(ctx, *word);
                return;
            case way::get_without_waiting:
                if (!first || remote.get_nbi(table[0], table[4], other) != status::ok) return;
                if (remote.quiet() == status::ok) use(ctx, *word);
                return;
            default: return;
        }
    }
};

std::string told_of(way how, std::uint64_t seed, path carried = path::direct) {
    options o = job(seed);
    o.path = carried;
    return race_of(
        o,
        [how](auto table) {
            return hand_over{how, table};
        },
        [](auto table) { return add_plainly{table}; });
}

TEST(races_test, AccessesWithOrderAreLetPass) {
    for (const way how :
         {way::warp_sync, way::release, way::fences, way::half_fences, way::lock, way::barrier,
          way::two_barriers_a_round, way::fence_and_post, way::quiet, way::signal, way::get_without_waiting}) {
        for (std::uint64_t seed = 1; seed <= 2 * seeds; ++seed) {
            ASSERT_EQ(told_of(how, seed, seed % 2 == 0 ? path::direct : path::aggregated), "")
                << static_cast<int>(how) << ", seed " << seed;
        }
    }
}

TEST(races_test, WhatOnlyCameInOneOrderIsFound) {
    for (const way how : {way::nothing, way::post, way::swapped_fences}) {
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            contains(told_of(how, seed),
                     (how == way::post ? "PE 1 (checked:1)" : "PE 0 (checked:0)") + std::string(": no order between"));
        }
    }
}

// Behind the barrier of its round a lane looks, while one that is ahead has the next round's message served.
TEST(races_test, ARoundThatLacksItsSecondBarrierIsFound) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        contains(told_of(way::one_barrier_a_round, seed), "PE 1 (checked:1): no order between two accesses to word 0,");
    }
}

/// All lanes of PE 0 add to a word, plainly.
struct lose_updates {
    symmetric_ref<std::uint64_t> table;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.pe() != 0) return;
        for (int i = 0; i < 20; ++i) ++table.local(ctx)[0];
    }
};

TEST(races_test, SwitchingAtPlainAccessesLosesUpdates) {
    for (const bool switches : {false, true}) {
        std::uint64_t least = ~std::uint64_t{0}, most = 0;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            options o = job(seed);
            o.checked_accesses = {.races = false, .switches_at_plain = switches};
            runtime rt(o);
            const auto table = rt.allocate<std::uint64_t>(words);
            rt.run(lose_updates{table.ref()}, rt.mailbox<std::uint32_t>(swallow{}));
            least = std::min(least, table.copy_out(0)[0]);
            most = std::max(most, table.copy_out(0)[0]);
        }
        EXPECT_EQ(most % 20 == 0 && least == most, !switches) << least << " to " << most;
    }
}

}  // namespace
}  // namespace laneway::test
