// Warps of a block that run one task together.
//
// The warp that has a task for a block becomes the leader of the block's team, says which task it is and opens a phase.
// The others see the phase at their next turn and come. A warp that wants to lead while another does helps that one
// first, so all come in the end.
#pragma once

#include "laneway/simt/message_order.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// In shared memory.
struct task_team_shared {
    alignas(16) std::uint32_t leader;  ///< 1 more than its place in the team; 0: none
    std::uint32_t phase;               ///< tasks that the team has begun
    std::uint32_t arrived;             ///< warps that have come to barriers, of all barriers so far
    std::uint32_t passed;              ///< barriers that all have come to
    std::uint32_t join;                ///< of the task that runs, as task_origin has it
    std::uint32_t piece_join;          ///< of the piece of a batch whose tasks run
    std::uint64_t source;              ///< of the task, as the leader says it

    LANEWAY_FN void open() { *this = {}; }
};

/// A warp's place in the team of its block. All members are called by whole warps.
template <class Ctx>
class task_team {
public:
    LANEWAY_FN task_team(task_team_shared* shared, int index, int warps)
        : shared_(shared), index_(index), warps_(warps) {}

    [[nodiscard]] LANEWAY_FN int index() const { return index_; }
    [[nodiscard]] LANEWAY_FN int warps() const { return warps_; }
    [[nodiscard]] LANEWAY_FN task_team_shared& shared() const { return *shared_; }

    /// Whether a task has begun that this warp has no part in yet.
    [[nodiscard]] LANEWAY_FN bool is_called(Ctx& ctx) const {
        return once(ctx, full_warp<Ctx>, [&] {
                   return std::uint32_t{ctx.load(&shared_->phase, order::relaxed, scope::block) != phase_};
               }) != 0;
    }
    /// Tries to lead; false while another warp does.
    [[nodiscard]] LANEWAY_FN bool lead(Ctx& ctx) const {
        return once(ctx, full_warp<Ctx>, [&] {
                   std::uint32_t none = 0;
                   // Partner: the release store in dismiss.
                   return std::uint32_t{
                       ctx.compare_exchange(&shared_->leader, none, lead_as(), order::acquire, scope::block)};
               }) != 0;
    }
    /// The leader calls the others to a task.
    LANEWAY_FN void call(Ctx& ctx, std::uint64_t source) const {
        if (ctx.lane() != 0) return;
        shared_->source = source;
        // Relaxed: who comes sees the source behind the barrier at the beginning.
        ctx.store(&shared_->phase, phase_ + 1, order::relaxed, scope::block);
    }
    /// This warp takes part in the task that has begun.
    LANEWAY_FN void come() { ++phase_; }
    [[nodiscard]] LANEWAY_FN bool leads(Ctx& ctx) const {
        return once(ctx, full_warp<Ctx>, [&] {
                   return std::uint32_t{ctx.load(&shared_->leader, order::relaxed, scope::block) == lead_as()};
               }) != 0;
    }
    /// The task is done; another warp may lead.
    LANEWAY_FN void dismiss(Ctx& ctx) const {
        // Partner: the acquire exchange in lead.
        if (ctx.lane() == 0) ctx.store(&shared_->leader, 0u, order::release, scope::block);
    }

    /// Barrier of the team's warps, with what their lanes have stored in memory of the PE. False where the program is
    /// ending.
    LANEWAY_FN bool sync(Ctx& ctx) {
        const std::uint32_t mine = ++barriers_;
        if (warps_ == 1) {
            ctx.sync(full_warp<Ctx>);
            return true;
        }
        go_before(ctx, &shared_->arrived);
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) {
            const auto all = mine * static_cast<std::uint32_t>(warps_);
            // Partner: itself, in other warps. The last one has seen what all have done before.
            if (ctx.fetch_add(&shared_->arrived, 1u, order::acq_rel, scope::block) + 1 == all) {
                // Partner: the acquire load below.
                ctx.store(&shared_->passed, mine, order::release, scope::block);
            }
        }
        const status waited = wait_together(
            ctx, full_warp<Ctx>, {operation::barrier},
            [&] {
                const std::uint32_t now = ctx.load(&shared_->passed, order::acquire, scope::block);
                return static_cast<std::int32_t>(now - mine) >= 0;
            },
            [] {});
        come_behind(ctx, &shared_->arrived);
        return waited == status::ok;
    }

private:
    [[nodiscard]] LANEWAY_FN std::uint32_t lead_as() const { return static_cast<std::uint32_t>(index_) + 1; }

    task_team_shared* shared_;
    int index_;
    int warps_;
    std::uint32_t phase_ = 0;     ///< tasks of the team that this warp had a part in
    std::uint32_t barriers_ = 0;  ///< of the team so far
};

}  // namespace laneway
