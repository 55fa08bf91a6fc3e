// Operands of tasks that are longer than a slot, or of sizes that only the run knows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "laneway/base/config.hpp"

namespace laneway::apps {

/// What the arguments of such a type point to, as GeMTC's boxed parameters: one object for all tasks of a batch, in
/// memory that the devices of the pool reach.
struct task_operands {
    std::uint64_t setting = 0;          ///< of all tasks; each type says what it is
    const std::byte* inputs = nullptr;  ///< of all tasks, one after the other
    std::byte* outputs = nullptr;       ///< likewise
    std::uint64_t input_bytes = 0;      ///< of a task
    std::uint64_t output_bytes = 0;     ///< of a task
    std::uint32_t linked_body = 0;      ///< of a body: its number among those that GPUs have

    /// Those of the task with this number in its batch.
    template <class T>
    [[nodiscard]] LANEWAY_FN const T* input(std::uint32_t index) const {
        return reinterpret_cast<const T*>(inputs + index * input_bytes);
    }
    template <class T>
    [[nodiscard]] LANEWAY_FN T* output(std::uint32_t index) const {
        return reinterpret_cast<T*>(outputs + index * output_bytes);
    }
};

}  // namespace laneway::apps
