// Remote queues in sessions: host threads post commands, and wait for them; kernels of the host's are launched.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "remote_job.hpp"

namespace laneway::test {
namespace {

class remote_session_test : public remote_sessions {};

TEST_P(remote_session_test, HostThreadsLoseNothing) {
    for (std::uint64_t round = 0; round < 4; ++round) {
        runtime rt(job(round));
        const auto pes = static_cast<unsigned>(rt.n_pes());
        const auto marks = rt.allocate<std::uint64_t>(4096), lanes = rt.allocate<std::uint64_t>(2);
        remote_queue remote(rt.machine(), {.priorities = {0, 1}, .slots = 2, .host_slots = 4},
                            mark_lane{marks.ref(), lanes.ref()}, mark_warp{marks.ref(), lanes.ref()},
                            mark_block{marks.ref(), lanes.ref()});
        const auto told = rt.allocate<std::uint64_t>(1);
        const auto done = remote.signal(told, 0);
        auto session = rt.start(remote);
        constexpr std::uint64_t threads = 3, each = 40;
        for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
            std::vector<std::thread> posting;
            for (std::uint64_t t = 0; t < threads; ++t) {
                posting.emplace_back([&, t] {
                    for (std::uint64_t i = 0; i < each; ++i) {
                        const std::uint64_t id = (epoch * threads + t) * each + i;
                        const int pe = static_cast<int>(id % pes);
                        const remote_request how{static_cast<std::uint32_t>(i % 2), {pe, done, 2}};
                        switch (i % 4) {
                            case 0: remote.post<mark_lane>(pe, id, how); break;
                            case 1: remote.post<mark_warp>(pe, id, how); break;
                            case 2: remote.post<mark_block>(pe, id, how); break;
                            default: remote.call<mark_warp>(pe, id, how.queue);
                        }
                    }
                });
            }
            for (auto& t : posting) t.join();
            EXPECT_EQ(session.quiesce().posted, threads * each);
            if (epoch == 1) session.release();
        }
        session.stop();
        std::uint64_t ends = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto here = marks.copy_out(pe);
            for (std::uint64_t id = 0; id < here.size(); ++id) {
                const bool mine = id < 3 * threads * each && id % pes == static_cast<unsigned>(pe);
                ASSERT_EQ(here[id], mine ? 1u : 0u) << "command " << id << " on PE " << pe;
            }
            EXPECT_EQ(lanes.copy_out(pe)[0], lanes.copy_out(pe)[1]);
            ends += told.copy_out(pe)[0];
        }
        EXPECT_EQ(ends, 2 * 3 * threads * each * 3 / 4);  // calls are told in another way
        EXPECT_EQ(remote.statistics().run, 3 * threads * each);
    }
}

/// Tells how many lanes have run it.
struct count_lanes {
    using arguments = no_arguments;
    static constexpr lw::width width = lw::width::block;
    symmetric_ref<std::uint64_t> most;
    symmetric_ref<std::uint64_t> sum;
    symmetric_ref<std::uint64_t> ran;  ///< how often, and by how many lanes in all
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments&, Worker& worker) const {
        if (worker.lane() == 0) {
            atomic_add(ctx, ran[0], 1);
            atomic_add(ctx, ran[1], static_cast<std::uint64_t>(worker.lanes()));
        }
        // A phase of its own: all lanes add, and behind the barrier each sees what all have added.
        atomic_add(ctx, sum[0], 1);
        if (!worker.sync(ctx)) return;
        const auto lanes = static_cast<std::uint64_t>(worker.lanes());
        ctx.fetch_max(local(ctx, most[worker.lane() < worker.lanes() ? 0 : 1]), lanes, order::relaxed, scope::system);
        if (atomic_add(ctx, sum[0], 0) < lanes) atomic_add(ctx, most[1], 1);
    }
};

TEST_P(remote_session_test, AFunctionForABlockGetsAllItsWarps) {
    runtime rt(job());
    const auto most = rt.allocate<std::uint64_t>(2), sum = rt.allocate<std::uint64_t>(1);
    const auto ran = rt.allocate<std::uint64_t>(2);
    remote_queue remote(rt.machine(), count_lanes{most.ref(), sum.ref(), ran.ref()});
    auto session = rt.start(remote);
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        for (int i = 0; i < 20; ++i) remote.post<count_lanes>(pe, {});
        remote.call<count_lanes>(pe, {});
    }
    session.stop();
    for (int pe = 0; pe < rt.n_pes(); ++pe) {
        EXPECT_EQ(most.copy_out(pe)[1], 0u);
        const auto warp = static_cast<std::uint64_t>(warp_lanes_of(*rt.machine().device(pe)));
        const bool one_warp = GetParam().starts_with("cpu");
        EXPECT_GE(most.copy_out(pe)[0], one_warp ? 1 : 2 * warp);
        EXPECT_EQ(ran.copy_out(pe)[0], 21u);
        EXPECT_EQ(sum.copy_out(pe)[0], ran.copy_out(pe)[1]);
    }
}

struct numbers {
    std::uint64_t id;
    std::uint32_t weight;
};

/// What kernels of a test have been launched with. They run on a thread for each PE.
struct launch_log {
    std::mutex mutex;
    std::vector<std::uint64_t> ids;
    std::vector<int> wrong;

    void keep(const launch_request& request, std::uint64_t pes) {
        const auto got = request.as<numbers>();
        const std::lock_guard lock(mutex);
        ids.push_back(got.id);
        if (got.weight != got.id * 3 || got.id % pes != static_cast<unsigned>(request.pe)) wrong.push_back(request.pe);
    }
};

/// Each lane has kernels launched on all PEs and waits until they have returned.
struct launch_many {
    std::uint64_t each;
    std::uint32_t kernel;
    std::uint32_t done;
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        const std::uint64_t mine = ctx.local_rank();
        if (mine >= 2) return;
        for (std::uint64_t i = 0; i < each; ++i) {
            const std::uint64_t id = (static_cast<std::uint64_t>(ctx.pe()) * 2 + mine) * each + i;
            const numbers given{id, static_cast<std::uint32_t>(id * 3)};
            const int pe = static_cast<int>(id % static_cast<unsigned>(ctx.n_pes()));
            if (remote.launch(ctx, pe, kernel, bytes_of_arguments(given), {}, {0, {ctx.pe(), done, 1}}) != status::ok) {
                return;
            }
        }
        const std::uint64_t lanes = ctx.local_size() < 2 ? ctx.local_size() : 2;
        (void)remote.wait_signal(ctx, done, each * lanes);  // a failure ends the run
    }
};

TEST_P(remote_session_test, KernelsAreLaunchedByTheHost) {
    for (std::uint64_t round = 0; round < (is_checked(GetParam()) ? rounds_of(GetParam()) : 6u); ++round) {
        runtime rt(job(round));
        const auto pes = static_cast<std::uint64_t>(rt.n_pes());
        launch_log log;
        const auto told = rt.allocate<std::uint64_t>(1);
        remote_queue remote(rt.machine(), {.slots = 2, .launches = 1u << round % 3});
        (void)remote.kernel("nobody's", [](const launch_request&) { throw usage_error("not to be launched"); });
        const auto kernel = remote.kernel("noted", [&](const launch_request& r) { log.keep(r, pes); });
        constexpr std::uint64_t each = 9;
        for (int run = 0; run < 2; ++run) {
            const std::size_t before = log.ids.size();
            rt.run(launch_many{each, kernel, remote.signal(told, 0)}, remote);
            std::uint64_t all = 0;
            for (int pe = 0; pe < rt.n_pes(); ++pe) all += told.copy_out(pe)[0];
            EXPECT_EQ(all, log.ids.size());
            EXPECT_EQ(remote.statistics().launched, log.ids.size() - before);
        }
        ASSERT_TRUE(log.wrong.empty());
        std::sort(log.ids.begin(), log.ids.end());
        ASSERT_FALSE(log.ids.empty());
        ASSERT_EQ(log.ids.size() % 2, 0u);  // each once in each of two runs
        for (std::size_t i = 0; i < log.ids.size(); i += 2) {
            ASSERT_EQ(log.ids[i], log.ids[i + 1]);
            ASSERT_TRUE(i == 0 || log.ids[i] != log.ids[i - 1]) << log.ids[i];
        }
    }
}

/// Sends a row to the last PE's kernel and waits for it.
struct send_to_kernel {
    symmetric_ref<std::uint32_t> from;
    symmetric_ref<std::uint64_t> wrong;
    std::uint32_t buffer;
    std::uint32_t kernel;
    std::uint32_t done;
    template <class Ctx, class Remote>
    LANEWAY_FN void operator()(Ctx& ctx, Remote& remote) const {
        if (ctx.pe() != 0 || !is_first_lane(ctx)) return;
        for (std::uint32_t i = 0; i < 10; ++i) from.local(ctx)[i] = 100 + i;
        const auto row = remote_payload::of(from, 0, 10, buffer, 5);
        (void)remote.launch(ctx, ctx.n_pes() - 1, kernel, {}, row, {0, {0, done, 3}});
        (void)remote.wait_signal(ctx, done, 3);  // failures end the run
        if (!stopped(ctx)) atomic_add(ctx, wrong[0], 1);
    }
};

TEST_P(remote_session_test, AKernelFindsItsPayload) {
    runtime rt(job());
    const auto from = rt.allocate<std::uint32_t>(16), to = rt.allocate<std::uint32_t>(16);
    const auto told = rt.allocate<std::uint64_t>(1), passed = rt.allocate<std::uint64_t>(1);
    remote_queue remote(rt.machine());
    std::vector<std::uint32_t> seen;
    std::uint64_t bytes = 0;
    const auto kernel = remote.kernel("copies", [&](const launch_request& request) {
        bytes = request.landed_bytes;
        if (request.device.kind == device_kind::cuda) return;  // its memory is not the host's to read
        const auto* const row = reinterpret_cast<const std::uint32_t*>(request.landed);
        seen.assign(row, row + request.landed_bytes / sizeof(std::uint32_t));
    });
    rt.run(send_to_kernel{from.ref(), passed.ref(), remote.buffer(to), kernel, remote.signal(told, 0)}, remote);
    EXPECT_EQ(bytes, 40u);
    EXPECT_EQ(passed.copy_out(0)[0], 1u);
    if (GetParam().starts_with("cuda")) return;
    ASSERT_EQ(seen.size(), 10u);
    for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(seen[i], 100 + i);
}

TEST_P(remote_session_test, HostThreadsHaveKernelsLaunched) {
    runtime rt(job());
    std::vector<std::vector<std::uint64_t>> ids(static_cast<std::size_t>(rt.n_pes()));
    remote_queue remote(rt.machine(), {.host_slots = 8, .launches = 2});
    const auto kernel = remote.kernel("noted", [&](const launch_request& request) {
        EXPECT_EQ(request.source, -1);
        ids[static_cast<std::size_t>(request.pe)].push_back(request.as<std::uint64_t>());
    });
    const auto told = rt.allocate<std::uint64_t>(1);
    const auto done = remote.signal(told, 0);
    auto session = rt.start(remote);
    for (std::uint64_t i = 0; i < 60; ++i) {
        const int pe = static_cast<int>(i % static_cast<unsigned>(rt.n_pes()));
        remote.launch(pe, kernel, bytes_of_arguments(i), {0, {0, done, 3}});
    }
    session.quiesce();  // a launch that has not returned is open work
    EXPECT_EQ(told.copy_out(0)[0], 180u);
    std::uint64_t sum = 0;
    for (const auto& list : ids) sum += list.size();
    EXPECT_EQ(sum, 60u);
    session.stop();
}

/// Has a kernel launched, and says what came of that.
struct launch_further {
    using arguments = std::uint32_t;
    static constexpr lw::width width = lw::width::lane;
    symmetric_ref<std::uint64_t> posted;
    symmetric_ref<std::uint64_t> refused;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& kernel, Worker& worker) const {
        const status result = worker.launch(ctx, ctx.n_pes() - 1, kernel, bytes_of_arguments(kernel));
        if (result == status::ok) atomic_add(ctx, posted[0], 1);
        if (result == status::no_room) atomic_add(ctx, refused[0], 1);
    }
};

TEST_P(remote_session_test, FunctionsHaveKernelsLaunched) {
    runtime rt(job());
    const auto posted = rt.allocate<std::uint64_t>(1), refused = rt.allocate<std::uint64_t>(1);
    std::atomic<std::uint64_t> returned = 0;
    remote_queue remote(rt.machine(), {.slots = 4}, launch_further{posted.ref(), refused.ref()});
    const auto kernel = remote.kernel("counted", [&](const launch_request& r) {
        EXPECT_EQ(r.pe, rt.n_pes() - 1);
        EXPECT_EQ(r.source, 0);
        ++returned;
    });
    auto session = rt.start(remote);
    remote.call<launch_further>(0, kernel);
    EXPECT_EQ(posted.copy_out(0)[0], 1u) << "there was room";
    for (int i = 0; i < 20; ++i) remote.post<launch_further>(0, kernel);
    session.stop();
    EXPECT_EQ(returned, posted.copy_out(0)[0]);
    EXPECT_EQ(posted.copy_out(0)[0] + refused.copy_out(0)[0], 21u);
}

TEST_P(remote_session_test, LaunchesWithoutRoomHoldNoWarpUp) {
    if (is_checked(GetParam())) return;  // there the launch thread takes its turns with the lanes
    runtime rt(job());
    const auto marks = rt.allocate<std::uint64_t>(1), lanes = rt.allocate<std::uint64_t>(2);
    remote_queue remote(rt.machine(), {.priorities = {0, 9}, .launches = 1}, mark_lane{marks.ref(), lanes.ref()});
    std::atomic<bool> go = false;
    std::atomic<int> returned = 0;
    const auto kernel = remote.kernel("waits", [&](const launch_request&) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!go && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++returned;
    });
    auto session = rt.start(remote);
    constexpr int launches = 60;  // more than a device device has warps
    for (int i = 0; i < launches; ++i) remote.launch(0, kernel, {});
    for (int i = 0; i < 20; ++i) remote.call<mark_lane>(0, 0, 1);
    EXPECT_EQ(returned, 0) << "commands waited for kernels";
    go = true;
    session.quiesce();
    EXPECT_EQ(returned, launches);
    EXPECT_EQ(marks.copy_out(0)[0], 20u);
    session.stop();
    EXPECT_EQ(remote.statistics().launched, static_cast<unsigned>(launches));
}

LANEWAY_ON_DEVICES(remote_session_test, remote_devices());

}  // namespace
}  // namespace laneway::test
