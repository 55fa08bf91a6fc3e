// Triggered operations that post messages.
#pragma once

#include "triggers_job.hpp"

namespace laneway::test {
namespace {

class trigger_messages_test : public testing::TestWithParam<std::string> {};

/// A put and a message behind it, once for all or in each round, of one piece or several.
TEST_P(trigger_messages_test, MessagesArePostedBehindTheData) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const std::uint64_t size = o.seed % 2 == 0 ? 40 : 2500;
        const auto pes = static_cast<std::uint32_t>(rt.n_pes());
        auto from = rt.allocate<std::uint32_t>(size), to = rt.allocate<std::uint32_t>(size);
        const auto counts = rt.allocate<std::uint64_t>(2);
        const auto box = rt.mailbox<word, go>(count_word{to.ref(), counts.ref()}, trigger_handler{});
        auto tags = rt.triggers({.tags = 3}).with(box);
        for (std::uint32_t pe = 0; pe < pes; ++pe) {
            from.copy_in(static_cast<int>(pe), numbered(size, pe * 1000));
            const auto op = trigger_operation::put(from.ref(), 0, size, to.ref(), 0, static_cast<int>((pe + 1) % pes));
            tags.prepare(static_cast<int>(pe), 0, 1, op.start(word{pe * 1000}), firing::each_round);
            tags.prepare(static_cast<int>(pe), 1, 2,
                         op.then(static_cast<int>((pe + 1) % pes), 2).start(word{pe * 1000}));
        }
        for (std::uint64_t run = 1; run <= 4; ++run) {
            rt.run(trigger_once{run < 4 ? 0u : 1u, run < 4 ? 1u : 2u}, tags, box);
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                EXPECT_EQ(counts.copy_out(pe), (std::vector<std::uint64_t>{run, 0})) << "run " << run;
            }
        }
        for (const auto& tag : tags.waiting()) EXPECT_EQ(tag.tag, 2u);
        EXPECT_EQ(tags.waiting().size(), pes);
    });
}

/// A message whose handler takes its time, and then stores without an atomic.
struct slow_word {
    std::uint32_t place;
};
struct store_slowly {
    symmetric_ref<std::uint32_t> stored;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const slow_word& m) const {
        for (int i = 0; i < 30; ++i) ctx.pause(1);
        stored.local(ctx)[m.place] = m.place + 1;
    }
};
/// One lane of each PE sets off a message to the next PE for each place, and waits for what comes from the one before.
struct await_ends {
    symmetric_ref<std::uint32_t> stored;
    symmetric_ref<std::uint64_t> told, wrong;

    template <class Ctx, class Triggers, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers, Box&) const {
        if (ctx.local_rank() != 0) return;
        const auto mine = stored.local(ctx);
        for (std::uint32_t place = 0; place < stored.size(); ++place) {
            if (triggers.trigger(ctx, place) != status::ok) return;
            if (triggers.wait_signal(ctx, told[place], 1) != status::ok) return;
            const std::uint32_t found = mine[place];
            if (found != place + 1) atomic_add(ctx, wrong[0], 1);
        }
    }
};

TEST_P(trigger_messages_test, SignalsFollowTheEndOfHandlers) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        constexpr std::uint32_t places = 4;
        const auto stored = rt.allocate<std::uint32_t>(places);
        // A signal a place: two messages on their way may be handled in either order.
        const auto told = rt.allocate<std::uint64_t>(places), wrong = rt.allocate<std::uint64_t>(1);
        const auto box = rt.mailbox<slow_word>(store_slowly{stored.ref()});
        auto tags = rt.triggers({.tags = places + 1}).with(followed(box));
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            for (std::uint32_t place = 0; place < places; ++place) {
                const auto op = trigger_operation::nothing((pe + 1) % rt.n_pes()).signal(told.ref()[place]);
                tags.prepare(pe, place, 1, op.then(pe, places).start(slow_word{place}).when_done());
            }
            tags.prepare(pe, places, places, trigger_operation::nothing(pe));
        }
        rt.run(await_ends{stored.ref(), told.ref(), wrong.ref()}, tags, box);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(wrong.copy_out(pe)[0], 0u);
        EXPECT_TRUE(tags.waiting().empty());
    });
}

/// A message that goes round: its handler counts, and has it posted to the next PE by a tag, so often.
struct next_hop {
    std::uint32_t tag;
};
struct pass_on {
    trigger_ref tags;
    symmetric_ref<std::uint64_t> hops;
    std::uint64_t most;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const next_hop& m) const {
        if (atomic_add(ctx, hops[0], 1) + 1 < most) (void)trigger(ctx, tags, m.tag);  // a failure ends the run
    }
};
/// One lane of each PE prepares the tag; one of PE 0 triggers it.
struct prepare_hop {
    template <class Ctx, class Triggers, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers, Box&) const {
        if (ctx.local_rank() != 0) return;
        const auto op = trigger_operation::nothing((ctx.pe() + 1) % ctx.n_pes()).start(next_hop{1});
        if (triggers.prepare(ctx, 1, 1, op, firing::each_round) != status::ok || ctx.pe() != 0) return;
        if (triggers.trigger(ctx, 1) == status::ok) (void)triggers.wait_fired(ctx, 1, 3);  // a failure ends the run
    }
};

TEST_P(trigger_messages_test, HandlersTriggerTheNextMessage) {
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto hops = rt.allocate<std::uint64_t>(1);
        const auto tags = rt.triggers({.tags = 2});
        const auto box = rt.mailbox<next_hop>(pass_on{tags.tags(), hops.ref(), 5});
        rt.run(prepare_hop{}, tags.with(box), box);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(hops.copy_out(pe)[0], pe == 1 % rt.n_pes() ? 5u : 4u);
    });
}

/// More messages than the queue of those that are forwarded may hold, all due at once.
TEST_P(trigger_messages_test, MessagesWaitForRoom) {
    every_fourth_round(GetParam(), [](options o) {
        o.forward_slots = 2;
        runtime rt(o);
        constexpr std::uint32_t n = 20;
        const auto to = rt.allocate<std::uint32_t>(1);
        const auto counts = rt.allocate<std::uint64_t>(2);
        const auto box = rt.mailbox<word>(count_word{to.ref(), counts.ref()});
        auto tags = rt.triggers({.tags = n}).with(box);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            for (std::uint32_t tag = 0; tag < n; ++tag) {
                const auto op = trigger_operation::nothing(static_cast<int>(tag) % rt.n_pes());
                tags.prepare(pe, tag, 1, (tag == 0 ? op : op.then(pe, tag - 1)).start(word{0}));
            }
        }
        rt.run(trigger_once{n - 1}, tags, box);
        std::uint64_t sum = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) sum += counts.copy_out(pe)[0];
        EXPECT_EQ(sum, std::uint64_t{n} * static_cast<unsigned>(rt.n_pes()));
        EXPECT_TRUE(tags.waiting().empty());
    });
}

INSTANTIATE_TEST_SUITE_P(devices, trigger_messages_test, testing::ValuesIn(trigger_devices()), name_of);

}  // namespace
}  // namespace laneway::test
