// What a warp does for a pool of tasks: looks for one, runs it, tells whoever waits for it.
#pragma once

#include "laneway/comm/roles.hpp"
#include "laneway/simt/fail.hpp"
#include "laneway/simt/user_code.hpp"
#include "laneway/task/task_failures.hpp"
#include "laneway/task/task_rings_ref.hpp"
#include "laneway/task/task_worker.hpp"

namespace laneway {

/// What the warps of a block know of the shards, and of the task that they run together; in shared memory.
struct task_shared {
    static constexpr int max_warps = 32;

    alignas(16) std::uint64_t filled[max_task_shards];
    std::uint64_t claimed[max_task_shards];  ///< as far as the block knows
    std::uint32_t ready[max_task_shards];    ///< whether spawned tasks seem to wait
    std::uint32_t joins[max_warps];          ///< of the tasks that warps run by themselves
    task_team_shared team;

    LANEWAY_FN void open() { *this = {}; }
};

template <class... Types>
struct task_pool_ref;

/// Members are called as component.hpp says.
template <class Ctx, class Out, class... Types>
class task_agent {
public:
    static constexpr bool polls = true;
    static constexpr bool attends = true;

    LANEWAY_FN task_agent(const task_pool_ref<Types...>& pool, Out& out, task_shared* shared, const roles& mine)
        : pool_(pool), out_(out), shared_(shared),
          own_(static_cast<std::uint32_t>(mine.team_number) % pool.rings.n_shards),
          team_(&shared->team, mine.team_index, mine.team_warps) {}

    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() == 0 && ctx.lane() == 0) shared_->open();
    }
    LANEWAY_FN void close(Ctx&) const {}

    LANEWAY_FN void attend(Ctx& ctx) {
        if (ctx.load(pool_.rings.is_open, order::relaxed, scope::device) == 0) return;
        for (auto s = static_cast<std::uint32_t>(ctx.lane()); s < pool_.rings.n_shards; s += Ctx::warp_lanes) {
            pool_.rings.pass_on(ctx, s);
        }
    }

    LANEWAY_FN void refresh(Ctx& ctx) {
        for (std::uint32_t s = 0; s < pool_.rings.n_shards; ++s) {
            // Relaxed: they only say that looking is worth while.
            const task_shard& shard = pool_.rings.shards[s];
            ctx.store(&shared_->claimed[s], ctx.load(&shard.claimed, order::relaxed, scope::device), order::relaxed,
                      scope::block);
            ctx.store(&shared_->filled[s], ctx.load(&shard.known, order::relaxed, scope::device), order::relaxed,
                      scope::block);
            if constexpr (any_spawns) {
                const std::uint64_t head = ctx.load(&pool_.nodes.stacks[s].ready, order::relaxed, scope::device);
                ctx.store(&shared_->ready[s], static_cast<std::uint32_t>(head), order::relaxed, scope::block);
            }
        }
    }

    LANEWAY_FN bool poll(Ctx& ctx) {
        if (help_team(ctx)) return true;
        if constexpr (any_spawns) {
            const std::uint32_t found = once(ctx, full_warp<Ctx>, [&] { return find_spawned(ctx); });
            if (found != 0) {
                ctx.sync(full_warp<Ctx>);  // what lane 0 acquired is visible to the lanes that read the node
                start(ctx, {found - 1, true});
                return true;
            }
        }
        claimed_tasks mine;
        mine.count = once(ctx, full_warp<Ctx>, [&] {
            mine = find(ctx);
            return mine.count;
        });
        if (mine.count == 0) return false;
        mine.shard = ctx.shuffle(full_warp<Ctx>, mine.shard, 0);
        mine.first = ctx.shuffle(full_warp<Ctx>, mine.first, 0);
        ctx.sync(full_warp<Ctx>);  // as above
        for (std::uint32_t i = 0; i < mine.count && (i == 0 || !ends(ctx)); ++i) {
            start(ctx, {(mine.first + i) * max_task_shards + mine.shard, false});
            help_team(ctx);
        }
        return true;
    }

private:
    static constexpr bool any_spawns = (spawns_tasks<Types> || ...);
    static constexpr bool any_blocks = ((width_of<Types> == task_width::block) || ...);

    /// Where a task lies: the number of its node, or that of its slot and the shard.
    struct task_source {
        std::uint64_t number;
        bool is_spawned;

        [[nodiscard]] LANEWAY_FN std::uint32_t shard() const {
            return static_cast<std::uint32_t>(number % max_task_shards);
        }
        [[nodiscard]] LANEWAY_FN std::uint64_t slot() const { return number / max_task_shards; }
    };

    /// Claims entries of the first shard that has some, from the own one on. One lane.
    LANEWAY_FN claimed_tasks find(Ctx& ctx) {
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
    /// 1 more than the number of a node, or 0. One lane.
    LANEWAY_FN std::uint32_t find_spawned(Ctx& ctx) {
        for (std::uint32_t i = 0; i < pool_.rings.n_shards; ++i) {
            const std::uint32_t s = (own_ + i) % pool_.rings.n_shards;
            if (ctx.load(&shared_->ready[s], order::relaxed, scope::block) == 0) continue;
            const std::uint32_t found = pool_.nodes.take_ready(ctx, s);
            if (found != 0) return found;
            ctx.store(&shared_->ready[s], 0u, order::relaxed, scope::block);
        }
        return 0;
    }

    /// Runs a task of this warp's, with its block where that is its type's width.
    LANEWAY_FN void start(Ctx& ctx, const task_source& source) {
        if constexpr (any_blocks) {
            if (is_for_block(source)) return lead(ctx, source);
        }
        run(ctx, source, nullptr);
        if (ctx.lane() == 0) out_.complete(ctx, 1);
    }
    LANEWAY_FN bool is_for_block(const task_source& source) const {
        const std::uint32_t type = source.is_spawned ? pool_.nodes.at(static_cast<std::uint32_t>(source.number)).type
                                                     : pool_.rings.slot(source.shard(), source.slot()).type;
        bool found = false;
        pool_.types.visit(type, [&]<class Type>(const Type&) { found = width_of<Type> == task_width::block; });
        return found;
    }
    LANEWAY_FN void lead(Ctx& ctx, const task_source& source) {
        while (!team_.lead(ctx)) {
            if (!help_team(ctx)) ctx.pause();
            if (ends(ctx)) return;
        }
        team_.call(ctx, source.number * 2 + (source.is_spawned ? 1 : 0));
        ctx.sync(full_warp<Ctx>);
        take_part(ctx);
    }
    /// Takes part in the task that the block has begun, if it has.
    LANEWAY_FN bool help_team(Ctx& ctx) {
        if constexpr (any_blocks) {
            if (!team_.is_called(ctx)) return false;
            take_part(ctx);
            return true;
        }
        return false;
    }
    LANEWAY_FN void take_part(Ctx& ctx) {
        team_.come();
        if (!team_.sync(ctx)) return;
        const std::uint64_t source = team_.shared().source;
        run(ctx, {source / 2, source % 2 != 0}, &team_);
    }

    /// Runs what a slot or a node holds, and tells who waits for it. The whole warp; with a team, all of its warps.
    LANEWAY_FN void run(Ctx& ctx, const task_source& source, task_team<Ctx>* team) {
        if (source.is_spawned) {
            run_spawned(ctx, static_cast<std::uint32_t>(source.number), team);
        } else {
            run_entry(ctx, source.shard(), source.slot(), team);
        }
    }

    LANEWAY_FN void run_entry(Ctx& ctx, std::uint32_t shard, std::uint64_t number, task_team<Ctx>* team) {
        task_slot& slot = pool_.rings.slot(shard, number);
        come_behind(ctx, pool_.failures);  // of all tasks that were done before: it may follow them
        task_origin origin;
        origin.record = slot.record;
        const std::uint32_t count = slot.count;
        const std::byte* const behind = reinterpret_cast<const std::byte*>(&slot) + task_slot::header_bytes;
        pool_.types.visit(slot.type, [&]<class Type>(const Type& body) {
            using arguments = typename Type::arguments;
            if (count == 0) {
                const arguments given = *reinterpret_cast<const arguments*>(behind);
                origin.status = reinterpret_cast<std::uint32_t*>(slot.outcome);
                origin.result = slot.outcome + task_slot::result_at;
                if (team == nullptr) give_back(ctx, shard, number);
                call(ctx, body, given, origin, team);
                finish(ctx, origin, team);
            } else {
                run_piece(ctx, body, slot, shard, number, team);
            }
        });
        if (team != nullptr) end_team(ctx, [&] { give_back(ctx, shard, number); });
    }

    /// Runs the tasks of a piece of a batch, one after the other.
    template <class Type>
    LANEWAY_FN void run_piece(Ctx& ctx, const Type& body, task_slot& slot, std::uint32_t shard, std::uint64_t number,
                              task_team<Ctx>* team) {
        using arguments = typename Type::arguments;
        const std::uint32_t count = slot.count, first = slot.first;
        const task_piece piece =
            *reinterpret_cast<const task_piece*>(reinterpret_cast<const std::byte*>(&slot) + task_slot::header_bytes);
        const std::uint32_t record = slot.record;
        if (team == nullptr) give_back(ctx, shard, number);
        task_origin origin;
        origin.record = record;
        if constexpr (spawns_tasks<Type>) origin.join = join_of_piece(ctx, origin, team);
        origin.can_spawn = origin.join != 0 ? 1 : 0;
        for (std::uint32_t i = 0; i < count && (i % 16 != 15 || !ends(ctx)); ++i) {
            const arguments given = reinterpret_cast<const arguments*>(piece.arguments)[i];
            origin.index = first + i;
            origin.status = piece.statuses + i;
            origin.result = piece.results + i * result_bytes_of<typename Type::result>;
            if (origin.join != 0 && is_first(ctx, team)) {
                ctx.fetch_add(&pool_.nodes.at(origin.join - 1).open, 1u, order::relaxed, scope::device);
            }
            call(ctx, body, given, origin, team);
            if constexpr (spawns_tasks<Type>) {
                if (origin.join != 0) finish(ctx, origin, team);
                sync(ctx, team);  // the next task has a join of its own
            }
        }
        if (is_first(ctx, team)) tell(ctx, origin.join, record);
    }

    /// What the tasks of a piece tell when they are done: a join of the piece, as some of them may spawn others. All
    /// lanes get the same; 0: there is no room for one.
    LANEWAY_FN std::uint32_t join_of_piece(Ctx& ctx, const task_origin& origin, task_team<Ctx>* team) {
        std::uint32_t join = 0;
        if (is_first(ctx, team)) {
            join = pool_.nodes.make_join(ctx, own_, origin);
            if (team != nullptr) team->shared().piece_join = join;
        }
        if (team == nullptr) return ctx.shuffle(full_warp<Ctx>, join, 0);
        team->sync(ctx);
        return team->shared().piece_join;
    }

    LANEWAY_FN void run_spawned(Ctx& ctx, std::uint32_t number, task_team<Ctx>* team) {
        task_node& node = pool_.nodes.at(number);
        const task_origin origin = node.origin;
        come_behind(ctx, &node);
        const auto let_go = [&] {
            ctx.sync(full_warp<Ctx>);
            if (ctx.lane() == 0) pool_.nodes.give_back(ctx, own_, number);
        };
        pool_.types.visit(node.type, [&]<class Type>(const Type& body) {
            const auto given = *reinterpret_cast<const typename Type::arguments*>(node.arguments());
            if (team == nullptr) let_go();
            call(ctx, body, given, origin, team);
            finish(ctx, origin, team);
        });
        if (team != nullptr) end_team(ctx, let_go);
    }

    /// The end of a task of the team: its leader lets its slot or node go, and counts it.
    template <class LetGo>
    LANEWAY_FN void end_team(Ctx& ctx, const LetGo& let_go) {
        if (!team_.sync(ctx)) return;
        if (!team_.leads(ctx)) return;
        let_go();
        if (ctx.lane() == 0) out_.complete(ctx, 1);
        ctx.sync(full_warp<Ctx>);
        team_.dismiss(ctx);
    }

    /// Whether this lane speaks for the worker.
    static LANEWAY_FN bool is_first(const Ctx& ctx, const task_team<Ctx>* team) {
        return ctx.lane() == 0 && (team == nullptr || team->index() == 0);
    }

    /// Barrier of the worker's lanes.
    static LANEWAY_FN void sync(Ctx& ctx, task_team<Ctx>* team) {
        if (team == nullptr) {
            ctx.sync(full_warp<Ctx>);
        } else {
            (void)team->sync(ctx);
        }
    }

    /// The word in shared memory where the join of the task that runs is found.
    LANEWAY_FN std::uint32_t* join_word(const Ctx& ctx, const task_team<Ctx>* team) const {
        return team != nullptr ? &team->shared().join : &shared_->joins[ctx.warp()];
    }

    /// Runs a body. Behind it, the first lane knows all that the worker's lanes have stored.
    template <class Type>
    LANEWAY_FN void call(Ctx& ctx, const Type& body, const typename Type::arguments& given, const task_origin& origin,
                         task_team<Ctx>* team) {
        task_worker<Ctx, Type, Types...> worker(ctx, pool_.nodes, own_, origin, team, join_word(ctx, team));
        std::uint32_t status = task_status::done;
        if constexpr (catching<Ctx>) {
            const auto run_body = [&] { invoke(ctx, body, given, worker, origin.result); };
            if (pool_.failures->catches(origin.record, origin.index, run_body)) status = task_status::threw;
        } else {
            invoke(ctx, body, given, worker, origin.result);
        }
        if (status == task_status::done) status = worker.status();
        if (status != task_status::done) ctx.store(origin.status, status, order::relaxed, scope::system);
        sync(ctx, team);
    }

    template <class Type>
    static LANEWAY_FN void invoke(Ctx& ctx, const Type& body, const typename Type::arguments& given,
                                  task_worker<Ctx, Type, Types...>& worker, std::byte* result) {
        using result_type = typename Type::result;
        const auto run_body = [&]() -> result_type {
            if constexpr (requires { body(ctx, given, worker); }) {
                return call_needs_LANEWAY_FN(body, ctx, given, worker);
            } else {
                return call_needs_LANEWAY_FN(body, ctx, given);
            }
        };
        if constexpr (std::is_void_v<result_type>) {
            run_body();
        } else {
            const result_type value = run_body();
            if (worker.lane() == 0 && result != nullptr) *reinterpret_cast<result_type*>(result) = value;
        }
    }

    /// The body of a task has returned: its first lane tells whoever waits for it.
    LANEWAY_FN void finish(Ctx& ctx, const task_origin& origin, const task_team<Ctx>* team) {
        if (!is_first(ctx, team)) return;
        std::uint32_t join = 0;
        // Partner: the exchange in task_worker::own_join.
        if constexpr (any_spawns) join = ctx.exchange(join_word(ctx, team), 0u, order::acq_rel, scope::block);
        tell(ctx, join != 0 ? join : origin.join, origin.record);
    }

    /// One less is open in a join, and in those above it that come to an end with it; above all of them waits the host.
    /// One lane.
    LANEWAY_FN void tell(Ctx& ctx, std::uint32_t join, std::uint32_t record) {
        while (join != 0) {
            task_node& node = pool_.nodes.at(join - 1);
            go_before(ctx, &node);
            // Partner: itself, of other tasks. The last one has seen what all have done.
            if (ctx.fetch_add(&node.open, ~0u, order::acq_rel, scope::device) != 1) return;
            come_behind(ctx, &node);
            if (node.follows != 0) return pool_.nodes.make_ready(ctx, own_, join - 1);
            const std::uint32_t above = node.origin.join;
            pool_.nodes.give_back(ctx, own_, join - 1);
            join = above;
        }
        go_before(ctx, pool_.failures);
        // Where the program is ending, bodies may have left their waits before they were over.
        if (!stopped(ctx)) pool_.rings.announce(ctx, own_, record);
    }

    /// All lanes have read the slot.
    LANEWAY_FN void give_back(Ctx& ctx, std::uint32_t shard, std::uint64_t number) const {
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) pool_.rings.give_back(ctx, shard, number);
    }

    /// Whether the program is ending, for all lanes alike. The whole warp.
    static LANEWAY_FN bool ends(Ctx& ctx) {
        return once(ctx, full_warp<Ctx>, [&] { return std::uint32_t{stopped(ctx)}; }) != 0;
    }

    const task_pool_ref<Types...>& pool_;
    Out& out_;
    task_shared* shared_;
    std::uint32_t own_;  ///< the shard of this block
    task_team<Ctx> team_;
};

}  // namespace laneway
