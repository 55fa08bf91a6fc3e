// Random programs of sends and receives, with wildcards, tests and receives that are taken back, against MPI's rules.
#pragma once

#include <random>

#include "communicator_job.hpp"
#include "unit/sequential_matcher.hpp"

namespace laneway::test {
namespace {

class communicator_random : public testing::TestWithParam<std::string> {};

constexpr std::uint32_t longest = 96;  // words of a message
constexpr std::uint32_t most_steps = 48;

enum class action : std::uint32_t { send, receive, test, probe, end };
struct script_step {
    action what = action::end;
    std::uint32_t peer = 0;
    std::uint32_t tag = 0;
    std::uint32_t words = 0;
};
/// What a receive got.
struct script_result {
    std::uint32_t source = 0, tag = 0, sender_step = 0, cancelled = 0, words = 0;
    std::uint32_t wrong = 0;
};

/// One lane of each PE does the PE's steps, then takes back what it has not got, receives what is left, and waits.
struct run_script {
    symmetric_ref<script_step> steps;
    symmetric_ref<script_result> results;  ///< of receives by step, then of what was left
    symmetric_ref<std::uint64_t> from, to;
    symmetric_ref<std::uint64_t> rest;  ///< messages to this PE
    bool takes_back;

    template <class Ctx, class World>
    LANEWAY_FN void operator()(Ctx& ctx, World& world) const {
        const std::uint64_t lanes = ctx.size() / static_cast<unsigned>(ctx.n_pes());
        if (ctx.rank() % lanes != 0) return;
        message_request requests[most_steps];
        std::uint32_t open = 0;
        for (std::uint32_t i = 0; i < most_steps; ++i) {
            if (!step(ctx, world, i, requests, open)) return;
        }
        std::uint64_t left = rest.local(ctx)[0];
        for (std::uint32_t i = 0; i < most_steps; ++i) {
            const script_step now = steps.local(ctx)[i];
            if (now.what != action::receive) continue;
            if (takes_back && !requests[i].is_null() && world.cancel(ctx, requests[i]) != status::ok) return;
            message_status got;
            if (!requests[i].is_null()) {
                if (world.wait(ctx, requests[i], &got) != status::ok) return;
                note(ctx, i, i, got);
            }
            left -= results.local(ctx)[i].cancelled != 0 ? 0 : 1;
        }
        for (std::uint32_t i = most_steps; left > 0; ++i, --left) {
            message_status got;
            if (world.recv(ctx, to[0], longest, any_source, any_tag, &got) != status::ok) return;
            note(ctx, i, 0, got);
        }
        for (std::uint32_t i = 0; i < most_steps; ++i) {
            const script_step now = steps.local(ctx)[i];
            if (now.what == action::send && world.wait(ctx, requests[i]) != status::ok) return;
        }
    }

private:
    template <class Ctx, class World>
    LANEWAY_FN bool step(Ctx& ctx, World& world, std::uint32_t i, message_request* requests,
                         std::uint32_t& open) const {
        const script_step now = steps.local(ctx)[i];
        const std::int64_t peer = now.peer, tag = now.tag;
        switch (now.what) {
            case action::send: {
                const auto me = static_cast<std::uint64_t>(ctx.pe());
                for (std::uint32_t w = 0; w < now.words; ++w) from.local(ctx)[i * longest + w] = me << 32 | i << 16 | w;
                return world.isend(ctx, from[i * longest], now.words, peer, tag, requests[i]) == status::ok;
            }
            case action::receive:
                open = i;
                return world.irecv(ctx, to[i * longest], longest, peer, tag, requests[i]) == status::ok;
            case action::test: {
                bool over = false;
                message_status got;
                const bool had = !requests[open].is_null();
                const script_step tested = steps.local(ctx)[open];
                if (tested.what != action::receive || !had) return true;
                if (world.test(ctx, requests[open], over, &got) != status::ok) return false;
                if (over) note(ctx, open, open, got);
                return true;
            }
            case action::probe: {
                bool found = false;
                message_status what;
                return world.iprobe(ctx, peer, tag, found, what) == status::ok;
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
};

/// `any`: whether receives name any source.
script random_script(std::mt19937& random, int pes, bool any) {
    script made;
    made.messages.resize(static_cast<std::size_t>(pes));
    made.steps.resize(static_cast<std::size_t>(pes), std::vector<script_step>(most_steps));
    const std::uint32_t n = static_cast<std::uint32_t>(pes);
    for (std::uint32_t pe = 0; pe < n; ++pe) {
        for (std::uint32_t i = 0; i < most_steps; ++i) {
            script_step& s = made.steps[pe][i];
            const auto kind = random() % 8;
            s.peer = static_cast<std::uint32_t>(random() % n);
            s.tag = static_cast<std::uint32_t>(random() % 3);
            if (kind < 3 && i < most_steps / 2 + 8) {
                s.what = action::send;
                s.words = 1 + static_cast<std::uint32_t>(random() % longest / (1 + random() % 8));
                ++made.messages[s.peer];
            } else if (kind < 5) {
                s.what = action::receive;
                if (any && random() % 3 == 0) s.peer = any_source;
                if (random() % 3 == 0) s.tag = any_tag;
            } else {
                s.what = kind == 5 ? action::probe : action::test;
            }
        }
    }
    return made;
}

struct outcome_of_script {
    std::vector<std::vector<script_result>> results;
};

outcome_of_script run_on(const options& o, const script& program, const communicator_options& how, bool takes_back) {
    runtime rt(o);
    auto steps = rt.allocate<script_step>(most_steps);
    const auto results = rt.allocate<script_result>(most_steps * 8);
    const auto from = rt.allocate<std::uint64_t>(most_steps * longest),
               to = rt.allocate<std::uint64_t>(most_steps * longest);
    auto rest = rt.allocate<std::uint64_t>(1);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        steps.copy_in(pe, program.steps[static_cast<std::size_t>(pe)]);
        rest.copy_in(pe, {program.messages[static_cast<std::size_t>(pe)]});
    }
    auto world = rt.communicator(how);
    rt.run(run_script{steps.ref(), results.ref(), from.ref(), to.ref(), rest.ref(), takes_back}, world);
    EXPECT_TRUE(world.pending().empty()) << world.account();
    outcome_of_script all;
    for (int pe = 0; pe < rt.n_pes(); ++pe) all.results.push_back(results.copy_out(pe));
    return all;
}

/// Which receive of a PE got each message, by sender and its step; -1: none. Checks contents and that nothing came
/// twice.
std::vector<std::vector<int>> taken_by(const script& program, const std::vector<script_result>& results,
                                       std::uint32_t pe) {
    std::vector<std::vector<int>> by(program.steps.size(), std::vector<int>(most_steps, -1));
    const auto receives = most_steps + static_cast<std::uint32_t>(program.messages[pe]);
    for (std::uint32_t i = 0; i < receives; ++i) {
        const script_result& r = results[i];
        if (r.words == 0 || (i < most_steps && program.steps[pe][i].what != action::receive)) continue;
        EXPECT_EQ(r.wrong, 0u) << "words of a message";
        const script_step& sent = program.steps[r.source][r.sender_step];
        EXPECT_TRUE(sent.what == action::send && sent.peer == pe && sent.tag == r.tag && sent.words == r.words);
        int& taker = by[r.source][r.sender_step];
        EXPECT_EQ(taker, -1) << "received twice";
        taker = static_cast<int>(i);
    }
    return by;
}

/// MPI's order, pair by pair: of two messages of one PE that both of two receives take, the first goes to the first.
void expect_order(const script& program, const std::vector<std::vector<int>>& by, std::uint32_t pe) {
    const auto accepts = [&](int receive, std::uint32_t source, std::uint32_t tag) {
        if (receive >= static_cast<int>(most_steps)) return true;
        const script_step& s = program.steps[pe][static_cast<std::size_t>(receive)];
        return match_key{s.peer, s.tag}.accepts({source, tag});
    };
    for (std::uint32_t source = 0; source < by.size(); ++source) {
        for (std::uint32_t first = 0; first < most_steps; ++first) {
            const script_step& a = program.steps[source][first];
            if (a.what != action::send || a.peer != pe) continue;
            EXPECT_GE(by[source][first], 0) << "message " << first << " of PE " << source << " was lost";
            for (std::uint32_t second = first + 1; second < most_steps; ++second) {
                const script_step& b = program.steps[source][second];
                if (b.what != action::send || b.peer != pe) continue;
                const int of_first = by[source][first], of_second = by[source][second];
                const bool overtook = of_second < of_first && accepts(of_second, source, a.tag);
                EXPECT_FALSE(overtook) << "message " << second << " of PE " << source << " overtook " << first;
            }
        }
    }
}

TEST_P(communicator_random, ProgramsWithWildcardsKeepTheOrder) {
    every_round(GetParam(), [](const options& o) {
        std::mt19937 random(static_cast<std::uint32_t>(o.seed));
        const int pes = runtime(o).n_pes();
        const script program = random_script(random, pes, true);
        const auto found = run_on(o, program, small_options(o), true);
        for (std::uint32_t pe = 0; pe < program.steps.size(); ++pe) {
            expect_order(program, taken_by(program, found.results[pe], pe), pe);
        }
    });
}

/// Without any source there is one outcome, that of matching one after the other.
TEST_P(communicator_random, ProgramsWithoutAnySourceGiveTheOneOutcome) {
    every_round(GetParam(), [](const options& o) {
        std::mt19937 random(static_cast<std::uint32_t>(o.seed) + 1000);
        const int pes = runtime(o).n_pes();
        const script program = random_script(random, pes, false);
        communicator_options how = small_options(o);
        how.rules.no_any_source = true;
        how.engines = 1u << o.seed % 3;
        how.unexpected = 128;
        // Receives that get nothing wait for what never comes: only those are compared that the model matches.
        const auto n = static_cast<std::uint32_t>(pes);
        script fed = program;
        for (std::uint32_t pe = 0; pe < n; ++pe) fed.messages[pe] = 0;
        std::vector<std::vector<int>> wanted(n, std::vector<int>(most_steps, -1));
        for (std::uint32_t pe = 0; pe < n; ++pe) {
            sequential_matcher model({});
            for (std::uint32_t i = 0; i < most_steps; ++i) {
                const script_step& s = program.steps[pe][i];
                if (s.what == action::receive) (void)model.take({step_kind::post, {s.peer, s.tag}, i});
            }
            for (std::uint32_t source = 0; source < n; ++source) {
                for (std::uint32_t i = 0; i < most_steps; ++i) {
                    const script_step& s = program.steps[source][i];
                    if (s.what != action::send || s.peer != pe) continue;
                    const auto met = model.take({step_kind::arrive, {source, s.tag}, source << 16 | i});
                    if (met.outcome == match_outcome::matched) {
                        wanted[pe][met.handle] = static_cast<int>(source << 16 | i);
                        ++fed.messages[pe];
                    } else {
                        fed.steps[source][i].what = action::end;  // nobody would receive it
                    }
                }
            }
            for (std::uint32_t i = 0; i < most_steps; ++i) {
                if (program.steps[pe][i].what == action::receive && wanted[pe][i] < 0)
                    fed.steps[pe][i].what = action::end;
            }
        }
        const auto found = run_on(o, fed, how, false);
        for (std::uint32_t pe = 0; pe < n; ++pe) {
            (void)taken_by(fed, found.results[pe], pe);
            for (std::uint32_t i = 0; i < most_steps; ++i) {
                if (wanted[pe][i] < 0) continue;
                const script_result& r = found.results[pe][i];
                EXPECT_EQ(static_cast<int>(r.source << 16 | r.sender_step), wanted[pe][i]) << "receive " << i;
            }
        }
    });
}

LANEWAY_ON_DEVICES(communicator_random, communicator_devices());

}  // namespace
}  // namespace laneway::test
