// The data that termination.hpp works on: what PEs send each other in a round, what the host and PE 0 tell each other,
// and one PE's view of it.
#pragma once

#include "laneway/transport/word_channel.hpp"

namespace laneway {

/// The tree of PEs, whose root is PE 0. A PE has as many children as a warp of a GPU has lanes, which look at their
/// answers at the same time; so up to 33 PEs are one level below PE 0.
struct termination_tree {
    static constexpr int width = 32;

    [[nodiscard]] static constexpr int parent(int pe) { return (pe - 1) / width; }
    [[nodiscard]] static constexpr int first_child(int pe) { return pe * width + 1; }
    [[nodiscard]] static constexpr int children(int pe, int n_pes) {
        const int behind = n_pes - first_child(pe);
        return behind < 0 ? 0 : behind < width ? behind : width;
    }
};

/// PE to parent: sums over the PE and all below it.
struct termination_reply {
    std::uint64_t created = 0;
    std::uint64_t completed = 0;
    std::uint64_t deferred = 0;  ///< created work that waits for a higher threshold
    std::uint64_t active = 0;    ///< nonzero while the PE acts on the last threshold, or its warps may create work
    std::uint64_t served = 0;
};

/// The same where deferred work has keys, below which the threshold lies.
struct keyed_reply : termination_reply {
    std::uint64_t kept = 0;  ///< of the completed work: looks at deferred work that put it off again
    /// No deferred work had a lower key when the PE looked at all of it for the last threshold; 0 where it cannot say.
    std::uint64_t least = ~std::uint64_t{0};
};

/// What has become of a session's messages since it began, of all PEs.
struct epoch_totals {
    std::uint64_t carried = 0;      ///< messages that have left PEs, replies too
    std::uint64_t served = 0;       ///< of these, those whose handler has run
    std::uint64_t taken = 0;        ///< messages of host threads that PEs have taken from their inboxes
    std::uint64_t host_served = 0;  ///< of these, those whose handler has run
};

/// The same where host threads feed the PEs.
struct fed_reply : keyed_reply {
    std::uint64_t carried = 0;  ///< see epoch_totals
    std::uint64_t taken = 0;
    std::uint64_t host_served = 0;
};

/// Coordinator to all PEs, which pass it on.
struct termination_command {
    std::uint64_t threshold = 0;
    std::uint64_t orders = 0;

    static constexpr std::uint64_t finish = 1;  ///< the program ends
    static constexpr std::uint64_t look = 2;    ///< a PE takes what the host has left for it by now,
    static constexpr std::uint64_t open = 4;    ///< and takes what comes
};

/// One look at all PEs; see progress_sample of the run report.
struct termination_sample {
    std::uint64_t time_ns = 0;
    std::uint64_t served = 0;
    std::uint64_t open = 0;
};

/// Between the host and the coordinator where the host feeds a program that stays; null elsewhere. Host-visible.
struct epoch_words {
    /// The last epoch that the host has closed, times 2, and 1 more where the program shall end with it. Everything
    /// that the host had posted before is part of it.
    const std::uint64_t* asked = nullptr;
    std::uint64_t* done = nullptr;  ///< the last epoch whose work is done everywhere
    /// What had become of all messages when epoch e was done: at e modulo `kept`, stored once. The host reads it while
    /// it closes none, and less than `kept` are open.
    epoch_totals* totals = nullptr;
    std::uint64_t lease_ns = 0;  ///< after so long without work the program ends by itself; 0: never
    std::uint64_t told = 0;      ///< the last epoch that was done when the program began

    static constexpr std::uint64_t kept = 8;
};

/// What the coordinator leaves to the host when a program has ended.
struct termination_outcome {
    std::uint64_t samples = 0;
    std::uint64_t rises = 0;   ///< of a threshold below which keys lie
    std::uint64_t rounds = 0;  ///< since words and counters were cleared last
};

/// Where rounds and counters of all PEs stood when a program began: they run on, as nothing is cleared between runs.
struct termination_before {
    std::uint64_t rounds = 0;
    std::uint64_t completed = 0;  ///< and created: nothing was open
    std::uint64_t served = 0;
};

/// How the threshold moves. Work below the threshold runs, the rest waits.
struct threshold_policy {
    std::uint64_t first = ~std::uint64_t{0};  ///< no priorities: everything runs at once
    std::uint64_t step = 0;                   ///< of which a rise is one, or as many as reach the least deferred key
    std::uint64_t low_water = 0;              ///< the threshold rises when no more than this much work runs

    /// What a threshold rises to: a step, and as many more as the least key that waits takes.
    [[nodiscard]] LANEWAY_FN std::uint64_t above(std::uint64_t threshold, std::uint64_t least) const {
        const std::uint64_t steps = least < threshold ? 0 : (least - threshold) / step;
        const std::uint64_t room = (~std::uint64_t{0} - threshold) / step;
        return steps >= room ? ~std::uint64_t{0} : threshold + (steps + 1) * step;
    }
};

/// Device view of one PE's part; pointers are valid on that PE. The coordinator has no command and no reply of its own.
struct termination_ref {
    const word_sender* commands = nullptr;   ///< to each child: a termination_command
    const word_receiver* replies = nullptr;  ///< of each child: a termination_reply
    int children = 0;
    word_receiver command;                   ///< of the parent
    word_sender reply;                       ///< to the parent
    std::uint32_t* finished = nullptr;       ///< PE memory, polled by all warps: the last program that ended
    std::uint32_t program = 1;               ///< number of this one, never 0
    termination_sample* samples = nullptr;   ///< coordinator only
    termination_outcome* outcome = nullptr;  ///< coordinator only
    std::uint32_t max_samples = 0;           ///< even; 0 records none
    std::uint64_t* seen = nullptr;           ///< coordinator only, host-visible: see run_meter; or null
    threshold_policy policy;
    epoch_words epochs;
    termination_before before;

    /// Whether all work everywhere is done. Any lane. Relaxed: whoever reads results waits for the end of the kernel.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool has_finished(Ctx& ctx) const {
        return ctx.load(finished, order::relaxed, scope::device) == program;
    }
};

}  // namespace laneway
