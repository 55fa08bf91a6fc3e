// A barrier as the warps of one block see it: they come one by one, the last one speaks for the block, and all wait for
// a word of the block.
#pragma once

#include "laneway/comm/links.hpp"

namespace laneway {

/// In shared memory.
struct block_barrier {
    alignas(16) std::uint32_t warps;  ///< working warps at the barrier, and in the upper half those that have returned
    std::uint64_t opened;             ///< barriers that are open, those of runs before too, as the block knows it

    /// One lane of the block, before use; another barrier must follow.
    LANEWAY_FN void open() { *this = {}; }

    enum class arrival : std::uint32_t { waits, leads, uneven };

    /// A warp comes to the barrier, as one of `team`. One lane of it. The last one gets `leads` and does what is left.
    template <class Ctx>
    LANEWAY_FN arrival arrive(Ctx& ctx, int team) {
        return count(ctx, 1, team);
    }
    /// A warp's functor has returned: it comes to no barrier any more. One lane of it; `uneven` where others wait for
    /// it.
    template <class Ctx>
    LANEWAY_FN arrival leave(Ctx& ctx, int team) {
        return count(ctx, returned_one, team);
    }
    /// How many working warps of the block have come to the barrier that is not open yet. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t waiting(Ctx& ctx) const {
        return ctx.load(&warps, order::relaxed, scope::block) % returned_one;
    }

    /// Whether some working warp of the block has returned from its functor. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool any_returned(Ctx& ctx) const {
        return ctx.load(&warps, order::relaxed, scope::block) >= returned_one;
    }

    /// Makes known to the PE that all warps of the block have come. One lane of the warp that leads; what they have
    /// posted has left, and what they have written comes before, if its lanes have synchronised.
    template <class Ctx>
    LANEWAY_FN void publish(Ctx& ctx, const links_ref& links, int team) {
        // Nobody comes again before the barrier has opened.
        ctx.store(&warps, 0u, order::relaxed, scope::block);
        // Partner: the acquire load in barrier_control::all_came.
        ctx.fetch_add(&links.work->arrived, static_cast<std::uint64_t>(team), order::release, scope::device);
    }

    /// Opens the block's barrier if that of the PE has opened; barriers are counted from run to run. One lane of the
    /// warp that leads; does not wait.
    template <class Ctx>
    LANEWAY_FN bool follow(Ctx& ctx, const links_ref& links, std::uint64_t barrier) {
        // Loaded with acquire only when it has changed: an acquire empties the multiprocessor's cache.
        if (ctx.load(&links.work->released, order::relaxed, scope::device) < barrier) return false;
        // Partner: the release store in barrier_control::hear. What was served everywhere comes before.
        (void)ctx.load(&links.work->released, order::acquire, scope::device);
        ctx.store(&opened, barrier, order::release, scope::block);
        return true;
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool is_open(Ctx& ctx, std::uint64_t barrier) const {
        // Partner: the release store in follow.
        return ctx.load(&opened, order::acquire, scope::block) >= barrier;
    }

private:
    static constexpr std::uint32_t returned_one = 1u << 16;

    template <class Ctx>
    LANEWAY_FN arrival count(Ctx& ctx, std::uint32_t one, int team) {
        // Partner: itself, in other warps. The last one has seen what all have done before.
        const std::uint32_t now = ctx.fetch_add(&warps, one, order::acq_rel, scope::block) + one;
        const std::uint32_t came = now % returned_one, returned = now / returned_one;
        if (came + returned != static_cast<std::uint32_t>(team) || came == 0) return arrival::waits;
        return returned == 0 ? arrival::leads : arrival::uneven;
    }
};

}  // namespace laneway
