// What the compiler says to authors of handlers that have not the form that they claim, see routes.hpp: one line before
// the templates' own words.
#pragma once

#include "laneway/comm/variable_message.hpp"

namespace laneway {

template <class Handler>
concept answering = requires {
    typename Handler::answer;
};

template <class Handler>
concept forwarding = requires {
    requires Handler::forwards;
};

/// Says that its program has a queue for forwards, as others than handlers fill it (run/component.hpp).
template <class Handler>
concept others_forward = requires {
    requires Handler::others_forward;
};

/// Serves variable-length messages: a header and a payload.
template <class Handler>
concept taking_payload = requires {
    typename Handler::element;
};

/// Allocates memory for payloads that are too long for a chunk, see payload_allocation.hpp.
template <class Handler>
concept allocating = taking_payload<Handler> && requires {
    requires Handler::allocates;
};

/// What a handler answers to calls.
template <class Handler>
struct answer_of {
    static_assert(answering<Handler>, "box.call needs a handler that answers: one that says `using answer = R;`");
    struct none {};
    using type = none;
};
template <answering Handler>
struct answer_of<Handler> {
    using type = typename Handler::answer;
};

/// What follows the header of a message.
template <class Handler>
struct element_of {
    static_assert(taking_payload<Handler>,
                  "a post with a payload needs a handler that takes one: one that says `using element = E;`");
    struct none {};
    using type = none;
};
template <taking_payload Handler>
struct element_of<Handler> {
    using type = typename Handler::element;
};

/// Stands for a payload of whatever type a handler takes.
struct any_payload {
    template <class E>
    operator payload<E>() const;
};

template <class Handler, class... Arguments>
concept takes = requires(const Handler& handler, Arguments&&... arguments) {
    handler(static_cast<Arguments&&>(arguments)...);
};

template <class Handler, class Ctx, class Message>
concept has_allocate = requires(const Handler& handler, Ctx& ctx, const Message& message) {
    handler.allocate(ctx, message, std::uint64_t{}).segment;
};

template <class Handler>
concept says_whether_it_allocates = requires {
    Handler::allocates;
};

/// Checks a handler's form where it is run for a message, with its payload where it has one.
template <class Handler, class Forward, class Ctx, class Message, class... Elements>
constexpr bool has_its_form() {
    constexpr bool posts = forwarding<Handler>;
    constexpr bool plain = takes<Handler, Ctx&, const Message&, Elements&...>;
    constexpr bool posting = takes<Handler, Ctx&, const Message&, Elements&..., Forward&>;
    constexpr bool unasked = sizeof...(Elements) == 0 && !plain && !posting &&
                             (takes<Handler, Ctx&, const Message&, any_payload> ||
                              takes<Handler, Ctx&, const Message&, any_payload, Forward&>);
    static_assert(posts || plain || !posting,
                  "this handler takes a forwarder: it must say `static constexpr bool forwards = true;`");
    static_assert(!unasked, "this handler takes a payload: it must say `using element = E;`");
    static_assert(posting || (plain && !posts) || unasked,
                  "a handler has `operator()(ctx, const Message&) const`, with `payload<const E>` behind the message "
                  "where it says `using element = E;`, and `Forward&` last where it says `forwards = true`");
    static_assert(
        !has_allocate<Handler, Ctx, Message> || allocating<Handler> || says_whether_it_allocates<Handler>,
        "this handler has `allocate`: it must say `static constexpr bool allocates = true;` and `using element = E;`");
    static_assert(
        !allocating<Handler> || has_allocate<Handler, Ctx, Message>,
        "this handler says `allocates = true`: it must have `allocate(ctx, const Message&, std::uint64_t) const`");
    return posts ? posting : plain;
}

/// The same for what it returns.
template <class Handler, class Returned>
constexpr bool returns_its_answer() {
    if constexpr (answering<Handler>) {
        static_assert(std::is_same_v<Returned, typename Handler::answer>,
                      "this handler must return the type that it names by `using answer = R;`");
    } else {
        static_assert(std::is_void_v<Returned>, "this handler returns a value: it must say `using answer = R;`");
    }
    return true;
}

}  // namespace laneway
