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

    LANEWAY_FN task_agent(const task_pool_ref<Types...>& pool, Out& out, task_shared* shared, const roles& mine,
                          block_team<Ctx>& team, std::uint32_t number)
        : pool_(pool), out_(out), shared_(shared), block_(mine.works ? static_cast<std::uint32_t>(mine.team_number) : 0),
          own_(block_ % pool.rings.n_shards), team_(team), number_(number),
          deques_(pool.nodes, &shared->deques, block_), runner_(pool, shared, own_, deques_) {}

    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() == 0 && ctx.lane() == 0) shared_->open();
    }
    LANEWAY_FN void close(Ctx& ctx) const {
        if constexpr (any_spawns) {
            if (ctx.lane() == 0) deques_.give_back_all(ctx);
        }
    }

    LANEWAY_FN void attend(Ctx& ctx) {
        if (ctx.load(pool_.rings.is_open, order::relaxed, scope::device) != 0) pool_.pass_on(ctx);
    }

    /// Relaxed: the words only say that looking is worth while. Some shards at once, as the answers to all loads of a
    /// loop, one after the other, would take tens of microseconds.
    LANEWAY_FN void refresh(Ctx& ctx) {
        constexpr std::uint32_t at_once = Ctx::warp_lanes == 32 ? 4 : 1;
        for (std::uint32_t first = 0; first < pool_.rings.n_shards; first += at_once) {
            std::uint64_t claimed[at_once], filled[at_once];
            for (std::uint32_t k = 0; k < at_once; ++k) {
                const std::uint32_t s = first + k < pool_.rings.n_shards ? first + k : first;
                claimed[k] = ctx.load(&pool_.rings.shards[s].claimed, order::relaxed, scope::device);
                filled[k] = ctx.load(&pool_.rings.shards[s].known, order::relaxed, scope::device);
            }
            for (std::uint32_t k = 0; k < at_once && first + k < pool_.rings.n_shards; ++k) {
                ctx.store(&shared_->claimed[first + k], claimed[k], order::relaxed, scope::block);
                ctx.store(&shared_->filled[first + k], filled[k], order::relaxed, scope::block);
            }
        }
        if constexpr (any_spawns) deques_.refresh(ctx);
    }

    LANEWAY_FN bool poll(Ctx& ctx) {
        const bool worked = run_some(ctx);
        if (!worked || done_ >= max_done) complete(ctx);
        return worked;
    }

private:
    static constexpr bool any_spawns = (spawns_tasks<Types> || ...);
    static constexpr bool any_blocks = ((width_of<Types> == task_width::block) || ...);
    static constexpr std::uint32_t max_done = 32;

    LANEWAY_FN bool run_some(Ctx& ctx) {
        if (is_called_away(ctx)) return false;
        if (kept_.count == 0) kept_ = find(ctx);
        if (kept_.count == 0) return false;
        bool worked = false;
        while (start(ctx, kept_.first())) {
            worked = true;
            kept_.pass();
            if (kept_.count == 0 || is_called_away(ctx)) break;
            if (ends(ctx)) {
                kept_.count = 0;
                break;
            }
        }
        return worked;
    }
    /// Counts what this warp has done as completed, for all at once: thousands of warps add to few words.
    LANEWAY_FN void complete(Ctx& ctx) {
        if (done_ == 0) return;
        if (ctx.lane() == 0) out_.complete(ctx, done_);
        done_ = 0;
    }

    /// Tasks that this warp has taken and not begun.
    struct kept_tasks {
        std::uint64_t number = 0;
        std::uint32_t shard = 0;
        std::uint32_t count = 0;
        bool are_spawned = false;

        [[nodiscard]] LANEWAY_FN task_source first() const {
            return {are_spawned ? number : number * max_task_shards + shard, are_spawned};
        }
        LANEWAY_FN void pass() {
            ++number;
            --count;
        }
    };

    /// Takes tasks: a spawned one, or entries of a shard. The whole warp.
    LANEWAY_FN kept_tasks find(Ctx& ctx) {
        if constexpr (any_spawns) {
            const std::uint32_t found = deques_.find(ctx);
            if (found != 0) {
                ctx.sync(full_warp<Ctx>);  // what lane 0 acquired is visible to the lanes that read the node
                return {found - 1, 0, 1, true};
            }
        }
        claimed_tasks mine;
        mine.count = once(ctx, full_warp<Ctx>, [&] {
            mine = claim(ctx);
            return mine.count;
        });
        if (mine.count == 0) return {};
        mine.shard = ctx.shuffle(full_warp<Ctx>, mine.shard, 0);
        mine.first = ctx.shuffle(full_warp<Ctx>, mine.first, 0);
        ctx.sync(full_warp<Ctx>);  // as above
        return {mine.first, mine.shard, mine.count, false};
    }
    /// Claims entries of the first shard that has some, from the own one on. One lane.
    LANEWAY_FN claimed_tasks claim(Ctx& ctx) {
        for (std::uint32_t i = 0; i < pool_.rings.n_shards; ++i) {
            const std::uint32_t s = (own_ + i) % pool_.rings.n_shards;
            if (ctx.load(&shared_->filled[s], order::relaxed, scope::block) <=
                ctx.load(&shared_->claimed[s], order::relaxed, scope::block)) {
                continue;
            }
            const claimed_tasks found = pool_.rings.claim(ctx, s);
            if (found.count != 0) return found;
            ctx.store(&shared_->claimed[s], found.known, order::relaxed, scope::block);
        }
        return {};
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
                if (ctx.lane() == 0) shared_->called = source.number * 2 + (source.is_spawned ? 1 : 0);
                team_.call(ctx, number_);
                take_part(ctx);
                return true;
            }
        }
        runner_.run(ctx, source, nullptr);
        ++done_;
        return true;
    }
    LANEWAY_FN bool is_for_block(const task_source& source) const {
        const std::uint32_t type = source.is_spawned ? pool_.nodes.at(static_cast<std::uint32_t>(source.number)).type
                                                     : pool_.rings.slot(source.shard(), source.slot()).type;
        bool found = false;
        pool_.types.visit(type, [&]<class Type>(const Type&) { found = width_of<Type> == task_width::block; });
        return found;
    }
    /// In the task that the block has begun. Its leader lets its slot or node go, and counts it.
    LANEWAY_FN void take_part(Ctx& ctx) {
        team_.take_part(ctx, [&](bool leads) {
            const task_source source{shared_->called / 2, shared_->called % 2 != 0};
            runner_.run(ctx, source, &team_);
            if (!team_.sync(ctx) || !leads) return;
            runner_.let_go(ctx, source);
            if (ctx.lane() == 0) out_.complete(ctx, 1);
        });
    }

    const task_pool_ref<Types...>& pool_;
    Out& out_;
    task_shared* shared_;
    std::uint32_t block_;  ///< among the PE's working blocks
    std::uint32_t own_;    ///< the shard of this block
    block_team<Ctx>& team_;
    std::uint32_t number_;
    task_deques<Ctx> deques_;
    task_runner<Ctx, Types...> runner_;
    kept_tasks kept_;
    std::uint32_t done_ = 0;  ///< tasks that are not counted as completed yet
};

}  // namespace laneway
