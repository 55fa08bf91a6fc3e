// The fault record: how device code tells the host what went wrong and where.
#pragma once

#include "laneway/base/config.hpp"
#include "laneway/base/status.hpp"

namespace laneway {

/// What a lane was doing when it failed or ran out of time; words_of says how it is told.
enum class operation : std::uint32_t {
    user_code,        ///< a functor or handler of the application
    post,             ///< posting a message: checking its destination
    aggregate,        ///< waiting for an aggregation buffer to be shipped by another warp
    reserve_slot,     ///< waiting for a free slot in the ring to another PE
    flush,            ///< waiting for chunks of this block to leave
    quiet,            ///< waiting for carried messages to be served
    serve,            ///< waiting for the words of a chunk whose flag has come
    call,             ///< waiting for the answer to a call
    forward,          ///< a handler's post: putting it into the forward queue
    allocate,         ///< allocating memory for the payload of a large message
    put,              ///< storing to another PE's symmetric memory
    get,              ///< loading from it
    atomic,           ///< an atomic operation on it
    signal,           ///< waiting for a signal word
    barrier,          ///< waiting for all working warps to come to a barrier
    push_id,          ///< waiting for a worklist place to be read by a slow consumer
    insert,           ///< inserting into a table of fixed size
    host_slot,        ///< waiting for a free slot of a queue to the host
    host_answer,      ///< waiting for a host function's answer
    run_to_end,       ///< waiting for all work everywhere to be done
    collective,       ///< an all-reduce, broadcast, all-gather or barrier of a group: waiting for its members
    prepare,          ///< preparing a triggered operation
    trigger,          ///< adding to a tag's count, or carrying out its operation
    disarm,           ///< taking the operation from a tag
    run_task,         ///< running a task that a lane has submitted
    start,            ///< waiting for room for the message or task that a triggered operation starts
    produce,          ///< producing into a channel
    consume,          ///< freeing an element of a channel
    send,             ///< sending a message that a receive takes
    receive,          ///< receiving one
    probe,            ///< looking for one
    use_request,      ///< waiting for a request, testing or cancelling it
    enqueue,          ///< posting to a remote queue: waiting for room
    land,             ///< storing the payload of a command into its target buffer
    find_payload,     ///< looking for what has landed for a command
    command,          ///< running the function of a command
    launch,           ///< having a kernel launched: waiting for the host
    raise,            ///< telling the end of a command
    completion,       ///< waiting for a completion signal
    request,          ///< posting to a service: waiting for room
    served,           ///< waiting for what a service answers, or has done
    serving,          ///< serving a request
    put_item,         ///< putting an item into the queues of a worklist
    allocate_memory,  ///< allocating device memory
    release_memory,   ///< releasing it
    queue_room,       ///< waiting for room in a queue
    queue_place,      ///< waiting for a place of a queue that another lane is storing to or emptying
    transfer,         ///< posting a transfer: waiting for room, or for the warps that post it together
    carry,            ///< carrying out a transfer: finding a row by its index
    transferred,      ///< waiting for a transfer
    use_key,          ///< posting a transfer under a key, or waiting for all that have been
    meet_block,       ///< waiting for the other warps of its block, in what they do together
};

/// How a fault tells of an operation.
struct operation_words {
    const char* doing;   ///< what the lane was doing
    const char* toward;  ///< what stands between it and the other PE's number
    const char* number;  ///< what its number is, which takes the place of the #
};

constexpr operation_words words_of(operation op) {
    switch (op) {
        case operation::user_code: return {"running application code", " for PE ", "number #"};
        case operation::post: return {"posting a message", " to PE ", "message #"};
        case operation::aggregate: return {"waiting for an aggregation buffer", " for PE ", "chunk #"};
        case operation::reserve_slot: return {"waiting for a free ring slot", " to PE ", "ticket #"};
        case operation::flush: return {"waiting for chunks to leave", " for PE ", "chunk #"};
        case operation::quiet: return {"waiting for messages to be served", " by PE ", "ticket #"};
        case operation::serve: return {"waiting for the words of a chunk", " from PE ", "ticket #"};
        case operation::call: return {"calling", " PE ", "the lane's call #"};
        case operation::forward: return {"forwarding from a handler", " to PE ", "slot # of the queue"};
        case operation::allocate: return {"allocating memory for a large message", " on PE ", "room for # elements"};
        case operation::put: return {"putting", " to PE ", "element #"};
        case operation::get: return {"getting", " from PE ", "the lane's get #"};
        case operation::atomic: return {"doing an atomic operation", " on PE ", "element #"};
        case operation::signal: return {"waiting for a signal", " on PE ", "value #"};
        case operation::barrier: return {"waiting at a barrier", " for PE ", "barrier #"};
        case operation::push_id: return {"waiting to push into a worklist", " of PE ", "place #"};
        case operation::insert: return {"inserting into a table of fixed size", " of PE ", "place #"};
        case operation::host_slot: return {"waiting for a free slot of a queue to the host", " of PE ", "ticket #"};
        case operation::host_answer: return {"waiting for a host function's answer", " for PE ", "ticket #"};
        case operation::run_to_end: return {"waiting for all work to be done", " on PE ", "# known to be open"};
        case operation::collective: return {"in a collective", " with PE ", "the group's collective #"};
        case operation::prepare: return {"preparing a triggered operation", " to PE ", "tag #"};
        case operation::trigger: return {"triggering an operation", " to PE ", "tag #"};
        case operation::disarm: return {"disarming a tag", " of PE ", "tag #"};
        case operation::run_task: return {"running a task that a lane has submitted", " of PE ", "task type #"};
        case operation::start: return {"waiting for room to start what was triggered", " for PE ", "tag #"};
        case operation::produce: return {"producing into a channel", " of PE ", "channel #"};
        case operation::send: return {"sending a message", " to PE ", "tag #"};
        case operation::receive: return {"receiving a message", " from PE ", "tag #"};
        case operation::probe: return {"probing for a message", " from PE ", "tag #"};
        case operation::use_request: return {"using a request", " of PE ", "request #"};
        case operation::consume: return {"freeing an element of a channel", " of PE ", "channel #"};
        case operation::enqueue: return {"posting to a remote queue", " of PE ", "queue #"};
        case operation::land: return {"storing the payload of a command", " on PE ", "target buffer #"};
        case operation::find_payload: return {"looking for the payload of a command", " on PE ", "target buffer #"};
        case operation::command: return {"running a command", " of PE ", "function #"};
        case operation::launch: return {"having a kernel launched", " on PE ", "kernel #"};
        case operation::raise: return {"raising a completion signal", " of PE ", "signal #"};
        case operation::completion: return {"waiting for a completion signal", " of PE ", "signal #"};
        case operation::request: return {"posting a request to a service", " of PE ", "request type #"};
        case operation::served: return {"waiting for a service", " of PE ", "request type #"};
        case operation::serving: return {"serving a request", " of PE ", "request type #"};
        case operation::put_item: return {"putting an item into the worklist", " of PE ", "place #"};
        case operation::allocate_memory: return {"allocating device memory", " of PE ", "# bytes asked for"};
        case operation::release_memory: return {"releasing device memory", " of PE ", "byte #"};
        case operation::queue_room: return {"waiting for room in a queue", " of PE ", "for # values"};
        case operation::queue_place: return {"waiting for a place of a queue", " of PE ", "place #"};
        case operation::transfer: return {"posting a transfer", " to PE ", "transfer #"};
        case operation::carry: return {"carrying out a transfer", " with PE ", "index #"};
        case operation::transferred: return {"waiting for a transfer", " of PE ", "transfer #"};
        case operation::use_key: return {"using a key of transfers", " of PE ", "key #"};
        case operation::meet_block: return {"waiting for the other warps of the block", " of PE ", "meeting #"};
    }
    return {"unknown operation", " with PE ", "number #"};
}

/// A channel as the number of a fault names it: with its graph where a run has several.
struct channel_in_fault {
    std::uint32_t channel = 0;
    std::uint32_t graph = 0;  ///< one more than its number among the graphs of the run; 0: there is no other

    [[nodiscard]] LANEWAY_FN std::uint32_t number() const { return graph << channel_bits | channel; }
    [[nodiscard]] static channel_in_fault of(std::uint64_t number) {
        return {static_cast<std::uint32_t>(number) & ((1u << channel_bits) - 1),
                static_cast<std::uint32_t>(number) >> channel_bits};
    }

private:
    static constexpr std::uint32_t channel_bits = 16;
};

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
    std::int32_t peer = -1;  ///< the other PE, where there is one; with bad_pe whatever was named
    /// What it is about: with bad_address the first element that is missing, or one that exists, out of reach, with
    /// too_long bytes of elements, with no_room places that were tried, with uneven_barrier, uneven_post and
    /// collective_incomplete warps that came, with collective_too_long bytes of the array, with bad_pitch bytes from
    /// row to row, with truncated and wrong_length bytes of the message, of a channel what channel_in_fault says; with
    /// others see words_of. Of a wait for a message with any tag: 2^32 - 1.
    std::uint64_t number = 0;
    /// What there is: with bad_address elements of the array, with too_long bytes that a chunk takes, with no_room all
    /// places where more are there than were tried, with uneven_barrier, uneven_post and collective_incomplete working
    /// warps, with collective_too_long the most bytes that an array may have, with bad_tag tags, with bad_index such
    /// indices, with bad_threshold that one, with a trigger that is too many or too late its tag's count, and 2^32
    /// times its threshold, with freed_twice the level of the channel, with too_deep how many it has, with
    /// too_many_at_once elements that may be asked for, with quota_reached the quota's bytes, or the most that it gives
    /// at once where that is less than was asked for, and, times 2^56, its number, with not_allocated the bytes that
    /// there are, with waits for messages the communicator, with truncated and wrong_length the bytes that the receive
    /// takes, with a request that is served the block that has posted it, with bad_pitch the bytes of a row.
    std::uint64_t limit = 0;
};

}  // namespace laneway
