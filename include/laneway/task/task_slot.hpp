// Layouts that the host and the devices share: tasks on their way to a PE, and the news that they are done. Both travel
// in tagged words (queue/tagged_words.hpp), so that who looks for them sees at once what they are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace laneway {

/// Size of a ring, a power of two: where what goes through it lies, and in which lap it does. By shifts, as a division
/// of 64 bits takes a warp as long as an access to memory.
struct ring_size {
    std::uint32_t log2 = 0;

    [[nodiscard]] constexpr std::uint32_t slots() const { return std::uint32_t{1} << log2; }
    [[nodiscard]] constexpr std::uint32_t place(std::uint64_t number) const {
        return static_cast<std::uint32_t>(number) & (slots() - 1);
    }
    /// Of the number's tagged words: not 0, which fresh memory has.
    [[nodiscard]] constexpr std::uint32_t tag(std::uint64_t number) const {
        return static_cast<std::uint32_t>((number >> log2) + 1);
    }
};

/// What became of a task; any other value is the number that its body gave to fail().
struct task_status {
    static constexpr std::uint32_t done = 0;
    static constexpr std::uint32_t threw = ~std::uint32_t{0};  ///< on a CPU device; the host has the exception
};

/// A task, or a range of the tasks of a batch: an entry, as it lies in PE memory. Its arguments, or its task_piece,
/// follow.
struct alignas(16) task_slot {
    std::uint32_t record;  ///< where the host keeps the task
    std::uint32_t type;    ///< number of its type in the pool, and flags
    std::uint32_t count;   ///< of tasks: 0 for a single one
    std::uint32_t place;   ///< of the outcome of a single one; of a range, which of the PE's ranges it is

    /// What travels in tagged words: this, and so many bytes of what follows. The rest lies beside them.
    static constexpr std::size_t behind_bytes = 16;
    static constexpr std::uint32_t n_words = 8;
    static constexpr std::uint32_t has_tail = 1u << 31;
    static constexpr std::uint32_t same_arguments = 1u << 30;  ///< of a range: its tasks have those of the first
    [[nodiscard]] static constexpr std::uint32_t number_of(std::uint32_t type) { return type & (same_arguments - 1); }
    static_assert(n_words * 4 == 16 + behind_bytes);

    [[nodiscard]] static constexpr std::size_t bytes_of(std::size_t argument_bytes) {
        return 16 + (argument_bytes + 15) / 16 * 16;
    }
};

/// Of a range: where arguments, statuses and results of its first task are, the number of that in its batch.
struct task_piece {
    const std::byte* arguments;
    std::byte* results;
    std::uint32_t* statuses;
    std::uint32_t first;
    std::uint32_t part;  ///< tasks that a warp takes at a time
};

/// What a PE tells of a single task that has no place in its news: its status, and behind it its result.
struct task_outcome {
    static constexpr std::size_t result_at = 16;

    static constexpr std::size_t bytes_of(std::size_t result_bytes) {
        return (result_at + result_bytes + 15) / 16 * 16;
    }
};

/// The news that a task or a range is done. A word that has not been written has another tag; fresh memory has tag 0.
struct task_news {
    std::uint32_t record;
    std::uint32_t info;      ///< what is told, and in the upper 24 bits how many nanoseconds a task of a range took
    std::uint32_t value[2];  ///< a result, or the number of a range

    static constexpr std::uint32_t outcome = 0;  ///< status and result are in the outcome
    static constexpr std::uint32_t result = 1;   ///< done well, and here is the result
    static constexpr std::uint32_t range = 2;
    static constexpr std::uint32_t max_nanoseconds = 0xffffff;
    static constexpr std::uint32_t n_words = 4;
};

}  // namespace laneway
