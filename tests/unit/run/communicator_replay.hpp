// What came of a random program, replayed one step and one match after the other as MPI allows.
#pragma once

#include "communicator_script.hpp"

namespace laneway::test {
namespace {

using takers = std::vector<std::vector<int>>;  ///< by sender and its step: which receive of a PE got the message

constexpr std::uint32_t lane_of(std::uint32_t step) { return step / most_steps; }

/// What a receive of a PE asks for; behind the steps: one of what was left.
match_key asked_by(const script& program, const std::vector<script_result>& results, std::uint32_t pe,
                   std::uint32_t receive) {
    if (receive < all_steps) return {program.steps[pe][receive].peer, program.steps[pe][receive].tag};
    const script_result& got = results[receive];
    return {program.rules.no_any_source ? got.source : any_source, program.rules.no_any_tag ? got.tag : any_tag};
}

/// Which receive of a PE got each message; -1: none. Checks contents and that nothing came twice.
takers taken_by(const script& program, const std::vector<script_result>& results, std::uint32_t pe) {
    takers by(program.steps.size(), std::vector<int>(all_steps, -1));
    for (std::uint32_t i = 0; i < all_steps + static_cast<std::uint32_t>(program.messages[pe]); ++i) {
        const script_result& r = results[i];
        if (r.words == 0 || (i < all_steps && program.steps[pe][i].what != action::receive)) continue;
        EXPECT_EQ(r.wrong, 0u) << "words of a message";
        const script_step& sent = program.steps[r.source][r.sender_step];
        EXPECT_TRUE(sent.what == action::send && sent.peer == pe && sent.tag == r.tag && sent.words == r.words);
        EXPECT_TRUE(asked_by(program, results, pe, i).accepts({r.source, r.tag})) << "receive " << i;
        int& taker = by[r.source][r.sender_step];
        EXPECT_EQ(taker, -1) << "received twice";
        taker = static_cast<int>(i);
    }
    return by;
}

/// Replays what all PEs did, one thing after the other. Of a lane's steps each has its turn: a message is sent, a
/// receive is posted, and matched where the lane waits for it; a test that found a receive over waits for its match, as
/// does the end of the lane for each receive it waited for, and there others are taken back, in order. A receive and
/// the message that it got are matched as soon as both are there and MPI lets them: no receive of the same lane that
/// was posted before and goes on takes the message, and no message that the same lane sent before and that waits suits
/// the receive.
///
/// What different lanes of a PE post, or send, has no order in MPI, and needs none here. Nothing that is done forbids
/// what was allowed before, so the order of doing does not matter, and an outcome is allowed exactly when nothing is
/// left.
class outcome_replay {
public:
    outcome_replay(const script& program, const std::vector<std::vector<script_result>>& results)
        : program_(program), results_(results), pes_(program.steps.size()) {
        for (std::size_t pe = 0; pe < pes_.size(); ++pe) {
            pes_[pe].next.assign(program.n_lanes, 0);
            pes_[pe].sent.assign(all_steps, state::none);
            pes_[pe].receives.assign(all_steps + program.messages[pe], state::none);
        }
    }

    /// Does all that can be done, and says what cannot; nothing where the outcome is allowed.
    std::string run() {
        for (bool worked = true; worked;) {
            worked = false;
            for (std::uint32_t pe = 0; pe < pes_.size(); ++pe) {
                for (std::uint32_t lane = 0; lane < program_.n_lanes; ++lane) {
                    while (step(pe, lane)) worked = true;
                }
                for (std::uint32_t i = 0; i < pes_[pe].receives.size(); ++i) worked |= match(pe, i);
            }
        }
        return what_is_left();
    }

private:
    /// Of a message that has been sent, or a receive that has been posted: it waits, or is over.
    enum class state : std::uint8_t { none, waits, over };
    struct pe_state {
        std::vector<std::uint32_t> next;  ///< by lane: steps done; then, from most_steps on, receives at its end
        std::vector<state> sent, receives;
        std::uint32_t rest = 0;  ///< receives of what was left that are over
    };

    [[nodiscard]] bool gets(std::uint32_t pe, std::uint32_t receive) const { return results_[pe][receive].words != 0; }
    [[nodiscard]] match_key asked(std::uint32_t pe, std::uint32_t receive) const {
        return asked_by(program_, results_[pe], pe, receive);
    }

    /// One more thing by a lane, if it can go on.
    bool step(std::uint32_t pe, std::uint32_t lane) {
        pe_state& mine = pes_[pe];
        if (mine.next[lane] >= 2 * most_steps) return lane == 0 && receive_rest(pe);
        const bool ends = mine.next[lane] >= most_steps;
        const std::uint32_t at = lane * most_steps + mine.next[lane] % most_steps;
        const bool receives = program_.steps[pe][at].what == action::receive;
        if (ends && receives && gets(pe, at) && mine.receives[at] != state::over) return false;
        if (ends && receives) mine.receives[at] = state::over;  // taken back, if nothing came
        if (!ends && !begin(pe, at)) return false;
        ++mine.next[lane];
        return true;
    }
    bool begin(std::uint32_t pe, std::uint32_t at) {
        pe_state& mine = pes_[pe];
        switch (program_.steps[pe][at].what) {
            case action::send: mine.sent[at] = state::waits; return true;
            case action::receive:
                if (mine.receives[at] == state::none) mine.receives[at] = state::waits;
                return !program_.steps[pe][at].waits || mine.receives[at] == state::over;
            case action::test: break;
            default: return true;
        }
        for (std::uint32_t i = lane_of(at) * most_steps; i < at; ++i) {
            if (results_[pe][i].seen == at + 1 && mine.receives[i] != state::over) return false;
        }
        return true;
    }
    /// Posts the next receive of what was left, when all lanes have come to their end and the one before is over.
    bool receive_rest(std::uint32_t pe) {
        pe_state& mine = pes_[pe];
        for (const std::uint32_t done : mine.next) {
            if (done < 2 * most_steps) return false;
        }
        const std::uint32_t at = all_steps + mine.rest;
        if (at >= mine.receives.size() || !gets(pe, at)) return false;
        if (mine.receives[at] == state::over) ++mine.rest;
        if (mine.receives[at] != state::none) return mine.receives[at] == state::over;
        mine.receives[at] = state::waits;
        return true;
    }

    /// Gives a receive the message that it got, if that is allowed now.
    bool match(std::uint32_t pe, std::uint32_t receive) {
        state& mine = pes_[pe].receives[receive];
        if (mine != state::waits || !gets(pe, receive)) return false;
        const script_result& got = results_[pe][receive];
        state& message = pes_[got.source].sent[got.sender_step];
        if (message != state::waits || is_behind(pe, receive, {got.source, got.tag}) || overtakes(pe, receive))
            return false;
        mine = message = state::over;
        return true;
    }
    /// Whether a receive of the same lane that was posted before takes this message.
    [[nodiscard]] bool is_behind(std::uint32_t pe, std::uint32_t receive, const match_key& message) const {
        if (receive >= all_steps) return false;
        for (std::uint32_t i = lane_of(receive) * most_steps; i < receive; ++i) {
            if (pes_[pe].receives[i] == state::waits && asked(pe, i).accepts(message)) return true;
        }
        return false;
    }
    /// Whether a message that the same lane sent before suits the receive as well.
    [[nodiscard]] bool overtakes(std::uint32_t pe, std::uint32_t receive) const {
        const script_result& got = results_[pe][receive];
        for (std::uint32_t i = lane_of(got.sender_step) * most_steps; i < got.sender_step; ++i) {
            const script_step& before = program_.steps[got.source][i];
            if (pes_[got.source].sent[i] == state::waits && before.peer == pe &&
                asked(pe, receive).accepts({got.source, before.tag}))
                return true;
        }
        return false;
    }

    [[nodiscard]] std::string what_is_left() const {
        std::string left;
        for (std::uint32_t pe = 0; pe < pes_.size(); ++pe) {
            const std::string of = " of PE " + std::to_string(pe);
            for (std::uint32_t i = 0; i < pes_[pe].receives.size(); ++i) {
                if (pes_[pe].receives[i] != state::waits || !gets(pe, i)) continue;
                const script_result& got = results_[pe][i];
                left += "receive " + std::to_string(i) + of + " may not have got message " +
                        std::to_string(got.sender_step) + " of PE " + std::to_string(got.source) + "; ";
            }
            for (std::uint32_t i = 0; i < all_steps; ++i) {
                if (program_.steps[pe][i].what == action::send && pes_[pe].sent[i] != state::over)
                    left += "message " + std::to_string(i) + of + " was not received; ";
            }
        }
        return left;
    }

    const script& program_;
    const std::vector<std::vector<script_result>>& results_;
    std::vector<pe_state> pes_;
};

}  // namespace
}  // namespace laneway::test
