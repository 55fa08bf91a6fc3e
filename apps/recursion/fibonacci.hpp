// Fibonacci numbers by their definition: almost nothing but spawns, so it measures what these cost.
#pragma once

#include "recursion/recursion.hpp"

namespace laneway::apps {

struct fibonacci_result {
    std::uint64_t value = 0;
    std::uint64_t calls = 0;  ///< of the whole tree, those that a lane makes by itself included
    recursion_report report;
};

/// fibonacci(n), n up to 90, with fibonacci(0) = 0. `grain`: from there down a lane walks the tree by itself; 1 by
/// default. On several PEs the host makes the calls at the top of the tree. Throws as fork_join.
fibonacci_result fibonacci(std::uint32_t n, const recursion_options& options = {});
/// The same on devices that are open.
fibonacci_result fibonacci(runtime& rt, std::uint32_t n, const recursion_options& options);

/// Fibonacci numbers by calls of a lane, without memory but a short stack. Also the reference.
LANEWAY_FN std::uint64_t fibonacci_by_calls(std::uint32_t n) {
    std::uint32_t stack[90];  // one entry a level at most
    int top = 0;
    std::uint64_t sum = 0;
    for (;;) {
        for (; n >= 2; --n) stack[top++] = n - 2;
        sum += n;
        if (top == 0) return sum;
        n = stack[--top];
    }
}

}  // namespace laneway::apps
