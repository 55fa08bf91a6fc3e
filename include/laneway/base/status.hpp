// Result of a device-side operation.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

enum class [[nodiscard]] status : std::uint32_t{
    ok = 0,
    stopped,                ///< the run was stopped elsewhere; return as soon as possible
    timeout,                ///< a wait passed the run's deadline
    handler_failed,         ///< a handler or functor called fail()
    no_room,                ///< a table or list of fixed size is full
    bad_pe,                 ///< an operation named a PE that does not exist
    bad_address,            ///< an operation named memory that no symmetric array holds
    too_long,               ///< a message carries more elements than a chunk holds
    rejected,               ///< the handler of a large message allocated no memory for it; the run goes on
    uneven_barrier,         ///< some working warps came to a barrier that others will never come to
    uneven_post,            ///< some working warps of a block had no part in a large post that all of them share
    collective_mismatch,    ///< members of a group called different collectives, or one with different arguments
    collective_incomplete,  ///< some working warps came to a collective that others will never come to
    collective_too_long,    ///< an array is longer than collectives take
    bad_tag,                ///< a tag of a triggered operation that has not been reserved
    bad_threshold,          ///< a threshold of a triggered operation that no count can reach
    prepared_twice,         ///< a tag that has an operation already
    bad_range,              ///< a triggered operation names elements that its arrays do not have, or out of reach
    too_many_triggers,      ///< a tag was triggered more often than its rounds allow
    freed_twice,            ///< an element of a channel was freed more than once
    too_deep,               ///< a channel has fewer levels than the recursion is deep
    too_many_at_once,       ///< more elements of a channel were asked for at once than it is made for
    not_receiving,          ///< an element was sent into a channel whose kernel does not receive
    yielded_after_forward,  ///< a kernel forwarded the element that it consumes, and returned outcome::yield
    truncated,              ///< a message is longer than the receive that it was matched with
    wrong_length,           ///< a message and its receive differ in length where the program promised that none does
    unexpected_message,     ///< a message found no receive where the program promised that each does
    broken_promise,         ///< a receive asks for any source or any tag where the program promised that none does
    request_left,           ///< a request that nobody has waited for when all bodies have returned
    bad_request,            ///< a request that has been waited for already, or is of another communicator
    bad_index,              ///< a queue, kernel, buffer or signal of a remote queue that has not been registered
    quota_reached,          ///< a quota of device memory, or the PE's device memory, has no room for a request
    not_allocated,          ///< memory to be released that is not allocated, or has been released already
    bad_pitch,              ///< rows of a transfer that would overlap: they are longer than from one to the next
};

constexpr const char* to_string(status s) {
    switch (s) {
        case status::ok: return "ok";
        case status::stopped: return "stopped";
        case status::timeout: return "deadline passed";
        case status::handler_failed: return "the application reported an error";
        case status::no_room: return "no room left";
        case status::bad_pe: return "no such PE";
        case status::bad_address: return "an address outside symmetric memory";
        case status::too_long: return "more payload bytes than a message can carry";
        case status::rejected: return "the receiver allocated no memory for the payload";
        case status::uneven_barrier: return "not every working warp called the barrier";
        case status::uneven_post: return "not every working warp of the block took part in a post of all";
        case status::collective_mismatch: return "members of one group called different collectives";
        case status::collective_incomplete: return "not every working warp called the collective";
        case status::collective_too_long: return "more bytes than a collective takes";
        case status::bad_tag: return "no such tag";
        case status::bad_threshold: return "a threshold that cannot be";
        case status::prepared_twice: return "the tag has an operation already";
        case status::bad_range: return "elements that do not exist, have been freed, or are out of reach";
        case status::too_many_triggers: return "triggered more often than its rounds allow";
        case status::freed_twice: return "an element of a channel was freed twice";
        case status::too_deep: return "deeper than the channel has levels";
        case status::too_many_at_once: return "more elements at once than the channel is made for";
        case status::not_receiving: return "a channel whose kernel does not receive what is sent";
        case status::yielded_after_forward: return "an element was forwarded, and put back";
        case status::truncated: return "a message is longer than its receive";
        case status::wrong_length: return "a message is not as long as its receive, as the communicator promises";
        case status::unexpected_message: return "a message found no receive, as the communicator promises";
        case status::broken_promise: return "a wildcard that the communicator promises not to use";
        case status::request_left: return "nobody has waited for the request of the operation";
        case status::bad_request: return "the request has been waited for already, or belongs to another communicator";
        case status::bad_index: return "no such index";
        case status::quota_reached: return "a quota of device memory is used up";
        case status::not_allocated: return "memory that is not allocated, or has been released already";
        case status::bad_pitch: return "rows that overlap";
    }
    return "unknown status";
}

}  // namespace laneway
