// Warps of a block that run one task of a component together: of a pool of tasks, or of a remote queue.
//
// A block has one team, whatever components its program has. The warp that has a task for the block becomes the leader,
// says what it is and opens a phase, whose word names the component. The others see the phase when one of their
// components looks, and come by the turn of the one that is named. While another warp leads, who has a task for the
// block keeps it and goes on with its turns, which help that one: so all come in the end.
#pragma once

#include "laneway/simt/message_order.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// In shared memory.
struct block_team_shared {
    alignas(16) std::uint32_t leader;  ///< 1 more than its place in the team; 0: none
    std::uint32_t phase;               ///< tasks that the team has begun, and in the last byte whose the last one is
    std::uint32_t arrived;             ///< warps that have come to barriers, of all barriers so far
    std::uint32_t passed;              ///< barriers that all have come to
    std::uint64_t arrivals;            ///< the hardware's word of barriers, where it counts who comes

    /// One lane of the block, before use; a block barrier must follow.
    LANEWAY_FN void open() { *this = {}; }
};

/// A warp's place in the team of its block. All members are called by whole warps.
template <class Ctx>
class block_team {
public:
    static constexpr std::uint32_t max_components = 255;
    static constexpr std::uint32_t nobody = max_components;

    /// `stays`: its warps are the same as long as its memory is used, and `open` has been called.
    LANEWAY_FN block_team(block_team_shared* shared, int index, int warps, bool stays = false)
        : shared_(shared), index_(index), warps_(warps), stays_(stays) {}

    /// One lane of the block, before use; a block barrier must follow.
    LANEWAY_FN void open([[maybe_unused]] Ctx& ctx) const {
        shared_->open();
        if constexpr (may_count) {
            if (is_counted()) ctx.open_arrivals(&shared_->arrivals, warps_);
        }
    }

    [[nodiscard]] LANEWAY_FN int index() const { return index_; }
    [[nodiscard]] LANEWAY_FN int warps() const { return warps_; }

    /// The component whose task has begun without this warp, which takes part in it next; or nobody.
    [[nodiscard]] LANEWAY_FN std::uint32_t called_by(Ctx& ctx) const {
        return once(ctx, full_warp<Ctx>, [&] {
            const std::uint32_t now = ctx.load(&shared_->phase, order::relaxed, scope::block);
            return now / 256 != phase_ ? now % 256 : nobody;
        });
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
    /// The leader calls the others to a task of its component, of which lane 0 has said before what it is.
    LANEWAY_FN void call(Ctx& ctx, std::uint32_t component) const {
        // Relaxed: who comes sees what was said behind the barrier at the beginning.
        if (ctx.lane() == 0) {
            ctx.store(&shared_->phase, next_phase() * 256 + component, order::relaxed, scope::block);
        }
        ctx.sync(full_warp<Ctx>);
    }
    /// Takes part in the task that has begun: `run(leads)` sees what the leader has said.
    template <class Run>
    LANEWAY_FN void take_part(Ctx& ctx, Run&& run) {
        phase_ = next_phase();
        if (!sync(ctx)) return;
        const bool leads =
            once(ctx, full_warp<Ctx>, [&] {
                return std::uint32_t{ctx.load(&shared_->leader, order::relaxed, scope::block) == lead_as()};
            }) != 0;
        run(leads);
        if (leads) dismiss(ctx);
    }
    /// The task is done, or there is none after all: another warp may lead.
    LANEWAY_FN void dismiss(Ctx& ctx) const {
        ctx.sync(full_warp<Ctx>);
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
        if constexpr (may_count) {
            if (is_counted()) return meet_counted(ctx, mine);
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
            ctx, full_warp<Ctx>, {operation::meet_block, -1, mine},
            [&] {
                const std::uint32_t now = ctx.load(&shared_->passed, order::acquire, scope::block);
                return static_cast<std::int32_t>(now - mine) >= 0;
            },
            [] {});
        come_behind(ctx, &shared_->arrived);
        return waited == status::ok;
    }

private:
    /// Whether the context may have hardware that counts who comes to a barrier.
    static constexpr bool may_count = requires { Ctx::counts_arrivals(); };

    /// Its word is made for a number of warps.
    [[nodiscard]] LANEWAY_FN bool is_counted() const { return stays_ && warps_ > 1 && Ctx::counts_arrivals(); }
    /// The barrier of this number by that word.
    LANEWAY_FN bool meet_counted(Ctx& ctx, std::uint32_t number) const {
        ctx.sync(full_warp<Ctx>);
        // Partner: itself, of the others.
        if (ctx.lane() == 0) ctx.arrive(&shared_->arrivals);
        return wait_together(
                   ctx, full_warp<Ctx>, {operation::meet_block, -1, number},
                   [&] { return ctx.have_arrived(&shared_->arrivals, (number - 1) % 2); }, [] {}) == status::ok;
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t lead_as() const { return static_cast<std::uint32_t>(index_) + 1; }
    [[nodiscard]] LANEWAY_FN std::uint32_t next_phase() const { return (phase_ + 1) % (std::uint32_t{1} << 24); }

    block_team_shared* shared_;
    int index_;
    int warps_;
    bool stays_;
    std::uint32_t phase_ = 0;     ///< tasks of the team that this warp had a part in, but for what does not fit
    std::uint32_t barriers_ = 0;  ///< of the team so far
};

}  // namespace laneway
