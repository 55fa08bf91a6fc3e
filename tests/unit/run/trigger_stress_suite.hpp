// Thousands of prepared puts, triggered in random orders, early, late and often, prepared and disarmed meanwhile:
// against a model, nothing fires twice or never.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "triggers_job.hpp"

namespace laneway::test {
namespace {

class trigger_stress_test : public testing::TestWithParam<std::string> {};

/// What happens to a tag, by lanes that take such pieces in turn.
struct stress_event {
    enum : std::uint32_t { trigger, trigger_elsewhere, prepare, disarm, prepare_other };
    std::uint32_t what;
    std::uint32_t tag;  ///< of the own PE, or of the next one
    std::uint32_t n;    ///< times, or the threshold
    std::uint32_t once;
};

constexpr std::uint64_t stress_words = 100;  ///< of a tag; its operation moves 1, 40 or all of them

/// Puts of a tag: to the next PE, into one of two arrays, with a signal for each tag.
struct stress_puts {
    symmetric_ref<std::uint32_t> from;
    symmetric_ref<std::uint32_t> to[2];
    symmetric_ref<std::uint64_t> fired[2];

    [[nodiscard]] LANEWAY_FN trigger_operation operator()(std::uint32_t tag, int kind, int pe, int n_pes) const {
        const std::uint64_t count = tag % 3 == 0 ? 1 : tag % 3 == 1 ? 40 : stress_words;
        return trigger_operation::put(from, tag * stress_words, count, to[kind], tag * stress_words, (pe + 1) % n_pes)
            .signal(fired[kind][tag]);
    }
};

/// Lanes of each PE do what its list says, each every so many pieces of it.
struct do_events {
    stress_puts puts;
    symmetric_ref<stress_event> events;
    symmetric_ref<std::uint32_t> disarmed;  ///< for each tag: whether a lane has taken its operation

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        const std::uint64_t lanes = ctx.local_size();
        const auto mine = events.local(ctx);
        for (std::uint64_t i = ctx.local_rank(); i < events.size(); i += lanes) {
            const stress_event event = mine[i];
            if (apply(ctx, triggers, event) != status::ok) return;
        }
    }

private:
    template <class Ctx, class Triggers>
    LANEWAY_FN status apply(Ctx& ctx, Triggers& triggers, const stress_event& e) const {
        const auto how = e.once != 0 ? firing::once : firing::each_round;
        switch (e.what) {
            case stress_event::trigger: return triggers.trigger(ctx, e.tag, e.n);
            case stress_event::trigger_elsewhere:
                return triggers.trigger_on(ctx, (ctx.pe() + 1) % ctx.n_pes(), e.tag, e.n);
            case stress_event::prepare:
                return triggers.prepare(ctx, e.tag, e.n, puts(e.tag, 0, ctx.pe(), ctx.n_pes()), how);
            default: break;
        }
        bool taken = false;
        for (int tries = 0; tries < 3 && !taken; ++tries) taken = triggers.disarm(ctx, e.tag);
        disarmed.local(ctx)[e.tag] = taken ? 1 : 0;
        if (!taken || e.what == stress_event::disarm) return status::ok;
        return triggers.prepare(ctx, e.tag, e.n, puts(e.tag, 1, ctx.pe(), ctx.n_pes()), how);
    }
};

/// What a tag will have been through.
struct tag_plan {
    std::uint32_t threshold = 1;
    std::uint32_t triggers = 0;
    bool once = false;
    enum : std::uint32_t { by_host, by_lane, never, disarmed, replaced } kind = by_host;
};

/// A program of random events, its model, and the comparison.
class stress_program {
public:
    /// `outside`: whether streams may trigger its tags.
    stress_program(runtime& rt, std::uint32_t tags, std::uint64_t seed, bool outside = false)
        : rt_(rt), random_(static_cast<std::mt19937::result_type>(seed)), n_tags_(tags),
          from_(rt.allocate<std::uint32_t>(tags * stress_words)), to_{rt.allocate<std::uint32_t>(tags * stress_words),
                                                                      rt.allocate<std::uint32_t>(tags * stress_words)},
          fired_{rt.allocate<std::uint64_t>(tags), rt.allocate<std::uint64_t>(tags)},
          disarmed_(rt.allocate<std::uint32_t>(tags)),
          tags_(rt.triggers({.tags = tags, .outside = outside ? tags : 0, .alone_bytes = 200 * (seed % 2)})) {
        for (int pe = 0; pe < rt.n_pes(); ++pe) from_.copy_in(pe, numbered(tags * stress_words, first_of(pe)));
        plans_.resize(static_cast<std::size_t>(rt.n_pes()), std::vector<tag_plan>(tags));
        lists_.resize(plans_.size());
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            for (std::uint32_t tag = 0; tag < tags; ++tag) plan(pe, tag);
        }
    }

    void run_and_compare() {
        std::size_t most = 0;
        for (auto& list : lists_) {
            std::shuffle(list.begin(), list.end(), random_);
            most = std::max(most, list.size());
        }
        auto events = rt_.allocate<stress_event>(most);
        for (int pe = 0; pe < rt_.n_pes(); ++pe) {
            auto& list = lists_[static_cast<std::size_t>(pe)];
            list.resize(most, {stress_event::trigger, 0, 0, 0});  // not once
            events.copy_in(pe, list);
        }
        compare(rt_.run(do_events{puts(), events.ref(), disarmed_.ref()}, tags_));
    }

    /// The same events while a session goes on: two host threads for each PE prepare and disarm, and trigger by
    /// themselves, by messages and by a stream.
    void feed_and_compare() {
        const auto box = rt_.mailbox<go>(trigger_handler{tags_.tags()});
        for (int pe = 0; pe < rt_.n_pes(); ++pe) {
            streams_.push_back(rt_.stream(pe));
            auto& cells = cells_.emplace_back();
            for (std::uint32_t tag = 0; tag < n_tags_; ++tag) cells.push_back(tags_.outside(pe, tag));
            taken_.emplace_back(n_tags_);
        }
        auto session = rt_.start(box, tags_);
        {
            std::vector<std::jthread> threads;
            for (int pe = 0; pe < rt_.n_pes(); ++pe) {
                auto& list = lists_[static_cast<std::size_t>(pe)];
                std::shuffle(list.begin(), list.end(), random_);
                for (std::size_t half = 0; half < 2; ++half) {
                    threads.emplace_back([this, &session, &list, pe, half] {
                        for (std::size_t i = half; i < list.size(); i += 2)
                            EXPECT_NO_THROW(feed(session, pe, list[i], i));
                    });
                }
            }
        }
        const run_report report = session.stop();
        for (int pe = 0; pe < rt_.n_pes(); ++pe) disarmed_.copy_in(pe, taken_[static_cast<std::size_t>(pe)]);
        compare(report);
    }

private:
    template <class Session>
    void feed(Session& session, int pe, const stress_event& e, std::size_t number) {
        const int next = (pe + 1) % rt_.n_pes();
        const auto how = e.once != 0 ? firing::once : firing::each_round;
        if (e.what == stress_event::trigger) return trigger_in_turn(session, pe, e, number);
        if (e.what == stress_event::trigger_elsewhere) return trigger_in_turn(session, next, e, number);
        if (e.what == stress_event::prepare)
            return tags_.prepare(pe, e.tag, e.n, puts()(e.tag, 0, pe, rt_.n_pes()), how);
        bool taken = false;
        for (int tries = 0; tries < 3 && !taken; ++tries) taken = tags_.disarm(pe, e.tag);
        taken_[static_cast<std::size_t>(pe)][e.tag] = taken ? 1 : 0;
        if (!taken || e.what == stress_event::disarm) return;
        tags_.prepare(pe, e.tag, e.n, puts()(e.tag, 1, pe, rt_.n_pes()), how);
    }
    template <class Session>
    void trigger_in_turn(Session& session, int pe, const stress_event& e, std::size_t number) {
        if (number % 3 == 0) return tags_.trigger(pe, e.tag, e.n);
        const auto at = static_cast<std::size_t>(pe);
        if (number % 3 == 1) {
            const std::lock_guard lock(giving_);
            return cells_[at][e.tag].trigger(streams_[at], e.n);
        }
        for (std::uint32_t i = 0; i < e.n; ++i) session.post(pe, go{e.tag});
    }

    void compare(const run_report& report) {
        std::map<std::pair<int, std::uint32_t>, waiting_tag> waiting;
        for (const auto& tag : report.waiting_tags) waiting[{tag.pe, tag.tag}] = tag;
        for (int pe = 0; pe < rt_.n_pes(); ++pe) compare(pe, waiting);
        EXPECT_EQ(waiting.size(), expected_waiting_);
    }

    static std::uint32_t first_of(int pe) { return 1 + static_cast<std::uint32_t>(pe) * 10'000'000; }
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
    [[nodiscard]] stress_puts puts() const {
        return {from_.ref(), {to_[0].ref(), to_[1].ref()}, {fired_[0].ref(), fired_[1].ref()}};
    }

    void plan(int pe, std::uint32_t tag) {
        tag_plan& p = plans_[static_cast<std::size_t>(pe)][tag];
        p.kind = static_cast<decltype(p.kind)>(below(5));
        p.threshold = 1 + below(5);
        p.once = p.kind < tag_plan::disarmed && below(3) == 0;
        p.triggers = p.once ? p.threshold - below(2) : below(12);
        const auto how = p.once ? firing::once : firing::each_round;
        auto& list = lists_[static_cast<std::size_t>(pe)];
        auto& before = lists_[static_cast<std::size_t>((pe + rt_.n_pes() - 1) % rt_.n_pes())];
        for (std::uint32_t left = p.triggers; left > 0;) {
            const std::uint32_t n = 1 + below(std::min(left, 3u));
            const bool elsewhere = below(4) == 0;
            (elsewhere ? before : list)
                .push_back({elsewhere ? stress_event::trigger_elsewhere : stress_event::trigger, tag, n, 0});
            left -= n;
        }
        switch (p.kind) {
            case tag_plan::never: break;
            case tag_plan::by_lane: list.push_back({stress_event::prepare, tag, p.threshold, p.once}); break;
            case tag_plan::disarmed: list.push_back({stress_event::disarm, tag, p.threshold, 0}); [[fallthrough]];
            case tag_plan::by_host: tags_.prepare(pe, tag, p.threshold, puts()(tag, 0, pe, rt_.n_pes()), how); break;
            case tag_plan::replaced:
                list.push_back({stress_event::prepare_other, tag, p.threshold, 0});
                tags_.prepare(pe, tag, p.threshold, puts()(tag, 0, pe, rt_.n_pes()), how);
        }
    }

    void compare(int pe, const std::map<std::pair<int, std::uint32_t>, waiting_tag>& waiting) {
        const int next = (pe + 1) % rt_.n_pes();
        const std::vector<std::uint64_t> fired[2] = {fired_[0].copy_out(next), fired_[1].copy_out(next)};
        const std::vector<std::uint32_t> to[2] = {to_[0].copy_out(next), to_[1].copy_out(next)};
        const auto disarmed = disarmed_.copy_out(pe);
        for (std::uint32_t tag = 0; tag < n_tags_; ++tag) {
            const tag_plan& p = plans_[static_cast<std::size_t>(pe)][tag];
            const std::uint64_t rounds = p.kind == tag_plan::never ? 0 : p.triggers / p.threshold;
            const std::uint64_t first = fired[0][tag], second = fired[1][tag];
            if (p.kind == tag_plan::disarmed && disarmed[tag] != 0) {
                ASSERT_LE(first, rounds) << tag;  // as many as there were until then
            } else {
                ASSERT_EQ(first + second, rounds) << tag;
            }
            if (p.kind != tag_plan::replaced || disarmed[tag] == 0) {
                ASSERT_EQ(second, 0u) << tag;
            }
            for (int kind = 0; kind < 2; ++kind) compare_words(pe, tag, to[kind], fired[kind][tag] != 0);
            const auto left = static_cast<std::uint32_t>(p.triggers - (first + second) * p.threshold);
            compare_rest(pe, tag, left, waiting);
        }
    }
    void compare_words(int pe, std::uint32_t tag, const std::vector<std::uint32_t>& to, bool came) const {
        const std::uint64_t count = tag % 3 == 0 ? 1 : tag % 3 == 1 ? 40 : stress_words;
        for (std::uint64_t i = 0; i < stress_words; ++i) {
            const std::uint64_t at = tag * stress_words + i;
            ASSERT_EQ(to[at], came && i < count ? first_of(pe) + at : 0u) << "tag " << tag << " word " << i;
        }
    }
    /// Triggers that no round has used.
    void compare_rest(int pe, std::uint32_t tag, std::uint32_t left,
                      const std::map<std::pair<int, std::uint32_t>, waiting_tag>& waiting) {
        const auto found = waiting.find({pe, tag});
        if (found == waiting.end()) {
            ASSERT_EQ(left, 0u) << tag;
            return;
        }
        ++expected_waiting_;
        ASSERT_EQ(found->second.count, left) << found->second.text();
    }

    runtime& rt_;
    std::mt19937 random_;
    std::uint32_t n_tags_;
    symmetric_array<std::uint32_t> from_;
    symmetric_array<std::uint32_t> to_[2];
    symmetric_array<std::uint64_t> fired_[2];
    symmetric_array<std::uint32_t> disarmed_;
    triggers tags_;
    std::vector<std::vector<tag_plan>> plans_;  ///< for each PE and tag
    std::vector<std::vector<stress_event>> lists_;
    std::size_t expected_waiting_ = 0;
    // Of a session.
    std::mutex giving_;  ///< a stream takes from one thread at a time
    std::vector<device_stream> streams_;
    std::vector<std::vector<outside_trigger>> cells_;  ///< for each PE and tag
    std::vector<std::vector<std::uint32_t>> taken_;    ///< the same: whether a thread has taken its operation
};

TEST_P(trigger_stress_test, FourThousandTagsFireAsOftenAsTheModelSays) {
    repeat_rounds(GetParam(), is_checked(GetParam()) ? few_rounds(GetParam(), checked_seeds) : 5,
                  [&](const options& o) {
                      runtime rt(o);
                      stress_program(rt, 4096, o.seed).run_and_compare();
                  });
}

TEST_P(trigger_stress_test, HostThreadsMessagesAndStreamsDoAsTheModelSays) {
    repeat_rounds(GetParam(), few_rounds(GetParam(), 4), [&](options o) {
        o.timeout_seconds = 60;  // threads of the host wait for each other
        runtime rt(o);
        stress_program(rt, 12, o.seed, true).feed_and_compare();
    });
}

TEST_P(trigger_stress_test, FewTagsFireAsOftenAsTheModelSays) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        stress_program(rt, 12, o.seed).run_and_compare();
    });
}

/// One tag for many lanes: some trigger it, one disarms it and prepares another operation again and again.
struct race_for_a_tag {
    symmetric_ref<std::uint64_t> fired;
    symmetric_ref<std::uint64_t> taken;
    std::uint32_t times;

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        const std::uint64_t mine = ctx.local_rank();
        if (mine != 0) {
            for (std::uint32_t i = 0; i < times; ++i) {
                if (triggers.trigger(ctx, 0) != status::ok) return;
            }
            return;
        }
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        for (std::uint32_t i = 0; i < times; ++i) {
            if (triggers.trigger(ctx, 0) != status::ok) return;
            if (!triggers.disarm(ctx, 0)) continue;
            atomic_add(ctx, taken[0], 1);
            const auto op = trigger_operation::nothing(next).signal(fired[i % 4]).then(next, 1);
            if (triggers.prepare(ctx, 0, 2, op, firing::each_round) != status::ok) return;
        }
    }
};
struct count_all_lanes {
    symmetric_ref<std::uint64_t> lanes;
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers&) const {
        atomic_add(ctx, lanes[0], 1);
    }
};

TEST_P(trigger_stress_test, DisarmRacesWithTriggersAndLosesNone) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        constexpr std::uint32_t times = 12;
        const auto fired = rt.allocate<std::uint64_t>(4), taken = rt.allocate<std::uint64_t>(1);
        const auto lanes = rt.allocate<std::uint64_t>(1);
        auto tags = rt.triggers({.tags = 2, .alone_bytes = 0});
        rt.run(count_all_lanes{lanes.ref()}, tags);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const int next = (pe + 1) % rt.n_pes();
            tags.prepare(pe, 0, 2, trigger_operation::nothing(next).signal(fired.ref()[0]).then(next, 1),
                         firing::each_round);
        }
        const auto report = rt.run(race_for_a_tag{fired.ref(), taken.ref(), times}, tags);
        std::map<std::pair<int, std::uint32_t>, std::uint32_t> counts;
        for (const auto& tag : report.waiting_tags) counts[{tag.pe, tag.tag}] = tag.count;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const int next = (pe + 1) % rt.n_pes();
            const std::uint64_t triggers = times * lanes.copy_out(pe)[0];
            std::uint64_t rounds = 0;
            for (const std::uint64_t by : fired.copy_out(next)) rounds += by;
            ASSERT_EQ(rounds, triggers / 2);
            ASSERT_EQ((counts[{pe, 0}]), triggers % 2);
            ASSERT_EQ((counts[{next, 1}]), rounds);  // each has triggered the next tag once
        }
    });
}

/// Lanes trigger all tags, each as often.
struct trigger_all_tags {
    std::uint32_t tags, times;

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        const std::uint64_t lanes = ctx.local_size(), mine = ctx.local_rank();
        for (std::uint32_t i = 0; i < tags; ++i) {
            const auto tag = static_cast<std::uint32_t>((i + mine * tags / lanes) % tags);
            const auto n = static_cast<std::uint32_t>(times / lanes + (mine < times % lanes ? 1 : 0));
            if (n != 0 && triggers.trigger(ctx, tag, n) != status::ok) return;
        }
    }
};

/// Each piece adds: one that is taken twice, or never, shows in the sums.
TEST_P(trigger_stress_test, EachPieceOfEachRoundIsTakenOnce) {
    repeat_rounds(GetParam(), few_rounds(GetParam(), 4), [&](const options& o) {
        runtime rt(o);
        constexpr std::uint32_t n_tags = 70, times = 5;  // bits of three words
        constexpr std::uint64_t each = 1030;             // two pieces
        auto ones = rt.allocate<std::uint32_t>(each), sums = rt.allocate<std::uint32_t>(n_tags * each);
        auto tags = rt.triggers({.tags = n_tags, .alone_bytes = 0});
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            ones.copy_in(pe, std::vector<std::uint32_t>(each, 1));
            for (std::uint32_t tag = 0; tag < n_tags; ++tag) {
                tags.prepare(
                    pe, tag, 1,
                    trigger_operation::combine<memory_op::add>(ones.ref(), 0, each, sums.ref(), tag * each, pe),
                    firing::each_round);
            }
        }
        rt.run(trigger_all_tags{n_tags, times}, tags);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(sums.copy_out(pe), std::vector<std::uint32_t>(n_tags * each, times));
        }
    });
}

/// A lane prepares a tag that fires once, again and again, each time for another word.
struct prepare_again {
    symmetric_ref<std::uint64_t> fired;
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (ctx.local_rank() != 0) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        for (std::uint32_t i = 0; i < fired.size(); ++i) {
            const auto op = trigger_operation::nothing(next).signal(fired[i]).then(next, 1);
            if (triggers.prepare(ctx, 0, 3, op) != status::ok) return;
            if (triggers.trigger(ctx, 0, 3) != status::ok) return;
            if (triggers.wait_fired(ctx, 0, i + 1) != status::ok) return;
        }
    }
};

TEST_P(trigger_stress_test, ATagThatFiresOnceIsPreparedAgain) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const auto fired = rt.allocate<std::uint64_t>(9);
        auto tags = rt.triggers({.tags = 2, .chains = 1});  // the same link keeps its cell
        const auto report = rt.run(prepare_again{fired.ref()}, tags);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(fired.copy_out(pe), std::vector<std::uint64_t>(9, 1));
        for (const auto& tag : report.waiting_tags) EXPECT_EQ(tag.count, 9u) << tag.text();
        EXPECT_EQ(report.waiting_tags.size(), static_cast<std::size_t>(rt.n_pes()));
    });
}

/// The same where other warps carry the operation out. Who has seen that it has fired prepares, or takes it back.
struct prepare_what_others_do {
    symmetric_ref<std::uint64_t> words;  ///< from the second on: as often as rounds
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (ctx.local_rank() != 0) return;
        words.local(ctx)[0] = 7;
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        for (std::uint32_t i = 1; i < words.size(); ++i) {
            const auto op = trigger_operation::put(words, 0, 1, words, i, next);
            if (triggers.prepare(ctx, 0, 1, op) != status::ok || triggers.trigger(ctx, 0) != status::ok) return;
            if (triggers.wait_fired(ctx, 0, i) != status::ok) return;
            if (i % 2 == 0 && !triggers.disarm(ctx, 0)) return;
        }
    }
};

TEST_P(trigger_stress_test, WhatOthersHaveFiredCanBePreparedAgain) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const auto words = rt.allocate<std::uint64_t>(20);
        auto tags = rt.triggers({.tags = 1, .alone_bytes = 0});
        rt.run(prepare_what_others_do{words.ref()}, tags);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(words.copy_out(pe), std::vector<std::uint64_t>(20, 7));
    });
}

TEST_P(trigger_stress_test, TheHostDisarmsAndPreparesAgain) {
    runtime rt(options_of(GetParam(), 1));
    const int last = rt.n_pes() - 1;
    const auto fired = rt.allocate<std::uint64_t>(2);
    auto tags = rt.triggers({.tags = 4});
    const auto op = [&](std::uint64_t word) { return trigger_operation::nothing(last).signal(fired.ref()[word]); };
    EXPECT_FALSE(tags.disarm(0, 2));
    tags.prepare(0, 2, 3, op(0), firing::each_round);
    EXPECT_TRUE(tags.disarm(0, 2));  // before any run
    EXPECT_FALSE(tags.disarm(0, 2));
    tags.prepare(0, 2, 3, op(0), firing::each_round);
    rt.run(trigger_once{2, 5, 0}, tags);
    EXPECT_TRUE(tags.disarm(0, 2));
    EXPECT_FALSE(tags.disarm(0, 2));
    ASSERT_EQ(tags.waiting().size(), 1u);
    EXPECT_EQ(tags.waiting()[0].text(), "tag 2 of PE 0: not prepared, triggered 2 times");
    tags.prepare(0, 2, 3, op(1));  // two have come early
    rt.run(trigger_once{2, 1, 0}, tags);
    EXPECT_EQ(fired.copy_out(last), (std::vector<std::uint64_t>{1, 1}));
    tags.prepare(0, 2, 1, op(1));  // it has fired once for all
    EXPECT_THROW(tags.prepare(0, 2, 1, op(1)), usage_error);
    rt.run(trigger_once{2, 1, 0}, tags);
    EXPECT_EQ(fired.copy_out(last), (std::vector<std::uint64_t>{1, 2}));
    EXPECT_TRUE(tags.waiting().empty());
    EXPECT_THROW((void)tags.disarm(0, 4), usage_error);
    EXPECT_THROW((void)tags.disarm(rt.n_pes(), 0), usage_error);
}

INSTANTIATE_TEST_SUITE_P(devices, trigger_stress_test, testing::ValuesIn(trigger_devices()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(trigger_stress_test);

}  // namespace
}  // namespace laneway::test
