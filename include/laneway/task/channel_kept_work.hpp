// What a warp does with what it keeps of what its lanes produce: it runs the last first, gives part of it to warps
// without work, and takes elements of queues where it keeps little. channel_stack.hpp has the memory.
//
// Where whole blocks do all the work a block keeps something in place of each of its warps: all its lanes produce onto
// one stack, of which the first warp of its team takes one element at a time, for the block. That warp alone does what
// a warp does here, continuations among it, while the others wait for its calls.
#pragma once

#include "laneway/memory/copy_bytes.hpp"
#include "laneway/task/channel_requests.hpp"
#include "laneway/task/channel_warp.hpp"

namespace laneway {

/// One lane's. All members are called by whole warps.
template <class Ctx, class Out, class View>
class channel_kept_work {
public:
    using warp_type = channel_warp<Ctx, Out, View>;
    using copy_type = typename copies_of<typename View::kernel_types>::type;

    /// `number`: as in channel_warp. `shared`: of the block, for all its warps.
    LANEWAY_FN channel_kept_work(const channel_stacks_ref& stacks, const roles& mine, std::uint32_t number,
                                 std::byte* shared)
        : keeps_(View::keeps && mine.works && stacks.capacity != 0), leads_(mine.team_index == 0),
          stack_(stacks, keeps_, reinterpret_cast<warp_stack_shared*>(shared) + (keeps_ ? index_of(mine) : 0),
                 keeps_ ? static_cast<std::uint32_t>(mine.team_number) * stacks.warps_a_block + index_of(mine) : 0,
                 static_cast<int>(together)),
          requests_(stacks, number) {}

    /// Where what the warp produces lies first, if it keeps something. The same object always: one that might be
    /// another would lie in memory, and all of the warp's with it.
    [[nodiscard]] LANEWAY_FN const warp_stack& stack() const { return stack_; }
    /// Whether this warp is one of a block that keeps something.
    [[nodiscard]] LANEWAY_FN bool is_of_block() const { return View::blocks_keep && keeps_; }
    /// Whether it leaves to the first warp of its block what there is to do.
    [[nodiscard]] LANEWAY_FN bool waits_for_calls() const { return is_of_block() && !leads_; }
    /// The position of the lowest element of the stack, which the first warp of a block tells the others.
    [[nodiscard]] LANEWAY_FN std::uint32_t bottom() const { return stack_.bottom(); }
    LANEWAY_FN void join(std::uint32_t bottom) { stack_.set_bottom(bottom); }
    /// Elements that are completed when the warp keeps nothing any more; null where it never does.
    [[nodiscard]] LANEWAY_FN std::uint64_t* owed() { return keeps_ ? &owed_ : nullptr; }

    LANEWAY_FN void open(Ctx& ctx) {
        if (keeps_ && !waits_for_calls()) stack_.open(ctx);
    }
    /// Counts what the warp still keeps, which is something where the run was stopped or a continuation was lost. One
    /// warp of a block, when all are through.
    LANEWAY_FN void close(Ctx& ctx, const warp_type& warp) {
        if (!keeps_) return;
        stack_.look(ctx);
        const std::uint32_t size = stack_.size();
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < size; i += lanes) {
            const std::uint32_t tag = stack_.tag(stack_.bottom() + i);
            if ((tag & stack_tag::freed) == 0) note_unfreed(ctx, warp, tag);
        }
        if constexpr (has_frames) {
            if (warp.view.set.stacks.frames == 0) return;
            stack_.each_used_frame(ctx,
                                   [&](const std::byte* frame) { note_unfreed(ctx, warp, frames::tag_of(frame)); });
        }
    }

    /// An element that the warp had kept was never freed. Any lane.
    static LANEWAY_FN void note_unfreed(Ctx& ctx, const warp_type& warp, std::uint32_t tag) {
        const channel_set_ref& set = warp.view.set;
        const std::uint32_t queue = set.channels[stack_tag::channel(tag)].first_queue + stack_tag::level(tag);
        ctx.fetch_add(set.stacks.unfreed + queue, 1u, order::relaxed, scope::device);
    }
    /// Takes the elements that are to run next; `shared(ctx)` those that are not the warp's own.
    template <class Shared>
    LANEWAY_FN channel_source take(Ctx& ctx, warp_type& warp, channel_batch& all, copy_type& copy,
                                   const Shared& shared) {
        std::uint32_t size = 0, ready = 0;
        bool looks_further = true;
        if constexpr (View::keeps) {
            if (keeps_) looks_further = looks_first(ctx, warp, size, ready);
        }
        const bool has_none = size + ready == 0;
        if (looks_further) {
            const channel_source from = shared(ctx);
            if (has_none || from != channel_source::nothing) return from;
        }
        if constexpr (!View::keeps) return channel_source::nothing;
        // Continuations end whatever there is of space.
        if (ready >= lanes || size == 0 || (warp.is_stuck() && ready != 0)) return take_frames(ctx, all);
        return take_stack(ctx, warp, size, all, copy);
    }
    /// Takes the element that the block runs behind the last one, without a turn between; false where there is none, or
    /// something else comes first.
    LANEWAY_FN bool take_next(Ctx& ctx, warp_type& warp, channel_batch& all, copy_type& copy) {
        if (warp.is_stuck() || (warp.turn + 1) % turns_to_queues == 0) return false;
        ++warp.turn;
        const std::uint32_t size = stack_.size();
        tell_closed_in_time(ctx, warp, size);
        if (size == 0 || stack_.n_ready() >= lanes) return false;
        requests_.note(ctx, false, warp.turn);
        (void)take_stack(ctx, warp, size, all, copy);
        return all.count != 0;
    }
    /// The place of an element that has been taken, until something is produced.
    [[nodiscard]] LANEWAY_FN const std::byte* slot(const channel_batch& all) const { return stack_.slot(all.base); }
    /// Behind the highest element, before lanes run.
    [[nodiscard]] LANEWAY_FN std::uint32_t top() const { return keeps_ ? stack_.top() : 0; }
    /// All lanes are through: gives back what failed to get slots or frames had taken. `end`: as warp_stack says.
    LANEWAY_FN void reclaim(Ctx& ctx, std::uint32_t end) {
        if (keeps_) stack_.reclaim(ctx, end);
    }
    /// Counts the tasks that the lanes have ended. Behind reclaim().
    LANEWAY_FN void end_tasks(Ctx& ctx, channel_node& node) {
        if constexpr (has_frames) frames::end_tasks(ctx, node, View::keeps ? &stack_ : nullptr);
    }
    /// The end of elements that the warp, or its block, had kept. `into`: the queue that this lane has produced into.
    LANEWAY_FN void end_batch(Ctx& ctx, warp_type& warp, const channel_batch& all, const copy_type& copy,
                              std::uint32_t into, outcome out) {
        const lane_mask back = ctx.ballot(full_warp<Ctx>, all.mine && out != outcome::done);
        warp.tallies.note_kept(ctx, ctx.ballot(full_warp<Ctx>, all.mine), back, all.channel);
        if (all.from == channel_source::frames) {
            stack_.free_frames(ctx, all.mine, all.place);
        } else {
            if (back != 0) put_back(ctx, back, all, copy);
            const bool is_short = ctx.ballot(full_warp<Ctx>, all.mine && out == outcome::yield) != 0;
            reach_ = is_short ? (reach_ + 1) / 2 : 2 * reach_ < together ? 2 * reach_ : together;
        }
        warp.note(ctx, none, into, all.count, all.mine, out);
    }
    /// Before elements run: what share() needs to know behind them.
    LANEWAY_FN void look_for_requests(Ctx& ctx) {
        if (keeps_) requests_.look(ctx);
    }
    /// Gives one of those that ask part of what the warp has beyond a dispatch's worth: of a block, which does one
    /// element after the other, the one with most below it.
    LANEWAY_FN void share(Ctx& ctx, warp_type& warp) {
        if (!keeps_ || static_cast<std::int32_t>(warp.turn - share_again_) < 0) return;
        const std::uint32_t size = stack_.size();
        if (size <= together) return;
        const std::uint32_t number = requests_.take(ctx, warp.turn);
        if (number == requests_.nobody) return;
        give_others(ctx, warp, warp.shard_of(number), View::blocks_keep ? 1 : part_of(size));
    }
    /// Lets others have the lower half of the stack, a warp's worth at most.
    LANEWAY_FN void give_half(Ctx& ctx, warp_type& warp) {
        if (keeps_) give_others(ctx, warp, warp.own, part_of(stack_.size()));
    }

private:
    static constexpr unsigned turns_without_sharing = 64;  ///< where others have no room for more
    static constexpr unsigned turns_to_collect = 8;        ///< frames, where they run short
    static constexpr unsigned turns_to_close = 64;         ///< between telling others of ended children
    static constexpr std::uint32_t enough_closed = 24;     ///< of them: the next dispatch mostly has room for its own
    static constexpr unsigned turns_to_fill = 4;           ///< between looks for more, where a warp has kept little
    static constexpr unsigned turns_to_queues = 4096;      ///< the same where it has kept enough
    static constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    static constexpr std::uint32_t together = View::blocks_keep ? 1 : lanes;  ///< elements of a dispatch
    static constexpr std::uint32_t none = channel_node::no_queue;
    using frames = typename frames_of<typename View::kernel_types>::type;
    static constexpr bool has_frames = !std::is_same_v<frames, no_frames>;

    /// Elements and continuations that the warp has, and whether it looks for those of others first.
    LANEWAY_FN bool looks_first(Ctx& ctx, warp_type& warp, std::uint32_t& size, std::uint32_t& ready) {
        size = stack_.size();
        tell_closed_in_time(ctx, warp, size);
        ready = stack_.n_ready();
        const bool has_none = size + ready == 0, has_few = has_none || 2 * (size + ready) < together;
        requests_.note(ctx, has_few, warp.turn);
        if (has_none) tell_owed(ctx, warp);
        // Seldom, as what comes on top of a stack that is in use makes it as high again. Where nothing finds space,
        // what is deepest may lie in a queue.
        const bool others_first = warp.is_stuck() ? warp.turn % 3 != 0
                                  : has_few       ? warp.turn % turns_to_fill == 0
                                                  : warp.turn % turns_to_queues == 0;
        return has_none || (others_first && ready < lanes);
    }
    static LANEWAY_FN std::uint32_t part_of(std::uint32_t size) { return size / 2 < lanes ? size / 2 : lanes; }
    /// Number of the stack in the block.
    static LANEWAY_FN std::uint32_t index_of(const roles& mine) {
        return View::blocks_keep ? 0 : static_cast<std::uint32_t>(mine.team_index);
    }
    /// Whether the warp tells others now of the children that have ended here: where many have, where it has little
    /// else to do or no space for it, and now and then. Only where what follows them finds room in the list of what
    /// runs next.
    LANEWAY_FN bool closes_now(const warp_type& warp, std::uint32_t size) const {
        const std::uint32_t closed = stack_.n_closed();
        if (closed == 0) return false;
        const std::uint32_t ready = stack_.n_ready();
        if (ready >= lanes) return false;
        return closed >= enough_closed || 2 * (size + ready) < together || warp.is_stuck() ||
               warp.turn % turns_to_close == 0;
    }
    LANEWAY_FN void tell_closed_in_time(Ctx& ctx, const warp_type& warp, std::uint32_t size) {
        if constexpr (has_frames) {
            if (closes_now(warp, size)) tell_closed(ctx, warp);
        }
    }
    /// Tells of them, all behind one fence, and runs what follows where they were the last.
    LANEWAY_FN void tell_closed(Ctx& ctx, const warp_type& warp) {
        channel_node node(warp.view.set, warp.own, 0, none, &stack_);
        const std::uint32_t closed = stack_.n_closed();
        ctx.sync(full_warp<Ctx>);  // what each lane has stored for them comes before what any tells
        shared_fence(ctx, order::release, scope::device);
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < closed; i += lanes) {
            frames::end_child(ctx, node, stack_.closed(i));
        }
        node.tell(ctx);
        stack_.look(ctx);
        stack_.clear_closed(ctx);
    }
    /// The warp keeps nothing any more: what it has claimed is completed.
    LANEWAY_FN void tell_owed(Ctx& ctx, warp_type& warp) {
        if (owed_ != 0 && ctx.lane() == 0) warp.out.complete(ctx, owed_);
        owed_ = 0;
    }
    /// Takes continuations that the warp has kept.
    LANEWAY_FN channel_source take_frames(Ctx& ctx, channel_batch& all) {
        ready_frame frame{};
        all.count = static_cast<int>(stack_.pop_ready(ctx, frame));
        all.mine = ctx.lane() < all.count;
        all.channel = stack_tag::channel(frame.tag);
        all.level = stack_tag::level(frame.tag);
        all.place = frame.place;
        all.element = stack_.frame(frame.place);
        return channel_source::frames;
    }
    /// Takes what is on top of the warp's stack.
    LANEWAY_FN channel_source take_stack(Ctx& ctx, warp_type& warp, std::uint32_t size, channel_batch& all,
                                         copy_type& copy) {
        if (warp.is_stuck()) raise_deepest(ctx, warp, size);
        if (warp.turn % turns_to_collect == 0 && stack_.unused_frames() < lanes) stack_.collect_frames(ctx);
        if constexpr (View::blocks_keep) return take_top(ctx, warp, size, all);
        const std::uint32_t count = size < reach_ ? size : reach_;
        all.base = stack_.bottom() + size - count;
        const std::uint32_t position = all.base + static_cast<std::uint32_t>(ctx.lane());
        if (static_cast<std::uint32_t>(ctx.lane()) < count) {
            all.place = stack_.tag(position);
            all.mine = (all.place & stack_tag::states) == stack_tag::ready;
            if ((all.place & stack_tag::states) == 0) note_unfreed(ctx, warp, all.place);
            if (all.mine) copy.load(stack_.slot(position));
        }
        all.count = Ctx::count_lanes(ctx.ballot(full_warp<Ctx>, all.mine));
        all.channel = stack_tag::channel(all.place);
        all.level = stack_tag::level(all.place);
        stack_.set_top(ctx, all.base);
        return channel_source::stack;
    }
    /// Takes the highest element of a block's stack, without the gaps above it; none where there are only gaps.
    LANEWAY_FN channel_source take_top(Ctx& ctx, const warp_type& warp, std::uint32_t size, channel_batch& all) {
        for (lane_mask ready = 0; ready == 0 && size != 0;) {
            const auto lane = static_cast<std::uint32_t>(ctx.lane()), seen = size < lanes ? size : lanes;
            const std::uint32_t tag = lane < seen ? stack_.tag(stack_.bottom() + size - 1 - lane) : stack_tag::freed;
            ready = ctx.ballot(full_warp<Ctx>, (tag & stack_tag::states) == stack_tag::ready);
            const std::uint32_t gaps = ready != 0 ? static_cast<std::uint32_t>(Ctx::first_lane(ready)) : seen;
            if (lane < gaps && (tag & stack_tag::states) == 0) note_unfreed(ctx, warp, tag);
            size -= gaps;
            if (ready != 0) all.place = ctx.shuffle(full_warp<Ctx>, tag, Ctx::first_lane(ready));
        }
        all.count = size != 0 ? 1 : 0;
        all.mine = all.count != 0 && ctx.lane() == 0;
        all.channel = stack_tag::channel(all.place);
        all.level = stack_tag::level(all.place);
        all.base = stack_.bottom() + size - static_cast<std::uint32_t>(all.count);
        stack_.set_top(ctx, all.base);
        return channel_source::stack;
    }
    /// Puts elements back, below what lanes have produced, which is deeper.
    LANEWAY_FN void put_back(Ctx& ctx, lane_mask back, const channel_batch& all, const copy_type& copy) {
        const std::uint32_t produced = stack_.bottom() + stack_.size() - all.base;
        const auto lane = static_cast<std::uint32_t>(ctx.lane());
        const auto count = static_cast<std::uint32_t>(Ctx::count_lanes(back));
        const bool moves = lane < count && lane < produced;
        copy_type other;
        std::uint32_t others_tag = 0;
        if (moves) {
            other.load(stack_.slot(all.base + lane));
            others_tag = stack_.tag(all.base + lane);
        }
        ctx.sync(full_warp<Ctx>);
        if (moves) {
            const std::uint32_t to = all.base + (count > produced ? count : produced) + lane;
            other.store(stack_.slot(to));
            stack_.tag(to) = others_tag;
        }
        if ((back >> lane & 1) != 0) {
            const std::uint32_t to = all.base + static_cast<std::uint32_t>(rank_in(ctx, back));
            copy.store(stack_.slot(to));
            stack_.tag(to) = all.place;
        }
        stack_.set_top(ctx, all.base + produced + count);
    }
    /// Brings the deepest element of the warp's stack to its top, for which alone there is space for certain.
    LANEWAY_FN void raise_deepest(Ctx& ctx, const warp_type& warp, std::uint32_t size) {
        std::uint64_t best = 0;
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < size; i += lanes) {
            const std::uint32_t tag = stack_.tag(stack_.bottom() + i);
            if ((tag & stack_tag::states) != stack_tag::ready) continue;
            const std::uint64_t depth = warp.view.set.depth(stack_tag::channel(tag), stack_tag::level(tag));
            const std::uint64_t mine = (depth + 1) << 32 | i;
            if (mine > best) best = mine;
        }
        best = ~warp_min(ctx, ~best);
        if (best == 0) return;
        if (ctx.lane() == 0) {
            const std::uint32_t from = stack_.bottom() + static_cast<std::uint32_t>(best);
            const std::uint32_t top = stack_.bottom() + size - 1;
            auto& deepest = *reinterpret_cast<copy_type*>(stack_.slot(from));
            auto& other = *reinterpret_cast<copy_type*>(stack_.slot(top));
            const copy_type kept = other;
            other = deepest;
            deepest = kept;
            const std::uint32_t tag = stack_.tag(top);
            stack_.tag(top) = stack_.tag(from);
            stack_.tag(from) = tag;
        }
        ctx.sync(full_warp<Ctx>);
        reach_ = 1;
    }
    /// Moves the lowest elements of the stack into channels, to a shard, a warp's worth at most.
    LANEWAY_FN void give_others(Ctx& ctx, warp_type& warp, std::uint32_t shard, std::uint32_t count) {
        if (count == 0) return;
        const auto lane = static_cast<std::uint32_t>(ctx.lane());
        const std::uint32_t tag = lane < count ? stack_.tag(stack_.bottom() + lane) : 0;
        const bool mine = lane < count && (tag & stack_tag::states) == stack_tag::ready;
        const channel<std::byte> to{stack_tag::channel(tag)};
        channel_node node(warp.view.set, shard, stack_tag::level(tag));
        reserved_elements<std::byte> room;
        if (mine) room = node.talloc_shared(ctx, to, stack_tag::level(tag), 1);
        ctx.sync(full_warp<Ctx>);
        const lane_mask full = ctx.ballot(full_warp<Ctx>, mine && !room);
        const std::uint32_t given = full == 0 ? count : static_cast<std::uint32_t>(Ctx::first_lane(full));
        if (mine && room && lane < given) {
            const channel_queue_ref queue = warp.view.set.queue(room.queue());
            const std::uint32_t at = queue.place_of(room.first());
            std::byte* const from = stack_.slot(stack_.bottom() + lane);
            if constexpr (has_frames) frames::leave(ctx, stack_, from);
            copy_bytes(queue.element(at), from, warp.view.set.channels[to.number].element_bytes);
            node.enq_place(ctx, room.queue(), at);
            node.tell(ctx);
            ++warp.given;
        } else if (mine && room) {
            node.tfree(ctx, room);
        }
        if (lane < given && (tag & stack_tag::states) == 0) note_unfreed(ctx, warp, tag);
        ctx.sync(full_warp<Ctx>);
        stack_.set_bottom(stack_.bottom() + given);
        if (full != 0) share_again_ = warp.turn + turns_without_sharing;
    }

    bool keeps_;  ///< what the warp produces lies on its own stack first, or on its block's
    bool leads_;  ///< of its block's warps
    warp_stack stack_;
    std::uint32_t reach_ = together;  ///< elements of the stack that run together
    std::uint32_t share_again_ = 0;   ///< turn before which others get none, as there was no room
    std::uint64_t owed_ = 0;
    channel_requests<Ctx> requests_;
};

}  // namespace laneway
