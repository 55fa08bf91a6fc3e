// What a remote queue carries: which function or kernel is to run, its arguments, what has landed for it, and whom its
// end is told. Queues, functions, kernels, target buffers and completion signals have numbers that mean the same on
// every PE (coordinated indices), so who posts needs no address of the other PE.
//
// Follows XTQ (LeBeane and others, Extended Task Queuing: Active Messages for Heterogeneous Systems, SC 2016).
#pragma once

#include "laneway/comm/memory_operation.hpp"
#include "laneway/comm/width.hpp"
#include "laneway/queue/chunk_ring.hpp"
#include "laneway/run/staged_payload.hpp"
#include "laneway/task/task_type.hpp"

namespace laneway {

/// A completion signal: when the function has run, or the kernel has returned, `value` is added to the word that
/// remote_queue::signal has given this number, on any PE. Who sees the sum (by remote_queue_agent::wait_signal, or an
/// acquire load) sees what the function did.
struct completion_signal {
    int pe = nobody;  ///< where the word lies
    std::uint32_t index = 0;
    std::uint32_t value = 1;

    static constexpr int nobody = -1;
    static constexpr int host = -2;  ///< a place for the answer to a host thread; not for use by lanes
};

/// How a command is to be carried.
struct remote_request {
    std::uint32_t queue = 0;
    completion_signal signal = {};
};

/// Elements of a target buffer that came with a command.
struct remote_landed {
    std::uint32_t buffer = no_buffer;
    std::uint32_t count = 0;
    std::uint64_t at = 0;

    static constexpr std::uint32_t no_buffer = ~std::uint32_t{0};
};

/// Data that goes with a command: `count` elements of the poster's part of an array, from `first` on, into a target
/// buffer of the other PE, from element `at` on. Host or any lane; checked when it is posted.
struct remote_payload {
    template <remote_word T>
    static LANEWAY_FN remote_payload of(symmetric_ref<T> from, std::uint64_t first, std::uint64_t count,
                                        std::uint32_t buffer, std::uint64_t at = 0) {
        remote_payload made;
        made.source = {memory_op::get, from[first]};
        made.landed = {buffer, static_cast<std::uint32_t>(count), at};
        made.any = true;
        made.fits = first <= from.size() && count <= from.size() - first && count <= ~std::uint32_t{0};
        return made;
    }

    memory_target source;
    remote_landed landed;
    bool any = false;   ///< there is a payload
    bool fits = false;  ///< the array has these elements
};

/// Before the arguments of each command.
struct remote_header {
    std::int32_t signal_pe = completion_signal::nobody;
    std::uint32_t signal = 0;
    std::uint32_t value = 0;  ///< of the signal; the queue, where a host thread waits for the answer
    std::uint32_t kernel = 0;
    remote_landed landed = {};

    static LANEWAY_FN remote_header of(const completion_signal& signal, const remote_landed& landed = {},
                                       std::uint32_t kernel = 0) {
        return {signal.pe, signal.index, signal.value, kernel, landed};
    }
    [[nodiscard]] LANEWAY_FN completion_signal told() const { return {signal_pe, signal, value}; }
};

/// A command as it lies in a slot.
template <class Arguments>
struct remote_record {
    remote_header header;
    Arguments arguments;
};

/// A host thread's command as it lies in the slot of an inbox; its header and arguments follow, as in a remote_record.
struct alignas(16) remote_posted {
    staged_payload* payload = nullptr;

    template <class Record>
    [[nodiscard]] LANEWAY_FN Record* record() {
        return reinterpret_cast<Record*>(this + 1);
    }
};

/// Bytes that a kernel of the user's gets as its arguments.
struct remote_bytes {
    static constexpr std::uint32_t most = 64;

    std::uint32_t size = 0;
    alignas(8) std::byte data[most] = {};
};

/// A function that a remote queue can run: a functor as task_type.hpp describes it, without a result, that lanes of a
/// group call with the same arguments. `static constexpr lw::width width = ...;` says which group; a warp, if nothing.
template <class T>
concept remote_function = trivially_copyable<T> && trivially_copyable<typename T::arguments> &&
                          std::is_default_constructible_v<typename T::arguments> &&
                          alignof(typename T::arguments) <= 16;

template <class Type>
inline constexpr width remote_width_of = width::warp;
template <class Type>
requires requires { Type::width; }
inline constexpr width remote_width_of<Type> = Type::width;

/// Commands of one function that share a slot: as many as lanes post together.
template <class Type>
inline constexpr std::uint32_t remote_batch_of = remote_width_of<Type> == width::lane ? 32 : 1;

/// Kinds of chunks: the number of a function, or this.
inline constexpr std::uint32_t kernel_kind = max_chunk_kinds - 1;
inline constexpr std::uint32_t max_remote_queues = 8;

}  // namespace laneway
