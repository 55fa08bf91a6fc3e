// Handlers that take large payloads: they say where elements may go, before these come.
//
// Such a handler says `static constexpr bool places = true;` and has, beside its call operator,
//   symmetric_ptr<E> place(ctx, const M&, std::uint64_t count) const
// which names `count` elements of symmetric memory of its PE, or nowhere<E>(): refused. It runs on any lane, at the
// same time as others, and never waits. The place is the payload's until the handler has run.
#pragma once

#include "laneway/comm/copy_bytes.hpp"
#include "laneway/comm/routes.hpp"

namespace laneway {

/// What `place` returns to refuse.
template <class T>
LANEWAY_FN symmetric_ptr<T> nowhere() {
    return {~std::uint32_t{0}, 0};
}

/// Asks for a place for elements of a message.
template <class Message>
struct place_request {
    Message head;
    std::uint64_t count;
};
template <class Message>
struct served_part<place_request<Message>> {
    static constexpr user_code::part_of part = user_code::place;
    using message = Message;
};
template <class Element>
struct found_place {
    symmetric_ptr<Element> at;
    status code;  ///< ok, refused, or bad_address: no array holds so many elements there
};

LANEWAY_STRICT_BEGIN
/// As call_needs_LANEWAY_FN, of `place`.
template <class Handler, class Ctx, class Message>
LANEWAY_FN auto place_needs_LANEWAY_FN(const Handler& handler, Ctx& ctx, const Message& head, std::uint64_t count) {
    return handler.place(ctx, head, count);
}
LANEWAY_STRICT_END

template <class Handler>
struct serve_place {
    using answer = found_place<typename Handler::element>;
    Handler handler;

    template <class Ctx, class Message>
    LANEWAY_FN answer operator()(Ctx& ctx, const place_request<Message>& request) const {
        const symmetric_ptr<typename Handler::element> at =
            place_needs_LANEWAY_FN(handler, ctx, request.head, request.count);
        // Partner: the fence in rendezvous::ask. Whoever had the place before is through with it.
        ctx.fence(scope::system);
        if (at.segment == ~std::uint32_t{0}) return {at, status::refused};
        return {at, exists(ctx, at, request.count) ? status::ok : status::bad_address};
    }
};

/// Elements on their way to a PE whose memory the sender cannot reach. The place was checked when it was found.
struct piece {
    symmetric_ptr<std::byte> to;
};
struct store_piece {
    using element = std::byte;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const piece& p, elements<const std::byte> body) const {
        copy_bytes(local(ctx, p.to), body.data, body.size);
    }
};

/// The route that a handler's placing needs.
template <class Message, class Handler>
auto place_route(const route<Message, Handler>& r) {
    if constexpr (placing<Handler>) {
        static_assert(sizeof(place_request<Message>) <= 4096 - sizeof(std::uint64_t),
                      "the head of a message whose handler places takes at most 4,080 bytes");
        return routes<route<place_request<Message>, serve_place<Handler>>>{{{r.handler}}};
    } else {
        return routes<>{};
    }
}

/// Routes of an application, and those that rendezvous needs where some handler places.
template <class... M, class... H>
auto with_places(const routes<route<M, H>...>& all) {
    if constexpr ((placing<H> || ...)) {
        return (all + ... + place_route(static_cast<const route<M, H>&>(all))) + routes<route<piece, store_piece>>{};
    } else {
        return all;
    }
}

}  // namespace laneway
