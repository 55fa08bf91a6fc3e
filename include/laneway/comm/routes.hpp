// Routes: which types of message a mailbox carries, and which handler serves each.
//
// A handler has one of these forms, for messages of type M:
//   void operator()(ctx, const M&) const                 serves
//   R operator()(ctx, const M&) const                    answers, where the handler says `using answer = R;`
//   ... operator()(ctx, const M&, forward&) const        may forward: forward.post(ctx, pe, message), where the
//                                                        handler says `static constexpr bool forwards = true;`
//   void operator()(ctx, const M&, payload<const E>) const, with forward& or without: serves variable-length messages,
//                                                        M is their header, where the handler says `using element = E;`
// It runs on the PE that the message was posted to, on any lane, at the same time as other handlers, and never waits.
// An answer to `box.call` goes to the calling lane. An answer to `box.post` goes to the handler of R on the posting
// lane's PE if the mailbox carries R, and is dropped otherwise. That handler answers nothing (the rule of GASNet). If a
// handler does not have the form that it claims, the compiler says so (handler_check.hpp).
// Where a program has more than 16 types of message, they share aggregation buffers, but for those whose handler says
// `static constexpr bool shares_buffers = false;`. Where it has fewer, those do whose handler says `true`.
#pragma once

#include "laneway/comm/aggregation_buffer.hpp"
#include "laneway/comm/answers.hpp"
#include "laneway/comm/forward_queue.hpp"
#include "laneway/comm/handler_check.hpp"
#include "laneway/comm/shared_message.hpp"
#include "laneway/simt/message_order.hpp"
#include "laneway/simt/user_code.hpp"

namespace laneway {

template <class Message, class Handler>
struct route {
    static_assert(trivially_copyable<Message>, "a message is trivially copyable: no std::string, no std::vector");
    static_assert(alignof(Message) <= 16 && sizeof(Message) <= 4096,
                  "a message has at most 4096 bytes, and an alignment of 16; more travels as the payload of a message");
    static_assert(trivially_copyable<Handler>, "a handler is copied to every device: it holds values and ref()s only");
    static_assert(!(taking_payload<Handler> && answering<Handler>),
                  "the handler of a message with a payload must not answer");
    static_assert(!(taking_payload<Handler> && shares_buffers<Handler, 1>),
                  "messages with a payload have aggregation buffers of their own: no `shares_buffers = true`");
    Handler handler;
};

/// Handlers of a mailbox, one for each type of message; the types differ.
template <class... Routes>
struct routes : Routes... {};

template <class... A, class... B>
routes<A..., B...> operator+(const routes<A...>& a, const routes<B...>& b) {
    return {static_cast<const A&>(a)..., static_cast<const B&>(b)...};
}

template <class Message, class Handler>
LANEWAY_FN const Handler& handler_of(const route<Message, Handler>& r) {
    return r.handler;
}

/// A message that asks for an answer, as it is carried. `token` names the call that waits; 0: it was posted.
template <class Message>
struct request {
    Message message;
    std::uint64_t token;
};

/// What is carried for a message, and the smallest payload of a chunk for it.
template <class Message, class Handler>
struct record_of {
    using type = Message;
    static constexpr std::size_t min_chunk_bytes = sizeof(type);
};
template <class Message, answering Handler>
struct record_of<Message, Handler> {
    using type = request<Message>;
    static constexpr std::size_t min_chunk_bytes = sizeof(type);
};
template <class Message, taking_payload Handler>
struct record_of<Message, Handler> {
    using type = granule<Message>;
    static constexpr std::size_t min_chunk_bytes =
        variable_shape<Message, typename Handler::element>::min_chunk_bytes(allocating<Handler>);
};

template <std::size_t Bytes>
struct record_of<shared_message<Bytes>, shared_handlers> {
    using type = granule<shared_message<Bytes>>;
    static constexpr std::size_t min_chunk_bytes = shared_shape::min_chunk_bytes(Bytes);
};

/// Words of a call's answer, 0 where the handler gives none.
template <class Handler>
inline constexpr std::uint32_t answer_words_of = 0;
template <answering Handler>
inline constexpr std::uint32_t answer_words_of<Handler> = tagged_words<typename Handler::answer>;

template <class... Sizes>
constexpr std::size_t greatest(Sizes... sizes) {
    std::size_t most = 0;
    ((most = sizes > most ? sizes : most), ...);
    return most;
}

template <class... Types>
inline constexpr bool all_differ = true;
template <class First, class... Rest>
inline constexpr bool all_differ<First, Rest...> = !(std::is_same_v<First, Rest> || ...) && all_differ<Rest...>;

/// Routes that chunks are told apart by: those of `Others` behind `Own`, but for those whose messages share aggregation
/// buffers, and one for all of these last.
template <class Own, std::size_t Types, std::size_t Bytes, class... Others>
struct carried_routes;
template <class... Own, std::size_t Types, std::size_t Bytes>
struct carried_routes<routes<Own...>, Types, Bytes> {
    using type = routes<Own..., route<shared_message<Bytes>, shared_handlers>>;
};
template <class... Own, std::size_t Types, std::size_t Bytes, class M, class H, class... Others>
struct carried_routes<routes<Own...>, Types, Bytes, route<M, H>, Others...>
    : carried_routes<std::conditional_t<shares_buffers<H, Types>, routes<Own...>, routes<Own..., route<M, H>>>, Types,
                     (shares_buffers<H, Types> && sizeof(M) > Bytes ? sizeof(M) : Bytes), Others...> {};

/// What is known of a list of routes at compile time.
template <class Routes>
struct route_list;

template <class... M, class... H>
struct route_list<routes<route<M, H>...>> {
    static constexpr std::uint32_t count = sizeof...(M);
    static constexpr bool allocates = (allocating<H> || ...);
    static constexpr bool any_payload = (taking_payload<H> || ...);
    static constexpr bool forwards = ((forwarding<H> || others_forward<H>) || ...);
    static constexpr auto answer_words = static_cast<std::uint32_t>(greatest(answer_words_of<H>...));
    static constexpr std::size_t message_bytes = greatest(sizeof(M)...);

    template <class Message>
    static constexpr bool has = (std::is_same_v<Message, M> || ...);

    /// Handler of a message's type.
    template <class Message>
    using handler = std::remove_cvref_t<decltype(handler_of<Message>(std::declval<const routes<route<M, H>...>&>()))>;
    template <class Message>
    static constexpr bool takes_payload = taking_payload<handler<Message>>;
    template <class Message>
    using record = typename record_of<Message, handler<Message>>::type;

    /// Whether messages of some types share aggregation buffers.
    static constexpr bool any_share = (shares_buffers<H, count> || ...);
    template <class Message>
    static constexpr bool shares = shares_buffers<handler<Message>, count>;
    /// The routes that chunks are told apart by, and the header of messages that share.
    using carried = typename std::conditional_t<any_share, carried_routes<routes<>, count, 0, route<M, H>...>,
                                                std::type_identity<routes<route<M, H>...>>>::type;
    static_assert((std::size_t{!shares_buffers<H, count>} + ... + any_share) <= max_chunk_kinds,
                  "a program has 16 sets of aggregation buffers at most: fewer types with a payload or with "
                  "`shares_buffers = false`");

    using shared = shared_message<greatest((shares_buffers<H, count> ? sizeof(M) : 0)...)>;

    /// Number of a message's type; `count` for others.
    template <class Message>
    static constexpr std::uint32_t kind = [] {
        std::uint32_t number = 0;
        bool found = false;
        ((found = found || std::is_same_v<Message, M>, number += found ? 0 : 1), ...);
        return number;
    }();

    /// Whether some handler's answer is a message of this type.
    template <class Message>
    static constexpr bool is_reply = [] {
        return ([] {
            if constexpr (answering<H>) return std::is_same_v<typename H::answer, Message>;
            return false;
        }() || ...);
    }();
    static constexpr bool replies = (is_reply<M> || ...);
    static_assert(!((is_reply<M> && answering<H>) || ...), "the handler of a reply must not answer");
    static_assert(!((is_reply<M> && taking_payload<H>) || ...), "a reply must not be of a type that takes a payload");
    /// Whether replies of some type share aggregation buffers.
    static constexpr bool replies_share = ((is_reply<M> && shares_buffers<H, count>) || ...);
    /// Whether chunks of this type, one of `carried`, hold replies.
    template <class Carried>
    static constexpr bool holds_replies = is_reply<Carried> || (replies_share && std::is_same_v<Carried, shared>);

    /// Calls `visit.template operator()<Message, Handler>()` for the type with this number.
    template <class Visit>
    static LANEWAY_FN void visit(std::uint32_t number, Visit&& visit) {
        (void)((number == kind<M> ? (visit.template operator()<M, H>(), true) : false) || ...);
    }
};

/// Sizes of the aggregation buffers of a block and of chunks. `Carried`: of a list of routes.
template <class Carried>
struct buffer_sizes;

template <class... C, class... H>
struct buffer_sizes<routes<route<C, H>...>> {
    /// The smallest payload of a chunk that holds one message of any type.
    static constexpr std::size_t record_bytes = greatest(record_of<C, H>::min_chunk_bytes...);

    /// Sets of them that a block has for each PE. `List`: the program's.
    template <class List>
    static constexpr std::size_t count = (sizeof...(C) + ... + std::size_t{List::template holds_replies<C>});

    /// Shared memory of those for requests of all types, where a chunk has at most `chunk_bytes`.
    static constexpr std::size_t for_requests([[maybe_unused]] std::size_t chunk_bytes, [[maybe_unused]] int n_pes) {
        return (std::size_t{0} + ... +
                chunk_shape<typename record_of<C, H>::type>::fitting(chunk_bytes).shared_bytes(n_pes));
    }
    /// The same for replies.
    template <class List>
    static constexpr std::size_t for_replies([[maybe_unused]] std::size_t chunk_bytes, [[maybe_unused]] int n_pes) {
        return (std::size_t{0} + ... +
                (List::template holds_replies<C>
                     ? chunk_shape<typename record_of<C, H>::type>::fitting(chunk_bytes).shared_bytes(n_pes)
                     : 0));
    }
    /// The largest payload of a chunk of any type. Without messages the rings are as those of most programs, so that
    /// runs of both use the same.
    static constexpr std::uint32_t slot_bytes(std::size_t chunk_bytes) {
        if constexpr (sizeof...(C) == 0) return chunk_shape<std::byte>::fitting(chunk_bytes).bytes();
        return static_cast<std::uint32_t>(
            greatest(chunk_shape<typename record_of<C, H>::type>::fitting(chunk_bytes).bytes()...));
    }
};

/// What of an application serves a message, and the number of the message as the application knows it. `List`: the
/// program's.
template <class Message>
struct served_part {
    static constexpr user_code::part_of part = user_code::handler;
    template <class List>
    static LANEWAY_FN std::uint32_t number(const Message&) {
        return List::template kind<Message>;
    }
};

/// Runs handlers.
template <class Routes>
struct delivery {
    using list = route_list<Routes>;

    Routes routes;
    forward_queue_ref forward;

    /// Runs the handler of one message of PE `source`, with its elements where it has some, and returns what it
    /// returns; see run_user_code. Any lane.
    template <class Ctx, class Message, class... Payload>
    LANEWAY_FN decltype(auto) run(Ctx& ctx, int source, const Message& message, Payload... payload) const {
        const served_scope scope(ctx, [](auto& history) { history.begin_served(); });
        return run_with(ctx, {forward}, source, message, payload...);
    }

    /// The same where a functor's lane runs the handler, which afterwards sends what is pending.
    template <class Ctx, class Message, class... Payload>
    LANEWAY_FN decltype(auto) run_own(Ctx& ctx, pending_forward<list>& pending, const Message& message,
                                      Payload... payload) const {
        return run_with(ctx, {forward, &pending}, ctx.pe(), message, payload...);
    }

private:
    template <class Ctx, class Message, class... Payload>
    LANEWAY_FN decltype(auto) run_with(Ctx& ctx, forwarder<list> next, int source, const Message& message,
                                       Payload... payload) const {
        const auto& handler = handler_of<Message>(routes);
        using type = std::remove_cvref_t<decltype(handler)>;
        using part = served_part<Message>;
        const user_code what{part::part, part::template number<list>(message), source};
        if constexpr (!has_its_form<type, forwarder<list>, Ctx, Message, Payload...>()) {
            return;
        } else if constexpr (forwarding<type>) {
            static_assert(returns_its_answer<type, decltype(handler(ctx, message, payload..., next))>());
            return run_user_code(ctx, what, handler, ctx, message, payload..., next);
        } else {
            static_assert(returns_its_answer<type, decltype(handler(ctx, message, payload...))>());
            return run_user_code(ctx, what, handler, ctx, message, payload...);
        }
    }
};

}  // namespace laneway
