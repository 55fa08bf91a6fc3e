// Messages that several components of a program carry: types tell messages apart, so those of a component whose types
// an earlier one carries as well get types of their own, which name the component. Lanes and handlers see none of it.
// Mailboxes alone can come second. A component whose messages differ from those of all before it is left as it is, and
// a program of such components is what it was.
#pragma once

#include "laneway/comm/mailbox.hpp"
#include "laneway/run/component.hpp"

namespace laneway {

/// A message of type `Message` of component `Number` of a program.
template <std::uint32_t Number, class Message>
struct component_message {
    Message message;
};

/// What a component's handlers forward with. `List`: the component's own messages.
template <std::uint32_t Number, class List, class Forward>
struct component_forwarder {
    Forward& next;

    template <class Ctx, class Message>
    LANEWAY_FN status post(Ctx& ctx, int pe, const Message& message) const {
        static_assert(List::template has<Message>, "the mailbox does not carry messages of this type");
        return next.post(ctx, pe, component_message<Number, Message>{message});
    }
};

/// Serves a component's messages of type `Message` by its handler, whose other members it has.
template <std::uint32_t Number, class List, class Message, class Handler>
class component_serving : public Handler {
    static_assert(!std::is_final_v<Handler>, "a handler of a type of message that two components carry is not `final`");
    static_assert(!allocating<Handler>,
                  "where two components carry the same type of message, handlers of the second "
                  "one do not allocate memory for payloads");
    using carried = component_message<Number, Message>;

public:
    template <class Ctx>
    LANEWAY_FN auto operator()(Ctx& ctx, const carried& m) const
        requires(!forwarding<Handler> && !taking_payload<Handler>) {
        return served(ctx, m.message);
    }
    template <class Ctx, class E>
    LANEWAY_FN void operator()(Ctx& ctx, const carried& m, payload<E> elements) const
        requires(!forwarding<Handler> && taking_payload<Handler>) {
        served(ctx, m.message, elements);
    }
    template <class Ctx, class Forward>
    LANEWAY_FN auto operator()(Ctx& ctx, const carried& m, Forward& next) const
        requires(forwarding<Handler> && !taking_payload<Handler>) {
        const component_forwarder<Number, List, Forward> own{next};
        return served(ctx, m.message, own);
    }
    template <class Ctx, class E, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const carried& m, payload<E> elements, Forward& next) const
        requires(forwarding<Handler>&& taking_payload<Handler>) {
        const component_forwarder<Number, List, Forward> own{next};
        served(ctx, m.message, elements, own);
    }

private:
    template <class... Arguments>
    LANEWAY_FN auto served(Arguments&... arguments) const {
        const Handler& handler = *this;
        if constexpr (!answering<Handler>) {
            handler(arguments...);
        } else if constexpr (List::template has<typename Handler::answer>) {
            return component_message<Number, typename Handler::answer>{handler(arguments...)};
        } else {
            return handler(arguments...);
        }
    }
};

template <std::uint32_t Number, class List, class Message, class Handler>
struct component_handler : component_serving<Number, List, Message, Handler> {};
/// An answer that is a message of the component as well is carried as one.
template <std::uint32_t Number, class List, class Message, answering Handler>
requires(List::template has<typename Handler::answer>)  //
    struct component_handler<Number, List, Message, Handler> : component_serving<Number, List, Message, Handler> {
    using answer = component_message<Number, typename Handler::answer>;
};

/// Routes of a component's messages that have types of their own.
template <std::uint32_t Number, class... M, class... H>
auto numbered_routes(const routes<route<M, H>...>& all) {
    using list = route_list<routes<route<M, H>...>>;
    return routes<route<component_message<Number, M>, component_handler<Number, list, M, H>>...>{
        {{{static_cast<const route<M, H>&>(all).handler}}}...};
}

/// The endpoint as such a component's agent sees it: its messages by their own types. `Out`: of the program. Members
/// are those of endpoint and sender.
template <std::uint32_t Number, class Ctx, class Out, class Routes>
class component_endpoint;

template <std::uint32_t Number, class Ctx, class Out, class... M, class... H>
class component_endpoint<Number, Ctx, Out, routes<route<M, H>...>>
    : public typed_sender<component_endpoint<Number, Ctx, Out, routes<route<M, H>...>>, Ctx, M>... {
    using list = route_list<routes<route<M, H>...>>;
    template <class Message>
    using carried = component_message<Number, Message>;
    template <class Message, class Sender, class C>
    friend struct typed_sender;

public:
    template <class Message>
    using element = typename element_of<typename list::template handler<Message>>::type;
    using typed_sender<component_endpoint, Ctx, M>::post...;
    using team_position = typename Out::team_position;

    LANEWAY_FN explicit component_endpoint(Out& out) : out_(out) {}

    template <class Message>
    LANEWAY_FN status post(Ctx& ctx, int pe, const Message& header, const element<Message>* data, std::uint64_t count) {
        return out_.template post<carried<Message>>(ctx, pe, {header}, data, count);
    }
    template <class Message>
    LANEWAY_FN status post(Ctx& ctx, width lanes, int pe, const Message& header, const element<Message>* data,
                           std::uint64_t count) {
        return out_.template post<carried<Message>>(ctx, lanes, pe, {header}, data, count);
    }
    template <class Message>
    requires(list::template has<Message>) LANEWAY_FN auto call(Ctx& ctx, int pe, const Message& message) {
        using answer = typename answer_of<typename list::template handler<Message>>::type;
        const auto given = out_.call(ctx, pe, carried<Message>{message});
        if constexpr (list::template has<answer>) {
            return answered<answer>{given.code, given.value.message};
        } else {
            return answered<answer>{given.code, given.value};
        }
    }
    LANEWAY_FN status barrier(Ctx& ctx) { return out_.barrier(ctx); }
    LANEWAY_FN status flush(Ctx& ctx) { return out_.flush(ctx); }
    LANEWAY_FN status flush_old(Ctx& ctx) { return out_.flush_old(ctx); }
    LANEWAY_FN status flush_ready(Ctx& ctx) { return out_.flush_ready(ctx); }
    LANEWAY_FN status drain(Ctx& ctx) { return out_.drain(ctx); }
    LANEWAY_FN status quiet(Ctx& ctx) { return out_.quiet(ctx); }
    LANEWAY_FN status help(Ctx& ctx, lane_mask mask) { return out_.help(ctx, mask); }
    [[nodiscard]] LANEWAY_FN bool others_take_turns(Ctx& ctx) const { return out_.others_take_turns(ctx); }
    LANEWAY_FN status progress(Ctx& ctx) { return out_.progress(ctx); }
    LANEWAY_FN status advance(Ctx& ctx) { return out_.advance(ctx); }
    LANEWAY_FN bool send_forwards(Ctx& ctx, lane_mask mask) { return out_.send_forwards(ctx, mask); }
    LANEWAY_FN void complete(Ctx& ctx, std::uint64_t items, order told = order::release) {
        out_.complete(ctx, items, told);
    }
    LANEWAY_FN void count_items(Ctx& ctx, std::uint64_t items) { out_.count_items(ctx, items); }
    LANEWAY_FN void count_direct() { out_.count_direct(); }
    [[nodiscard]] LANEWAY_FN auto team() const { return out_.team(); }
    [[nodiscard]] LANEWAY_FN path default_path() const { return out_.default_path(); }
    template <class Message>
    requires(list::template has<Message>) [[nodiscard]] LANEWAY_FN const
        typename list::template handler<Message>& served_by() const {
        return out_.template served_by<carried<Message>>();
    }
    template <class Message>
    [[nodiscard]] LANEWAY_FN std::uint32_t longest() {
        return out_.template longest<carried<Message>>();
    }

private:
    template <class Message>
    LANEWAY_FN status post_message(Ctx& ctx, int pe, const Message& message) {
        return out_.post(ctx, pe, carried<Message>{message});
    }

    Out& out_;
};

/// Device half of a mailbox of which an earlier component carries a type of message as well.
template <std::uint32_t Number, class Routes>
struct numbered_mailbox_ref {
    using routes_type = decltype(numbered_routes<Number>(std::declval<const Routes&>()));

    Routes routes;

    [[nodiscard]] routes_type handlers() const { return numbered_routes<Number>(routes); }

    template <class Ctx, class Out>
    LANEWAY_FN component_endpoint<Number, Ctx, Out, Routes> agent(Ctx&, Out& out, const roles&, std::byte*) const {
        return component_endpoint<Number, Ctx, Out, Routes>(out);
    }
};

/// What host threads know of a component's view: whose mailbox it is, and what its messages are carried as.
template <class View>
struct host_mailbox {
    using routes_type = void;  ///< it is none
};
template <class Routes>
struct host_mailbox<mailbox_ref<Routes>> {
    using routes_type = Routes;
    template <class Message>
    using carried = Message;
};
template <std::uint32_t Number, class Routes>
struct host_mailbox<numbered_mailbox_ref<Number, Routes>> {
    using routes_type = Routes;
    template <class Message>
    using carried = component_message<Number, Message>;
};

/// Whether a message's type alone does not tell which mailbox of these views is meant.
template <class Message, class View>
inline constexpr bool needs_its_mailbox = false;
template <class Message, std::uint32_t Number, class Routes>
inline constexpr bool needs_its_mailbox<Message, numbered_mailbox_ref<Number, Routes>> =
    route_list<Routes>::template has<Message>;

template <class One, class Other>
inline constexpr bool share_messages = false;
template <class... M, class... H, class Other>
requires(sizeof...(M) > 0 && !std::is_same_v<Other, routes<>>)  //
    inline constexpr bool share_messages<routes<route<M, H>...>, Other> = (route_list<Other>::template has<M> || ...);

template <std::uint32_t Number, class Routes>
numbered_mailbox_ref<Number, Routes> numbered_view(const mailbox_ref<Routes>& view) {
    return {view.routes};
}
template <std::uint32_t Number, class View>
View numbered_view(const View& view) {
    static_assert(Number == ~0u, "of two components that carry the same type of message the second one is a mailbox");
    return view;
}

/// Device views of a program's components, whose messages all differ. `Earlier`: those before. Host.
template <class... Earlier>
struct distinct_views {
    static view_list<> of() { return {}; }
    template <class First, class... Rest>
    static auto of(const First& first, const Rest&... rest) {
        const auto behind = distinct_views<Earlier..., First>::of(rest...);
        if constexpr ((share_messages<typename First::routes_type, typename Earlier::routes_type> || ...)) {
            return in_front(numbered_view<sizeof...(Earlier)>(first), behind);
        } else {
            return in_front(first, behind);
        }
    }
};

}  // namespace laneway
