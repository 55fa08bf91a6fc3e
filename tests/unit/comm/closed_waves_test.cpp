// The rule where served work creates none: one look that finds nobody busy concludes, any other does not.
#include <gtest/gtest.h>

#include "laneway/comm/mailbox.hpp"
#include "unit/warp_threads.hpp"

namespace laneway {
namespace {

/// Tells what a script says, look by look.
struct scripted_ledger {
    static constexpr bool closed = true;
    std::vector<wave_reply>& script;
    std::size_t& looks;

    bool at_rest(cpu::context&) const { return true; }
    wave_reply look(cpu::context&) {
        ++looks;
        const wave_reply next = script.front();
        if (script.size() > 1) script.erase(script.begin());
        return next;
    }
    void apply(cpu::context&, std::uint64_t) {}
};

constexpr std::size_t office_words = proven_words<wave_reply>;

/// What one PE alone concludes from a script: whether the run was ended, and after how many looks.
struct conclusions {
    std::size_t looks = 0;
    std::uint32_t finished = 0;

    explicit conclusions(std::vector<wave_reply> script) {
        const test::lone_environment environment(0, 1, 10);
        cpu::context lane(environment.get(), 0, 1, nullptr);
        const std::uint64_t words[office_words] = {};  // of other PEs, of which there are none
        const std::uint64_t* const reply = words;
        waves_ref waves;
        waves.replies = &reply;
        waves.command = words;
        waves.finished = &finished;
        const std::size_t turns = 2 * script.size() + 2;
        wave_control<cpu::context, scripted_ledger> control(lane, waves, {script, looks});
        for (std::size_t i = 0; i < turns && finished == 0; ++i) control.turn(lane);
    }
};

TEST(closed_waves_test, OneLookThatFindsNobodyBusyAndAllServedEndsTheRun) {
    //                    created, completed, deferred, busy
    const conclusions found({{6, 3, 0, 1}, {6, 5, 0, 0}, {6, 6, 0, 0}, {6, 6, 0, 0}});
    EXPECT_EQ(found.finished, 1u);
    EXPECT_EQ(found.looks, 3u);
}

TEST(closed_waves_test, EqualSumsOfABusyPeMeanNothing) {
    const conclusions found({{5, 3, 0, 1}, {5, 5, 0, 1}, {9, 8, 0, 0}});
    EXPECT_EQ(found.finished, 0u);
}

/// A lane's context, where the last functor posts a message and returns just before this lane sees that it has.
class overtaken_context : public cpu::context {
public:
    overtaken_context(const cpu::context& lane, work_counters& work, link_counters& sent)
        : cpu::context(lane), work_(work), sent_(sent) {}

    std::uint64_t load(const std::uint64_t* at, order o, scope s) {
        if (at == &work_.completed) {
            sent_.messages = 1;
            work_.completed = 1;
        }
        return cpu::context::load(at, o, s);
    }

private:
    work_counters& work_;
    link_counters& sent_;
};

struct ignore_word {
    template <class Ctx>
    void operator()(Ctx&, const std::uint64_t&) const {}
};

TEST(closed_waves_test, WhatAPeHasCreatedIsReadAfterItsFunctorsAreSeenToHaveReturned) {
    const test::lone_environment environment(0, 1, 10);
    work_counters work;
    link_counters sent;
    links_ref links;
    links.work = &work;
    links.sent = &sent;
    overtaken_context lane(cpu::context(environment.get(), 0, 1, nullptr), work, sent);
    using list = route_list<routes<route<std::uint64_t, ignore_word>>>;
    message_ledger<overtaken_context, list> ledger{links, 1};
    static_assert(decltype(ledger)::closed);
    const wave_reply seen = ledger.look(lane);
    EXPECT_EQ(seen.busy, 0u);
    EXPECT_EQ(seen.completed, 1u);
    EXPECT_EQ(seen.created, 2u) << "the functor and its message";
}

}  // namespace
}  // namespace laneway
