// What the members of a collective send each other in one round, and what they make of it. A round deals with one piece
// of the arrays; the warps of a member share its elements out.
#pragma once

#include "laneway/comm/collective/collective_exchange.hpp"
#include "laneway/comm/collective/reduction.hpp"

namespace laneway {

/// Calls `deal(element, active)` for the elements 0 to count - 1 that fall to this lane; ends with the first status
/// that is not ok. The whole warp, together: where there is one element for some lanes only, the others are not active.
template <class Ctx, class Deal>
LANEWAY_FN status share_elements(Ctx& ctx, const warp_share& share, std::uint32_t count, Deal&& deal) {
    for (std::uint32_t base = share.first; base < count; base += share.step) {
        const std::uint32_t element = base + static_cast<std::uint32_t>(ctx.lane());
        const status dealt = deal(element, element < count);
        if (dealt != status::ok) return dealt;
    }
    return status::ok;
}

/// Nothing but headers: what all members did before comes before what they do next.
struct barrier_step {
    template <class Exchange>
    LANEWAY_FN status operator()(Exchange& x, std::uint64_t, std::uint32_t) const {
        x.release();
        x.begin_with(0);
        const status heard = x.finish();
        if (heard == status::ok) x.acquire();
        return heard;
    }
};

/// Each member replaces an element by the combination of all members' values for it, in order of PEs. Lanes that are
/// not active have none.
template <class T, class Op, class Exchange>
LANEWAY_FN status combine_element(Exchange& x, const Op& op, bool active, std::uint32_t at, std::uint32_t plane,
                                  T* element) {
    const T own = active ? *element : T{};
    T sum{};
    bool any = false;
    const status came = x.collect(active, at, plane, own, [&](int, T value) {
        sum = any ? op(sum, value) : value;
        any = true;
    });
    if (came == status::ok && active) *element = sum;
    return came;
}

/// One value of each member; lane 0 has it.
template <class T, class Op>
struct reduce_value_step {
    T* value;
    Op op;

    template <class Exchange>
    LANEWAY_FN status operator()(Exchange& x, std::uint64_t, std::uint32_t) const {
        const bool active = x.context().lane() == 0;
        x.begin_with(tagged_words<T>);
        if (active) x.put_to_all(0, 1, *value);
        return combine_element(x, op, active, 0, 1, value);
    }
};

/// Each member gets the combination of all values of an element, in order of PEs.
///
/// In one step every member sends all its values to every other one, and each combines them itself. In two, each member
/// combines a share of the elements and sends the results to the others: then a member sends 2 (n - 1) / n times its
/// array instead of n - 1 times, and waits twice.
template <class T, class Op>
struct reduce_step {
    T* values;
    Op op;
    bool two_shot;

    template <class Exchange>
    LANEWAY_FN status operator()(Exchange& x, std::uint64_t first, std::uint32_t count) const {
        auto& ctx = x.context();
        T* const piece = values + first;
        const auto pes = static_cast<std::uint32_t>(ctx.n_pes()), me = static_cast<std::uint32_t>(ctx.pe());
        const std::uint32_t share = two_shot ? (count + pes - 1) / pes : count;  // of each PE, the last may have fewer
        const std::uint32_t words = share * tagged_words<T>;
        x.begin([&](int pe, std::uint32_t word) {
            if (!two_shot) return word < words;
            const std::uint32_t combines = word < words ? static_cast<std::uint32_t>(pe) : me;
            return word < 2 * words && combines * share + word % share < count;
        });
        if (pes == 1) return status::ok;
        (void)share_elements(ctx, x.share(), count, [&](std::uint32_t e, bool active) {
            if (active && !two_shot) x.put_to_all(e, share, piece[e]);
            if (active && two_shot) x.put(static_cast<int>(e / share), e % share, share, piece[e]);
            return status::ok;
        });
        const std::uint32_t before = two_shot ? me * share : 0;
        const std::uint32_t begin = before < count ? before : count;
        const std::uint32_t mine = count - begin < share ? count - begin : share;
        const status combined = share_elements(ctx, x.share(), mine, [&](std::uint32_t e, bool active) {
            T* const element = piece + begin + e;
            const status came = combine_element(x, op, active, e, share, element);
            if (two_shot && came == status::ok && active) x.put_to_all(words + e, share, *element);
            return came;
        });
        return two_shot && combined == status::ok ? take_results(x, piece, count, share) : combined;
    }

private:
    /// The shares that other PEs have combined lie behind what they have sent to be combined here.
    template <class Exchange>
    LANEWAY_FN status take_results(Exchange& x, T* piece, std::uint32_t count, std::uint32_t share) const {
        auto& ctx = x.context();
        return share_elements(ctx, x.share(), count, [&](std::uint32_t e, bool active) {
            const auto pe = static_cast<int>(e / share);
            T value{};
            const bool others = active && pe != ctx.pe();
            const status came = x.take(others, pe, share * tagged_words<T> + e % share, share, value);
            if (came == status::ok && others) piece[e] = value;
            return came;
        });
    }
};

/// All get the values of one member.
template <class T>
struct broadcast_step {
    T* values;
    int root;

    template <class Exchange>
    LANEWAY_FN status operator()(Exchange& x, std::uint64_t first, std::uint32_t count) const {
        auto& ctx = x.context();
        T* const piece = values + first;
        if (ctx.pe() != root) {
            x.begin_with(0);
            return share_elements(ctx, x.share(), count, [&](std::uint32_t e, bool active) {
                T value{};
                const status came = x.take(active, root, e, count, value);
                if (came == status::ok && active) piece[e] = value;
                return came;
            });
        }
        x.begin_with(count * tagged_words<T>);
        return share_elements(ctx, x.share(), count, [&](std::uint32_t e, bool active) {
            if (active) x.put_to_all(e, count, piece[e]);
            return status::ok;
        });
    }
};

/// All get the values of all members, one PE's behind the other's.
template <class T>
struct gather_step {
    const T* values;
    T* all;
    std::uint64_t values_a_pe;

    template <class Exchange>
    LANEWAY_FN status operator()(Exchange& x, std::uint64_t first, std::uint32_t count) const {
        auto& ctx = x.context();
        x.begin_with(count * tagged_words<T>);
        (void)share_elements(ctx, x.share(), count, [&](std::uint32_t e, bool active) {
            if (active) x.put_to_all(e, count, values[first + e]);
            return status::ok;
        });
        return share_elements(ctx, x.share(), count, [&](std::uint32_t e, bool active) {
            const T own = active ? values[first + e] : T{};
            return x.collect(active, e, count, own, [&](int pe, const T& value) {
                all[static_cast<std::uint64_t>(pe) * values_a_pe + first + e] = value;
            });
        });
    }
};

}  // namespace laneway
