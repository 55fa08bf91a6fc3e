// Types of task that several suites use, and a gate that holds workers up.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>

#include "laneway/runtime.hpp"
#include "laneway/simt/wait.hpp"
#include "laneway/task/task_pool.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

struct square {
    using arguments = double;
    using result = double;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& x) const {
        return x * x;
    }
};

/// Longer than a slot of 64 bytes, in both directions.
struct numbers {
    std::uint64_t values[20];
};
struct reversed {
    using arguments = numbers;
    using result = numbers;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx&, const arguments& given) const {
        numbers made;
        for (int i = 0; i < 20; ++i) made.values[i] = given.values[19 - i];
        return made;
    }
};

/// Counts how often each number was run, and tells in which order.
struct count_run {
    using arguments = std::uint64_t;
    using result = std::uint64_t;
    symmetric_ref<std::uint64_t> counts;
    symmetric_ref<std::uint64_t> order;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& i) const {
        if (ctx.lane() != 0) return 0;
        atomic_add(ctx, counts[i], 1);
        return atomic_add(ctx, order[0], 1);
    }
};

struct fail_with {
    using arguments = std::uint32_t;
    using result = void;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx&, const arguments& number, Worker& worker) const {
        if (worker.lane() == worker.lanes() - 1 && number != 0) worker.fail(number);
    }
};

/// All lanes add up what the others have written.
struct lanes_together {
    using arguments = std::uint32_t;
    using result = std::uint32_t;
    symmetric_ref<std::uint32_t> words;
    template <class Ctx, class Worker>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& place, Worker& worker) const {
        const std::uint32_t first = place * 32;
        *local(ctx, words[first + static_cast<std::uint32_t>(worker.lane())]) = 1;
        worker.sync(ctx);
        std::uint32_t sum = 0;
        for (int i = 0; i < worker.lanes(); ++i) sum += *local(ctx, words[first + static_cast<std::uint32_t>(i)]);
        worker.sync(ctx);
        return sum;
    }
};

/// Waits until the host opens the gate.
struct wait_at_gate {
    using arguments = const std::uint32_t*;
    using result = std::uint32_t;
    template <class Ctx>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& word) const {
        bounded_spin spin;
        std::uint32_t seen = 0;
        while ((seen = ctx.load(word, order::acquire, scope::system)) == 0) {
            if (spin.next(ctx, {}) != status::ok) break;
        }
        return seen;
    }
};

class gate {
public:
    explicit gate(runtime& rt) : word_(allocate_host_visible(rt.machine().device(0), destructive_bytes)) {}
    [[nodiscard]] const std::uint32_t* word() const { return reinterpret_cast<const std::uint32_t*>(word_.get()); }
    void open() const {
        std::atomic_ref(*reinterpret_cast<std::uint32_t*>(word_.get())).store(1, std::memory_order_release);
    }

private:
    std::shared_ptr<std::byte> word_;
};

/// Of tests of tasks: devices of all kinds.
class on_devices : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] options chosen() const {
        options o;
        o.devices = GetParam();
        o.timeout_seconds = 60;
        return o;
    }
    [[nodiscard]] bool checked() const { return is_checked(GetParam()); }
    [[nodiscard]] std::uint64_t many() const { return checked() ? 200 : 5000; }
};

/// The same with one PE, which on CPU devices has one worker.
class on_one_device : public on_devices {};

}  // namespace
}  // namespace laneway::test
