// What a function of a fork-join program has beside its arguments: it forks, and it finishes.
//
// An element of a function's channel holds where its result goes and its arguments. That of a continuation lies in its
// channel from the time of the fork: it counts the children that are not done, which write their results into its
// arguments, and the last of them makes it ready.
#pragma once

#include "laneway/simt/user_code.hpp"
#include "laneway/task/channel_consuming.hpp"
#include "laneway/task/channel_node.hpp"
#include "laneway/task/channel_team.hpp"
#include "laneway/task/task_type.hpp"

namespace laneway {

/// A function that is a continuation says `static constexpr bool follows = true;`. It is never spawned.
template <class Function>
inline constexpr bool is_continuation = false;
template <class Function>
requires requires { Function::follows; }
inline constexpr bool is_continuation<Function> = Function::follows;

/// Whether warps, or blocks, may keep a function's calls: not where it says `static constexpr bool keeps = false;`,
/// which suits long ones, as others then find them at once.
template <class Function>
inline constexpr bool may_be_kept = true;
template <class Function>
requires requires { Function::keeps; }
inline constexpr bool may_be_kept<Function> = Function::keeps;

/// Whether it is what the host submits in a session, see fork_service.hpp: the functions are one level below it.
template <class Function>
inline constexpr bool is_host_call = false;

/// Children that a function spawns at once, at most: it says `static constexpr std::uint32_t children = ...;`.
template <class Function>
inline constexpr std::uint32_t children_of = 0;
template <class Function>
requires requires { Function::children; }
inline constexpr std::uint32_t children_of<Function> = Function::children;

struct fork_header {
    std::byte* parent;        ///< the continuation that waits for this one, or a root
    std::uint32_t result_at;  ///< where the result goes: bytes from there, and flags
    std::uint32_t open;       ///< of a continuation: children that are not done

    static constexpr std::uint32_t adds = std::uint32_t{1} << 31;  ///< the result is added to what is there
    static constexpr std::uint32_t nowhere = adds - 1;
    /// Of `open`: a child may end in another warp than the one whose frame it is.
    static constexpr std::uint32_t is_shared = std::uint32_t{1} << 31;
};

/// From now on children may end in other warps: of the continuation in a frame, and of all above it that lie in frames
/// of the same warp, whose stack, or a lane's access to it, is the owner. Before what may run elsewhere can be seen
/// there.
template <class Ctx, class Owner>
LANEWAY_FN void share_frames(Ctx& ctx, const Owner& owner, std::byte* frame) {
    while (owner.owns(frame)) {
        auto* const header = reinterpret_cast<fork_header*>(frame);
        // Partner: the release in fork_task::close_in_warp.
        const std::uint32_t before = ctx.fetch_or(&header->open, fork_header::is_shared, order::acq_rel, scope::device);
        if ((before & fork_header::is_shared) != 0) return;  // those above are, before this one can be done
        frame = header->parent;
    }
}

/// A child of a continuation has ended, whose parts lie before a release shared_fence of this lane. The last one makes
/// the continuation ready. Any lane.
template <class Ctx>
LANEWAY_FN void close_child(Ctx& ctx, channel_node& node, std::byte* parent) {
    auto* const header = reinterpret_cast<fork_header*>(parent);
    // Partner: itself, of the other children. The last one has seen what all have stored; the others look at nothing,
    // and an acquire empties the multiprocessor's cache.
    constexpr order closes = acquires_by_fence<Ctx> ? order::relaxed : order::acq_rel;
    const std::uint32_t before = ctx.fetch_add(&header->open, ~std::uint32_t{0}, closes, scope::device);
    if ((before & ~fork_header::is_shared) != 1) return;
    shared_fence(ctx, order::acquire, scope::device);
    come_behind(ctx, parent);
    const auto* const where = reinterpret_cast<const std::uint32_t*>(header + 1);
    node.enq_place(ctx, where[0], where[1]);
}

/// A function's arguments in its channel.
template <class Function, bool = is_continuation<Function>>
struct fork_element {
    fork_header header;
    typename Function::arguments arguments;
};
template <class Function>
struct fork_element<Function, true> {
    fork_header header;
    std::uint32_t queue;  ///< that it lies in, and where
    std::uint32_t place;
    typename Function::arguments arguments;
};

/// What the host waits for; like a continuation that is never ready.
template <class Result>
struct fork_root {
    fork_header header;
    Result result;
};

/// Room for children and for the continuation that follows them; see fork_task::fork. One lane's.
template <class Child, class Next>
class fork_children {
public:
    /// Without room.
    explicit LANEWAY_FN fork_children(channel_node& node) : node_(node) {}
    LANEWAY_FN fork_children(channel_node& node, const reserved_elements<fork_element<Child>>& children,
                             fork_element<Next>& next)
        : node_(node), children_(children), next_(&next) {}

    /// False where there was no room.
    explicit LANEWAY_FN operator bool() const { return next_ != nullptr; }
    /// The arguments of the continuation. Nothing may be done with them behind sync().
    LANEWAY_FN typename Next::arguments* operator->() const { return &next_->arguments; }

    /// Spawns a child. `result`: in the continuation's arguments; null: nobody wants it. Not more often than the fork
    /// has room for: that ends the run with too_many_at_once.
    template <class Ctx>
    LANEWAY_FN void spawn(Ctx& ctx, const typename Child::arguments& arguments,
                          typename Child::result* result = nullptr) {
        spawn_at(ctx, arguments, result == nullptr ? fork_header::nowhere : offset_of(result));
    }
    /// The same with a result that is added to what is there: an integer of 32 or 64 bits.
    template <class Ctx>
    LANEWAY_FN void spawn_adding(Ctx& ctx, const typename Child::arguments& arguments, typename Child::result* sum) {
        static_assert(std::is_integral_v<typename Child::result> && sizeof(typename Child::result) >= 4,
                      "results that are added are integers of 32 or 64 bits");
        spawn_at(ctx, arguments, offset_of(sum) | fork_header::adds);
    }
    /// Lets the children run, and the continuation when all of them are done. The last thing that the function does.
    template <class Ctx>
    LANEWAY_FN void sync(Ctx& ctx) {
        const bool children_stay = spawned_ == 0 || (children_.queue() & stack_tag::kept) != 0;
        const std::uint32_t shared = children_stay ? 0 : fork_header::is_shared;
        ctx.store(&next_->header.open, spawned_ | shared, order::relaxed, scope::device);
        // What follows runs where the last child ends, or where it is found.
        if (!children_stay || (next_->queue & stack_tag::kept) == 0) share_frames(ctx, node_, next_->header.parent);
        if (children_) node_.tfree(ctx, children_, spawned_);
        if (spawned_ == 0) {
            node_.enq_place(ctx, next_->queue, next_->place);
        } else {
            node_.enq(ctx, children_.first_of(spawned_));
        }
    }

private:
    LANEWAY_FN std::uint32_t offset_of(const void* result) const {
        return static_cast<std::uint32_t>(static_cast<const std::byte*>(result) -
                                          reinterpret_cast<const std::byte*>(next_));
    }
    template <class Ctx>
    LANEWAY_FN void spawn_at(Ctx& ctx, const typename Child::arguments& arguments, std::uint32_t result_at) {
        if (spawned_ == children_.size()) {
            const channel_set_ref& set = node_.set();
            (void)fail(ctx, status::too_many_at_once, operation::produce, -1,
                       set.in_faults(set.channel_of(children_.queue() % set.queues_a_shard)), children_.size());
            return;
        }
        fork_element<Child>& child = children_[spawned_++];
        child.header = {reinterpret_cast<std::byte*>(next_), result_at, 0};
        child.arguments = arguments;
    }

    channel_node& node_;
    reserved_elements<fork_element<Child>> children_;
    fork_element<Next>* next_ = nullptr;
    std::uint32_t spawned_ = 0;
};

/// What a lane that runs `Own` does with its task. It finishes, or forks; where there is no room to fork, it returns,
/// and is called again with the same arguments.
template <class Own, class... Functions>
class fork_task {
public:
    LANEWAY_FN fork_task(const fork_header& header, channel_node& node) : header_(header), node_(node) {}

    /// Depth of the recursion: 0 for what the host calls.
    [[nodiscard]] LANEWAY_FN std::uint32_t depth() const {
        constexpr std::uint32_t above = (is_host_call<Functions> || ...) ? 1 : 0;
        return level() - above;
    }

    /// The function's result. The last thing that it does.
    template <class Ctx>
    LANEWAY_FN void finish(Ctx& ctx, const typename Own::result& result) {
        using type = typename Own::result;
        yields_ = false;  // a fork may have found no room before
        const std::uint32_t at = header_.result_at & ~fork_header::adds;
        if (at != fork_header::nowhere) {
            auto* const to = reinterpret_cast<type*>(header_.parent + at);
            if constexpr (std::is_integral_v<type> && sizeof(type) >= 4) {
                if (at != header_.result_at) {
                    ctx.fetch_add(to, result, order::relaxed, scope::device);
                } else {
                    *to = result;
                }
            } else {
                *to = result;
            }
        }
        if constexpr (width_of<Own> == task_width::block) {
            end_now(ctx);
        } else {
            node_.note_ended(header_.parent);
        }
    }

    /// Room for `count` children of a function, and for the continuation that follows them, which begins with these
    /// arguments and whose result is that of this function. Tests as false where there is none now: then the function
    /// returns.
    template <class Ctx, class Child, class Next>
    [[nodiscard]] LANEWAY_FN fork_children<Child, Next> fork(Ctx& ctx, task_name<Child>, std::uint32_t count,
                                                             task_name<Next>,
                                                             const typename Next::arguments& arguments = {}) {
        static_assert(!is_continuation<Child>, "a continuation follows and is not spawned");
        static_assert(is_continuation<Next>, "a continuation says `static constexpr bool follows = true;`");
        static_assert(std::is_same_v<typename Next::result, typename Own::result>,
                      "the result of the continuation takes the place of this function's: both have one type");
        static_assert(children_of<Own> > 0,
                      "a function that forks says `static constexpr std::uint32_t children = ...;`");
        // Children first: on a warp's stack, what is given back leaves a gap only, where a frame would have to be
        // freed.
        const auto children = node_.talloc_at(ctx, channel_of<Child>(), level() + 1, count);
        yields_ = count != 0 && !children;
        if (yields_) return fork_children<Child, Next>(node_);
        // A continuation that may find no room itself waits in its channel, where whoever has room finds it; and one of
        // children that end in whole blocks, where these have no stack to run it from.
        constexpr bool blocks_keep = ((width_of<Functions> == task_width::block || is_continuation<Functions>)&&...);
        constexpr bool in_frame = children_of<Next> == 0 && (blocks_keep || width_of<Child> == task_width::warp);
        const auto frame = node_.reserve_frame(ctx, channel_of<Next>(), level(), in_frame);
        if (frame.at == nullptr) {
            if (children) node_.tfree(ctx, children);
            yields_ = true;
            return fork_children<Child, Next>(node_);
        }
        fork_element<Next>& next = *frame.at;
        next.header = {header_.parent, header_.result_at, 0};
        next.queue = frame.queue;
        next.place = frame.place;
        next.arguments = arguments;
        return {node_, children, next};
    }

    [[nodiscard]] LANEWAY_FN outcome result() const { return yields_ ? outcome::yield : outcome::done; }

private:
    /// That of the function, of which a continuation's element lies one less deep.
    [[nodiscard]] LANEWAY_FN std::uint32_t level() const { return node_.level() + (is_continuation<Own> ? 1 : 0); }
    /// The end of a task of a block, of which one lane tells.
    template <class Ctx>
    LANEWAY_FN void end_now(Ctx& ctx) {
        auto* const parent = reinterpret_cast<fork_header*>(header_.parent);
        bool is_last = false;
        if (node_.owns(header_.parent) && close_in_block(ctx, *parent, is_last)) {
            // All children end in this block, which runs what follows later, behind a barrier.
            if (!is_last) return;
            const auto* const where = reinterpret_cast<const std::uint32_t*>(parent + 1);
            return node_.enq_place(ctx, where[0], where[1]);
        }
        go_before(ctx, header_.parent);
        if (node_.close_later(ctx, header_.parent)) return;
        shared_fence(ctx, order::release, scope::device);
        close_child(ctx, node_, header_.parent);
    }
    /// Counts one child less of a continuation whose children all end in this block. False, and nothing has happened,
    /// where some may end elsewhere. `is_last`: it was the last. Nothing else of the block runs meanwhile, so no atomic
    /// operation is needed.
    template <class Ctx>
    static LANEWAY_FN bool close_in_block(Ctx& ctx, fork_header& parent, bool& is_last) {
        const std::uint32_t open = ctx.load(&parent.open, order::relaxed, scope::block);
        if ((open & fork_header::is_shared) != 0) return false;
        ctx.store(&parent.open, open - 1, order::relaxed, scope::block);
        is_last = open == 1;
        return true;
    }

    template <class Function>
    static LANEWAY_FN channel<fork_element<Function>> channel_of() {
        constexpr std::uint32_t found = number_of_type<Function, Functions...>();
        static_assert(found < sizeof...(Functions), "the program has no function of this type: give it to fork_join()");
        return {found};
    }

    const fork_header header_;
    channel_node& node_;
    bool yields_ = false;
};

/// What a warp does with continuations in frames, whatever their functions: elements and continuations begin alike.
struct fork_frames {
    /// An element goes from its warp's stack to another warp: so all continuations above it may run there as well.
    template <class Ctx>
    static LANEWAY_FN void leave(Ctx& ctx, const warp_stack& stack, std::byte* element) {
        share_frames(ctx, stack, reinterpret_cast<fork_header*>(element)->parent);
    }
    /// Lanes of a warp have run, and some have ended tasks. `stack`: of the warp, which has looked at it; null: there
    /// is none. The whole warp.
    template <class Ctx>
    static LANEWAY_FN void end_tasks(Ctx& ctx, channel_node& node, warp_stack* stack) {
        std::byte* const parent = node.ended();
        std::uint32_t ends = node.ends();
        for (lane_mask open = 0; (open = ctx.ballot(full_warp<Ctx>, ends != 0)) != 0; ends -= ends != 0 ? 1 : 0) {
            const bool keeps = stack != nullptr && stack->keeps();
            const lane_mask others = keeps ? close_in_warp(ctx, *stack, open, parent) : open;
            if (others != 0) close_others(ctx, node, stack, others, parent);
        }
    }
    /// A child of a continuation has ended, behind a release shared_fence.
    template <class Ctx>
    static LANEWAY_FN void end_child(Ctx& ctx, channel_node& node, std::byte* parent) {
        close_child(ctx, node, parent);
    }
    /// The tag of a frame that holds a continuation.
    static LANEWAY_FN std::uint32_t tag_of(const std::byte* frame) {
        return *reinterpret_cast<const std::uint32_t*>(frame + sizeof(fork_header));
    }

private:
    /// Counts the children of lanes in `open` whose continuations wait in frames of their warp, and have no children
    /// that may end elsewhere: those of one together, and without an atomic operation, as only this warp counts there.
    /// Runs what follows where they were the last. The other lanes of `open`.
    template <class Ctx>
    static LANEWAY_FN lane_mask close_in_warp(Ctx& ctx, warp_stack& stack, lane_mask open, std::byte* parent) {
        auto* const header = reinterpret_cast<fork_header*>(parent);
        const bool is_own = (open >> ctx.lane() & 1) != 0 && stack.owns(parent);
        const lane_mask siblings =
            ctx.match(full_warp<Ctx>, is_own ? reinterpret_cast<std::uint64_t>(parent) : std::uint64_t{0});
        // Partner: share_frames, of this warp, behind which others see the results.
        std::uint32_t left = is_own ? ctx.load(&header->open, order::relaxed, scope::block) : fork_header::is_shared;
        ctx.sync(full_warp<Ctx>);  // all have looked
        const bool counts = (left & fork_header::is_shared) == 0, tells = counts && elected(ctx, siblings);
        left -= static_cast<std::uint32_t>(Ctx::count_lanes(siblings));
        if (tells) ctx.store(&header->open, left, order::relaxed, scope::block);
        const bool is_last = tells && left == 0;
        std::uint32_t tag = 0, place = 0;
        if (is_last) {
            const auto* const where = reinterpret_cast<const std::uint32_t*>(header + 1);
            tag = where[0];
            place = where[1];
        }
        stack.push_all_ready(ctx, ctx.ballot(full_warp<Ctx>, is_last), tag, place);
        return open & ~ctx.ballot(full_warp<Ctx>, counts);
    }
    /// Lanes of `ended` have ended children of other continuations: the warp notes them, or tells of them now.
    template <class Ctx>
    static LANEWAY_FN void close_others(Ctx& ctx, channel_node& node, warp_stack* stack, lane_mask ended,
                                        std::byte* parent) {
        if ((ended >> ctx.lane() & 1) != 0) go_before(ctx, parent);
        const bool keeps = stack != nullptr && stack->keeps();
        const lane_mask now = keeps ? stack->note_all_closed(ctx, ended, parent) : ended;
        if (now == 0) return;
        ctx.sync(full_warp<Ctx>);
        shared_fence(ctx, order::release, scope::device);
        if ((now >> ctx.lane() & 1) != 0) close_child(ctx, node, parent);
        if (keeps) stack->look(ctx);
    }
};

/// The kernel that consumes a function's channel. A function that says `static constexpr task_width width =
/// task_width::block;` is called by all lanes of a block together, with a fourth parameter, as kernels of channels are:
/// channel_team.hpp. One of its lanes finishes or forks, behind a barrier where it needs what others have done.
template <class Function, class... Functions>
struct fork_kernel {
    using element = fork_element<Function>;
    using frames = fork_frames;
    static constexpr task_width width = width_of<Function>;
    static constexpr std::size_t shared_bytes = kernel_shared_bytes<Function>;
    static constexpr int block_warps = kernel_block_warps<Function>;
    static constexpr bool follows = is_continuation<Function>;
    static constexpr bool keeps = !follows && may_be_kept<Function> && sizeof(element) <= max_kept_bytes;
    static_assert(width == task_width::warp || !is_continuation<Function>, "a continuation is for one lane");

    Function code;

    /// `worker`: of a function for a block.
    template <class Ctx, class... Worker>
    LANEWAY_FN outcome operator()(Ctx& ctx, element& at, channel_node& node, Worker&... worker) const {
        fork_task<Function, Functions...> task(at.header, node);
        call_needs_LANEWAY_FN(code, ctx, at.arguments, task, worker...);
        return task.result();
    }
};

/// Of a function: not continuations and calls that are too large for stacks, which are not kept either.
template <class Function, class... Functions>
inline constexpr bool takes_long<fork_kernel<Function, Functions...>> = !may_be_kept<Function>;

}  // namespace laneway
