// Fibonacci numbers by their definition, without tasks: the calls so many levels down are known beforehand, threads
// take one after the other and make all calls below it by themselves. The same calls as apps/recursion/fibonacci makes.
#pragma once

#include <utility>

#include "gpu.cuh"

namespace laneway::bench {

/// Work of threads: `next` counts what has been taken, `sum` adds up what they have found.
struct thread_work {
    unsigned long long* next;
    unsigned long long* sum;
};

/// All calls below those `levels` down from fibonacci(n): bit i of the number of such a call says which of its two
/// children the call i levels below the first is followed to.
template <int Threads>
__global__ void add_calls(std::uint32_t n, std::uint32_t levels, thread_work work) {
    extern __shared__ std::uint8_t stacks[];  // a number each, a byte a level and thread
    std::uint8_t* const stack = stacks + threadIdx.x;
    std::uint64_t sum = 0;
    std::uint32_t here = 0, top = 0;
    for (;;) {
        if (here >= 2) {
            stack[top++ * Threads] = static_cast<std::uint8_t>(here - 2);
            --here;
            continue;
        }
        sum += here;  // nothing at the beginning
        if (top != 0) {
            here = stack[--top * Threads];
        } else {
            const std::uint64_t path = atomicAdd(work.next, 1ull);
            if (path >> levels != 0) break;
            here = n - levels - static_cast<std::uint32_t>(__popcll(path));
        }
    }
    atomicAdd(work.sum, sum);
}

/// fibonacci(n), n from 2 to 90.
class plain_fibonacci {
public:
    explicit plain_fibonacci(std::uint32_t n)
        : n_(n), levels_(std::min(n / 2, most_levels)), shared_bytes_(threads * n), words_(2) {
        for (std::uint32_t i = 0; i < n; ++i) value_ = std::exchange(next_value_, value_ + next_value_);
    }

    [[nodiscard]] std::string name() const { return "plain fib " + std::to_string(n_); }
    /// Calls of the whole tree.
    [[nodiscard]] double count() const { return 2 * static_cast<double>(next_value_) - 1; }
    void run() {
        words_.clear(2);
        auto* const words = reinterpret_cast<unsigned long long*>(words_.data());
        add_calls<threads><<<full_grid(add_calls<threads>, threads, shared_bytes_), threads, shared_bytes_>>>(
            n_, levels_, {words, words + 1});
        check(cudaGetLastError(), "fib");
    }
    void verify() const {
        if (words_.read(1) != value_) throw device_fault(name() + ": the number is " + std::to_string(words_.read(1)));
    }

private:
    static constexpr int threads = 256;
    static constexpr std::uint32_t most_levels = 22;  ///< four million calls: some for each thread of a large GPU

    std::uint32_t n_;
    std::uint32_t levels_;
    std::size_t shared_bytes_;
    std::uint64_t value_ = 0, next_value_ = 1;  ///< fibonacci(n) and fibonacci(n + 1)
    device_words words_;
};

}  // namespace laneway::bench
