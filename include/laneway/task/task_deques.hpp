// How the warps of a PE share spawned tasks: each has a deque, of which it takes the newest, and where it has none it
// takes the oldest of others, which have most below them.
//
// A warp's deque is a line of places in PE memory, each with a node or 0. Which places it has filled the warps of its
// block know from shared memory, so that a warp finds its own tasks, and those of its block, without a look at PE
// memory, and pushing one is a store. For other blocks each block says in a word which of its warps seem to have some;
// one warp of a block at a time looks for them. Each warp also keeps some free nodes for itself. So in a tree that is
// deep no word is shared by many.
#pragma once

#include "laneway/simt/group.hpp"
#include "laneway/task/task_node.hpp"

namespace laneway {

/// What the warps of a block know of their deques; in shared memory. Words by warp.
struct task_deques_shared {
    static constexpr std::uint32_t max_warps = task_nodes_ref::max_warps;
    static constexpr std::uint32_t max_cached = 16;

    alignas(16) std::uint64_t hint;   ///< what the block has said to others
    std::uint32_t used[max_warps];    ///< places that are not free
    std::uint32_t ready[max_warps];   ///< of these, those that nobody of the block has taken
    std::uint32_t cached[max_warps];  ///< nodes of the cache that are there
    std::uint32_t cache[max_warps][max_cached];
    std::uint32_t looking;  ///< 1 while a warp looks at other blocks

    LANEWAY_FN void open() {
        hint = looking = 0;
        for (std::uint32_t w = 0; w < max_warps; ++w) used[w] = ready[w] = cached[w] = 0;
    }
};

/// A lane's access to the deques of its PE, as one of its warp.
template <class Ctx>
class task_deques {
public:
    LANEWAY_FN task_deques(const task_nodes_ref& nodes, task_deques_shared* shared, std::uint32_t block)
        : nodes_(nodes), shared_(shared), block_(block) {}

    [[nodiscard]] LANEWAY_FN task_node& at(std::uint32_t number) const { return nodes_.at(number); }

    /// 1 more than the number of a node that nobody has; 0: there is none. Any lane.
    LANEWAY_FN std::uint32_t allocate(Ctx& ctx) const {
        std::uint32_t& mine = shared_->cached[ctx.warp()];
        // Relaxed: lane 0 has put it there before the body began, or behind its end.
        for (std::uint32_t there = ctx.load(&mine, order::relaxed, scope::block); there != 0;) {
            const auto place = static_cast<std::uint32_t>(Ctx::first_lane(there));
            there = ctx.fetch_and(&mine, ~(1u << place), order::relaxed, scope::block);
            if ((there >> place & 1) != 0) return shared_->cache[ctx.warp()][place];
        }
        return nodes_.take(ctx, block_);
    }
    /// Lane 0 of a warp, while no other lane of it allocates.
    LANEWAY_FN void give_back(Ctx& ctx, std::uint32_t number) const {
        if (number >= nodes_.first_for_lanes) return give_back_for_all(ctx, number);
        std::uint32_t& mine = shared_->cached[ctx.warp()];
        const std::uint32_t there = ctx.load(&mine, order::relaxed, scope::block);
        const std::uint32_t room = ~there & ((1u << nodes_.cached) - 1);
        if (room == 0) return give_back_for_all(ctx, number);
        const int place = Ctx::first_lane(room);
        shared_->cache[ctx.warp()][place] = number + 1;
        ctx.store(&mine, there | 1u << place, order::relaxed, scope::block);
    }
    /// Any lane.
    LANEWAY_SLOW void give_back_for_all(Ctx& ctx, std::uint32_t number) const { nodes_.give_back(ctx, block_, number); }
    /// Lets go of what the warp keeps. Lane 0.
    LANEWAY_FN void give_back_all(Ctx& ctx) const {
        const std::uint32_t there = ctx.exchange(&shared_->cached[ctx.warp()], 0u, order::relaxed, scope::block);
        for (std::uint32_t rest = there; rest != 0; rest &= rest - 1) {
            give_back_for_all(ctx, shared_->cache[ctx.warp()][Ctx::first_lane(rest)] - 1);
        }
    }
    /// 1 more than the number of a join for a task that is told of as `origin` says, whose body runs; 0: there is no
    /// node for it. Any lane.
    LANEWAY_FN std::uint32_t make_join(Ctx& ctx, const task_origin& origin) const {
        const std::uint32_t found = allocate(ctx);
        if (found == 0) return 0;
        task_node& node = at(found - 1);
        node.origin = origin;
        node.follows = 0;
        ctx.store(&node.open, 1u, order::relaxed, scope::device);
        return found;
    }

    /// Lets a worker have the task in a node. Any lane.
    LANEWAY_FN void push(Ctx& ctx, std::uint32_t number) const {
        // Before it can be seen: what is done is never more than what there is.
        ctx.fetch_add(&nodes_.blocks[block_].spawned, std::uint64_t{1}, order::relaxed, scope::device);
        const auto warp = static_cast<std::uint32_t>(ctx.warp());
        const std::uint32_t place = reserve(ctx, warp);
        if (place == task_deque::n_places) {
            nodes_.push(ctx, nodes_.blocks[block_].spilled, number);
            return say(ctx, spilled_bit);
        }
        // Partner: the acquire exchange in take.
        ctx.store(&nodes_.deque(block_, warp).places[place], number + 1, order::release, scope::device);
        ctx.fetch_or(&shared_->ready[warp], 1u << place, order::release, scope::block);
        say(ctx, std::uint64_t{1} << warp);
    }

    /// 1 more than the number of a node whose task waits, or 0. The whole warp; a barrier follows.
    LANEWAY_FN std::uint32_t find(Ctx& ctx) const {
        const std::uint32_t found = once(ctx, full_warp<Ctx>, [&] { return find_in_block(ctx); });
        if (found != 0 || nodes_.n_blocks == 1) return found;
        return find_elsewhere(ctx);
    }

    /// Says to other blocks which warps have tasks. One lane of the block at a time.
    LANEWAY_FN void refresh(Ctx& ctx) const {
        std::uint64_t now = seen_now(ctx, 0), named = 0;
        for (bool again = false;; again = true) {
            const std::uint64_t before = ctx.exchange(&shared_->hint, now, order::relaxed, scope::block);
            // Again always: what others have said since the exchange has been overwritten.
            if (again || before != now) ctx.store(&nodes_.hints[block_], now, order::relaxed, scope::device);
            // Who has pushed meanwhile may have found its warp named, and said nothing.
            named |= before;
            const std::uint64_t next = seen_now(ctx, named);
            if ((next & ~now) == 0) return;
            now = next;
        }
    }

private:
    static constexpr std::uint64_t spilled_bit = std::uint64_t{1} << 32;

    /// A place of the warp's deque that is free from now on nobody's but this lane's, or n_places. The newest task lies
    /// in the lowest place.
    LANEWAY_FN std::uint32_t reserve(Ctx& ctx, std::uint32_t warp) const {
        std::uint32_t used = ctx.load(&shared_->used[warp], order::relaxed, scope::block);
        while (~used != 0) {
            const std::uint32_t below = used == 0 ? ~0u : (used & (0u - used)) - 1;  // places below the newest
            const std::uint32_t bit = highest(below != 0 ? below : ~used);
            // Partner: the release in take. The place is empty.
            used = ctx.fetch_or(&shared_->used[warp], bit, order::acquire, scope::block);
            if ((used & bit) == 0) return static_cast<std::uint32_t>(Ctx::first_lane(bit));
        }
        return task_deque::n_places;
    }
    static LANEWAY_FN std::uint32_t highest(std::uint32_t bits) {
        for (int distance = 1; distance < 32; distance *= 2) bits |= bits >> distance;
        return bits - bits / 2;
    }

    /// Has other blocks know that there are tasks, where they do not. Any lane.
    LANEWAY_FN void say(Ctx& ctx, std::uint64_t what) const {
        if ((ctx.load(&shared_->hint, order::relaxed, scope::block) & what) != 0) return;
        ctx.fetch_or(&shared_->hint, what, order::relaxed, scope::block);
        ctx.fetch_or(&nodes_.hints[block_], what, order::relaxed, scope::device);
    }

    /// What is ready. `named`: what the block's hint has named before. One lane.
    LANEWAY_FN std::uint64_t seen_now(Ctx& ctx, std::uint64_t named) const {
        std::uint64_t seen = 0;
        for (int w = 0; w < ctx.n_warps(); ++w) {
            if (ctx.load(&shared_->ready[w], order::relaxed, scope::block) != 0) seen |= std::uint64_t{1} << w;
        }
        named |= ctx.load(&shared_->hint, order::relaxed, scope::block);
        if (nodes_.from_lanes() || (named & spilled_bit) != 0) {
            const std::uint64_t head = ctx.load(&nodes_.blocks[block_].spilled, order::relaxed, scope::device);
            if (static_cast<std::uint32_t>(head) != 0) seen |= spilled_bit;
        }
        return seen;
    }

    /// Takes a task of a warp of the block. One lane.
    LANEWAY_FN std::uint32_t take(Ctx& ctx, std::uint32_t warp, bool newest) const {
        std::uint32_t& words = shared_->ready[warp];
        std::uint32_t ready = ctx.load(&words, order::relaxed, scope::block);
        while (ready != 0) {
            const std::uint32_t bit = newest ? ready & (0u - ready) : highest(ready);
            ready = ctx.fetch_and(&words, ~bit, order::acquire, scope::block);
            if ((ready & bit) != 0) {
                const int place = Ctx::first_lane(bit);
                // Partner: the release store in push.
                const std::uint32_t found =
                    ctx.exchange(&nodes_.deque(block_, warp).places[place], 0u, order::acquire, scope::device);
                // Partner: the acquire in reserve.
                ctx.fetch_and(&shared_->used[warp], ~bit, order::release, scope::block);
                if (found != 0) return found;  // else another block has been faster
            }
            ready &= ~bit;
        }
        return 0;
    }
    /// One lane.
    LANEWAY_FN std::uint32_t find_in_block(Ctx& ctx) const {
        const auto own = static_cast<std::uint32_t>(ctx.warp()), n = static_cast<std::uint32_t>(ctx.n_warps());
        std::uint32_t found = take(ctx, own, true);
        const std::uint64_t hint = ctx.load(&shared_->hint, order::relaxed, scope::block);
        if (found != 0 || hint == 0) return found;
        for (std::uint32_t i = 1; i < n && found == 0; ++i) {
            const std::uint32_t w = own + i < n ? own + i : own + i - n;
            if ((hint >> w & 1) != 0) found = take(ctx, w, false);
        }
        if (found == 0 && (hint & spilled_bit) != 0) found = nodes_.pop(ctx, nodes_.blocks[block_].spilled);
        return found;
    }

    /// Takes a task of another block. The whole warp; one of a block at a time.
    LANEWAY_FN std::uint32_t find_elsewhere(Ctx& ctx) const {
        // Partner: the release store below.
        const bool may =
            once(ctx, full_warp<Ctx>, [&] {
                return std::uint32_t{ctx.load(&shared_->looking, order::relaxed, scope::block) == 0 &&
                                     ctx.exchange(&shared_->looking, 1u, order::acquire, scope::block) == 0};
            }) != 0;
        if (!may) return 0;
        constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
        std::uint32_t found = 0;
        for (std::uint32_t first = 1; first < nodes_.n_blocks && found == 0; first += lanes) {
            const std::uint32_t i = first + static_cast<std::uint32_t>(ctx.lane());
            const std::uint32_t block = (block_ + i) % nodes_.n_blocks;
            const std::uint64_t hint =
                i < nodes_.n_blocks ? ctx.load(&nodes_.hints[block], order::relaxed, scope::device) : 0;
            for (lane_mask some = ctx.ballot(full_warp<Ctx>, hint != 0); some != 0 && found == 0; some &= some - 1) {
                const int from = Ctx::first_lane(some);
                found = take_of(ctx, ctx.shuffle(full_warp<Ctx>, block, from), ctx.shuffle(full_warp<Ctx>, hint, from));
            }
        }
        if (ctx.lane() == 0) ctx.store(&shared_->looking, 0u, order::release, scope::block);
        return found;
    }
    /// Takes a task of a block that has said that it has some. The whole warp.
    LANEWAY_FN std::uint32_t take_of(Ctx& ctx, std::uint32_t block, std::uint64_t hint) const {
        const auto warps = static_cast<std::uint32_t>(hint);
        for (std::uint32_t i = 0; i < task_nodes_ref::max_warps && warps != 0; ++i) {
            const std::uint32_t warp = (block_ + i) % task_nodes_ref::max_warps;
            if ((warps >> warp & 1) == 0) continue;
            const std::uint32_t found = take_oldest(ctx, nodes_.deque(block, warp));
            if (found != 0) return found;
        }
        if ((hint & spilled_bit) == 0) return 0;
        return once(ctx, full_warp<Ctx>, [&] { return nodes_.pop(ctx, nodes_.blocks[block].spilled); });
    }
    LANEWAY_FN std::uint32_t take_oldest(Ctx& ctx, task_deque& from) const {
        constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
        for (std::uint32_t first = 0; first < task_deque::n_places; first += lanes) {
            const std::uint32_t place = task_deque::n_places - 1 - first - static_cast<std::uint32_t>(ctx.lane());
            const std::uint32_t seen = ctx.load(&from.places[place], order::relaxed, scope::device);
            const lane_mask some = ctx.ballot(full_warp<Ctx>, seen != 0);
            if (some == 0) continue;
            const std::uint32_t taken = once(ctx, full_warp<Ctx>, [&] {
                const auto oldest =
                    task_deque::n_places - 1 - first - static_cast<std::uint32_t>(Ctx::first_lane(some));
                // Partner: the release store in push.
                return ctx.exchange(&from.places[oldest], 0u, order::acquire, scope::device);
            });
            if (taken != 0) return taken;
        }
        return 0;
    }

    const task_nodes_ref& nodes_;
    task_deques_shared* shared_;
    std::uint32_t block_;
};

}  // namespace laneway
