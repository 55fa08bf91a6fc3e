// Layouts that the host and the devices share: tasks on their way to a PE, and the news that they are done.
#pragma once

#include <cstddef>
#include <cstdint>

namespace laneway {

/// What became of a task; any other value is the number that its body gave to fail().
struct task_status {
    static constexpr std::uint32_t done = 0;
    static constexpr std::uint32_t threw = ~std::uint32_t{0};  ///< on a CPU device; the host has the exception
};

/// One task, or a piece of a batch, in the memory that the host and a PE share.
struct task_slot {
    /// Number of the next entry that may be stored here. Written by the lane that has read the last one.
    alignas(64) std::uint64_t free_for;
    std::uint32_t record;  ///< where the host keeps the task
    std::uint32_t type;    ///< number of its type in the pool
    std::uint32_t count;   ///< of tasks: 0 for a single one, whose arguments follow
    std::uint32_t first;   ///< number of the first of them in its batch
    std::byte* outcome;    ///< of a single one: its status, and result_at bytes behind it its result

    static constexpr std::size_t header_bytes = 32;
    static constexpr std::size_t result_at = 16;

    static constexpr std::size_t bytes_of(std::size_t argument_bytes) {
        return (header_bytes + argument_bytes + 63) / 64 * 64;
    }
    static constexpr std::size_t outcome_bytes(std::size_t result_bytes) {
        return (result_at + result_bytes + 15) / 16 * 16;
    }
};

/// Follows the header of a piece: where arguments, statuses and results of its first task are.
struct task_piece {
    const std::byte* arguments;
    std::uint32_t* statuses;
    std::byte* results;
};

/// The news that a task or a piece is done, in one word: the lap of the ring in which it was written, how long a task
/// of the piece took, and the record. A word that has not been written is of the lap before; fresh memory is of lap 0.
struct task_news {
    static constexpr std::uint64_t max_nanoseconds = 0xffff;

    /// `nanoseconds`: for a task, as far as it can be told; 0: not measured.
    static constexpr std::uint64_t of(std::uint64_t place, std::uint64_t slots, std::uint32_t record,
                                      std::uint64_t nanoseconds) {
        return lap(place, slots) << 48 | (nanoseconds < max_nanoseconds ? nanoseconds : max_nanoseconds) << 32 | record;
    }
    /// Whether the word at the place is the one that belongs there.
    static constexpr bool arrived(std::uint64_t word, std::uint64_t place, std::uint64_t slots) {
        return word >> 48 == lap(place, slots);
    }
    static constexpr std::uint32_t nanoseconds(std::uint64_t word) {
        return static_cast<std::uint32_t>(word >> 32 & max_nanoseconds);
    }
    static constexpr std::uint32_t record(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

private:
    static constexpr std::uint64_t lap(std::uint64_t place, std::uint64_t slots) {
        return (place / slots + 1) % (std::uint64_t{1} << 16);
    }
};

}  // namespace laneway
