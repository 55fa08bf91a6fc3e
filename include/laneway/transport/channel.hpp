// Channels: one direction between two PEs, in which the words of one become readable by the other. The chunks of `comm`
// go through them, its rings. What needs no room that is given back goes through word channels
// (word_channel.hpp), and operations on symmetric memory through remote addresses (remote_ptr.hpp).
//
// The source reserves a ticket, which waits for a free slot, writes the slot, and publishes it; the destination polls
// for the ticket, reads the slot, and releases it. Tickets of one channel are drawn by any lanes of the source and
// shared out among those of the destination; slots are filled and drained in any order. What was written before publish
// is seen behind poll, and what was read before release is not overwritten.
//
// Two models keep this contract. In a mapped channel the source stores into memory that the destination loads from:
// shared memory of CPU devices, of one process or several, a GPU's memory over NVLink, page-locked memory between a
// GPU and a CPU device. In a proxied one neither side reaches the other's memory, and a thread of the host carries
// between them, as a network would (proxy.hpp). options::transport chooses for a whole job, and peer_memory.hpp lays
// out the memory: lanes have the same views of both.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "laneway/queue/chunk_ring.hpp"

namespace laneway {

/// The source's view of a channel: trivially copyable, used by lanes. See chunk_sender.
template <class Sender, class Ctx>
concept channel_sender = std::is_trivially_copyable_v<Sender> &&
    requires(const Sender& to, Ctx& ctx, lane_mask mask, std::uint64_t ticket, void (&idle)()) {
    { to.reserve(ctx, mask, 0, ticket, idle) } -> std::same_as<status>;
    { to.slot(ticket) } -> std::same_as<std::byte*>;
    to.publish(ctx, mask, ticket, std::uint32_t{1}, std::uint32_t{0});
};

/// The destination's. See chunk_receiver.
template <class Receiver, class Ctx>
concept channel_receiver = std::is_trivially_copyable_v<Receiver> &&
    requires(const Receiver& from, Ctx& ctx, lane_mask mask, std::uint64_t ticket) {
    { from.poll(ctx, ticket) } -> std::same_as<chunk_label>;
    { from.slot(ticket) } -> std::same_as<std::byte*>;
    from.release(ctx, mask, ticket);
};

}  // namespace laneway
