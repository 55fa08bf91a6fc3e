// The fault record: how device code tells the host what went wrong and where.
#pragma once

#include "laneway/base/config.hpp"
#include "laneway/base/status.hpp"

namespace laneway {

/// What a lane was doing when it failed or ran out of time.
enum class operation : std::uint32_t {
    user_code,     ///< a functor or handler of the application
    post,          ///< posting a message: checking its destination
    gather,        ///< waiting for a gathering buffer to be shipped by another warp
    reserve_slot,  ///< waiting for a free slot in the ring to another PE
    flush,         ///< waiting for chunks of this block to leave
    quiet,         ///< waiting for carried messages to be served
    serve,         ///< waiting for the words of a chunk whose flag has come
    call,          ///< waiting for the answer to a call
    post_onward,   ///< a handler's post: putting it into the onward list
    place,         ///< finding a place for the elements of a large message
    put,           ///< storing to another PE's symmetric memory
    get,           ///< loading from it
    atomic,        ///< an atomic operation on it
    signal,        ///< waiting for a signal word
    barrier,       ///< waiting for all working warps to come to a barrier
    push_id,       ///< waiting for a worklist place to be read by a slow consumer
    insert,        ///< inserting into a table of fixed size; the number says how large it is
    host_slot,     ///< waiting for a free slot of a queue to the host
    host_answer,   ///< waiting for a host function's answer
    run_to_end,    ///< waiting for all work everywhere to be done
};

constexpr const char* to_string(operation op) {
    switch (op) {
        case operation::user_code: return "running application code";
        case operation::post: return "posting a message";
        case operation::gather: return "waiting for a gathering buffer";
        case operation::reserve_slot: return "waiting for a free ring slot";
        case operation::flush: return "waiting for chunks to leave";
        case operation::quiet: return "waiting for messages to be served";
        case operation::serve: return "waiting for the words of a chunk";
        case operation::call: return "waiting for an answer";
        case operation::post_onward: return "posting onward from a handler";
        case operation::place: return "finding a place for a large message";
        case operation::put: return "putting";
        case operation::get: return "getting";
        case operation::atomic: return "an atomic operation";
        case operation::signal: return "waiting for a signal";
        case operation::barrier: return "waiting at a barrier";
        case operation::push_id: return "waiting to push into a worklist";
        case operation::insert: return "inserting into a table of fixed size";
        case operation::host_slot: return "waiting for a free slot of a queue to the host";
        case operation::host_answer: return "waiting for a host function's answer";
        case operation::run_to_end: return "waiting for all work to be done";
    }
    return "unknown operation";
}

/// One record a PE, in memory that the host reads while kernels run. The PE's first failing lane writes it (it wins
/// `pe_control::fault_claim`), the host only reads; `written` is stored last, with release at system scope.
struct fault_record {
    std::uint32_t written = 0;
    status code = status::ok;
    operation what = operation::user_code;
    std::int32_t pe = 0;
    std::int32_t block = 0;
    std::int32_t warp = 0;
    std::int32_t lane = 0;
    std::int32_t peer = -1;        ///< the other PE, where there is one
    std::uint64_t waited_for = 0;  ///< operation's own number: a ticket, a count, a user code
};

}  // namespace laneway
