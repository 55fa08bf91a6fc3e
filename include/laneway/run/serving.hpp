// The serving part of a persistent program: it depends on the messages of a run, not on its body, so it is compiled
// once for all bodies that share them.
#pragma once

#include "laneway/comm/endpoint.hpp"
#include "laneway/comm/responder.hpp"
#include "laneway/comm/server.hpp"
#include "laneway/comm/variable_server.hpp"

namespace laneway {

/// What a lane does between two looks at what it waits for. Where a warp is one lane, that lane has all roles and takes
/// a turn at serving and control. Elsewhere other warps do, and this refers to nothing, so that nothing must lie in
/// memory for its sake.
template <class Ctx>
struct waiting_turn {
    LANEWAY_FN void operator()() const {}
};

template <class Ctx>
requires(Ctx::warp_lanes == 1) struct waiting_turn<Ctx> {
    void (*call)(void*);
    void* program;

    LANEWAY_FN void operator()() const { call(program); }
};

/// A turn of the components' assistance, by a lane that waits and has all roles: what it waits for may be another
/// component's to do. No component waits there, so that one turn is never inside another.
struct assist_call {
    void (*call)(void*) = nullptr;  ///< none yet
    void* turn = nullptr;

    template <class Turn>
    [[nodiscard]] static assist_call of(const Turn& turn) {
        return {[](void* self) { (*static_cast<const Turn*>(self))(); },
                const_cast<void*>(static_cast<const void*>(&turn))};
    }
    LANEWAY_FN void operator()() const {
        if (call != nullptr) call(turn);
    }
};

/// Runs the handlers of a chunk of replies.
template <class Ctx, class Routes>
struct serve_reply {
    using list = route_list<Routes>;

    Ctx& ctx;
    const delivery<Routes>& handlers;
    std::size_t chunk_bytes;

    LANEWAY_FN void operator()(int source, const arrived_chunk& chunk) const {
        route_list<typename list::carried>::visit(chunk.label.kind(), [&]<class Carried, class Handler>() {
            if constexpr (!list::template holds_replies<Carried>) {
                return;
            } else if constexpr (std::is_same_v<Handler, shared_handlers>) {
                const auto run = [&]<class Message, class>(bool has, const auto& message, std::uint64_t) {
                    if constexpr (list::template is_reply<Message>) {
                        if (has) handlers.run(ctx, source, message());
                    }
                };
                serve_shared<list>(ctx, chunk, chunk_shape<granule<Carried>>::fitting(chunk_bytes).messages(), run);
            } else {
                serve_plain<Ctx, Carried>(ctx, handlers, source, chunk);
            }
        });
    }
};

/// A turn at arrived replies; whether there were any.
template <class Ctx, class Routes>
struct reply_turn {
    Ctx& ctx;
    server<Ctx, serve_reply<Ctx, Routes>>& replies_in;

    LANEWAY_FN bool operator()() const {
        if constexpr (route_list<Routes>::replies) return replies_in.turn(ctx);
        return false;
    }
};

/// Sends replies, and serves those that arrive while it waits for space.
template <class Ctx, class Routes>
using serving_responder = responder<Ctx, Routes, reply_turn<Ctx, Routes>>;

/// Runs the handlers of a chunk of requests.
template <class Ctx, class Routes>
struct serve_request {
    Ctx& ctx;
    const endpoint_ref<Routes>& endpoint;
    serving_responder<Ctx, Routes>& responder;

    LANEWAY_FN void operator()(int source, const arrived_chunk& chunk) const {
        using list = route_list<Routes>;
        route_list<typename list::carried>::visit(chunk.label.kind(), [&]<class Message, class Handler>() {
            if constexpr (std::is_same_v<Handler, shared_handlers>) {
                responder.serve_shared(ctx, source, chunk,
                                       chunk_shape<granule<Message>>::fitting(endpoint.chunk_bytes));
            } else if constexpr (answering<Handler>) {
                responder.template serve<Message, Handler>(ctx, source, chunk);
            } else if constexpr (taking_payload<Handler>) {
                const auto shape = chunk_shape<granule<Message>>::fitting(endpoint.chunk_bytes);
                serve_variable<Message, typename Handler::element>(ctx, endpoint.handlers, source, chunk,
                                                                   shape.messages());
            } else {
                serve_plain<Ctx, Message>(ctx, endpoint.handlers, source, chunk);
            }
        });
    }
};

}  // namespace laneway
