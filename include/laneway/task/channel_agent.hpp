// What a warp does for the channels of a graph: it runs what it has kept of what it has produced; else it looks which
// queue to serve, claims elements, one for each lane, and runs the kernel that consumes them. Each warp decides for
// itself, so no dispatch goes through another one.
#pragma once

#include "laneway/comm/copy_bytes.hpp"
#include "laneway/comm/roles.hpp"
#include "laneway/task/channel_chooser.hpp"
#include "laneway/task/channel_consuming.hpp"
#include "laneway/task/channel_moving.hpp"
#include "laneway/task/channel_team.hpp"
#include "laneway/task/task_type.hpp"

namespace laneway {

/// Members are called as component.hpp says; a body's lanes call talloc and enq.
template <class Ctx, class Out, class View>
class channel_agent {
public:
    static constexpr bool polls = true;

    using choice = typename channel_chooser<Ctx, View>::choice;

    /// `shared`, `team` and `component`: where the view has kernels that take a block, see component.hpp.
    LANEWAY_FN channel_agent(const View& view, Out& out, const roles& mine, std::byte* shared,
                             block_team<Ctx>* team = nullptr, std::uint32_t component = 0)
        : view_(view), out_(out), chooser_(view),
          own_(static_cast<std::uint32_t>(mine.worker_index) % view.set.n_shards), victim_(own_),
          of_body_(node_of(~std::uint32_t{0}, none)),
          team_(reinterpret_cast<channel_team_shared*>(shared), team, component),
          keeps_(View::keeps && mine.works && view.set.stacks.capacity != 0),
          warp_(keeps_ ? static_cast<std::uint32_t>(mine.team_number) * view.set.stacks.warps_a_block +
                             static_cast<std::uint32_t>(mine.team_index)
                       : 0),
          stack_(view.set.stacks,
                 reinterpret_cast<warp_stack_shared*>(shared + View::team_bytes) + (keeps_ ? mine.team_index : 0),
                 warp_, Ctx::warp_lanes) {}

    /// As channel_node's, for the first level of a channel. Does not wait: a body that finds no space does something
    /// else, or returns.
    template <class T>
    [[nodiscard]] LANEWAY_FN reserved_elements<T> talloc(Ctx& ctx, channel<T> to, std::uint32_t count = 1) {
        return of_body_.talloc(ctx, to, count);
    }
    template <class T>
    LANEWAY_FN void enq(Ctx& ctx, const reserved_elements<T>& elements) {
        of_body_.enq(ctx, elements);
    }

    /// As remote_node's, where a kernel receives.
    template <class T>
    [[nodiscard]] LANEWAY_FN bool send(Ctx& ctx, int pe, channel<T> to, const std::type_identity_t<T>& element) {
        return of_body_.send(ctx, pe, to, element);
    }

    LANEWAY_FN void enq_place(Ctx& ctx, std::uint32_t queue, std::uint32_t place) {
        of_body_.enq_place(ctx, queue, place);
    }

    LANEWAY_FN void open(Ctx& ctx) {
        team_.open(ctx);
        if constexpr (View::keeps) {
            if (keeps_) stack_.open(ctx);
        }
    }
    LANEWAY_FN void refresh(Ctx&) const {}
    LANEWAY_FN bool poll(Ctx& ctx) {
        if (help_block(ctx)) return true;
        if (is_called_away(ctx)) return false;
        ++turn_;
        if constexpr (View::moves) {
            if (turn_ % turns_to_give == 0 && ctx.n_pes() > 1) give(ctx);
        }
        const bool served = serve(ctx);
        idle_turns_ = served ? 0 : idle_turns_ + 1;
        if (served) return !waits_for_rooms();
        if constexpr (View::moves) {
            if (idle_turns_ % turns_to_ask == 0 && ctx.n_pes() > 1 && ctx.lane() == 0) view_.moving.ask(ctx);
        }
        return false;
    }
    LANEWAY_FN void close(Ctx& ctx) {
        if constexpr (View::receives) sent_ += of_body_.sent();
        if constexpr (View::keeps) {
            if (keeps_ && view_.set.stacks.frames != 0) {
                stack_.collect_frames(ctx);
                if (ctx.lane() == 0) lost_ += view_.set.stacks.frames - stack_.unused_frames();
            }
        }
        std::uint64_t sums[] = {
            stalls_ + of_body_.stalls(), yields_, items_, moved_, sent_, kept_, kept_runs_, given_, lost_};
        warp_sums(ctx, sums);
        const std::uint64_t least = warp_min(ctx, ~chooser_.peak());
        out_.count_items(ctx, ctx.lane() == 0 ? sums[2] : 0);
        if (ctx.lane() != 0) return;
        channel_totals& totals = *view_.set.totals;
        ctx.fetch_add(&totals.dispatches, dispatches_, order::relaxed, scope::device);
        ctx.fetch_add(&totals.full_dispatches, full_, order::relaxed, scope::device);
        ctx.fetch_add(&totals.stalls, sums[0], order::relaxed, scope::device);
        ctx.fetch_add(&totals.yields, sums[1], order::relaxed, scope::device);
        ctx.fetch_add(&totals.moved, sums[3], order::relaxed, scope::device);
        ctx.fetch_add(&totals.sent, sums[4], order::relaxed, scope::device);
        ctx.fetch_add(&totals.kept, sums[5], order::relaxed, scope::device);
        ctx.fetch_add(&totals.kept_runs, sums[6], order::relaxed, scope::device);
        ctx.fetch_add(&totals.given, sums[7], order::relaxed, scope::device);
        ctx.fetch_add(&totals.lost, sums[8], order::relaxed, scope::device);
        ctx.fetch_max(&totals.peak, ~least, order::relaxed, scope::device);
    }

    // For one that decides for others, or follows orders: see channel_ordered_agent.hpp.

    [[nodiscard]] LANEWAY_FN channel_chooser<Ctx, View>& chooser() { return chooser_; }
    /// Whether the last dispatch brought nothing, so that what has been aggregated should leave now: rooms come back
    /// for it.
    [[nodiscard]] LANEWAY_FN bool waits_for_rooms() { return View::receives && chooser_.history().stuck != 0; }
    /// Takes part in what the block has begun, if it has. The whole warp.
    LANEWAY_FN bool help_block(Ctx& ctx) {
        if constexpr (View::has_blocks) {
            if (!team_.is_called(ctx)) return false;
            work_with_block(ctx);
            return true;
        }
        return false;
    }
    /// Whether the block works for another component, for whose turn this one makes way.
    [[nodiscard]] LANEWAY_FN bool is_called_away([[maybe_unused]] Ctx& ctx) const {
        if constexpr (View::has_blocks) return team_.is_called_away(ctx);
        return false;
    }
    /// Runs the elements of one queue, one for each lane. The whole warp; false where others were faster.
    LANEWAY_FN bool dispatch(Ctx& ctx, std::uint32_t number) {
        batch all;
        copy_type copy;
        return run_if(ctx, claim(ctx, number, all, copy), all, copy);
    }

private:
    static constexpr unsigned turns_to_correct = 64;       ///< flags of the own shard, of which some are lost
    static constexpr std::uint32_t words_to_correct = 8;   ///< so many words of them
    static constexpr unsigned turns_without_sharing = 64;  ///< where others have no room for more
    static constexpr unsigned turns_to_give = 8, turns_to_ask = 16;
    static constexpr unsigned turns_to_collect = 8;    ///< frames, where they run short
    static constexpr unsigned turns_to_doubt = 8;      ///< without work, between looks at all queues of a shard
    static constexpr unsigned turns_to_fill = 4;       ///< between looks for more, where a warp has kept little
    static constexpr unsigned turns_to_queues = 4096;  ///< the same where it has kept enough
    static constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    static constexpr std::uint32_t none = channel_node::no_queue;
    static_assert(none == channel_rooms_ref::none);

    using copy_type = typename copies_of<typename View::kernel_types>::type;

    /// Where the elements of a batch come from; a warp that has worked with its block has none left to run.
    enum class source : std::uint32_t { nothing, queue, stack, frames, block };

    /// Elements that the lanes of a warp run together, one a lane at most.
    struct batch {
        source from = source::nothing;
        std::uint32_t queue = none;  ///< of the PE, where they come from one
        std::uint32_t base = 0;      ///< of the stack: position of the first
        int count = 0;

        // Of this lane's.
        bool mine = false;  ///< whether it has one
        std::uint32_t channel = 0;
        std::uint32_t level = 0;
        std::uint32_t place = 0;  ///< in its queue, or of its frame; of the stack, its tag
        std::byte* element = nullptr;
        std::uint32_t first_in = none;
        std::uint32_t room = none;    ///< that it came in, and still has
        moved_header moved{};         ///< of one that has moved here
        std::uint32_t filled = none;  ///< queue of the PE that the lane has produced into
    };

    /// What a kernel has of the channels, for an element of this level.
    LANEWAY_FN auto node_of(std::uint32_t level, std::uint32_t first_in, [[maybe_unused]] std::uint32_t room = none,
                            [[maybe_unused]] std::uint32_t room_class = 0, const warp_stack* stack = nullptr) const {
        if constexpr (View::receives) {
            return remote_node<Out, View>(view_.set, own_, level, first_in, room, room_class, out_, stack);
        } else {
            return channel_node(view_.set, own_, level, first_in, stack);
        }
    }
    /// Runs a batch. The whole warp; how it ended on this lane.
    LANEWAY_FN outcome run(Ctx& ctx, batch& all, copy_type& copy) {
        const channel_layout& layout = view_.set.channels[all.channel];
        const bool came = View::receives && layout.is_remote != 0;
        const std::uint32_t room_class = channel_rooms_ref::class_of(layout.levels, all.level);
        const warp_stack* stack = nullptr;
        if constexpr (View::keeps) stack = keeps_ ? &stack_ : nullptr;
        std::uint32_t top = 0;
        if (stack != nullptr) top = stack_.bottom() + stack_.size(ctx);
        auto node = node_of(all.level, all.first_in, all.room, room_class, stack);
        outcome out = outcome::done;
        if (all.mine) {
            out = consume<task_width::warp>(
                view_.kernels, layout.consumer, all.element, came, copy,
                [&](const auto& code, auto& given) {
                    return ended(ctx, all.queue, node, call_kernel(ctx, code, given, node));
                },
                all.queue != none);
        }
        ctx.sync(full_warp<Ctx>);
        if (stack != nullptr) stack_.settle(ctx, node.kept_end(top));
        note_node(node);
        if constexpr (View::receives) all.room = node.room();
        all.filled = node.filled();
        return out;
    }
    template <class Node>
    LANEWAY_FN void note_node(const Node& node) {
        stalls_ += node.stalls();
        if constexpr (View::receives) sent_ += node.sent();
    }
    /// The end of an element of a queue. One whose room has gone on has no place to wait in.
    template <class Node>
    LANEWAY_FN outcome ended(Ctx& ctx, std::uint32_t number, const Node& node, outcome out) const {
        if constexpr (View::receives) {
            if (out != outcome::done && node.has_forwarded()) {
                const std::uint32_t inside = view_.set.channel_of(number % view_.set.queues_a_shard);
                (void)fail(ctx, status::yielded_after_forward, operation::consume, -1, view_.set.users_number(inside));
                return outcome::done;
            }
        }
        return out;
    }
    /// An element that came in a room is done. The room goes back, unless it has gone on. Any lane.
    LANEWAY_FN void leave_room(Ctx& ctx, const channel_queue_ref& queue, std::uint32_t room, std::uint32_t room_class) {
        const lane_mask all = ctx.converged();
        if (elected(ctx, all)) queue.count_released(ctx, static_cast<std::uint64_t>(Ctx::count_lanes(all)));
        if (room == none) return;
        const std::uint32_t a_pe = view_.set.rooms.a_pe;
        const returned_room<typename View::kernel_types> back{room_class, room % a_pe};
        (void)out_.post(ctx, static_cast<int>(room / a_pe), back);  // a failure ends the run
    }

    /// Runs what is to run next; false where nothing was found.
    LANEWAY_FN bool serve(Ctx& ctx) {
        batch all;
        copy_type copy;
        return run_if(ctx, take(ctx, all, copy), all, copy);
    }
    /// Runs a batch, if there is one, and ends it.
    LANEWAY_FN bool run_if(Ctx& ctx, source from, batch& all, copy_type& copy) {
        all.from = from;
        if (from == source::nothing || from == source::block) return from == source::block;
        const std::uint32_t hungry = hungry_warps(ctx);
        const outcome out = run(ctx, all, copy);
        if (from == source::queue) {
            end_claimed(ctx, all, out);
        } else if constexpr (View::keeps) {
            end_kept(ctx, all, copy, out);
        }
        share(ctx, hungry);
        return true;
    }

    /// Takes the elements that are to run next.
    LANEWAY_FN source take(Ctx& ctx, batch& all, copy_type& copy) {
        if constexpr (View::keeps) {
            if (keeps_) {
                const std::uint32_t size = stack_.size(ctx), ready = stack_.n_ready(ctx);
                // Where nothing finds space, what is deepest may lie in a queue.
                const bool is_stuck = chooser_.history().stuck != 0, has_none = size + ready == 0;
                const bool has_few = has_none || 2 * (size + ready) < lanes;
                note_hunger(ctx, has_few);
                // Seldom, as what comes on top of a stack that is in use makes it as high again.
                const bool others_first = is_stuck  ? turn_ % 3 != 0
                                          : has_few ? turn_ % turns_to_fill == 0
                                                    : turn_ % turns_to_queues == 0;
                if (has_none) tell_owed(ctx);
                if (has_none || (others_first && ready < lanes)) {
                    const source from = take_shared(ctx, all, copy);
                    if (has_none || from != source::nothing) return from;
                }
                // Continuations end whatever there is of space.
                if (ready >= lanes || size == 0 || (is_stuck && ready != 0)) return take_frames(ctx, all);
                return take_stack(ctx, size, all, copy);
            }
        }
        return take_shared(ctx, all, copy);
    }
    LANEWAY_FN source take_shared(Ctx& ctx, batch& all, copy_type& copy) {
        for (const bool follows_last : {true, false}) {
            const std::uint32_t number = follows_last ? follow(ctx) : choose(ctx);
            const source from = number == none ? source::nothing : claim(ctx, number, all, copy);
            if (from != source::nothing) return from;
        }
        return source::nothing;
    }
    /// The queue that is to be served next; none.
    LANEWAY_FN std::uint32_t choose(Ctx& ctx) {
        if (turn_ % turns_to_correct == 0) chooser_.correct_flags(ctx, own_, words_to_correct);
        const choice mine = chooser_.choose(ctx, own_, turn_);
        if (mine.exists && mine.is_due) return mine.queue;
        if (find_victim(ctx)) {
            const choice other = chooser_.choose(ctx, victim_, turn_);
            if (other.exists && (other.is_due || !mine.exists)) return other.queue;
        }
        if (mine.exists) return mine.queue;
        if (idle_turns_ % turns_to_doubt != 0) return none;
        chooser_.correct_flags(ctx, victim_, view_.set.flags_a_shard());
        const choice any = chooser_.choose(ctx, victim_, turn_);
        return any.exists ? any.queue : none;
    }
    /// Claims the elements of one queue.
    LANEWAY_FN source claim(Ctx& ctx, std::uint32_t number, batch& all, copy_type& copy) {
        if constexpr (View::has_blocks) {
            if (takes_block(number)) return dispatch_to_block(ctx, number) ? source::block : source::nothing;
        }
        const channel_queue_ref queue = view_.set.queue(number);
        std::uint32_t place = 0;
        const int count = queue.claim(ctx, lanes, place);
        if (count == 0) return source::nothing;
        all.queue = number;
        all.count = count;
        all.place = place;
        const std::uint32_t inside = number % view_.set.queues_a_shard;
        all.channel = view_.set.channel_of(inside);
        const channel_layout& layout = view_.set.channels[all.channel];
        all.mine = ctx.lane() < all.count;
        all.element = queue.element(all.place);
        all.level = inside - layout.first_queue;
        if (View::moves && layout.is_arrivals != 0) {
            if (all.mine) all.moved = *reinterpret_cast<const moved_header*>(all.element);
            all.level = all.moved.level;
            all.element += sizeof(moved_header);
        }
        // What is first in its queue keeps all behind it from being freed: in a cycle of channels it might wait for
        // them.
        const bool came = View::receives && layout.is_remote != 0;
        const bool is_first = chooser_.history().stuck != 0 && !came && all.mine && queue.is_first(ctx, all.place);
        if (is_first) all.first_in = number;
        if (came && all.mine) all.room = view_.set.room_at(number, queue, all.place);
        if (all.mine) {
            come_behind(ctx, queue.element(all.place));
            copy_element(view_.kernels, layout.consumer, all.element, copy);
        }
        return source::queue;
    }
    LANEWAY_FN void end_claimed(Ctx& ctx, batch& all, outcome out) {
        const channel_layout& layout = view_.set.channels[all.channel];
        if constexpr (View::receives) {
            const bool came = layout.is_remote != 0;
            const std::uint32_t room_class = channel_rooms_ref::class_of(layout.levels, all.level);
            if (came && all.mine && out == outcome::done)
                leave_room(ctx, view_.set.queue(all.queue), all.room, room_class);
            ctx.sync(full_warp<Ctx>);
        }
        end(ctx, all.queue, all.place, all.filled, all.count, all.mine, out);
        if constexpr (View::keeps) {
            // What the warp keeps of what these have produced is part of them: nobody else counts it.
            if (keeps_) owed_ += static_cast<std::uint32_t>(all.count);
        }
        if (!keeps_ && ctx.lane() == 0) out_.complete(ctx, static_cast<std::uint32_t>(all.count));
        if constexpr (View::moves) {
            // Behind the release: the place must be free.
            if (all.mine && out == outcome::done && all.moved.count != 0)
                view_.moving.note_freed(ctx, all.moved.source, all.moved.count);
            ctx.sync(full_warp<Ctx>);
        }
        if (++sends_ % 16 == 0) (void)out_.flush_old(ctx);
    }
    /// The end of elements that the warp had kept.
    LANEWAY_FN void end_kept(Ctx& ctx, const batch& all, const copy_type& copy, outcome out) {
        const lane_mask back = ctx.ballot(full_warp<Ctx>, all.mine && out != outcome::done);
        if (all.mine) ++kept_runs_;
        if (all.mine && out == outcome::done) ++kept_;
        if (all.from == source::frames) {
            stack_.free_frames(ctx, all.mine, all.place);
        } else {
            if (back != 0) put_back(ctx, back, all, copy);
            const bool is_short = ctx.ballot(full_warp<Ctx>, all.mine && out == outcome::yield) != 0;
            reach_ = is_short ? (reach_ + 1) / 2 : 2 * reach_ < lanes ? 2 * reach_ : lanes;
        }
        note(ctx, none, all.filled, all.count, all.mine, out);
    }
    /// The warp keeps nothing any more: what it has claimed is completed.
    LANEWAY_FN void tell_owed(Ctx& ctx) {
        if (owed_ != 0 && ctx.lane() == 0) out_.complete(ctx, owed_);
        owed_ = 0;
    }

    /// Takes continuations that the warp has kept.
    LANEWAY_FN source take_frames(Ctx& ctx, batch& all) {
        ready_frame frame{};
        all.count = static_cast<int>(stack_.pop_ready(ctx, frame));
        all.mine = ctx.lane() < all.count;
        all.channel = stack_tag::channel(frame.tag);
        all.level = stack_tag::level(frame.tag);
        all.place = frame.place;
        all.element = stack_.frame(frame.place);
        return source::frames;
    }
    /// Takes what is on top of the warp's stack.
    LANEWAY_FN source take_stack(Ctx& ctx, std::uint32_t size, batch& all, copy_type& copy) {
        if (chooser_.history().stuck != 0) raise_deepest(ctx, size);
        if (turn_ % turns_to_collect == 0 && stack_.unused_frames() < lanes) stack_.collect_frames(ctx);
        const std::uint32_t count = size < reach_ ? size : reach_;
        all.base = stack_.bottom() + size - count;
        const std::uint32_t position = all.base + static_cast<std::uint32_t>(ctx.lane());
        if (static_cast<std::uint32_t>(ctx.lane()) < count) {
            all.place = stack_.tag(position);
            all.mine = (all.place & stack_tag::states) == stack_tag::ready;
            if ((all.place & stack_tag::states) == 0) ++lost_;
            if (all.mine) copy = *reinterpret_cast<const copy_type*>(stack_.slot(position));
        }
        all.count = Ctx::count_lanes(ctx.ballot(full_warp<Ctx>, all.mine));
        all.channel = stack_tag::channel(all.place);
        all.level = stack_tag::level(all.place);
        stack_.set_top(ctx, all.base);
        return source::stack;
    }
    /// Puts elements back, below what lanes have produced, which is deeper.
    LANEWAY_FN void put_back(Ctx& ctx, lane_mask back, const batch& all, const copy_type& copy) {
        const std::uint32_t produced = stack_.bottom() + stack_.size(ctx) - all.base;
        const auto lane = static_cast<std::uint32_t>(ctx.lane());
        const auto count = static_cast<std::uint32_t>(Ctx::count_lanes(back));
        const bool moves = lane < count && lane < produced;
        copy_type other;
        std::uint32_t others_tag = 0;
        if (moves) {
            other = *reinterpret_cast<const copy_type*>(stack_.slot(all.base + lane));
            others_tag = stack_.tag(all.base + lane);
        }
        ctx.sync(full_warp<Ctx>);
        if (moves) {
            const std::uint32_t to = all.base + (count > produced ? count : produced) + lane;
            *reinterpret_cast<copy_type*>(stack_.slot(to)) = other;
            stack_.tag(to) = others_tag;
        }
        if ((back >> lane & 1) != 0) {
            const std::uint32_t to = all.base + static_cast<std::uint32_t>(rank_in(ctx, back));
            *reinterpret_cast<copy_type*>(stack_.slot(to)) = copy;
            stack_.tag(to) = all.place;
        }
        stack_.set_top(ctx, all.base + produced + count);
    }
    /// Brings the deepest element of the warp's stack to its top, for which alone there is space for certain.
    LANEWAY_FN void raise_deepest(Ctx& ctx, std::uint32_t size) {
        std::uint64_t best = 0;
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < size; i += lanes) {
            const std::uint32_t tag = stack_.tag(stack_.bottom() + i);
            if ((tag & stack_tag::states) != stack_tag::ready) continue;
            const std::uint64_t depth = view_.set.depth(stack_tag::channel(tag), stack_tag::level(tag));
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

    /// Warps of the PE that had little a moment ago, for lane 0: asked for early, so that nothing waits for it.
    LANEWAY_FN std::uint32_t hungry_warps([[maybe_unused]] Ctx& ctx) const {
        if constexpr (View::keeps) {
            if (keeps_ && ctx.lane() == 0) {
                return ctx.load(view_.set.stacks.hungry, order::relaxed, scope::device);
            }
        }
        return 0;
    }
    /// Gives others part of what the warp has beyond a dispatch's worth. Of many warps that could only a few do.
    LANEWAY_FN void share([[maybe_unused]] Ctx& ctx, [[maybe_unused]] std::uint32_t hungry) {
        if constexpr (View::keeps) {
            if (!keeps_) return;
            hungry = ctx.shuffle(full_warp<Ctx>, hungry, 0);
            if (hungry == 0 || static_cast<std::int32_t>(turn_ - share_again_) < 0) return;
            std::uint32_t drawn = turn_ * 0x9e3779b9u ^ (warp_ + 1) * 0x85ebca6bu;
            drawn = (drawn ^ drawn >> 15) * 0x2c1b3c6du;
            const std::uint64_t place = (std::uint64_t{drawn ^ drawn >> 13} * view_.set.stacks.warps) >> 32;
            const std::uint32_t size = stack_.size(ctx);
            if (place < 2 * std::uint64_t{hungry} && size > lanes)
                give_others(ctx, size / 2 < lanes ? size / 2 : lanes);
        }
    }
    /// Moves the lowest elements of the stack into channels, a warp's worth at most.
    LANEWAY_FN void give_others(Ctx& ctx, std::uint32_t count) {
        if (count == 0) return;
        const auto lane = static_cast<std::uint32_t>(ctx.lane());
        const std::uint32_t tag = lane < count ? stack_.tag(stack_.bottom() + lane) : 0;
        const bool mine = lane < count && (tag & stack_tag::states) == stack_tag::ready;
        const channel<std::byte> to{stack_tag::channel(tag)};
        channel_node node(view_.set, own_, stack_tag::level(tag));
        reserved_elements<std::byte> room;
        if (mine) room = node.talloc_shared(ctx, to, stack_tag::level(tag), 1);
        ctx.sync(full_warp<Ctx>);
        const lane_mask full = ctx.ballot(full_warp<Ctx>, mine && !room);
        const std::uint32_t given = full == 0 ? count : static_cast<std::uint32_t>(Ctx::first_lane(full));
        if (mine && room && lane < given) {
            const channel_queue_ref queue = view_.set.queue(room.queue());
            const std::uint32_t at = queue.place_of(room.first());
            const channel_layout& layout = view_.set.channels[to.number];
            std::byte* const from = stack_.slot(stack_.bottom() + lane);
            view_.kernels.visit(layout.consumer, [&]<class Kernel>(const Kernel&) {
                if constexpr (requires { Kernel::leave(ctx, stack_, from); }) Kernel::leave(ctx, stack_, from);
            });
            copy_bytes(queue.element(at), from, layout.element_bytes);
            node.enq_place(ctx, room.queue(), at);
            ++given_;
        } else if (mine && room) {
            node.tfree(ctx, room);
        }
        if (lane < given && (tag & stack_tag::states) == 0) ++lost_;
        ctx.sync(full_warp<Ctx>);
        stack_.set_bottom(stack_.bottom() + given);
        if (full != 0) share_again_ = turn_ + turns_without_sharing;
    }
    /// Tells those that have kept more than they need whether this warp has little.
    LANEWAY_FN void note_hunger(Ctx& ctx, bool is_hungry) {
        if (is_hungry == is_hungry_) return;
        is_hungry_ = is_hungry;
        if (ctx.lane() == 0) {
            ctx.fetch_add(view_.set.stacks.hungry, is_hungry ? 1u : ~std::uint32_t{0}, order::relaxed, scope::device);
        }
    }

    /// The queue that the last dispatch has produced into, or the one that it has served, if that fills a warp; none.
    LANEWAY_FN std::uint32_t follow(Ctx& ctx) {
        if constexpr (!follows<decltype(view_.policy)>) return none;
        if (chooser_.history().stuck != 0 || turn_ % view_.set.least_age == 0) return none;
        for (const std::uint32_t queue : {filled_, served_}) {
            if (queue == none) continue;
            const bool fills_warp = once(ctx, full_warp<Ctx>, [&] {
                                        const std::uint32_t ready = view_.set.queue(queue).fill(ctx);
                                        chooser_.note_ready(ready);
                                        return std::uint32_t{ready >= lanes};
                                    }) != 0;
            if (fills_warp) return queue;
        }
        filled_ = served_ = none;
        return none;
    }

    /// Makes the next shard that seems to hold ready elements the victim; false, and just the next one: there is none.
    LANEWAY_FN bool find_victim(Ctx& ctx) {
        const std::uint32_t words = view_.set.flags_a_shard(), all = view_.set.n_shards * words;
        const std::uint32_t next = victim_ + 1 < view_.set.n_shards ? victim_ + 1 : 0;
        constexpr std::uint64_t nothing = ~std::uint64_t{0};
        std::uint64_t best = nothing;
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < all && best == nothing; i += lanes) {
            const std::uint32_t at = next * words + i;
            if (ctx.load(view_.set.flags + (at < all ? at : at - all), order::relaxed, scope::device) != 0) best = i;
        }
        best = warp_min(ctx, best);
        victim_ = best == nothing ? next : (next + static_cast<std::uint32_t>(best) / words) % view_.set.n_shards;
        return best != nothing;
    }

    LANEWAY_FN bool takes_block(std::uint32_t number) const {
        const std::uint32_t channel = view_.set.channel_of(number % view_.set.queues_a_shard);
        bool found = false;
        view_.kernels.visit(view_.set.channels[channel].consumer,
                            [&]<class Kernel>(const Kernel&) { found = width_of<Kernel> == task_width::block; });
        return found;
    }
    /// Claims elements for the whole block and calls its warps. The whole warp.
    LANEWAY_FN bool dispatch_to_block(Ctx& ctx, std::uint32_t number) {
        if (!team_.lead(ctx)) return help_block(ctx);
        const channel_queue_ref queue = view_.set.queue(number);
        // Its share, so that other blocks find some.
        const std::uint32_t limit = once(ctx, full_warp<Ctx>, [&] { return queue.fill(ctx) / (2 * view_.blocks) + 1; });
        std::uint32_t place = 0;
        const int count = queue.claim(ctx, limit, place);
        if (count == 0) {
            team_.dismiss(ctx);
            return false;
        }
        team_.call(ctx, number, static_cast<std::uint32_t>(count), place);
        work_with_block(ctx);
        return true;
    }
    LANEWAY_FN void work_with_block(Ctx& ctx) {
        const channel_set_ref& set = view_.set;
        std::uint32_t filled = none;
        team_.take_part(
            ctx,
            [&](std::uint32_t number, std::uint32_t place, channel_worker<Ctx>& worker) {
                const channel_queue_ref queue = set.queue(number);
                const std::uint32_t inside = number % set.queues_a_shard;
                const channel_layout& layout = set.channels[set.channel_of(inside)];
                const bool is_first = chooser_.history().stuck != 0 && queue.is_first(ctx, place);
                auto node = node_of(inside - layout.first_queue, is_first ? number : none);
                come_behind(ctx, queue.element(place));
                copy_type copy;
                const outcome out = consume<task_width::block>(
                    view_.kernels, layout.consumer, queue.element(place), false, copy,
                    [&](const auto& code, auto& element) { return call_kernel(ctx, code, element, node, worker); },
                    true);
                note_node(node);
                if (node.filled() != none) filled = node.filled();
                return out;
            },
            [&](std::uint32_t number, std::uint32_t count, std::uint32_t yields) {
                const auto lane = static_cast<std::uint32_t>(ctx.lane());
                const bool mine = lane < count;
                const outcome out = (yields >> lane & 1) != 0 ? outcome::yield : outcome::done;
                end(ctx, number, team_.place(lane), filled, static_cast<int>(count), mine, out);
                // An element that was put back has been counted once more by then.
                if (ctx.lane() == 0) out_.complete(ctx, count);
                if (View::receives && ++sends_ % 16 == 0) (void)out_.flush_old(ctx);
            });
    }

    /// The end of elements that this warp has claimed, one of each lane that is `mine`: those that are done are freed,
    /// others put back.
    LANEWAY_FN void end(Ctx& ctx, std::uint32_t number, std::uint32_t place, std::uint32_t filled, int count, bool mine,
                        outcome out) {
        const channel_queue_ref queue = view_.set.queue(number);
        const lane_mask back = ctx.ballot(full_warp<Ctx>, mine && out != outcome::done);
        const lane_mask done = ctx.ballot(full_warp<Ctx>, mine && out == outcome::done);
        const bool came = View::receives &&
                          view_.set.channels[view_.set.channel_of(number % view_.set.queues_a_shard)].is_remote != 0;
        if (mine && out == outcome::done && !came) (void)queue.release(ctx, done, place);
        if (mine && out != outcome::done) {
            go_before(ctx, queue.element(place));
            queue.publish_place(ctx, back, place);
            if (elected(ctx, back)) view_.set.raise_flag(ctx, number);
        }
        note(ctx, number, filled, count, mine, out);
        ctx.sync(full_warp<Ctx>);
    }

    /// Keeps what the next choice and the report need. `number`: of the queue that was served; none: the warp's own.
    LANEWAY_FN void note(Ctx& ctx, std::uint32_t number, std::uint32_t filled, int count, bool mine, outcome out) {
        const lane_mask producers = ctx.ballot(full_warp<Ctx>, filled != none);
        const int any = producers != 0 ? Ctx::first_lane(producers) : 0;
        filled_ = ctx.shuffle(full_warp<Ctx>, filled, any);
        if (number != none) served_ = number;  // what comes between is what these elements have produced
        const lane_mask yielded = ctx.ballot(full_warp<Ctx>, mine && out == outcome::yield);
        const lane_mask went_on = ctx.ballot(full_warp<Ctx>, mine && out != outcome::yield);
        chooser_.history().note(went_on == 0 && yielded != 0, yielded != 0);
        dispatches_ += count != 0 ? 1 : 0;  // what a warp takes off its stack may be places of what others completed
        full_ += count == Ctx::warp_lanes ? 1 : 0;
        if (mine && out == outcome::yield) ++yields_;
        if (mine && out == outcome::done) ++items_;
    }

    /// Sends part of the least deep elements of this block's shard to a PE that has asked for work.
    LANEWAY_FN void give(Ctx& ctx) {
        const int pe = view_.moving.pe_that_asks(ctx);
        if (pe < 0) return;
        if constexpr (View::keeps) {
            const std::uint32_t size = keeps_ ? stack_.size(ctx) : 0;
            if (size != 0) give_others(ctx, size / 2 < lanes ? size / 2 : lanes);
        }
        const std::uint32_t inside = least_deep(ctx);
        if (inside == none || !takes(ctx, pe)) return;
        const channel_queue_ref queue = view_.set.queue(own_ * view_.set.queues_a_shard + inside);
        const std::uint32_t half = once(ctx, full_warp<Ctx>, [&] { return (queue.fill(ctx) + 1) / 2; });
        std::uint32_t place = 0;
        const int count = queue.claim(ctx, half, place);
        if (count == 0 && ctx.lane() == 0) view_.moving.leave(ctx, pe);
        ctx.sync(full_warp<Ctx>);
        if (count == 0) return;
        const channel_layout& layout = view_.set.channels[view_.set.channel_of(inside)];
        const moved_header header{inside - layout.first_queue, static_cast<std::uint32_t>(ctx.pe()),
                                  static_cast<std::uint32_t>(count)};
        const bool mine = ctx.lane() < count;
        if (mine) send(ctx, pe, layout.consumer, header, queue.element(place));
        ctx.sync(full_warp<Ctx>);
        const lane_mask sent = ctx.ballot(full_warp<Ctx>, mine);
        if (mine) {
            (void)queue.release(ctx, sent, place);
            ++moved_;
        }
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) out_.complete(ctx, static_cast<std::uint32_t>(count));
    }
    LANEWAY_FN bool takes(Ctx& ctx, int pe) {
        return once(ctx, full_warp<Ctx>, [&] { return std::uint32_t{view_.moving.take(ctx, pe)}; }) != 0;
    }
    LANEWAY_FN void send(Ctx& ctx, int pe, std::uint32_t kernel, const moved_header& header, const std::byte* at) {
        come_behind(ctx, at);
        view_.kernels.visit(kernel, [&]<class Kernel>(const Kernel&) {
            if constexpr (moves_elements<Kernel>) {
                const auto& element = *reinterpret_cast<const typename Kernel::element*>(at);
                (void)out_.post(ctx, pe, moved_element<Kernel>{header, element});
            }
        });
    }
    /// Number within its shard of the least deep queue of this block's that has elements to give; none: there is none.
    LANEWAY_FN std::uint32_t least_deep(Ctx& ctx) const {
        const channel_set_ref& set = view_.set;
        std::uint64_t best = ~std::uint64_t{0};
        for (std::uint32_t c = 0; c < set.n_channels; ++c) {
            bool moves = set.channels[c].is_arrivals == 0 && set.channels[c].is_remote == 0;
            view_.kernels.visit(set.channels[c].consumer,
                                [&]<class Kernel>(const Kernel&) { moves = moves && moves_elements<Kernel>; });
            if (!moves) continue;
            const std::uint32_t level = chooser_.least_deep_of(ctx, own_, c, 2);
            const std::uint64_t mine = set.depth(c, level) * queues + set.channels[c].first_queue + level;
            if (level != none && mine < best) best = mine;
        }
        best = warp_min(ctx, best);
        return best == ~std::uint64_t{0} ? none : static_cast<std::uint32_t>(best % queues);
    }

    static constexpr std::uint64_t queues = channel_rank_queues;

    const View& view_;
    Out& out_;
    channel_chooser<Ctx, View> chooser_;
    std::uint32_t own_;     ///< the shard of this warp
    std::uint32_t victim_;  ///< the other shard that was looked at last
    std::conditional_t<View::receives, remote_node<Out, View>, channel_node> of_body_;
    std::conditional_t<View::has_blocks, channel_team<Ctx>, no_channel_team<Ctx>> team_;
    bool keeps_;          ///< what the warp produces lies on its own stack first
    std::uint32_t warp_;  ///< among those that do
    warp_stack stack_;
    std::uint32_t reach_ = lanes;    ///< elements of the stack that run together
    std::uint32_t share_again_ = 0;  ///< turn before which others get none, as there was no room
    std::uint64_t owed_ = 0;         ///< elements that are completed when the stack is empty
    bool is_hungry_ = false;
    unsigned turn_ = 0;
    unsigned sends_ = 0;
    std::uint32_t filled_ = none;
    std::uint32_t served_ = none;
    unsigned idle_turns_ = 0;
    std::uint64_t stalls_ = 0, yields_ = 0, items_ = 0, moved_ = 0, sent_ = 0;  ///< of this lane
    std::uint64_t kept_ = 0, kept_runs_ = 0, given_ = 0, lost_ = 0;             ///< the same
    std::uint64_t dispatches_ = 0, full_ = 0;                                   ///< of the warp
};

}  // namespace laneway
