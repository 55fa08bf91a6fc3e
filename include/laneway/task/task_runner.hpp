// What a worker does with a task that it has taken: calls its body, and tells whoever waits for it.
#pragma once

#include "laneway/simt/fail.hpp"
#include "laneway/simt/user_code.hpp"
#include "laneway/task/task_failures.hpp"
#include "laneway/task/task_rings_ref.hpp"
#include "laneway/task/task_stage.hpp"
#include "laneway/task/task_worker.hpp"

namespace laneway {

/// What the warps of a block know of the shards, and of the task that they run together; in shared memory.
struct task_shared {
    static constexpr int max_warps = 32;

    alignas(16) std::uint64_t filled[max_task_shards];
    std::uint64_t claimed[max_task_shards];  ///< as far as the block knows
    std::uint32_t joins[max_warps];          ///< of the tasks that warps run by themselves
    std::uint64_t called;                    ///< task that the team runs: twice its number, and 1 if it was spawned
    std::uint32_t team_join;                 ///< of that task, as task_origin has it
    std::uint32_t team_piece_join;           ///< of the piece of a batch whose tasks the team runs
    task_deques_shared deques;
    task_stage stages[max_warps];

    /// What is staged needs no beginning.
    LANEWAY_FN void open() {
        for (std::uint32_t s = 0; s < max_task_shards; ++s) filled[s] = claimed[s] = 0;
        for (std::uint32_t& join : joins) join = 0;
        team_join = 0;
        deques.open();
    }
};

template <class... Types>
struct task_pool_ref;

/// Where a task lies: the number of its node, or that of its slot and the shard.
struct task_source {
    std::uint64_t number;
    bool is_spawned;

    [[nodiscard]] LANEWAY_FN std::uint32_t shard() const {
        return static_cast<std::uint32_t>(number % max_task_shards);
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t slot() const { return number / max_task_shards; }
};

/// Whether the program is ending, for all lanes alike. The whole warp.
template <class Ctx>
LANEWAY_FN bool ends(Ctx& ctx) {
    return once(ctx, full_warp<Ctx>, [&] { return std::uint32_t{stopped(ctx)}; }) != 0;
}

/// A warp's, or one of a block's warps.
template <class Ctx, class... Types>
class task_runner {
public:
    /// `shard`: of the block, for its news.
    LANEWAY_FN task_runner(const task_pool_ref<Types...>& pool, task_shared* shared, std::uint32_t shard,
                           const task_deques<Ctx>& deques)
        : pool_(pool), shared_(shared), own_(shard), deques_(deques) {}

    /// Runs what a slot or a node holds. The whole warp; with a team, all of its warps, and the slot or node is let go
    /// when they have met.
    LANEWAY_FN void run(Ctx& ctx, const task_source& source, block_team<Ctx>* team) {
        if (source.is_spawned) {
            run_spawned(ctx, static_cast<std::uint32_t>(source.number), team);
        } else {
            run_entry(ctx, source, team);
        }
    }
    /// All lanes have read the slot, or the node: it may hold another task.
    LANEWAY_FN void let_go(Ctx& ctx, const task_source& source) const {
        ctx.sync(full_warp<Ctx>);
        if (!source.is_spawned) {
            if (ctx.lane() == 0) pool_.rings.give_back(ctx, source.shard(), source.slot());
            return;
        }
        if (ctx.lane() == 0) deques_.give_back(ctx, static_cast<std::uint32_t>(source.number));
        ctx.sync(full_warp<Ctx>);  // the others may allocate
    }

private:
    static constexpr bool any_spawns = (spawns_tasks<Types> || ...);

    LANEWAY_FN void run_entry(Ctx& ctx, const task_source& source, block_team<Ctx>* team) {
        task_slot& slot = pool_.rings.slot(source.shard(), source.slot());
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
                if (team == nullptr) let_go(ctx, source);
                call(ctx, body, given, origin, team);
                finish(ctx, origin, team);
            } else {
                run_piece(ctx, body, slot, source, team);
            }
        });
    }

    /// Runs the tasks of a piece of a batch.
    template <class Type>
    LANEWAY_FN void run_piece(Ctx& ctx, const Type& body, task_slot& slot, const task_source& source,
                              block_team<Ctx>* team) {
        const std::uint32_t count = slot.count;
        const task_piece piece =
            *reinterpret_cast<const task_piece*>(reinterpret_cast<const std::byte*>(&slot) + task_slot::header_bytes);
        task_origin origin;
        origin.record = slot.record;
        origin.index = slot.first;
        if (team == nullptr) let_go(ctx, source);
        if constexpr (spawns_tasks<Type>) origin.join = join_of_piece(ctx, origin, team);
        origin.can_spawn = origin.join != 0 ? 1 : 0;
        const std::uint64_t start = ctx.now_ns();
        if constexpr (width_of<Type> == task_width::lane) {
            run_lanes(ctx, body, piece, count, origin);
        } else {
            run_tasks(ctx, body, piece, count, origin, team);
        }
        if (is_first(ctx, team)) tell(ctx, origin.join, origin.record, (ctx.now_ns() - start) / count + 1);
    }

    /// One after the other; `origin` is that of the first.
    template <class Type>
    LANEWAY_FN void run_tasks(Ctx& ctx, const Type& body, const task_piece& piece, std::uint32_t count,
                              task_origin origin, block_team<Ctx>* team) {
        using arguments = typename Type::arguments;
        constexpr std::size_t result_bytes = result_bytes_of<typename Type::result>;
        constexpr std::uint32_t staged = task_stage::tasks<Ctx, Type>();
        std::uint32_t i = 0;
        for (; i < count && (i % 16 != 15 || !ends(ctx)); ++i, ++origin.index) {
            const std::byte* from = piece.arguments + i * sizeof(arguments);
            origin.status = piece.statuses + i;
            origin.result = piece.results + i * result_bytes;
            if constexpr (staged != 0) {
                if (team == nullptr) {
                    if (i % staged == 0) stage<Type>(ctx, piece, i, count);
                    from = shared_->stages[ctx.warp()].arguments + i % staged * sizeof(arguments);
                    origin.result = shared_->stages[ctx.warp()].results + i % staged * result_bytes;
                }
            }
            const arguments given = *reinterpret_cast<const arguments*>(from);
            if (origin.join != 0 && is_first(ctx, team)) {
                ctx.fetch_add(&pool_.nodes.at(origin.join - 1).open, 1u, order::relaxed, scope::device);
            }
            call(ctx, body, given, origin, team);
            if constexpr (spawns_tasks<Type>) {
                if (origin.join != 0) finish(ctx, origin, team);
                sync(ctx, team);  // the next task has a join of its own
            }
        }
        if constexpr (staged != 0) {
            if (team == nullptr && i == count) stage<Type>(ctx, piece, count, count);
        }
    }

    /// The same where a lane runs a task by itself: the lanes of the warp side by side.
    template <class Type>
    LANEWAY_FN void run_lanes(Ctx& ctx, const Type& body, const task_piece& piece, std::uint32_t count,
                              const task_origin& first) {
        using arguments = typename Type::arguments;
        constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
        std::uint32_t turn = 0;
        for (std::uint32_t i = static_cast<std::uint32_t>(ctx.lane()); turn * lanes < count; ++turn, i += lanes) {
            if (turn % 16 == 15 && ends(ctx)) return;
            if (i < count) {
                task_origin origin = first;
                origin.index += i;
                origin.status = piece.statuses + i;
                origin.result = piece.results + i * result_bytes_of<typename Type::result>;
                run_body(ctx, body, *reinterpret_cast<const arguments*>(piece.arguments + i * sizeof(arguments)),
                         origin, nullptr);
            }
            ctx.sync(full_warp<Ctx>);
        }
    }

    /// Brings the results of the last tasks of a piece to the host and fetches the arguments of those from `next` on.
    /// The whole warp, behind a barrier.
    template <class Type>
    LANEWAY_FN void stage(Ctx& ctx, const task_piece& piece, std::uint32_t next, std::uint32_t count) {
        constexpr std::uint32_t room = task_stage::tasks<Ctx, Type>();
        task_stage& mine = shared_->stages[ctx.warp()];
        if (next != 0) {
            const std::uint32_t first = (next - 1) / room * room;
            mine.template deliver<Type>(ctx, piece, first, next - first);
        }
        if (next != count) mine.template fetch<Type>(ctx, piece, next, count - next < room ? count - next : room);
        ctx.sync(full_warp<Ctx>);
    }

    /// What the tasks of a piece tell when they are done: a join of the piece, as some of them may spawn others. All
    /// lanes get the same; 0: there is no room for one.
    LANEWAY_FN std::uint32_t join_of_piece(Ctx& ctx, const task_origin& origin, block_team<Ctx>* team) {
        std::uint32_t join = 0;
        if (is_first(ctx, team)) {
            join = deques_.make_join(ctx, origin);
            if (team != nullptr) shared_->team_piece_join = join;
        }
        if (team == nullptr) return ctx.shuffle(full_warp<Ctx>, join, 0);
        team->sync(ctx);
        return shared_->team_piece_join;
    }

    LANEWAY_FN void run_spawned(Ctx& ctx, std::uint32_t number, block_team<Ctx>* team) {
        task_node& node = pool_.nodes.at(number);
        const task_origin origin = node.origin;
        come_behind(ctx, &node);
        pool_.types.visit(node.type, [&]<class Type>(const Type& body) {
            const auto given = *reinterpret_cast<const typename Type::arguments*>(node.arguments());
            if (team == nullptr) let_go(ctx, {number, true});
            call(ctx, body, given, origin, team);
            finish(ctx, origin, team);
        });
    }

    /// Whether this lane speaks for the worker.
    static LANEWAY_FN bool is_first(const Ctx& ctx, const block_team<Ctx>* team) {
        return ctx.lane() == 0 && (team == nullptr || team->index() == 0);
    }

    /// Barrier of the worker's lanes.
    static LANEWAY_FN void sync(Ctx& ctx, block_team<Ctx>* team) {
        if (team == nullptr) {
            ctx.sync(full_warp<Ctx>);
        } else {
            (void)team->sync(ctx);
        }
    }

    /// The word in shared memory where the join of the task that runs is found.
    LANEWAY_FN std::uint32_t* join_word(const Ctx& ctx, const block_team<Ctx>* team) const {
        return team != nullptr ? &shared_->team_join : &shared_->joins[ctx.warp()];
    }

    /// Runs a task's body on its lanes. Behind it, the first lane knows all that they have stored.
    template <class Type>
    LANEWAY_FN void call(Ctx& ctx, const Type& body, const typename Type::arguments& given, const task_origin& origin,
                         block_team<Ctx>* team) {
        if (width_of<Type> != task_width::lane || ctx.lane() == 0) run_body(ctx, body, given, origin, team);
        sync(ctx, team);
    }

    template <class Type>
    LANEWAY_FN void run_body(Ctx& ctx, const Type& body, const typename Type::arguments& given,
                             const task_origin& origin, block_team<Ctx>* team) {
        task_worker<Ctx, Type, Types...> worker(ctx, deques_, origin, team, join_word(ctx, team));
        std::uint32_t status = task_status::done;
        if constexpr (catching<Ctx>) {
            const auto run = [&] { invoke(ctx, body, given, worker, origin.result); };
            if (pool_.failures->catches(origin.record, origin.index, run)) status = task_status::threw;
        } else {
            invoke(ctx, body, given, worker, origin.result);
        }
        if (status == task_status::done) status = worker.status();
        if (status != task_status::done) ctx.store(origin.status, status, order::relaxed, scope::system);
    }

    template <class Type>
    static LANEWAY_FN void invoke(Ctx& ctx, const Type& body, const typename Type::arguments& given,
                                  task_worker<Ctx, Type, Types...>& worker, std::byte* result) {
        using result_type = typename Type::result;
        const auto run = [&]() -> result_type {
            if constexpr (requires { body(ctx, given, worker); }) {
                return call_needs_LANEWAY_FN(body, ctx, given, worker);
            } else {
                return call_needs_LANEWAY_FN(body, ctx, given);
            }
        };
        if constexpr (std::is_void_v<result_type>) {
            run();
        } else {
            const result_type value = run();
            if (worker.lane() == 0 && result != nullptr) *reinterpret_cast<result_type*>(result) = value;
        }
    }

    /// The body of a task has returned: its first lane tells whoever waits for it.
    LANEWAY_FN void finish(Ctx& ctx, const task_origin& origin, const block_team<Ctx>* team) {
        if (!is_first(ctx, team)) return;
        std::uint32_t join = 0;
        // Partner: the exchange in task_worker::own_join.
        if constexpr (any_spawns) join = ctx.exchange(join_word(ctx, team), 0u, order::acq_rel, scope::block);
        tell(ctx, join != 0 ? join : origin.join, origin.record, 0);
    }

    /// One less is open in a join, and in those above it that come to an end with it; above all of them waits the host.
    /// One lane.
    LANEWAY_FN void tell(Ctx& ctx, std::uint32_t join, std::uint32_t record, std::uint64_t nanoseconds) {
        while (join != 0) {
            task_node& node = pool_.nodes.at(join - 1);
            go_before(ctx, &node);
            // Partner: itself, of other tasks. The last one has seen what all have done.
            if (ctx.fetch_add(&node.open, ~0u, order::acq_rel, scope::device) != 1) return;
            come_behind(ctx, &node);
            if (node.follows != 0) return deques_.push(ctx, join - 1);
            const std::uint32_t above = node.origin.join;
            deques_.give_back(ctx, join - 1);
            join = above;
        }
        go_before(ctx, pool_.failures);
        // Where the program is ending, bodies may have left their waits before they were over.
        if (!stopped(ctx)) pool_.rings.announce(ctx, own_, record, nanoseconds);
    }

    const task_pool_ref<Types...>& pool_;
    task_shared* shared_;
    std::uint32_t own_;
    const task_deques<Ctx>& deques_;
};

}  // namespace laneway
