// Elements that kernels produce into channels of other PEs: they travel as messages, and lie where they arrive in a
// queue of their channel that has the place of their room; see channel_rooms.hpp.
//
// A room goes out with an element and comes back, as a message, when the element has been consumed. A kernel may also
// hand the room of its own element on, to the one that it produces: then elements that go round between PEs and do not
// grow in number never wait for each other.
#pragma once

#include "laneway/comm/routes.hpp"
#include "laneway/task/channel_node.hpp"
#include "laneway/task/task_type.hpp"

namespace laneway {

/// A kernel that consumes what other PEs send into its channels says `static constexpr bool receives = true;`.
template <class Kernel>
inline constexpr bool receives_elements = false;
template <class Kernel>
requires requires { Kernel::receives; }
inline constexpr bool receives_elements<Kernel> = Kernel::receives;

struct sent_header {
    alignas(16) std::uint32_t channel;
    std::uint32_t level;
    std::uint32_t room;    ///< of the job: PE times rooms of a PE, and the room's number there
    std::uint32_t source;  ///< PE
};

/// An element on its way. `Graph`: kernels of the graph, so that two graphs of a program have messages of their own.
template <class T, class Graph>
struct sent_element {
    sent_header header;
    T element;
};
/// Puts what arrives where its room is.
template <class T, class Graph>
struct take_sent {
    static constexpr bool shares_buffers = false;  // many travel
    const channel_set_ref* set;                    ///< in PE memory

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const sent_element<T, Graph>& sent) const {
        const sent_header& to = sent.header;
        const std::uint32_t shard = set->shard_of_room(to.room), number = set->channels[to.channel].remote;
        const channel_queue_ref queue = set->queue(shard, number, to.level);
        const std::uint32_t place = set->place_of_room(to.room);
        *reinterpret_cast<T*>(queue.element(place)) = sent.element;
        go_before(ctx, queue.element(place));
        const std::uint32_t of_pe = shard * set->queues_a_shard + set->channels[number].first_queue + to.level;
        const lane_mask same =
            mates(ctx, ctx.converged(), set->identity_of(of_pe) + (static_cast<int>(to.source) == ctx.pe() ? 1 : 0));
        if (elected(ctx, same)) {
            const auto count = static_cast<std::uint64_t>(Ctx::count_lanes(same));
            queue.count_reserved(ctx, count);
            if (static_cast<int>(to.source) != ctx.pe()) {
                ctx.fetch_add(&set->totals->received, count, order::relaxed, scope::device);
            }
        }
        ready_elements(of_pe, place, 1).tell(ctx, *set);
    }
};

/// The element in a room has been consumed; for the PE that the room belongs to.
template <class Graph>
struct returned_room {
    std::uint32_t number;  ///< of the class
    std::uint32_t room;    ///< of the PE
};
template <class Graph>
struct take_returned {
    const channel_set_ref* set;  ///< in PE memory

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const returned_room<Graph>& back) const {
        set->rooms.put(ctx, back.number, back.room);
    }
};

template <class Message, class Routes>
inline constexpr bool has_message = false;
template <class Message, class... M, class... H>
inline constexpr bool has_message<Message, routes<route<M, H>...>> = (std::is_same_v<Message, M> || ...);

/// `All` and a message for each type of element that kernels receive.
template <class Graph, class All, class... Kernels>
struct sent_routes {
    using type = All;
};
template <class Graph, class... R, class First, class... Rest>
struct sent_routes<Graph, routes<R...>, First, Rest...> {
    using message = sent_element<typename First::element, Graph>;
    static constexpr bool is_new = receives_elements<First> && !has_message<message, routes<R...>>;
    using with = routes<R..., route<message, take_sent<typename First::element, Graph>>>;
    using type = typename sent_routes<Graph, std::conditional_t<is_new, with, routes<R...>>, Rest...>::type;
};
/// The messages of a graph between whose PEs elements travel.
template <bool Receives, class... Kernels>
struct remote_routes {
    using graph = task_types<Kernels...>;
    using type =
        typename sent_routes<graph, routes<route<returned_room<graph>, take_returned<graph>>>, Kernels...>::type;
};
template <class... Kernels>
struct remote_routes<false, Kernels...> {
    using type = routes<>;
};

/// Their handlers, all of which know their PE's channels. Host.
template <class... M, class... H>
routes<route<M, H>...> handlers_of_set(const routes<route<M, H>...>*, [[maybe_unused]] const channel_set_ref* set) {
    return (routes<>{} + ... + routes<route<M, H>>{{H{set}}});
}

/// A lane's access to the channels of all PEs. Members may be called by any lane, also in divergent code; none waits
/// for space.
template <class Out, class View>
class remote_node : public channel_node {
public:
    /// `room`: of the job, that the consumed element came in; none: it lies in a channel of this PE.
    LANEWAY_FN remote_node(const channel_set_ref& set, std::uint32_t shard, std::uint32_t level, std::uint32_t first_in,
                           std::uint32_t room, std::uint32_t room_class, Out& out, const warp_stack* stack)
        : channel_node(set, shard, level, first_in, stack), out_(out), room_(room), room_class_(room_class) {}

    /// Produces a copy of an element into a channel of a PE, whichever, whose kernel says that it receives. Its level
    /// is as talloc says. False where this PE has no room for another element on its way: then the kernel returns
    /// outcome::yield. Ends the run with bad_pe, not_receiving, too_deep.
    template <class Ctx, class T>
    [[nodiscard]] LANEWAY_FN bool send(Ctx& ctx, int pe, channel<T> to, const std::type_identity_t<T>& element) {
        const std::uint32_t level = level_in(to.number);
        if (!may_send(ctx, pe, to.number, level)) return false;
        const std::uint32_t number = channel_rooms_ref::class_of(set().channels[to.number].levels, level);
        const lane_mask mask = mates(ctx, ctx.converged(), set().rooms.identity_of(number));
        std::uint32_t room = 0;
        if (!set().rooms.take(ctx, mask, number, shard(), room)) {
            count_stall(ctx, to.number, level);
            return false;
        }
        post<T>(ctx, pe, to.number, level, static_cast<std::uint32_t>(ctx.pe()) * set().rooms.a_pe + room, element);
        return true;
    }
    /// The same with the room of the element that the kernel consumes, where that came in one and neither channel has
    /// levels: then there always is room. The kernel returns outcome::done afterwards; else the run ends with
    /// yielded_after_forward. In all other cases as send.
    template <class Ctx, class T>
    [[nodiscard]] LANEWAY_FN bool forward(Ctx& ctx, int pe, channel<T> to, const std::type_identity_t<T>& element) {
        const std::uint32_t level = level_in(to.number);
        const std::uint32_t number = channel_rooms_ref::class_of(set().channels[to.number].levels, level);
        if (room_ == channel_rooms_ref::none || room_class_ != number) return send(ctx, pe, to, element);
        if (!may_send(ctx, pe, to.number, level)) return false;
        const std::uint32_t room = room_;
        room_ = channel_rooms_ref::none;
        has_forwarded_ = true;
        post<T>(ctx, pe, to.number, level, room, element);
        return true;
    }

    /// The room that the consumed element still has; none.
    [[nodiscard]] LANEWAY_FN std::uint32_t room() const { return room_; }
    [[nodiscard]] LANEWAY_FN bool has_forwarded() const { return has_forwarded_; }
    /// Elements that were sent to other PEs.
    [[nodiscard]] LANEWAY_FN std::uint32_t sent() const { return sent_; }

private:
    template <class Ctx>
    LANEWAY_FN bool may_send(Ctx& ctx, int pe, std::uint32_t number, std::uint32_t level) const {
        if (pe < 0 || pe >= ctx.n_pes()) {
            (void)fail(ctx, status::bad_pe, operation::produce, pe, set().in_faults(number));
            return false;
        }
        if (set().channels[number].remote == channel_rooms_ref::none) {
            (void)fail(ctx, status::not_receiving, operation::produce, pe, set().in_faults(number));
            return false;
        }
        return may_reserve(ctx, number, level, 1);
    }
    template <class T, class Ctx>
    LANEWAY_FN void post(Ctx& ctx, int pe, std::uint32_t number, std::uint32_t level, std::uint32_t room,
                         const T& element) {
        using message = sent_element<T, typename View::kernel_types>;
        static_assert(has_message<message, typename View::routes_type>,
                      "a kernel that consumes what is sent says `static constexpr bool receives = true;`");
        if (pe != ctx.pe()) ++sent_;
        const sent_header header{number, level, room, static_cast<std::uint32_t>(ctx.pe())};
        (void)out_.post(ctx, pe, message{header, element});  // a failure ends the run
    }

    Out& out_;
    std::uint32_t room_;
    std::uint32_t room_class_;
    bool has_forwarded_ = false;
    std::uint32_t sent_ = 0;
};

}  // namespace laneway
