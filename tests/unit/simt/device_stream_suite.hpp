// Streams: operations in their order, streams beside each other, failures that stay in their stream.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "laneway/base/timeline.hpp"
#include "laneway/simt/staged_copies.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {
namespace {

class device_stream_test : public testing::TestWithParam<std::string> {};

/// A device with an engine, whose order of operations and kernels follows a seed on checked devices.
struct streams_of {
    streams_of(const std::string& devices, std::uint64_t round) {
        place.job = options_of(devices, round);
        place.job.timeout_seconds = 60;
        place.device = open_device(parse_devices(devices).front());
        engine = std::make_shared<stream_engine>(is_checked(devices) ? place.job.seed : 0);
    }
    device_stream make(const std::string& name = "stream") {
        return {engine, place, name, [this](const std::exception_ptr&) { ++failures; }};
    }
    template <class T>
    std::shared_ptr<T> allocate(std::size_t count) const {
        return {static_cast<T*>(place.device->allocate(count * sizeof(T))),
                [owner = place.device, count](T* memory) { owner->release(memory, count * sizeof(T)); }};
    }

    stream_place place;
    std::shared_ptr<stream_engine> engine;
    std::atomic<int> failures = 0;
};

void await(const event& mark) { ASSERT_TRUE(mark.wait_for(std::chrono::seconds(20))); }

struct triple_and_add {
    std::uint32_t* values;
    std::uint64_t count;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t i = ctx.rank(); i < count; i += ctx.size()) {
            values[i] = 3 * values[i] + static_cast<std::uint32_t>(i);
        }
    }
};

TEST_P(device_stream_test, OperationsAreDoneInTheirOrder) {
    for (std::uint64_t round = 0; round < 5; ++round) {
        streams_of streams(GetParam(), round);
        device_stream stream = streams.make();
        const auto memory = streams.allocate<std::uint32_t>(1000);
        std::vector<std::uint32_t> values(1000, 1), got(1000);
        stream.copy(memory.get(), values.data(), 4000);
        for (int i = 0; i < 3; ++i) stream.run(triple_and_add{memory.get(), 1000});
        stream.copy(got.data(), memory.get(), 4000);
        await(stream.record());
        for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(got[i], 27 + 13 * i);
        EXPECT_EQ(stream.waiting(), 0u);
    }
}

TEST_P(device_stream_test, RowsAreCopiedFromAndTo) {
    streams_of streams(GetParam(), 0);
    device_stream stream = streams.make();
    const auto memory = streams.allocate<std::uint8_t>(100);
    std::vector<std::uint8_t> values(100), got(100);
    for (std::size_t i = 0; i < 100; ++i) values[i] = static_cast<std::uint8_t>(i);
    stream.copy_rows(memory.get() + 3, 10, values.data(), 20, 4, 5);
    stream.copy(got.data(), memory.get(), 100);
    await(stream.record());
    for (std::size_t i = 0; i < 100; ++i) {
        const bool copied = i < 50 && i % 10 >= 3 && i % 10 < 7;
        EXPECT_EQ(got[i], copied ? i / 10 * 20 + i % 10 - 3 : 0) << i;
    }
}

TEST_P(device_stream_test, StagedCopiesThatAreLateTouchNothingOfTheCaller) {
    streams_of streams(GetParam(), 0);
    device_stream stream = streams.make();
    const auto memory = streams.allocate<std::uint8_t>(1000);
    staged_copies copies(stream, allocate_host_visible(streams.place.device, 64), 64, memory, 20);
    staged_copies late(stream, allocate_host_visible(streams.place.device, 64), 64, memory, 0.2);
    std::vector<std::uint8_t> values(1000), got(1000);
    for (std::size_t i = 0; i < 1000; ++i) values[i] = static_cast<std::uint8_t>(i * 7);
    copies.to_device(memory.get(), values.data(), 1000);
    copies.to_host(got.data(), memory.get(), 1000);
    EXPECT_EQ(got, values);
    const event gate = event::pending();
    stream.wait(gate);
    std::fill(got.begin(), got.end(), std::uint8_t{0});
    EXPECT_THROW(late.to_host(got.data(), memory.get(), 1000), timeout_error);
    EXPECT_THROW(late.to_device(memory.get(), got.data(), 1000), timeout_error);
    gate.complete();
    await(stream.record());
    EXPECT_EQ(got, std::vector<std::uint8_t>(1000)) << "what came late";
    copies.to_host(got.data(), memory.get(), 1000);
    EXPECT_EQ(got, values);
}

/// A stream some of whose copies fail.
struct failing_stream {
    struct broken : stream_backend {
        void copy(void*, const void*, std::size_t) override { throw std::out_of_range("no such memory"); }
        void copy_rows(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t) override {}
        void launch(const pe_program&, const launch_shape&) override {}
        void record(const event&, const std::exception_ptr&) override {}
        void write_value(std::uint64_t*, std::uint64_t) override {}
    };
    device_stream good;
    std::shared_ptr<bool> fails = std::make_shared<bool>(false);

    void copies(std::size_t bytes, const std::function<void(stream_backend&)>& calls) {
        good.copies(bytes, [calls, breaks = *fails](stream_backend& by) {
            broken none;
            calls(breaks ? static_cast<stream_backend&>(none) : by);
        });
    }
    event record() { return good.record(); }
};

TEST_P(device_stream_test, AStagedCopyThatFailsHarmsNoOther) {
    streams_of streams(GetParam(), 0);
    failing_stream stream{streams.make()};
    const auto memory = streams.allocate<std::uint8_t>(100);
    staged_copies<failing_stream> copies(stream, allocate_host_visible(streams.place.device, 64), 64, memory, 20);
    std::vector<std::uint8_t> values(100, 9), got(100);
    *stream.fails = true;
    EXPECT_THROW(copies.to_device(memory.get(), values.data(), 100), std::out_of_range);
    *stream.fails = false;
    copies.to_device(memory.get(), values.data(), 100);
    copies.to_host(got.data(), memory.get(), 100);
    EXPECT_EQ(got, values);
    EXPECT_EQ(streams.failures, 0);
}

TEST_P(device_stream_test, AStreamThatWaitsKeepsNoOtherWaiting) {
    streams_of streams(GetParam(), 1);
    device_stream waits = streams.make(), works = streams.make();
    const event gate = event::pending();
    waits.wait(gate);
    const event after = waits.record(), other = works.record();
    await(other);
    EXPECT_FALSE(after.done());
    gate.complete();
    await(after);
    EXPECT_FALSE(after.failure());
}

TEST_P(device_stream_test, StreamsHandOnByWords) {
    for (std::uint64_t round = 0; round < 5; ++round) {
        streams_of streams(GetParam(), round);
        device_stream one = streams.make(), two = streams.make();
        const auto memory = streams.allocate<std::uint32_t>(1000);
        const auto words = streams.allocate<std::uint64_t>(2);
        constexpr std::uint64_t turns = 4;
        for (std::uint64_t turn = 1; turn <= turns; ++turn) {
            two.wait_value(words.get(), turn);
            two.run(triple_and_add{memory.get(), 1000});
            two.write_value(words.get() + 1, turn);
        }
        for (std::uint64_t turn = 1; turn <= turns; ++turn) {
            one.wait_value(words.get() + 1, turn - 1);
            one.run(triple_and_add{memory.get(), 1000});
            one.write_value(words.get(), turn);
        }
        await(one.record());
        await(two.record());
        std::vector<std::uint32_t> got(1000);
        one.copy(got.data(), memory.get(), 4000);
        await(one.record());
        for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(got[i], 3280 * i);  // 1 + 3 + ... + 3^7
    }
}

/// `kept_in`: the timeline of what the streams do, or null.
void expect_that_a_wait_in_vain_ends(const std::string& devices, const std::shared_ptr<timeline>& kept_in) {
    streams_of streams(devices, 2);
    streams.place.job.timeout_seconds = 0.2;
    streams.place.log = {kept_in, kept_in ? kept_in->enter({streams.place.device->name()}) : 0, 0};
    const auto word = streams.allocate<std::uint64_t>(1);
    device_stream waits = streams.make("patient"), works = streams.make();
    std::atomic<int> calls = 0;
    waits.wait_value(word.get(), 7);
    works.write_value(word.get(), 6);
    await(works.record());
    const event end = waits.record();
    await(end);
    ASSERT_TRUE(end.failure());
    try {
        std::rethrow_exception(end.failure());
    } catch (const timeout_error& late) {
        EXPECT_EQ(late.what(), streams.place.device->name() +
                                   ": the stream \"patient\" waited in vain for a word to become 7: the deadline is "
                                   "0.2 s");
    }
    waits.call([&](void*) { ++calls; });
    await(waits.record());
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(streams.failures, 1);
    await(works.record());  // goes on
}

TEST_P(device_stream_test, AStreamThatWaitsInVainFails) {
    expect_that_a_wait_in_vain_ends(GetParam(), nullptr);
    // On a GPU what is recorded has the engine's thread, which ends such a wait, look at the GPU's time.
    expect_that_a_wait_in_vain_ends(GetParam(), std::make_shared<timeline>());
}

TEST_P(device_stream_test, AStreamThatGoesStillDoesItsWork) {
    streams_of streams(GetParam(), 2);
    std::atomic<int> calls = 0;
    event last;
    {
        device_stream stream = streams.make();
        for (int i = 0; i < 100; ++i) {
            stream.call([&](void* native) { calls += (native != nullptr) == streams.place.device->is_gpu() ? 1 : 0; });
        }
        last = stream.record();
    }
    await(last);
    EXPECT_EQ(calls, 100);
}

TEST_P(device_stream_test, AFailureEndsItsStreamAlone) {
    streams_of streams(GetParam(), 3);
    device_stream fails = streams.make(), works = streams.make();
    std::atomic<int> calls = 0;
    fails.call([](void*) { throw std::runtime_error("no luck"); });
    fails.call([&](void*) { ++calls; });
    const event failed = fails.record();
    works.call([&](void*) { calls += 10; });
    const event fine = works.record();
    await(failed);
    await(fine);
    EXPECT_TRUE(failed.failure());
    EXPECT_FALSE(fine.failure());
    EXPECT_EQ(calls, 10) << "what follows a failure is left out";
    works.wait(failed);
    const event after = works.record();
    await(after);
    EXPECT_EQ(after.failure(), failed.failure()) << "who waits for it fails with it";
    EXPECT_EQ(streams.failures, 2);
}

TEST_P(device_stream_test, WhatHasNoTurnFailsWhenTheEngineEnds) {
    event never, late;
    {
        streams_of streams(GetParam(), 4);
        device_stream stream = streams.make();
        stream.wait(event::pending());
        never = stream.record();
        EXPECT_TRUE(streams.engine->stop(wait_limit(std::chrono::seconds(5))));
        late = stream.record();
    }
    EXPECT_TRUE(never.failure());
    EXPECT_TRUE(late.failure());
}

struct reports {
    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (ctx.rank() == 0) (void)fail(ctx, status::no_room, operation::insert, -1, 5);
    }
};

TEST_P(device_stream_test, AReportedFaultNamesTheDevice) {
    streams_of streams(GetParam(), 5);
    device_stream stream = streams.make();
    stream.run(reports{});
    const event failed = stream.record();
    await(failed);
    ASSERT_TRUE(failed.failure());
    try {
        std::rethrow_exception(failed.failure());
    } catch (const device_fault& e) {
        const std::string what = e.what();
        EXPECT_NE(what.find(streams.place.device->name()), std::string::npos) << what;
        EXPECT_NE(what.find("no room left"), std::string::npos) << what;
    }
}

TEST_P(device_stream_test, AFaultIsToldThoughNobodyLooksAtAnEvent) {
    streams_of streams(GetParam(), 6);
    const event told = event::pending();
    device_stream stream(streams.engine, streams.place, "stream",
                         [told](const std::exception_ptr& why) { told.fail(why); });
    stream.run(reports{});
    await(told);
    EXPECT_TRUE(told.failure());
    const event after = stream.record();
    await(after);
    EXPECT_TRUE(after.failure());
}

TEST_P(device_stream_test, WhoWaitsForAFaultFailsWithIt) {
    streams_of streams(GetParam(), 7);
    device_stream fails = streams.make(), waits = streams.make();
    fails.run(reports{});
    waits.wait(fails.record());
    const event after = waits.record();  // the one event of it that anybody looks at
    await(after);
    EXPECT_TRUE(after.failure());
}

TEST_P(device_stream_test, AnEngineLooksAtWhatGoesOnElsewhere) {
    streams_of streams(GetParam(), 8);
    std::atomic<bool> goes_on = true;
    std::atomic<int> failures = 0;
    const auto elsewhere =
        streams.engine->add([&](const std::exception_ptr&) { ++failures; },
                            [&](bool) -> stream_engine::outlook {
                                if (goes_on) return {true, false, {}};
                                return {false, false, std::make_exception_ptr(std::runtime_error("no luck"))};
                            });
    streams.engine->push(elsewhere, {{}, [](auto&) {}});
    device_stream other = streams.make();
    await(other.record());
    EXPECT_FALSE(streams.engine->wait_until_idle(wait_limit(std::chrono::milliseconds(20))));
    goes_on = false;
    EXPECT_TRUE(streams.engine->wait_until_idle(wait_limit(std::chrono::seconds(20))));
    EXPECT_EQ(failures, 1);
    const event after = event::pending();
    streams.engine->push(elsewhere, {{}, [after](auto& failed) { after.fail(failed); }});
    await(after);
    EXPECT_TRUE(after.failure()) << "what follows is left out";
}

TEST_P(device_stream_test, OperationsHaveTheirTurnBetweenLooks) {
    constexpr int n = 400;
    streams_of streams(GetParam(), 9);
    std::atomic<int> looks = 0, done = 0;
    const auto elsewhere = streams.engine->add({}, [&](bool) -> stream_engine::outlook {
        ++looks;
        return {done < n, false, {}};
    });
    std::atomic<bool> all = false;
    streams.engine->push(elsewhere, {[&] { return all.load(); }, [&](auto&) { ++done; }});
    for (int i = 2; i < n; ++i) streams.engine->push(elsewhere, {{}, [&](auto&) { ++done; }});
    all = true;
    streams.engine->push(elsewhere, {{}, [&](auto&) { ++done; }});  // which has it look at the first again
    while (done < n) std::this_thread::yield();
    EXPECT_TRUE(streams.engine->wait_until_idle(wait_limit(std::chrono::seconds(20))));
    EXPECT_LT(looks, n / 2) << "each asks a GPU about all that goes on";
}

TEST_P(device_stream_test, OneLookEndsWhatQueuesWaitForInTurn) {
    constexpr int n = 200;
    streams_of streams(GetParam(), 10);
    std::atomic<int> ended = 0, asked = 0;
    std::atomic<bool> both = false;
    const auto look = [&](int parity) {
        return [&, parity](bool again) -> stream_engine::outlook {
            if (!again) ++asked;
            const bool mine = both && ended < n && ended % 2 == parity;
            if (mine) ++ended;
            return {ended < n, mine, {}};
        };
    };
    const auto one = streams.engine->add({}, look(0)), other = streams.engine->add({}, look(1));
    streams.engine->push(one, {{}, [](auto&) {}});
    streams.engine->push(other, {{}, [&](auto&) { both = true; }});
    while (ended < n) std::this_thread::yield();
    EXPECT_TRUE(streams.engine->wait_until_idle(wait_limit(std::chrono::seconds(20))));
    EXPECT_LT(asked, n / 2) << "an end of one queue's was seen by the other at the next look only";
}

TEST_P(device_stream_test, SeveralThreadsMayStopAnEngine) {
    for (int round = 0; round < 50; ++round) {
        stream_engine engine;
        std::vector<std::thread> all;
        for (int i = 0; i < 4; ++i) {
            all.emplace_back([&] { EXPECT_TRUE(engine.stop(wait_limit(std::chrono::seconds(20)))); });
        }
        for (auto& each : all) each.join();
    }
}

LANEWAY_ON_DEVICES(device_stream_test, lone_device());

}  // namespace
}  // namespace laneway::test
