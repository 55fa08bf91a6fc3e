// Putting messages into aggregation buffers that several types share, and serving them.
#pragma once

#include "laneway/comm/server.hpp"
#include "laneway/comm/shared_message.hpp"
#include "laneway/comm/variable_aggregator.hpp"
#include "laneway/comm/variable_server.hpp"

namespace laneway {

/// What is put into the aggregation buffers for a message, which must live until it has been. `List`: the program's.
/// `token`: see request.
template <class List, class Message>
LANEWAY_FN auto shared_of(const Message& message, std::uint64_t token) {
    using header = typename List::shared;
    return outgoing_variable<header>{
        {shared_shape::granules_of(sizeof(Message)),
         {List::template kind<Message>, {static_cast<std::uint32_t>(token), static_cast<std::uint32_t>(token >> 32)}}},
        reinterpret_cast<const std::byte*>(&message),
        sizeof(Message)};
}

/// Serves a chunk of messages that share aggregation buffers. Calls `serve.template operator()<M, H>(has, message,
/// token)` for each type among up to a warp's messages, on all lanes together; `has` says which of them have a message
/// of that type, and `message()` is theirs. `List`: the program's. `chunk_granules`: what the payload may hold. The
/// whole warp, together.
template <class List, class Ctx, class Serve>
LANEWAY_FN void serve_shared(Ctx& ctx, const arrived_chunk& chunk, std::uint32_t chunk_granules, Serve&& serve) {
    using envelope = variable_envelope<typename List::shared>;
    static_assert(sizeof(envelope) == 16, "a header is one granule");
    constexpr lane_mask all = full_warp<Ctx>;
    visit_messages<shared_shape>(ctx, chunk, chunk_granules, [&](bool waits, const std::byte* start) {
        const auto* const mine = reinterpret_cast<const envelope*>(start);
        const std::uint32_t kind = waits ? mine->header.kind : List::count;
        for (lane_mask rest = ctx.ballot(all, waits); rest != 0;) {
            const std::uint32_t turn = ctx.shuffle(all, kind, Ctx::first_lane(rest));
            const bool has = kind == turn;
            rest &= ~ctx.ballot(all, has);
            List::visit(turn, [&]<class Message, class Handler>() {
                const auto message = [&]() -> const Message& { return *reinterpret_cast<const Message*>(mine + 1); };
                const std::uint64_t token =
                    has ? std::uint64_t{mine->header.token[1]} << 32 | mine->header.token[0] : 0;
                serve.template operator()<Message, Handler>(has, message, token);
            });
        }
    });
}

}  // namespace laneway
