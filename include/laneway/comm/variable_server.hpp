// Serving variable-length messages: a warp finds where the variable-length messages of a chunk start, and its lanes run
// the handlers.
#pragma once

#include "laneway/comm/server.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

/// Finds the next variable-length messages of a chunk, one a lane: lane k gets the k-th start from `next` on, in
/// granules, and `next` moves behind the last of them. Returns how many were found, `wanted` at most. The whole warp,
/// together: each lane loads one granule, and where the next message starts is found among them, as a load for each
/// variable-length message in turn would wait for memory as often. A lane may so load what is no header, and never uses
/// it.
template <class Shape, class Ctx>
LANEWAY_FN std::uint32_t find_messages(Ctx& ctx, const std::byte* granules, std::uint32_t chunk_granules,
                                       std::uint32_t wanted, std::uint32_t& next, std::uint32_t& start) {
    constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    const auto lane = static_cast<std::uint32_t>(ctx.lane());
    std::uint32_t found = 0;
    while (found < wanted && found < lanes) {
        std::uint32_t length = 0;
        if (next + lane < chunk_granules) {
            length =
                Shape::granules(*reinterpret_cast<const std::uint32_t*>(granules + (next + lane) * std::size_t{16}));
        }
        std::uint32_t at = 0;
        do {
            if (found == lane) start = next + at;
            at += ctx.shuffle(full_warp<Ctx>, length, static_cast<int>(at));
            ++found;
        } while (at < lanes && found < wanted && found < lanes);
        next += at;
    }
    return found;
}

/// Calls `use(has, start)` for up to a warp's messages of a chunk at a time, until all have had their turn, on all
/// lanes together: `start` is where the lane's message begins, if it has one. The whole warp, together.
template <class Shape, class Ctx, class Use>
LANEWAY_FN void visit_messages(Ctx& ctx, const arrived_chunk& chunk, std::uint32_t chunk_granules, const Use& use) {
    const std::byte* const payload = chunk.ring.slot(chunk.ticket);
    const std::uint32_t messages = chunk.label.messages();
    std::uint32_t next = 0;
    for (std::uint32_t served = 0; served < messages;) {
        std::uint32_t start = 0;
        const std::uint32_t found = find_messages<Shape>(ctx, payload, chunk_granules, messages - served, next, start);
        use(static_cast<std::uint32_t>(ctx.lane()) < found, payload + start * std::size_t{16});
        served += found;
    }
}

/// The elements of a variable-length message that has arrived.
template <class Element, class Ctx, class Message>
LANEWAY_FN payload<const Element> payload_of(const Ctx& ctx, const variable_envelope<Message>& envelope) {
    if (envelope.count == in_symmetric_memory) {
        const auto& body = *reinterpret_cast<const stored_payload<Element>*>(&envelope + 1);
        return {local(ctx, body.at), body.count};
    }
    return {reinterpret_cast<const Element*>(&envelope + 1), envelope.count};
}

/// Runs the handlers of a chunk's variable-length messages. The whole warp, together. `chunk_granules`: what the
/// payload may hold.
template <class Message, class Element, class Ctx, class Routes>
LANEWAY_FN void serve_variable(Ctx& ctx, const delivery<Routes>& handlers, int source, const arrived_chunk& chunk,
                               std::uint32_t chunk_granules) {
    using shape = variable_shape<Message, Element>;
    visit_messages<shape>(ctx, chunk, chunk_granules, [&](bool has, const std::byte* start) {
        if (!has) return;
        const auto& envelope = *reinterpret_cast<const variable_envelope<Message>*>(start);
        handlers.run(ctx, source, envelope.header, payload_of<Element>(ctx, envelope));
    });
}

}  // namespace laneway
