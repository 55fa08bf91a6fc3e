// Kernels whose elements a whole block works on: what their lanes have of each other, and how a block gets together.
//
//   struct sum_row {
//       using element = row;
//       static constexpr lw::task_width width = lw::task_width::block;
//       template <class Ctx, class Worker>
//       LANEWAY_FN lw::outcome operator()(Ctx& ctx, row& at, lw::channel_node& node, Worker& worker) const;
//   };
//
// All lanes of the working warps of a block are called with the same element; worker.lane() of worker.lanes() is the
// place of each, and worker.sync(ctx) a barrier among them. An element is put back if any of its lanes returns
// outcome::yield: they agree on it before any of them has produced. A kernel that says
// `static constexpr std::size_t shared_bytes = 4096;`, a multiple of 16, has so much of the block's shared memory. One
// that says `static constexpr int block_warps = 2;`, 2 to 32, has blocks of no more warps on GPUs, and so more blocks:
// that suits short elements, which are mostly waiting. The least that a kernel of the graph says counts for all.
#pragma once

#include "laneway/comm/block_team.hpp"
#include "laneway/memory/copy_bytes.hpp"
#include "laneway/task/channel_node.hpp"
#include "laneway/task/task_type.hpp"

namespace laneway {

template <class Kernel>
inline constexpr std::size_t kernel_shared_bytes = 0;
template <class Kernel>
requires requires { Kernel::shared_bytes; }
inline constexpr std::size_t kernel_shared_bytes<Kernel> = Kernel::shared_bytes;

template <class Kernel>
inline constexpr int kernel_block_warps = 32;
template <class Kernel>
requires requires { Kernel::block_warps; }
inline constexpr int kernel_block_warps<Kernel> = Kernel::block_warps;

/// The lanes that work on one element together.
template <class Ctx>
class channel_worker {
public:
    LANEWAY_FN channel_worker(const Ctx& ctx, block_team<Ctx>& team, const std::byte* shared)
        : ctx_(ctx), team_(team), shared_at_(static_cast<std::uint32_t>(shared - ctx.shared())),
          lane_(team.index() * Ctx::warp_lanes + ctx.lane()) {}

    [[nodiscard]] LANEWAY_FN int lane() const { return lane_; }
    [[nodiscard]] LANEWAY_FN int lanes() const { return team_.warps() * Ctx::warp_lanes; }
    /// Barrier among all of them: what each has stored before is visible to all behind it. All of them, together. False
    /// where the program is ending and the others may not come: then the kernel should return.
    [[nodiscard]] LANEWAY_FN bool sync(Ctx& ctx) { return team_.sync(ctx); }
    /// The kernel's shared_bytes, aligned by 16, for as long as the block works on this element; what is there at first
    /// is of others.
    [[nodiscard]] LANEWAY_FN std::byte* shared() const { return ctx_.shared() + shared_at_; }

private:
    const Ctx& ctx_;
    block_team<Ctx>& team_;
    /// In the block's shared memory: from ctx.shared() on compilers know that it is that.
    std::uint32_t shared_at_;
    int lane_;
};

/// What the warps of a block know of the elements that they work on; in shared memory.
struct alignas(16) channel_team_shared {
    std::uint32_t queue, count;  ///< no_queue: an element that the block had kept; count 0: there is no further one
    std::uint32_t places[32];
    std::uint32_t yields;  ///< a bit for each of these elements
    std::uint32_t closed;  ///< warps that are through with the run

    // Where the block keeps what it produces.
    std::uint32_t bottom;  ///< position of the lowest element of its stack
    std::uint32_t end;     ///< behind the highest slot that lanes have got, from there on
    std::uint32_t tag;     ///< of an element that the block had kept, and where it was
    std::uint32_t base;
    std::uint32_t is_stuck;
    alignas(16) std::byte element[max_kept_bytes];
};

/// A warp's part in the work of its block. All members are called by whole warps.
template <class Ctx>
class channel_team {
public:
    /// `shared`: of the block, for the team and behind it for its kernels. `component`: the number by which the graph
    /// calls the block's team.
    LANEWAY_FN channel_team(std::byte* shared, block_team<Ctx>* team, std::uint32_t component)
        : shared_(reinterpret_cast<channel_team_shared*>(shared)), of_kernels_(shared + sizeof(channel_team_shared)),
          team_(*team), component_(component) {}

    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.warp() == 0 && ctx.lane() == 0)
            shared_->yields = shared_->count = shared_->closed = shared_->bottom = 0;
    }
    /// Whether all other warps of the team are through with the run, at its end.
    [[nodiscard]] LANEWAY_FN bool is_last(Ctx& ctx) const {
        ctx.sync(full_warp<Ctx>);
        const std::uint32_t others = once(ctx, full_warp<Ctx>, [&] {
            // Partner: itself, of the others. The last one sees what they have done.
            return ctx.fetch_add(&shared_->closed, 1u, order::acq_rel, scope::block);
        });
        return others + 1 == static_cast<std::uint32_t>(team_.warps());
    }
    /// Whether the block has begun elements of this graph that this warp has no part in yet.
    [[nodiscard]] LANEWAY_FN bool is_called(Ctx& ctx) const { return team_.called_by(ctx) == component_; }
    /// Whether it has begun something of another component, for whose turn this one makes way.
    [[nodiscard]] LANEWAY_FN bool is_called_away(Ctx& ctx) const {
        const std::uint32_t caller = team_.called_by(ctx);
        return caller != component_ && caller != team_.nobody;
    }
    /// Makes this warp the one that claims for the block; false while another is.
    [[nodiscard]] LANEWAY_FN bool lead(Ctx& ctx) const { return team_.lead(ctx); }
    LANEWAY_FN void dismiss(Ctx& ctx) const { team_.dismiss(ctx); }
    /// Says that the next elements are `count` of a queue; `place`: of each lane's. The leader, as what follows.
    LANEWAY_FN void say(Ctx& ctx, std::uint32_t queue, std::uint32_t count, std::uint32_t place) const {
        if (static_cast<std::uint32_t>(ctx.lane()) < count) shared_->places[ctx.lane()] = place;
        if (ctx.lane() == 0) {
            shared_->queue = queue;
            shared_->count = count;
        }
        ctx.sync(full_warp<Ctx>);
    }
    /// Says that there is no further element.
    LANEWAY_FN void say_none(Ctx& ctx) const {
        if (ctx.lane() == 0) shared_->count = 0;
        ctx.sync(full_warp<Ctx>);
    }
    /// Says that the next element is one that the block had kept: of `bytes`, from the stack's position `base`.
    LANEWAY_FN void say_kept(Ctx& ctx, std::uint32_t tag, std::uint32_t base, const std::byte* from,
                             std::uint32_t bytes) const {
        const auto lane = static_cast<std::uint64_t>(ctx.lane());
        copy_bytes(shared_->element, from, bytes, {lane, Ctx::warp_lanes});
        if (ctx.lane() == 0) {
            shared_->queue = channel_node::no_queue;
            shared_->count = 1;
            shared_->tag = tag;
            shared_->base = base;
        }
        ctx.sync(full_warp<Ctx>);
    }
    /// Whether the block was stopped while it worked on an element that it had kept.
    [[nodiscard]] LANEWAY_FN bool is_stopped() const {
        return shared_->count != 0 && shared_->queue == channel_node::no_queue;
    }
    /// Says where the block's stack begins, how high it is, and whether the last dispatch found no space.
    LANEWAY_FN void say_stack(Ctx& ctx, std::uint32_t bottom, std::uint32_t size, bool is_stuck) const {
        if (ctx.lane() == 0) {
            shared_->bottom = bottom;
            shared_->end = size;
            shared_->is_stuck = is_stuck ? 1 : 0;
        }
        ctx.sync(full_warp<Ctx>);
    }
    /// Says where it begins at the end of the run, if that is not known: others may still use what the last call said.
    LANEWAY_FN void say_bottom(Ctx& ctx, std::uint32_t bottom) const {
        if (ctx.lane() == 0 && shared_->bottom != bottom) shared_->bottom = bottom;
    }
    [[nodiscard]] LANEWAY_FN bool is_stuck() const { return shared_->is_stuck != 0; }
    [[nodiscard]] LANEWAY_FN std::uint32_t bottom() const { return shared_->bottom; }
    [[nodiscard]] LANEWAY_FN std::uint32_t tag() const { return shared_->tag; }
    [[nodiscard]] LANEWAY_FN std::uint32_t base() const { return shared_->base; }
    [[nodiscard]] LANEWAY_FN std::byte* element() const { return shared_->element; }
    /// A lane has got slots of the block's stack, up to this position.
    LANEWAY_FN void note_end(Ctx& ctx, std::uint32_t position) const {
        ctx.fetch_max(&shared_->end, position - shared_->bottom, order::relaxed, scope::block);
    }
    /// Behind the highest that any has got.
    [[nodiscard]] LANEWAY_FN std::uint32_t end(Ctx& ctx) const {
        return shared_->bottom +
               once(ctx, full_warp<Ctx>, [&] { return ctx.load(&shared_->end, order::relaxed, scope::block); });
    }
    /// Calls the others to what the leader has said.
    LANEWAY_FN void call(Ctx& ctx) const { team_.call(ctx, component_); }
    /// Of the leader's elements, for its lanes.
    [[nodiscard]] LANEWAY_FN std::uint32_t place(std::uint32_t number) const { return shared_->places[number % 32]; }
    /// Takes part: calls `work(queue, place, worker)` for each of the elements, whose outcome it is on this lane, and
    /// on the leading warp `end(queue, count, yields)` when all lanes are through. With `goes_on` that says what is
    /// next, until it says that nothing is.
    template <class Work, class End>
    LANEWAY_FN void take_part(Ctx& ctx, bool goes_on, Work&& work, End&& end) {
        team_.take_part(ctx, [&](bool leads) {
            while (run_all(ctx, work)) {
                if (leads) {
                    const std::uint32_t yields = once(ctx, full_warp<Ctx>, [&] {
                        return ctx.exchange(&shared_->yields, 0u, order::relaxed, scope::block);
                    });
                    end(shared_->queue, shared_->count, yields);
                }
                if (!goes_on || !team_.sync(ctx)) return;
                if (shared_->count != 0) continue;
                (void)team_.sync(ctx);  // all have seen it, before another call says something else
                return;
            }
        });
    }

private:
    /// Runs the elements that the leader has named. False where the program is ending.
    template <class Work>
    LANEWAY_FN bool run_all(Ctx& ctx, const Work& work) {
        const std::uint32_t queue = shared_->queue, count = shared_->count;
        channel_worker<Ctx> worker(ctx, team_, of_kernels_);
        for (std::uint32_t i = 0; i < count; ++i) {
            const bool yields = work(queue, shared_->places[i], worker) != outcome::done;
            ctx.sync(full_warp<Ctx>);
            const lane_mask any = ctx.ballot(full_warp<Ctx>, yields);
            if (any != 0 && ctx.lane() == 0) {
                ctx.fetch_or(&shared_->yields, std::uint32_t{1} << i, order::relaxed, scope::block);
            }
            if (!team_.sync(ctx)) return false;
        }
        return true;
    }

    channel_team_shared* shared_;
    std::byte* of_kernels_;
    block_team<Ctx>& team_;
    std::uint32_t component_;
};

}  // namespace laneway
