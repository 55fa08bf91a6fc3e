// Random programs in which lanes, warps or blocks wait for each message before they go on, against MPI's rules.
#pragma once

#include "communicator_replay.hpp"

namespace laneway::test {
namespace {

class communicator_blocking : public testing::TestWithParam<std::string> {};

/// Makes a program by doing it: of all lanes one at a time goes a step further, so the messages that a receive may get
/// have been sent before. A receive waits only where, of those, fewer can go to other receives than there are. All that
/// take such a message are of the same lane, which its tag names, and earlier; so nobody waits in vain, whatever others
/// receive by wildcards.
class blocking_script {
public:
    blocking_script(std::mt19937& random, std::uint32_t pes, std::uint32_t n_lanes, const match_rules& rules)
        : random_(random), sent_(pes), posted_(pes, std::vector<std::vector<match_key>>(n_lanes)) {
        made_.n_lanes = n_lanes;
        made_.rules = rules;
        made_.messages.resize(pes);
        made_.steps.assign(pes, std::vector<script_step>(all_steps));
    }

    script make() {
        const auto pes = static_cast<std::uint32_t>(sent_.size());
        std::vector<std::uint32_t> next(pes * made_.n_lanes);
        for (std::uint32_t left = pes * made_.n_lanes * most_steps; left > 0; --left) {
            std::uint32_t who = below(pes * made_.n_lanes);
            while (next[who] == most_steps) who = (who + 1) % (pes * made_.n_lanes);
            const std::uint32_t pe = who / made_.n_lanes, lane = who % made_.n_lanes;
            made_.steps[pe][lane * most_steps + next[who]++] = a_step(pe, lane);
        }
        return made_;
    }

private:
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
    script_step a_step(std::uint32_t pe, std::uint32_t lane) {
        const std::uint32_t kind = below(16);
        if (kind < 2) return {kind == 0 ? action::test : action::probe, below(pes()), a_tag(lane)};
        const match_key asked = a_receive(lane);
        const bool waits = kind > 3;
        if (kind < 10 && (!waits || may_wait(pe, lane, asked))) {
            posted_[pe][lane].push_back(asked);
            return {action::receive, asked.source, asked.tag, 0, waits};
        }
        script_step send{action::send, below(pes()), a_tag(below(made_.n_lanes))};
        send.words = 1 + (below(2) == 0 ? below(8) : below(longest));
        send.waits = send.words <= 8 && below(2) == 0;  // its receive may be behind what the lane sends next
        sent_[send.peer].push_back({pe, send.tag});
        ++made_.messages[send.peer];
        return send;
    }
    /// Of a message to this lane.
    std::uint32_t a_tag(std::uint32_t lane) { return below(script_tags) * made_.n_lanes + lane; }
    match_key a_receive(std::uint32_t lane) {
        const bool from_any = !made_.rules.no_any_source && below(4) == 0;
        const bool with_any = !made_.rules.no_any_tag && made_.n_lanes == 1 && below(4) == 0;
        return {from_any ? any_source : below(pes()), with_any ? any_tag : a_tag(lane)};
    }
    [[nodiscard]] bool may_wait(std::uint32_t pe, std::uint32_t lane, const match_key& asked) const {
        const auto overlap = [](std::uint32_t a, std::uint32_t b, std::uint32_t any) {
            return a == b || a == any || b == any;
        };
        const auto come = std::count_if(sent_[pe].begin(), sent_[pe].end(),
                                        [&](const match_key& message) { return asked.accepts(message); });
        const auto others = std::count_if(posted_[pe][lane].begin(), posted_[pe][lane].end(), [&](const match_key& r) {
            return overlap(r.source, asked.source, any_source) && overlap(r.tag, asked.tag, any_tag);
        });
        return come > others;
    }
    [[nodiscard]] std::uint32_t pes() const { return static_cast<std::uint32_t>(sent_.size()); }

    std::mt19937& random_;
    script made_;
    std::vector<std::vector<match_key>> sent_;                 ///< to each PE
    std::vector<std::vector<std::vector<match_key>>> posted_;  ///< by each lane of each
};

void expect_allowed_outcomes(const std::string& devices, width by) {
    const auto pes = static_cast<std::uint32_t>(runtime(options_of(devices, 0)).n_pes());
    every_round(devices, [&](options o) {
        std::mt19937 random(static_cast<std::uint32_t>(o.seed) + 3000 + 1000 * static_cast<std::uint32_t>(by));
        match_rules rules = rules_of(o);
        rules.allow_overtaking = false;
        o.checked_blocks = o.gpu_blocks = 4;
        if (is_checked(devices)) o.timeout_seconds = 4;  // what is left is looked for tag by tag, a turn each
        const std::uint32_t most = by == width::block ? 2 : most_lanes;
        const script program =
            blocking_script(random, pes, 1 + static_cast<std::uint32_t>(o.seed) / 4 % most, rules).make();
        communicator_options how = small_options(o);
        how.engines = engines_of(rules);
        how.unexpected = 512;  // what waits for a later receive keeps nobody up
        const auto found = run_on(o, program, how, true, by);
        for (std::uint32_t pe = 0; pe < pes; ++pe) (void)taken_by(program, found[pe], pe);
        EXPECT_EQ(outcome_replay(program, found).run(), "");
    });
}

TEST_P(communicator_blocking, LanesThatWaitForEachMessageHaveAnOutcomeThatIsAllowed) {
    expect_allowed_outcomes(GetParam(), width::lane);
}
TEST_P(communicator_blocking, WarpsThatWaitForEachMessageHaveAnOutcomeThatIsAllowed) {
    expect_allowed_outcomes(GetParam(), width::warp);
}
TEST_P(communicator_blocking, BlocksThatWaitForEachMessageHaveAnOutcomeThatIsAllowed) {
    expect_allowed_outcomes(GetParam(), width::block);
}

LANEWAY_ON_DEVICES(communicator_blocking, communicator_devices());

}  // namespace
}  // namespace laneway::test
