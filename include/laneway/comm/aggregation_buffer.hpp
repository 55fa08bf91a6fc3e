// An aggregation buffer: where one block collects messages for one destination, in the block's shared memory.
//
// Positions are handed out from one counter and never taken back; position p lies in chunk p / capacity, and chunks
// alternate between two buffers. A chunk leaves when `capacity` positions of it are accounted for, written by posting
// lanes or claimed as padding by a flush. The lane whose account completes the chunk ships it.
#pragma once

#include "laneway/base/config.hpp"

namespace laneway {

struct aggregation_buffer {
    std::uint32_t reserved;     ///< next position, wraps
    std::uint32_t written[2];   ///< positions of the buffer's chunk accounted for; of variable-length messages also
                                ///< their number << 16
    std::uint32_t limit[2];     ///< filled positions of the buffer's chunk: capacity, or less after a flush
    std::uint32_t ready[2];     ///< chunk that may be written to the buffer
    std::uint64_t opened_ns;    ///< when the open chunk got its first message
    std::uint64_t next_ticket;  ///< of the ring, if no other block has drawn one since
};

/// Sizes of the two chunks of an aggregation buffer, the same on every PE.
template <class Message>
struct chunk_shape {
    static_assert(trivially_copyable<Message>, "a message is trivially copyable: no std::string, no std::vector");
    static_assert(alignof(Message) <= 16 && sizeof(Message) <= 4096,
                  "a message has at most 4096 bytes, and an alignment of 16; more travels as the payload of a message");

    std::uint32_t log2_messages = 0;

    [[nodiscard]] LANEWAY_FN std::uint32_t messages() const { return std::uint32_t{1} << log2_messages; }
    [[nodiscard]] LANEWAY_FN std::uint32_t bytes() const {
        return (messages() * static_cast<std::uint32_t>(sizeof(Message)) + 15) / 16 * 16;
    }
    [[nodiscard]] LANEWAY_FN std::size_t shared_bytes(int n_pes) const {
        return aggregation_bytes(n_pes) + static_cast<std::size_t>(n_pes) * 2 * bytes();
    }
    [[nodiscard]] LANEWAY_FN static std::size_t aggregation_bytes(int n_pes) {
        return (static_cast<std::size_t>(n_pes) * sizeof(aggregation_buffer) + 15) / 16 * 16;
    }

    /// An aggregation buffer before its first message. Counters start four chunks before they wrap, so that no run is
    /// long enough to see something new.
    [[nodiscard]] LANEWAY_FN aggregation_buffer empty_buffer() const {
        const std::uint32_t first = chunk_after(0, std::uint32_t{0} - 4);
        return {first << log2_messages, {0, 0}, {messages(), messages()}, {first, first + 1}, 0, 0};
    }

    /// Chunk numbers wrap with the positions they count: modulo 2^32 / messages.
    [[nodiscard]] LANEWAY_FN std::uint32_t chunk_after(std::uint32_t chunk, std::uint32_t steps) const {
        return (chunk + steps) & (~std::uint32_t{0} >> log2_messages);
    }

    /// The largest power of two of messages whose payload fits `chunk_bytes`; at least one message, at most 2^15.
    static constexpr chunk_shape fitting(std::size_t chunk_bytes) {
        chunk_shape shape;
        while (shape.log2_messages < 15 && (std::size_t{2} << shape.log2_messages) * sizeof(Message) <= chunk_bytes) {
            ++shape.log2_messages;
        }
        return shape;
    }
};

}  // namespace laneway
