// Collectives inside a kernel: all-reduce, broadcast, all-gather and barrier among the PEs of a job, called by lanes of
// a persistent kernel. MPI, NCCL and NVSHMEM have functions of these names; here the members are warps, blocks or whole
// grids of running kernels.
//
//   const auto changed = sums.all_reduce(ctx, mine, lw::reduction::sum{});        // one value of every working lane
//   if (!changed) return;                                                         // the run is ending
//   sums.all_reduce(ctx, array, 1000, lw::reduction::max{}, lw::group::block);    // one array of each PE's block
//   sums.broadcast(ctx, array, 1000, 0);                                          // the array of PE 0
//   sums.all_reduce(ctx, gradients[0], 1 << 26, lw::reduction::sum{});            // a symmetric array, of any length
//   sums.barrier(ctx);
#pragma once

#include "laneway/comm/answers.hpp"
#include "laneway/comm/collective/collective_run.hpp"
#include "laneway/comm/collective/symmetric_steps.hpp"

namespace laneway {

/// What a pointer points to: a T*, or what symmetric_ref::local gives on checked devices, which becomes one.
template <class P>
struct pointed_by {};
template <class T>
struct pointed_by<T*> {
    using type = std::remove_const_t<T>;
};
template <class P>
requires requires(const P& p) { p.operator->(); }
struct pointed_by<P> : pointed_by<decltype(std::declval<const P&>().operator->())> {};
template <class P>
using pointed = typename pointed_by<P>::type;
template <class P>
concept points = requires {
    typename pointed<P>;
};

/// What a lane of the body holds. Rules for all functions:
///
/// - Who calls: all lanes of the group (see group), together, with the same arguments but for values. Members call the
///   same collectives in the same order; what one group calls has nothing to do with other groups. Where PEs differ in
///   size, group g has those PEs as members that have a warp or block of that number; where they are in several teams
///   (collective_options::teams), those of one's own team. What PEs that are no members would bring is left as it was.
/// - Waiting: each call waits for all members, so each is a barrier of its group. Meanwhile a lane that has other roles
///   does them.
/// - Memory: arrays lie in memory of the own PE that all callers reach, shared or global, not in a lane's variables.
///   What callers wrote there before is seen, and all of them see the result. Calls with one value order nothing but
///   values. A barrier orders everything, over all PEs, as if each lane had fenced at system scope. No call waits for
///   messages to be served: box.barrier does, and with a value the agent's barrier(ctx, box, value, op).
/// - Errors: a call returns ok, or what has ended the run, of which every member hears: collective_mismatch (members
///   called other collectives, sizes or roots), collective_incomplete (a warp of the PE has returned without),
///   collective_too_long, bad_pe, or stopped. A member on another PE that never comes is found by the deadline.
template <class Ctx, class Idle>
class collectives {
public:
    /// Of a block's shared memory, aligned to 16.
    static constexpr std::size_t shared_bytes = sizeof(collective_state);

    /// `idle()` is called between looks, where warps are wide between some, by all lanes of a warp, together: where a
    /// warp is one lane that has all roles it must serve messages and take part in control. `shared`: shared_bytes for
    /// the whole block.
    LANEWAY_FN collectives(const collectives_ref& ref, const group_position& position, std::byte* shared, Idle idle)
        : ref_(ref), run_(ref, position, *reinterpret_cast<collective_state*>(shared), idle) {}

    /// Before use; every working warp, whole. A barrier of the block must follow.
    LANEWAY_FN void open(Ctx& ctx) { run_.open(ctx); }
    /// When the warp's functor has returned: it comes to no collective any more. The whole warp, together. Others of
    /// its block or PE that wait for it hear of it at once.
    LANEWAY_FN void leave(Ctx& ctx) { run_.leave(ctx); }

    /// Combines an array of each member, element by element, in place: afterwards every member's `values` hold the
    /// results, the same bits everywhere. `count` elements, at most max_bytes of collective_options.
    template <points Pointer, reduces<pointed<Pointer>> Op>
    LANEWAY_FN status all_reduce(Ctx& ctx, Pointer values, std::uint64_t count, Op op, group who = group::grid) {
        using T = pointed<Pointer>;
        const bool two_shot = in_two_steps<T>(ctx, who, count);
        const collective_call c{who, signature_of<T>(who, Op::number, count, 0), count,
                                piece_of<T>(ctx, who, two_shot)};
        return run(ctx, c, sizeof(T), reduce_step<T, Op>{values, op, two_shot});
    }
    /// Combines one value of *every lane* of the group: first the lanes of a warp, then the warps of a block, the
    /// blocks of a PE, and the PEs, in order of their numbers. All get the result.
    template <class T, reduces<T> Op>
    [[nodiscard]] LANEWAY_FN answered<T> all_reduce(Ctx& ctx, T value, Op op, group who = group::grid) {
        const collective_call c{who, signature_of<T>(who, Op::number, 1, 1), 1, 1};
        return run_value(ctx, c, value, op, [op](T* own) { return reduce_value_step<T, Op>{own, op}; });
    }

    /// Copies the array of the member on PE `root` to all others'. T: at most 16 bytes; longer things are arrays.
    template <points Pointer>
    LANEWAY_FN status broadcast(Ctx& ctx, Pointer values, std::uint64_t count, int root, group who = group::grid) {
        using T = pointed<Pointer>;
        const status known = check_root(ctx, root, who);
        if (known != status::ok) return known;
        const collective_call c{who, signature_of<T>(who, 16 + static_cast<std::uint32_t>(root), count, 2), count,
                                piece_of<T>(ctx, who, false)};
        return run(ctx, c, sizeof(T), broadcast_step<T>{values, root});
    }
    /// Gives all lanes of the group the value of the first lane of the member on PE `root`. T: at most 8 bytes.
    template <trivially_copyable T>
    requires(sizeof(T) <= 8 && !points<T>)
        [[nodiscard]] LANEWAY_FN answered<T> broadcast(Ctx& ctx, T value, int root, group who = group::grid) {
        answered<T> none;
        none.code = check_root(ctx, root, who);
        if (!none) return none;
        const collective_call c{who, signature_of<T>(who, 16 + static_cast<std::uint32_t>(root), 1, 3), 1, 1};
        return run_value(
            ctx, c, value, [](T first, T) { return first; },
            [root](T* own) {
                return broadcast_step<T>{own, root};
            });
    }

    /// Collects an array of each member: `all` gets n_pes() times `count` elements, those of PE p from p * count on.
    template <points Pointer, points All>
    LANEWAY_FN status all_gather(Ctx& ctx, Pointer values, std::uint64_t count, All all, group who = group::grid) {
        using T = pointed<All>;
        static_assert(std::is_same_v<pointed<Pointer>, T>, "both arrays have elements of the same type");
        const collective_call c{who, signature_of<T>(who, 0, count, 4), count, piece_of<T>(ctx, who, false)};
        return run(ctx, c, sizeof(T), gather_step<T>{values, all, count});
    }
    /// The same with one value, which all lanes of the member give.
    template <trivially_copyable T, points All>
    requires(!points<T>) LANEWAY_FN status all_gather(Ctx& ctx, T value, All all, group who = group::grid) {
        const pointed<All> own = value;
        return all_gather(ctx, &own, 1, all, who);
    }

    // Of symmetric arrays, of any length. `first` names elements on every member's PE, which must reach each other's
    // memory by load and store. Lanes load and store them in place, between two barriers of the group, so nobody else
    // may use them meanwhile, and all see the results. Data goes over each link of a GPU as often as it must; many
    // lanes should call: a warp alone does not fill a link. Errors as above, and bad_address for elements that do not
    // exist or lie out of reach.

    /// Combines `count` elements of each member: afterwards all have the results, the same bits everywhere.
    template <class T, reduces<T> Op>
    LANEWAY_FN status all_reduce(Ctx& ctx, symmetric_ptr<T> first, std::uint64_t count, Op op, group who = group::grid,
                                 call_site_of<Ctx> where = call_site_of<Ctx>::current()) {
        return reduce_parts(ctx, first, count, op, who, {-1, 9, 0}, where);
    }
    /// The same, but each member gets the results of its part only: the elements that part_of_member gives, which are
    /// the n-th part of them for n members, where that is a whole number of 16 bytes. Elements of other parts are as
    /// before.
    template <class T, reduces<T> Op>
    LANEWAY_FN status reduce_scatter(Ctx& ctx, symmetric_ptr<T> first, std::uint64_t count, Op op,
                                     group who = group::grid, call_site_of<Ctx> where = call_site_of<Ctx>::current()) {
        return reduce_parts(ctx, first, count, op, who, {ctx.pe(), 10, 0}, where);
    }
    /// The same, but PE `root` alone gets the results. Elements of others are as before.
    template <class T, reduces<T> Op>
    LANEWAY_FN status reduce(Ctx& ctx, symmetric_ptr<T> first, std::uint64_t count, Op op, int root,
                             group who = group::grid, call_site_of<Ctx> where = call_site_of<Ctx>::current()) {
        const status known = check_root(ctx, root, who);
        if (known != status::ok) return known;
        return reduce_parts(ctx, first, count, op, who, {root, 11, static_cast<std::uint32_t>(root)}, where);
    }
    /// Gives all members the `count` elements of PE `root`.
    template <class T>
    LANEWAY_FN status broadcast(Ctx& ctx, symmetric_ptr<T> first, std::uint64_t count, int root,
                                group who = group::grid, call_site_of<Ctx> where = call_site_of<Ctx>::current()) {
        const status known = check_root(ctx, root, who);
        if (known != status::ok) return known;
        const std::uint32_t signature = signature_of<T>(who, 16 + static_cast<std::uint32_t>(root), count, 6);
        return on_symmetric(
            ctx, who, signature, first, first, count, [&](Ctx& here, const symmetric_members& all, Idle& idle) {
                const auto part = part_of_member<T>(count, all.before(here.pe()), all.before(all.n_pes));
                move_range(here, all, first, first, part, idle, copy_range<T>{first, first, root}, where);
            });
    }
    /// Gives each PE p the elements of PE `root` from p * count on, at the same place.
    template <class T>
    LANEWAY_FN status scatter(Ctx& ctx, symmetric_ptr<T> first, std::uint64_t count, int root, group who = group::grid,
                              call_site_of<Ctx> where = call_site_of<Ctx>::current()) {
        return move_own_part(ctx, first, count, root, who, 12, where);
    }
    /// Gives PE `root` the elements of each PE p from p * count on, at the same place.
    template <class T>
    LANEWAY_FN status gather(Ctx& ctx, symmetric_ptr<T> first, std::uint64_t count, int root, group who = group::grid,
                             call_site_of<Ctx> where = call_site_of<Ctx>::current()) {
        return move_own_part(ctx, first, count, root, who, 13, where);
    }
    /// Collects `count` elements of each PE: PE p brings those from p * count on, and gets all others.
    template <class T>
    LANEWAY_FN status all_gather(Ctx& ctx, symmetric_ptr<T> first, std::uint64_t count, group who = group::grid,
                                 call_site_of<Ctx> where = call_site_of<Ctx>::current()) {
        const std::uint64_t all_elements = times_pes(ctx, count);
        return on_symmetric(ctx, who, signature_of<T>(who, 0, count, 7), first, first, all_elements,
                            [&](Ctx& here, const symmetric_members& all, Idle& idle) {
                                const std::uint64_t begin = count * static_cast<std::uint64_t>(here.pe());
                                move_range(here, all, first, first, {begin, begin + count}, idle,
                                           copy_range<T>{first, first, here.pe()}, where);
                            });
    }
    /// Every PE gives every PE `count` elements: those of `from` from q * count on go to PE q, where they lie in `to`
    /// from p * count on, p being the PE that gives. `from` and `to` do not overlap.
    template <class T>
    LANEWAY_FN status all_to_all(Ctx& ctx, symmetric_ptr<T> from, symmetric_ptr<T> to, std::uint64_t count,
                                 group who = group::grid, call_site_of<Ctx> where = call_site_of<Ctx>::current()) {
        const std::uint64_t all_elements = times_pes(ctx, count);
        return on_symmetric(ctx, who, signature_of<T>(who, 0, count, 8), from, to, all_elements,
                            [&](Ctx& here, const symmetric_members& all, Idle& idle) {
                                const exchange_range<T> exchange{from, to, count};
                                if (count % elements_a_pack<T> == 0) {
                                    move_range(here, all, from, to, {0, count}, idle, exchange, where);
                                } else {  // parts begin inside packs
                                    exchange.template move<T>(here, all, {0, count}, idle, where);
                                }
                            });
    }
    /// The same with a number of elements for each pair: this PE gives PE q `counts[q]` of them. What it gives lies in
    /// `from` one behind the other, in order of PEs, and so does in `to` what it gets, whose number is the answer. PEs
    /// that are no members take no place in either, whatever `counts` has for them.
    template <class T>
    [[nodiscard]] LANEWAY_FN answered<std::uint64_t> all_to_all_v(
        Ctx& ctx, symmetric_ptr<T> from, symmetric_ptr<std::uint64_t> counts, symmetric_ptr<T> to,
        group who = group::grid, call_site_of<Ctx> where = call_site_of<Ctx>::current()) {
        answered<std::uint64_t> got;
        got.code = check_reach(ctx, counts, static_cast<std::uint64_t>(ctx.n_pes()), who);
        if (!got) return got;
        got.code = on_symmetric(ctx, who, signature_of<T>(who, 0, 0, 14), from, to, 0,
                                [&](Ctx& here, const symmetric_members& all, Idle& idle) {
                                    const exchange_counts<Ctx> each(here, all, counts, where);
                                    got.value = each.got_before(here.pe(), all.n_pes);
                                    give_each(here, all, from, to, each, idle, where);
                                });
        return got;
    }

    /// Waits until all members are here. What they did before is seen by all of them behind it.
    LANEWAY_FN status barrier(Ctx& ctx, group who = group::grid) {
        return run(ctx, {who, signature_of<int>(who, 0, 0, 5), 0, 1}, 0, barrier_step{});
    }

private:
    LANEWAY_FN status check_root(Ctx& ctx, int root, group who) const {
        if (root >= 0 && root < ctx.n_pes() && ref_.takes_part(root, who, run_.member(who))) return status::ok;
        return fail(ctx, status::bad_pe, operation::collective, root);
    }
    /// More than any array has where the product has no room.
    [[nodiscard]] static LANEWAY_FN std::uint64_t times_pes(const Ctx& ctx, std::uint64_t count) {
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        return count > ~std::uint64_t{0} / pes ? ~std::uint64_t{0} : count * pes;
    }
    /// Who gets the results of a reduction, see reduce_range, and what tells it from other calls.
    struct reduction_call {
        int only;
        std::uint32_t function;
        std::uint32_t root;
    };
    template <class T, class Op>
    LANEWAY_FN status reduce_parts(Ctx& ctx, symmetric_ptr<T> first, std::uint64_t count, Op op, group who,
                                   const reduction_call& what, call_site_of<Ctx> where) {
        const std::uint32_t signature = signature_of<T>(who, Op::number + 16 * what.root, count, what.function);
        return on_symmetric(
            ctx, who, signature, first, first, count, [&](Ctx& here, const symmetric_members& all, Idle& idle) {
                const auto part = part_of_member<T>(count, all.before(here.pe()), all.before(all.n_pes));
                move_range(here, all, first, first, part, idle, reduce_range<T, Op>{first, op, what.only}, where);
            });
    }
    /// Each PE but the root moves its own part of n_pes() * count elements from the root, or to it.
    template <class T>
    LANEWAY_FN status move_own_part(Ctx& ctx, symmetric_ptr<T> first, std::uint64_t count, int root, group who,
                                    std::uint32_t function, call_site_of<Ctx> where) {
        const status known = check_root(ctx, root, who);
        if (known != status::ok) return known;
        const bool gathers = function == 13;
        const std::uint32_t signature = signature_of<T>(who, static_cast<std::uint32_t>(root), count, function);
        return on_symmetric(
            ctx, who, signature, first, first, times_pes(ctx, count),
            [&](Ctx& here, const symmetric_members& all, Idle& idle) {
                if (here.pe() == root) return;
                const std::uint64_t begin = count * static_cast<std::uint64_t>(here.pe());
                const copy_range<T> copy{first, first, gathers ? here.pe() : root, gathers ? root : here.pe()};
                move_range(here, all, first, first, {begin, begin + count}, idle, copy, where);
            });
    }
    /// What this PE gives each other one goes behind what those before it give there.
    template <class T>
    LANEWAY_FN void give_each(Ctx& ctx, const symmetric_members& all, symmetric_ptr<T> from, symmetric_ptr<T> to,
                              const exchange_counts<Ctx>& each, Idle& idle, call_site_of<Ctx> where) {
        for (int i = 0; i < all.n_pes; ++i) {
            const int pe = (ctx.pe() + i) % all.n_pes;  // not all to one at the same time
            const std::uint64_t count = each.given(ctx.pe(), pe);
            if (count == 0) continue;
            const std::uint64_t before = each.given_before(ctx.pe(), pe), there = each.got_before(pe, ctx.pe());
            const symmetric_ptr<T> mine{from.segment, from.index + before}, theirs{to.segment, to.index + there};
            const bool has_room = there <= there + to.index && exists(ctx, theirs, count);
            if (!has_room || before > before + from.index || !exists(ctx, mine, count)) {
                (void)refuse_address(ctx, operation::collective, pe, has_room ? mine : theirs);
                return;
            }
            move_range(ctx, all, mine, theirs, {0, count}, idle, copy_range<T>{mine, theirs, ctx.pe(), pe}, where);
        }
    }
    /// Whether `count` elements exist, within reach on the PEs of all members.
    template <class T>
    LANEWAY_FN status check_reach(Ctx& ctx, symmetric_ptr<T> first, std::uint64_t count, group who) const {
        if (!exists(ctx, first, count)) return refuse_address(ctx, operation::collective, ctx.pe(), first);
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            if (!ref_.takes_part(pe, who, run_.member(who))) continue;
            if (!remote_address(ctx, first, pe)) return refuse_unreachable(ctx, operation::collective, pe, first);
        }
        return status::ok;
    }
    /// `move(ctx, members, idle)` between two barriers. All members look at all of the same elements first.
    template <class T, class Move>
    LANEWAY_FN status on_symmetric(Ctx& ctx, group who, std::uint32_t signature, symmetric_ptr<T> from,
                                   symmetric_ptr<T> to, std::uint64_t count, const Move& move) {
        static_assert(trivially_copyable<T>, "elements of symmetric arrays are trivially copyable");
        if (!exists(ctx, from, count)) return refuse_address(ctx, operation::collective, ctx.pe(), from);
        status going = check_reach(ctx, to, count, who);
        if (going != status::ok) return going;
        going = run(ctx, {who, signature, 0, 1}, 0, barrier_step{});
        if (going != status::ok) return going;
        Ctx here(ctx);
        const symmetric_members members{ref_, who, run_.member(who), ctx.n_pes(), run_.share_of(who)};
        Idle idle = run_.idle();
        move(here, members, idle);
        return run(ctx, {who, signature, 0, 1}, 0, barrier_step{});
    }
    template <class T>
    [[nodiscard]] LANEWAY_FN bool in_two_steps(const Ctx& ctx, group who, std::uint64_t count) const {
        const group_words& words = ref_.words_of(who);
        return count * sizeof(T) > words.two_shot_bytes && ctx.n_pes() > 2 && ref_.counts == nullptr &&
               words.two_shot_elements(tagged_words<T>, ctx.n_pes()) > 0;
    }
    template <class T>
    [[nodiscard]] LANEWAY_FN std::uint32_t piece_of(const Ctx& ctx, group who, bool two_shot) const {
        static_assert(trivially_copyable<T> && sizeof(T) <= 16,
                      "collectives take elements of at most 16 bytes; longer things are arrays");
        const group_words& words = ref_.words_of(who);
        return two_shot ? words.two_shot_elements(tagged_words<T>, ctx.n_pes())
                        : words.one_shot_elements(tagged_words<T>);
    }
    /// Tells calls apart that members must not mix.
    template <class T>
    [[nodiscard]] static LANEWAY_FN std::uint32_t signature_of(group who, std::uint32_t op, std::uint64_t count,
                                                               std::uint32_t function) {
        constexpr std::uint32_t type =
            sizeof(T) * 4 + (std::is_floating_point_v<T> ? 2 : 0) + (std::is_signed_v<T> ? 1 : 0);
        const std::uint32_t parts[] = {static_cast<std::uint32_t>(who) * 16 + function, op, type,
                                       static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(count >> 32)};
        std::uint32_t hash = 2166136261u;  // Fowler, Noll and Vo
        for (const std::uint32_t part : parts) hash = (hash ^ part) * 16777619u;
        return hash;
    }

    /// Runs out of line, on copies: what has its address taken lives in memory, and the functor uses the context.
    template <class Step>
    LANEWAY_FN status run(const Ctx& ctx, const collective_call& c, std::uint64_t element_bytes, const Step& step) {
        Ctx here(ctx);
        if (element_bytes != 0 && c.count > ref_.max_bytes / element_bytes) {
            constexpr std::uint64_t most = ~std::uint64_t{0};
            const std::uint64_t bytes = c.count > most / element_bytes ? most : c.count * element_bytes;
            return fail(here, status::collective_too_long, operation::collective, -1, bytes, ref_.max_bytes);
        }
        collective_run<Ctx, Idle> self(run_);
        return self.run(here, c, step);
    }
    template <class T, class Combine, class Make>
    LANEWAY_FN answered<T> run_value(const Ctx& ctx, const collective_call& c, const T& value, const Combine& combine,
                                     const Make& make) {
        Ctx here(ctx);
        collective_run<Ctx, Idle> self(run_);
        answered<T> result;
        result.value = value;
        result.code = self.run_value(here, c, result.value, combine, make);
        return result;
    }

    const collectives_ref& ref_;
    collective_run<Ctx, Idle> run_;
};

}  // namespace laneway
