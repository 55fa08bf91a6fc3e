// Handlers that take large payloads: they say where the payload may go, before it comes.
//
// Such a handler says `static constexpr bool allocates = true;` and has, beside its call operator,
//   symmetric_ptr<E> allocate(ctx, const M&, std::uint64_t count) const
// which names `count` elements of symmetric memory of its PE, or rejected<E>() to refuse it. It runs on any lane, at
// the same time as others, and never waits. The memory belongs to the payload until the handler has run.
#pragma once

#include "laneway/comm/routes.hpp"
#include "laneway/memory/copy_bytes.hpp"

namespace laneway {

/// What `allocate` returns to refuse.
template <class T>
LANEWAY_FN symmetric_ptr<T> rejected() {
    return {~std::uint32_t{0}, 0};
}

/// Asks for memory for the payload of a message.
template <class Message>
struct allocation_request {
    Message header;
    std::uint64_t count;
};
template <class Message>
struct served_part<allocation_request<Message>> {
    static constexpr user_code::part_of part = user_code::allocate;
    template <class List>
    static LANEWAY_FN std::uint32_t number(const allocation_request<Message>&) {
        return List::template kind<Message>;
    }
};
template <class Element>
struct allocation {
    symmetric_ptr<Element> at;
    status code;  ///< ok, rejected, or bad_address: no array holds so many elements there
};

LANEWAY_STRICT_BEGIN
/// As call_needs_LANEWAY_FN, of `allocate`.
template <class Handler, class Ctx, class Message>
LANEWAY_FN auto allocate_needs_LANEWAY_FN(const Handler& handler, Ctx& ctx, const Message& header,
                                          std::uint64_t count) {
    return handler.allocate(ctx, header, count);
}
LANEWAY_STRICT_END

template <class Handler>
struct serve_allocation {
    using answer = allocation<typename Handler::element>;
    Handler handler;

    template <class Ctx, class Message>
    LANEWAY_FN answer operator()(Ctx& ctx, const allocation_request<Message>& request) const {
        const symmetric_ptr<typename Handler::element> at =
            allocate_needs_LANEWAY_FN(handler, ctx, request.header, request.count);
        // Partner: the fence in rendezvous::ask. Whoever had the memory before is through with it.
        ctx.fence(scope::system);
        if (at.segment == ~std::uint32_t{0}) return {at, status::rejected};
        return {at, exists(ctx, at, request.count) ? status::ok : status::bad_address};
    }
};

/// Part of a payload on its way to a PE whose memory the sender cannot reach. The address was checked when it was
/// allocated.
struct piece {
    symmetric_ptr<std::byte> to;
};
struct store_piece {
    using element = std::byte;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const piece& p, payload<const std::byte> payload) const {
        copy_bytes(local(ctx, p.to), payload.data, payload.size);
    }
};

/// The route that a handler's `allocate` needs.
template <class Message, class Handler>
auto allocation_route(const route<Message, Handler>& r) {
    if constexpr (allocating<Handler>) {
        static_assert(sizeof(allocation_request<Message>) <= 4096 - sizeof(std::uint64_t),
                      "the header of a message whose handler allocates takes at most 4,080 bytes");
        return routes<route<allocation_request<Message>, serve_allocation<Handler>>>{{{r.handler}}};
    } else {
        return routes<>{};
    }
}

/// Routes of an application, and those that rendezvous needs where some handler allocates.
template <class... M, class... H>
auto with_allocations(const routes<route<M, H>...>& all) {
    if constexpr ((allocating<H> || ...)) {
        return (all + ... + allocation_route(static_cast<const route<M, H>&>(all))) +
               routes<route<piece, store_piece>>{};
    } else {
        return all;
    }
}

}  // namespace laneway
