// Timelines of runs: what PEs write down is true to what they did, and nobody writes anything where nobody asked.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "laneway/base/timeline.hpp"
#include "laneway/runtime.hpp"
#include "unit/sums.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

struct word {
    std::uint64_t value;
};
struct add_word {
    symmetric_ref<std::uint64_t> sum;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const word& w) const {
        atomic_add(ctx, sum[0], w.value);
    }
};
struct timed_question {
    std::uint64_t value;
};
/// Its answer is a message to the poster.
struct reply_word {
    using answer = word;
    template <class Ctx>
    LANEWAY_FN word operator()(Ctx&, const timed_question& q) const {
        return {q.value};
    }
};

/// Lanes post words and questions to all PEs, and meet behind them.
struct post_and_meet {
    std::uint32_t messages;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        for (std::uint32_t i = 0; i < messages; ++i) {
            const int pe = static_cast<int>((ctx.rank() + i) % static_cast<unsigned>(ctx.n_pes()));
            const status posted = i % 3 == 0 ? box.post(ctx, pe, timed_question{1}) : box.post(ctx, pe, word{1});
            if (posted != status::ok) return;
        }
        (void)box.barrier(ctx);
    }
};

/// Lanes of the last PE come to the barrier late.
struct come_late {
    std::uint64_t late_ns;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box) const {
        const std::uint64_t start = ctx.now_ns();
        while (ctx.pe() == ctx.n_pes() - 1 && ctx.now_ns() < start + late_ns && !stopped(ctx)) ctx.pause();
        (void)box.barrier(ctx);
    }
};

/// One lane of PE 0 waits for what never comes.
struct wait_in_vain {
    symmetric_ref<std::uint64_t> words;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.rank() != 0) return;
        (void)wait_until(ctx, {operation::signal, -1, 7}, [&] { return atomic_add(ctx, words[0], 0) != 0; });
    }
};

struct tell_log {
    symmetric_ref<std::uint64_t> told;
    template <class Ctx, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Box&) const {
        if (ctx.environment().timeline != nullptr) atomic_add(ctx, told[0], 1);
    }
};

/// What holds of the samples of any PE: times and counters that only grow.
void expect_growth(const pe_record& pe) {
    ASSERT_GE(pe.samples.size(), 2u) << "one at the start, one at the end";
    for (std::size_t i = 1; i < pe.samples.size(); ++i) {
        const timeline_sample &one = pe.samples[i - 1], &next = pe.samples[i];
        EXPECT_GE(next.time_ns, one.time_ns);
        EXPECT_GE(next.sent, one.sent);
        EXPECT_GE(next.chunks, one.chunks);
        EXPECT_GE(next.bytes, one.bytes);
        EXPECT_GE(next.served, one.served);
        EXPECT_GE(next.returned, one.returned);
        EXPECT_GE(next.barriers, one.barriers);
    }
}

/// The last samples are what the report says.
void expect_sums(const run_record& run, const run_report& report) {
    const std::size_t n = run.pes.size();
    ASSERT_EQ(n, report.devices.size());
    std::uint64_t served = 0;
    for (std::size_t pe = 0; pe < n; ++pe) {
        expect_growth(run.pes[pe]);
        traffic sent;
        for (std::size_t to = 0; to < n; ++to) {
            const traffic& cell = report.traffic_matrix[pe * n + to];
            sent.messages += cell.messages;
            sent.chunks += cell.chunks;
            sent.bytes += cell.bytes;
        }
        const timeline_sample& last = run.pes[pe].samples.back();
        EXPECT_EQ(last.sent, sent.messages);
        EXPECT_EQ(last.chunks, sent.chunks);
        EXPECT_EQ(last.bytes, sent.bytes);
        EXPECT_EQ(last.open, 0u);
        served += last.served;
    }
    EXPECT_EQ(served, report.served);
}

options recorded(options o) {
    o.timeline = std::make_shared<timeline>();
    return o;
}

class timeline_runs : public testing::TestWithParam<std::string> {};

TEST_P(timeline_runs, SumsAreThoseOfTheReports) {
    const std::uint64_t rounds = is_checked(GetParam()) ? (chosen_seeds() + 11) / 12 : 5;
    repeat_rounds(GetParam(), rounds, [](options o) {
        o = recorded(o);
        runtime rt(o);
        const auto sum = rt.allocate<std::uint64_t>(1);
        const auto box = rt.mailbox<word, timed_question>(add_word{sum.ref()}, reply_word{});
        for (const std::uint32_t messages : {0u, 40u, 7u}) {
            const auto report = rt.run(post_and_meet{messages}, box);
            const run_record run = o.timeline->runs().back();
            expect_sums(run, report);
            EXPECT_FALSE(run.failed);
            EXPECT_LE(run.begin_ns, run.end_ns);
            for (const pe_record& pe : run.pes) {
                EXPECT_EQ(pe.samples.back().barriers, 1u);
                EXPECT_GT(pe.samples.back().returned, 0u);
                EXPECT_EQ(std::min<std::uint64_t>(pe.lasting_waits, 4096), pe.waits.size()) << "as there is room for";
            }
            std::map<std::string, std::uint64_t> totals(run.totals.begin(), run.totals.end());
            EXPECT_EQ(totals["posted"], report.posted);
            EXPECT_EQ(totals["served"], report.served);
        }
        EXPECT_EQ(o.timeline->count().runs, 3u);
    });
}

/// The longest wait at a barrier that PE 0 has written down; 0: none.
std::uint64_t longest_at_barrier_ns(const run_record& run) {
    std::uint64_t longest_ns = 0;
    for (const timeline_wait& wait : run.pes[0].waits) {
        EXPECT_GE(wait.end_ns, wait.start_ns);
        EXPECT_LT(wait.claim, run.pes[0].lasting_waits);
        EXPECT_LT(wait.place >> 12, 64u);
        if (static_cast<operation>(wait.what) == operation::barrier) {
            longest_ns = std::max(longest_ns, wait.end_ns - wait.start_ns);
        }
    }
    return longest_ns;
}

TEST_P(timeline_runs, ALastingWaitIsWrittenDown) {
    options o = recorded(options_of(GetParam(), 2));
    runtime rt(o);
    if (rt.n_pes() < 2) return;
    const auto sum = rt.allocate<std::uint64_t>(1);
    const auto box = rt.mailbox<word>(add_word{sum.ref()});
    // Where there are more threads than cores, one that waits may seldom have a core to look: then it waits longer.
    std::vector<std::uint64_t> tries = {20'000'000};
    if (GetParam().starts_with("cpu")) tries = {300'000'000, 1'000'000'000, 3'000'000'000};
    std::uint64_t longest_ns = 0;
    for (std::size_t i = 0; i < tries.size() && longest_ns == 0; ++i) {
        (void)rt.run(come_late{tries[i]}, box);
        longest_ns = longest_at_barrier_ns(o.timeline->runs().back());
    }
    EXPECT_GT(longest_ns, 0u) << o.timeline->runs().back().pes[0].waits.size() << " waits";
}

TEST_P(timeline_runs, ARunThatFailsTellsWhatItWaitedFor) {
    options o = recorded(options_of(GetParam(), 1));
    o.timeout_seconds = is_checked(GetParam()) ? 0.05 : 0.5;
    runtime rt(o);
    const auto words = rt.allocate<std::uint64_t>(1);
    const auto box = rt.mailbox<word>(add_word{words.ref()});
    EXPECT_THROW(rt.run(wait_in_vain{words.ref()}, box), timeout_error);
    const run_record run = o.timeline->runs().back();
    EXPECT_TRUE(run.failed);
    EXPECT_TRUE(run.totals.empty());
    ASSERT_FALSE(run.pes[0].waits.empty());
    const timeline_wait& wait = run.pes[0].waits.front();
    EXPECT_EQ(static_cast<operation>(wait.what), operation::signal);
    EXPECT_EQ(wait.number, 7u);
    EXPECT_GT(wait.end_ns, wait.start_ns);
}

TEST_P(timeline_runs, WhereThereIsLittleRoomAPartIsKept) {
    timeline::capacity room;
    room.samples = 4;
    room.waits = 2;
    room.gap_ns = 0;
    options o = options_of(GetParam(), 2);
    o.timeline = std::make_shared<timeline>(room);
    runtime rt(o);
    const auto sum = rt.allocate<std::uint64_t>(1);
    const auto box = rt.mailbox<word, timed_question>(add_word{sum.ref()}, reply_word{});
    const auto report = rt.run(post_and_meet{200}, box);
    const run_record run = o.timeline->runs().back();
    expect_sums(run, report);
    // A lane of a GPU may write its wait down behind those that have claimed the place since.
    const std::uint64_t claiming = GetParam().find("cuda") != std::string::npos ? 4096 : 0;
    for (const pe_record& pe : run.pes) {
        EXPECT_LE(pe.samples.size(), 5u);
        EXPECT_EQ(pe.waits.size(), std::min<std::uint64_t>(pe.lasting_waits, 2));
        if (pe.lasting_waits <= 2 * claiming) continue;
        for (const timeline_wait& wait : pe.waits) {
            EXPECT_GE(wait.claim + 2 + claiming, pe.lasting_waits) << "the newest are kept";
        }
    }
}

TEST_P(timeline_runs, WithoutATimelineLanesHaveNoLog) {
    options o = options_of(GetParam(), 1);
    for (const bool asked : {false, true}) {
        if (asked) o = recorded(o);
        runtime rt(o);
        const auto told = rt.allocate<std::uint64_t>(1);
        (void)rt.run(tell_log{told.ref()}, rt.mailbox<word>(add_word{told.ref()}));
        EXPECT_EQ(sum_over_pes(told, rt.n_pes(), 0) > 0, asked);
    }
}

TEST_P(timeline_runs, ASessionsStaysGoOn) {
    options o = recorded(options_of(GetParam(), 3));
    o.lease_seconds = 0;
    runtime rt(o);
    const auto sum = rt.allocate<std::uint64_t>(1);
    const auto box = rt.mailbox<word, timed_question>(add_word{sum.ref()}, reply_word{});
    auto session = rt.start(box);
    std::uint64_t served = 0;
    constexpr int stays = 3, epochs = 2;
    for (int stay = 0; stay < stays; ++stay) {
        for (int epoch = 0; epoch < epochs; ++epoch) {
            for (int i = 0; i < 10; ++i) session.post(i % rt.n_pes(), timed_question{1});
            (void)session.quiesce();
        }
        session.release();
    }
    const auto report = session.stop();
    const auto runs = o.timeline->runs();
    ASSERT_EQ(runs.size(), static_cast<std::size_t>(stays));
    for (std::size_t stay = 0; stay < runs.size(); ++stay) {
        EXPECT_EQ(runs[stay].name, "session");
        EXPECT_EQ(runs[stay].goes_on, stay > 0);
        if (stay == 0) continue;
        for (std::size_t pe = 0; pe < runs[stay].pes.size(); ++pe) {
            expect_growth(runs[stay].pes[pe]);
            EXPECT_GE(runs[stay].pes[pe].samples.front().served, runs[stay - 1].pes[pe].samples.back().served);
        }
    }
    for (const pe_record& pe : runs.back().pes) served += pe.samples.back().served;
    EXPECT_EQ(served, report.served);
    std::size_t told = 0;
    for (const timeline_span& span : o.timeline->spans()) told += span.track == "epochs" ? 1 : 0;
    EXPECT_EQ(told, static_cast<std::size_t>(stays * epochs));
}

LANEWAY_ON_DEVICES(timeline_runs, device_lists());

}  // namespace
}  // namespace laneway::test
