// What a warp does for a pool of tasks: looks for one, and has it run by itself or by its block.
#pragma once

#include "laneway/comm/roles.hpp"
#include "laneway/task/task_runner.hpp"

namespace laneway {

/// Members are called as component.hpp says.
template <class Ctx, class Out, class... Types>
class task_agent {
public:
    static constexpr bool polls = true;
    static constexpr bool attends = true;

    LANEWAY_FN task_agent(const Ctx& ctx, const task_pool_ref<Types...>& pool, Out& out, task_shared* shared,
                          const roles& mine, block_team<Ctx>& team, std::uint32_t number)
        : pool_(pool), out_(out), shared_(shared), team_(team), number_(number),
          runner_(pool, shared, static_cast<std::uint32_t>(ctx.block()) % pool.rings.n_shards,
                  {pool.nodes, &shared->deques, mine.works ? static_cast<std::uint32_t>(mine.team_number) : 0}) {}

    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() == 0 && ctx.lane() == 0) shared_->open();
    }
    LANEWAY_FN void close(Ctx& ctx) const {
        if constexpr (any_nodes) {
            if (ctx.lane() == 0) runner_.deques().give_back_all(ctx);
        }
    }

    LANEWAY_FN void attend(Ctx& ctx) {
        if (pool_.rings.may_pass_on(ctx)) pool_.rings.pass_on(ctx);
    }

    LANEWAY_FN void refresh([[maybe_unused]] Ctx& ctx) {
        if constexpr (any_nodes) runner_.deques().refresh(ctx);
    }

    LANEWAY_FN bool poll(Ctx& ctx) {
        // A warp of one lane has other things to do than its turn, each of which costs.
        constexpr int at_once = Ctx::warp_lanes == 1 ? 32 : 1;
        if (once(ctx, full_warp<Ctx>, [&] { return leaves_; }) != 0) return false;
        bool worked = false;
        for (int i = 0; i < at_once && run_one(ctx); ++i) {
            worked = true;
            if (at_once == 1 || any_nodes) look_up(ctx);
            if (at_once > 1 && ends(ctx)) break;
        }
        if (ctx.lane() == 0 && (!worked || runner_.done() >= max_done)) complete(ctx);
        return worked;
    }

private:
    using kind = task_source::kind;
    static constexpr bool any_nodes = use_nodes<Types...>;
    static constexpr bool any_blocks = ((width_of<Types> == task_width::block) || ...);
    static constexpr std::uint32_t max_done = 32;
    static constexpr unsigned idle_patience = 5;

    LANEWAY_FN bool run_one(Ctx& ctx) {
        if (is_called_away(ctx)) {
            be_idle(ctx, false);
            return false;
        }
        if (kept_.what == kind::none) kept_ = find(ctx);
        if (kept_.what == kind::none || !start(ctx, kept_)) return false;
        kept_ = {};
        return true;
    }
    /// Counts what this warp has done as completed, for all at once: thousands of warps add to one word. Lane 0.
    LANEWAY_FN void complete(Ctx& ctx) {
        if (runner_.done() == 0) return;
        out_.complete(ctx, runner_.done());
        runner_.forget_done();
    }
    /// Behind what it has run: tells the host that the PE gets on, which of spawned tasks hears nothing until all that
    /// hang together are done, and behind long tasks asks whether the program ends: the loop of a warp that always has
    /// work asks too seldom for these.
    LANEWAY_FN void look_up(Ctx& ctx) {
        constexpr std::uint64_t long_ns = 1'000'000;
        if (ctx.lane() != 0) return;
        const std::uint64_t before = looked_ns_;
        looked_ns_ = show_life(ctx, pool_.rings, before);
        if (looked_ns_ - before > long_ns) leaves_ = std::uint32_t{stopped(ctx)};
    }

    /// Takes a task that was spawned or submitted by a lane, or one from the host. The whole warp.
    LANEWAY_FN task_source find(Ctx& ctx) {
        task_source found;
        if constexpr (any_nodes) {
            const std::uint32_t node = runner_.deques().find(ctx);
            if (node != 0) {
                found = {kind::node, node - 1};
                be_idle(ctx, false);
            }
        }
        if (found.what == kind::none) found = take(ctx);
        if (found.what == kind::none) {
            const task_portion::outcome filled = shared_->portion.fill(ctx, pool_.rings);
            if (filled == task_portion::outcome::filled) found = take(ctx);
            if (found.what == kind::none) be_idle(ctx, true);
            // One warp of an idle block looks for tasks; if all did they would take each other's time, and the control
            // warp's.
            if (Ctx::warp_lanes == 32 && filled == task_portion::outcome::others) ctx.pause(idle_patience);
        }
        ctx.sync(full_warp<Ctx>);  // what lane 0 acquired is visible to the lanes that read the node, or the slot
        return found;
    }
    LANEWAY_FN task_source take(Ctx& ctx) {
        task_source found;
        if (ctx.lane() == 0) found = shared_->portion.take(ctx, is_idle_);
        found = shuffle_value(ctx, full_warp<Ctx>, found, 0);
        if (found.what != kind::none) is_idle_ = false;
        return found;
    }
    LANEWAY_FN void be_idle(Ctx& ctx, bool now) {
        if (is_idle_ != now && ctx.lane() == 0) shared_->portion.count_idle(ctx, now);
        is_idle_ = now;
    }

    /// Takes part in what the team of the block has begun; whether that is a task of another component, for whose turn
    /// this one makes way.
    LANEWAY_FN bool is_called_away(Ctx& ctx) {
        if constexpr (any_blocks) {
            for (;;) {
                const std::uint32_t caller = team_.called_by(ctx);
                if (caller == team_.nobody) return false;
                if (caller != number_) return true;
                take_part(ctx);
            }
        }
        return false;
    }
    /// Runs a task of this warp's, with its block where that is its type's width; false where another warp leads that.
    LANEWAY_FN bool start(Ctx& ctx, const task_source& source) {
        if constexpr (any_blocks) {
            if (is_for_block(source)) {
                if (!team_.lead(ctx)) return false;
                if (ctx.lane() == 0) shared_->called = source;
                team_.call(ctx, number_);
                take_part(ctx);
                return true;
            }
        }
        runner_.run(ctx, source, nullptr);
        return true;
    }
    LANEWAY_FN bool is_for_block(const task_source& source) const {
        const std::uint32_t type = source.what == kind::node    ? pool_.nodes.at(source.number).type
                                   : source.what == kind::range ? pool_.rings.words->ranges[source.number].type
                                                                : pool_.rings.slot(source.number).type;
        bool found = false;
        pool_.types.visit(task_slot::number_of(type),
                          [&]<class Type>(const Type&) { found = width_of<Type> == task_width::block; });
        return found;
    }
    /// In the task that the block has begun. Its leader lets its slot or node go, and counts it.
    LANEWAY_FN void take_part(Ctx& ctx) {
        team_.take_part(ctx, [&](bool leads) {
            const task_source source = shared_->called;
            runner_.run(ctx, source, &team_);
            if (!team_.sync(ctx) || !leads) return;
            runner_.let_go(ctx, source);
        });
    }

    const task_pool_ref<Types...>& pool_;
    Out& out_;
    task_shared* shared_;
    block_team<Ctx>& team_;
    std::uint32_t number_;
    task_runner<Ctx, Types...> runner_;
    task_source kept_;          ///< taken, and not begun: another warp of the block led
    bool is_idle_ = false;      ///< counted among the idle warps of the block
    std::uint32_t leaves_ = 0;  ///< lane 0's: not 0 when the program ends, and what is left stays
    std::uint64_t looked_ns_ = 0;
};

}  // namespace laneway
