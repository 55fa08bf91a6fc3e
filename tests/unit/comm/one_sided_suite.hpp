// One-sided operations: puts, gets, signals and what is refused, direct and aggregated, on any devices.
#pragma once

#include "unit/comm/one_sided_job.hpp"

namespace laneway::test {

class one_sided_test : public testing::TestWithParam<std::string> {};

/// What a lane of any PE can work out for itself.
LANEWAY_FN std::uint32_t value_of(std::uint64_t rank, std::uint64_t i) {
    return static_cast<std::uint32_t>(rank * 1000 + i * 7 + 1);
}

/// Puts into all PEs, one value or many, and reads back what others put, in all ways.
struct put_and_get {
    symmetric_ref<std::uint32_t> words;    ///< a block of `each` for every rank of the job
    symmetric_ref<std::uint32_t> fetched;  ///< one for every rank
    symmetric_ref<std::uint32_t> wrong;
    width lanes;

    static constexpr std::uint64_t each = 40;
    static constexpr std::uint64_t single = 3;  ///< of these are put and got one by one

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        one_sided remote(ctx, box);
        const std::uint64_t owner = team_rank(ctx, box);
        std::uint32_t values[each];
        for (std::uint64_t i = 0; i < each; ++i) values[i] = value_of(owner, i);
        const int pe = static_cast<int>(owner % static_cast<unsigned>(ctx.n_pes()));
        for (std::uint64_t i = 0; i < single; ++i) (void)remote.put(words[owner * each + i], pe, values[i]);
        (void)remote.put(lanes, words[owner * each + single], pe, values + single, each - single);
        if (remote.barrier() != status::ok) return;

        const std::uint64_t other = (owner + ctx.size() / 2) % ctx.size();
        const bool written = lanes == width::lane;
        const std::uint64_t from = written ? other : owner;  // of wider teams not every rank has put
        const int from_pe = static_cast<int>(from % static_cast<unsigned>(ctx.n_pes()));
        bool right = true;
        for (std::uint64_t i = 0; i < single; ++i) {
            const auto got = remote.get(words[from * each + i], from_pe);
            right = right && got.code == status::ok && got.value == value_of(from, i);
        }
        right = remote.get_nbi(fetched[ctx.rank()], words[from * each + 5], from_pe) == status::ok && right;
        // Lanes share the values out, each into memory of its own.
        std::uint32_t back[each] = {};
        right = remote.get(lanes, back, words[from * each], from_pe, each) == status::ok && right;
        const copy_share mine = share_of(ctx, box, lanes);
        for (std::uint64_t i = mine.first; i < each; i += mine.step) right = right && back[i] == value_of(from, i);
        if (remote.quiet() != status::ok) return;
        right = right && ctx.load(fetched.local(ctx) + ctx.rank(), order::relaxed, scope::device) == value_of(from, 5);
        if (!right) atomic_add(ctx, wrong[0], 1);
    }

private:
    /// A rank of the team's, and no other's: all lanes of the team put the same.
    template <class Ctx, class Box>
    LANEWAY_FN std::uint64_t team_rank(Ctx& ctx, Box& box) const {
        const auto lane = static_cast<std::uint64_t>(ctx.lane());
        if (lanes == width::lane) return ctx.rank();
        if (lanes == width::warp) return ctx.rank() - lane;
        // Neighbours in rank lie in different blocks, so the first warps of all blocks have the first ranks of the PE.
        return ctx.rank() - ctx.local_rank() + static_cast<std::uint64_t>(box.team().number * Ctx::warp_lanes);
    }
};

inline void puts_and_gets_agree(const options& o, width lanes) {
    runtime rt(o);
    const auto ranks = rt.allocate<std::uint64_t>(2);
    rt.run(count_ranks{ranks.ref()}, rt.one_sided());
    const std::uint64_t size = ranks.copy_out(0)[0];
    const auto words = rt.allocate<std::uint32_t>(size * put_and_get::each);
    const auto fetched = rt.allocate<std::uint32_t>(size);
    const auto wrong = rt.allocate<std::uint32_t>(1);
    rt.run(put_and_get{words.ref(), fetched.ref(), wrong.ref(), lanes}, rt.one_sided());
    EXPECT_EQ(total(wrong, rt.n_pes(), 0), 0u) << "lanes that read something else than was put";
}

TEST_P(one_sided_test, PutsAndGetsOfLanes) {
    every_round(GetParam(), [](options o) { puts_and_gets_agree(one_sided_options(o), width::lane); });
}
TEST_P(one_sided_test, PutsAndGetsOfWarps) {
    every_round(GetParam(), [](options o) { puts_and_gets_agree(one_sided_options(o), width::warp); });
}
TEST_P(one_sided_test, PutsAndGetsOfBlocks) {
    every_round(GetParam(), [](options o) { puts_and_gets_agree(one_sided_options(o), width::block); });
}

/// The last lane of each warp asks, and when the warp has met, lane 0 alone waits for what has come.
struct ask_for_mate {
    symmetric_ref<std::uint64_t> words;
    symmetric_ref<std::uint64_t> fetched;  ///< `each` for every working lane of a PE
    symmetric_ref<std::uint64_t> wrong;

    static constexpr std::uint64_t each = 3;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        one_sided remote(ctx, box);
        const std::uint64_t first = (ctx.local_rank() - static_cast<std::uint64_t>(ctx.lane())) * each;
        for (std::uint64_t i = 0; ctx.lane() == Ctx::warp_lanes - 1 && i < each; ++i) {
            const int pe = (ctx.pe() + static_cast<int>(i) + 1) % ctx.n_pes();
            (void)remote.get_nbi(fetched[first + i], words[i], pe, path::aggregated);
        }
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() != 0 || remote.quiet() != status::ok) return;
        for (std::uint64_t i = 0; i < each; ++i) {
            if (fetched.local(ctx)[first + i] != i + 1) atomic_add(ctx, wrong[0], 1);
        }
    }
};

TEST_P(one_sided_test, QuietWaitsForWhatMatesHaveAskedFor) {
    every_round(GetParam(), [](options plain) {
        const options o = one_sided_options(plain);
        runtime rt(o);
        auto words = rt.allocate<std::uint64_t>(ask_for_mate::each);
        for (int pe = 0; pe < rt.n_pes(); ++pe) words.copy_in(pe, {1, 2, 3});
        const auto fetched = rt.allocate<std::uint64_t>(max_lanes(rt.machine(), o) * ask_for_mate::each);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        rt.run(ask_for_mate{words.ref(), fetched.ref(), wrong.ref()}, rt.one_sided());
        EXPECT_EQ(total(wrong, rt.n_pes(), 0), 0u) << "quiet returned before what a mate asked for had come";
    });
}

/// One lane of PE 0 gets many words as messages, and other lanes of the PE look how many are on their way.
struct get_many {
    symmetric_ref<std::uint64_t> words;
    symmetric_ref<std::uint64_t> seen;  ///< most on their way; wrong words; whether all have come

    static constexpr std::uint64_t each = 70;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        if (ctx.pe() != 0) return;
        if (ctx.rank() == 0) {
            one_sided remote(ctx, box);
            std::uint64_t values[each] = {};
            (void)remote.get(width::lane, values, words[0], ctx.n_pes() - 1, each, path::aggregated);
            for (std::uint64_t i = 0; i < each; ++i) {
                if (values[i] != value_of(0, i)) atomic_add(ctx, seen[1], 1);
            }
            ctx.store(&seen.local(ctx)[2], 1, order::release, scope::device);
        } else if (ctx.lane() == 0) {
            look(ctx, box);
        }
    }

private:
    template <class Ctx, class Box>
    LANEWAY_FN void look(Ctx& ctx, Box& box) const {
        const auto gets = box.template served_by<remote_update>().gets;
        std::uint64_t most = 0;
        bounded_spin spin;
        while (ctx.load(&seen.local(ctx)[2], order::acquire, scope::device) == 0 && box.progress(ctx) == status::ok &&
               spin.next(ctx, {operation::signal, 0, 0}) == status::ok) {
            for (std::uint64_t lane = 0; lane < gets.size(); ++lane) {
                const lane_gets& of = gets.local(ctx)[lane];
                // In this order there may be more on their way than is seen, not fewer.
                const std::uint32_t before = ctx.load(&of.asked, order::acquire, scope::device);
                const auto left = static_cast<std::int32_t>(before - ctx.load(&of.come, order::relaxed, scope::device));
                const std::uint64_t asked = left > 0 ? static_cast<std::uint64_t>(left) : 0;
                most = asked > most ? asked : most;
            }
        }
        ctx.fetch_max(&seen.local(ctx)[0], most, order::relaxed, scope::device);
    }
};

TEST_P(one_sided_test, ABulkGetAsksForManyValuesAtOnce) {
    std::uint64_t most = 0;
    every_round(GetParam(), [&](options plain) {
        runtime rt(one_sided_options(plain));
        auto words = rt.allocate<std::uint64_t>(get_many::each);
        std::vector<std::uint64_t> values(get_many::each);
        for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = value_of(0, i);
        words.copy_in(rt.n_pes() - 1, values);
        const auto seen = rt.allocate<std::uint64_t>(3);
        rt.run(get_many{words.ref(), seen.ref()}, rt.one_sided());
        EXPECT_EQ(total(seen, rt.n_pes(), 1), 0u) << "wrong words";
        EXPECT_LE(total(seen, rt.n_pes(), 0), max_values_asked);
        most = std::max(most, total(seen, rt.n_pes(), 0));
    });
    if (is_checked(GetParam()) && GetParam() != "checked:1") {
        EXPECT_GT(most, 1u) << "one round trip a value";
    }
}

/// One lane puts generation after generation of many words, another gets them at the same time. Both go word by word in
/// the same direction.
struct put_over {
    symmetric_ref<std::uint64_t> words;
    symmetric_ref<std::uint64_t> torn;
    symmetric_ref<std::uint64_t> seen;  ///< gets that the put overtook, and gets that overtook the put

    static constexpr std::uint64_t each = 16;
    static constexpr std::uint64_t generations = 30;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        one_sided remote(ctx, box);
        const int pe = ctx.n_pes() - 1;
        std::uint64_t values[each];
        for (std::uint64_t g = 1; ctx.rank() == 0 && g <= generations; ++g) {
            for (auto& value : values) value = g << 32 | g;
            (void)remote.put(width::lane, words[0], pe, values, each, path::direct);
        }
        for (std::uint64_t g = 1; ctx.rank() == ctx.size() - 1 && g <= generations; ++g) {
            if (remote.get(width::lane, values, words[0], pe, each, path::direct) != status::ok) return;
            for (const auto value : values) {
                if (value >> 32 != (value & 0xffffffff)) atomic_add(ctx, torn[0], 1);
            }
            if (values[0] < values[each - 1]) atomic_add(ctx, seen[0], 1);
            if (values[0] > values[each - 1]) atomic_add(ctx, seen[1], 1);
        }
    }
};

TEST_P(one_sided_test, PutsAndGetsOfManyWordsMoveEachWordWhole) {
    std::uint64_t overtaken = 0, overtook = 0;
    every_round(GetParam(), [&](options plain) {
        runtime rt(one_sided_options(plain));
        const auto words = rt.allocate<std::uint64_t>(put_over::each);
        const auto torn = rt.allocate<std::uint64_t>(1);
        const auto seen = rt.allocate<std::uint64_t>(2);
        rt.run(put_over{words.ref(), torn.ref(), seen.ref()}, rt.one_sided());
        EXPECT_EQ(total(torn, rt.n_pes(), 0), 0u);
        EXPECT_EQ(words.copy_out(rt.n_pes() - 1),
                  std::vector<std::uint64_t>(put_over::each, put_over::generations << 32 | put_over::generations));
        overtaken += total(seen, rt.n_pes(), 0);
        overtook += total(seen, rt.n_pes(), 1);
    });
    // The scheduler may switch at atomics only, so there were some at each word; as messages none need overtake
    // another.
    if (is_checked(GetParam()) && !is_mixed(GetParam())) {
        EXPECT_NE(overtaken, 0u) << "a bulk get was one step";
        EXPECT_NE(overtook, 0u) << "a bulk put was one step";
    }
}

/// Lane i of each PE hands numbers to lane i of the next, round by round, each with a signal.
struct pass_round {
    symmetric_ref<std::uint64_t> letters;
    symmetric_ref<std::uint64_t> signals;
    symmetric_ref<std::uint64_t> places;  ///< [0]: lanes that have taken a place
    symmetric_ref<std::uint64_t> wrong;
    std::uint64_t lanes;  ///< of each PE take part

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        one_sided remote(ctx, box);
        const std::uint64_t place = atomic_add(ctx, places[0], 1);
        if (place >= lanes) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        for (std::uint64_t round = 1; round <= 3; ++round) {
            const auto from = static_cast<std::uint64_t>(ctx.pe()) * 100;
            if (round % 2 == 1) {
                (void)remote.put_signal(letters[place], next, from + round, signals[place], round);
            } else {
                (void)remote.put_signal(letters[place], next, from + round, signals[place], 1, signal_op::add);
            }
            if (remote.wait(signals[place], compare::greater_equal, round) != status::ok) return;
            const auto sender = static_cast<std::uint64_t>((ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes()) * 100;
            if (ctx.load(letters.local(ctx) + place, order::relaxed, scope::system) != sender + round) {
                atomic_add(ctx, wrong[0], 1);
            }
            // The letter has been read: the sender may write the next.
            const int back = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
            (void)remote.add(signals[lanes + place], back, 1);
            if (remote.wait(signals[lanes + place], compare::equal, round) != status::ok) return;
        }
    }
};

TEST_P(one_sided_test, SignalsFollowWhatTheyAnnounce) {
    every_round(GetParam(), [](options plain) {
        runtime rt(one_sided_options(plain));
        const auto ranks = rt.allocate<std::uint64_t>(2);
        rt.run(count_ranks{ranks.ref()}, rt.one_sided());
        std::uint64_t lanes = ~std::uint64_t{0};
        for (int pe = 0; pe < rt.n_pes(); ++pe) lanes = std::min(lanes, ranks.copy_out(pe)[1]);
        const auto letters = rt.allocate<std::uint64_t>(lanes);
        const auto signals = rt.allocate<std::uint64_t>(2 * lanes);
        const auto places = rt.allocate<std::uint64_t>(1);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        rt.run(pass_round{letters.ref(), signals.ref(), places.ref(), wrong.ref(), lanes}, rt.one_sided());
        EXPECT_EQ(total(wrong, rt.n_pes(), 0), 0u) << "a signal came before its letter";
    });
}

/// Breaks one rule on one lane.
struct break_rule {
    symmetric_ref<std::uint64_t> words;
    int rule;

    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        one_sided remote(ctx, box);
        if (ctx.rank() != 0) return;
        const int last = ctx.n_pes() - 1;
        std::uint64_t values[4] = {};
        if (rule == 0) (void)remote.put(words[words.size()], last, 1);
        if (rule == 1) (void)remote.get(words[~std::uint64_t{0}], last);
        if (rule == 2) (void)remote.add(symmetric_ptr<std::uint64_t>{999, 0}, last, 1);
        if (rule == 3) (void)remote.put(width::lane, words[words.size() - 3], last, values, 4);
        if (rule == 4) (void)remote.put(words[0], ctx.n_pes(), 1);
        if (rule == 5) (void)remote.fetch_add(words[0], -1, 1);
        if (rule == 6) (void)remote.put_signal(words[0], last, 1, words[words.size()], 1);
        if (rule == 7) (void)remote.get_nbi(words[words.size()], words[0], last);
        // Counts whose bytes are more than 64 bits hold.
        if (rule == 8) (void)remote.put(width::lane, words[0], last, values, std::uint64_t{1} << 61);
        if (rule == 9) (void)remote.get(width::lane, values, words[1], last, ~std::uint64_t{0});
        // Of one value a lane, which is asked for in a way of its own.
        if (rule == 10) (void)remote.get(width::lane, values, words[words.size()], last, 1);
        if (rule == 11) (void)remote.get(width::lane, values, symmetric_ptr<std::uint64_t>{999, 0}, last, 1);
        if (values[0] != 0) atomic_add(ctx, words[1], 1);
    }
};

TEST_P(one_sided_test, AddressesAndPesThatDoNotExistEndTheRun) {
    const std::string array = ", where there are 0 to 15";
    const std::string beyond = ": element 16" + array;
    const int pes = runtime(options_of(GetParam(), 1)).n_pes();
    const std::string last = std::to_string(pes - 1);
    const std::string n_pes = std::to_string(pes);
    const std::string expected[] = {
        "symmetric memory while putting to PE " + last + beyond,
        "symmetric memory while getting from PE " + last + ": element 18446744073709551615" + array,
        "symmetric memory while doing an atomic operation on PE " + last + ": element 0, where there are none",
        "symmetric memory while putting to PE " + last + beyond,
        "no such PE while putting to PE " + n_pes + ": the job has " + n_pes + " PE",
        "no such PE while doing an atomic operation on PE -1: the job has " + n_pes + " PE",
        "symmetric memory while putting to PE " + last + beyond,
        "symmetric memory while getting from PE 0" + beyond,  // what is missing is the own word to get into
        "symmetric memory while putting to PE " + last + beyond,
        "symmetric memory while getting from PE " + last + beyond,
        "symmetric memory while getting from PE " + last + beyond,
        "symmetric memory while getting from PE " + last + ": element 0, where there are none"};
    for (int rule = 0; rule < 12; ++rule) {
        for (const path how : {path::direct, path::aggregated}) {
            options o = one_sided_options(options_of(GetParam(), 1));
            o.path = how;
            runtime rt(o);
            const auto words = rt.allocate<std::uint64_t>(16);
            try {
                rt.run(break_rule{words.ref(), rule}, rt.one_sided());
                FAIL() << "rule " << rule << " was not kept";
            } catch (const device_fault& e) {
                EXPECT_NE(std::string(e.what()).find(expected[rule]), std::string::npos) << e.what();
            }
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                EXPECT_EQ(words.copy_out(pe), std::vector<std::uint64_t>(16)) << "a word was written";
            }
        }
    }
}

LANEWAY_ON_DEVICES(one_sided_test, with_proxies(device_lists()));

}  // namespace laneway::test
