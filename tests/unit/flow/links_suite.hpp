// Links: what is sent at one end arrives at the other, once and whole; wrong use is told.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "dataflow_job.hpp"
#include "flow/context_core.hpp"
#include "laneway/flow/router.hpp"

namespace laneway::test {
namespace {

class links_test : public testing::TestWithParam<std::string> {};

TEST_P(links_test, BytesArriveInPacketsInTheirOrder) {
    dataflow_rounds(GetParam(), [](const options& o) {
        const auto sent = numbers(1000 + o.seed);
        flow::context ctx(o);
        const auto& device = ctx.devices().back();
        const std::size_t packet = 64 + o.seed % 5 * 36;  // not all of them hold whole numbers only
        const flow::link in(ctx, ctx.host(), device, {packet, 1 + static_cast<int>(o.seed % 3)});
        const event done = in.send(segment::of(sent, 7));
        in.shutdown();
        std::vector<std::uint32_t> got;
        device_stream stream = ctx.make_stream(device, "receiving");
        std::uint64_t packets = 0;
        while (const auto part = in.receive().get()) {
            EXPECT_EQ(part.info().offset, got.size() * 4);
            EXPECT_EQ(part.info().message_bytes, sent.size() * 4);
            EXPECT_EQ(part.info().tag, 7u);
            EXPECT_EQ(part.source().name(), "host");
            ASSERT_LE(part.bytes(), packet);
            EXPECT_EQ(part.bytes() % 4, 0u);
            const std::size_t before = got.size();
            got.resize(before + part.count<std::uint32_t>());
            stream.wait(part.arrived());
            stream.copy(got.data() + before, part.as<std::uint32_t>(), part.bytes());
            ctx.wait(stream.record());
            in.release(part);
            ++packets;
        }
        EXPECT_EQ(got, sent);
        in.wait(done);
        EXPECT_EQ(in.count().packets, packets);
        EXPECT_EQ(packets, (sent.size() + packet / 4 - 1) / (packet / 4));
        EXPECT_EQ(in.count().bytes, sent.size() * 4);
        EXPECT_FALSE(in.receive().get()) << "the end stays the end";
    });
}

/// Adds to what it is given; the lanes of the grid share the elements out.
struct add_to_each {
    std::uint32_t* values;
    std::uint64_t count;
    std::uint32_t summand;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        for (std::uint64_t i = ctx.rank(); i < count; i += ctx.size()) values[i] += summand;
    }
};

TEST_P(links_test, ThreeStagesOverlapAndLoseNothing) {
    dataflow_rounds(GetParam(), [](const options& o) {
        flow::context ctx(o);
        const auto first = ctx.devices().front(), last = ctx.add_endpoint(ctx.devices().back(), "last");
        const flow::link_options sizes{256, 2};
        const flow::link in(ctx, ctx.host(), first, sizes), on(ctx, first, last, sizes),
            out(ctx, last, ctx.host(), sizes);
        const auto stage = [&ctx](const flow::endpoint& at, const flow::link& from, const flow::link& to) {
            ctx.start_worker(at, [from, to, &ctx](device_stream& stream) {
                while (const auto part = from.receive().get()) {
                    stream.wait(part.arrived());
                    stream.run(add_to_each{part.as<std::uint32_t>(), part.count<std::uint32_t>(), 1000});
                    auto what = segment::of(part.as<std::uint32_t>(), part.count<std::uint32_t>());
                    what.tag = part.info().offset + part.info().tag;
                    const event sent = to.send(what, stream);
                    to.wait(sent);  // the buffer is free when the next stage has its copy
                    from.release(part);
                }
                to.shutdown();
            });
        };
        stage(first, in, on);
        stage(last, on, out);
        auto sent = numbers(3000);
        (void)in.send(segment::of(sent));
        in.shutdown();
        std::vector<std::uint32_t> got;
        while (const auto part = out.receive().get()) {
            ctx.wait(part.arrived());
            EXPECT_EQ(part.info().tag, got.size() * 4);
            got.insert(got.end(), part.as<std::uint32_t>(), part.as<std::uint32_t>() + part.count<std::uint32_t>());
            out.release(part);
        }
        ctx.join();
        for (auto& value : sent) value += 2000;
        EXPECT_EQ(got, sent);
    });
}

TEST_P(links_test, TheBuffersBoundWhatIsUnderWay) {
    const auto sent = numbers(40);
    flow::context ctx(dataflow_options(GetParam(), 0));
    const flow::link in(ctx, ctx.host(), ctx.devices()[0], {16, 3});
    const event done = in.send(segment::of(sent));
    std::vector<flow::pending_segment> held;
    for (int i = 0; i < 3; ++i) {
        held.push_back(in.receive().get());
        ctx.wait(held.back().arrived());
    }
    const auto fourth = in.receive();
    EXPECT_EQ(in.count().packets, 3u);
    EXPECT_FALSE(fourth.ready());
    EXPECT_FALSE(done.done());
    in.release(held[1]);  // in any order
    EXPECT_EQ(fourth.get().info().offset, 48u);
    EXPECT_EQ(in.count().packets, 4u);
}

// Links come and go, and to pin and free memory for each of them takes as long as megabytes take to be copied.
TEST_P(links_test, BuffersOfLinksAreUsedAgain) {
    options o;
    o.devices = GetParam();
    flow::context ctx(o);
    const std::size_t packet = 4096;
    for (const int device : {0, flow::host_memory}) {
        auto taken = ctx.core()->take_buffer(device, packet);
        const std::byte* const first = taken.get();
        const auto beside = ctx.core()->take_buffer(device, packet);
        EXPECT_NE(beside.get(), first);
        taken.reset();
        const auto between = ctx.core()->allocate(device, packet);  // would get what has been freed
        const auto longer = ctx.core()->take_buffer(device, 2 * packet);
        EXPECT_NE(between.get(), first);
        EXPECT_NE(longer.get(), first);
        EXPECT_EQ(ctx.core()->take_buffer(device, packet).get(), first);
    }
}

// The next packet is known at once, so that the host keeps no copy waiting. Its bytes come when the stream has read
// what lay there.
TEST_P(links_test, AReleaseOnAStreamWaitsForTheStream) {
    dataflow_rounds(GetParam(), [](const options& o) {
        const auto sent = numbers(8);
        flow::context ctx(o);
        const auto& device = ctx.devices().back();
        const flow::link in(ctx, ctx.host(), device, {16, 1});
        (void)in.send(segment::of(sent));
        device_stream stream = ctx.make_stream(device, "reading");
        const event gate = event::pending();
        const auto first = in.receive().get();
        std::vector<std::uint32_t> got(4);
        stream.wait(first.arrived());
        stream.wait(gate);
        stream.copy(got.data(), first.as<std::uint32_t>(), 16);
        in.release(first, stream);
        const auto second = in.receive().get();
        EXPECT_EQ(second.info().offset, 16u);
        EXPECT_THROW(in.release(first), usage_error) << "its buffer has another packet";
        device_stream other = ctx.make_stream(device, "other");
        ctx.wait(other.record());  // the device's thread has had its chance
        EXPECT_FALSE(second.arrived().done());
        gate.complete();
        ctx.wait(second.arrived());
        EXPECT_EQ(got, numbers(4));
        EXPECT_EQ(fetch(ctx, device, second.as<std::uint32_t>(), 4), numbers(4, 4));
    });
}

// Whoever has room first gets a router's packets.
TEST_P(links_test, BehindARouterABufferIsFreeWhenItIsRead) {
    const auto sent = numbers(8);
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices()[0];
    const flow::router router(ctx, flow::any_available());
    const flow::link feed(ctx, ctx.host(), router), out(ctx, router, device, {16, 1});
    (void)feed.send(segment::of(sent));
    device_stream stream = ctx.make_stream(device, "reading");
    const event gate = event::pending();
    const auto first = out.receive().get();
    stream.wait(gate);
    out.release(first, stream);
    const auto second = out.receive();
    device_stream other = ctx.make_stream(device, "other");
    ctx.wait(other.record());
    EXPECT_FALSE(second.ready());
    gate.complete();
    EXPECT_EQ(second.get().info().offset, 16u);
}

TEST_P(links_test, ABufferThatNothingReadsComesFirst) {
    const auto sent = numbers(12);
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices()[0];
    const flow::link in(ctx, ctx.host(), device, {16, 2});
    device_stream stream = ctx.make_stream(device, "reading");
    const event gate = event::pending();
    ctx.wait(in.send(segment::of(sent.data(), 8)));
    const auto first = in.receive().get(), second = in.receive().get();
    stream.wait(gate);
    in.release(first, stream);
    in.release(second);
    (void)in.send(segment::of(sent.data() + 8, 4));
    const auto third = in.receive().get();
    ctx.wait(third.arrived());
    EXPECT_EQ(third.as<std::uint32_t>(), second.as<std::uint32_t>());
    gate.complete();
}

TEST_P(links_test, WhatAStreamReleasesKeepsItsLink) {
    const auto sent = numbers(4000);
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices()[0];
    device_stream stream = ctx.make_stream(device, "reading");
    const event gate = event::pending();
    std::vector<std::uint32_t> got(4000);
    {
        const flow::link in(ctx, ctx.host(), device, {16000, 1});
        ctx.wait(in.send(segment::of(sent)));
        const auto part = in.receive().get();
        stream.wait(gate);
        stream.copy(got.data(), part.as<std::uint32_t>(), 16000);
        in.release(part, stream);
    }
    EXPECT_GE(ctx.core()->devices[0]->held_bytes(), 16000u) << "its buffer is still being read";
    gate.complete();
    ctx.wait(stream.record());
    EXPECT_EQ(got, sent);
}

TEST_P(links_test, ABufferIsFreeWhenItsBytesHaveComeToo) {
    const auto first = numbers(4), second = numbers(4, 100);
    flow::context ctx(dataflow_options(GetParam(), 0));
    const flow::link in(ctx, ctx.host(), ctx.devices()[0], {16, 1});
    device_stream late = ctx.make_stream(ctx.host(), "late");
    const event gate = event::pending();
    late.wait(gate);
    (void)in.send(segment::of(first), late);
    (void)in.send(segment::of(second));
    in.release(in.receive().get());
    const auto part = in.receive().get();
    EXPECT_FALSE(part.arrived().done()) << "two copies would go to one buffer";
    gate.complete();
    ctx.wait(part.arrived());
    EXPECT_EQ(fetch(ctx, ctx.devices()[0], part.as<std::uint32_t>(), 4), second);
}

TEST_P(links_test, AReceiveThatGoesLeavesItsPacket) {
    const auto sent = numbers(8);
    flow::context ctx(dataflow_options(GetParam(), 0));
    const flow::link in(ctx, ctx.host(), ctx.devices()[0], {16, 1});
    { const auto before = in.receive(); }
    const event done = in.send(segment::of(sent));
    in.shutdown();
    { const auto given = in.receive(); }
    for (const std::uint64_t offset : {0u, 16u}) {
        const auto part = in.receive().get();
        ASSERT_TRUE(part);
        EXPECT_EQ(part.info().offset, offset);
        in.release(part);
    }
    EXPECT_FALSE(in.receive().get());
    in.wait(done);
}

TEST_P(links_test, StreamsAndThreadsWaitForOneEvent) {
    dataflow_rounds(GetParam(), [](const options& o) {
        const auto sent = numbers(100, static_cast<std::uint32_t>(o.seed));
        flow::context ctx(o);
        const auto& device = ctx.devices().back();
        const flow::link in(ctx, ctx.host(), device, {4096, 2});
        const auto packet = in.receive();  // nothing has been sent
        device_stream stream = ctx.make_stream(device, "waiting");
        std::vector<std::uint32_t> got(100);
        stream.wait(packet.arrived());
        const event after = stream.record();
        EXPECT_FALSE(after.done());
        (void)in.send(segment::of(sent));
        ctx.wait(packet.arrived());
        ctx.wait(after);
        stream.copy(got.data(), packet.get().as<std::uint32_t>(), 400);
        ctx.wait(stream.record());
        EXPECT_EQ(got, sent);
    });
}

TEST_P(links_test, ASendWaitsForTheStreamThatMakesIt) {
    dataflow_rounds(GetParam(), [](const options& o) {
        flow::context ctx(o);
        const auto& device = ctx.devices().back();
        const flow::link out(ctx, device, ctx.host(), {1 << 16, 1});
        const auto values = numbers(500);
        const auto memory = place(ctx, device, values);
        device_stream stream = ctx.make_stream(device, "adding");
        const event gate = event::pending();
        stream.wait(gate);
        for (int i = 0; i < 3; ++i) stream.run(add_to_each{memory.get(), 500, 5});
        const event sent = out.send(segment::of<std::uint32_t>(memory.get(), 500), stream);
        const auto packet = out.receive().get();  // known before its bytes are there
        EXPECT_FALSE(packet.arrived().done());
        gate.complete();
        ctx.wait(packet.arrived());
        EXPECT_TRUE(std::equal(values.begin(), values.end(), packet.as<std::uint32_t>(),
                               [](std::uint32_t a, std::uint32_t b) { return a + 15 == b; }));
        out.wait(sent);
    });
}

TEST_P(links_test, RowsArePackedTogether) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices().back();
    const auto matrix = numbers(60 * 40);  // 60 rows of 40; columns 5 to 11
    const auto memory = place(ctx, device, matrix);
    const flow::link out(ctx, device, ctx.host(), {100, 2});  // three rows of 28 bytes
    (void)out.send(segment::strided<std::uint32_t>(memory.get() + 5, 60, 7, 40));
    out.shutdown();
    const auto got = receive_all<std::uint32_t>(ctx, out, ctx.host(), 60 * 7);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], matrix[i / 7 * 40 + 5 + i % 7]);
    EXPECT_EQ(out.count().packets, 20u);
}

TEST_P(links_test, MessagesWithoutElementsArriveToo) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const flow::link in(ctx, ctx.host(), ctx.devices()[0]);
    (void)in.send(segment{.tag = 1});
    (void)in.send(segment::of(numbers(0), 2));
    in.shutdown();
    for (const std::uint64_t tag : {1u, 2u}) {
        const auto part = in.receive().get();
        ASSERT_TRUE(part);
        EXPECT_EQ(part.info().tag, tag);
        EXPECT_EQ(part.bytes(), 0u);
        in.release(part);
    }
    EXPECT_FALSE(in.receive().get());
}

// Errors.

TEST_P(links_test, WrongLinksAreRefused) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices()[0];
    const flow::link in(ctx, ctx.host(), device);
    const std::string name = "link host -> " + device.name();
    EXPECT_EQ(in.name(), name);
    const auto refused = [&](const flow::endpoint& from, const flow::endpoint& to, const flow::link_options& sizes) {
        return thrown<usage_error>([&] { const flow::link wrong(ctx, from, to, sizes); });
    };
    EXPECT_NE(refused(device, device, {}).find("not one with itself"), std::string::npos);
    EXPECT_NE(refused(ctx.host(), device, {}).find(name + ": there is a link between these two"), std::string::npos);
    EXPECT_NE(refused(device, ctx.host(), {0, 2}).find("packet_bytes"), std::string::npos);
    EXPECT_NE(refused(device, ctx.host(), {16, 0}).find("buffers"), std::string::npos);
    const flow::link virtual_one(ctx, ctx.host(), ctx.add_endpoint(device, "second"));
    EXPECT_EQ(virtual_one.name(), name + " (second)");
}

TEST_P(links_test, EndpointsOfAnotherContextAreRefused) {
    flow::context ctx(dataflow_options(GetParam(), 0)), other(dataflow_options(GetParam(), 0));
    const auto& theirs = other.devices().back();
    EXPECT_FALSE(ctx.devices().back() == theirs);
    const auto refused = [&](auto&& call) {
        EXPECT_EQ(thrown<usage_error>(call), theirs.name() + " is an endpoint of another context");
    };
    refused([&] { const flow::link wrong(ctx, ctx.host(), theirs); });
    refused([&] { const flow::link wrong(ctx, theirs, ctx.host()); });
    refused([&] { (void)ctx.make_stream(theirs, "s"); });
    refused([&] { (void)ctx.allocate<int>(theirs, 1); });
    refused([&] { (void)ctx.add_endpoint(theirs, "second"); });
    refused([&] { ctx.start_worker(theirs, [](device_stream&) {}); });
}

TEST_P(links_test, WrongSendsAndReleasesAreRefused) {
    const auto sent = numbers(4);
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices()[0];
    const flow::link in(ctx, ctx.host(), device, {16, 2}), out(ctx, device, ctx.host(), {16, 2});
    const auto send = [&](const segment& what) { return thrown<usage_error>([&] { (void)in.send(what); }); };
    EXPECT_NE(send({sent.data(), 16, 32}).find("no whole elements of 32"), std::string::npos);
    EXPECT_NE(send({sent.data(), 16, 0}).find("no whole elements"), std::string::npos);
    EXPECT_NE(send({nullptr, 16, 4}).find("without memory"), std::string::npos);
    const std::vector<std::uint64_t> long_ones(4);
    const flow::link narrow(ctx, ctx.host(), ctx.add_endpoint(device, "narrow"), {4, 1});
    EXPECT_NE(thrown<usage_error>([&] {
                  (void)narrow.send(segment::of(long_ones));
              }).find("packets of 4 bytes hold no element of 8"),
              std::string::npos);
    (void)in.send(segment::of(sent));
    const auto part = in.receive().get();
    EXPECT_NE(thrown<usage_error>([&] { out.release(part); }).find("of another link"), std::string::npos);
    in.release(part);
    EXPECT_NE(thrown<usage_error>([&] { in.release(part); }).find("released twice"), std::string::npos);
    EXPECT_NE(thrown<usage_error>([&] { in.release({}); }).find("end of the packets"), std::string::npos);
    in.shutdown();
    in.shutdown();
    EXPECT_NE(send(segment::of(sent)).find("link host -> " + device.name() + ": a send after shutdown()"),
              std::string::npos);
}

TEST_P(links_test, WaitsEndWithTheirDeadlineAndNameTheLink) {
    options o = dataflow_options(GetParam(), 0);
    o.timeout_seconds = 0.1;
    const auto sent = numbers(16);
    flow::context ctx(o);
    const flow::link in(ctx, ctx.host(), ctx.devices()[0], {16, 2});
    const auto none = thrown<timeout_error>([&] { (void)in.receive().get(); });
    EXPECT_NE(none.find(in.name() + ": no packet came within 0.1 s"), std::string::npos) << none;
    EXPECT_EQ(thrown<timeout_error>([&] { (void)in.send(segment::of(sent)); }), none) << "it has ended the dataflow";
    flow::context again(o);
    const flow::link other(again, again.host(), again.devices()[0], {16, 2});
    const event done = other.send(segment::of(sent));
    const auto stuck = thrown<timeout_error>([&] { other.wait(done); });
    EXPECT_NE(stuck.find(other.name() + ": a send was not received within 0.1 s: 2 packets wait for a buffer; of 2 "
                                        "buffers 0 are free, 2 hold packets that nobody has released"),
              std::string::npos)
        << stuck;
}

TEST_P(links_test, ADeadlineTellsOfInputsOfARouterThatMayStillSend) {
    options o = dataflow_options(GetParam(), 0);
    o.timeout_seconds = 0.1;
    flow::context ctx(o);
    const flow::router router(ctx, flow::any_available());
    const flow::link in(ctx, ctx.host(), router, {16, 2}), also(ctx, ctx.devices()[0], router, {16, 2});
    const flow::link out(ctx, router, ctx.devices()[0], {16, 2});
    also.shutdown();
    const auto none = thrown<timeout_error>([&] { (void)out.receive().get(); });
    EXPECT_NE(none.find("; 1 input of the router may still send: see shutdown"), std::string::npos) << none;
}

TEST_P(links_test, ADeadlineTellsOfABufferThatIsBeingRead) {
    options o = dataflow_options(GetParam(), 0);
    o.timeout_seconds = 0.1;
    const auto sent = numbers(12);
    flow::context ctx(o);
    const auto& device = ctx.devices()[0];
    const event gate = event::pending();
    const flow::link in(ctx, ctx.host(), device, {16, 1});
    device_stream stream = ctx.make_stream(device, "reading");
    const event done = in.send(segment::of(sent));
    stream.wait(gate);
    in.release(in.receive().get(), stream);
    const auto stuck = thrown<timeout_error>([&] { in.wait(done); });
    gate.complete();
    EXPECT_NE(stuck.find("1 packets wait for a buffer; of 1 buffers 0 are free, 0 hold packets that nobody has "
                         "released, 1 are still being read"),
              std::string::npos)
        << stuck;
}

#if !defined(__CUDACC__)
struct throwing_body {
    template <class Ctx>
    void operator()(Ctx& ctx) const {
        if (ctx.rank() + 1 == ctx.size()) throw std::runtime_error("no luck");
    }
};

TEST_P(links_test, AFunctionThatThrowsEndsAllWaits) {
    dataflow_rounds(GetParam(), [](const options& o) {
        const auto sent = numbers(4);
        flow::context ctx(o);
        const auto& device = ctx.devices().back();
        const flow::link in(ctx, ctx.host(), device), out(ctx, device, ctx.host());
        ctx.start_worker(device, [in, out](device_stream& stream) {
            const auto part = in.receive().get();
            stream.run(throwing_body{});
            out.wait(out.send(segment::of(part.as<std::uint32_t>(), 1), stream));
        });
        (void)in.send(segment::of(sent));
        const auto why = thrown<lane_error>([&] { (void)out.receive().get().arrived().failure(), ctx.join(); });
        EXPECT_NE(why.find(device.name()), std::string::npos) << why;
        EXPECT_NE(why.find("no luck"), std::string::npos) << why;
        EXPECT_EQ(thrown<lane_error>([&] { (void)in.send(segment::of(sent)); }), why) << "the first error stays";
    });
}
#endif

#if !defined(__CUDACC__)
/// Does not look at its deadline, and leaves its core to others meanwhile.
struct endless_body {
    const std::atomic<bool>* over;
    std::atomic<bool>* inside;

    template <class Ctx>
    void operator()(Ctx&) const {
        *inside = true;
        while (!*over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
};

TEST_P(links_test, WhatDoesNotEndKeepsTheMemoryOfItsDevices) {
    std::atomic<bool> over = false, inside = false;  // outlive the kernel
    options o = dataflow_options(GetParam(), 0);
    o.cpu_threads = 1;
    o.timeout_seconds = 0.1;
    flow::context ctx(o);
    device_stream stream = ctx.make_stream(ctx.devices()[0], "endless");
    stream.run(endless_body{&over, &inside});
    while (!inside) std::this_thread::yield();
    EXPECT_THROW(ctx.wait(stream.record()), timeout_error);
    EXPECT_TRUE(ctx.core()->devices.front()->abandoned());
    EXPECT_TRUE(ctx.core()->devices.back()->abandoned()) << "the kernel may use memory of the host";
    over = true;
    ctx.close();
}
#endif

TEST_P(links_test, WorkersMayStartWhileOthersAreJoined) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    std::atomic<bool> all = false;
    std::thread other([&] {
        for (int i = 0; i < 200; ++i) ctx.start_worker(ctx.host(), [](device_stream&) {});
        all = true;
    });
    while (!all) ctx.join();
    other.join();
    ctx.join();
}

TEST_P(links_test, AWorkerIsOverWhenItsStreamIs) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices()[0];
    const event gate = event::pending();
    ctx.start_worker(device, [gate](device_stream& stream) {
        stream.wait(gate);
        stream.call([](void*) { throw std::runtime_error("late"); });
    });
    auto joined = std::async(std::launch::async, [&] { return thrown<lane_error>([&] { ctx.join(); }); });
    EXPECT_EQ(joined.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
    gate.complete();
    EXPECT_EQ(joined.get(), "worker of " + device.name() + ": late");
}

TEST_P(links_test, EnginesThatSeeAnErrorDoNotWaitForEachOther) {
    if (is_checked(GetParam())) return;  // has one engine
    flow::context ctx(patient_options(GetParam()));
    std::atomic<int> inside = 0;
    const auto look = [&](void*) {
        ++inside;
        while (inside < 2) std::this_thread::yield();
        ctx.fail(std::make_exception_ptr(usage_error("mine")));
        EXPECT_THROW(ctx.check(), usage_error);
    };
    device_stream one = ctx.make_stream(ctx.host(), "one"), two = ctx.make_stream(ctx.devices()[0], "two");
    one.call(look);
    two.call(look);
    const event ended = when_all({one.record(), two.record()});
    EXPECT_THROW(ctx.wait(ended), usage_error);
}

TEST_P(links_test, AClosedContextTakesNothing) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    ctx.close();
    EXPECT_NE(thrown<usage_error>([&] { ctx.start_worker(ctx.host(), [](device_stream&) {}); }).find("been closed"),
              std::string::npos);
    EXPECT_THROW((void)ctx.make_stream(ctx.host(), "s"), usage_error);
}

TEST_P(links_test, AWorkerThatThrowsIsNamed) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices()[0];
    const flow::link out(ctx, device, ctx.host());
    ctx.start_worker(device, [](device_stream&) { throw std::runtime_error("no luck"); });
    const auto why = thrown<lane_error>([&] { (void)out.receive().get(); });
    EXPECT_EQ(why, "worker of " + device.name() + ": no luck");
    EXPECT_EQ(thrown<lane_error>([&] { ctx.join(); }), why);
}

TEST_P(links_test, AContextEndsWhileWorkersWait) {
    event left;
    {
        const auto sent = numbers(40);
        flow::context ctx(patient_options(GetParam()));
        const auto& device = ctx.devices()[0];
        const flow::link in(ctx, ctx.host(), device, {16, 1});
        ctx.start_worker(device, [in](device_stream&) {
            while (const auto part = in.receive().get()) {
            }
        });
        left = in.send(segment::of(sent));
    }
    EXPECT_TRUE(left.done()) << "what was not received fails";
    EXPECT_TRUE(left.failure());
}

LANEWAY_ON_DEVICES(links_test, device_lists());

}  // namespace
}  // namespace laneway::test
