// Random programs of sends and receives by several lanes of each PE, against MPI's rules and a sequential model.
#pragma once

#include <map>
#include <tuple>

#include "communicator_replay.hpp"
#include "unit/sequential_matcher.hpp"

namespace laneway::test {
namespace {

class communicator_random : public testing::TestWithParam<std::string> {};

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

/// A program of two lanes on each of two PEs, written by hand, and an outcome.
struct written_outcome {
    script program{std::vector(2, std::vector<script_step>(all_steps)), {0, 0}, 2};
    results_of_pes results = results_of_pes(2, std::vector<script_result>(2 * all_steps));
    std::uint32_t next[2][2] = {{0, most_steps}, {0, most_steps}};

    /// Each gives the step's number.
    std::uint32_t send(std::uint32_t pe, std::uint32_t lane, std::uint32_t to, std::uint32_t tag) {
        ++program.messages[to];
        return add(pe, lane, {action::send, to, tag, 1});
    }
    std::uint32_t receive(std::uint32_t pe, std::uint32_t lane, const match_key& asked) {
        return add(pe, lane, {action::receive, asked.source, asked.tag, 0});
    }
    void test(std::uint32_t pe, std::uint32_t lane, std::uint32_t receive) {
        results[pe][receive].seen = add(pe, lane, {action::test, 0, 0, 0}) + 1;
    }
    void gets(std::uint32_t pe, std::uint32_t receive, std::uint32_t source, std::uint32_t message) {
        script_result& r = results[pe][receive];
        r.source = source;
        r.tag = program.steps[source][message].tag;
        r.sender_step = message;
        r.words = 1;
    }
    [[nodiscard]] bool is_allowed() const { return outcome_replay(program, results).run().empty(); }

private:
    std::uint32_t add(std::uint32_t pe, std::uint32_t lane, const script_step& what) {
        program.steps[pe][next[pe][lane]] = what;
        return next[pe][lane]++;
    }
};
constexpr match_key whatever{any_source, any_tag};

/// Two messages of one lane or of two, and two receives of one lane or of two, matched as posted and crosswise.
TEST(outcome_replay_test, OnlyWhatOneLaneSendsAndOneLaneReceivesHasAnOrder) {
    for (std::uint32_t lanes = 0; lanes < 4; ++lanes) {
        for (const bool crosswise : {false, true}) {
            written_outcome all;
            const std::uint32_t a = all.send(1, 0, 0, 1), b = all.send(1, lanes % 2, 0, 2);
            const std::uint32_t first = all.receive(0, 0, whatever), second = all.receive(0, lanes / 2, whatever);
            all.gets(0, first, 1, crosswise ? b : a);
            EXPECT_FALSE(all.is_allowed()) << "a message is lost";
            all.gets(0, second, 1, crosswise ? a : b);
            EXPECT_EQ(all.is_allowed(), !crosswise || lanes != 0) << "lanes " << lanes;
        }
    }
}

TEST(outcome_replay_test, AReceiveLeavesWhatItDoesNotAskFor) {
    for (const match_key& asked : {match_key{1, 2}, match_key{any_source, 2}, match_key{1, any_tag}}) {
        written_outcome all;
        const std::uint32_t a = all.send(1, 0, 0, 1), b = all.send(1, 0, 0, 2);
        const std::uint32_t first = all.receive(0, 0, asked), second = all.receive(0, 0, whatever);
        all.gets(0, first, 1, b);
        all.gets(0, second, 1, a);
        EXPECT_EQ(all.is_allowed(), asked.tag != any_tag);
    }
}

/// A receive that is taken back at the lane's end had a right to what a later one got, if a test has seen that before.
TEST(outcome_replay_test, AReceiveThatGoesOnHasItsRight) {
    for (const bool seen : {false, true}) {
        written_outcome all;
        const std::uint32_t message = all.send(1, 0, 0, 1);
        (void)all.receive(0, 0, whatever);
        const std::uint32_t second = all.receive(0, 0, whatever);
        if (seen) all.test(0, 0, second);
        all.gets(0, second, 1, message);
        EXPECT_EQ(all.is_allowed(), !seen);
    }
}

/// Each pair of messages and of receives is in order, but each match would have to be before the next one, in a circle.
TEST(outcome_replay_test, LanesDoNotOvertakeEachOtherInACircle) {
    for (const bool circle : {false, true}) {
        written_outcome all;
        const std::uint32_t a = all.send(1, 0, 0, 1), b = all.send(1, 0, 0, 1);
        const std::uint32_t c = all.send(1, 1, 0, 1), d = all.send(1, 1, 0, 1);
        std::uint32_t receives[4];
        for (std::uint32_t i = 0; i < 4; ++i) receives[i] = all.receive(0, i / 2, whatever);
        const std::uint32_t crossed[] = {d, a, b, c}, straight[] = {c, a, b, d};
        for (std::uint32_t i = 0; i < 4; ++i) all.gets(0, receives[i], 1, (circle ? crossed : straight)[i]);
        EXPECT_EQ(all.is_allowed(), !circle);
    }
}

/// What a lane sends behind a test comes behind what the test has seen, also by way of another PE.
TEST(outcome_replay_test, NothingIsReceivedBeforeItIsSent) {
    for (const bool seen : {false, true}) {
        written_outcome all;
        const std::uint32_t from_1 = all.receive(0, 0, {1, 1}), from_0 = all.receive(1, 0, {0, 1});
        all.test(0, 0, from_1);
        if (seen) all.test(1, 0, from_0);
        all.gets(1, from_0, 0, all.send(0, 0, 1, 1));
        all.gets(0, from_1, 1, all.send(1, 0, 0, 1));
        EXPECT_EQ(all.is_allowed(), !seen);
    }
}

/// So many lanes take part, another number in each round.
std::uint32_t lanes_of(const options& o) { return 1 + static_cast<std::uint32_t>(o.seed) % most_lanes; }

/// A probe finds a message that waits: none that an earlier receive of its lane had a right to, nor one behind another
/// of the same lane that surely waits as well.
void expect_probes_allowed(const script& program, const std::vector<script_result>& results, const takers& by,
                           std::uint32_t pe) {
    const auto is_before = [](int receive, std::uint32_t probe) {  // in the probe's lane
        return receive >= 0 && receive < static_cast<int>(probe) &&
               lane_of(static_cast<std::uint32_t>(receive)) == lane_of(probe);
    };
    const auto is_behind = [](int receive, std::uint32_t probe) {
        const auto at = static_cast<std::uint32_t>(receive);
        return receive < 0 || at >= all_steps || (at > probe && lane_of(at) == lane_of(probe));
    };
    for (std::uint32_t i = 0; i < all_steps; ++i) {
        const script_step& s = program.steps[pe][i];
        const script_result& r = results[i];
        if (s.what != action::probe || r.words == 0) continue;
        const match_key asked{s.peer, s.tag}, found{r.source, r.tag};
        EXPECT_TRUE(asked.accepts(found)) << "probe " << i;
        for (std::uint32_t j = i / most_steps * most_steps; j < i; ++j) {
            if (program.steps[pe][j].what != action::receive || results[j].cancelled == 0) continue;
            EXPECT_FALSE(asked_by(program, results, pe, j).accepts(found)) << "probe " << i << ", receive " << j;
        }
        bool possible = false;
        for (std::uint32_t m = 0; m < all_steps; ++m) {
            const script_step& sent = program.steps[r.source][m];
            if (sent.what != action::send || sent.peer != pe || sent.tag != r.tag || sent.words != r.words) continue;
            bool first = !is_before(by[r.source][m], i);
            for (std::uint32_t k = m / most_steps * most_steps; k < m; ++k) {
                const script_step& before = program.steps[r.source][k];
                const bool suits =
                    before.what == action::send && before.peer == pe && asked.accepts({r.source, before.tag});
                first = first && !(suits && is_behind(by[r.source][k], i));
            }
            possible = possible || first;
        }
        EXPECT_TRUE(possible) << "probe " << i << " of PE " << pe << " found what cannot have waited";
    }
}

/// Under the promises of rules_of, with several engines where they allow it.
TEST_P(communicator_random, ProgramsWithWildcardsHaveAnOutcomeThatIsAllowed) {
    const int pes = runtime(options_of(GetParam(), 0)).n_pes();
    every_round(GetParam(), [pes](const options& o) {
        std::mt19937 random(static_cast<std::uint32_t>(o.seed));
        match_rules rules = rules_of(o);
        rules.no_any_source = rules.no_any_tag || o.seed % 8 == 5;  // in half of the rounds any source may be asked for
        rules.allow_overtaking = false;
        const script program = random_script(random, pes, lanes_of(o), wanting::anything, rules);
        communicator_options how = small_options(o);
        how.engines = engines_of(rules);
        const auto found = run_on(o, program, how, true);
        for (std::uint32_t pe = 0; pe < program.steps.size(); ++pe) {
            const takers by = taken_by(program, found[pe], pe);
            expect_probes_allowed(program, found[pe], by, pe);
        }
        EXPECT_EQ(outcome_replay(program, found).run(), "");
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
        const match_rules rules{.no_any_source = true, .no_any_tag = o.seed % 4 == 3};
        script program = random_script(random, pes, lanes_of(o), wanting::one_lane, rules);
        communicator_options how = small_options(o);
        how.engines = 1u << o.seed % 4;
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
        const match_rules rules{.no_any_source = true, .no_any_tag = true, .allow_overtaking = true};
        script program = random_script(random, pes, lanes_of(o), wanting::one_source, rules);
        communicator_options how = small_options(o);
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
