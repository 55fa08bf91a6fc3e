// How tasks are shared out: among the workers of a device, and among devices.
#pragma once

#include <atomic>
#include <thread>

#include "unit/task/task_types.hpp"

namespace laneway::test {
namespace {

/// A word for each task, in which the host sees that it has begun.
class marks {
public:
    marks(runtime& rt, std::size_t count)
        : bytes_(allocate_host_visible(rt.machine().device(0), count * sizeof(std::uint32_t))), count_(count) {}
    [[nodiscard]] std::uint32_t* words() const { return reinterpret_cast<std::uint32_t*>(bytes_.get()); }
    /// Waits until so many tasks have made theirs, for some seconds at most. How many have.
    [[nodiscard]] std::size_t wait(std::size_t wanted) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        for (;;) {
            std::size_t made = 0;
            for (std::size_t i = 0; i < count_; ++i) {
                made += std::atomic_ref(words()[i]).load(std::memory_order_relaxed);
            }
            if (made >= wanted || std::chrono::steady_clock::now() > end) return made;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

private:
    std::shared_ptr<std::byte> bytes_;
    std::size_t count_;
};

struct marked_task {
    std::uint32_t* mark;
    const std::uint32_t* gate;  ///< as of wait_at_gate
};

/// Makes its mark, and waits until the host opens the gate, on PEs below `slow_pes`.
struct mark_and_wait {
    using arguments = marked_task;
    using result = std::uint32_t;
    int slow_pes;

    template <class Ctx>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& given) const {
        if (ctx.lane() == 0) ctx.store(given.mark, 1u, order::relaxed, scope::system);
        return ctx.pe() < slow_pes ? wait_at_gate{}(ctx, given.gate) : 1;
    }
};

class task_sharing_test : public on_devices {};

/// No PE, and no block, has tasks for workers that are busy while others have none.
TEST_P(task_sharing_test, AsManyTasksAsWorkersRunAtOnce) {
    options o = chosen();
    o.gpu_blocks = 4;
    runtime rt(o);
    task_pool pool(mark_and_wait{rt.n_pes()});
    auto session = rt.start(pool);
    const auto workers = static_cast<std::size_t>(pool.statistics().workers);
    for (int round = 0; round < 5; ++round) {
        const marks all(rt, workers);
        const gate closed(rt);
        std::vector<task_future<std::uint32_t>> futures;
        for (std::size_t i = 0; i < workers; ++i) {
            futures.push_back(pool.submit<mark_and_wait>({all.words() + i, closed.word()}));
        }
        EXPECT_EQ(all.wait(workers), workers) << "that run, of as many as there are workers";
        closed.open();
        for (const auto& future : futures) EXPECT_EQ(future.get(), 1u);
    }
}

TEST_P(task_sharing_test, ASlowDeviceDoesNotHoldTheOthers) {
    runtime rt(chosen());
    if (rt.n_pes() < 2) GTEST_SKIP() << "of several devices";
    task_pool pool(mark_and_wait{1});
    auto session = rt.start(pool);
    const std::size_t count = 16 * static_cast<std::size_t>(pool.statistics().workers);
    const marks all(rt, count);
    const gate closed(rt);
    std::vector<task_future<std::uint32_t>> futures;
    for (std::size_t i = 0; i < count; ++i) {
        futures.push_back(pool.submit<mark_and_wait>({all.words() + i, closed.word()}));
    }
    EXPECT_GT(all.wait(count * 3 / 4), count / 2) << "while those on PE 0 do not end";
    closed.open();
    for (const auto& future : futures) EXPECT_EQ(future.get(), 1u);
    EXPECT_LT(pool.statistics().entries[0], count / 2) << "that it was given";
}

/// Ranges of batches follow each other in few places: who comes late for one may find another one there.
TEST_P(task_sharing_test, EachTaskOfManyShortBatchesRunsOnce) {
    constexpr std::uint64_t tasks = 600;
    repeat_rounds(GetParam(), checked() ? 24 : 4, [&](options o) {
        o.gpu_blocks = 4;
        o.timeout_seconds = 60;
        runtime rt(o);
        const auto counts = rt.allocate<std::uint64_t>(tasks), order = rt.allocate<std::uint64_t>(1);
        task_pool pool(count_run{counts.ref(), order.ref()});
        auto session = rt.start(pool);
        std::vector<batch_future<std::uint64_t>> batches;
        std::vector<std::uint64_t> expected(tasks, 1), sums(tasks);
        std::uint64_t first = 0;
        for (std::uint64_t n = 1; first < tasks; n = n * 7 % 31) {
            std::vector<std::uint64_t> given(std::min(n, tasks - first));
            std::iota(given.begin(), given.end(), first);
            first += given.size();
            batches.push_back(pool.submit_many<count_run>(given));
            if (n % 5 != 0) continue;
            (void)pool.submit<count_run>(first - 1);  // a single one among them
            ++expected[first - 1];
        }
        for (const auto& batch : batches) batch.wait();
        session.stop();
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto part = counts.copy_out(pe);
            for (std::uint64_t i = 0; i < tasks; ++i) sums[i] += part[i];
        }
        EXPECT_EQ(sums, expected);
        EXPECT_EQ(pool.statistics().done, pool.statistics().submitted);
    });
}

LANEWAY_ON_DEVICES(task_sharing_test, device_lists());

}  // namespace
}  // namespace laneway::test
