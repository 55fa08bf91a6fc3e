// What the members of a collective over symmetric arrays do between its two barriers: loads and stores in each other's
// memory, each element by one lane of one PE.
//
// Elements are dealt out in packs of 16 bytes, so that lanes of a GPU load and store 16 bytes at once. Of an all-reduce
// over n PEs each PE owns the n-th part: it loads that part from all PEs and stores the result to all. A PE so loads
// and stores (n - 1) / n of the array over its links, as reduce-scatter and all-gather do, and nobody waits in between.
#pragma once

#include "laneway/comm/collective/collective_exchange.hpp"
#include "laneway/comm/collective/reduction.hpp"
#include "laneway/transport/remote_ptr.hpp"

namespace laneway {

/// Who takes part, and which lanes of this PE.
struct symmetric_members {
    const collectives_ref& ref;
    group who;
    std::uint32_t number;  ///< of the group
    int n_pes;
    warp_share share;  ///< this warp's of the member's lanes

    [[nodiscard]] LANEWAY_FN bool has(int pe) const { return ref.takes_part(pe, who, number); }
    /// Members on PEs before this one; with n_pes, all of them.
    [[nodiscard]] LANEWAY_FN std::uint64_t before(int pe) const {
        if (ref.counts == nullptr) return static_cast<std::uint64_t>(pe);
        std::uint64_t found = 0;
        for (int p = 0; p < pe; ++p) found += has(p) ? 1 : 0;
        return found;
    }
};

/// Elements that go together, where they fill 16 bytes.
template <class T>
struct alignas(16) element_pack {
    static constexpr int size = 16 / sizeof(T);
    T values[size];
};
template <class T>
inline constexpr int elements_a_pack = 16 % sizeof(T) == 0 ? static_cast<int>(16 / sizeof(T)) : 1;

/// Elements from `begin` to `end` of a symmetric array.
struct element_range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// The part of `count` elements that falls to member number `number` of `members`; it begins where a pack does.
template <class T>
LANEWAY_FN element_range part_of_member(std::uint64_t count, std::uint64_t number, std::uint64_t members) {
    constexpr std::uint64_t pack = elements_a_pack<T>;
    const std::uint64_t packs = (count + pack - 1) / pack, each = packs / members, more = packs % members;
    const auto first = [&](std::uint64_t m) {
        const std::uint64_t element = (m * each + (m < more ? m : more)) * pack;
        return element < count ? element : count;
    };
    return {first(number), first(number + 1)};
}

/// Calls `deal(i, step, n)` for the indices of a range that fall to this lane: i, i + step, ..., n of them, where n is
/// a constant, AtOnce on a GPU, so that a lane has several loads under way.
template <int AtOnce, class Ctx, class Idle, class Deal>
LANEWAY_FN void deal_out(const Ctx& ctx, const warp_share& share, std::uint64_t count, Idle& idle, const Deal& deal) {
    constexpr std::uint64_t at_once = Ctx::warp_lanes == 32 ? AtOnce : 1, between_idles = 4096;
    const std::uint64_t step = share.step;
    std::uint64_t i = share.first + static_cast<std::uint64_t>(ctx.lane()), dealt = 0;
    for (; i + (at_once - 1) * step < count; i += at_once * step) {
        deal(i, step, std::integral_constant<int, static_cast<int>(at_once)>{});
        if constexpr (Ctx::warp_lanes == 1) {
            if (++dealt % between_idles == 0) idle();
        }
    }
    for (; i < count; i += step) deal(i, step, std::integral_constant<int, 1>{});
}

/// Addresses of the elements of symmetric arrays on all PEs, as T or as packs of T.
template <class T, class As>
struct elements_as {
    static constexpr std::uint64_t each = sizeof(As) / sizeof(T);

    template <class Ctx>
    [[nodiscard]] static LANEWAY_FN auto at(const Ctx& ctx, symmetric_ptr<T> first, int pe, call_site_of<Ctx> where) {
        if constexpr (std::is_same_v<T, As>) {
            return remote_elements(ctx, first, pe, where);
        } else {
            return remote_address(ctx, first, pe).template as<As>();
        }
    }
};

/// Where elements of a symmetric array lie on the PEs from `start` on, round, so many of them at once. Where there are
/// no more PEs (All) they are looked up once for all elements that a lane deals with: that takes longer than to move
/// some.
template <int Width, bool All, class T, class As, class Ctx>
class member_places {
public:
    LANEWAY_FN member_places(const Ctx& ctx, const symmetric_members& members, symmetric_ptr<T> first, int start,
                             call_site_of<Ctx> where)
        : ctx_(ctx), members_(members), first_(first), start_(start), where_(where) {
        look_up(0);
    }

    /// Calls `each()` for every so many PEs; has(p), pe(p) and at(p) are theirs then, with p below Width.
    template <class Each>
    LANEWAY_FN void for_each(const Each& each) {
        if constexpr (All) {
            each();
        } else {
            for (int base = 0; base < members_.n_pes; base += Width) {
                look_up(base);
                each();
            }
        }
    }
    [[nodiscard]] LANEWAY_FN bool has(int p) const { return has_[p]; }
    [[nodiscard]] LANEWAY_FN int pe(int p) const { return (start_ + base_ + p) % members_.n_pes; }
    [[nodiscard]] LANEWAY_FN auto at(int p) const {
        if constexpr (checks_accesses<Ctx>) {
            return elements_as<T, As>::at(ctx_, first_, pe(p), where_);
        } else {
            return places_[p];
        }
    }

private:
    LANEWAY_FN void look_up(int base) {
        base_ = base;
        for (int p = 0; p < Width; ++p) {
            has_[p] = base + p < members_.n_pes && members_.has(pe(p));
            if constexpr (!checks_accesses<Ctx>) {
                places_[p] = has_[p] ? elements_as<T, As>::at(ctx_, first_, pe(p), where_) : remote_ptr<As>{};
            }
        }
    }

    const Ctx& ctx_;
    const symmetric_members& members_;
    symmetric_ptr<T> first_;
    int start_;
    call_site_of<Ctx> where_;
    int base_ = 0;
    bool has_[Width];
    remote_ptr<As> places_[Width];
};

/// Loads that a lane has under way where it deals with several PEs: what it waits for is the slowest of them, not each
/// PE's in turn. More would not fit the registers of a lane of a full block.
inline constexpr int loads_under_way = 8;

/// Calls `move(width, all)` with how many PEs a lane deals with at once, two or four, and whether these are all.
template <class Move>
LANEWAY_FN void by_pes(int n_pes, const Move& move) {
    if (n_pes <= 2) {
        move(std::integral_constant<int, 2>{}, std::true_type{});
    } else if (n_pes <= 4) {
        move(std::integral_constant<int, 4>{}, std::true_type{});
    } else {
        move(std::integral_constant<int, 4>{}, std::false_type{});
    }
}

/// Loads a range from all members, combines it in order of PEs, and stores the results: to all members, or to one.
template <class T, class Op>
struct reduce_range {
    symmetric_ptr<T> array;
    Op op;
    int only;  ///< the PE that gets the results; -1: all

    template <class As, class Ctx, class Idle>
    LANEWAY_FN void move(const Ctx& ctx, const symmetric_members& members, const element_range& range, Idle& idle,
                         call_site_of<Ctx> where) const {
        by_pes(members.n_pes, [&](auto width, auto all) { move_by<width, all, As>(ctx, members, range, idle, where); });
    }

private:
    template <int Width, bool All, class As, class Ctx, class Idle>
    LANEWAY_FN void move_by(const Ctx& ctx, const symmetric_members& members, const element_range& range, Idle& idle,
                            call_site_of<Ctx> where) const {
        const symmetric_ptr<T> first{array.segment, array.index + range.begin};
        const auto one = elements_as<T, As>::at(ctx, first, only >= 0 ? only : ctx.pe(), where);
        member_places<Width, All, T, As, Ctx> places(ctx, members, first, 0, where);
        const auto deal = [&](std::uint64_t i, std::uint64_t step, auto n) {
            As sums[n] = {};
            bool any = false;
            places.for_each([&] {
                As values[Width][n] = {};
                for (int p = 0; p < Width; ++p) {
                    if (!places.has(p)) continue;
                    const auto from = places.at(p);
                    for (int k = 0; k < n; ++k) values[p][k] = from.read(i + k * step);
                }
                for (int p = 0; p < Width; ++p) {
                    if (!places.has(p)) continue;
                    for (int k = 0; k < n; ++k) sums[k] = any ? combine(sums[k], values[p][k]) : values[p][k];
                    any = true;
                }
            });
            for (int k = 0; only >= 0 && k < n; ++k) one.write(sums[k], i + k * step);
            if (only >= 0) return;
            places.for_each([&] {
                for (int p = 0; p < Width; ++p) {
                    if (!places.has(p)) continue;
                    const auto to = places.at(p);
                    for (int k = 0; k < n; ++k) to.write(sums[k], i + k * step);
                }
            });
        };
        constexpr std::uint64_t each = elements_as<T, As>::each;
        deal_out<loads_under_way / Width>(ctx, members.share, (range.end - range.begin) / each, idle, deal);
    }
    LANEWAY_FN T combine(const T& a, const T& b) const { return op(a, b); }
    LANEWAY_FN element_pack<T> combine(const element_pack<T>& a, const element_pack<T>& b) const
        requires(16 % sizeof(T) == 0) {
        element_pack<T> both;
        for (int e = 0; e < element_pack<T>::size; ++e) both.values[e] = op(a.values[e], b.values[e]);
        return both;
    }
};

/// Loads a range from one PE and stores it to the same place of all other members, or of one.
template <class T>
struct copy_range {
    symmetric_ptr<T> from;
    symmetric_ptr<T> to;
    int source;     ///< PE
    int only = -1;  ///< the PE that gets it; -1: all but the source

    template <class As, class Ctx, class Idle>
    LANEWAY_FN void move(const Ctx& ctx, const symmetric_members& members, const element_range& range, Idle& idle,
                         call_site_of<Ctx> where) const {
        by_pes(members.n_pes, [&](auto width, auto all) { move_by<width, all, As>(ctx, members, range, idle, where); });
    }

private:
    template <int Width, bool All, class As, class Ctx, class Idle>
    LANEWAY_FN void move_by(const Ctx& ctx, const symmetric_members& members, const element_range& range, Idle& idle,
                            call_site_of<Ctx> where) const {
        using elements = elements_as<T, As>;
        const auto old = elements::at(ctx, {from.segment, from.index + range.begin}, source, where);
        const symmetric_ptr<T> first{to.segment, to.index + range.begin};
        const auto one = elements::at(ctx, first, only >= 0 ? only : source, where);
        member_places<Width, All, T, As, Ctx> places(ctx, members, first, 0, where);
        const auto deal = [&](std::uint64_t i, std::uint64_t step, auto n) {
            As values[n];
            for (int k = 0; k < n; ++k) values[k] = old.read(i + k * step);
            for (int k = 0; only >= 0 && k < n; ++k) one.write(values[k], i + k * step);
            if (only >= 0) return;
            places.for_each([&] {
                for (int p = 0; p < Width; ++p) {
                    if (!places.has(p) || places.pe(p) == source) continue;
                    const auto place = places.at(p);
                    for (int k = 0; k < n; ++k) place.write(values[k], i + k * step);
                }
            });
        };
        deal_out<4>(ctx, members.share, (range.end - range.begin) / elements::each, idle, deal);
    }
};

/// Gives every member its part of an array of this PE, all parts in turn: `count` elements of `from` from q * count on
/// go to PE q, into `to` from me * count on. So all links are in use from the first element to the last, and what a PE
/// gives itself moves meanwhile.
template <class T>
struct exchange_range {
    symmetric_ptr<T> from;
    symmetric_ptr<T> to;
    std::uint64_t count;

    template <class As, class Ctx, class Idle>
    LANEWAY_FN void move(const Ctx& ctx, const symmetric_members& members, const element_range& range, Idle& idle,
                         call_site_of<Ctx> where) const {
        by_pes(members.n_pes, [&](auto width, auto all) { move_by<width, all, As>(ctx, members, range, idle, where); });
    }

private:
    template <int Width, bool All, class As, class Ctx, class Idle>
    LANEWAY_FN void move_by(const Ctx& ctx, const symmetric_members& members, const element_range& range, Idle& idle,
                            call_site_of<Ctx> where) const {
        using elements = elements_as<T, As>;
        const std::uint64_t begin = to.index + count * static_cast<std::uint64_t>(ctx.pe()) + range.begin;
        const auto mine = elements::at(ctx, {from.segment, from.index + range.begin}, ctx.pe(), where);
        // Not all to one at the same time: the next PE first, this one last.
        member_places<Width, All, T, As, Ctx> places(ctx, members, {to.segment, begin}, ctx.pe() + 1, where);
        const auto deal = [&](std::uint64_t i, std::uint64_t step, auto n) {
            places.for_each([&] {
                As values[Width][n] = {};
                for (int p = 0; p < Width; ++p) {
                    if (!places.has(p)) continue;
                    const std::uint64_t part = count / elements::each * static_cast<std::uint64_t>(places.pe(p));
                    for (int k = 0; k < n; ++k) values[p][k] = mine.read(part + i + k * step);
                }
                for (int p = 0; p < Width; ++p) {
                    if (!places.has(p)) continue;
                    const auto theirs = places.at(p);
                    for (int k = 0; k < n; ++k) theirs.write(values[p][k], i + k * step);
                }
            });
        };
        deal_out<loads_under_way / Width>(ctx, members.share, (range.end - range.begin) / elements::each, idle, deal);
    }
};

/// How many elements each PE gives each other one, as all PEs say in symmetric memory: element q of a PE's own is what
/// it gives PE q. PEs that are not members give and get none.
template <class Ctx>
class exchange_counts {
public:
    LANEWAY_FN exchange_counts(const Ctx& ctx, const symmetric_members& members, symmetric_ptr<std::uint64_t> counts,
                               call_site_of<Ctx> where)
        : ctx_(ctx), members_(members), counts_(counts), where_(where) {}

    [[nodiscard]] LANEWAY_FN std::uint64_t given(int from, int to) const {
        if (!members_.has(from) || !members_.has(to)) return 0;
        return remote_elements(ctx_, counts_, from, where_).read(static_cast<std::uint64_t>(to));
    }
    /// Of what a PE gives or gets, the part of PEs before `end`; the largest number where that is too large for one.
    [[nodiscard]] LANEWAY_FN std::uint64_t given_before(int from, int end) const {
        std::uint64_t sum = 0;
        for (int to = 0; to < end; ++to) sum = added(sum, given(from, to));
        return sum;
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t got_before(int to, int end) const {
        std::uint64_t sum = 0;
        for (int from = 0; from < end; ++from) sum = added(sum, given(from, to));
        return sum;
    }

private:
    [[nodiscard]] static LANEWAY_FN std::uint64_t added(std::uint64_t a, std::uint64_t b) {
        return a + b < a ? ~std::uint64_t{0} : a + b;
    }

    const Ctx& ctx_;
    const symmetric_members& members_;
    symmetric_ptr<std::uint64_t> counts_;
    call_site_of<Ctx> where_;
};

/// Whether lanes may deal with a range in packs: it has whole ones, and `first` lies where a pack may on every PE.
/// Memory of segments is aligned to more than a pack.
template <class Ctx, class T>
[[nodiscard]] LANEWAY_FN bool fits_packs(symmetric_ptr<T> first, const element_range& range) {
    constexpr std::uint64_t pack = elements_a_pack<T>;
    if constexpr (checks_accesses<Ctx> || pack == 1) {
        return false;
    } else {
        return (first.index + range.begin) % pack == 0 && range.end - range.begin >= pack;
    }
}

/// Does a movement for a range, in packs as far as it has such.
template <class Ctx, class T, class Idle, class Movement>
LANEWAY_SLOW void move_range(const Ctx& ctx, const symmetric_members& members, symmetric_ptr<T> first,
                             symmetric_ptr<T> second, element_range range, Idle& idle, const Movement& movement,
                             call_site_of<Ctx> where) {
    if (fits_packs<Ctx>(first, range) && fits_packs<Ctx>(second, range)) {
        if constexpr (elements_a_pack < T >> 1) {
            const std::uint64_t whole = (range.end - range.begin) / elements_a_pack<T> * elements_a_pack<T>;
            movement.template move<element_pack<T>>(ctx, members, {range.begin, range.begin + whole}, idle, where);
            range.begin += whole;
        }
    }
    movement.template move<T>(ctx, members, range, idle, where);
}

}  // namespace laneway
