// How the warps of a PE do one collective together: who meets when, and who does the rounds.
//
// | group | elements | what happens |
// |---|---|---|
// | warp | any | the warp does the rounds |
// | block | few | the warps of the block meet; the last one does the rounds before the others go on |
// | block | many | they meet, share the elements of a round out, and meet again |
// | grid | few | the last warps of all blocks meet as well; the last of these does the rounds |
// | grid | many | as in a block, with all working warps of the PE |
#pragma once

#include "laneway/comm/collective/collective_grid.hpp"
#include "laneway/comm/collective/collective_steps.hpp"

namespace laneway {

/// Where a working warp stands.
struct group_position {
    int block;    ///< among the working blocks of its PE
    int warp;     ///< among the working warps of its block
    int warps;    ///< working warps of its block
    int pe_warp;  ///< among the working warps of its PE
};

/// What a group is called for.
struct collective_call {
    group who;
    std::uint32_t signature;  ///< tells it from other calls
    std::uint64_t count;      ///< elements
    std::uint32_t piece;      ///< of which a round deals with so many

    [[nodiscard]] LANEWAY_FN std::uint64_t rounds() const { return count <= piece ? 1 : (count + piece - 1) / piece; }
};

/// A value of at most 8 bytes as bits, and back.
template <class T>
LANEWAY_FN std::uint64_t bits_of(const T& value) {
    const auto parts = __builtin_bit_cast(value_words<T>, padded_value<T>{value});
    std::uint64_t bits = parts.words[0];
    if constexpr (tagged_words<T> == 2) bits |= std::uint64_t{parts.words[1]} << 32;
    return bits;
}
template <class T>
LANEWAY_FN T value_of(std::uint64_t bits) {
    value_words<T> parts;
    for (auto& word : parts.words) {
        word = static_cast<std::uint32_t>(bits);
        bits >>= 32;
    }
    return __builtin_bit_cast(padded_value<T>, parts).value;
}

/// Trivially copyable; what changes lies in the block's state. The whole warp calls each function, together.
template <class Ctx, class Idle>
class collective_run {
public:
    LANEWAY_FN collective_run(const collectives_ref& ref, const group_position& position, collective_state& state,
                              Idle idle)
        : ref_(ref), position_(position), state_(state), idle_(idle) {}

    /// Number of the group of a kind that this warp belongs to.
    [[nodiscard]] LANEWAY_FN std::uint32_t member(group who) const {
        return who == group::warp ? pe_warp() : who == group::block ? block() : 0;
    }

    /// This warp's part of what all lanes of its member do together.
    [[nodiscard]] LANEWAY_FN warp_share share_of(group who) const {
        if (who == group::warp) return {0, Ctx::warp_lanes};
        const bool grid = who == group::grid;
        const std::uint32_t index = grid ? pe_warp() : static_cast<std::uint32_t>(position_.warp);
        const std::uint32_t warps = grid ? ref_.mine.warps : static_cast<std::uint32_t>(position_.warps);
        return {index * Ctx::warp_lanes, warps * Ctx::warp_lanes};
    }
    [[nodiscard]] LANEWAY_FN Idle idle() const { return idle_; }

    LANEWAY_FN void open(Ctx& ctx) {
        if (ctx.lane() != 0) return;
        if (position_.warp == 0) state_.open(ctx, ref_, block());
        state_.warp_rounds[position_.warp] = ctx.load(ref_.warp_rounds(pe_warp()), order::relaxed, scope::device);
    }
    LANEWAY_FN void leave(Ctx& ctx) {
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() != 0) return;
        const auto left = state_.leave(ctx, position_.warps);
        if (left == collective_state::arrival::uneven) (void)refuse_meeting(ctx, state_, position_.warps);
        if (left == collective_state::arrival::leads) grid_meeting<Ctx, true, Idle>::leave(ctx, ref_, position_.warps);
    }

    /// A call with arrays, or without any values: `step` does a round of it.
    template <class Step>
    LANEWAY_SLOW status run(Ctx& ctx, const collective_call& c, const Step& step) {
        if constexpr (Ctx::warp_lanes == 1) idle_();
        if (c.who == group::warp) return in_warp(ctx, c, step);
        // To have others help costs a meeting before and one after.
        const std::uint32_t alone = c.who == group::block ? 2 : 8;
        if (c.count <= alone * Ctx::warp_lanes) return meet(ctx, c, step, phase::all);
        status going = meet(ctx, c, step, phase::first);
        const std::uint64_t before = c.who == group::block ? state_.block_round : state_.grid_round;
        for (std::uint64_t i = 0; going == status::ok && i < c.rounds(); ++i) {
            going = round(ctx, c, shared(c, before + i + 1), step, i * c.piece);
            if (going == status::ok) going = meet(ctx, c, step, i + 1 < c.rounds() ? phase::first : phase::last);
        }
        return going;
    }

    /// A call with one value of each lane: `combine` makes one of two, `make(T*)` the step for what this PE brings.
    template <class T, class Combine, class Make>
    LANEWAY_SLOW status run_value(Ctx& ctx, const collective_call& c, T& value, const Combine& combine,
                                  const Make& make) {
        if constexpr (Ctx::warp_lanes == 1) idle_();
        T own = combine_lanes(ctx, value, Ctx::warp_lanes, combine);
        status result = status::ok;
        if (c.who == group::warp) {
            result = in_warp(ctx, c, make(&own));
        } else {
            if (ctx.lane() == 0) state_.values[position_.warp] = bits_of(own);
            result = meet_in_block(ctx, state_, position_.warp, position_.warps, c.signature, idle_, [&] {
                own = combine_warps<T>(ctx, combine);
                const status led =
                    c.who == group::block ? all_rounds(ctx, c, make(&own)) : lead_value(ctx, c, own, combine, make);
                if (ctx.lane() == 0) state_.result = bits_of(own);
                if (led == status::ok) keep_round(ctx, c);
                return led;
            });
            if (result == status::ok) own = value_of<T>(state_.result);
        }
        if (result == status::ok) value = value_of<T>(ctx.shuffle(full_warp<Ctx>, bits_of(own), 0));
        return result;
    }

private:
    /// What the last warp does in a meeting of a block: nothing but that of a grid meets as well, which is the last
    /// meeting of the call, or all rounds of the call.
    enum class phase : std::uint32_t { first, last, all };

    template <class Step>
    LANEWAY_FN status in_warp(Ctx& ctx, const collective_call& c, const Step& step) {
        ctx.sync(full_warp<Ctx>);
        const status done = all_rounds(ctx, c, step);
        if (done == status::ok) keep_round(ctx, c);
        ctx.sync(full_warp<Ctx>);
        return done;
    }

    template <class Step>
    LANEWAY_SLOW status meet(Ctx& ctx, const collective_call& c, const Step& step, phase now) {
        return meet_in_block(ctx, state_, position_.warp, position_.warps, c.signature, idle_, [&] {
            const status led = c.who == group::block ? act(ctx, c, step, now) : lead(ctx, c, step, now);
            if (led == status::ok && now != phase::first) keep_round(ctx, c);
            return led;
        });
    }
    template <class Step>
    LANEWAY_FN status act(Ctx& ctx, const collective_call& c, const Step& step, phase now) {
        return now == phase::all ? all_rounds(ctx, c, step) : status::ok;
    }
    /// The last warps of all blocks meet; the last of them acts.
    template <class Step>
    LANEWAY_FN status lead(Ctx& ctx, const collective_call& c, const Step& step, phase now) {
        if constexpr (std::is_same_v<Step, barrier_step>) {
            return lead_barrier(ctx, c);
        } else {
            grid_meeting<Ctx, true, Idle> meeting(ctx, ref_, state_, block(), idle_);
            bool leads = false;
            std::uint64_t none = 0;
            status going = meeting.arrive(position_.warps, c.signature, none, leads);
            if (going != status::ok) return going;
            if (!leads) return meeting.follow(none);
            going = act(ctx, c, step, now);
            if (going != status::ok) return going;
            ctx.sync(full_warp<Ctx>);
            ctx.fence(order::release, scope::device);
            meeting.open(none);
            return status::ok;
        }
    }
    /// Where nothing moves, the last block tells the other PEs and lets those of its own PE go on behind one fence, and
    /// every block hears the other PEs itself.
    LANEWAY_FN status lead_barrier(Ctx& ctx, const collective_call& c) {
        grid_meeting<Ctx, true, Idle> meeting(ctx, ref_, state_, block(), idle_);
        bool leads = false;
        std::uint64_t none = 0;
        status going = meeting.arrive(position_.warps, c.signature, none, leads);
        if (going != status::ok) return going;
        group_round at = shared(c, state_.grid_round + 1);
        at.speaks = leads;
        at.hears = true;
        collective_exchange<Ctx, Idle> exchange(ctx, ref_, at, idle_);
        if (leads) exchange.release();
        exchange.begin_with(0);
        if (leads) meeting.open(none);
        going = exchange.finish([&] { return leads || meeting.is_open(none); });
        if (going != status::ok) return going;
        exchange.acquire();
        if (!leads) meeting.go_on();
        return status::ok;
    }
    /// The same with one value of each block; all get the value of all PEs.
    template <class T, class Combine, class Make>
    LANEWAY_FN status lead_value(Ctx& ctx, const collective_call& c, T& own, const Combine& combine, const Make& make) {
        grid_meeting<Ctx, false, Idle> meeting(ctx, ref_, state_, block(), idle_);
        bool leads = false;
        std::uint64_t bits = bits_of(own);
        status going = meeting.arrive(position_.warps, c.signature, bits, leads);
        if (going != status::ok) return going;
        if (!leads) {
            going = meeting.follow(bits);
            own = value_of<T>(bits);
            return going;
        }
        going = meeting.template combine_values<T>(own, combine);
        if (going != status::ok) return going;
        own = combine_lanes(ctx, own, static_cast<int>(ref_.mine.blocks), combine);
        going = all_rounds(ctx, c, make(&own));
        if (going == status::ok) meeting.open(bits_of(own));
        return going;
    }

    /// All rounds of a call, by this warp alone.
    template <class Step>
    LANEWAY_FN status all_rounds(Ctx& ctx, const collective_call& c, const Step& step) {
        group_round at = shared(c, last_round(c));
        at.speaks = at.hears = true;
        at.share = {0, Ctx::warp_lanes};
        status going = status::ok;
        for (std::uint64_t i = 0; going == status::ok && i < c.rounds(); ++i) {
            ++at.round;
            going = round(ctx, c, at, step, i * c.piece);
        }
        return going;
    }
    template <class Step>
    LANEWAY_SLOW status round(Ctx& ctx, const collective_call& c, const group_round& at, const Step& step,
                              std::uint64_t first) {
        collective_exchange<Ctx, Idle> exchange(ctx, ref_, at, idle_);
        const std::uint64_t left = c.count - first;
        const status done = step(exchange, first, left < c.piece ? static_cast<std::uint32_t>(left) : c.piece);
        return done == status::ok ? exchange.finish() : done;
    }
    /// This warp's part in a round that all warps of the member share.
    [[nodiscard]] LANEWAY_FN group_round shared(const collective_call& c, std::uint64_t number) const {
        const warp_share share = share_of(c.who);
        const bool first = share.first == 0;
        return {c.who, member(c.who), number, c.signature, first, first, share};
    }

    [[nodiscard]] LANEWAY_FN std::uint64_t last_round(const collective_call& c) const {
        return c.who == group::warp    ? state_.warp_rounds[position_.warp]
               : c.who == group::block ? state_.block_round
                                       : state_.grid_round;
    }
    /// After the rounds of a call; the warp that speaks for its block.
    LANEWAY_FN void keep_round(Ctx& ctx, const collective_call& c) {
        const std::uint64_t last = last_round(c) + c.rounds();
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() != 0) return;
        if (c.who == group::warp) {
            state_.warp_rounds[position_.warp] = last;
            ctx.store(ref_.warp_rounds(pe_warp()), last, order::relaxed, scope::device);
        } else if (c.who == group::block) {
            state_.block_round = last;
            ctx.store(ref_.block_rounds(block()), last, order::relaxed, scope::device);
        } else {
            state_.grid_round = last;
            if (position_.block == 0) ctx.store(ref_.grid_rounds(), last, order::relaxed, scope::device);
        }
    }

    /// The values of lanes 0 to lanes - 1, combined by a tree of a fixed shape; lane 0 gets the result.
    template <class T, class Combine>
    static LANEWAY_FN T combine_lanes(Ctx& ctx, T value, int lanes, const Combine& combine) {
        for (int distance = 1; distance < Ctx::warp_lanes; distance *= 2) {
            const int from = ctx.lane() + distance;
            const bool there = from < Ctx::warp_lanes;
            const std::uint64_t bits = ctx.shuffle(full_warp<Ctx>, bits_of(value), there ? from : ctx.lane());
            if (ctx.lane() % (2 * distance) == 0 && there && from < lanes) value = combine(value, value_of<T>(bits));
        }
        return value;
    }
    /// The values that the warps of the block have brought, combined; lane 0 gets the result.
    template <class T, class Combine>
    LANEWAY_FN T combine_warps(Ctx& ctx, const Combine& combine) const {
        T sum = value_of<T>(state_.values[ctx.lane() < position_.warps ? ctx.lane() : 0]);
        for (int w = ctx.lane() + Ctx::warp_lanes; w < position_.warps; w += Ctx::warp_lanes) {
            sum = combine(sum, value_of<T>(state_.values[w]));
        }
        return combine_lanes(ctx, sum, position_.warps, combine);
    }

    LANEWAY_FN std::uint32_t block() const { return static_cast<std::uint32_t>(position_.block); }
    LANEWAY_FN std::uint32_t pe_warp() const { return static_cast<std::uint32_t>(position_.pe_warp); }

    const collectives_ref& ref_;
    group_position position_;
    collective_state& state_;
    Idle idle_;
};

}  // namespace laneway
