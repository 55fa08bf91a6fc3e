// Random programs of sends and receives by several lanes of each PE, with wildcards, tests, probes and receives that
// are taken back, against MPI's rules.
#pragma once

#include <map>
#include <random>
#include <tuple>

#include "communicator_job.hpp"
#include "unit/sequential_matcher.hpp"

namespace laneway::test {
namespace {

class communicator_random : public testing::TestWithParam<std::string> {};

constexpr std::uint32_t longest = 96;  // words of a message
constexpr std::uint32_t most_steps = 32;
constexpr std::uint32_t most_lanes = 3;
constexpr std::uint32_t all_steps = most_lanes * most_steps;  ///< of a PE: lane by lane

enum class action : std::uint32_t { send, receive, test, probe, end };
struct script_step {
    action what = action::end;
    std::uint32_t peer = 0;
    std::uint32_t tag = 0;
    std::uint32_t words = 0;
};
/// What a receive got, or a probe found. Steps are numbered within the PE.
struct script_result {
    std::uint32_t source = 0, tag = 0, sender_step = 0, cancelled = 0, words = 0;
    std::uint32_t wrong = 0;
};

/// Some lanes of each PE do their steps, and take back what they have not got; then the first one receives what is
/// left, and all wait for what they have sent.
struct run_script {
    symmetric_ref<script_step> steps;
    symmetric_ref<script_result> results;  ///< of receives and probes by step, then of what was left
    symmetric_ref<std::uint64_t> from, to;
    symmetric_ref<std::uint64_t> rest;  ///< messages to this PE, of which lanes take away what they have received
    symmetric_ref<std::uint64_t> done;  ///< lanes that have
    std::uint32_t n_lanes;
    bool takes_back;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const auto lane = static_cast<std::uint32_t>(ctx.rank() % (ctx.size() / static_cast<unsigned>(ctx.n_pes())));
        if (lane >= n_lanes) return;
        const std::uint32_t first = lane * most_steps;
        message_request requests[most_steps];
        std::uint32_t open = 0;
        for (std::uint32_t i = 0; i < most_steps; ++i) {
            if (!step(ctx, world, first, i, requests, open)) return;
        }
        std::uint64_t received = 0;
        for (std::uint32_t i = 0; i < most_steps; ++i) {
            if (what_of(ctx, first + i) != action::receive) continue;
            if (takes_back && !requests[i].is_null() && world.cancel(ctx, requests[i]) != status::ok) return;
            message_status got;
            if (!requests[i].is_null()) {
                if (world.wait(ctx, requests[i], &got) != status::ok) return;
                note(ctx, first + i, first + i, got);
            }
            received += results.local(ctx)[first + i].cancelled != 0 ? 0 : 1;
        }
        atomic_add(ctx, rest[0], ~received + 1);
        ctx.fence(scope::device);
        atomic_add(ctx, done[0], 1);
        if (lane == 0 && !receive_rest(ctx, world)) return;
        for (std::uint32_t i = 0; i < most_steps; ++i) {
            if (what_of(ctx, first + i) == action::send && world.wait(ctx, requests[i]) != status::ok) return;
        }
    }

private:
    template <class Ctx>
    LANEWAY_FN action what_of(Ctx& ctx, std::uint32_t at) const {
        const script_step now = steps.local(ctx)[at];
        return now.what;
    }
    /// What is left when all lanes have what they have.
    template <class Ctx, class World>
    LANEWAY_FN bool receive_rest(Ctx& ctx, World& world) const {
        const auto now = [&](symmetric_ref<std::uint64_t> word) {
            return ctx.load(address(ctx, word[0], ctx.pe()), order::acquire, scope::device);
        };
        message_status got;
        for (bool found = false; now(done) < n_lanes;) {  // and makes progress meanwhile
            if (world.iprobe(ctx, ctx.pe(), 0, found, got) != status::ok) return false;
        }
        const std::uint64_t left = now(rest);
        for (std::uint32_t i = 0; i < left; ++i) {
            if (world.recv(ctx, to[0], longest, any_source, any_tag, &got) != status::ok) return false;
            note(ctx, all_steps + i, 0, got);
        }
        return true;
    }
    /// `first`: the lane's first step.
    template <class Ctx, class World>
    LANEWAY_FN bool step(Ctx& ctx, World& world, std::uint32_t first, std::uint32_t i, message_request* requests,
                         std::uint32_t& open) const {
        const std::uint32_t at = first + i;
        const script_step now = steps.local(ctx)[at];
        const std::int64_t peer = now.peer, tag = now.tag;
        switch (now.what) {
            case action::send: {
                const auto me = static_cast<std::uint64_t>(ctx.pe());
                for (std::uint32_t w = 0; w < now.words; ++w) {
                    from.local(ctx)[at * longest + w] = me << 32 | at << 16 | w;
                }
                const bool waits = at % 5 == 0;
                return (waits ? world.issend(ctx, from[at * longest], now.words, peer, tag, requests[i])
                              : world.isend(ctx, from[at * longest], now.words, peer, tag, requests[i])) == status::ok;
            }
            case action::receive:
                open = i;
                return world.irecv(ctx, to[at * longest], longest, peer, tag, requests[i]) == status::ok;
            case action::test: {
                bool over = false;
                message_status got;
                const bool had = !requests[open].is_null();
                if (what_of(ctx, first + open) != action::receive || !had) return true;
                if (world.test(ctx, requests[open], over, &got) != status::ok) return false;
                if (over) note(ctx, first + open, first + open, got);
                return true;
            }
            case action::probe: {
                bool found = false;
                message_status what;
                if (world.iprobe(ctx, peer, tag, found, what) != status::ok) return false;
                if (found) {
                    results.local(ctx)[at] =
                        script_result{what.source, what.tag, 0, 0, static_cast<std::uint32_t>(what.bytes / 8), 0};
                }
                return true;
            }
            default: return true;
        }
    }
    template <class Ctx>
    LANEWAY_FN void note(Ctx& ctx, std::uint32_t at, std::uint32_t buffer, const message_status& got) const {
        script_result r;
        r.cancelled = got.cancelled ? 1 : 0;
        if (!got.cancelled) {
            r.source = got.source;
            r.tag = got.tag;
            r.words = static_cast<std::uint32_t>(got.bytes / 8);
            const std::uint64_t first = to.local(ctx)[buffer * longest];
            r.sender_step = static_cast<std::uint32_t>(first >> 16 & 0xffff);
            for (std::uint32_t w = 0; w < r.words; ++w) {
                const std::uint64_t found = to.local(ctx)[buffer * longest + w];
                r.wrong += found == first + w && found >> 32 == got.source ? 0 : 1;
            }
        }
        results.local(ctx)[at] = r;
    }
};

struct script {
    std::vector<std::vector<script_step>> steps;
    std::vector<std::uint64_t> messages;  ///< to each PE
    std::uint32_t n_lanes = 1;
};

/// How receives say what they want: in any way; or so that MPI knows one outcome, or none.
enum class wanting { anything, one_source, one_lane };

/// `one_lane`: where there are several lanes, tags say which one sends and which one receives.
script random_script(std::mt19937& random, int pes, std::uint32_t n_lanes, wanting how) {
    script made;
    made.n_lanes = n_lanes;
    made.messages.resize(static_cast<std::size_t>(pes));
    made.steps.resize(static_cast<std::size_t>(pes), std::vector<script_step>(all_steps));
    const std::uint32_t n = static_cast<std::uint32_t>(pes);
    const auto any = [&] { return static_cast<std::uint32_t>(random() % n_lanes); };
    for (std::uint32_t pe = 0; pe < n; ++pe) {
        for (std::uint32_t i = 0; i < n_lanes * most_steps; ++i) {
            script_step& s = made.steps[pe][i];
            const auto kind = random() % 8;
            const std::uint32_t lane = i / most_steps;
            s.peer = static_cast<std::uint32_t>(random() % n);
            s.tag = static_cast<std::uint32_t>(random() % 3);
            const bool sends = kind < 3 && i % most_steps < most_steps / 2 + 8;
            if (how == wanting::one_lane)
                s.tag = (s.tag * n_lanes + (sends ? lane : any())) * n_lanes + (sends ? any() : lane);
            if (sends) {
                s.what = action::send;
                s.words = 1 + static_cast<std::uint32_t>(random() % longest / (1 + random() % 8));
                ++made.messages[s.peer];
                continue;
            }
            s.what = kind < 5 ? action::receive : kind == 5 ? action::probe : action::test;
            if (s.what != action::receive) continue;
            if (how == wanting::anything && random() % 3 == 0) s.peer = any_source;
            const bool may = how == wanting::anything || (how == wanting::one_lane && n_lanes == 1);
            if (may && random() % 3 == 0) s.tag = any_tag;
        }
    }
    return made;
}

using results_of_pes = std::vector<std::vector<script_result>>;

results_of_pes run_on(options o, const script& program, const communicator_options& how, bool takes_back) {
    o.cpu_threads = std::max(o.cpu_threads, static_cast<int>(program.n_lanes));
    runtime rt(o);
    auto steps = rt.allocate<script_step>(all_steps);
    const auto results = rt.allocate<script_result>(all_steps * 8);
    const auto from = rt.allocate<std::uint64_t>(all_steps * longest),
               to = rt.allocate<std::uint64_t>(all_steps * longest);
    auto rest = rt.allocate<std::uint64_t>(1);
    const auto done = rt.allocate<std::uint64_t>(1);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        steps.copy_in(pe, program.steps[static_cast<std::size_t>(pe)]);
        rest.copy_in(pe, {program.messages[static_cast<std::size_t>(pe)]});
    }
    auto world = rt.communicator(how);
    rt.run(run_script{steps.ref(), results.ref(), from.ref(), to.ref(), rest.ref(), done.ref(), program.n_lanes,
                      takes_back},
           world);
    EXPECT_TRUE(world.pending().empty()) << world.account();
    results_of_pes all;
    for (int pe = 0; pe < rt.n_pes(); ++pe) all.push_back(results.copy_out(pe));
    return all;
}

using takers = std::vector<std::vector<int>>;  ///< by sender and its step: which receive of a PE got the message

/// Which receive of a PE got each message; -1: none. Checks contents and that nothing came twice.
takers taken_by(const script& program, const std::vector<script_result>& results, std::uint32_t pe) {
    takers by(program.steps.size(), std::vector<int>(all_steps, -1));
    for (std::uint32_t i = 0; i < all_steps + static_cast<std::uint32_t>(program.messages[pe]); ++i) {
        const script_result& r = results[i];
        if (r.words == 0 || (i < all_steps && program.steps[pe][i].what != action::receive)) continue;
        EXPECT_EQ(r.wrong, 0u) << "words of a message";
        const script_step& sent = program.steps[r.source][r.sender_step];
        EXPECT_TRUE(sent.what == action::send && sent.peer == pe && sent.tag == r.tag && sent.words == r.words);
        if (i < all_steps) {
            const script_step& asked = program.steps[pe][i];
            EXPECT_TRUE((match_key{asked.peer, asked.tag}.accepts({r.source, r.tag}))) << "receive " << i;
        }
        int& taker = by[r.source][r.sender_step];
        EXPECT_EQ(taker, -1) << "received twice";
        taker = static_cast<int>(i);
    }
    return by;
}
/// Calls `use(source, step)` for each message to a PE.
template <class Use>
void each_message(const script& program, std::uint32_t pe, Use&& use) {
    for (std::uint32_t source = 0; source < program.steps.size(); ++source) {
        for (std::uint32_t i = 0; i < all_steps; ++i) {
            const script_step& s = program.steps[source][i];
            if (s.what == action::send && s.peer == pe) use(source, i);
        }
    }
}
void expect_all_taken(const script& program, const takers& by, std::uint32_t pe) {
    each_message(program, pe, [&](std::uint32_t source, std::uint32_t i) {
        EXPECT_GE(by[source][i], 0) << "message " << i << " of PE " << source << " was lost";
    });
}

/// MPI's order, pair by pair: of two messages of one lane that both of two receives of a lane take, the first goes to
/// the first. What was left was received behind all that lanes had posted.
void expect_order(const script& program, const takers& by, std::uint32_t pe) {
    const auto accepts = [&](int receive, std::uint32_t source, std::uint32_t tag) {
        if (receive >= static_cast<int>(all_steps)) return true;
        const script_step& s = program.steps[pe][static_cast<std::size_t>(receive)];
        return match_key{s.peer, s.tag}.accepts({source, tag});
    };
    const auto lane = [](int step) { return step / static_cast<int>(most_steps); };
    const auto is_before = [&](int a, int b) {
        return a < b && (lane(a) == lane(b) || b >= static_cast<int>(all_steps));
    };
    each_message(program, pe, [&](std::uint32_t source, std::uint32_t second) {
        const std::uint32_t begin = second / most_steps * most_steps;
        for (std::uint32_t first = begin; first < second; ++first) {
            const script_step& a = program.steps[source][first];
            if (a.what != action::send || a.peer != pe) continue;
            const int of_first = by[source][first], of_second = by[source][second];
            const bool overtook = is_before(of_second, of_first) && accepts(of_second, source, a.tag);
            EXPECT_FALSE(overtook) << "message " << second << " of PE " << source << " overtook " << first;
        }
    });
}

/// So many lanes take part, another number in each round.
std::uint32_t lanes_of(const options& o) { return 1 + static_cast<std::uint32_t>(o.seed) % most_lanes; }

TEST_P(communicator_random, ProgramsWithWildcardsKeepTheOrder) {
    const int pes = runtime(options_of(GetParam(), 0)).n_pes();
    every_round(GetParam(), [pes](const options& o) {
        std::mt19937 random(static_cast<std::uint32_t>(o.seed));
        const script program = random_script(random, pes, lanes_of(o), wanting::anything);
        const auto found = run_on(o, program, small_options(o), true);
        for (std::uint32_t pe = 0; pe < program.steps.size(); ++pe) {
            const takers by = taken_by(program, found[pe], pe);
            expect_all_taken(program, by, pe);
            expect_order(program, by, pe);
        }
    });
}

/// Leaves out receives that get nothing, which would wait for ever, and messages that nobody receives. What each
/// receive of each PE gets: 1 more than source << 16 | step.
std::vector<std::vector<std::uint32_t>> feed(script& program) {
    const auto n = static_cast<std::uint32_t>(program.steps.size());
    std::vector<std::vector<std::uint32_t>> wanted(n, std::vector<std::uint32_t>(all_steps));
    for (std::uint32_t pe = 0; pe < n; ++pe) {
        program.messages[pe] = 0;
        sequential_matcher model({});
        for (std::uint32_t i = 0; i < all_steps; ++i) {
            const script_step& s = program.steps[pe][i];
            if (s.what == action::receive) (void)model.take({step_kind::post, {s.peer, s.tag}, i});
        }
        each_message(program, pe, [&](std::uint32_t source, std::uint32_t i) {
            script_step& s = program.steps[source][i];
            const auto met = model.take({step_kind::arrive, {source, s.tag}, i});
            if (met.outcome == match_outcome::matched) {
                wanted[pe][met.handle] = (source << 16 | i) + 1;
                ++program.messages[pe];
            } else {
                s.what = action::end;
            }
        });
        for (std::uint32_t i = 0; i < all_steps; ++i) {
            script_step& s = program.steps[pe][i];
            if (s.what == action::receive && wanted[pe][i] == 0) s.what = action::end;
        }
    }
    return wanted;
}

/// A probe finds what a receive posted in its place would get, or nothing as yet; and what one has found the next one
/// finds as well. `wanted`: as from feed.
void expect_probes(const script& program, const std::vector<script_result>& results,
                   const std::vector<std::uint32_t>& wanted, std::uint32_t pe) {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, bool> seen;  // by what is found, and how
    for (std::uint32_t i = 0; i < all_steps; ++i) {
        const script_step& s = program.steps[pe][i];
        if (s.what != action::probe) continue;
        std::uint32_t first = 0;  // of the messages that receives behind the probe get, the one that was sent first
        for (std::uint32_t j = i + 1; j < (i / most_steps + 1) * most_steps; ++j) {
            if (wanted[j] == 0 || program.steps[pe][j].what != action::receive) continue;
            const std::uint32_t source = (wanted[j] - 1) >> 16, step = (wanted[j] - 1) & 0xffff;
            const match_key key{source, program.steps[source][step].tag};
            if (match_key{s.peer, s.tag}.accepts(key) && (first == 0 || wanted[j] < first)) first = wanted[j];
        }
        const script_result& r = results[i];
        bool& before = seen[{first, s.peer, s.tag}];
        EXPECT_TRUE(r.words != 0 || !before) << "probe " << i << " lost what the one before it had found";
        if (r.words == 0) continue;
        EXPECT_NE(first, 0u) << "probe " << i << " found what nobody has sent";
        if (first == 0) continue;
        const script_step& sent = program.steps[(first - 1) >> 16][(first - 1) & 0xffff];
        EXPECT_TRUE(r.source == (first - 1) >> 16 && r.tag == sent.tag && r.words == sent.words) << "probe " << i;
        before = true;
    }
}

/// Without any source there is one outcome, that of matching one after the other.
TEST_P(communicator_random, ProgramsWithoutAnySourceGiveTheOneOutcome) {
    const int pes = runtime(options_of(GetParam(), 0)).n_pes();
    every_round(GetParam(), [pes](const options& o) {
        std::mt19937 random(static_cast<std::uint32_t>(o.seed) + 1000);
        script program = random_script(random, pes, lanes_of(o), wanting::one_lane);
        communicator_options how = small_options(o);
        how.rules.no_any_source = true;
        how.engines = 1u << o.seed % 3;
        const auto wanted = feed(program);
        const auto found = run_on(o, program, how, false);
        for (std::uint32_t pe = 0; pe < program.steps.size(); ++pe) {
            (void)taken_by(program, found[pe], pe);
            for (std::uint32_t i = 0; i < all_steps; ++i) {
                if (wanted[pe][i] == 0) continue;
                const script_result& r = found[pe][i];
                EXPECT_EQ((r.source << 16 | r.sender_step) + 1, wanted[pe][i]) << "receive " << i;
            }
            expect_probes(program, found[pe], wanted[pe], pe);
        }
    });
}

/// Without an order lanes share keys, and each message goes to some receive that asks for it.
TEST_P(communicator_random, ProgramsWithoutAnOrderLoseNothing) {
    const int pes = runtime(options_of(GetParam(), 0)).n_pes();
    every_round(GetParam(), [pes](const options& o) {
        std::mt19937 random(static_cast<std::uint32_t>(o.seed) + 2000);
        script program = random_script(random, pes, lanes_of(o), wanting::one_source);
        communicator_options how = small_options(o);
        how.rules = {.no_any_source = true, .no_any_tag = true, .no_unexpected = false, .allow_overtaking = true};
        how.engines = 1u << o.seed % 3;
        how.unexpected_bytes = o.seed % 2 == 0 ? how.unexpected_bytes : 1024;
        (void)feed(program);
        const auto found = run_on(o, program, how, false);
        for (std::uint32_t pe = 0; pe < program.steps.size(); ++pe) {
            expect_all_taken(program, taken_by(program, found[pe], pe), pe);
        }
    });
}

LANEWAY_ON_DEVICES(communicator_random, communicator_devices());

}  // namespace
}  // namespace laneway::test
