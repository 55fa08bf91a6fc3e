// Commands of host threads with payloads: what has landed is there when functions and kernels run.
#pragma once

#include <array>
#include <atomic>
#include <thread>

#include "remote_job.hpp"

namespace laneway::test {
namespace {

struct row_command {
    std::uint64_t seed;
    std::uint64_t at;
    std::uint32_t count;
};

LANEWAY_FN std::uint32_t element_of(std::uint64_t seed, std::uint64_t i) {
    return static_cast<std::uint32_t>((seed * 1000003u + i) * 2654435761u >> 3);
}

std::vector<std::uint32_t> row_of(std::uint64_t seed, std::uint32_t count) {
    std::vector<std::uint32_t> row(count);
    for (std::uint32_t i = 0; i < count; ++i) row[i] = element_of(seed, i);
    return row;
}

/// Compares what has landed with what the command says; all lanes that run it do.
template <width Width>
struct compare_as {
    using arguments = row_command;
    static constexpr lw::width width = Width;
    symmetric_ref<std::uint64_t> told;  ///< commands, elements that were right, and wrong ones

    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& row, Worker& worker) const {
        const remote_landed& landed = worker.landed();
        if (worker.lane() == 0) atomic_add(ctx, told[0], 1);
        if (landed.count != row.count || landed.at != row.at) atomic_add(ctx, told[2], 1);
        const auto elements = worker.template payload<std::uint32_t>(ctx);
        std::uint64_t right = 0;
        for (auto i = static_cast<std::uint32_t>(worker.lane()); i < landed.count;
             i += static_cast<std::uint32_t>(worker.lanes())) {
            const std::uint32_t found = elements[i];
            if (found == element_of(row.seed, i)) ++right;
        }
        atomic_add(ctx, told[1], right);
    }
};
using compare_lane = compare_as<width::lane>;
using compare_warp = compare_as<width::warp>;
using compare_block = compare_as<width::block>;

class remote_payload_test : public remote_sessions {};

TEST_P(remote_payload_test, LandsBeforeTheFunctionRuns) {
    constexpr std::uint32_t longest = 70;
    constexpr std::uint64_t threads = 3, each = 24;
    for (std::uint64_t round = 0; round < 2; ++round) {
        runtime rt(job(round));
        const auto pes = static_cast<unsigned>(rt.n_pes());
        const auto target = rt.allocate<std::uint32_t>(threads * each * longest);
        const auto told = rt.allocate<std::uint64_t>(3);
        // Room for two long payloads or some short ones: threads wait for it, and it is used again and again.
        remote_queue remote(rt.machine(), {.priorities = {0, 1}, .host_slots = 4, .host_payload_bytes = 640},
                            compare_lane{told.ref()}, compare_warp{told.ref()}, compare_block{told.ref()});
        const auto buffer = remote.buffer(target);
        auto session = rt.start(remote);
        std::atomic<std::uint64_t> elements = 0;
        std::vector<std::thread> posting;
        for (std::uint64_t t = 0; t < threads; ++t) {
            posting.emplace_back([&, t] {
                for (std::uint64_t i = 0; i < each; ++i) {
                    const std::uint64_t id = t * each + i, at = id * longest;
                    const std::uint32_t count = std::array{1u, longest, 0u, 7u, 33u}[i % 5];
                    const int pe = static_cast<int>(id % pes);
                    auto row = row_of(id, count);
                    const auto payload = host_payload::of(row, buffer, at);
                    const remote_request how{static_cast<std::uint32_t>(i % 2), {}};
                    switch (i % 4) {
                        case 0: remote.post<compare_lane>(pe, {id, at, count}, payload, how); break;
                        case 1: remote.post<compare_warp>(pe, {id, at, count}, payload, how); break;
                        case 2: remote.post<compare_block>(pe, {id, at, count}, payload, how); break;
                        default: remote.call<compare_warp>(pe, {id, at, count}, payload, how.queue);
                    }
                    std::fill(row.begin(), row.end(), ~0u);  // it has been copied
                    elements += count;
                }
            });
        }
        for (auto& t : posting) t.join();
        session.quiesce();
        session.stop();
        std::uint64_t commands = 0, right = 0, wrong = 0;
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            const auto here = told.copy_out(pe);
            commands += here[0];
            right += here[1];
            wrong += here[2];
        }
        EXPECT_EQ(commands, threads * each);
        EXPECT_EQ(right, elements);
        EXPECT_EQ(wrong, 0u);
    }
}

TEST_P(remote_payload_test, ABufferIsUsedAgainBehindEachCall) {
    runtime rt(job());
    const auto target = rt.allocate<std::uint32_t>(64);
    const auto told = rt.allocate<std::uint64_t>(3);
    remote_queue remote(rt.machine(), compare_lane{told.ref()}, compare_block{told.ref()});
    const auto buffer = remote.buffer(target);
    const int last = rt.n_pes() - 1;
    auto session = rt.start(remote);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto row = row_of(seed, 50);
        const auto payload = host_payload::of(row, buffer, 14);
        if (seed % 2 == 0) remote.call<compare_lane>(last, {seed, 14, 50}, payload);
        if (seed % 2 == 1) remote.call<compare_block>(last, {seed, 14, 50}, payload);
    }
    session.stop();
    EXPECT_EQ(told.copy_out(last), (std::vector<std::uint64_t>{20, 1000, 0}));
    const auto landed = target.copy_out(last);
    for (std::uint32_t i = 0; i < 14; ++i) EXPECT_EQ(landed[i], 0u);
    for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(landed[14 + i], element_of(19, i));
}

TEST_P(remote_payload_test, PayloadsThatNobodyOrdersAreTold) {
    if (!is_checked(GetParam())) return;  // they are lost there
    runtime rt(job());
    const auto target = rt.allocate<std::uint32_t>(64);
    const auto told = rt.allocate<std::uint64_t>(3);
    remote_queue remote(rt.machine(), compare_warp{told.ref()});
    const auto buffer = remote.buffer(target);
    auto session = rt.start(remote);
    const auto row = row_of(1, 50);
    const std::string text = thrown<usage_error>([&] {
        for (int i = 0; i < 20; ++i) remote.post<compare_warp>(0, {1, 0, 50}, host_payload::of(row, buffer));
        session.quiesce();
    });
    says(text, "no order between two accesses to word ");
    EXPECT_THROW(session.stop(), usage_error);
}

TEST_P(remote_payload_test, AKernelFindsItAndIsWaitedFor) {
    runtime rt(job());
    const auto target = rt.allocate<std::uint32_t>(64);
    remote_queue remote(rt.machine());
    const auto buffer = remote.buffer(target);
    std::atomic<std::uint64_t> returned = 0, wrong = 0;
    const auto kernel = remote.kernel("compares", [&](const launch_request& r) {
        const auto row = r.as<row_command>();
        if (r.landed_bytes != row.count * sizeof(std::uint32_t)) ++wrong;
        if (r.device.kind != device_kind::cuda) {  // whose memory is not the host's to read
            const auto* const elements = reinterpret_cast<const std::uint32_t*>(r.landed);
            for (std::uint32_t i = 0; i < row.count; ++i) wrong += elements[i] == element_of(row.seed, i) ? 0 : 1;
        }
        ++returned;
    });
    auto session = rt.start(remote);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const int pe = static_cast<int>(seed) % rt.n_pes();
        const auto row = row_of(seed, 40);
        const auto arguments = bytes_of_arguments(row_command{seed, 3, 40});
        remote.call_kernel(pe, kernel, arguments, host_payload::of(row, buffer, 3));
        EXPECT_EQ(returned, 2 * seed + 1) << "it has returned";
        remote.launch(pe, kernel, arguments, host_payload::of(row, buffer, 3));
        session.quiesce();
        EXPECT_EQ(returned, 2 * seed + 2);
    }
    EXPECT_EQ(wrong, 0u);
    session.stop();
    EXPECT_EQ(remote.statistics().launched, 20u);
}

TEST_P(remote_payload_test, WhatCannotLandIsRefused) {
    runtime rt(job());
    const auto target = rt.allocate<std::uint32_t>(16);
    const auto told = rt.allocate<std::uint64_t>(3);
    remote_queue remote(rt.machine(), {.host_payload_bytes = 48}, compare_warp{told.ref()});
    const auto buffer = remote.buffer(target);
    const int last = rt.n_pes() - 1;
    const std::string where =
        " while storing the payload of a command on PE " + std::to_string(last) + ": target buffer ";
    auto session = rt.start(remote);
    const std::vector<std::uint32_t> row(4);
    const auto refused = [&](const host_payload& payload) {
        return thrown<usage_error>([&] { remote.post<compare_warp>(last, {}, payload); });
    };
    EXPECT_EQ(refused(host_payload::of(row, 3)), "remote queue: no such index" + where + "3, where there are 0 to 0");
    const std::string range = "remote queue: elements that do not exist, have been freed, or are out of reach" + where;
    EXPECT_EQ(refused(host_payload::of(row, buffer, 13)), range + "0, 4 elements from 13 on, where there are 16");
    EXPECT_EQ(refused(host_payload::of(row, buffer, ~std::uint64_t{0})),
              range + "0, 4 elements from 18446744073709551615 on, where there are 16");
    EXPECT_EQ(refused(host_payload::of(std::vector<float>(4), buffer)),
              range + "0, which has elements of another type");
    EXPECT_EQ(refused(host_payload::of(std::vector<std::uint32_t>(9), buffer)),
              "a payload of 36 bytes, where remote_queue_options::host_payload_bytes leaves room for 32");
    EXPECT_THROW(remote.call_kernel(last, 0, {}, host_payload::of(row, buffer)), usage_error);
    remote.call<compare_warp>(last, {0, 16, 0}, host_payload::of(std::vector<std::uint32_t>{}, buffer, 16));
    remote.call<compare_warp>(last, {5, 8, 8}, host_payload::of(row_of(5, 8), buffer, 8));
    session.stop();
    EXPECT_EQ(told.copy_out(last), (std::vector<std::uint64_t>{2, 8, 0})) << "nothing is left of what was refused";
}

TEST_P(remote_payload_test, AFreedBufferEndsTheSession) {
    runtime rt(job());
    const auto told = rt.allocate<std::uint64_t>(3);
    remote_queue remote(rt.machine(), compare_warp{told.ref()});
    std::uint32_t buffer = 0;
    {
        const auto freed = rt.allocate<std::uint32_t>(16);
        buffer = remote.buffer(freed);
    }
    auto session = rt.start(remote);
    const std::vector<std::uint32_t> row(4);
    says(thrown<device_fault>([&] {
             for (;;) remote.call<compare_warp>(0, {0, 0, 4}, host_payload::of(row, buffer));
         }),
         "elements that do not exist, have been freed, or are out of reach while storing the payload of a command on "
         "PE 0: target buffer 0");
    EXPECT_THROW(session.stop(), device_fault);
    EXPECT_EQ(told.copy_out(0)[0], 0u) << "it did not run";
}

LANEWAY_ON_DEVICES(remote_payload_test, remote_devices());

}  // namespace
}  // namespace laneway::test
