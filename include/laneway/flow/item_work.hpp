// The account of an item worklist: what has become of all items. Host only.
#pragma once

#include <cstdint>
#include <string>

#include "laneway/base/report.hpp"
#include "laneway/flow/item_queues_memory.hpp"

namespace laneway {

/// Sums over all PEs and waves of a run. Each item that is started, kept or accepted is done, and each that is sent or
/// passed on arrives: a run of which that is not true ends with device_fault.
struct item_work {
    std::uint64_t started = 0;     ///< given by the host
    std::uint64_t done = 0;        ///< taken from the queues, once an item, however many parts it has
    std::uint64_t useful = 0;      ///< of these, neither stale nor in vain, as the application says
    std::uint64_t kept = 0;        ///< pushed, and put into the own queues
    std::uint64_t sent = 0;        ///< pushed, and sent to another PE
    std::uint64_t suppressed = 0;  ///< pushed, and not sent as the other PE would gain nothing
    std::uint64_t dropped = 0;     ///< pushed, and dropped for another reason
    std::uint64_t arrived = 0;
    std::uint64_t accepted = 0;    ///< arrived, and put into the queues
    std::uint64_t refused = 0;     ///< arrived, and dropped
    std::uint64_t passed_on = 0;   ///< arrived, and sent to a further PE
    std::uint64_t stolen = 0;      ///< items, or pieces of such of many parts, that idle PEs have taken from others
    std::uint64_t returned = 0;    ///< of those sent: made by stolen items, and sent to the PE these were taken from
    std::uint64_t spilled = 0;     ///< entries for which only host memory had room
    std::uint64_t overflowed = 0;  ///< of these, kept by a thread of the host, as the reserve was full as well
    std::uint64_t rises = 0;       ///< of the threshold
    std::uint64_t waves = 0;       ///< runs; 1 where they are fused

    static void add(item_counters& sum, const item_counters& more);
    void take(const item_counters& sum);
    /// Throws device_fault where the sums do not agree, or something is left in a queue.
    void audit(const waiting_items& left) const;

private:
    std::uint64_t to_pass_ = 0;
    std::uint64_t lent_ = 0;
};

/// Adds up what waits on several PEs.
void add(waiting_items& sum, const waiting_items& more);
/// What a message says of what waits on a PE; empty where nothing does.
std::string told_of(int pe, const waiting_items& waiting);
/// Adds the account of a run that followed.
void add_run(run_report& sum, const run_report& next);

}  // namespace laneway
