// Host threads that wait for tasks, commands and elements of a PE that is never told to take any: each wait ends at the
// deadline of the session.
#pragma once

#include "laneway/channel_graph.hpp"
#include "laneway/task/remote_queue.hpp"
#include "laneway/task/task_pool.hpp"
#include "unit/test_devices.hpp"
#include "unit/thrown.hpp"

namespace laneway::test {
namespace {

struct nothing_to_do {
    using arguments = no_arguments;
    using result = void;
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx&, const arguments&) const {}
};
struct nothing_to_run {
    using arguments = std::uint64_t;
    static constexpr lw::width width = lw::width::lane;
    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx&, const arguments&, Worker&) const {}
};
struct nothing_to_consume {
    using element = std::uint32_t;
    template <class Ctx>
    LANEWAY_FN outcome operator()(Ctx&, const std::uint32_t&, channel_node&) const {
        return outcome::done;
    }
};

class host_waits_test : public testing::TestWithParam<std::string> {
protected:
    static constexpr int several = 100;  ///< more than a PE has room for in these tests

    /// `use(runtime)` waits in vain where PE 1 hears nothing of PE 0, and not otherwise.
    template <class Use>
    static void ends(const Use& use) {
        options o;
        o.devices = GetParam();
        o.timeout_seconds = 1;
        o.fault = injected_fault::mute_termination;
        {
            runtime rt(o);
            const std::string late = thrown<timeout_error>([&] { use(rt); });
            EXPECT_NE(late.find("did not do in time"), std::string::npos) << late;
        }
        o.timeout_seconds = 60;
        o.fault = injected_fault::none;
        runtime rt(o);
        EXPECT_NO_THROW(use(rt));
    }
};

TEST_P(host_waits_test, ForTasks) {
    ends([](runtime& rt) {
        task_pool pool(task_pool_options{}, nothing_to_do{});
        auto session = rt.start(pool);
        std::vector<task_future<void>> all;
        for (int i = 0; i < several; ++i) all.push_back(pool.submit<nothing_to_do>());
        for (const auto& one : all) one.wait();
    });
    ends([](runtime& rt) {
        task_pool pool(task_pool_options{}, nothing_to_do{});
        auto session = rt.start(pool);
        std::vector<task_future<void>> all;
        for (int i = 0; i < several; ++i) all.push_back(pool.submit<nothing_to_do>());
        pool.wait_all(all);
        session.quiesce();
    });
}

TEST_P(host_waits_test, ForCommands) {
    if (is_mixed(GetParam())) GTEST_SKIP() << "a store reaches no PE of another kind";
    for (const bool waits : {false, true}) {
        ends([waits](runtime& rt) {
            remote_queue remote(rt.machine(), {.host_slots = 4}, nothing_to_run{});
            auto session = rt.start(remote);
            if (waits) remote.call<nothing_to_run>(1, 7);
            for (int i = 0; i < several; ++i) remote.post<nothing_to_run>(1, 7);
        });
    }
}

TEST_P(host_waits_test, ForRoomForPayloads) {
    if (is_mixed(GetParam())) GTEST_SKIP() << "a store reaches no PE of another kind";
    ends([](runtime& rt) {
        const auto target = rt.allocate<std::uint64_t>(several);
        remote_queue remote(rt.machine(), {.host_payload_bytes = 64}, nothing_to_run{});
        const auto buffer = remote.buffer(target);
        auto session = rt.start(remote);
        const std::vector<std::uint64_t> one(1);
        for (int i = 0; i < several; ++i) remote.call<nothing_to_run>(0, 7, host_payload::of(one, buffer));
        for (unsigned i = 0; i < several; ++i) remote.post<nothing_to_run>(1, 7, host_payload::of(one, buffer, i));
    });
}

TEST_P(host_waits_test, ForRoomInChannels) {
    ends([](runtime& rt) {
        channel_graph graph(rt);
        const auto to = graph.channel<std::uint32_t>(64);
        const auto kernel = graph.kernel(nothing_to_consume{});
        graph.connect(to, kernel);
        auto service = graph.service_with({.inbox_slots = 16}, deepest_or_fullest_first{}, kernel);
        auto session = rt.start(service);
        for (std::uint32_t i = 0; i < several; ++i) service.enqueue(to, i, 1);
    });
}

LANEWAY_ON_DEVICES(host_waits_test, lists_of_late_hosts());

}  // namespace
}  // namespace laneway::test
