// What a kernel of a channel graph has beside its element: access to channels.
#pragma once

#include "laneway/simt/message_order.hpp"
#include "laneway/task/channel.hpp"
#include "laneway/task/channel_set_ref.hpp"

namespace laneway {

/// A place for one continuation, and its name; none: there was no space.
template <class T>
struct reserved_frame {
    T* at = nullptr;
    std::uint32_t queue = 0;  ///< of the PE, or the tag of a warp's frame
    std::uint32_t place = 0;
};

/// Elements of one queue that a lane has made ready and others do not see yet, so that one fence can be for all that a
/// warp tells. Any lane, also in divergent code.
class ready_elements {
public:
    static constexpr std::uint32_t no_queue = ~std::uint32_t{0};

    ready_elements() = default;
    /// `place`: of the first.
    LANEWAY_FN ready_elements(std::uint32_t queue, std::uint32_t place, std::uint32_t count)
        : queue_(queue), place_(place), count_(count) {}

    /// Number in the PE; no_queue: there are none.
    [[nodiscard]] LANEWAY_FN std::uint32_t queue() const { return queue_; }

    /// Counts them, before others can see them.
    template <class Ctx>
    LANEWAY_FN void announce(Ctx& ctx, const channel_set_ref& set) {
        if (queue_ == no_queue) return;
        const lane_mask mask = mates(ctx, ctx.converged(), set.identity_of(queue_));
        entry_ = set.queue(queue_).take_entries(ctx, mask, count_);
        leads_ = elected(ctx, mask);
    }
    /// Shows them, behind a release shared_fence, and that their queue holds some.
    template <class Ctx>
    LANEWAY_FN void show(Ctx& ctx, const channel_set_ref& set) const {
        if (queue_ == no_queue) return;
        const channel_queue_ref queue = set.queue(queue_);
        queue.store_entries(ctx, entry_, queue.position_of(place_), count_);
        if (leads_) set.raise_flag(ctx, queue_);
    }
    /// Both, with a fence of their own.
    template <class Ctx>
    LANEWAY_FN void tell(Ctx& ctx, const channel_set_ref& set) const {
        if (queue_ != no_queue) tell_at_once(ctx, set, *this);
    }

private:
    template <class Ctx>
    static LANEWAY_SLOW void tell_at_once(Ctx& ctx, const channel_set_ref& set, ready_elements all) {
        all.announce(ctx, set);
        shared_fence(ctx, order::release, scope::device);
        all.show(ctx, set);
    }

    std::uint32_t queue_ = no_queue;
    std::uint32_t place_ = 0;
    std::uint32_t count_ = 0;
    std::uint64_t entry_ = 0;
    bool leads_ = false;  ///< of the lanes that have announced elements of one queue together
};

/// One lane's access. Members may be called by any lane, also in divergent code; none waits.
class channel_node {
public:
    static constexpr std::uint32_t no_queue = ready_elements::no_queue;

    /// `shard`: that the lane produces into. `level`: of what it consumes; of a body, one less than the first.
    /// `first_in`: the queue whose first element the lane consumes, where that matters; see channel_layout::margin.
    /// `stack`: the words of the warp's own stack, where it keeps what it produces.
    LANEWAY_FN channel_node(const channel_set_ref& set, std::uint32_t shard, std::uint32_t level,
                            std::uint32_t first_in = no_queue, const warp_stack* stack = nullptr)
        : set_(set), shard_(shard), level_(level), first_in_(first_in), stack_(stack) {}

    /// The level of the element's channel that it lies in.
    [[nodiscard]] LANEWAY_FN std::uint32_t level() const { return level_; }

    /// Reserves `count` elements of a channel, which the lane then writes and gives to enq. In a channel of several
    /// levels they belong to the level below that of the consumed element. None where there is no space now: then the
    /// kernel returns outcome::yield, and is called again for its element; or it does something else. Ends the run with
    /// too_deep, too_many_at_once.
    template <class Ctx, class T>
    [[nodiscard]] LANEWAY_FN reserved_elements<T> talloc(Ctx& ctx, channel<T> to, std::uint32_t count = 1) {
        return talloc_at(ctx, to, level_in(to.number), count);
    }
    /// The same at a given level, which must not be less deep than what the lane consumes.
    template <class Ctx, class T>
    [[nodiscard]] LANEWAY_FN reserved_elements<T> talloc_at(Ctx& ctx, channel<T> to, std::uint32_t level,
                                                            std::uint32_t count) {
        const channel_layout& layout = set_.channels[to.number];
        if (count == 0 || !may_reserve(ctx, to.number, level, count)) return {};
        if (keeps() && layout.is_kept != 0) {
            std::uint32_t position = 0;
            if (stack_->reserve(ctx, count, position)) {
                kept_end_ = position + count;
                has_kept_ = true;
                const std::uint32_t tag = stack_tag::of(to.number, level);
                for (std::uint32_t i = 0; i < count; ++i) stack_->tag(position + i) = tag;
                return {stack_->slots(), stack_->capacity(), stack_->slot_bytes(), tag, position, count};
            }
        }
        const auto found = talloc_shared(ctx, to, level, count);
        if (!found) count_stall(ctx, to.number, level);
        return found;
    }
    /// The same where other warps find them; not counted as a stall.
    template <class Ctx, class T>
    [[nodiscard]] LANEWAY_FN reserved_elements<T> talloc_shared(Ctx& ctx, channel<T> to, std::uint32_t level,
                                                                std::uint32_t count) {
        std::uint64_t first = no_space;
        reconverging(ctx, [&] { first = reserve_in(ctx, set_, shard_, to.number, level, count, first_in_); });
        if (first == no_space) return {};
        const channel_queue_ref queue = set_.queue(shard_, to.number, level);
        const channel_layout& layout = set_.channels[to.number];
        return {queue.element(0), layout.width, layout.element_bytes, queue_at(to.number, level), first, count};
    }
    /// A place for the continuation of a function, as talloc_at gives one. `kept`: it may be a frame of the warp.
    template <class Ctx, class T>
    [[nodiscard]] LANEWAY_FN reserved_frame<T> reserve_frame(Ctx& ctx, channel<T> of, std::uint32_t level, bool kept) {
        if (!may_reserve(ctx, of.number, level, 1)) return {};
        std::uint32_t place = 0;
        if (kept && keeps() && stack_->take_frame(ctx, place)) {
            return {reinterpret_cast<T*>(stack_->frame(place)), stack_tag::of(of.number, level), place};
        }
        const auto found = talloc_shared(ctx, of, level, 1);
        if (!found) {
            count_stall(ctx, of.number, level);
            return {};
        }
        return {&found[0], found.queue(), set_.queue(found.queue()).place_of(found.first())};
    }

    /// Makes elements ready that talloc has given and the lane has written; nothing where there are none. Others see
    /// them when the lane's kernel has returned, or has made further ones ready.
    template <class Ctx, class T>
    LANEWAY_FN void enq(Ctx& ctx, const reserved_elements<T>& elements) {
        if (!elements) return;
        if ((elements.queue() & stack_tag::kept) != 0) {
            const auto position = static_cast<std::uint32_t>(elements.first());
            for (std::uint32_t i = 0; i < elements.size(); ++i) {
                stack_->tag(position + i) = elements.queue() | stack_tag::ready;
            }
            return;
        }
        for (std::uint32_t i = 0; i < elements.size(); ++i) go_before(ctx, &elements[i]);
        tell(ctx);
        const std::uint32_t place = set_.queue(elements.queue()).place_of(elements.first());
        made_ = {elements.queue(), place, elements.size()};
    }
    /// Gives reserved elements back that are not needed.
    template <class Ctx, class T>
    LANEWAY_FN void tfree(Ctx& ctx, const reserved_elements<T>& elements, std::uint32_t from = 0) {
        if ((elements.queue() & stack_tag::kept) != 0) {
            for (std::uint32_t i = from; i < elements.size(); ++i) {
                if (stack_->free(static_cast<std::uint32_t>(elements.first()) + i)) continue;
                (void)fail(ctx, status::freed_twice, operation::consume, -1,
                           set_.in_faults(stack_tag::channel(elements.queue())), stack_tag::level(elements.queue()));
            }
            return;
        }
        if (from < elements.size()) {
            reconverging(
                ctx, [&] { release_in(ctx, set_, elements.queue(), elements.first() + from, elements.size() - from); });
        }
    }
    /// Makes the element at a place of a queue ready, as enq does, or the continuation in a frame.
    template <class Ctx>
    LANEWAY_FN void enq_place(Ctx& ctx, std::uint32_t queue, std::uint32_t place) {
        if ((queue & stack_tag::kept) != 0) {
            stack_->push_ready(ctx, queue, place);
            return;
        }
        go_before(ctx, set_.queue(queue).element(place));
        tell(ctx);
        made_ = {queue, place, 1};
    }
    /// Shows others what the lane has made ready. Whoever has called a kernel does it, if not by made().
    template <class Ctx>
    LANEWAY_FN void tell(Ctx& ctx) {
        made_.tell(ctx, set_);
        made_ = {};
    }

    /// A child of a continuation has ended, of which the lane's warp tells later, with others. False where it has no
    /// room for it.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool close_later(Ctx& ctx, std::byte* parent) const {
        return keeps() && stack_->note_closed(ctx, parent);
    }
    /// Whether a continuation waits in a frame of the lane's own warp.
    [[nodiscard]] LANEWAY_FN bool owns(const std::byte* frame) const { return keeps() && stack_->owns(frame); }

    /// A task that the lane runs has ended: it counts for its continuation when all lanes of the warp are through, as
    /// then they count together.
    LANEWAY_FN void note_ended(std::byte* parent) {
        ended_ = parent;
        ++ends_;
    }
    /// The continuation, and how often it was noted: once, or the run ends with an error.
    [[nodiscard]] LANEWAY_FN std::byte* ended() const { return ended_; }
    [[nodiscard]] LANEWAY_FN std::uint32_t ends() const { return ends_; }

    /// What the lane has made ready last and others do not see yet.
    [[nodiscard]] LANEWAY_FN const ready_elements& made() const { return made_; }
    /// Whether the lane has got slots of the stack.
    [[nodiscard]] LANEWAY_FN bool has_kept() const { return has_kept_; }
    /// Behind the last slot of the warp's stack that the lane has got; `top` where it has none.
    [[nodiscard]] LANEWAY_FN std::uint32_t kept_end(std::uint32_t top) const { return has_kept_ ? kept_end_ : top; }
    [[nodiscard]] LANEWAY_FN const channel_set_ref& set() const { return set_; }

protected:
    /// Whether what the lane produces may lie with its own warp.
    [[nodiscard]] LANEWAY_FN bool keeps() const { return stack_ != nullptr && stack_->keeps(); }
    [[nodiscard]] LANEWAY_FN std::uint32_t shard() const { return shard_; }
    /// Level of what the lane produces into a channel.
    [[nodiscard]] LANEWAY_FN std::uint32_t level_in(std::uint32_t number) const {
        return set_.channels[number].levels == 1 ? 0 : level_ + 1;
    }
    /// Number in the PE of a queue that the lane produces into.
    [[nodiscard]] LANEWAY_FN std::uint32_t queue_at(std::uint32_t number, std::uint32_t level) const {
        return shard_ * set_.queues_a_shard + set_.channels[number].first_queue + level;
    }
    template <class Ctx>
    LANEWAY_FN void count_stall(Ctx& ctx, std::uint32_t number, std::uint32_t level) const {
        const std::uint32_t queue = queue_at(number, level);
        const lane_mask mask = mates(ctx, ctx.converged(), set_.identity_of(queue));
        if (!elected(ctx, mask)) return;
        const auto lanes = static_cast<std::uint64_t>(Ctx::count_lanes(mask));
        ctx.fetch_add(set_.stalls + queue, lanes, order::relaxed, scope::device);
    }
    template <class Ctx>
    LANEWAY_FN bool may_reserve(Ctx& ctx, std::uint32_t number, std::uint32_t level, std::uint32_t count) const {
        const channel_layout& layout = set_.channels[number];
        if (level >= layout.levels) {
            (void)fail(ctx, status::too_deep, operation::produce, -1, set_.in_faults(number), layout.levels);
            return false;
        }
        if (count > layout.at_once) {
            (void)fail(ctx, status::too_many_at_once, operation::produce, -1, set_.in_faults(number), layout.at_once);
            return false;
        }
        return true;
    }

private:
    static constexpr std::uint64_t no_space = ~std::uint64_t{0};

    // Functions of their own: where warps keep what they produce few elements come to queues, and the code of these
    // would lie between what each element runs.

    /// Position of the first of `count` elements of a queue; no_space.
    template <class Ctx>
    static LANEWAY_SLOW std::uint64_t reserve_in(Ctx& ctx, const channel_set_ref& set, std::uint32_t shard,
                                                 std::uint32_t channel, std::uint32_t level, std::uint32_t count,
                                                 std::uint32_t first_in) {
        const channel_layout& layout = set.channels[channel];
        const std::uint32_t number = shard * set.queues_a_shard + layout.first_queue + level;
        const std::uint32_t margin = first_in == no_queue ? layout.margin : first_in == number ? 0 : layout.margin / 2;
        const lane_mask mask = mates(ctx, ctx.converged(), set.identity_of(number) + (first_in == no_queue ? 0 : 1));
        std::uint64_t first = 0;
        return set.queue(shard, channel, level).reserve(ctx, mask, count, first, margin) ? first : no_space;
    }
    /// Frees `count` elements of a queue, from a position on.
    template <class Ctx>
    static LANEWAY_SLOW void release_in(Ctx& ctx, const channel_set_ref& set, std::uint32_t number, std::uint64_t first,
                                        std::uint32_t count) {
        const channel_queue_ref queue = set.queue(number);
        for (std::uint32_t i = 0; i < count; ++i) {
            const lane_mask mask = mates(ctx, ctx.converged(), set.identity_of(number));
            (void)queue.release(ctx, mask, queue.place_of(first + i));
        }
    }

    const channel_set_ref& set_;
    std::uint32_t shard_;
    std::uint32_t level_;
    std::uint32_t first_in_;
    const warp_stack* stack_;
    ready_elements made_;
    std::byte* ended_ = nullptr;
    std::uint32_t ends_ = 0;
    std::uint32_t kept_end_ = 0;
    bool has_kept_ = false;
};

}  // namespace laneway
