// Messages that triggered operations post and whose end they wait for: when the handler has returned, wherever the
// message went, the operation's signal and next tags follow. Such a message carries the name of its tag, in a type of
// its own, of which a mailbox has one whatever types it carries.
#pragma once

#include "laneway/comm/routes.hpp"
#include "laneway/comm/triggers/trigger_arrivals.hpp"

namespace laneway {

/// Messages whose end can be told: the mailbox's without a payload, and without a reply, which is no part of them.
template <class List, class Handler>
inline constexpr bool has_an_end = !taking_payload<Handler>;
template <class List, answering Handler>
inline constexpr bool has_an_end<List, Handler> =
    !taking_payload<Handler> && !List::template has<typename Handler::answer>;

/// A message of a mailbox with these routes.
template <class Routes>
struct followed_message;
template <class... M, class... H>
struct followed_message<routes<route<M, H>...>> {
    alignas(greatest(alignof(M)...)) std::byte message[greatest(sizeof(M)...)];
    std::uint32_t kind;
    std::uint32_t tag;  ///< whose operation has started it
    std::int32_t pe;    ///< of that
};

/// What it carries is served, and named so.
template <class... M, class... H>
struct served_part<followed_message<routes<route<M, H>...>>> {
    static constexpr user_code::part_of part = user_code::handler;
    template <class List>
    static LANEWAY_FN std::uint32_t number(const followed_message<routes<route<M, H>...>>& m) {
        std::uint32_t found = List::count;
        route_list<routes<route<M, H>...>>::visit(
            m.kind, [&]<class Message, class Handler>() { found = List::template kind<Message>; });
        return found;
    }
};

/// What a carried message's handler throws ends the lane's turn here: then nobody is told of an end.
template <class Routes>
struct serve_followed;
template <class... M, class... H>
struct serve_followed<routes<route<M, H>...>> {
    using list = route_list<routes<route<M, H>...>>;
    using carried = followed_message<routes<route<M, H>...>>;
    static constexpr bool forwards = (forwarding<H> || ...);

    routes<route<M, H>...> handlers;
    trigger_ref tags;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const carried& m) const requires(!forwards) {
        const struct {
        } none;
        serve(ctx, m, none);
    }
    template <class Ctx, class Forward>
    LANEWAY_FN void operator()(Ctx& ctx, const carried& m, Forward& forward) const requires(forwards) {
        serve(ctx, m, forward);
    }

private:
    template <class Ctx, class Forward>
    LANEWAY_FN void serve(Ctx& ctx, const carried& m, [[maybe_unused]] Forward& forward) const {
        list::visit(m.kind, [&]<class Message, class Handler>() {
            if constexpr (has_an_end<list, Handler>) {
                const Message message = *reinterpret_cast<const Message*>(m.message);
                const Handler& handler = handler_of<Message>(handlers);
                if constexpr (forwarding<Handler>) {
                    call_needs_LANEWAY_FN(handler, ctx, message, forward);
                } else {
                    call_needs_LANEWAY_FN(handler, ctx, message);
                }
                trigger_rounds<Ctx> rounds(ctx, tags);
                trigger_arrivals<Ctx>(ctx, rounds).tell_end(ctx, m.pe, m.tag);
            }
        });
    }
};

}  // namespace laneway
