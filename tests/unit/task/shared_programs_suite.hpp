// Programs of several components with work of their own: each goes on while lanes wait for what another does.
#pragma once

#include "laneway/run/communicator.hpp"
#include "shared_job.hpp"

namespace laneway::test {
namespace {

class shared_programs_test : public shared_program_test {};

/// Triggers a tag of the PE that runs it.
struct trigger_there {
    using arguments = std::uint32_t;
    static constexpr lw::width width = lw::width::block;
    trigger_ref tags;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& tag, Worker& worker) const {
        if (worker.lane() == 0) (void)trigger(ctx, tags, tag);  // a failure ends the run
    }
};

/// Lanes of all PEs wait for tags that functions trigger: all lanes, or one of each PE.
struct fire_by_command {
    bool all;
    template <class Ctx, class Remote, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote, Triggers& triggers) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes();
        if (is_first_lane(ctx) && remote.post(ctx, next, task<trigger_there>, 2) != status::ok) return;
        if (all || is_first_lane(ctx)) (void)triggers.wait_fired(ctx, 2, 1);  // a failure ends the run
    }
};

TEST_P(shared_programs_test, CommandsRunWhereAllLanesWaitForTriggers) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        runtime rt(job(seed));
        auto tags = rt.triggers({.tags = 8});
        remote_queue remote(rt.machine(), trigger_there{tags.tags()});
        for (int pe = 0; pe < rt.n_pes(); ++pe) tags.prepare(pe, 2, 1, trigger_operation::nothing(pe));
        rt.run(fire_by_command{seed % 2 == 0}, remote, tags);
        EXPECT_EQ(remote.statistics().run, static_cast<unsigned>(rt.n_pes()));
    }
}

/// One lane of each PE goes round the components: gives the next PE something by one of them, waits for the same from
/// the PE before, and goes on to the next component while that PE may still wait.
struct go_round {
    static constexpr std::uint64_t words = 1024;
    symmetric_ref<std::uint64_t> from, to, told, right;
    std::uint32_t done;
    std::uint64_t rounds;
    bool backwards;

    template <class Ctx, class Remote, class Triggers, class World, class Box>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote, Triggers& triggers, World& world, Box& box) const {
        if (is_first_lane(ctx)) {
            for (std::uint64_t i = 0; i < 3 * rounds; ++i) {
                if (step(ctx, backwards ? 2 - i % 3 : i % 3, i / 3 + 1, remote, triggers, world) != status::ok) return;
            }
            atomic_add(ctx, right[0], 1);
        }
        (void)box.barrier(ctx);  // a failure ends the run
    }

private:
    template <class Ctx, class Remote, class Triggers, class World>
    LANEWAY_FN status step(Ctx& ctx, std::uint64_t component, std::uint64_t round, Remote& remote, Triggers& triggers,
                           World& world) const {
        const int next = (ctx.pe() + 1) % ctx.n_pes(), before = (ctx.pe() + ctx.n_pes() - 1) % ctx.n_pes();
        if (component == 0) {  // a command there raises a signal here
            const remote_request how{0, {ctx.pe(), done, 1}};
            const status posted = remote.post(ctx, next, task<trigger_there>, 7, how);
            return posted == status::ok ? remote.wait_signal(ctx, done, round) : posted;
        }
        if (component == 1) {  // a put that warps carry out in pieces
            const status triggered = triggers.trigger(ctx, 1);
            return triggered == status::ok ? triggers.wait_signal(ctx, told[1], round) : triggered;
        }
        message_request in, out;  // and a message that its receiver fetches
        status result = world.irecv(ctx, to[words], words, before, 4, in);
        if (result == status::ok) result = world.isend(ctx, from[0], words, next, 4, out);
        if (result == status::ok) result = world.wait(ctx, in);
        return result == status::ok ? world.wait(ctx, out) : result;
    }
};

TEST_P(shared_programs_test, ComponentsGoOnWhileLanesWaitForOthers) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        runtime rt(job(seed));
        constexpr std::uint64_t words = go_round::words;
        const auto from = rt.allocate<std::uint64_t>(words), to = rt.allocate<std::uint64_t>(2 * words);
        const auto told = rt.allocate<std::uint64_t>(2), right = rt.allocate<std::uint64_t>(1);
        auto tags = rt.triggers({.tags = 8});
        auto world = rt.communicator();
        const auto box = rt.mailbox<unit_message>(ignore_message{});
        remote_queue remote(rt.machine(), trigger_there{tags.tags()});
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto put = trigger_operation::put(from.ref(), 0, words, to.ref(), 0, (pe + 1) % rt.n_pes());
            tags.prepare(pe, 1, 1, put.signal(told.ref()[1]), firing::each_round);
            tags.prepare(pe, 7, 1, trigger_operation::nothing(pe), firing::each_round);
        }
        const auto done = remote.signal(told, 0);
        rt.run(go_round{from.ref(), to.ref(), told.ref(), right.ref(), done, 3, seed % 2 == 0}, remote, tags, world,
               box);
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(right.copy_out(pe)[0], 1u);
    }
}

/// A function for a block, of which there may be several kinds.
template <int Kind>
struct add_as_block {
    using arguments = std::uint64_t;
    static constexpr lw::width width = lw::width::block;
    symmetric_ref<std::uint64_t> sum;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& n, Worker& worker) const {
        if (worker.sync(ctx) && worker.lane() == 0) atomic_add(ctx, sum[Kind], n);
    }
};
TEST_P(shared_programs_test, BlocksWorkForTwoRemoteQueuesAndAPool) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        runtime rt(job(seed, true));
        const auto sum = rt.allocate<std::uint64_t>(2);
        remote_queue first(rt.machine(), add_as_block<0>{sum.ref()});
        remote_queue second(rt.machine(), add_as_block<1>{sum.ref()});
        task_pool pool(twice_as_block{});
        auto session = rt.start(first, pool, second);
        std::vector<task_future<std::uint32_t>> tasks;
        for (std::uint32_t i = 0; i < 30; ++i) {
            const int pe = static_cast<int>(i) % rt.n_pes();
            first.post<add_as_block<0>>(pe, 1);
            tasks.push_back(pool.submit<twice_as_block>(i));
            second.post<add_as_block<1>>(pe, 2);
        }
        for (std::uint32_t i = 0; i < 30; ++i) ASSERT_EQ(tasks[i].get(), 2 * i);
        session.quiesce();
        session.stop();
        std::uint64_t found[2] = {};
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            for (int i = 0; i < 2; ++i) found[i] += sum.copy_out(pe)[static_cast<std::size_t>(i)];
        }
        EXPECT_EQ(found[0], 30u);
        EXPECT_EQ(found[1], 60u);
    }
}

LANEWAY_ON_DEVICES(shared_programs_test, remote_devices());

}  // namespace
}  // namespace laneway::test
