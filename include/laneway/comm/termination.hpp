// Termination: how PE 0 learns the state of all PEs, detects the end of all work, and agrees a threshold with them.
//
// PE 0 sends a numbered command down a tree of PEs, each answers with the sum of its counters and of its children's
// answers, and the next round starts when PE 0 has all. Commands and answers travel in words tagged with the number of
// the round; each word has one writer.
// All counters only grow, and each PE adds to `created` before the work it counts can be seen anywhere, and to
// `completed` only when all that the work created has been counted. So if the sum of `completed` in one round equals
// the sum of `created` in the next, then at the moment between them nothing was open, nothing could be created any
// more, and the run is over (four-counter method: Mattern, Distributed Computing 1987).
//
// Where work that is completed creates none, one round is enough, if it finds no PE active: then each PE's `created` is
// final when it is read, and a sum of `completed` that equals it leaves nothing open, in whatever order PEs are read.
// One round is also enough for a lone PE, which reads all that is completed before all that is created: the moment
// between them lies in its own look.
#pragma once

#include "laneway/comm/epoch_closing.hpp"
#include "laneway/comm/links.hpp"
#include "laneway/comm/termination_ref.hpp"

namespace laneway {

template <class Counters>
inline constexpr bool fed_by_host = false;
template <class Counters>
requires requires { Counters::fed_by_host; }
inline constexpr bool fed_by_host<Counters> = Counters::fed_by_host;

/// Runs on each PE's control warp. `Counters` reads the PE's counters and applies its threshold:
///   static constexpr bool non_generating;               completed work creates none, and neither does a passive PE
///   bool is_passive(Ctx&) const;                        if non_generating: whether the PE seems passive; all lanes
///   termination_reply look(Ctx&);                       all lanes of the warp, together; lane 0 gets the sums, and
///                                                       has read `created` behind all that is `completed`;
///                                                       keyed_reply, where there are thresholds; fed_reply, where
///                                                       the host feeds it
///   void apply(Ctx&, std::uint64_t threshold);          lane 0
///   static constexpr bool fed_by_host;                  may be left out: whether epochs end the program (epoch_words);
///   void take_from_host(Ctx&, std::uint64_t) const;     then the whole warp, together, does as the orders of a
///                                                       termination_command say: words of the host are far
template <class Ctx, class Counters>
class termination_detector {
public:
    LANEWAY_FN termination_detector(Ctx& ctx, const termination_ref& termination, Counters counters)
        : termination_(termination), counters_(counters), round_(termination.before.rounds),
          completed_at_rise_(termination.before.completed), threshold_(termination.policy.first), epochs_(termination) {
        started_ns_ = ctx.now_ns();
        if (ctx.lane() < termination.children) first_reply_ = termination.replies[ctx.lane()];
    }

    /// This PE's part, again and again; never waits. The whole warp, together. Works on a copy of the context, as this
    /// stays out of line: an object whose address is taken lives in memory, and the functor's posts use the context.
    LANEWAY_FN void turn(Ctx& ctx) {
        if constexpr (may_rest) {
            if (epochs_.rests(ctx)) return watch(ctx);
        }
        Ctx here(ctx);
        look(here);
        if (moved_) ctx.worked();
        moved_ = false;
    }

    /// Looks at the host's stop word and at the deadline now and then; part of each turn, and for turns without. The
    /// whole warp.
    LANEWAY_FN void watch(Ctx& ctx) {
        if (ctx.lane() != 0 || ++turns_ % 32 != 0) return;
        tell(ctx);
        const auto& env = ctx.environment();
        const std::uint32_t told = ctx.load(env.host_stop, order::relaxed, scope::system);
        if (told != stop_word::none) {
            if (told == stop_word::ends || !stopped(ctx)) {
                ctx.store(&env.control->stop, told, order::relaxed, scope::device);
            }
        } else if (ctx.is_late(time_for_cause_ns<Ctx>(env.timeout_ns))) {
            // Later than the waits' own deadline: where one of them hangs, it names the cause better.
            (void)fail(ctx, status::timeout, operation::run_to_end, -1, ctx.pe() == 0 ? open_ : 0);
        }
    }

    /// Work that was known to be open at the last round: of the coordinator.
    [[nodiscard]] LANEWAY_FN std::uint64_t open() const { return open_; }

private:
    using reply = decltype(std::declval<Counters&>().look(std::declval<Ctx&>()));
    static constexpr bool fed = std::is_same_v<reply, fed_reply>;
    static constexpr bool keyed = fed || std::is_same_v<reply, keyed_reply>;
    static constexpr int n_sums = fed ? 9 : keyed ? 6 : 5;  ///< of a reply, which are added up

    struct no_epochs {
        static constexpr bool may_rest = false;
        LANEWAY_FN explicit no_epochs(const termination_ref&) {}
    };
    using epochs = std::conditional_t<fed_by_host<Counters>, epoch_closing<Ctx>, no_epochs>;
    static constexpr bool may_rest = epochs::may_rest;  ///< rounds of PE 0

    /// A warp that does nothing else looks several times: how long it takes to see what has come is part of the time
    /// that a round takes.
    static constexpr int looks_a_turn = Ctx::warp_lanes == 1 ? 1 : 8;
    static constexpr unsigned max_held = 32;  ///< looks

    LANEWAY_SLOW void look(Ctx& ctx);

    /// Lane 0. Nobody waits for these stores, and a load from the same memory follows them at each watch.
    LANEWAY_FN void tell(Ctx& ctx) {
        if (termination_.seen == nullptr || ctx.pe() != 0) return;
        ctx.store(termination_.seen, served_, order::relaxed, scope::system);
        ctx.store(termination_.seen + 1, open_, order::relaxed, scope::system);
    }

    LANEWAY_FN void answer(Ctx& ctx) {
        termination_command command;
        const bool here =
            once(ctx, full_warp<Ctx>, [&] { return take(ctx, termination_.command, round_ + 1, command); });
        if (here) {
            ++round_;
            command.threshold = ctx.shuffle(full_warp<Ctx>, command.threshold, 0);
            command.orders = ctx.shuffle(full_warp<Ctx>, command.orders, 0);
            begin_round(ctx, command);
        }
        reply all;
        if (!gather(ctx, all)) return;
        ctx.sync(full_warp<Ctx>);  // what the lanes have seen of children is told by lane 0
        if (ctx.lane() == 0) termination_.reply.put(ctx, 0, tag(round_), all);
    }

    /// Whether this PE's work has failed, where the host would otherwise learn of an epoch that it is done. Asked after
    /// a look: a lane reports its fault before its work counts as done.
    LANEWAY_FN bool fails([[maybe_unused]] Ctx& ctx) const {
        if constexpr (!fed_by_host<Counters>) return false;
        return once(ctx, full_warp<Ctx>, [&] { return std::uint32_t{stopped(ctx)}; }) != 0;
    }

    /// Whether this PE's own answer to the last command is due. Where nothing can be concluded from the answer of an
    /// active PE, it delays the answer for a while: so it answers as soon as it is passive, not when the next round
    /// comes.
    LANEWAY_FN bool may_look(Ctx& ctx) {
        if (!look_due_) return false;
        if constexpr (Counters::non_generating) {
            if (++held_ < max_held && !counters_.is_passive(ctx)) return false;
            held_ = 0;
        }
        look_due_ = false;
        return true;
    }

    /// Passes a command on and does as told. All lanes know it.
    LANEWAY_FN void begin_round(Ctx& ctx, const termination_command& command) {
        ctx.sync(full_warp<Ctx>);  // what a lane has seen of PEs is passed on by the others
        // PEs that get the command see what the host had posted before it closed the epoch.
        const bool looks = (command.orders & termination_command::look) != 0;
        if (fed_by_host<Counters> && looks && termination_.children != 0) ctx.fence(scope::system);
        for (int child = ctx.lane(); child < termination_.children; child += Ctx::warp_lanes) {
            termination_.commands[child].put(ctx, 0, tag(round_), command);
        }
        if constexpr (fed_by_host<Counters>) counters_.take_from_host(ctx, command.orders);
        // Others wait for this PE's answers until the threshold has risen, or the epoch is done: also one without work
        // must not sleep then.
        moved_ = moved_ || command.threshold != applied_ || command.orders != orders_;
        orders_ = command.orders;
        if (ctx.lane() == 0) {
            if ((command.orders & termination_command::finish) != 0)
                ctx.store(termination_.finished, termination_.program, order::relaxed, scope::device);
            if (command.threshold != applied_) counters_.apply(ctx, command.threshold);
        }
        applied_ = command.threshold;
        ctx.sync(full_warp<Ctx>);  // the lanes that read counters see the threshold that was just applied
        look_due_ = answer_due_ = true;
    }

    /// Whether this PE and all below it have answered, once a round; then lane 0 knows the sum, and all lanes of a PE
    /// with children and of the coordinator. Each lane reads the answers of some children.
    LANEWAY_FN bool gather(Ctx& ctx, reply& all) {
        if (!answer_due_) return false;
        if (may_look(ctx)) own_ = counters_.look(ctx);
        if (look_due_ || fails(ctx)) return false;
        if (termination_.children == 0) {
            all = ctx.pe() == 0 ? shuffle_value(ctx, full_warp<Ctx>, own_, 0) : own_;
        } else {
            std::uint64_t sums[n_sums] = {};
            std::uint64_t least = ~std::uint64_t{0};
            const auto add = [&](const reply& one) {
                const std::uint64_t values[] = {one.created, one.completed, one.deferred, one.active, one.served};
                for (int i = 0; i < 5; ++i) sums[i] += values[i];
                if constexpr (keyed) sums[5] += one.kept;
                if constexpr (fed) sums[6] += one.carried;
                if constexpr (fed) sums[7] += one.taken;
                if constexpr (fed) sums[8] += one.host_served;
                if constexpr (keyed) least = one.least < least ? one.least : least;
            };
            if (ctx.lane() == 0) add(own_);
            bool missing = false;
            for (int child = ctx.lane(); child < termination_.children; child += Ctx::warp_lanes) {
                const word_receiver from = child == ctx.lane() ? first_reply_ : termination_.replies[child];
                reply told;
                missing = missing || !take(ctx, from, round_, told);
                if (!missing) add(told);
            }
            if (ctx.ballot(full_warp<Ctx>, missing) != 0) return false;
            warp_sums(ctx, sums);
            static_cast<termination_reply&>(all) = {sums[0], sums[1], sums[2], sums[3], sums[4]};
            if constexpr (keyed) all.kept = sums[5];
            if constexpr (keyed) all.least = warp_min(ctx, least);
            if constexpr (fed) all.carried = sums[6];
            if constexpr (fed) all.taken = sums[7];
            if constexpr (fed) all.host_served = sums[8];
        }
        answer_due_ = false;
        return true;
    }

    LANEWAY_FN void coordinate(Ctx& ctx) {
        if (done_) return;
        if constexpr (may_rest) {
            if (epochs_.is_resting()) return;  // since this turn began
        }
        if (answer_due_) {
            reply all;
            if (!gather(ctx, all)) return;
            judge(ctx, all);
            if constexpr (may_rest) {
                const bool may_rise = open_ != 0 && termination_.policy.step != 0;  // by a round
                if (!done_ && !may_rise && epochs_.comes_to_rest(ctx, counters_, orders_)) return;
            }
        }
        command(ctx);
    }

    static LANEWAY_FN std::uint32_t tag(std::uint64_t round) { return static_cast<std::uint32_t>(round); }

    /// Whether what this round brings is there, and what it is. Where one round is enough, rounds need no order.
    template <class Value>
    LANEWAY_FN bool take(Ctx& ctx, const word_receiver& words, std::uint64_t round, Value& value) const {
        return words.take(ctx, 0, tag(round), value, Counters::non_generating ? order::relaxed : order::acquire);
    }

    LANEWAY_FN void judge(Ctx& ctx, const reply& sum) {
        if constexpr (Counters::non_generating) {
            done_ = sum.active == 0 && sum.completed == sum.created;
        } else if (ctx.n_pes() == 1) {
            done_ = sum.completed == sum.created;
        } else {
            // Completed of the round before, created of this one.
            done_ = round_ > termination_.before.rounds + 1 && last_completed_ == sum.created;
        }
        bool epoch_ends = false;
        if constexpr (fed) {
            const bool quiet = done_;
            done_ = false;
            epoch_ends = epochs_.close(ctx, counters_, sum, quiet, done_);
        }
        last_completed_ = sum.completed;
        // PEs are read one after the other, so a message may show as served and not yet as created.
        open_ = sum.created > sum.completed ? sum.created - sum.completed : 0;
        served_ = sum.served - termination_.before.served;
        sample(ctx);
        if (done_ && ctx.lane() == 0) tell(ctx);
        if constexpr (keyed) epoch_ends ? restart_keys(sum) : judge_keys(sum);
    }

    /// Raises the threshold where little runs. Where nothing has run since the last rise but looks that put all off
    /// again, and nothing runs, no key has fallen since those looks: so their least is that of all deferred work, and
    /// the threshold rises to the step behind it. What is read of PEs one after the other may belong to different
    /// moments: a rise that goes too far costs order, not correctness.
    LANEWAY_FN void judge_keys(const keyed_reply& sum) {
        if (sum.active != 0 || sum.deferred == 0) return;
        if (open_ > sum.deferred && open_ - sum.deferred > termination_.policy.low_water) return;
        const std::uint64_t completed = sum.completed - completed_at_rise_;
        const std::uint64_t kept = sum.kept - kept_at_rise_;
        if (completed < kept) return;  // looks that are not yet told as completed
        const bool all_put_off = completed == kept && open_ == sum.deferred && sum.least >= threshold_;
        threshold_ = termination_.policy.above(threshold_, all_put_off ? sum.least : 0);
        completed_at_rise_ = sum.completed;
        kept_at_rise_ = sum.kept;
        ++rises_;
    }

    /// Nothing is left, so nothing waits for the threshold: what comes next begins with the first one again.
    LANEWAY_FN void restart_keys(const keyed_reply& sum) {
        threshold_ = termination_.policy.first;
        completed_at_rise_ = sum.completed;
        kept_at_rise_ = sum.kept;
    }

    LANEWAY_FN void command(Ctx& ctx) {
        ++round_;
        if (done_ && ctx.lane() == 0) *termination_.outcome = {samples_, rises_, round_};
        termination_command next{threshold_, done_ ? termination_command::finish : 0};
        if constexpr (fed_by_host<Counters>) {
            if (!done_) next.orders = epochs_.next_orders(ctx);
        }
        begin_round(ctx, next);
    }

    /// Keeps at most max_samples: when full, drops every second one and looks half as often.
    LANEWAY_FN void sample(Ctx& ctx) {
        if (termination_.max_samples == 0 || ctx.lane() != 0) return;
        const std::uint64_t time = ctx.now_ns() - started_ns_;
        if (time < next_sample_ns_ && !done_) return;
        if (samples_ == termination_.max_samples) {
            for (std::uint32_t i = 1; i < samples_ / 2; ++i) termination_.samples[i] = termination_.samples[2 * i];
            samples_ /= 2;
            sample_gap_ns_ *= 2;
        }
        termination_.samples[samples_++] = {time, served_, open_};
        next_sample_ns_ = time + sample_gap_ns_;
    }

    const termination_ref& termination_;
    Counters counters_;
    word_receiver first_reply_;  ///< of the children that this lane reads
    std::uint64_t round_;
    std::uint64_t last_completed_ = 0;
    std::uint64_t completed_at_rise_;
    std::uint64_t kept_at_rise_ = 0;
    std::uint64_t rises_ = 0;
    std::uint64_t open_ = 0;
    std::uint64_t served_ = 0;
    std::uint64_t threshold_;
    std::uint64_t applied_ = ~std::uint64_t{0};
    std::uint64_t orders_ = 0;  ///< of the last command
    bool moved_ = false;        ///< in this turn: the threshold, or the orders
    reply own_;                 ///< without the children's
    bool look_due_ = false;     ///< for the answer to the last command,
    bool answer_due_ = false;   ///< and that answer
    unsigned held_ = 0;         ///< looks since that command
    std::uint64_t started_ns_ = 0;
    std::uint64_t next_sample_ns_ = 0;
    std::uint64_t sample_gap_ns_ = 1000;
    std::uint32_t samples_ = 0;
    unsigned turns_ = 0;
    epochs epochs_;
    bool done_ = false;
};

// Not inline on CPU devices, so that a program can leave it to the library.
template <class Ctx, class Counters>
LANEWAY_SLOW void termination_detector<Ctx, Counters>::look(Ctx& ctx) {
    watch(ctx);
    // Where the host feeds a PE, its control warp has more to look for.
    const int some = fed_by_host<Counters> && ctx.pe() != 0 ? 1 : looks_a_turn;
    for (int looks = 0; looks < some; ++looks) {
        if (ctx.pe() == 0) {
            coordinate(ctx);
        } else {
            answer(ctx);
        }
    }
}

}  // namespace laneway
