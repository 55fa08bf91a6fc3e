// Epochs of a program that host threads feed, as its coordinator closes them: part of termination.hpp.
//
// The host closes an epoch by a number in its own memory. The next round has every PE look once more for what the host
// has left, and then take nothing from it until the epoch is done: when a round finds nothing open. A look at the host
// takes a GPU as long as the rest of a round, so there is one for each number, and none while an epoch closes.
#pragma once

#include "laneway/comm/termination_ref.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

/// What PE 0 knows of epochs. Members are called by its whole control warp, together, whose lanes know the same.
template <class Ctx>
class epoch_closing {
public:
    /// Whether rounds can wait. Warps of CPU devices have other work.
    static constexpr bool may_rest = Ctx::warp_lanes == 32;

    LANEWAY_FN explicit epoch_closing(const termination_ref& termination)
        : termination_(termination), kept_(termination.epochs.told) {}

    [[nodiscard]] LANEWAY_FN bool is_resting() const { return resting_; }

    /// Whether the next round can still wait: until the host has closed an epoch, for which every second turn looks, or
    /// some time has passed.
    LANEWAY_FN bool rests(Ctx& ctx) {
        if (!resting_) return false;
        if (++turns_ % 2 != 0) {
            resting_ = once(ctx, full_warp<Ctx>, [&] { return ctx.now_ns() - round_ns_; }) <= max_rest_ns;
            return resting_;
        }
        // Partner: the host's release store.
        const std::uint64_t asked = once(
            ctx, full_warp<Ctx>, [&] { return ctx.load(termination_.epochs.asked, before_fence<Ctx>, scope::system); });
        if (asked == asked_) return true;
        shared_fence(ctx, order::acquire, scope::system);
        asked_ = asked;
        asked_now_ = true;
        resting_ = !is_asked();
        return resting_;
    }

    /// Behind a round with these orders, whether the next one can wait. A round takes several times as long as a look
    /// for what the host has left, which the control warp should see at once. So where the host waits for no epoch
    /// rounds are few: they tell nothing but that a lease is over. `counters`: as of the termination_detector.
    template <class Counters>
    LANEWAY_FN bool comes_to_rest(Ctx& ctx, const Counters& counters, std::uint64_t& orders) {
        if (closed_ || is_asked() || lease_over_) return false;
        if ((orders & termination_command::open) == 0) {
            // An epoch is done. PEs take work again at once, and only then does somebody look at the host.
            asked_now_ = true;
            if (ctx.n_pes() > 1) return false;
            orders = termination_command::open;
            counters.take_from_host(ctx, orders);
        }
        return resting_ = true;
    }

    /// Orders of the coming round: whether PEs take work from the host in it.
    LANEWAY_FN std::uint64_t next_orders(Ctx& ctx) {
        round_ns_ = ctx.now_ns();
        // No epoch is done without a look, and so no lease over.
        std::uint64_t orders = closed_ ? 0 : termination_command::look;
        if (!closed_ && !asked_now_) {
            // Partner: the host's release store.
            asked_ = once(ctx, full_warp<Ctx>,
                          [&] { return ctx.load(termination_.epochs.asked, order::acquire, scope::system); });
        }
        asked_now_ = false;
        closed_ = closed_ || lease_over_ || is_asked();
        if (!closed_) orders |= termination_command::open;
        return orders;
    }

    /// Behind a round, which has found nothing open if it is `quiet`. Where all PEs have looked for what the host had
    /// left and take no more, tells the host that the epoch is done which it had closed before; returns whether it is.
    /// `ends`: the program, if the host has asked for that, or the lease is over. What the host posts meanwhile waits
    /// for the next epoch, or the next program.
    template <class Counters>
    LANEWAY_FN bool close(Ctx& ctx, const Counters& counters, const fed_reply& sum, bool quiet, bool& ends) {
        pass_time(ctx, quiet, sum.created);
        if (!quiet || !closed_) return false;
        // The last command of a lone PE came before its look. Other PEs got theirs when nothing was open any more.
        if (ctx.n_pes() == 1) counters.take_from_host(ctx, 0);
        ends = asked_ % 2 != 0 || lease_over_;
        told_ = asked_ / 2;
        closed_ = false;
        if (ctx.lane() != 0) return true;
        // Not again where a lease is over, or the program has come back: the host may be reading them.
        if (told_ > kept_) {
            kept_ = told_;
            // Nothing has been created since nothing was open, so these are final.
            termination_.epochs.totals[told_ % epoch_words::kept] = {sum.carried, sum.served, sum.taken,
                                                                     sum.host_served};
        }
        // Partner: the host's acquire load. What handlers have stored is copied when the program has ended.
        ctx.store(termination_.epochs.done, told_, order::release, scope::system);
        return true;
    }

private:
    static constexpr std::uint64_t max_rest_ns = 200'000;

    [[nodiscard]] LANEWAY_FN bool is_asked() const { return asked_ / 2 != told_; }

    /// Looks whether the lease is over.
    LANEWAY_FN void pass_time(Ctx& ctx, bool quiet, std::uint64_t created) {
        const std::uint64_t now = once(ctx, full_warp<Ctx>, [&] { return ctx.now_ns(); });
        if (!quiet || created != quiet_created_ || is_asked()) quiet_since_ns_ = now;
        quiet_created_ = created;
        const std::uint64_t lease = termination_.epochs.lease_ns;
        lease_over_ = lease_over_ || (lease != 0 && now - quiet_since_ns_ > lease);
    }

    const termination_ref& termination_;
    std::uint64_t asked_ = 0;           ///< as read last, not while an epoch closes
    std::uint64_t told_ = 0;            ///< epoch, to the host
    std::uint64_t kept_;                ///< epoch whose totals were stored last
    std::uint64_t quiet_created_ = 0;   ///< what had been created by the last round,
    std::uint64_t quiet_since_ns_ = 0;  ///< and since when nothing else has been
    std::uint64_t round_ns_ = 0;        ///< when the last round began
    unsigned turns_ = 0;                ///< without a round
    bool resting_ = false;              ///< no round is due
    bool asked_now_ = false;            ///< `asked_` is what the coming round goes by
    bool closed_ = false;               ///< PEs take no more work since the last command
    bool lease_over_ = false;
};

}  // namespace laneway
