// What a worker does with a task that it has taken: calls its body, and tells whoever waits for it.
#pragma once

#include "laneway/comm/triggers/trigger_rounds.hpp"
#include "laneway/simt/fail.hpp"
#include "laneway/simt/user_code.hpp"
#include "laneway/task/task_failures.hpp"
#include "laneway/task/task_pace.hpp"
#include "laneway/task/task_portion.hpp"
#include "laneway/task/task_stage.hpp"
#include "laneway/task/task_worker.hpp"

namespace laneway {

/// What the warps of a block share of a pool; in shared memory.
struct task_shared {
    static constexpr int max_warps = 32;

    task_portion portion;
    task_deques_shared deques;
    std::uint32_t joins[max_warps];     ///< of the tasks that warps run by themselves
    std::uint32_t statuses[max_warps];  ///< of single tasks that they run
    std::uint32_t team_join;            ///< of the task that the team runs
    std::uint32_t team_status;
    std::uint32_t team_piece_join;  ///< of the part of a range whose tasks the team runs
    task_source called;             ///< what the team runs
    task_stage stages[max_warps];

    /// What is staged needs no beginning.
    LANEWAY_FN void open() {
        portion.open();
        deques.open();
        for (int w = 0; w < max_warps; ++w) joins[w] = statuses[w] = 0;
        team_join = team_status = 0;
    }
};

template <class... Types>
struct task_pool_ref;

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

    /// Runs what has been taken. The whole warp; with a team, all of its warps, and the slot or node is let go when
    /// they have met.
    LANEWAY_FN void run(Ctx& ctx, const task_source& source, block_team<Ctx>* team) {
        if (source.what == task_source::kind::node) {
            run_spawned(ctx, source.number, team);
            if (is_first(ctx, team)) ++done_;
            return;
        }
        come_behind(ctx, pool_.failures);  // of all tasks that were done before: it may follow them
        if (source.what == task_source::kind::range) return run_part(ctx, source, team);
        run_entry(ctx, source.number, team);
    }
    /// All lanes have read the slot, or the node: it may hold another task.
    LANEWAY_FN void let_go(Ctx& ctx, const task_source& source) const {
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) {
            if (source.what == task_source::kind::node) deques_.give_back(ctx, source.number);
            if (source.what == task_source::kind::entry) pool_.rings.let_go(ctx, source.number, order::release);
        }
        ctx.sync(full_warp<Ctx>);  // the others may allocate
    }
    /// Spawned tasks that this warp has run, and entries that ended with them, since the last call; of lane 0.
    [[nodiscard]] LANEWAY_FN std::uint32_t done() const { return done_; }
    LANEWAY_FN void forget_done() { done_ = 0; }
    [[nodiscard]] LANEWAY_FN const task_deques<Ctx>& deques() const { return deques_; }

private:
    static constexpr bool any_spawns = (spawns_tasks<Types> || ...);
    static constexpr bool any_from_lanes = (from_lanes<Types> || ...);

    /// Runs a single task from the host.
    LANEWAY_FN void run_entry(Ctx& ctx, std::uint32_t entry, block_team<Ctx>* team) {
        const task_slot* slot = &pool_.rings.slot(entry);
        const bool staged = team == nullptr && pool_.rings.slot_bytes <= task_stage::part_bytes;
        if (staged) slot = take_to_stage(ctx, entry);
        task_origin origin;
        origin.record = slot->record;
        std::byte* const outcome = pool_.rings.outcome(slot->place);
        pool_.types.template visit_here<Ctx>(task_slot::number_of(slot->type), [&]<class Type>(const Type& body) {
            const auto given = *reinterpret_cast<const typename Type::arguments*>(slot + 1);
            if (team == nullptr && !staged) let_go(ctx, {task_source::kind::entry, entry});
            if constexpr (spawns_tasks<Type>) {
                origin.status = reinterpret_cast<std::uint32_t*>(outcome);
                origin.result = outcome + task_outcome::result_at;
                if (is_first(ctx, team)) ctx.store(origin.status, task_status::done, order::relaxed, scope::system);
                sync(ctx, team);
                call(ctx, body, given, origin, team);
                finish(ctx, origin, team);
            } else {
                task_stage& stage = shared_->stages[ctx.warp()];
                origin.status = status_word(ctx, team);
                constexpr bool fits = result_bytes_of<typename Type::result> <= task_stage::part_bytes;
                origin.result = fits ? stage.results : outcome + task_outcome::result_at;
                call(ctx, body, given, origin, team);
                if (is_first(ctx, team)) tell_single<Type, fits>(ctx, origin, outcome);
            }
        });
    }
    /// Copies an entry into the warp's part of shared memory, and lets its slot go: what has been stored there has been
    /// read. The whole warp.
    LANEWAY_FN const task_slot* take_to_stage(Ctx& ctx, std::uint32_t entry) {
        constexpr std::size_t word = 16;
        std::byte* const to = shared_->stages[ctx.warp()].arguments;
        const auto* const from = reinterpret_cast<const std::byte*>(&pool_.rings.slot(entry));
        copy_words<word>(to, from, pool_.rings.slot_bytes, task_stage::share_of(ctx));
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) pool_.rings.let_go(ctx, entry, Ctx::tagged_order);
        return reinterpret_cast<const task_slot*>(to);
    }
    /// A single task is done that spawns none: a short result travels with the news. One lane.
    template <class Type, bool Staged>
    LANEWAY_FN void tell_single(Ctx& ctx, const task_origin& origin, std::byte* outcome) {
        constexpr std::size_t bytes = result_bytes_of<typename Type::result>;
        task_news told{origin.record, task_news::result, {0, 0}};
        const std::uint32_t status =
            ctx.exchange(origin.status, std::uint32_t{task_status::done}, order::relaxed, scope::block);
        if (bytes <= sizeof told.value && status == task_status::done) {
            if constexpr (bytes != 0 && bytes <= sizeof told.value) __builtin_memcpy(told.value, origin.result, bytes);
        } else {
            told.info = task_news::outcome;
            ctx.store(reinterpret_cast<std::uint32_t*>(outcome), status, order::relaxed, scope::system);
            if constexpr (Staged) copy_bytes(outcome + task_outcome::result_at, origin.result, bytes);
        }
        announce(ctx, told);
    }

    /// Runs a part of a range.
    LANEWAY_FN void run_part(Ctx& ctx, const task_source& source, block_team<Ctx>* team) {
        const task_range& range = pool_.rings.words->ranges[source.number];
        task_origin origin;
        origin.record = range.record;
        task_piece piece = range.piece;
        origin.index = piece.first + source.first;
        origin.range = static_cast<std::uint16_t>(source.number + 1);
        piece.statuses += source.first;
        const std::uint32_t team_warps = team == nullptr ? 1 : static_cast<std::uint32_t>(team->warps());
        const std::uint32_t place = team == nullptr ? 0 : static_cast<std::uint32_t>(team->index());
        for (std::uint32_t i = place * Ctx::warp_lanes + static_cast<std::uint32_t>(ctx.lane()); i < source.count;
             i += team_warps * Ctx::warp_lanes) {
            ctx.store(piece.statuses + i, std::uint32_t{task_status::done}, order::relaxed, scope::system);
        }
        sync(ctx, team);
        const bool same = (range.type & task_slot::same_arguments) != 0;
        pool_.types.template visit_here<Ctx>(task_slot::number_of(range.type), [&]<class Type>(const Type& body) {
            if (!same) piece.arguments += source.first * sizeof(typename Type::arguments);
            piece.results += source.first * result_bytes_of<typename Type::result>;
            run_piece(ctx, body, piece, same, source.count, origin, team);
        });
    }

    template <class Type>
    LANEWAY_FN void run_piece(Ctx& ctx, const Type& body, const task_piece& piece, bool same, std::uint32_t count,
                              task_origin origin, block_team<Ctx>* team) {
        if constexpr (spawns_tasks<Type>) origin.join = join_of_piece(ctx, origin, count, team);
        origin.can_spawn = origin.join != 0 ? 1 : 0;
        const std::uint64_t start = ctx.now_ns();
        if constexpr (width_of<Type> == task_width::lane) {
            run_lanes(ctx, body, piece, same, count, origin);
        } else {
            run_tasks(ctx, body, piece, same, count, origin, team);
        }
        if (!is_first(ctx, team)) return;
        const std::uint64_t each = (show_life(ctx, pool_.rings, start) - start) / count + 1;
        const auto told =
            static_cast<std::uint32_t>(each < task_news::max_nanoseconds ? each : task_news::max_nanoseconds);
        ctx.store(&shared_->portion.task_ns, told, order::relaxed, scope::block);
        origin.index = count;
        tell(ctx, origin.join, origin);
    }

    /// One after the other; `origin` is that of the first.
    template <class Type>
    LANEWAY_FN void run_tasks(Ctx& ctx, const Type& body, const task_piece& piece, bool same, std::uint32_t count,
                              task_origin origin, block_team<Ctx>* team) {
        using arguments = typename Type::arguments;
        constexpr std::size_t result_bytes = result_bytes_of<typename Type::result>;
        constexpr std::uint32_t staged = task_stage::tasks<Ctx, Type>();
        task_pace<Ctx> pace(ctx, pool_.rings);
        std::uint32_t i = 0;
        for (; i < count && !pace.ends(ctx, i); ++i, ++origin.index) {
            const std::byte* from = piece.arguments + (same ? 0 : i) * sizeof(arguments);
            origin.status = piece.statuses + i;
            origin.result = piece.results + i * result_bytes;
            if constexpr (staged != 0) {
                if (team == nullptr) {
                    if (i % staged == 0) stage<Type>(ctx, piece, same, i, count);
                    from = shared_->stages[ctx.warp()].arguments + (same ? 0 : i % staged) * sizeof(arguments);
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
            if (team == nullptr && i == count) stage<Type>(ctx, piece, same, count, count);
        }
    }

    /// The same where a lane runs a task by itself: the lanes of the warp side by side.
    template <class Type>
    LANEWAY_FN void run_lanes(Ctx& ctx, const Type& body, const task_piece& piece, bool same, std::uint32_t count,
                              const task_origin& first) {
        using arguments = typename Type::arguments;
        constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
        task_pace<Ctx> pace(ctx, pool_.rings);
        std::uint32_t turn = 0;
        for (std::uint32_t i = static_cast<std::uint32_t>(ctx.lane()); turn * lanes < count; ++turn, i += lanes) {
            if (pace.ends(ctx, turn)) return;
            if (i < count) {
                task_origin origin = first;
                origin.index += i;
                origin.status = piece.statuses + i;
                origin.result = piece.results + i * result_bytes_of<typename Type::result>;
                run_body(ctx, body,
                         *reinterpret_cast<const arguments*>(piece.arguments + (same ? 0 : i) * sizeof(arguments)),
                         origin, nullptr);
            }
            ctx.sync(full_warp<Ctx>);
        }
    }

    /// Brings the results of the last tasks of a piece to the host and fetches the arguments of those from `next` on.
    /// The whole warp, behind a barrier.
    template <class Type>
    LANEWAY_FN void stage(Ctx& ctx, const task_piece& piece, bool same, std::uint32_t next, std::uint32_t count) {
        constexpr std::uint32_t room = task_stage::tasks<Ctx, Type>();
        task_stage& mine = shared_->stages[ctx.warp()];
        if (next != 0) {
            const std::uint32_t first = (next - 1) / room * room;
            mine.template deliver<Type>(ctx, piece, first, next - first);
        }
        if (same) {
            if (next == 0) mine.template fetch<Type>(ctx, piece, 0, 1);
        } else if (next != count) {
            mine.template fetch<Type>(ctx, piece, next, count - next < room ? count - next : room);
        }
        ctx.sync(full_warp<Ctx>);
    }

    /// What the tasks of a part of a range tell when they are done: a join of the part, as some of them may spawn
    /// others. All lanes get the same; 0: there is no room for one.
    LANEWAY_FN std::uint32_t join_of_piece(Ctx& ctx, task_origin origin, std::uint32_t count, block_team<Ctx>* team) {
        std::uint32_t join = 0;
        if (is_first(ctx, team)) {
            origin.index = count;
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
        pool_.types.template visit_here<Ctx>(node.type, [&]<class Type>(const Type& body) {
            const auto given = *reinterpret_cast<const typename Type::arguments*>(node.arguments());
            if (team == nullptr) let_go(ctx, {task_source::kind::node, number});
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

    /// The word in shared memory where the status of a single task is found.
    LANEWAY_FN std::uint32_t* status_word(const Ctx& ctx, const block_team<Ctx>* team) const {
        return team != nullptr ? &shared_->team_status : &shared_->statuses[ctx.warp()];
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
        if constexpr (any_from_lanes) {
            if (origin.record == task_origin::nobody) return run_untold(ctx, body, given, worker, origin.result);
        }
        std::uint32_t status = task_status::done;
        if constexpr (catching<Ctx>) {
            const auto run = [&] { invoke(ctx, body, given, worker, origin.result); };
            if (pool_.failures->catches(origin.record, origin.index, run)) status = task_status::threw;
        } else {
            invoke(ctx, body, given, worker, origin.result);
        }
        if (status == task_status::done) status = worker.status();
        if (status == task_status::done) return;
        ctx.store(origin.status, status, order::relaxed, scope::system);
        ctx.store(pool_.rings.has_failed, 1u, order::relaxed, scope::system);
    }

    /// The same for a task that nobody waits for: its failure ends the program.
    template <class Type>
    LANEWAY_FN void run_untold(Ctx& ctx, const Type& body, const typename Type::arguments& given,
                               task_worker<Ctx, Type, Types...>& worker, std::byte* result) {
        constexpr std::uint32_t number = number_of_type<Type, Types...>();
        const auto run = [&](Ctx& here) { invoke(here, body, given, worker, result); };
        run_user_code(ctx, {user_code::task, number}, run, ctx);
        if (!threw(ctx) && worker.status() != task_status::done) {
            (void)laneway::fail(ctx, status::handler_failed, operation::run_task, -1, number, worker.status());
        }
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
        tell(ctx, join != 0 ? join : origin.join, origin);
    }

    /// One less is open in a join, and in those above it that come to an end with it; above all of them waits the host,
    /// for a single task or a part of a range, whose number of tasks is the origin's index. One lane.
    LANEWAY_SLOW void tell(Ctx& ctx, std::uint32_t join, const task_origin& origin) {
        std::uint32_t record = origin.record, range = origin.range, count = origin.index;
        while (join != 0) {
            task_node& node = pool_.nodes.at(join - 1);
            go_before(ctx, &node);
            // Partner: itself, of other tasks. The last one has seen what all have done.
            if (ctx.fetch_add(&node.open, ~0u, order::acq_rel, scope::device) != 1) return;
            come_behind(ctx, &node);
            if (node.follows != 0) return deques_.push(ctx, join - 1);
            record = node.origin.record;
            range = node.origin.range;
            count = node.origin.index;
            const std::uint32_t above = node.origin.join;
            deques_.give_back(ctx, join - 1);
            join = above;
        }
        if constexpr (any_from_lanes) {
            if (record == task_origin::nobody) {
                if (count != 0) trigger_rounds<Ctx>(ctx, pool_.tags).end_started(ctx, count - 1);
                return;
            }
        }
        if (range != 0) return end_part(ctx, range - 1, count);
        announce(ctx, {record, task_news::outcome, {0, 0}});
    }
    /// So many tasks of a range are done. One lane.
    LANEWAY_FN void end_part(Ctx& ctx, std::uint32_t number, std::uint32_t count) {
        task_range& range = pool_.rings.words->ranges[number];
        const std::uint32_t record = range.record;
        go_before(ctx, &range);
        // Partner: itself, in other warps.
        if (ctx.fetch_add(&range.open, 0u - count, order::acq_rel, scope::device) != count) return;
        come_behind(ctx, &range);
        const std::uint32_t ns = ctx.load(&shared_->portion.task_ns, order::relaxed, scope::block);
        announce(ctx, {record, task_news::range | ns << 8, {number, 0}});
    }
    LANEWAY_SLOW void announce(Ctx& ctx, const task_news& told) {
        ++done_;
        go_before(ctx, pool_.failures);
        pool_.rings.announce(ctx, own_, told);
    }

    const task_pool_ref<Types...>& pool_;
    task_shared* shared_;
    std::uint32_t own_;
    task_deques<Ctx> deques_;  // not a reference: the agent that holds both may be copied where it is returned
    std::uint32_t done_ = 0;
};

}  // namespace laneway
