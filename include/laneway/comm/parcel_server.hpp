// Serving parcels: a warp finds where the parcels of a chunk start, and its lanes run the handlers.
#pragma once

#include "laneway/comm/server.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

/// Finds the next parcels of a chunk, one a lane: lane k gets the k-th start from `next` on, in units, and `next` moves
/// behind the last of them. Returns how many were found, `wanted` at most. The whole warp, together: each lane loads
/// one unit, and where the next parcel starts is found among them, as a load for each parcel in turn would wait for
/// memory as often. A lane may so load what is no header, and never uses it.
template <class Shape, class Ctx>
LANEWAY_FN std::uint32_t find_parcels(Ctx& ctx, const std::byte* units, std::uint32_t chunk_units, std::uint32_t wanted,
                                      std::uint32_t& next, std::uint32_t& start) {
    constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
    const auto lane = static_cast<std::uint32_t>(ctx.lane());
    std::uint32_t found = 0;
    while (found < wanted && found < lanes) {
        std::uint32_t length = 0;
        if (next + lane < chunk_units) {
            length = Shape::units(*reinterpret_cast<const std::uint32_t*>(units + (next + lane) * std::size_t{16}));
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

/// The elements of a parcel that has arrived.
template <class Element, class Ctx, class Message>
LANEWAY_FN elements<const Element> body_of(const Ctx& ctx, const parcel_header<Message>& parcel) {
    if (parcel.count == elsewhere) {
        const auto& body = *reinterpret_cast<const placed<Element>*>(&parcel + 1);
        return {local(ctx, body.at), body.count};
    }
    return {reinterpret_cast<const Element*>(&parcel + 1), parcel.count};
}

/// Runs the handlers of a chunk's parcels. The whole warp, together. `chunk_units`: what the payload may hold.
template <class Message, class Element, class Ctx, class Routes>
LANEWAY_FN void serve_parcels(Ctx& ctx, const delivery<Routes>& handlers, int source, const arrived_chunk& chunk,
                              std::uint32_t chunk_units) {
    using shape = parcel_shape<Message, Element>;
    const std::byte* const payload = chunk.ring.slot(chunk.ticket);
    const std::uint32_t parcels = chunk.label.messages();
    std::uint32_t next = 0;
    for (std::uint32_t served = 0; served < parcels;) {
        std::uint32_t start = 0;
        const std::uint32_t found = find_parcels<shape>(ctx, payload, chunk_units, parcels - served, next, start);
        if (static_cast<std::uint32_t>(ctx.lane()) < found) {
            const auto& parcel = *reinterpret_cast<const parcel_header<Message>*>(payload + start * std::size_t{16});
            handlers.run(ctx, source, parcel.head, body_of<Element>(ctx, parcel));
        }
        served += found;
    }
}

}  // namespace laneway
