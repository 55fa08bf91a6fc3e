// How the blocks of a PE meet for a collective of whole grids: the warps that lead their blocks come one by one, the
// last one acts for the PE, and the others wait for a tagged word of the PE.
#pragma once

#include "laneway/comm/collective/collective_state.hpp"

namespace laneway {

/// One meeting, as the warp that leads its block sees it. Where `Ordered`, what the blocks wrote before comes before
/// what they read next; else nothing is ordered but the values that they bring and get, which need no fence. The whole
/// warp calls each function, together.
template <class Ctx, bool Ordered, class Idle>
class grid_meeting {
public:
    LANEWAY_FN grid_meeting(Ctx& ctx, const collectives_ref& ref, collective_state& state, std::uint32_t block,
                            Idle& idle)
        : ctx_(ctx), ref_(ref), state_(state), block_(block), idle_(idle), number_(state.grid_meeting + 1) {}

    /// The block comes with `team` warps and brings a value. Returns ok, and whether it is the last one; or what is
    /// wrong, told by a fault.
    LANEWAY_FN status arrive(int team, std::uint32_t signature, std::uint64_t value, bool& leads) {
        if constexpr (Ordered) go_before(ctx_, ref_.grid);
        ctx_.sync(full_warp<Ctx>);
        const status came = once(ctx_, full_warp<Ctx>, [&] { return count(team, signature, value, leads); });
        leads = ctx_.ballot(full_warp<Ctx>, leads) != 0;
        ctx_.sync(full_warp<Ctx>);
        if constexpr (Ordered) come_behind(ctx_, ref_.grid);
        return came;
    }

    /// The values of all blocks, combined: each lane's share of them in order. For the block that leads.
    template <class T, class Combine>
    LANEWAY_FN status combine_values(T& sum, const Combine& combine) {
        const std::uint32_t blocks = ref_.mine.blocks;
        for (std::uint32_t base = 0; base < blocks; base += Ctx::warp_lanes) {
            const std::uint32_t block = base + static_cast<std::uint32_t>(ctx_.lane());
            T value{};
            const auto look = [&] {
                return block >= blocks || load_tagged(ctx_, value_at(block), tag(), value, tagged_load_order<Ctx>);
            };
            const status came = await_all_lanes(
                ctx_, look, [&] { return site(); }, idle_);
            if (came != status::ok) return came;
            if (block < blocks) sum = base == 0 ? value : combine(sum, value);
        }
        return status::ok;
    }

    /// Lets the others go on, with a value. For the block that leads; lane 0's value counts. Where `Ordered`, the warp
    /// has fenced.
    LANEWAY_FN void open(std::uint64_t value) {
        ctx_.sync(full_warp<Ctx>);
        if (ctx_.lane() != 0) return;
        if constexpr (Ordered) go_before(ctx_, &ref_.grid->opened);
        // Partner: the loads of is_open and go_on. One fence is for both words, and for what other PEs are told.
        tell(ref_.grid->opened, value);
        keep_number();
    }
    /// Whether the last block lets this one go on, and its value. Lane 0; others need not look.
    LANEWAY_FN bool is_open(std::uint64_t& value) {
        return ctx_.lane() != 0 || load_tagged(ctx_, ref_.grid->opened, tag(), value, tagged_load_order<Ctx>);
    }
    /// When is_open holds on all lanes.
    LANEWAY_FN void go_on() {
        if (ctx_.lane() == 0) {
            if constexpr (Ordered) {
                // Looked at without acquire until it came: an acquire empties the multiprocessor's cache.
                (void)ctx_.load(ref_.grid->opened, order::acquire, scope::device);
                come_behind(ctx_, &ref_.grid->opened);
            }
            keep_number();
        }
        ctx_.sync(full_warp<Ctx>);
    }

    /// Waits until the last block lets this one go on, and takes its value.
    LANEWAY_FN status follow(std::uint64_t& value) {
        const auto look = [&] { return is_open(value); };
        const status came = await_all_lanes(
            ctx_, look, [&] { return site(); }, idle_);
        if (came == status::ok) go_on();
        return came;
    }

    /// All working warps of a block have returned; one lane. Ends the run where other blocks wait.
    static LANEWAY_FN void leave(Ctx& ctx, const collectives_ref& ref, int team) {
        const auto one = static_cast<std::uint64_t>(team) * returned_one;
        const std::uint64_t now = ctx.fetch_add(&ref.grid->arrived, one, order::relaxed, scope::device) + one;
        if (!all_are_in(ref, now)) return;
        if (came(now) != 0) {
            if (!stopped(ctx)) refuse(ctx, ref, now);
            return;
        }
        ctx.store(&ref.grid->arrived, 0, order::relaxed, scope::device);  // for the next run
    }

private:
    static constexpr std::uint64_t renewed_every = 1u << 16;
    static constexpr std::uint64_t returned_one = 1u << 16;
    static LANEWAY_FN std::uint64_t came(std::uint64_t word) { return word % returned_one; }
    static LANEWAY_FN std::uint64_t returned(std::uint64_t word) { return word / returned_one % returned_one; }
    static LANEWAY_FN bool all_are_in(const collectives_ref& ref, std::uint64_t word) {
        return came(word) + returned(word) >= ref.mine.warps;
    }
    static LANEWAY_FN void refuse(Ctx& ctx, const collectives_ref& ref, std::uint64_t word) {
        (void)fail(ctx, status::collective_incomplete, operation::collective, -1, came(word), ref.mine.warps);
    }

    LANEWAY_FN status count(int team, std::uint32_t signature, std::uint64_t value, bool& leads) {
        // Where blocks meet in order they bring no value. Now and then they renew the words all the same: those that
        // had stood for 2^32 meetings would be taken for new ones.
        if (!Ordered || number_ % renewed_every == 0) tell(value_at(block_), value);
        const std::uint64_t one = std::uint64_t{signature} << 32 | static_cast<std::uint64_t>(team);
        // Partner: itself, in other blocks. The last one has seen what all have done before.
        constexpr order o = Ordered ? order::acq_rel : order::relaxed;
        const std::uint64_t now = ctx_.fetch_add(&ref_.grid->arrived, one, o, scope::device) + one;
        if (!all_are_in(ref_, now)) return status::ok;
        if (returned(now) != 0) {
            if (!stopped(ctx_)) refuse(ctx_, ref_, now);
            return status::collective_incomplete;
        }
        // All signatures are alike where their sum is a multiple of this one. What the exchange returns is looked at,
        // so the word is cleared before the others are let go on to the next meeting (docs/design/0022).
        const bool alike = now >> 32 == static_cast<std::uint32_t>(signature * ref_.mine.blocks);
        if (ctx_.exchange(&ref_.grid->arrived, 0, order::relaxed, scope::device) != now || !alike) {
            return fail(ctx_, status::collective_mismatch, operation::collective, -1, number_);
        }
        leads = true;
        return status::ok;
    }
    /// Relaxed: who reads it waits for its tag.
    LANEWAY_FN void tell(std::uint64_t* to, std::uint64_t value) {
        ctx_.store(to, number_ << 32 | static_cast<std::uint32_t>(value), Ctx::tagged_order, scope::system);
        ctx_.store(to + 1, number_ << 32 | value >> 32, Ctx::tagged_order, scope::system);
    }
    LANEWAY_FN void keep_number() {
        state_.grid_meeting = number_;
        if (block_ == 0) ctx_.store(ref_.grid_meetings(), number_, order::relaxed, scope::device);
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t tag() const { return static_cast<std::uint32_t>(number_); }
    [[nodiscard]] LANEWAY_FN std::uint64_t* value_at(std::uint32_t block) const {
        return ref_.values + std::uint64_t{block} * tagged_words<std::uint64_t>;
    }
    [[nodiscard]] LANEWAY_FN wait_site site() const { return {operation::collective, -1, number_}; }

    Ctx& ctx_;
    const collectives_ref& ref_;
    collective_state& state_;
    std::uint32_t block_;
    Idle& idle_;
    std::uint64_t number_;
};

}  // namespace laneway
