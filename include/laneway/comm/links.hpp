// What a PE knows of its rings: the tables that mailbox code walks, and their host-side owner.
#pragma once

#include "laneway/queue/chunk_ring.hpp"

namespace laneway {

/// What left for one destination. Written by the source's shippers, before the chunk is published.
struct link_counters {
    alignas(32) std::uint64_t messages = 0;
    std::uint64_t chunks = 0;
    std::uint64_t bytes = 0;
};

/// Work of one PE that ended, and what its lanes posted. PE memory; adds only, but for the words of the control warp.
/// They run on from run to run.
struct work_counters {
    alignas(destructive_bytes) std::uint64_t served = 0;          ///< carried requests whose handler has run
    alignas(destructive_bytes) std::uint64_t replies_served = 0;  ///< carried replies whose handler has run
    alignas(destructive_bytes) std::uint64_t replied = 0;         ///< replies that handlers of requests have made
    alignas(destructive_bytes) std::uint64_t deferred = 0;   ///< posts that handlers have put into the forward queue
    alignas(destructive_bytes) std::uint64_t forwarded = 0;  ///< of these, posts that have left as messages
    alignas(destructive_bytes) std::uint64_t completed = 0;  ///< work items done whose messages have all left
    alignas(destructive_bytes) std::uint64_t arrived = 0;    ///< warps that came to a barrier, their messages have left
    std::uint64_t released = 0;                              ///< barriers that are open; written by the control warp
    std::uint64_t barrier_rounds = 0;                        ///< of these barriers; the same
    alignas(destructive_bytes) std::uint64_t returned = 0;   ///< warps whose functor has returned
    alignas(destructive_bytes) std::uint64_t posted = 0;     ///< by lanes, added when their blocks end
    std::uint64_t direct = 0;                                ///< of these, served at once on the own PE
    std::uint64_t items = 0;                                 ///< application's work items, for its report
    std::uint64_t calls = 0;                                 ///< highest number of a call that a lane has made
};

/// Where counters of a PE stood when the run began: they are not cleared between runs.
struct work_before {
    std::uint64_t served = 0;  ///< messages whose handlers had run, replies too
    std::uint64_t sent = 0;    ///< messages that had left, replies too; their chunks and bytes
    std::uint64_t chunks = 0;
    std::uint64_t bytes = 0;
    std::uint64_t made = 0;       ///< the same messages, and those that handlers had posted or replied
    std::uint64_t completed = 0;  ///< as work_counters has them
    std::uint64_t returned = 0;
    std::uint64_t released = 0;
    std::uint64_t barrier_rounds = 0;
};

/// Requests are what lanes post, replies what handlers of requests answer. They have rings of their own: servers that
/// wait for space for a reply go on serving replies, whose handlers never wait, and so these rings always drain.
enum class traffic_class : std::uint32_t { request, reply };

/// Device view of all rings of one PE and one class of traffic; every pointer is PE memory but for what the rings
/// themselves name.
struct links_ref {
    const chunk_sender* to = nullptr;      ///< n_pes entries, the own one unused
    const chunk_receiver* from = nullptr;  ///< n_pes entries, the own one unused
    link_counters* sent = nullptr;         ///< n_pes
    std::uint64_t* served = nullptr;       ///< the class's counter of work_counters
    work_counters* work = nullptr;
    std::uint64_t* stripe_next = nullptr;  ///< next ticket of each service line, see server.hpp
    int server_warps = 1;                  ///< warps of this PE that serve
    std::uint64_t age_ns = 0;              ///< see aggregator::flush_old
    bool deaf = false;                     ///< injected fault: servers look at nothing
    bool keeps_credits = false;            ///< injected fault: servers free no slot
    bool keeps_forwards = false;           ///< injected fault: nobody sends what handlers forward
    work_before before;                    ///< of requests: of the whole PE
};

}  // namespace laneway
