// Tasks that triggers start: from lanes and host threads, in chains, and where they go wrong.
#pragma once

#include "shared_job.hpp"

namespace laneway::test {
namespace {

class triggered_tasks_test : public shared_program_test {};

/// A task that lanes submit: adds to a sum, and triggers a tag of its PE; or fails, throws, or never ends.
struct add_and_trigger {
    enum : std::uint32_t { well, fails, throws, stays };
    struct arguments {
        std::uint64_t n;
        std::uint32_t tag;  ///< 0: none
        std::uint32_t how;
    };
    using result = void;
    static constexpr bool from_lanes = true;
    trigger_ref tags;
    symmetric_ref<std::uint64_t> sum;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& given, Worker& worker) const {
        if (worker.lane() != 0) return;
        atomic_add(ctx, sum[0], given.n);
#if !defined(__CUDACC__)
        if (given.how == throws) throw std::runtime_error("as it was told");
#endif
        while (given.how == stays && !stopped(ctx)) ctx.pause(1);
        if (given.how == fails) worker.fail(7);
        if (given.tag != 0) (void)trigger(ctx, tags, given.tag);  // a failure ends the program
    }
};

/// Host threads trigger tasks, which trigger the next PE's, and messages; few of them have room at once.
TEST_P(triggered_tasks_test, TriggersSubmitTasksAndPostMessages) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        runtime rt(job(seed, true));
        const auto sum = rt.allocate<std::uint64_t>(1);
        const auto tags = rt.triggers({.tags = 8});
        task_pool pool(task_pool_options{.triggered_tasks = 1 + static_cast<std::uint32_t>(seed)},
                       add_and_trigger{tags.tags(), sum.ref()}, twice_as_block{});
        const auto box = rt.mailbox<unit_message>(ignore_message{});
        auto triggers = tags.with(box, pool);
        using call = task_call<add_and_trigger>;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto op = trigger_operation::nothing(pe), next = trigger_operation::nothing((pe + 1) % rt.n_pes());
            triggers.prepare(pe, 1, 2, op.start(call{{1, 2, 0}}), firing::each_round);
            triggers.prepare(pe, 2, 1, next.then((pe + 1) % rt.n_pes(), 3).start(unit_message{}), firing::each_round);
            triggers.prepare(pe, 3, 1, op.start(call{{100, 0, 0}}), firing::each_round);
            triggers.prepare(pe, 4, 1, op.start(call{{10'000, 0, 0}}));
        }
        auto session = rt.start(triggers, box, pool);
        auto twice = pool.submit<twice_as_block>(4);
        for (std::uint64_t epoch = 1; epoch <= 2; ++epoch) {
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                for (int i = 0; i < 10; ++i) triggers.trigger(pe, 1);
                if (epoch == 2) triggers.trigger(pe, 4);
            }
            session.quiesce();
            for (int pe = 0; pe < rt.n_pes(); ++pe) {
                EXPECT_EQ(sum.copy_out(pe)[0], epoch * 505 + (epoch - 1) * 10'000) << "PE " << pe;
            }
        }
        EXPECT_EQ(twice.get(), 8u);
        EXPECT_EQ(session.stop().posted, 10u * static_cast<unsigned>(rt.n_pes()));
    }
}

/// A task that lanes submit, which holds its node while it spawns.
struct spawn_as_block {
    using arguments = std::uint32_t;
    using result = void;
    static constexpr bool from_lanes = true, spawns = true;
    static constexpr task_width width = task_width::block;
    symmetric_ref<std::uint64_t> sum;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& left, Worker& worker) const {
        if (worker.lane() != 0) return;
        atomic_add(ctx, sum[0], 1);
        if (left != 0 && !worker.spawn(ctx, task<spawn_as_block>, left - 1)) worker.fail(left);
    }
};

/// Fails where the sum of its PE is another one.
struct expect_sum {
    using arguments = std::uint64_t;
    using result = void;
    static constexpr bool from_lanes = true;
    symmetric_ref<std::uint64_t> sum;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& expected, Worker& worker) const {
        if (worker.lane() == 0 && atomic_add(ctx, sum[0], 0) != expected) worker.fail(9);
        if (worker.index() != 0) worker.fail(8);
    }
};

/// Tag 0 starts a task that spawns seven others, tag 1 follows when all are done, and starts one that looks.
template <class Triggers>
void prepare_chain(runtime& rt, Triggers& triggers, symmetric_ref<std::uint64_t> told) {
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const auto op = trigger_operation::nothing(pe);
        triggers.prepare(pe, 0, 1, op.then(pe, 1).start(task_call<spawn_as_block>{7}).when_done());
        triggers.prepare(pe, 1, 1, op.signal(told[0]).start(task_call<expect_sum>{8}).when_done());
    }
}
struct trigger_first {
    std::uint32_t tag = 0;
    template <class Ctx, class Triggers, class Pool>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers, Pool&) const {
        if (is_first_lane(ctx)) (void)triggers.trigger(ctx, tag);  // a failure ends the run
    }
};

TEST_P(triggered_tasks_test, ChainsWaitForTheEndOfTriggeredTasks) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        runtime rt(job(seed, true));
        const auto sum = rt.allocate<std::uint64_t>(1);
        auto told = rt.allocate<std::uint64_t>(1);
        task_pool pool(spawn_as_block{sum.ref()}, expect_sum{sum.ref()});
        auto triggers = rt.triggers({.tags = 2}).with(pool);
        prepare_chain(rt, triggers, told.ref());
        if (seed % 2 == 0) {
            auto session = rt.start(triggers, pool);
            for (int pe = 0; pe < rt.n_pes(); ++pe) triggers.trigger(pe, 0);
            session.stop();
        } else {
            rt.run(trigger_first{}, triggers, pool);
        }
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(told.copy_out(pe)[0], 1u);
        EXPECT_TRUE(triggers.waiting().empty());
    }
}

/// A pool whose agents are copies of those that it made, as compilers may return what is trivially copied.
template <class... Types>
struct copied_pool_ref : task_pool_ref<Types...> {
    template <class Ctx, class Out>
    LANEWAY_FN auto agent(Ctx& ctx, Out& out, const roles& mine, std::byte* shared, block_team<Ctx>& team,
                          std::uint32_t number) const {
        auto made = task_pool_ref<Types...>::agent(ctx, out, mine, shared, team, number);
        const auto copy = made;
        auto* const bytes = reinterpret_cast<volatile unsigned char*>(&made);
        for (std::size_t i = 0; i < sizeof made; ++i) bytes[i] = 0xff;
        return copy;
    }
};
template <class... Types>
struct copied_pool : task_pool<Types...> {
    using task_pool<Types...>::task_pool;
    using ref_type = copied_pool_ref<Types...>;
    [[nodiscard]] ref_type ref(int pe) const { return {task_pool<Types...>::ref(pe)}; }
};

TEST_P(triggered_tasks_test, AgentsMayBeCopies) {
    runtime rt(job(1, true));
    const auto sum = rt.allocate<std::uint64_t>(1);
    auto told = rt.allocate<std::uint64_t>(1);
    const copied_pool<spawn_as_block, expect_sum> pool(spawn_as_block{sum.ref()}, expect_sum{sum.ref()});
    auto triggers = rt.triggers({.tags = 2}).with(pool);
    prepare_chain(rt, triggers, told.ref());
    rt.run(trigger_first{}, triggers, pool);
    for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(told.copy_out(pe)[0], 1u);
}

TEST_P(triggered_tasks_test, RunsTriggerTasks) {
    runtime rt(job(2, true));
    const auto sum = rt.allocate<std::uint64_t>(1);
    const auto tags = rt.triggers({.tags = 4});
    task_pool pool(task_pool_options{.triggered_tasks = 2}, add_and_trigger{tags.tags(), sum.ref()});
    auto triggers = tags.with(pool);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        const auto op = trigger_operation::nothing(pe);
        triggers.prepare(pe, 0, 1, op.start(task_call<add_and_trigger>{{1, 2, 0}}), firing::each_round);
        triggers.prepare(pe, 2, 1, op.start(task_call<add_and_trigger>{{100, 0, 0}}), firing::each_round);
    }
    const auto box = rt.mailbox<unit_message>(ignore_message{});
    for (std::uint64_t run = 1; run <= 50; ++run) {
        if (run % 8 == 0) rt.run(do_nothing{}, box);  // the counts of another program
        rt.run(trigger_first{}, triggers, pool);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(sum.copy_out(pe)[0], run * 101);
    }
#if !defined(__CUDACC__)
    const task_nodes_ref nodes = pool.ref(0).nodes;
    std::uint64_t changes = 0;  // of the stacks of free nodes, since they were made
    for (std::uint32_t b = 0; b < nodes.n_blocks; ++b) changes += nodes.blocks[b].free_for_lanes >> 32;
    EXPECT_GE(changes, 2 * 2 * 50u);
#endif
    const auto fails = trigger_operation::nothing(0).start(task_call<add_and_trigger>{{0, 0, add_and_trigger::fails}});
    triggers.prepare(0, 3, 1, fails, firing::each_round);
    EXPECT_THROW(rt.run(trigger_first{3}, triggers, pool), device_fault);
    rt.run(trigger_first{}, triggers, pool);
    EXPECT_EQ(sum.copy_out(0)[0], 51 * 101u) << "behind one that failed";
    EXPECT_THROW((void)pool.submit<add_and_trigger>({}), usage_error) << "no session";
    EXPECT_EQ(thrown<usage_error>([&] { (void)rt.triggers().with(pool); }),
              "a pool of tasks belongs to one component of triggers: with()");
    task_pool others(twice_as_block{});
    says(thrown<usage_error>([&] { others.begin(rt.machine(), {}, run_deadline(1)); }),
         "none of its types is from_lanes");
}

TEST_P(triggered_tasks_test, TriggersLeaveTasksThatSpawnTheirRoom) {
    runtime rt(job(3, true));
    const auto sum = rt.allocate<std::uint64_t>(1);
    task_pool pool(task_pool_options{.spawned_tasks = 2, .triggered_tasks = 1}, spawn_as_block{sum.ref()});
    auto triggers = rt.triggers({.tags = 1}).with(pool);
    triggers.prepare(0, 0, 1, trigger_operation::nothing(0).start(task_call<spawn_as_block>{1}), firing::each_round);
    auto session = rt.start(triggers, pool);
    for (std::uint64_t i = 1; i <= 3; ++i) {
        triggers.trigger(0, 0);
        session.quiesce();
        EXPECT_EQ(sum.copy_out(0)[0], 2 * i);
    }
    session.stop();
}

TEST_P(triggered_tasks_test, TriggeredTasksThatGoWrongAreNamed) {
    const auto go_wrong = [&](std::uint32_t how, std::uint32_t room) {
        options o = job(1, true);
        if (room == 0 || how == add_and_trigger::stays) o.timeout_seconds = 1;  // real time: a host thread waits
        runtime rt(o);
        const auto sum = rt.allocate<std::uint64_t>(1);
        const auto tags = rt.triggers({.tags = 2});
        task_pool pool(task_pool_options{.triggered_tasks = room}, add_and_trigger{tags.tags(), sum.ref()});
        auto triggers = tags.with(pool);
        triggers.prepare(0, 1, 1,
                         trigger_operation::nothing(0).start(task_call<add_and_trigger>{{1, 0, how}}).when_done());
        EXPECT_EQ(thrown<usage_error>([&] { (void)rt.start(triggers); }),
                  "triggers submit tasks of a pool that is not part of the same run or session");
        auto session = rt.start(pool, triggers);
        triggers.trigger(0, 1);
        session.quiesce();
        session.stop();
    };
    says(thrown<device_fault>([&] { go_wrong(add_and_trigger::fails, 4); }),
         "the application reported an error while running a task that a lane has submitted: task type 0, with 7");
#if !defined(__CUDACC__)
    says(thrown<lane_error>([&] { go_wrong(add_and_trigger::throws, 4); }),
         "exception in task type 0 of a pool, submitted by a lane: as it was told");
#endif
    says(thrown<timeout_error>([&] { go_wrong(add_and_trigger::well, 0); }),
         "; tag 1 of PE 0 finds no room for what it starts");
    says(thrown<timeout_error>([&] { go_wrong(add_and_trigger::stays, 4); }),
         "; tag 1 of PE 0 waits for the end of what it has started");
    runtime rt(job(1, true));
    const auto sum = rt.allocate<std::uint64_t>(1);
    const auto tags = rt.triggers({.tags = 2});
    auto triggers = tags.with(task_pool(add_and_trigger{tags.tags(), sum.ref()}));
    EXPECT_EQ(thrown<usage_error>([&] {
                  triggers.prepare(0, 1, 1,
                                   trigger_operation::nothing(rt.n_pes() - 1).start(task_call<add_and_trigger>{}));
                  if (rt.n_pes() == 1)
                      throw usage_error(
                          "tag 1 of PE 0: a task starts on the PE of its tag: have it triggered there by then()");
              }),
              "tag 1 of PE 0: a task starts on the PE of its tag: have it triggered there by then()");
}

LANEWAY_ON_DEVICES(triggered_tasks_test, remote_devices());

}  // namespace
}  // namespace laneway::test
