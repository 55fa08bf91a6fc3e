// Remote queues: what is posted runs once, where it was posted to, with what has landed for it, and its end is told.
#pragma once

#include "remote_job.hpp"

namespace laneway::test {
namespace {

class remote_queue_test : public testing::TestWithParam<std::string> {};

constexpr std::uint64_t most_commands = std::uint64_t{1} << 16;

/// Each lane posts commands of all widths, in both queues, to all PEs, and waits until they have run, or leaves them to
/// warps whose bodies have returned.
struct flood {
    std::uint64_t each;
    std::uint32_t done;
    bool waits;
    symmetric_ref<std::uint64_t> posts;

    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        for (std::uint64_t i = 0; i < each; ++i) {
            const std::uint64_t id = ctx.rank() * each + i;
            const int pe = static_cast<int>((id * 7 + i) % static_cast<unsigned>(ctx.n_pes()));
            const remote_request how{static_cast<std::uint32_t>(id % 2), {ctx.pe(), done, 1}};
            status posted = status::ok;
            switch ((id + i) % 3) {
                case 0: posted = remote.post(ctx, pe, task<mark_lane>, id, how); break;
                case 1: posted = remote.post(ctx, pe, task<mark_warp>, id, how); break;
                default: posted = remote.post(ctx, pe, task<mark_block>, id, how);
            }
            if (posted != status::ok) return;
            atomic_add(ctx, posts[0], 1);
        }
        if (waits) (void)remote.wait_signal(ctx, done, each * ctx.local_size());  // a failure ends the run
    }
};

TEST_P(remote_queue_test, EachCommandRunsOnceWhereItWasPostedTo) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto marks = rt.allocate<std::uint64_t>(most_commands), lanes = rt.allocate<std::uint64_t>(2);
        const auto told = rt.allocate<std::uint64_t>(3), posts = rt.allocate<std::uint64_t>(1);
        remote_queue remote(
            rt.machine(),
            {.priorities = {0, 1}, .slots = 1u << o.seed % 3, .shards = static_cast<std::uint32_t>(o.seed % 4)},
            mark_lane{marks.ref(), lanes.ref()}, mark_warp{marks.ref(), lanes.ref()},
            mark_block{marks.ref(), lanes.ref()});
        const auto done = remote.signal(told, 1);
        constexpr std::uint64_t each = 3;
        for (std::uint64_t run = 1; run <= 2; ++run) {
            const std::uint64_t before = told.copy_out(0)[1], filled = fills(rt);
            rt.run(flood{each, done, before == 0 && o.seed % 2 == 0, posts.ref()}, remote);
            EXPECT_EQ(fills(rt), filled) << "tickets run on";
            std::uint64_t all = 0, runs = 0, posted = 0;
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                all += told.copy_out(pe)[1];
                posted += posts.copy_out(pe)[0];
                EXPECT_EQ(told.copy_out(pe)[0] + told.copy_out(pe)[2], 0u);
                const auto found = lanes.copy_out(pe);
                EXPECT_EQ(found[0], found[1]);
                const auto here = marks.copy_out(pe);
                for (std::uint64_t id = 0; id < most_commands; ++id) {
                    runs += here[id];
                    const auto target = (id * 7 + id % each) % static_cast<unsigned>(rt.n_pes());
                    if (here[id] == 0) continue;
                    ASSERT_EQ(here[id], static_cast<unsigned>(pe) == target ? run : 0u) << id;
                }
            }
            EXPECT_EQ(runs, posted);
            EXPECT_EQ(all, runs);
            EXPECT_EQ(remote.statistics().run, runs / run);
            ASSERT_GT(runs, 0u);
        }
    });
}

/// Every lane has a signal raised by the most that one command may.
struct raise_much {
    std::uint32_t done;
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        const completion_signal most{0, done, ~std::uint32_t{0}};
        (void)remote.post(ctx, ctx.pe(), task<mark_lane>, 0, {0, most});  // a failure ends the run
    }
};

TEST_P(remote_queue_test, SignalsThatAreRaisedTogetherAddUp) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto marks = rt.allocate<std::uint64_t>(1), lanes = rt.allocate<std::uint64_t>(2);
        const auto told = rt.allocate<std::uint64_t>(1);
        remote_queue remote(rt.machine(), mark_lane{marks.ref(), lanes.ref()});
        rt.run(raise_much{remote.signal(told, 0)}, remote);
        std::uint64_t runs = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) runs += marks.copy_out(pe)[0];
        EXPECT_EQ(told.copy_out(0)[0], runs * ~std::uint32_t{0});
        EXPECT_EQ(remote.statistics().run, runs);
    });
}

/// Adds up what has landed, if it is what the poster had.
struct take_row {
    struct arguments {
        std::uint64_t first;
        std::uint64_t count;
    };
    symmetric_ref<std::uint64_t> sums;  ///< right elements, and wrong ones

    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& row, Worker& worker) const {
        const auto landed = worker.template payload<std::uint32_t>(ctx);
        if (worker.lane() == 0 && worker.landed().count != row.count) atomic_add(ctx, sums[1], 1);
        for (auto i = static_cast<std::uint64_t>(worker.lane()); i < row.count;
             i += static_cast<std::uint64_t>(worker.lanes())) {
            const std::uint32_t found = landed[i];
            atomic_add(ctx, sums[found == row.first + i ? 0 : 1], 1);
        }
    }
};

/// One warp, or one lane, of each PE sends rows to the next PE; the same place may hold the next when it has been read.
struct send_rows {
    symmetric_ref<std::uint32_t> from;
    std::uint32_t buffer;
    std::uint32_t done;
    std::uint64_t rows;
    std::uint64_t count;
    bool by_warp;

    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        const auto warp = static_cast<unsigned>(Ctx::warp_lanes);
        if (ctx.local_rank() >= (by_warp ? warp : 1)) return;
        const auto mine = from.local(ctx);
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        for (std::uint64_t row = 0; row < rows; ++row) {
            const std::uint64_t first = row * 1000 + static_cast<std::uint64_t>(ctx.pe()) * 100;
            const auto lane = static_cast<std::uint64_t>(by_warp ? ctx.lane() : 0);
            for (std::uint64_t i = lane; i < count; i += by_warp ? warp : 1) {
                mine[i + 1] = static_cast<std::uint32_t>(first + i);
            }
            const auto payload = remote_payload::of(from, 1, count, buffer, 3);
            const remote_request how{0, {ctx.pe(), done, 1}};
            if (by_warp) ctx.sync(full_warp<Ctx>);
            const status sent = by_warp ? remote.post_warp(ctx, next, task<take_row>, {first, count}, payload, how)
                                        : remote.post(ctx, next, task<take_row>, {first, count}, payload, how);
            if (sent != status::ok || remote.wait_signal(ctx, done, row + 1) != status::ok) return;
        }
    }
};

TEST_P(remote_queue_test, AFunctionFindsWhatHasLandedForIt) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        constexpr std::uint64_t rows = 4;
        const std::uint64_t count = 1 + o.seed * 37 % 200;
        const auto from = rt.allocate<std::uint32_t>(256), to = rt.allocate<std::uint32_t>(256);
        const auto sums = rt.allocate<std::uint64_t>(2), told = rt.allocate<std::uint64_t>(1);
        remote_queue remote(rt.machine(), {.slots = 2}, take_row{sums.ref()});
        (void)remote.buffer(from);
        const auto buffer = remote.buffer(to);
        rt.run(send_rows{from.ref(), buffer, remote.signal(told, 0), rows, count, o.seed % 2 == 0}, remote);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(sums.copy_out(pe), (std::vector<std::uint64_t>{rows * count, 0}));
            EXPECT_EQ(told.copy_out(pe)[0], rows);
        }
    });
}

/// The last of its lanes stores a number; whoever sees the signal sees it.
struct store_number {
    using arguments = std::uint64_t;
    symmetric_ref<std::uint64_t> number;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& value, Worker& worker) const {
        if (worker.lane() != worker.lanes() - 1) return;
        number.local(ctx)[0] = value + static_cast<std::uint64_t>(worker.source());
    }
};
/// PE 0 posts to PE 1, whose end PE 2 hears.
struct tell_a_third {
    symmetric_ref<std::uint64_t> number;
    symmetric_ref<std::uint64_t> wrong;
    std::uint32_t done;

    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        const int server = 1 % ctx.n_pes(), third = 2 % ctx.n_pes();
        if (!is_first_lane(ctx)) return;
        if (ctx.pe() == 0) (void)remote.post(ctx, server, task<store_number>, 41, {0, {third, done, 7}});
        if (ctx.pe() != third || remote.wait_signal(ctx, done, 7) != status::ok) return;
        const std::uint64_t found = number.at(ctx, server)[0];
        if (found != 41) atomic_add(ctx, wrong[0], 1);
    }
};

TEST_P(remote_queue_test, AThirdPeSeesWhatAFunctionDid) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto number = rt.allocate<std::uint64_t>(1), wrong = rt.allocate<std::uint64_t>(1);
        const auto told = rt.allocate<std::uint64_t>(1);
        remote_queue remote(rt.machine(), store_number{number.ref()});
        rt.run(tell_a_third{number.ref(), wrong.ref(), remote.signal(told, 0)}, remote);
        EXPECT_EQ(told.copy_out(2 % rt.n_pes())[0], 7u);
        EXPECT_EQ(wrong.copy_out(2 % rt.n_pes())[0], 0u);
    });
}

/// Goes on to the next PE, or, where there is no room, is lost and counted.
struct hop {
    using arguments = std::uint64_t;
    symmetric_ref<std::uint64_t> ended;  ///< hops that came to an end, and that found no room
    std::uint32_t copies;

    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& left, Worker& worker) const {
        if (worker.lane() != 0) return;
        if (left == 0) atomic_add(ctx, ended[0], 1);
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        for (std::uint32_t i = 0; i < copies && left > 0; ++i) {
            const status posted = worker.post(ctx, next, task<hop>, left - 1);
            if (posted == status::no_room) atomic_add(ctx, ended[1], 1);
            if (posted != status::ok && posted != status::no_room) return;
        }
    }
};
struct start_hops {
    std::uint64_t hops;
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (is_first_lane(ctx)) (void)remote.post(ctx, ctx.pe(), task<hop>, hops);
    }
};

TEST_P(remote_queue_test, FunctionsPostFurtherAndNeverWait) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto ended = rt.allocate<std::uint64_t>(2);
        const auto sum = [&](std::size_t i) {
            std::uint64_t all = 0;
            for (int pe = 0; pe < rt.n_pes(); ++pe) all += ended.copy_out(pe)[i];
            return all;
        };
        // Room for all: slots are given back after a turn, in which several may have run.
        remote_queue one(rt.machine(), {.slots = 64}, hop{ended.ref(), 1});
        rt.run(start_hops{20}, one);
        EXPECT_EQ(sum(0), static_cast<unsigned>(rt.n_pes()));
        EXPECT_EQ(one.statistics().run, 21u * static_cast<unsigned>(rt.n_pes()));
        // Each has two followers: more than there is room for, in one slot.
        remote_queue two(rt.machine(), {.slots = 1}, hop{ended.ref(), 2});
        rt.run(start_hops{4}, two);
        const auto pes = static_cast<std::uint64_t>(rt.n_pes());
        EXPECT_LE(two.statistics().run, 31 * pes);
        if (sum(1) == 0) {
            EXPECT_EQ(two.statistics().run, 31 * pes);
        }
        if (rt.n_pes() == 1 && o.devices == "cpu:1" && o.cpu_threads == 1) {
            EXPECT_GT(sum(1), 0u);
        }
    });
}

/// Notes in which order the commands of a PE have run.
struct note {
    using arguments = std::uint64_t;
    symmetric_ref<std::uint64_t> order;
    symmetric_ref<std::uint64_t> count;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& what, Worker& worker) const {
        if (worker.lane() == 0) order.local(ctx)[atomic_add(ctx, count[0], 1)] = what;
    }
};
struct post_in_turn {
    std::uint64_t n;
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (!is_first_lane(ctx)) return;
        for (std::uint64_t i = 0; i < n; ++i) {
            const auto queue = static_cast<std::uint32_t>(i % 3);
            if (remote.post(ctx, ctx.pe(), task<note>, queue * 100 + i / 3, {.queue = queue}) != status::ok) return;
        }
    }
};

TEST_P(remote_queue_test, QueuesOfHigherPriorityComeFirst) {
    if (GetParam() != "cpu:1") return;  // one lane, so that nothing runs before all is posted
    options o = options_of(GetParam(), 0);
    o.cpu_threads = 1;
    runtime rt(o);
    const auto order = rt.allocate<std::uint64_t>(30), count = rt.allocate<std::uint64_t>(1);
    remote_queue remote(rt.machine(), {.priorities = {-1, 7, 7}, .slots = 16}, note{order.ref(), count.ref()});
    rt.run(post_in_turn{30}, remote);
    ASSERT_EQ(count.copy_out(0)[0], 30u);
    std::vector<std::uint64_t> expected;
    for (std::uint64_t queue : {1, 2, 0}) {
        for (std::uint64_t i = 0; i < 10; ++i) expected.push_back(queue * 100 + i);
    }
    EXPECT_EQ(order.copy_out(0), expected);
}

/// Holds who runs it until all of a test's commands have run.
struct hold_back {
    using arguments = std::uint64_t;
    static constexpr lw::width width = lw::width::warp;
    symmetric_ref<std::uint64_t> count;
    symmetric_ref<std::uint64_t> held;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& all, Worker& worker) const {
        if (worker.lane() != 0) return;
        atomic_add(ctx, held[0], 1);
        while (atomic_add(ctx, count[0], 0) < all && !stopped(ctx) && !ctx.is_late()) ctx.pause();
    }
};
/// One warp posts, and it alone runs what it has posted: the control warp is held back, and the bodies of the others
/// do not return before.
struct post_and_run {
    std::uint64_t n;
    std::uint32_t done;
    symmetric_ref<std::uint64_t> count;
    symmetric_ref<std::uint64_t> held;
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        const auto is = [&](const symmetric_ref<std::uint64_t>& word, std::uint64_t least) {
            return atomic_add(ctx, word[0], 0) >= least || stopped(ctx) || ctx.is_late();
        };
        if (is_first_lane(ctx)) {
            if (remote.post(ctx, 0, task<hold_back>, n) != status::ok) return;
            while (!is(held, 1)) ctx.pause();
            for (std::uint64_t i = 0; i < n; ++i) {
                const auto queue = static_cast<std::uint32_t>(i % 3);
                if (remote.post(ctx, 0, task<note>, queue * 100 + i / 3, {queue, {0, done, 1}}) != status::ok) return;
            }
        }
        ctx.sync(full_warp<Ctx>);
        if (ctx.rank() / Ctx::warp_lanes == 0) {
            (void)remote.wait_signal(ctx, done, n);  // a failure ends the run
        } else {
            while (!is(count, n)) ctx.pause();
        }
    }
};

TEST_P(remote_queue_test, QueuesOfHigherPriorityComeFirstForLanesTogether) {
    if (GetParam() != "checked:1") return;  // where it is known which warps run commands
    every_fourth_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto order = rt.allocate<std::uint64_t>(30), count = rt.allocate<std::uint64_t>(1);
        const auto told = rt.allocate<std::uint64_t>(1), held = rt.allocate<std::uint64_t>(1);
        remote_queue remote(rt.machine(), {.priorities = {-1, 7, 7}, .slots = 16}, note{order.ref(), count.ref()},
                            hold_back{count.ref(), held.ref()});
        rt.run(post_and_run{30, remote.signal(told, 0), count.ref(), held.ref()}, remote);
        ASSERT_EQ(count.copy_out(0)[0], 30u);
        // Lanes of the warp may come in groups, which note what they run in any order.
        const auto found = order.copy_out(0);
        EXPECT_LE(std::count_if(found.begin(), found.begin() + 10, [](std::uint64_t n) { return n < 100; }), 3);
        EXPECT_LE(std::count_if(found.begin() + 20, found.end(), [](std::uint64_t n) { return n >= 100; }), 3);
    });
}

/// Lanes of a warp of a PE.
std::uint64_t lanes_of_warp(runtime& rt, int pe) {
    return static_cast<std::uint64_t>(warp_lanes_of(*rt.machine().device(pe)));
}

/// One lane posts commands for warps, one after the other, and waits for each, when other warps of its block take turns
/// at what components have to do.
struct post_to_idle_warps {
    std::uint64_t commands;
    std::uint32_t done;
    symmetric_ref<std::uint64_t> posters;

    template <class Ctx, class Box, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Box& box, Remote& remote) const {
        const auto team = box.team();
        if (ctx.lane() != 0 || team.index != 0 || (Ctx::warp_lanes > 1 && team.warps == 1)) return;
        if (atomic_add(ctx, posters[0], 1) != 0) return;
        while (Ctx::warp_lanes > 1 && !box.others_take_turns(ctx)) ctx.pause();
        for (std::uint64_t i = 1; i <= commands; ++i) {
            const remote_request how{0, {ctx.pe(), done, 1}};
            if (remote.post(ctx, ctx.pe(), task<mark_warp>, 0, how) != status::ok) return;
            if (remote.wait_signal(ctx, done, i) != status::ok) return;
        }
    }
};
struct ignore_message {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, std::uint64_t) const {}
};

TEST_P(remote_queue_test, WhoWaitsLeavesFunctionsToWarpsThatHaveNothingElseToDo) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto marks = rt.allocate<std::uint64_t>(1), lanes = rt.allocate<std::uint64_t>(2);
        const auto told = rt.allocate<std::uint64_t>(1), posters = rt.allocate<std::uint64_t>(1);
        auto box = rt.mailbox<std::uint64_t>(ignore_message{});
        remote_queue remote(rt.machine(), mark_warp{marks.ref(), lanes.ref()});
        constexpr std::uint64_t commands = 20;
        rt.run(post_to_idle_warps{commands, remote.signal(told, 0), posters.ref()}, box, remote);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            EXPECT_EQ(marks.copy_out(pe)[0], posters.copy_out(pe)[0] == 0 ? 0 : commands);
            // A lane that waits has no mates to run a function with.
            EXPECT_EQ(lanes.copy_out(pe)[1], lanes_of_warp(rt, pe) * marks.copy_out(pe)[0]);
        }
    });
}

/// One warp posts more commands for warps than a ring has slots, again and again.
struct post_many {
    std::uint64_t rounds;
    std::uint32_t done;

    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (ctx.local_rank() >= static_cast<unsigned>(Ctx::warp_lanes)) return;
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const std::uint64_t id = i * static_cast<unsigned>(Ctx::warp_lanes) + static_cast<unsigned>(ctx.lane());
            if (remote.post(ctx, next, task<mark_warp>, id, {0, {ctx.pe(), done, 1}}) != status::ok) return;
        }
    }
};

TEST_P(remote_queue_test, WhatIsTakenForAWholeBlockRunsOnce) {
    every_round(GetParam(), [](const options& o) {
        runtime rt(o);
        const auto marks = rt.allocate<std::uint64_t>(32 * 40), lanes = rt.allocate<std::uint64_t>(2);
        const auto told = rt.allocate<std::uint64_t>(1);
        remote_queue remote(rt.machine(), {.slots = 1u << (2 + o.seed % 4), .shards = 1},
                            mark_warp{marks.ref(), lanes.ref()});
        constexpr std::uint64_t rounds = 40;
        rt.run(post_many{rounds, remote.signal(told, 0)}, remote);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto found = marks.copy_out(pe);
            const std::uint64_t posted = told.copy_out(pe)[0];
            EXPECT_EQ(posted, lanes_of_warp(rt, pe) * rounds);
            for (std::uint64_t id = 0; id < found.size(); ++id) ASSERT_EQ(found[id], id < posted ? 1u : 0u) << id;
        }
    });
}

LANEWAY_ON_DEVICES(remote_queue_test, remote_devices());

}  // namespace
}  // namespace laneway::test
