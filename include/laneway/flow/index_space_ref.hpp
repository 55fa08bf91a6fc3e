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

    static constexpr unsigned pass_bits = 16, run_bits = 16, taken_bits = 32;

    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t piece = 1;        ///< indices that a warp takes at once
    std::uint64_t pieces = 0;       ///< how many there are
    std::uint32_t run = 0;          ///< number of the run, of run_bits
    std::uint64_t* next = nullptr;  ///< PE memory, one for each parity of passes: which run and pass, and pieces taken

    [[nodiscard]] routes_type handlers() const { return {}; }

    /// What `next` holds while nothing of a pass has been taken.
    [[nodiscard]] LANEWAY_FN std::uint64_t start_of(std::uint32_t pass) const {
        return std::uint64_t{run << pass_bits | (pass & ((1u << pass_bits) - 1))} << taken_bits;
    }

    /// Number of a piece that nobody else takes in this pass, or a greater one than any. The word tells whose pieces it
    /// counts, so that nobody clears it between runs: who finds an earlier run or pass there starts this one's. Who
    /// takes the first piece starts the next pass, so that not all warps find that at once behind the barrier.
    template <class Ctx>
    LANEWAY_FN std::uint64_t next_piece(Ctx& ctx, std::uint32_t pass) const {
        constexpr std::uint64_t taken_mask = (std::uint64_t{1} << taken_bits) - 1;
        const std::uint64_t start = start_of(pass);
        std::uint64_t* const word = next + pass % 2;
        // Relaxed: the number is all that it tells.
        std::uint64_t held = ctx.fetch_add(word, 1, order::relaxed, scope::device);
        if ((held & ~taken_mask) != start) {
            ++held;
            bool started = false;
            while (!started && (held & ~taken_mask) != start) {
                started = ctx.compare_exchange(word, held, start + 1, order::relaxed, scope::device);
            }
            held = started ? start : ctx.fetch_add(word, 1, order::relaxed, scope::device);
        }
        if (held == start) ctx.store(next + (pass + 1) % 2, start_of(pass + 1), order::relaxed, scope::device);
        return held & taken_mask;
    }

    /// What a lane takes pieces with.
    template <class Ctx>
    struct taker {
        const index_space_ref& space;

        /// The next piece for this warp, the same for all its lanes; false where none is left or the run is ending. The
        /// whole warp, together. The indices are handed out once more in each `pass`: passes are counted up, and
        /// between two of them lies a barrier of all that take.
        LANEWAY_FN bool take(Ctx& ctx, index_piece& taken, std::uint32_t pass = 0) const {
            ctx.sync(full_warp<Ctx>);
            const std::uint64_t number =
                once(ctx, full_warp<Ctx>, [&] { return stopped(ctx) ? space.pieces : space.next_piece(ctx, pass); });
            if (number >= space.pieces) return false;
            const std::uint64_t at = number * space.piece, left = space.count - at;
            taken.first = space.first + at;
            taken.last = taken.first + (left < space.piece ? left : space.piece);
            return true;
        }

        /// Calls `each(i)` for every index of the pieces that this warp comes to take, lanes that of neighbouring ones.
        /// The whole warp, together.
        template <class Each>
        LANEWAY_FN void for_each(Ctx& ctx, Each&& each, std::uint32_t pass = 0) const {
            index_piece piece;
            while (take(ctx, piece, pass)) {
                for (std::uint64_t i = piece.first + static_cast<std::uint64_t>(ctx.lane()); i < piece.last;
                     i += Ctx::warp_lanes) {
                    each(i);
                }
            }
        }
        /// The same where all lanes of a warp do an index together: index_space_options::for_warps.
        template <class Each>
        LANEWAY_FN void for_each_together(Ctx& ctx, Each&& each, std::uint32_t pass = 0) const {
            index_piece piece;
            while (take(ctx, piece, pass)) {
                for (std::uint64_t i = piece.first; i < piece.last; ++i) each(i);
            }
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
        indices.for_each(ctx, [&](std::uint64_t i) { call_needs_LANEWAY_FN(body, ctx, i, agents...); });
    }
};

template <class Body>
inline constexpr double server_share_of<each_index<Body>> = server_share_of<Body>;
template <class Body>
inline constexpr int cuda_warps_of<each_index<Body>> = cuda_warps_of<Body>;

}  // namespace laneway
