// Programs of several components with work of their own: each goes on while lanes wait for what another does.
#pragma once

#include "laneway/task/task_pool.hpp"
#include "remote_job.hpp"

namespace laneway::test {
namespace {

class shared_programs_test : public testing::TestWithParam<std::string> {
protected:
    /// A deadline that is far away for what goes on, and near for what does not.
    [[nodiscard]] options job(std::uint64_t seed) const {
        options o = options_of(GetParam(), seed);
        o.timeout_seconds = 20;
        return o;
    }
};

/// A function and a task for a block, of which there may be several kinds.
template <int Kind>
struct add_as_block {
    using arguments = std::uint64_t;
    static constexpr lw::width width = lw::width::block;
    symmetric_ref<std::uint64_t> sum;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& n, Worker& worker) const {
        if (worker.sync(ctx) && worker.lane() == 0) atomic_add(ctx, sum[Kind], n);
    }
};
struct twice_as_block {
    using arguments = std::uint32_t;
    using result = std::uint32_t;
    static constexpr task_width width = task_width::block;
    template <class Ctx, class Worker>
    LANEWAY_FN result operator()(Ctx& ctx, const arguments& n, Worker& worker) const {
        (void)worker.sync(ctx);
        return 2 * n;
    }
};

TEST_P(shared_programs_test, BlocksWorkForTwoRemoteQueuesAndAPool) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        runtime rt(job(seed));
        const auto sum = rt.allocate<std::uint64_t>(2);
        remote_queue first(rt.machine(), add_as_block<0>{sum.ref()});
        remote_queue second(rt.machine(), add_as_block<1>{sum.ref()});
        task_pool pool(twice_as_block{});
        auto session = rt.start(first, pool, second);
        std::vector<task_future<std::uint32_t>> tasks;
        for (std::uint32_t i = 0; i < 30; ++i) {
            const int pe = static_cast<int>(i) % rt.n_pes();
            first.post<add_as_block<0>>(pe, 1);
            tasks.push_back(pool.submit<twice_as_block>(i));
            second.post<add_as_block<1>>(pe, 2);
        }
        for (std::uint32_t i = 0; i < 30; ++i) ASSERT_EQ(tasks[i].get(), 2 * i);
        session.quiesce();
        session.stop();
        std::uint64_t found[2] = {};
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            for (int i = 0; i < 2; ++i) found[i] += sum.copy_out(pe)[static_cast<std::size_t>(i)];
        }
        EXPECT_EQ(found[0], 30u);
        EXPECT_EQ(found[1], 60u);
    }
}

LANEWAY_ON_DEVICES(shared_programs_test, remote_devices());

}  // namespace
}  // namespace laneway::test
