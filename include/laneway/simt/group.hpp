// Groups of lanes: election, ranks, scans and reductions over any set of active lanes.
#pragma once

#include "laneway/simt/context.hpp"

namespace laneway {

/// Whether this lane is the lowest of the mask. No communication.
template <class Ctx>
LANEWAY_FN bool elected(const Ctx& ctx, lane_mask mask) {
    return ctx.lane() == Ctx::first_lane(mask);
}

/// Number of lanes of the mask below this one. No communication.
template <class Ctx>
LANEWAY_FN int rank_in(const Ctx& ctx, lane_mask mask) {
    return Ctx::count_lanes(mask & ((lane_mask{1} << ctx.lane()) - 1));
}

/// Whether the lane has come without others of its warp. Where all that hangs on it is how it goes on alone, as no
/// collective follows: GPUs then need no mask that tells groups apart.
template <class Ctx>
[[nodiscard]] LANEWAY_FN bool comes_alone(Ctx& ctx) {
    if constexpr (requires { ctx.is_alone(); }) return ctx.is_alone();
    return Ctx::count_lanes(ctx.converged()) == 1;
}

/// Those lanes of the mask whose key is this lane's, called by exactly the lanes of the mask. What lanes do together is
/// of one object, and the lanes of a warp may use several of one type at once, as the code is one: the address of what
/// an object has to itself in the PE's memory is a key.
template <class Ctx, class Key>
[[nodiscard]] LANEWAY_FN lane_mask mates(Ctx& ctx, lane_mask mask, Key key) {
    return (mask & (mask - 1)) == 0 ? mask : ctx.match(mask, key);
}
template <class Ctx, class T>
[[nodiscard]] LANEWAY_FN lane_mask mates(Ctx& ctx, lane_mask mask, T* memory) {
    return mates(ctx, mask, reinterpret_cast<std::uint64_t>(memory));
}

/// Sum of `value` over the lanes of the mask up to and with this one; called by exactly the lanes of the mask. Of whole
/// numbers below 64 in twice as many ballots as they have bits; else logarithmic (Hillis and Steele) where the mask has
/// no holes, linear in its lanes elsewhere.
template <class Ctx, class T>
LANEWAY_FN T inclusive_scan(Ctx& ctx, lane_mask mask, T value) {
    T sum = value;
    if constexpr (std::is_unsigned_v<T>) {
        if (ctx.ballot(mask, value >= 64) == 0) {
            const lane_mask up_to_me = mask & ((lane_mask{2} << ctx.lane()) - 1);
            sum = 0;
            for (int bit = 0; ctx.ballot(mask, value >> bit != 0) != 0; ++bit) {
                const lane_mask set = ctx.ballot(mask, (value >> bit & 1) != 0);
                sum += static_cast<T>(Ctx::count_lanes(set & up_to_me)) << bit;
            }
            return sum;
        }
    }
    if ((mask & (mask + 1)) == 0) {
        const int lanes = Ctx::count_lanes(mask);
        for (int distance = 1; distance < lanes; distance *= 2) {
            const int from = ctx.lane() - distance;
            const T other = ctx.shuffle(mask, sum, from < 0 ? ctx.lane() : from);
            if (from >= 0) sum += other;
        }
        return sum;
    }
    for (lane_mask rest = mask; rest != 0; rest &= rest - 1) {
        const int from = Ctx::first_lane(rest);
        const T other = ctx.shuffle(mask, value, from);
        if (from < ctx.lane()) sum += other;
    }
    return sum;
}

/// Sums over all lanes of the warp, for all of them; called by all, together.
template <class Ctx, class T, std::size_t N>
LANEWAY_FN void warp_sums(Ctx& ctx, T (&values)[N]) {
    for (int distance = Ctx::warp_lanes / 2; distance > 0; distance /= 2) {
        for (T& value : values) value += ctx.shuffle(full_warp<Ctx>, value, ctx.lane() ^ distance);
    }
}
template <class Ctx, class T>
LANEWAY_FN T warp_sum(Ctx& ctx, T value) {
    T values[] = {value};
    warp_sums(ctx, values);
    return values[0];
}

/// Least and greatest value of all lanes of the warp, for all of them; called by all, together.
template <class Ctx, class T>
LANEWAY_FN T warp_min(Ctx& ctx, T value) {
    for (int distance = Ctx::warp_lanes / 2; distance > 0; distance /= 2) {
        const T other = ctx.shuffle(full_warp<Ctx>, value, ctx.lane() ^ distance);
        value = other < value ? other : value;
    }
    return value;
}
template <class Ctx, class T>
LANEWAY_FN T warp_max(Ctx& ctx, T value) {
    return ~warp_min(ctx, ~value);
}

/// Combines the values of all lanes of the mask with an associative, commutative `combine`; every lane of the mask
/// calls it and gets the result.
template <class Ctx, class T, class Combine>
LANEWAY_FN T reduce(Ctx& ctx, lane_mask mask, T value, Combine&& combine) {
    T result = ctx.shuffle(mask, value, Ctx::first_lane(mask));
    for (lane_mask rest = mask & (mask - 1); rest != 0; rest &= rest - 1) {
        result = combine(result, ctx.shuffle(mask, value, Ctx::first_lane(rest)));
    }
    return result;
}

/// The value of one lane of the mask for all of them, of any trivially copyable type; called by exactly these lanes.
template <class Ctx, class T>
LANEWAY_FN T shuffle_value(Ctx& ctx, lane_mask mask, const T& value, int from) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
        return ctx.shuffle(mask, value, from);
    } else {
        constexpr std::size_t n = (sizeof(T) + 3) / 4;
        std::uint32_t words[n] = {};
        memcpy(words, &value, sizeof(T));  // NVRTC has no other name for it
        for (std::uint32_t& word : words) word = ctx.shuffle(mask, word, from);
        T result;
        memcpy(&result, words, sizeof(T));
        return result;
    }
}

/// Value of the elected lane for all lanes of the mask: the leader runs `produce`, the others wait for its result.
template <class Ctx, class Produce>
LANEWAY_FN auto once(Ctx& ctx, lane_mask mask, Produce&& produce) {
    decltype(produce()) result{};
    if (elected(ctx, mask)) result = produce();
    return ctx.shuffle(mask, result, Ctx::first_lane(mask));
}

/// Calls `run()` for lanes that come together, a whole warp or some, and go on together. For functions of their own
/// (LANEWAY_SLOW) in which lanes take several ways and call further functions: lanes may come out of such a function
/// apart, and ptxas, which takes them for together as they went in together, leaves some of them out of the next
/// collective (docs/design/0105).
template <class Ctx, class Run>
LANEWAY_FN void reconverging(Ctx& ctx, Run&& run) {
    if (ctx.lane() + ctx.n_pes() > 0) run();  // always, which the compiler does not know: lanes meet behind a branch
}

}  // namespace laneway
