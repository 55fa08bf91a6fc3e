// Barriers of all PEs: how each PE learns that all have come, and that everything posted before has been served.
//
// PEs meet in rounds. In each, every PE tells every other one how many messages it has sent to it so far, and whether
// it has created any since the round before, in tagged words with one writer. All judge the same answers, so nobody has
// to be asked and nobody has to be told the outcome. The barrier opens with the first round in which nobody has created
// anything.
//
// A PE takes part in the first round of a barrier when all its working warps have come and their messages have left,
// and in a further one when it has served what the others told it in the round before, and has sent what its handlers
// had made by then. It reads what it has created only after that. So if nobody has created anything between a round
// and the next, then all messages that exist were told in the first of them and served before the second, and what
// their handlers created would have been told. Where nothing was posted since the last barrier, one round opens it.
#pragma once

#include "laneway/comm/links.hpp"
#include "laneway/transport/word_channel.hpp"
#if !defined(__CUDACC_RTC__)
#include "laneway/simt/checked/context.hpp"
#include "laneway/simt/cpu/context.hpp"
#endif

namespace laneway {

/// What a PE tells another one in a round.
struct barrier_account {
    std::uint64_t bits = 0;

    static LANEWAY_FN barrier_account of(std::uint64_t sent, bool created) { return {sent * 2 + (created ? 1 : 0)}; }
    /// Messages that it has sent to the one that it tells, since counters were cleared last.
    [[nodiscard]] LANEWAY_FN std::uint64_t sent() const { return bits / 2; }
    /// Whether it has created messages for anybody since the round before.
    [[nodiscard]] LANEWAY_FN bool created() const { return bits % 2 != 0; }
};

/// Device view of one PE's part; the tables are PE memory.
struct barrier_ref {
    const word_sender* to = nullptr;      ///< n_pes: where each other PE reads this one's accounts
    const word_receiver* from = nullptr;  ///< n_pes: where each other PE writes them

    static constexpr std::uint32_t account_words = tagged_words<barrier_account>;
    /// Two accounts: a PE may be one round ahead of another, and not more.
    static constexpr std::size_t bytes = 2 * account_words * sizeof(std::uint64_t);
};

/// Runs on each PE's control warp.
template <class Ctx>
class barrier_control {
public:
    /// `replies`: their links, where messages bring some. `warps`: of this PE that come to each barrier.
    LANEWAY_FN barrier_control(const barrier_ref& words, const links_ref& requests, const links_ref& replies,
                               std::uint64_t warps)
        : words_(words), requests_(requests), replies_(replies), warps_(warps),
          round_(requests.before.barrier_rounds + 1), opened_(requests.before.released) {}

    /// This PE's part, again and again; never waits. The whole warp, together. Returns whether barriers are what the
    /// PE's warps seem to be about, so that the caller may do little else. Works on a copy of the context, as
    /// termination_detector::turn does.
    LANEWAY_FN bool turn(const Ctx& ctx) {
        Ctx here(ctx);
        return looks(here);
    }

private:
    /// While warps meet: how soon what has come is seen is part of a barrier's time.
    static constexpr int max_looks = Ctx::warp_lanes == 1 ? 1 : 16;

    LANEWAY_SLOW bool looks(Ctx& ctx);
    [[nodiscard]] LANEWAY_FN bool meets() const {
        return told_ || (opened_ != requests_.before.released && !all_returned_);
    }

    /// Whether all working warps of this PE have come to the next barrier. Ends the run where some never will, and
    /// others wait.
    LANEWAY_FN bool all_came(Ctx& ctx) {
        enum : std::uint32_t { early, ready, lacks_some, lacks_all };
        const auto state = once(ctx, full_warp<Ctx>, [&]() -> std::uint32_t {
            const work_counters& work = *requests_.work;
            const std::uint64_t came = ctx.load(&work.arrived, order::relaxed, scope::device) - opened_ * warps_;
            const std::uint64_t returned =
                ctx.load(&work.returned, order::relaxed, scope::device) - requests_.before.returned;
            if (came == warps_) {
                // Partner: block_barrier::publish. What the warps have sent is final, and what they wrote is seen.
                (void)ctx.load(&work.arrived, order::acquire, scope::device);
                return ready;
            }
            if (came + returned < warps_) return early;
            return came != 0 ? lacks_some : lacks_all;
        });
        all_returned_ = state == lacks_all;
        if (state == lacks_some || (state == lacks_all && others_have_come(ctx))) refuse(ctx);
        return state == ready;
    }

    /// Whether this PE has served what the others told it in the last round, and sent what its handlers had made.
    LANEWAY_FN bool all_served(Ctx& ctx) const {
        std::uint64_t replies_sent = 0;
        if (replies_.sent != nullptr) {
            for (int pe = ctx.lane(); pe < ctx.n_pes(); pe += Ctx::warp_lanes) {
                replies_sent += ctx.load(&replies_.sent[pe].messages, order::relaxed, scope::device);
            }
            replies_sent = warp_sum(ctx, replies_sent);
        }
        return once(ctx, full_warp<Ctx>, [&] {
            const work_counters& work = *requests_.work;
            // Partners: the release adds of servers and of done_work. What handlers have made is read behind it.
            const std::uint64_t served = ctx.load(&work.served, order::acquire, scope::device) +
                                         ctx.load(&work.replies_served, order::acquire, scope::device);
            const std::uint64_t forwarded = ctx.load(&work.forwarded, order::acquire, scope::device);
            return served >= expected_ && forwarded >= ctx.load(&work.deferred, order::relaxed, scope::device) &&
                   replies_sent >= ctx.load(&work.replied, order::relaxed, scope::device);
        });
    }

    /// Whether some other PE has come to the next barrier.
    LANEWAY_FN bool others_have_come(Ctx& ctx) const {
        bool any = false;
        for (int pe = ctx.lane(); pe < ctx.n_pes(); pe += Ctx::warp_lanes) {
            barrier_account account;
            any = any || (pe != ctx.pe() && hears(ctx, pe, account, order::relaxed));
        }
        return ctx.ballot(full_warp<Ctx>, any) != 0;
    }

    /// Ends the run: warps of this PE have returned without the barrier that others wait at.
    LANEWAY_FN void refuse(Ctx& ctx) {
        if (ctx.lane() != 0 || stopped(ctx)) return;
        const std::uint64_t arrived = ctx.load(&requests_.work->arrived, order::relaxed, scope::device);
        (void)fail(ctx, status::uneven_barrier, operation::barrier, -1, arrived - opened_ * warps_, warps_);
    }

    /// Tells the others this PE's account. Each lane tells some of them.
    LANEWAY_FN void tell(Ctx& ctx) {
        ctx.sync(full_warp<Ctx>);  // what lane 0 has acquired comes before what the lanes read
        std::uint64_t made = ctx.lane() == 0 ? made_by_handlers(ctx) : 0;
        for (int pe = ctx.lane(); pe < ctx.n_pes(); pe += Ctx::warp_lanes) made += sent_to(ctx, pe);
        // Of the first round of the run the sum of all lanes is known that they had before.
        const bool first = round_ == requests_.before.barrier_rounds + 1;
        created_ =
            first ? warp_sum(ctx, made) != requests_.before.made : ctx.ballot(full_warp<Ctx>, made != made_) != 0;
        made_ = made;
        // Partner: the acquire load in hear.
        ctx.fence(order::release, scope::system);
        for (int pe = ctx.lane(); pe < ctx.n_pes(); pe += Ctx::warp_lanes) {
            if (pe == ctx.pe()) continue;
            const auto account =
                barrier_account::of(ctx.n_pes() <= Ctx::warp_lanes ? sent_ : sent_to(ctx, pe), created_);
            words_.to[pe].put(ctx, place(), tag(), account);
        }
        told_ = true;
    }

    /// Messages for another PE that have left.
    LANEWAY_FN std::uint64_t sent_to(Ctx& ctx, int pe) {
        sent_ = ctx.load(&requests_.sent[pe].messages, order::relaxed, scope::device);
        if (replies_.sent != nullptr) sent_ += ctx.load(&replies_.sent[pe].messages, order::relaxed, scope::device);
        return sent_;
    }

    /// Messages that handlers have made, sent or not.
    LANEWAY_FN std::uint64_t made_by_handlers(Ctx& ctx) const {
        return ctx.load(&requests_.work->deferred, order::relaxed, scope::device) +
               ctx.load(&requests_.work->replied, order::relaxed, scope::device);
    }

    /// If all others have told their accounts of this round: opens the barrier, or goes on to the next round.
    LANEWAY_FN void hear(Ctx& ctx) {
        // A run that ends opens no barrier: functors that meet in a loop hear of the end there.
        const bool ends = ctx.lane() == 0 && stopped(ctx);
        std::uint64_t sent = 0;
        bool missing = false, created = created_;
        for (int pe = ctx.lane(); pe < ctx.n_pes(); pe += Ctx::warp_lanes) {
            barrier_account account;
            if (pe == ctx.pe()) continue;
            // The PE's warps all wait, so there is nobody whom an acquire would slow down.
            // Partner: the fence in tell. What the others wrote before is seen behind this.
            missing = !hears(ctx, pe, account, order::acquire) || missing;
            sent += account.sent();
            created = created || account.created();
        }
        if (ctx.ballot(full_warp<Ctx>, missing) != 0) return;
        told_ = false;
        ++round_;
        first_round_ = ctx.ballot(full_warp<Ctx>, created) == 0;
        if (!first_round_) {
            expected_ = warp_sum(ctx, sent);
            return;
        }
        ++opened_;
        ctx.sync(full_warp<Ctx>);  // what the lanes have acquired is passed on
        if (ctx.lane() != 0 || ends) return;
        ctx.store(&requests_.work->barrier_rounds, round_ - 1, order::relaxed, scope::device);  // for the next run
        // Partner: the acquire load in block_barrier::follow.
        ctx.store(&requests_.work->released, opened_, order::release, scope::device);
    }

    [[nodiscard]] LANEWAY_FN std::uint32_t tag() const { return static_cast<std::uint32_t>(round_); }
    [[nodiscard]] LANEWAY_FN std::size_t place() const { return round_ % 2 * barrier_ref::account_words; }
    /// Whether another PE has told its account of this round, and what it is.
    [[nodiscard]] LANEWAY_FN bool hears(Ctx& ctx, int pe, barrier_account& account, order o) const {
        return words_.from[pe].take(ctx, place(), tag(), account, o);
    }

    const barrier_ref& words_;
    const links_ref& requests_;
    const links_ref& replies_;
    std::uint64_t warps_;
    std::uint64_t round_;
    std::uint64_t opened_;        ///< barriers, those of runs before too
    std::uint64_t made_ = 0;      ///< messages, as this lane told them last
    std::uint64_t sent_ = 0;      ///< to the PE that this lane looked at last
    std::uint64_t expected_ = 0;  ///< messages that must have been served here before the next round
    bool first_round_ = true;     ///< of a barrier
    bool told_ = false;           ///< this PE's account of this round
    bool created_ = false;        ///< in that account
    bool all_returned_ = false;   ///< no warp of this PE will come to a barrier any more
};

// Not inline on CPU devices, so that a program can leave it to the library.
template <class Ctx>
LANEWAY_SLOW bool barrier_control<Ctx>::looks(Ctx& ctx) {
    for (int looks = meets() ? max_looks : 1; looks > 0; --looks) {
        if (!told_ && (first_round_ ? all_came(ctx) : all_served(ctx))) tell(ctx);
        if (told_) hear(ctx);
    }
    return meets();
}

// Compiled once, in the library, for CPU devices.
#if LANEWAY_HOST_PASS
extern template bool barrier_control<cpu::context>::looks(cpu::context&);
extern template bool barrier_control<checked::context>::looks(checked::context&);
#endif

}  // namespace laneway
