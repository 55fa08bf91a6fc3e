// What the lanes of a PE take indices with; see index_space.hpp.
#pragma once

#include "laneway/run/program.hpp"

namespace laneway {

/// Indices that a warp has taken: [first, last).
struct index_piece {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

/// Device view: one PE's range.
struct index_space_ref {
    using routes_type = routes<>;

    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t piece = 1;        ///< indices that a warp takes at once
    std::uint64_t* next = nullptr;  ///< PE memory: how many have been taken, from 0

    [[nodiscard]] routes_type handlers() const { return {}; }

    /// What a lane takes pieces with.
    template <class Ctx>
    struct taker {
        const index_space_ref& space;

        /// The next piece for this warp, the same for all its lanes; false where none is left or the run is ending. The
        /// whole warp, together.
        LANEWAY_FN bool take(Ctx& ctx, index_piece& taken) const {
            ctx.sync(full_warp<Ctx>);
            const std::uint64_t at = once(ctx, full_warp<Ctx>, [&] {
                // Relaxed: the number is all that it tells.
                return stopped(ctx) ? space.count
                                    : ctx.fetch_add(space.next, space.piece, order::relaxed, scope::device);
            });
            if (at >= space.count) return false;
            const std::uint64_t left = space.count - at;
            taken.first = space.first + at;
            taken.last = taken.first + (left < space.piece ? left : space.piece);
            return true;
        }
    };
    template <class Ctx, class Out>
    LANEWAY_FN taker<Ctx> agent(Ctx&, Out&, const roles&, std::byte*) const {
        return {*this};
    }
};

/// The body of runtime::for_each.
template <class Body>
struct each_index {
    Body body;

    template <class Ctx, class Indices, class... Agents>
    LANEWAY_FN void operator()(Ctx& ctx, Indices& indices, Agents&... agents) const {
        index_piece piece;
        while (indices.take(ctx, piece)) {
            for (std::uint64_t i = piece.first + static_cast<std::uint64_t>(ctx.lane()); i < piece.last;
                 i += Ctx::warp_lanes) {
                call_needs_LANEWAY_FN(body, ctx, i, agents...);
            }
        }
    }
};

template <class Body>
inline constexpr double server_share_of<each_index<Body>> = server_share_of<Body>;

}  // namespace laneway
