// What the compiler says to authors of handlers that have not the form that they claim, see routes.hpp: one line before
// the templates' own words.
#pragma once

#include "laneway/comm/parcel.hpp"

namespace laneway {

template <class Handler>
concept answering = requires {
    typename Handler::answer;
};

template <class Handler>
concept onward_posting = requires {
    requires Handler::posts_onward;
};

/// Serves messages with elements, which are carried as parcels.
template <class Handler>
concept taking_elements = requires {
    typename Handler::element;
};

/// Names places for elements that are too many for a chunk, see placing.hpp.
template <class Handler>
concept placing = taking_elements<Handler> && requires {
    requires Handler::places;
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

/// What follows the head of a message.
template <class Handler>
struct element_of {
    static_assert(taking_elements<Handler>,
                  "a post with elements needs a handler that takes them: one that says `using element = E;`");
    struct none {};
    using type = none;
};
template <taking_elements Handler>
struct element_of<Handler> {
    using type = typename Handler::element;
};

/// Stands for elements of whatever type a handler takes.
struct any_elements {
    template <class E>
    operator elements<E>() const;
};

template <class Handler, class... Arguments>
concept takes = requires(const Handler& handler, Arguments&&... arguments) {
    handler(static_cast<Arguments&&>(arguments)...);
};

template <class Handler, class Ctx, class Message>
concept has_place = requires(const Handler& handler, Ctx& ctx, const Message& message) {
    handler.place(ctx, message, std::uint64_t{}).segment;
};

template <class Handler>
concept says_whether_it_places = requires {
    Handler::places;
};

/// Checks a handler's form where it is run for a message, with its elements where it has some.
template <class Handler, class Onward, class Ctx, class Message, class... Elements>
constexpr bool has_its_form() {
    constexpr bool posts = onward_posting<Handler>;
    constexpr bool plain = takes<Handler, Ctx&, const Message&, Elements&...>;
    constexpr bool posting = takes<Handler, Ctx&, const Message&, Elements&..., Onward&>;
    constexpr bool unasked = sizeof...(Elements) == 0 && !plain && !posting &&
                             (takes<Handler, Ctx&, const Message&, any_elements> ||
                              takes<Handler, Ctx&, const Message&, any_elements, Onward&>);
    static_assert(posts || plain || !posting,
                  "this handler takes an onward poster: it must say `static constexpr bool posts_onward = true;`");
    static_assert(!unasked, "this handler takes elements: it must say `using element = E;`");
    static_assert(posting || (plain && !posts) || unasked,
                  "a handler has `operator()(ctx, const Message&) const`, with `elements<const E>` behind the message "
                  "where it says `using element = E;`, and `Onward&` last where it says `posts_onward = true`");
    static_assert(
        !has_place<Handler, Ctx, Message> || placing<Handler> || says_whether_it_places<Handler>,
        "this handler has `place`: it must say `static constexpr bool places = true;` and `using element = E;`");
    static_assert(!placing<Handler> || has_place<Handler, Ctx, Message>,
                  "this handler says `places = true`: it must have `place(ctx, const Message&, std::uint64_t) const`");
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
