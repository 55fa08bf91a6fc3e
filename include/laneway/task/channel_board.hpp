// Schedulers: one warp of a PE, or a thread of the host, decides for all others which queue they serve.
//
// By default each warp decides for itself (channel_agent.hpp). In the thesis the GPU's control processor does, the
// aggregator: it looks at the channels and points wavefronts at elements. Here it writes an order, the number of a
// queue, into a word of each warp that has none to do, and the warp reports in another word what came of it. An order
// is advice: elements are claimed as ever, so one that comes late finds none and does no harm.
#pragma once

#include "laneway/queue/channel_queue.hpp"
#include "laneway/simt/user_code.hpp"
#include "laneway/task/channel.hpp"

namespace laneway {

/// Who decides what warps serve.
enum class channel_scheduler : std::uint32_t { every_warp, one_warp, host_thread };

/// A policy by which one warp of each PE decides for the others, which serve nothing by themselves. It does nothing
/// else where the PE has other working warps.
template <class Policy = deepest_or_fullest_first>
struct warp_scheduler : Policy {
    static constexpr bool follows = false;
    static constexpr channel_scheduler by = channel_scheduler::one_warp;
};
/// The same by a thread of the host for all PEs.
template <class Policy = deepest_or_fullest_first>
struct host_scheduler : Policy {
    static constexpr bool follows = false;
    static constexpr channel_scheduler by = channel_scheduler::host_thread;
};

template <class Policy>
inline constexpr channel_scheduler scheduler_of = channel_scheduler::every_warp;
template <class Policy>
requires requires { Policy::by; }
inline constexpr channel_scheduler scheduler_of<Policy> = Policy::by;

/// What a warp reports, beside the number of the order.
struct dispatch_report {
    static constexpr std::uint64_t present = 1;   ///< there is such a warp
    static constexpr std::uint64_t served = 2;    ///< the last order brought elements,
    static constexpr std::uint64_t stuck = 4;     ///< none of which found the space that it wanted,
    static constexpr std::uint64_t short_of = 8;  ///< or not all of them
    static constexpr int number_at = 32;
};

/// Orders and reports of the warps of a PE: a word each of a warp. Zeroed before a run.
struct channel_board_ref {
    std::uint64_t* orders = nullptr;   ///< number of the order, then of the queue plus 1; written by the scheduler
    std::uint64_t* reports = nullptr;  ///< number of the last order that is done, then dispatch_report
    std::uint32_t* fills = nullptr;    ///< for the host: ready elements of each queue; written by the control warp
    std::uint32_t* shown = nullptr;    ///< the same in PE memory: what it has written there
    std::uint32_t slots = 0;           ///< for warps, of which some may not be there
    std::uint32_t slots_a_block = 1;
    std::uint32_t workers = 0;

    [[nodiscard]] static LANEWAY_FN std::uint64_t order(std::uint64_t number, std::uint32_t queue) {
        return number << dispatch_report::number_at | (queue + 1);
    }
    [[nodiscard]] static LANEWAY_FN std::uint64_t number_of(std::uint64_t word) {
        return word >> dispatch_report::number_at;
    }
    /// Whether a warp is there and has done what it was told.
    [[nodiscard]] static LANEWAY_FN bool is_idle(std::uint64_t order, std::uint64_t report) {
        return report != 0 && number_of(order) == number_of(report);
    }
};

/// What a scheduler knows of how dispatches went; the same as a warp of itself.
struct dispatch_history {
    static constexpr unsigned short_turns = 16;  ///< for which space is taken to be short

    unsigned stuck = 0;          ///< dispatches, one after the other, that found no space for any of their elements
    unsigned short_of = 0;       ///< turns for which space is taken to be short
    std::uint32_t next_old = 0;  ///< the queue from which on parts of a warp are served by age, in turn

    [[nodiscard]] LANEWAY_FN bool is_short() const { return short_of != 0; }
    LANEWAY_FN void note(bool is_stuck, bool is_short) {
        stuck = is_stuck ? stuck + 1 : 0;
        short_of = is_short ? short_turns : short_of != 0 ? short_of - 1 : 0;
    }
    /// A queue with this rank has been chosen; see channel_rank.
    LANEWAY_FN void note_choice(std::uint64_t rank);
    LANEWAY_FN void note_report(std::uint64_t report) {
        if ((report & dispatch_report::served) == 0) return;
        note((report & dispatch_report::stuck) != 0, (report & dispatch_report::short_of) != 0);
    }
};

/// A choice takes the highest of words that have the rank of a queue in their upper 40 bits and its number in the lower
/// 24; 0 says "not now".
inline constexpr std::uint64_t channel_rank_queues = std::uint64_t{1} << 24;  ///< of a shard, at most
inline constexpr std::uint64_t channel_rank_due = std::uint64_t{1} << 60;     ///< it is worth a dispatch
inline constexpr std::uint64_t channel_rank_old = std::uint64_t{1} << 61;     ///< it has waited long enough

LANEWAY_FN void dispatch_history::note_choice(std::uint64_t rank) {
    if (rank >= channel_rank_old) next_old = static_cast<std::uint32_t>(rank % channel_rank_queues) + 1;
}

/// When the elements of a queue are worth a dispatch while there is other work.
struct dispatch_rule {
    static constexpr std::uint32_t never = std::uint32_t{1} << 31;

    std::uint32_t at_least = 1;     ///< so many are at once,
    std::uint32_t max_age = never;  ///< fewer each time that so many turns have gone by; a power of two
};

LANEWAY_STRICT_BEGIN
/// Whether a policy wants a queue served although it holds fewer elements than are worth a dispatch: it may have a
/// member `bool goes(const channel_load&) const`. Where nvcc refuses the call, that lacks LANEWAY_FN.
template <class Policy>
LANEWAY_FN bool goes_needs_LANEWAY_FN([[maybe_unused]] const Policy& policy,
                                      [[maybe_unused]] const channel_load& load) {
    if constexpr (requires { policy.goes(load); }) return policy.goes(load);
    return false;
}
LANEWAY_STRICT_END

/// The queue of `all` from which on they are served in turn, where dispatches bring nothing.
LANEWAY_FN std::uint32_t channel_turn_of(const dispatch_history& history, unsigned turn, std::uint32_t all) {
    return (history.stuck / 2 + turn) % all;
}

/// What a choice compares, see channel_rank_queues, of queue `q`, which holds ready elements, of `all` in its shard.
template <class Policy>
LANEWAY_FN std::uint64_t channel_rank(const Policy& policy, channel_load load, const dispatch_rule& rule,
                                      std::uint32_t q, std::uint32_t all, const dispatch_history& history,
                                      unsigned turn) {
    const auto after = [&](std::uint32_t begin) { return std::uint64_t{all - (q + all - begin) % all}; };
    if (history.stuck % 2 != 0) return (std::uint64_t{load.depth} + 1) * channel_rank_queues + q;
    if (history.stuck != 0) {
        // Where dispatches bring nothing: every other time the next queue in turn, as in a cycle of channels the space
        // of one may wait for any other. Else what is deepest, as only that is certain to find space.
        return after(channel_turn_of(history, turn, all)) * channel_rank_queues + q;
    }
    load.is_short = history.is_short();
    const std::uint64_t priority = call_needs_LANEWAY_FN(policy, load);
    if (priority == 0) return 0;
    if (load.ready >= rule.at_least) return channel_rank_due + priority * channel_rank_queues + q;
    // In turn, so that each that has waited comes up, however high the others' priorities are.
    if (turn % rule.max_age == 0) {
        return channel_rank_old + channel_rank_due + after(history.next_old % all) * channel_rank_queues + q;
    }
    return (goes_needs_LANEWAY_FN(policy, load) ? channel_rank_due : 0) + priority * channel_rank_queues + q;
}

}  // namespace laneway
