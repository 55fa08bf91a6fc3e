// What the body of a task has of its worker.
#pragma once

#include "laneway/comm/block_team.hpp"
#include "laneway/simt/group.hpp"
#include "laneway/task/task_deques.hpp"
#include "laneway/task/task_slot.hpp"
#include "laneway/task/task_type.hpp"

namespace laneway {

/// The lanes that run a task of type `Own` together: those of a warp, or of the working warps of a block, or one. An
/// object for each lane.
template <class Ctx, class Own, class... Types>
class task_worker {
public:
    /// `team`: null for a warp by itself. `join`: a word of the worker in shared memory, 0; unused where no type
    /// spawns.
    LANEWAY_FN task_worker(const Ctx& ctx, const task_deques<Ctx>& deques, const task_origin& origin,
                           block_team<Ctx>* team, std::uint32_t* join)
        : deques_(deques), origin_(origin), team_(team), join_(join), lane_(is_alone ? 0 : ctx.lane()) {
        if (team != nullptr) lane_ += team->index() * Ctx::warp_lanes;
    }

    /// Place of this lane among those of the worker.
    [[nodiscard]] LANEWAY_FN int lane() const { return lane_; }
    [[nodiscard]] LANEWAY_FN int lanes() const {
        if constexpr (is_alone) return 1;
        return team_ == nullptr ? Ctx::warp_lanes : team_lanes();
    }
    /// Number of the task in its batch; 0 for one that was submitted alone.
    [[nodiscard]] LANEWAY_FN std::uint32_t index() const {
        return origin_.record == task_origin::nobody ? 0 : origin_.index;
    }

    /// Barrier among the worker's lanes: what each has stored before is visible to all behind it. All of them,
    /// together. False where the program is ending and the others may not come: then the body should return.
    LANEWAY_FN bool sync(Ctx& ctx) const {
        if (team_ != nullptr) return team_->sync(ctx);
        if constexpr (!is_alone) ctx.sync(full_warp<Ctx>);
        return true;
    }

    /// The task has failed: its future throws task_failed with this number, which is neither 0 nor 2^32 - 1. The body
    /// goes on and should return soon. Any lane.
    LANEWAY_FN void fail(std::uint32_t number) { status_ = number; }
    [[nodiscard]] LANEWAY_FN std::uint32_t status() const { return status_; }

    /// Spawns a task of a type of the pool; the task that spawns it is done when that one is, and has failed if that
    /// one has. Its result goes to `result`, memory of this PE, or nowhere. Any lane, at any time: each call is a task.
    /// False where the pool has no room for it (task_pool_options::spawned_tasks): then the body does the work itself,
    /// or fails.
    template <class Type>
    [[nodiscard]] LANEWAY_FN bool spawn(Ctx& ctx, task_name<Type>, const typename Type::arguments& arguments,
                                        result_pointer<Type> result = nullptr) {
        const std::uint32_t join = own_join(ctx);
        if (join == 0) return false;
        const std::uint32_t found = deques_.allocate(ctx);
        if (found == 0) return false;
        task_node& node = deques_.at(found - 1);
        node.origin = origin_;
        node.origin.join = join;
        node.origin.result = reinterpret_cast<std::byte*>(result);
        node.type = number<Type>();
        *reinterpret_cast<typename Type::arguments*>(node.arguments()) = arguments;
        // Relaxed: the body itself is counted as long as it runs.
        ctx.fetch_add(&deques_.at(join - 1).open, 1u, order::relaxed, scope::device);
        go_before(ctx, &node);
        deques_.push(ctx, found - 1);
        return true;
    }

    /// Has a task follow this one: it starts when the body has returned and all that it has spawned is done, and its
    /// result takes the place of this task's. Returns its arguments, where the results of children may go; null where
    /// the pool has no room for it. One lane, once, before it spawns.
    template <class Type>
    [[nodiscard]] LANEWAY_FN typename Type::arguments* then(Ctx& ctx, task_name<Type>,
                                                            const typename Type::arguments& arguments) {
        static_assert(std::is_same_v<typename Type::result, typename Own::result>,
                      "the result of the task that follows takes the place of this one's: both have one type");
        const std::uint32_t join = own_join(ctx);
        if (join == 0) return nullptr;
        task_node& node = deques_.at(join - 1);
        node.type = number<Type>();
        node.follows = 1;
        auto* const kept = reinterpret_cast<typename Type::arguments*>(node.arguments());
        *kept = arguments;
        return kept;
    }

private:
    static constexpr bool is_alone = width_of<Own> == task_width::lane;

    template <class Type>
    static constexpr std::uint32_t number() {
        constexpr std::uint32_t found = number_of_type<Type, Types...>();
        static_assert(found < sizeof...(Types), "the pool has no task type of this name: give it to task_pool()");
        static_assert(spawns_tasks<Own>,
                      "a task type whose body spawns tasks says `static constexpr bool spawns = true;`");
        static_assert(runs_here<Ctx, Type>,
                      "a spawned task runs where it was spawned, which its runs_on does not name");
        return found;
    }

    [[nodiscard]] LANEWAY_FN int team_lanes() const { return team_->warps() * Ctx::warp_lanes; }

    /// 1 more than the number of the task's join, which is made here where there is none; 0: there is no room.
    LANEWAY_FN std::uint32_t own_join(Ctx& ctx) {
        // Partner: the release exchange below.
        std::uint32_t known = ctx.load(join_, order::acquire, scope::block);
        if (known != 0 || origin_.can_spawn == 0) return known;
        const std::uint32_t made = deques_.make_join(ctx, origin_);
        if (made == 0) return 0;
        if (ctx.compare_exchange(join_, known, made, order::acq_rel, scope::block)) return made;
        deques_.give_back_for_all(ctx, made - 1);  // another lane was first
        return ctx.load(join_, order::acquire, scope::block);
    }

    const task_deques<Ctx>& deques_;
    const task_origin& origin_;
    block_team<Ctx>* team_;
    std::uint32_t* join_;
    int lane_;
    std::uint32_t status_ = task_status::done;
};

}  // namespace laneway
