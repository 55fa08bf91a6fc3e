// Work of channels that moves between PEs: a PE without work asks all others, each of them once, and the first of their
// warps that finds more than it needs sends a part of the least deep.
//
// A request stays with the PE that was asked until it has something to give, so PEs without work are silent and the run
// can end (the lifelines of Saraswat and others, Lifeline-based Global Load Balancing, PPoPP 2011). What arrives lies
// in a channel of its own with a level for each PE, which always has room: a PE has one request open with each other,
// who sends one dispatch's worth of elements for it, and asks again only when these are done and freed.
#pragma once

#include "laneway/comm/routes.hpp"
#include "laneway/task/channel_node.hpp"
#include "laneway/transport/remote_ptr.hpp"

namespace laneway {

/// A kernel whose elements mean the same on all PEs says `static constexpr bool moves = true;`.
template <class Kernel>
inline constexpr bool moves_elements = false;
template <class Kernel>
requires requires { Kernel::moves; }
inline constexpr bool moves_elements<Kernel> = Kernel::moves;

inline constexpr int max_moving_pes = 64;  ///< bits of `asked`; PEs beyond neither ask nor are asked

/// In PE memory, zeroed before a run.
struct moving_words {
    std::uint64_t asked;                   ///< a bit for each PE that this one has asked
    std::uint32_t freed[max_moving_pes];   ///< elements of the last part of each that are done
    std::uint32_t number[max_moving_pes];  ///< of the last request to each
    std::uint32_t taken[max_moving_pes];   ///< of the last request of each that somebody takes care of
};

struct moved_header {
    alignas(16) std::uint32_t level;
    std::uint32_t source;  ///< PE
    std::uint32_t count;   ///< elements that it sent together
};

/// An element on its way, and where it lies on arrival.
template <class Kernel>
struct moved_element {
    moved_header header;
    typename Kernel::element element;
};
/// Puts what arrives into its channel.
template <class Kernel>
struct take_moved {
    static constexpr bool shares_buffers = false;  // many travel
    const channel_set_ref* set;                    ///< in PE memory
    std::uint32_t channel;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx, const moved_element<Kernel>& moved) const {
        channel_node node(*set, moved.header.source % set->n_shards, 0);
        const auto place =
            node.talloc_at(ctx, laneway::channel<moved_element<Kernel>>{channel}, moved.header.source, 1);
        if (!place) {
            (void)fail(ctx, status::no_room, operation::produce, -1, 1, 1);
            return;
        }
        place[0] = moved;
        node.enq(ctx, place);
        node.tell(ctx);
    }
};

template <class A, class B>
struct routes_together;
template <class... A, class... B>
struct routes_together<routes<A...>, routes<B...>> {
    using type = routes<A..., B...>;
};

/// The messages of a graph's kernels that let their elements move.
template <class... Kernels>
struct moving_routes {
    using type = routes<>;
};
template <class First, class... Rest>
requires(moves_elements<First>) struct moving_routes<First, Rest...> {
    using type = typename routes_together<routes<route<moved_element<First>, take_moved<First>>>,
                                          typename moving_routes<Rest...>::type>::type;
};
template <class First, class... Rest>
requires(!moves_elements<First>) struct moving_routes<First, Rest...> : moving_routes<Rest...> {
};

/// What a PE needs to let work move; trivially copyable.
struct moving_ref {
    moving_words* words = nullptr;
    const channel_set_ref* set = nullptr;
    symmetric_ref<std::uint32_t> requests;  ///< of a PE: the number of the last request of each, who alone writes it
    std::uint32_t first_arrivals = 0;       ///< number of the first kernel's channel of arrivals; the others follow

    template <class... Kernels>
    [[nodiscard]] auto handlers() const {
        return add_handlers<0, Kernels...>();
    }

    /// An element of a part that came from another PE is done, and its place is free: when all are, that PE may be
    /// asked again. Any lane.
    template <class Ctx>
    LANEWAY_FN void note_freed(Ctx& ctx, std::uint32_t source, std::uint32_t count) const {
        // Partner: itself. The last one resets the count before the request that brings the next part is sent.
        if (ctx.fetch_add(&words->freed[source], 1u, order::acq_rel, scope::device) + 1 != count) return;
        ctx.store(&words->freed[source], 0u, order::relaxed, scope::device);
        ctx.fetch_and(&words->asked, ~(std::uint64_t{1} << source), order::release, scope::device);
    }
    /// Asks a PE for work that has no request of this one. One lane.
    template <class Ctx>
    LANEWAY_FN void ask(Ctx& ctx) const {
        const int pes = ctx.n_pes() < max_moving_pes ? ctx.n_pes() : max_moving_pes;
        const std::uint64_t asked = ctx.load(&words->asked, order::relaxed, scope::device);
        for (int i = 1; i < pes && ctx.pe() < pes; ++i) {
            const int pe = (ctx.pe() + i) % pes;
            const std::uint64_t bit = std::uint64_t{1} << pe;
            if ((asked & bit) != 0) continue;
            // Partner: the release in note_freed.
            if ((ctx.fetch_or(&words->asked, bit, order::acquire, scope::device) & bit) != 0) continue;
            const auto there = remote_address(ctx, requests[static_cast<std::uint64_t>(ctx.pe())], pe);
            if (!there) continue;  // memory out of reach: that PE is not asked again
            const std::uint32_t before = ctx.fetch_add(&words->number[pe], 1u, order::relaxed, scope::device);
            // Partner: the acquire load in take. The next request, of whichever lane, comes behind its answer.
            there.store(ctx, before + 1, order::release);
            return;
        }
    }
    /// A PE whose request nobody has taken care of; -1: none. The whole warp.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN int pe_that_asks(Ctx& ctx) const {
        const int pes = ctx.n_pes() < max_moving_pes ? ctx.n_pes() : max_moving_pes;
        for (int first = 0; first < pes; first += Ctx::warp_lanes) {
            const int pe = first + ctx.lane();
            const bool asks = pe < pes && ctx.load(requests.local(ctx) + pe, order::relaxed, scope::system) !=
                                              ctx.load(&words->taken[pe], order::relaxed, scope::device);
            const lane_mask all = ctx.ballot(full_warp<Ctx>, asks);
            if (all != 0) return first + Ctx::first_lane(all);
        }
        return -1;
    }
    /// Takes care of a PE's request; false where another warp does. One lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool take(Ctx& ctx, int pe) const {
        // Partner: the release store in ask.
        const std::uint32_t asked = ctx.load(requests.local(ctx) + pe, order::acquire, scope::system);
        std::uint32_t before = asked - 1;
        return ctx.compare_exchange(&words->taken[pe], before, asked, order::relaxed, scope::device);
    }
    /// The request stays open: there was nothing to give after all. One lane, which has taken it.
    template <class Ctx>
    LANEWAY_FN void leave(Ctx& ctx, int pe) const {
        ctx.fetch_add(&words->taken[pe], ~std::uint32_t{0}, order::relaxed, scope::device);
    }

private:
    template <std::uint32_t Before>
    [[nodiscard]] auto add_handlers() const {
        return routes<>{};
    }
    template <std::uint32_t Before, class First, class... Rest>
    [[nodiscard]] auto add_handlers() const {
        if constexpr (moves_elements<First>) {
            const routes<route<moved_element<First>, take_moved<First>>> mine{{{set, first_arrivals + Before}}};
            return mine + add_handlers<Before + 1, Rest...>();
        } else {
            return add_handlers<Before, Rest...>();
        }
    }
};

}  // namespace laneway
