// A pool of tasks of built-in types, for callers that know them by number: results, ends in their order, failures.
#pragma once

#include <cstring>
#include <map>
#include <numeric>
#include <thread>

#include "tasks/adder.hpp"
#include "tasks/call_body.hpp"
#include "tasks/mandelbrot.hpp"
#include "tasks/task_service.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

using apps::built_in;
using apps::task_end;

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

template <class T>
std::vector<T> values_of(const task_end& end) {
    std::vector<T> values(end.result_bytes / sizeof(T));
    std::memcpy(values.data(), end.results, end.result_bytes);
    return values;
}

class task_service_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] static apps::task_service_options chosen() {
        apps::task_service_options o;
        o.job.devices = GetParam();
        o.operand_bytes = 1 << 20;
        return o;
    }
    /// All ends, by tag, once nothing is open.
    static std::map<std::size_t, task_end> all_ends(apps::task_service& service) {
        std::map<std::size_t, task_end> ends;
        while (service.open() > 0) {
            for (task_end& end : service.take_ended()) ends.emplace(reinterpret_cast<std::size_t>(end.tag), end);
        }
        return ends;
    }
    static void* tag(std::size_t number) { return reinterpret_cast<void*>(number); }
    static void expect_failure(const task_end& end, const std::string& words) {
        ASSERT_NE(end.failure, nullptr);
        try {
            std::rethrow_exception(end.failure);
        } catch (const error& e) {
            EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
        }
    }
};

TEST_P(task_service_test, TypesAreChosenByNumber) {
    apps::task_service service(chosen());
    const std::vector<apps::adder::arguments> sums{{1, 2, 3}, {0, 1, 101}, {5, 5, 0}};
    const std::vector<std::uint64_t> times{1000};
    const std::vector<float> matrices{1, 2, 3, 4, 5, 6, 7, 8};
    const std::vector<apps::mandelbrot::row> rows{{-2, 0, 2, 50}, {2, 0, 1, 50}};
    service.submit(
        {.type = built_in::adder, .inputs = bytes_of(sums).first(sizeof sums[0]), .request = {}, .tag = tag(1)});
    service.submit({.type = built_in::adder, .count = 3, .inputs = bytes_of(sums), .request = {}, .tag = tag(2)});
    service.submit({.type = built_in::spin, .inputs = bytes_of(times), .request = {}, .tag = tag(3)});
    service.submit({.type = built_in::matmul,
                    .inputs = bytes_of(matrices),
                    .setting = 2,
                    .output_bytes = 16,
                    .request = {},
                    .tag = tag(4)});
    service.submit({.type = built_in::mandelbrot,
                    .count = 2,
                    .inputs = bytes_of(rows),
                    .setting = 2,
                    .output_bytes = 8,
                    .request = {},
                    .tag = tag(5)});
    std::map<std::size_t, std::vector<double>> doubles;
    while (doubles.size() < 5) {
        for (const task_end& end : service.take_ended()) {
            ASSERT_EQ(end.failure, nullptr);
            const auto number = reinterpret_cast<std::size_t>(end.tag);
            std::vector<double>& found = doubles[number];
            if (number <= 2) found = values_of<double>(end);
            if (number == 3) found = {values_of<std::uint64_t>(end).at(0) >= 1000 ? 1.0 : 0.0};
            if (number == 4)
                for (const float value : values_of<float>(end)) found.push_back(value);
            if (number == 5)
                for (const std::uint32_t value : values_of<std::uint32_t>(end)) found.push_back(value);
        }
    }
    EXPECT_EQ(doubles[1], (std::vector<double>{9}));
    EXPECT_EQ(doubles[2], (std::vector<double>{9, 5050, 0}));
    EXPECT_EQ(doubles[3], (std::vector<double>{1}));
    EXPECT_EQ(doubles[4], (std::vector<double>{19, 22, 43, 50}));
    EXPECT_EQ(doubles[5], (std::vector<double>{50, 50, 2, 1}));
    EXPECT_EQ(service.statistics().submitted, 8u);
    service.close();
}

TEST_P(task_service_test, EveryEndIsToldOnce) {
    apps::task_service service(chosen());
    const std::size_t count = is_checked(GetParam()) ? 100 : 5000;
    std::thread submits([&] {
        for (std::size_t i = 1; i <= count; ++i) {
            const std::vector<apps::adder::arguments> given{{static_cast<double>(i), 0, 1}};
            service.submit({.inputs = bytes_of(given), .request = {}, .tag = tag(i)});
        }
    });
    std::vector<int> told(count + 1);
    for (std::size_t seen = 0; seen < count;) {
        for (const task_end& end : service.take_ended()) {
            const auto number = reinterpret_cast<std::size_t>(end.tag);
            ASSERT_EQ(values_of<double>(end).at(0), static_cast<double>(number));
            ++told[number];
            ++seen;
        }
    }
    submits.join();
    EXPECT_EQ(std::count(told.begin() + 1, told.end(), 1), static_cast<std::ptrdiff_t>(count));
    EXPECT_EQ(service.open(), 0u);
    service.wake();
    EXPECT_TRUE(service.take_ended().empty());
}

TEST_P(task_service_test, TasksFollowUntilTheirEndHasBeenTaken) {
    apps::task_service service(chosen());
    const std::vector<apps::adder::arguments> one{{1, 0, 1}};
    const task_id first = service.submit({.inputs = bytes_of(one), .request = {}});
    EXPECT_EQ(service.take_ended().size(), 1u);
    const task_id second = service.submit({.inputs = bytes_of(one), .request = {.after = {first}}});
    EXPECT_EQ(service.take_ended().size(), 1u) << "which forgets the first";
    EXPECT_THROW(service.submit({.inputs = bytes_of(one), .request = {.after = {first, second}}}), unknown_task);
    EXPECT_FALSE(service.cancel(first));
    EXPECT_FALSE(service.is_given(first));
    service.submit({.inputs = bytes_of(one), .request = {.after = {second}}});
    EXPECT_EQ(service.take_ended().size(), 1u);
}

TEST_P(task_service_test, AnotherProgramTakesOverBetweenTasks) {
    apps::task_service service(chosen());
    const auto architectures = service.architectures();
    EXPECT_EQ(architectures.empty(), !service.has_gpus());
    const std::size_t count = is_checked(GetParam()) ? 100 : 5000;
    std::thread submits([&] {
        for (std::size_t i = 1; i <= count; ++i) {
            const std::vector<apps::adder::arguments> given{{static_cast<double>(i), 0, 1}};
            service.submit({.inputs = bytes_of(given), .request = {}, .tag = tag(i)});
        }
    });
    apps::linked_bodies bodies{{{1, 0}}, {{0, std::vector<std::byte>(64)}}};
    for (const int architecture : architectures) bodies.code[architecture] = bodies.code[0];
    for (int i = 0; i < 5; ++i) {
        if (service.has_gpus()) {
            EXPECT_THROW(service.link(bodies), error) << "that is no machine code, and the program stays";
        } else {
            EXPECT_NO_THROW(service.link(bodies)) << "CPU devices need none";
        }
    }
    submits.join();
    const auto ends = all_ends(service);
    ASSERT_EQ(ends.size(), count);
    for (const auto& [number, end] : ends) ASSERT_EQ(end.failure, nullptr);
    if (service.has_gpus()) {
        const std::vector<double> one{1};
        EXPECT_THROW(
            service.submit({.type = built_in::call_body, .inputs = bytes_of(one), .setting = 5, .request = {}}),
            usage_error)
            << "GPUs have no such body";
    }
    service.close();
}

TEST_P(task_service_test, WhatIsNotDoneWhenItEndsIsLost) {
    apps::task_service service(chosen());
    const std::vector<std::uint64_t> long_time(64, 1'000'000'000'000);
    service.submit({.type = built_in::spin, .inputs = bytes_of(long_time).first(8), .request = {}, .tag = tag(1)});
    service.submit({.type = built_in::spin, .count = 64, .inputs = bytes_of(long_time), .request = {}, .tag = tag(2)});
    EXPECT_EQ(service.open(), 2u);
    EXPECT_THROW(service.end(), interrupted);
    const auto ends = all_ends(service);
    ASSERT_EQ(ends.size(), 2u);
    for (const auto& [number, end] : ends) expect_failure(end, "left before it was done");
    EXPECT_THROW(service.submit({.type = built_in::spin, .inputs = bytes_of(long_time).first(8), .request = {}}),
                 usage_error);
    EXPECT_TRUE(service.take_ended().empty());
}

TEST_P(task_service_test, TasksThatAreLostTellWhatEndedThePoolFirst) {
    apps::task_service_options o = chosen();
    o.job.timeout_seconds = 0.5;
    apps::task_service service(o);
    const std::vector<std::uint64_t> long_time(1, 1'000'000'000'000);
    service.submit({.type = built_in::spin, .inputs = bytes_of(long_time), .request = {}, .tag = tag(1)});
    std::string ended;
    try {
        (void)all_ends(service);
    } catch (const error& e) {
        ended = e.what();
    }
    EXPECT_NE(ended.find("deadline"), std::string::npos) << ended;
    EXPECT_THROW(service.end(), error);
    const auto ends = all_ends(service);
    ASSERT_EQ(ends.size(), 1u);
    expect_failure(ends.begin()->second, ended);
}

TEST_P(task_service_test, ABatchWaitsNoLongerThanTheDeadlineForMemoryThatNobodyGivesBack) {
    apps::task_service_options o = chosen();
    o.job.timeout_seconds = 1;
    o.pool.batch_bytes = 100'000;
    apps::task_service service(o);
    const std::vector<std::uint64_t> no_time(5'000, 0);  // 40,000 bytes of arguments, and as many of what is told
    const apps::task_submission batch{
        .type = built_in::spin, .count = 5'000, .inputs = bytes_of(no_time), .request = {}, .tag = tag(1)};
    service.submit(batch);
    try {
        service.submit(batch);
        ADD_FAILURE() << "there was memory for both";
    } catch (const timeout_error& late) {
        EXPECT_EQ(std::string(late.what()),
                  "a task waits for memory of others, of which 1 are not done or their ends not taken: the deadline is "
                  "1 s");
    }
    EXPECT_EQ(all_ends(service).size(), 1u);
    service.wake();
    (void)service.take_ended();  // gives back what the ends before have kept
    EXPECT_NO_THROW(service.submit(batch));
    EXPECT_EQ(all_ends(service).size(), 1u);
}

#if !defined(__CUDACC__)
/// As a compiled body is called.
int positive(const void* arguments, void* result, char* text, std::size_t text_bytes) {
    const int given = *static_cast<const int*>(arguments);
    *static_cast<int*>(result) = given * 2;
    if (given >= 0) return 0;
    std::snprintf(text, text_bytes, "%d is not positive", given);
    return 1;
}

TEST_P(task_service_test, BodiesAreCalledByTheirAddress) {
    apps::task_service service(chosen());
    std::vector<int> given(300);
    std::iota(given.begin(), given.end(), 0);
    apps::task_submission calls{.type = built_in::call_body,
                                .count = 300,
                                .inputs = bytes_of(given),
                                .setting = reinterpret_cast<std::uint64_t>(&positive),
                                .output_bytes = 4,
                                .request = {},
                                .tag = tag(1)};
    service.submit(calls);
    auto ends = all_ends(service);
    const auto results = values_of<int>(ends.at(1));
    for (int i = 0; i < 300; ++i) ASSERT_EQ(results[static_cast<std::size_t>(i)], 2 * i);
    given[211] = given[250] = -7;
    service.submit(calls);
    ends = all_ends(service);
    expect_failure(ends.at(1), "-7 is not positive");
    EXPECT_TRUE(ends.at(1).in_task);
    EXPECT_EQ(ends.at(1).failed_task, 211u);
    calls.count = 0;
    calls.inputs = bytes_of(given).subspan(4 * 211, 4);
    service.submit(calls);
    ends = all_ends(service);
    expect_failure(ends.at(1), "-7 is not positive");
    EXPECT_FALSE(ends.at(1).in_task);
}
#else
// Those of CPU devices come from the heap.
TEST_P(task_service_test, OperandsThatFindNoRoomWaitOrAreRefused) {
    apps::task_service service(chosen());
    const std::vector<float> matrices(2 * 256 * 256, 1.0F);
    const apps::task_submission one{.type = built_in::matmul,
                                    .inputs = bytes_of(matrices),
                                    .setting = 256,
                                    .output_bytes = 256 * 256 * 4,
                                    .request = {}};
    std::size_t ended = 0;
    std::thread listens([&] {
        while (ended < 20) ended += service.take_ended().size();
    });
    for (int i = 0; i < 20; ++i) service.submit(one);
    listens.join();
    const std::vector<float> large(2 * 512 * 512);
    apps::task_submission too_large = one;
    too_large.inputs = bytes_of(large);
    too_large.setting = 512;
    EXPECT_THROW(service.submit(too_large), task_queue_full);
}
#endif

LANEWAY_ON_DEVICES(task_service_test, program_lists());

}  // namespace
}  // namespace laneway::test
