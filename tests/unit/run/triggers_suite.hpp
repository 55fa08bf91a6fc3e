// Triggered operations: what fires when, how often, with which data.
#pragma once

#include "triggers_job.hpp"

namespace laneway::test {
namespace {

class triggers_test : public testing::TestWithParam<std::string> {};

/// Every lane writes its word of a range and triggers; all lanes of a PE make the threshold. Then the next PE has it.
struct write_and_trigger {
    symmetric_ref<std::uint32_t> from;
    symmetric_ref<std::uint32_t> to;
    symmetric_ref<std::uint64_t> arrived;
    symmetric_ref<std::uint64_t> wrong;
    std::uint32_t run;

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        const std::uint64_t lanes = ctx.local_size(), mine = ctx.local_rank();
        if (mine == 0 && run == 1) {
            const auto op = trigger_operation::put(from, 0, lanes, to, 0, (ctx.pe() + 1) % ctx.n_pes());
            const auto threshold = static_cast<std::uint32_t>(lanes);
            if (triggers.prepare(ctx, 0, threshold, op.signal(arrived[0]), firing::each_round) != status::ok) return;
        }
        from.local(ctx)[mine] = static_cast<std::uint32_t>(run * 1000 + mine);
        if (triggers.trigger(ctx, 0) != status::ok) return;
        if (triggers.wait_signal(ctx, arrived[0], run) != status::ok) return;
        const std::uint64_t other = (mine + 1) % lanes;
        const std::uint32_t found = to.local(ctx)[other];
        if (found != run * 1000 + other) atomic_add(ctx, wrong[0], 1);
    }
};

TEST_P(triggers_test, WhatLanesWroteGoesWithTheRoundThatTheyTriggered) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto from = rt.allocate<std::uint32_t>(1 << 16), to = rt.allocate<std::uint32_t>(1 << 16);
        const auto arrived = rt.allocate<std::uint64_t>(1), wrong = rt.allocate<std::uint64_t>(1);
        auto tags = rt.triggers({.tags = 1, .alone_bytes = o.seed % 2 * 1024});
        for (std::uint32_t run = 1; run <= 3; ++run) {
            rt.run(write_and_trigger{from.ref(), to.ref(), arrived.ref(), wrong.ref(), run}, tags);
        }
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
        EXPECT_TRUE(tags.waiting().empty());
    });
}

/// Each lane triggers all tags, one by one or several times at once, in an order of its own.
struct trigger_in_disorder {
    std::uint32_t tags;
    std::uint32_t times;

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        for (std::uint32_t i = 0; i < tags; ++i) {
            const auto tag = static_cast<std::uint32_t>((ctx.rank() * 7 + i * 5) % tags);  // 5 and `tags` are coprime
            const std::uint32_t together = 1 + tag % 2;
            for (std::uint32_t t = 0; t < times; t += together) {
                if (triggers.trigger(ctx, tag, together) != status::ok) return;
            }
        }
    }
};
struct count_lanes {
    symmetric_ref<std::uint64_t> lanes;
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers&) const {
        atomic_add(ctx, lanes[0], 1);
    }
};

TEST_P(triggers_test, NothingFiresTwiceOrNever) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        constexpr std::uint32_t n = 7, times = 4;
        const auto fired = rt.allocate<std::uint64_t>(n), lanes = rt.allocate<std::uint64_t>(1);
        auto tags = rt.triggers({.tags = n, .alone_bytes = 0});
        rt.run(count_lanes{lanes.ref()}, tags);
        const auto prepare = [&](std::uint32_t tag) {
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                const auto op = trigger_operation::nothing((pe + 1) % rt.n_pes()).signal(fired.ref()[tag]);
                tags.prepare(pe, tag, tag + 1, op, firing::each_round);
            }
        };
        for (std::uint32_t tag = 0; tag < n; tag += 2) prepare(tag);
        for (std::uint64_t run = 1; run <= 3; ++run) {
            rt.run(trigger_in_disorder{n, times}, tags);
            if (run == 1) {  // the others have been triggered before they are prepared
                for (const auto& tag : tags.waiting()) EXPECT_TRUE(tag.threshold != 0 || tag.tag % 2 == 1);
                for (std::uint32_t tag = 1; tag < n; tag += 2) prepare(tag);
                continue;
            }
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                const std::uint64_t sum = run * times * lanes.copy_out(pe)[0];
                const auto found = fired.copy_out((pe + 1) % rt.n_pes());
                for (std::uint32_t tag = 0; tag < n; ++tag) ASSERT_EQ(found[tag], sum / (tag + 1)) << "tag " << tag;
            }
            for (const auto& tag : tags.waiting()) {
                const std::uint64_t sum = run * times * lanes.copy_out(tag.pe)[0];
                EXPECT_EQ(tag.count, sum % tag.threshold) << tag.text();
            }
        }
    });
}

TEST_P(triggers_test, RangesArriveWholeAndNothingElseChanges) {
    runtime rt(options_of(GetParam(), 1));
    constexpr std::uint64_t size = 50'000;
    const int last = rt.n_pes() - 1;
    for (const std::uint64_t count : {1, 3, 4, 63, 64, 65, 1000, 1025, 40'000}) {
        for (const std::uint64_t from_at : {0, 1, 8}) {
            auto from = rt.allocate<std::uint32_t>(size), to = rt.allocate<std::uint32_t>(size);
            auto tags = rt.triggers({.tags = 1});
            from.copy_in(0, numbered(size, 1));
            const std::uint64_t to_at = count % 2 == 0 ? from_at : 4;
            tags.prepare(0, 0, 1, trigger_operation::put(from.ref(), from_at, count, to.ref(), to_at, last));
            rt.run(trigger_once{0, 1, 0}, tags);
            std::vector<std::uint32_t> wanted(size);
            for (std::uint64_t i = 0; i < count; ++i) wanted[to_at + i] = static_cast<std::uint32_t>(from_at + i + 1);
            ASSERT_EQ(to.copy_out(last), wanted) << count << " elements from " << from_at << " to " << to_at;
        }
    }
}

template <memory_op Op, class T>
void expect_combined(const std::string& devices, std::uint64_t count) {
    runtime rt(options_of(devices, 1));
    auto from = rt.allocate<T>(count), to = rt.allocate<T>(count);
    std::vector<T> a(count), b(count), wanted(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        a[i] = static_cast<T>(i % 17);
        b[i] = static_cast<T>(i % 5) * 3;
        wanted[i] = Op == memory_op::add   ? a[i] + b[i]
                    : Op == memory_op::min ? std::min(a[i], b[i])
                                           : std::max(a[i], b[i]);
    }
    const int last = rt.n_pes() - 1;
    from.copy_in(0, a);
    to.copy_in(last, b);
    auto tags = rt.triggers({.tags = 2});
    tags.prepare(0, 1, 1, trigger_operation::combine<Op>(from.ref(), 0, count, to.ref(), 0, last));
    rt.run(trigger_once{1, 1, 0}, tags);
    EXPECT_EQ(to.copy_out(last), wanted);
}

TEST_P(triggers_test, RangesAreCombined) {
    expect_combined<memory_op::add, double>(GetParam(), 3000);
    expect_combined<memory_op::add, std::int32_t>(GetParam(), 7);
    expect_combined<memory_op::min, float>(GetParam(), 2000);
    expect_combined<memory_op::max, std::uint64_t>(GetParam(), 1500);
}

/// All lanes of a warp write their words, and one trigger of the warp sends them.
struct write_as_warp {
    symmetric_ref<std::uint32_t> from;
    symmetric_ref<std::uint64_t> lanes;
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        const std::uint64_t mine = ctx.local_rank();
        if (mine >= static_cast<unsigned>(Ctx::warp_lanes)) return;  // ranks of a warp's lanes follow each other
        from.local(ctx)[mine] = static_cast<std::uint32_t>(500 + mine);
        atomic_add(ctx, lanes[0], 1);
        (void)triggers.trigger_warp(ctx, 3, 2);  // a failure ends the run
    }
};

TEST_P(triggers_test, AWarpTriggersOnceForAllItsLanes) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto from = rt.allocate<std::uint32_t>(64), to = rt.allocate<std::uint32_t>(64);
        const auto lanes = rt.allocate<std::uint64_t>(1);
        auto tags = rt.triggers({.tags = 4});
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const int next = (pe + 1) % rt.n_pes();
            tags.prepare(pe, 3, 2, trigger_operation::put(from.ref(), 0, 64, to.ref(), 0, next));
        }
        rt.run(write_as_warp{from.ref(), lanes.ref()}, tags);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            auto wanted = numbered(lanes.copy_out((pe + rt.n_pes() - 1) % rt.n_pes())[0], 500);
            wanted.resize(64);
            EXPECT_EQ(to.copy_out(pe), wanted);
        }
        EXPECT_TRUE(tags.waiting().empty());
    });
}

/// All warps of a block write and trigger as one, several times; the rest of the ranges is written by nobody.
struct write_as_block {
    symmetric_ref<std::uint32_t> from;
    symmetric_ref<std::uint64_t> blocks;  ///< lanes of each
    std::uint32_t times;
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        const std::uint64_t mine = ctx.local_rank();
        atomic_add(ctx, blocks[static_cast<std::uint64_t>(ctx.block())], 1);
        for (std::uint32_t i = 0; i < times; ++i) {
            from.local(ctx)[i * 4096 + mine] = static_cast<std::uint32_t>(7 * i + mine);
            if (triggers.trigger_block(ctx, i) != status::ok) return;
        }
    }
};

TEST_P(triggers_test, ABlockTriggersOnceForAllItsWarps) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        constexpr std::uint32_t times = 5;
        const auto from = rt.allocate<std::uint32_t>(times * 4096), to = rt.allocate<std::uint32_t>(times * 4096);
        const auto lanes = rt.allocate<std::uint64_t>(1), blocks = rt.allocate<std::uint64_t>(64);
        auto tags = rt.triggers({.tags = times});
        rt.run(count_lanes{lanes.ref()}, tags);
        rt.run(write_as_block{from.ref(), blocks.ref(), times}, tags);  // they are triggered early
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto of_blocks = blocks.copy_out(pe);
            const auto all = static_cast<std::uint64_t>(
                std::count_if(of_blocks.begin(), of_blocks.end(), [](std::uint64_t n) { return n != 0; }));
            const std::uint64_t wide = lanes.copy_out(pe)[0];
            ASSERT_LE(wide, 4096u);
            for (const auto& tag : tags.waiting()) {
                EXPECT_EQ(tag.count, tag.pe == pe ? all : tag.count) << tag.text();
            }
            for (std::uint32_t i = 0; i < times; ++i) {
                const auto op = trigger_operation::put(from.ref(), i * 4096, wide, to.ref(), i * 4096, pe);
                tags.prepare(pe, i, static_cast<std::uint32_t>(2 * all), op);
            }
        }
        rt.run(write_as_block{from.ref(), blocks.ref(), times}, tags);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto found = to.copy_out(pe);
            for (std::uint32_t i = 0; i < times; ++i) {
                for (std::uint64_t k = 0; k < lanes.copy_out(pe)[0]; ++k) ASSERT_EQ(found[i * 4096 + k], 7 * i + k);
            }
        }
        EXPECT_TRUE(tags.waiting().empty());
    });
}

/// Every lane writes a word of its own into the next PE's memory, and triggers a tag there.
struct trigger_next_pe {
    symmetric_ref<std::uint32_t> data;
    symmetric_ref<std::uint64_t> arrived;
    symmetric_ref<std::uint64_t> wrong;
    trigger_ref tags;  ///< as handlers hold it
    std::uint32_t run;
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        const std::uint64_t lanes = ctx.local_size(), mine = ctx.local_rank();
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        const auto tag = static_cast<std::uint32_t>(mine % 3 * 70);
        data.at(ctx, next)[mine] = static_cast<std::uint32_t>(run * 1000 + mine);
        const status told = mine % 2 == 0 ? triggers.trigger_on(ctx, next, tag) : trigger_on(ctx, tags, next, tag);
        if (told != status::ok || triggers.wait_signal(ctx, arrived[0], run) != status::ok) return;
        const std::uint64_t other = (mine + 1) % lanes;
        const std::uint32_t found = data.local(ctx)[lanes + other];
        if (found != run * 1000 + other) atomic_add(ctx, wrong[0], 1);
    }
};

TEST_P(triggers_test, LanesTriggerTagsOfOtherPes) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto data = rt.allocate<std::uint32_t>(1 << 16);
        const auto arrived = rt.allocate<std::uint64_t>(1), wrong = rt.allocate<std::uint64_t>(1);
        const auto lanes = rt.allocate<std::uint64_t>(1);
        auto tags = rt.triggers({.tags = 150});
        rt.run(count_lanes{lanes.ref()}, tags);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const std::uint64_t n = lanes.copy_out((pe + rt.n_pes() - 1) % rt.n_pes())[0];
            const auto moves = trigger_operation::put(data.ref(), 0, n, data.ref(), n, pe).signal(arrived.ref()[0]);
            for (std::uint64_t k = 0; k < 3; ++k) {
                const auto third = static_cast<std::uint32_t>((n + 2 - k) / 3);  // of the lanes
                const auto tag = static_cast<std::uint32_t>(k * 70);
                // One after the other: the last two are triggered once more by the one before, and the last one moves.
                const auto op = k == 2 ? moves : trigger_operation::nothing(pe).then(pe, tag + 70);
                tags.prepare(pe, tag, k == 0 ? third : third + 1, op, firing::each_round);
            }
        }
        rt.run(trigger_next_pe{data.ref(), arrived.ref(), wrong.ref(), tags.tags(), 1}, tags);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
        EXPECT_TRUE(tags.waiting().empty());
    });
}

/// Neighbouring lanes wait in two components of one type, by the same code.
struct wait_in_two {
    symmetric_ref<std::uint64_t> arrived;  ///< a word for each

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& first, Triggers& second) const {
        const std::uint64_t mine = ctx.local_rank();
        if (mine == 0 && (first.trigger(ctx, 0) != status::ok || second.trigger(ctx, 0) != status::ok)) return;
        for (std::uint64_t turn = 0; turn < 2; ++turn) {
            const std::uint64_t which = (static_cast<unsigned>(ctx.lane()) + turn) % 2;
            Triggers& one = which == 0 ? first : second;
            if (one.wait_signal(ctx, arrived[which], 1) != status::ok) return;
        }
    }
};

TEST_P(triggers_test, LanesOfAWarpWaitInTwoComponentsAtOnce) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        constexpr std::uint64_t size = 20'000;
        auto arrived = rt.allocate<std::uint64_t>(2);
        std::vector<symmetric_array<std::uint32_t>> from, to;
        std::vector<triggers> both{rt.triggers({.tags = 1}), rt.triggers({.tags = 1})};
        for (std::uint32_t i = 0; i < 2; ++i) {
            from.push_back(rt.allocate<std::uint32_t>(size));
            to.push_back(rt.allocate<std::uint32_t>(size));
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                from[i].copy_in(pe, numbered(size, 1 + i));
                const auto op = trigger_operation::put(from[i].ref(), 0, size, to[i].ref(), 0, (pe + 1) % rt.n_pes());
                both[i].prepare(pe, 0, 1, op.signal(arrived.ref()[i]));
            }
        }
        rt.run(wait_in_two{arrived.ref()}, both[0], both[1]);
        for (std::uint32_t i = 0; i < 2; ++i) {
            for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(to[i].copy_out(pe), numbered(size, 1 + i));
        }
    });
}

TEST_P(triggers_test, TriggersThatCameBeforeTheOperationCount) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        auto data = rt.allocate<std::uint32_t>(4096);
        const int last = rt.n_pes() - 1;
        data.copy_in(0, numbered(4096, 5));
        const auto there = rt.allocate<std::uint32_t>(4096);
        auto tags = rt.triggers({.tags = 1});
        const auto report = rt.run(trigger_once{0, 3, 0}, tags);
        ASSERT_EQ(report.waiting_tags.size(), 1u);
        EXPECT_EQ(report.waiting_tags[0].text(), "tag 0 of PE 0: not prepared, triggered 3 times");
        tags.prepare(0, 0, 3, trigger_operation::put(data.ref(), 0, 4096, there.ref(), 0, last));
        rt.run(do_nothing{}, tags);  // who fires it is left to the run
        EXPECT_EQ(there.copy_out(last), numbered(4096, 5));
        EXPECT_TRUE(tags.waiting().empty());
    });
}

/// One lane prepares while all others trigger.
struct prepare_meanwhile {
    symmetric_ref<std::uint64_t> signal;
    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        const auto lanes = static_cast<std::uint32_t>(ctx.local_size());
        if (ctx.local_rank() == 0) {
            const auto op = trigger_operation::nothing((ctx.pe() + 1) % ctx.n_pes()).signal(signal[0], 5);
            (void)triggers.prepare(ctx, 3, lanes, op);  // a failure ends the run
        }
        (void)triggers.trigger(ctx, 3);
        (void)triggers.wait_fired(ctx, 3, 1);
    }
};

TEST_P(triggers_test, LanesPrepareWhileOthersTrigger) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto signal = rt.allocate<std::uint64_t>(1);
        auto tags = rt.triggers({.tags = 4});
        rt.run(prepare_meanwhile{signal.ref()}, tags);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(signal.copy_out(pe)[0], 5u);
    });
}

TEST_P(triggers_test, CompletionTriggersTheNextTagAlsoOnOtherPes) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        constexpr std::uint32_t hops = 20;
        auto data = rt.allocate<std::uint64_t>(hops + 1);
        auto tags = rt.triggers({.tags = hops, .alone_bytes = o.seed % 2 * 64});
        std::vector<std::uint64_t> first(hops + 1);
        first[0] = 42;
        data.copy_in(0, first);
        // Word h goes from the PE that has it to the next one, where it is word h + 1.
        for (std::uint32_t h = 0; h < hops; ++h) {
            const int pe = static_cast<int>(h) / 2 % rt.n_pes(), next = static_cast<int>(h + 1) / 2 % rt.n_pes();
            auto op = trigger_operation::put(data.ref(), h, 1, data.ref(), h + 1, next);
            if (h + 1 < hops) op = op.then(next, h + 1, 2);
            tags.prepare(pe, h, 2, op);
        }
        rt.run(trigger_once{0, 2, 0}, tags);
        EXPECT_EQ(data.copy_out(static_cast<int>(hops) / 2 % rt.n_pes())[hops], 42u);
        EXPECT_TRUE(tags.waiting().empty());
    });
}

INSTANTIATE_TEST_SUITE_P(devices, triggers_test, testing::ValuesIn(trigger_devices()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(triggers_test);

}  // namespace
}  // namespace laneway::test
