// Routers: packets go where the policy says, once; whoever is ready first takes what anybody may take.
#pragma once

#include <atomic>
#include <map>

#include "dataflow_job.hpp"
#include "laneway/flow/router.hpp"

namespace laneway::test {
namespace {

class routers_test : public testing::TestWithParam<std::string> {};

/// Two receivers at least, whatever the list.
std::vector<flow::endpoint> receivers(flow::context& ctx) {
    std::vector<flow::endpoint> all = ctx.devices();
    all.push_back(ctx.add_endpoint(all.front(), "second"));
    return all;
}

std::vector<flow::link> links_to(flow::context& ctx, const flow::router& from, const std::vector<flow::endpoint>& to,
                                 const flow::link_options& sizes) {
    std::vector<flow::link> links;
    for (const auto& end : to) links.emplace_back(ctx, from, end, sizes);
    return links;
}

/// All packets of a link until its end, by their offsets.
std::map<std::uint64_t, std::vector<std::uint32_t>> packets_of(flow::context& ctx, const flow::link& in,
                                                               const flow::endpoint& at) {
    std::map<std::uint64_t, std::vector<std::uint32_t>> all;
    device_stream stream = ctx.make_stream(at, "receiving");
    while (const auto part = in.receive().get()) {
        std::vector<std::uint32_t> values(part.count<std::uint32_t>());
        stream.wait(part.arrived());
        stream.copy(values.data(), part.as<std::uint32_t>(), part.bytes());
        ctx.wait(stream.record());
        EXPECT_TRUE(all.emplace(part.info().offset + (part.info().message << 32), values).second) << "twice";
        in.release(part);
    }
    return all;
}

TEST_P(routers_test, EveryPacketIsTakenOnceByAnyReceiver) {
    dataflow_rounds(GetParam(), [](const options& o) {
        const auto sent = numbers(2000);
        flow::context ctx(o);
        const auto to = receivers(ctx);
        const flow::router router(ctx, flow::any_available(), "scatter");
        const flow::link feed(ctx, ctx.host(), router, {80, 1});
        const auto links = links_to(ctx, router, to, {100, 1 + static_cast<int>(o.seed % 2)});
        const flow::router back(ctx, flow::any_available(), "gather");
        const flow::link collect(ctx, back, ctx.host(), {100, 2});
        for (std::size_t i = 0; i < to.size(); ++i) {
            const flow::link in = links[i], out(ctx, to[i], back, {100, 2});
            ctx.start_worker(to[i], [in, out](device_stream& stream) {
                while (const auto part = in.receive().get()) {
                    stream.wait(part.arrived());
                    auto same = segment::of(part.as<std::uint32_t>(), part.count<std::uint32_t>(), part.info().offset);
                    out.wait(out.send(same, stream));
                    in.release(part);
                }
                out.shutdown();
            });
        }
        const event done = feed.send(segment::of(sent));
        feed.shutdown();
        std::vector<std::uint32_t> got(sent.size(), ~0u);
        std::vector<int> times(sent.size());
        while (const auto part = collect.receive().get()) {
            ctx.wait(part.arrived());
            for (std::size_t i = 0; i < part.count<std::uint32_t>(); ++i) {
                const std::size_t at = part.info().tag / 4 + i;
                got[at] = part.as<std::uint32_t>()[i];
                ++times[at];
            }
            collect.release(part);
        }
        feed.wait(done);
        ctx.join();
        EXPECT_EQ(got, sent);
        EXPECT_EQ(times, std::vector<int>(sent.size(), 1));
        std::uint64_t packets = 0;
        for (const auto& link : links) packets += link.count().packets;
        EXPECT_EQ(packets, 100u);
        EXPECT_EQ(collect.count().packets, 100u);
    });
}

TEST_P(routers_test, WhoReleasesTakesTheNextPacket) {
    const auto sent = numbers(static_cast<std::size_t>(50));
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto to = receivers(ctx);
    const flow::router router(ctx, flow::any_available());
    const flow::link feed(ctx, ctx.host(), router, {4, 1});
    const auto links = links_to(ctx, router, to, {4, 1});
    const event done = feed.send(segment::of(sent));
    feed.shutdown();
    // All but the last receiver hold what they have: that one gets all the rest.
    std::vector<flow::pending_segment> held;
    for (std::size_t i = 0; i + 1 < links.size(); ++i) held.push_back(links[i].receive().get());
    const std::size_t rest = sent.size() - held.size();
    for (std::size_t i = 0; i < rest; ++i) {
        const auto part = links.back().receive().get();
        ASSERT_TRUE(part);
        links.back().release(part);
    }
    EXPECT_FALSE(links.back().receive().get()) << "the end comes though others hold packets";
    feed.wait(done);
    EXPECT_EQ(links.back().count().packets, rest);
    EXPECT_EQ(links.front().count().packets, 1u);
    for (std::size_t i = 0; i < held.size(); ++i) {
        links[i].release(held[i]);
        EXPECT_FALSE(links[i].receive().get()) << "stale sends are dropped";
        EXPECT_EQ(links[i].count().stale, sent.size() - 1) << i;
    }
}

TEST_P(routers_test, ABroadcastReachesAllButItsSender) {
    dataflow_rounds(GetParam(), [](const options& o) {
        flow::context ctx(o);
        const auto to = receivers(ctx);
        const flow::router router(ctx, flow::broadcast());
        const auto links = links_to(ctx, router, to, {60, 2});
        const flow::link feed(ctx, to.front(), router, {64, 1});
        const auto values = numbers(300);
        const auto memory = place(ctx, to.front(), values);
        const event done = feed.send(segment::of<std::uint32_t>(memory.get(), values.size()));
        feed.shutdown();
        std::vector<std::vector<std::uint32_t>> got(to.size());
        for (std::size_t i = 1; i < to.size(); ++i) {
            ctx.start_worker(to[i], [&, i](device_stream&) {
                got[i] = receive_all<std::uint32_t>(ctx, links[i], to[i], values.size());
            });
        }
        EXPECT_FALSE(links[0].receive().get());
        ctx.join();
        feed.wait(done);
        for (std::size_t i = 1; i < to.size(); ++i) EXPECT_EQ(got[i], values) << i;
    });
}

TEST_P(routers_test, OwnersAndEvenSharesAreFixed) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto to = receivers(ctx);
    const std::size_t n = to.size();
    const flow::router owners(ctx, flow::by_owner()), shares(ctx, flow::even_split(), "shares");
    const flow::link mine(ctx, ctx.host(), owners), even(ctx, ctx.host(), shares, {40, 1});
    const auto owned = links_to(ctx, owners, to, {1 << 12, 2});
    std::vector<flow::endpoint> others;
    for (const auto& end : to) others.push_back(ctx.add_endpoint(end, "share"));
    const auto shared = links_to(ctx, shares, others, {40, 2});
    const auto sent = numbers(n * 100);
    for (std::size_t i = 0; i < n; ++i) (void)mine.send(segment::of(sent.data() + i, 1, n - 1 - i));
    mine.shutdown();
    for (std::size_t i = 0; i < n; ++i) {
        const auto packets = packets_of(ctx, owned[i], to[i]);
        ASSERT_EQ(packets.size(), 1u);
        EXPECT_EQ(packets.begin()->second, numbers(1, static_cast<std::uint32_t>(n - 1 - i)));
    }
    (void)even.send(segment::of(sent));
    even.shutdown();
    for (std::size_t i = 0; i < n; ++i) {
        const auto packets = packets_of(ctx, shared[i], others[i]);
        EXPECT_EQ(packets.size(), 10u);
        EXPECT_EQ(packets.begin()->first, i * 400);
    }
}

TEST_P(routers_test, ARingPassesOnToTheNext) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto around = receivers(ctx);
    const std::size_t n = around.size();
    const flow::router router(ctx, flow::ring());
    const auto in = links_to(ctx, router, around, {64, 1});
    std::vector<std::uint32_t> last(n);
    for (std::size_t i = 0; i < n; ++i) {
        const flow::link from = in[i], out(ctx, around[i], router, {64, 1});
        ctx.start_worker(around[i], [&, i, from, out](device_stream& stream) {
            auto mine = place(ctx, around[i], numbers(1, static_cast<std::uint32_t>(i)));
            for (std::size_t hop = 0; hop < n; ++hop) {
                const event sent = out.send(segment::of<std::uint32_t>(mine.get(), 1), stream);
                const auto part = from.receive().get();
                out.wait(sent);
                stream.wait(part.arrived());
                stream.copy(mine.get(), part.as<std::uint32_t>(), 4);
                from.release(part, stream);
            }
            out.shutdown();
            ctx.wait(stream.record());
            last[i] = fetch(ctx, around[i], mine.get(), 1)[0];
            EXPECT_FALSE(from.receive().get());
        });
    }
    ctx.join();
    EXPECT_EQ(last, numbers(n)) << "n hops lead back";
}

TEST_P(routers_test, ATreeLeadsToItsRootAndToTheHost) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    std::vector<flow::endpoint> nodes;
    for (int i = 0; i < 6; ++i) nodes.push_back(ctx.add_endpoint(ctx.devices()[0], std::to_string(i)));
    const flow::router router(ctx, flow::tree());
    const auto in = links_to(ctx, router, nodes, {64, 8});
    const flow::link result(ctx, router, ctx.host());
    const std::size_t parents[] = {0, 0, 0, 2, 0, 4};
    const auto values = numbers(1);
    const auto memory = place(ctx, nodes[0], values);
    std::vector<flow::link> out;
    for (const auto& node : nodes) out.emplace_back(ctx, node, router);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const event sent = out[i].send(segment::of<std::uint32_t>(memory.get(), 1, i));
        const auto got = i == 0 ? result.receive().get() : in[parents[i]].receive().get();
        EXPECT_EQ(got.info().tag, i);
        EXPECT_EQ(got.source().name(), nodes[i].name());
        out[i].wait(sent);
    }
}

TEST_P(routers_test, PoliciesOfUsersSeeThePacket) {
    const auto sent = numbers(100);
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto to = receivers(ctx);
    std::atomic<int> asked = 0;
    const auto policy = [&](const flow::packet_info& packet, const flow::endpoint& from,
                            const std::vector<flow::endpoint>& ends) {
        EXPECT_EQ(from.name(), "host");
        EXPECT_EQ(ends.size(), to.size());
        EXPECT_EQ(packet.message_bytes, 400u);
        ++asked;
        return flow::route{{packet.offset / 40 % 2, packet.offset / 40 % 2}};  // named twice, sent once
    };
    const flow::router router(ctx, policy);
    const flow::link feed(ctx, ctx.host(), router, {1000, 1});
    const auto links = links_to(ctx, router, to, {40, 20});
    feed.wait(feed.send(segment::of(sent)));
    EXPECT_EQ(asked, 10);
    EXPECT_EQ(links[0].count().packets, 5u);
    EXPECT_EQ(links[1].count().packets, 5u);
}

TEST_P(routers_test, WrongPoliciesAreNamed) {
    const auto sent = numbers(10);
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices()[0];
    auto refused = [&, n = 0](const flow::routing_policy& policy) mutable {
        const flow::router router(ctx, policy, "r" + std::to_string(++n));
        const flow::link feed(ctx, ctx.host(), router), out(ctx, router, device);
        return thrown<usage_error>([&] { (void)feed.send(segment::of(sent)); });
    };
    using ends = std::vector<flow::endpoint>;
    EXPECT_NE(refused([](auto&, auto&, const ends&) {
                  return flow::route{};
              }).find("router 'r1': its policy, asked for packet at byte 0 of message 0 from host, named no"),
              std::string::npos);
    EXPECT_NE(refused([](auto&, auto&, const ends&) { return flow::route{{3}}; }).find("named output 3 of 1"),
              std::string::npos);
    EXPECT_NE(refused([](auto&, auto&, const ends&) -> flow::route {
                  throw std::runtime_error("no idea");
              }).find("threw: no idea"),
              std::string::npos);
    EXPECT_NE(refused(flow::ring()).find("no place in its ring"), std::string::npos);
    EXPECT_NE(refused(flow::tree()).find("no place in its tree"), std::string::npos);
    EXPECT_NE(thrown<usage_error>([&] { const flow::router none(ctx, {}, "n"); }).find("router 'n' has no policy"),
              std::string::npos);
}

TEST_P(routers_test, ASendThatThrowsHasSentNothing) {
    const auto sent = numbers(8);
    flow::context ctx(dataflow_options(GetParam(), 0));
    const flow::router router(ctx, flow::by_owner([](const flow::packet_info& p) { return p.offset == 0 ? 0u : 9u; }));
    const flow::link feed(ctx, ctx.host(), router), out(ctx, router, ctx.devices()[0], {16, 1});
    EXPECT_THROW((void)feed.send(segment::of(sent)), usage_error);
    feed.shutdown();
    EXPECT_FALSE(out.receive().get());
    EXPECT_EQ(out.count().packets, 0u);
}

TEST_P(routers_test, ABroadcastEndsWithItsLastCopy) {
    auto sent = numbers(4);
    const auto first = sent;
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto to = receivers(ctx);
    const flow::router router(ctx, flow::broadcast());
    const flow::link feed(ctx, ctx.host(), router), stays(ctx, router, to[0], {16, 2});
    auto goes = std::make_unique<flow::link>(ctx, router, to[1], flow::link_options{16, 1});
    ctx.wait(feed.send(segment::of(sent)));
    device_stream late = ctx.make_stream(ctx.host(), "late");
    const event gate = event::pending();
    late.wait(gate);
    const event done = feed.send(segment::of(sent), late);
    goes.reset();  // with a packet that nobody takes
    EXPECT_FALSE(done.done()) << "the other copy still reads the memory";
    gate.complete();
    EXPECT_THROW(ctx.wait(done), usage_error);
    std::fill(sent.begin(), sent.end(), 0u);
    stays.release(stays.receive().get());
    const auto part = stays.receive().get();
    ctx.wait(part.arrived());
    EXPECT_EQ(fetch(ctx, to[0], part.as<std::uint32_t>(), 4), first);
}

TEST_P(routers_test, ARouterThatHasEndedTakesNoLinks) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices()[0];
    const flow::router router(ctx, flow::any_available(), "r");
    { const flow::link feed(ctx, ctx.host(), router); }
    const auto refused = [&](const flow::endpoint& from, const flow::endpoint& to) {
        return thrown<usage_error>([&] { const flow::link late(ctx, from, to); });
    };
    EXPECT_EQ(refused(device, router),
              "link " + device.name() + " -> router 'r': the router has ended, as all its inputs have been shut down");
    EXPECT_NE(refused(router, device).find("the router has ended"), std::string::npos);
}

TEST_P(routers_test, WrongUseIsRefused) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices()[0];
    const flow::router router(ctx, flow::any_available(), "r"), other(ctx, flow::any_available());
    EXPECT_NE(thrown<usage_error>([&] { const flow::link wrong(ctx, router, other); }).find("between two routers"),
              std::string::npos);
    const flow::link feed(ctx, ctx.host(), router), out(ctx, router, device);
    const auto one = numbers(1);
    EXPECT_NE(thrown<usage_error>([&] { (void)feed.receive(); }).find("receives for its outputs"), std::string::npos);
    EXPECT_NE(thrown<usage_error>([&] { (void)out.send(segment::of(one)); }).find("only passes on"), std::string::npos);
    EXPECT_NE(thrown<usage_error>([&] { out.shutdown(); }).find("when all its inputs are"), std::string::npos);
    EXPECT_NE(thrown<usage_error>([&] { (void)ctx.make_stream(router, "s"); }).find("router 'r'"), std::string::npos);
    EXPECT_NE(thrown<usage_error>([&] { ctx.start_worker(router, [](device_stream&) {}); }).find("router 'r'"),
              std::string::npos);
}

TEST_P(routers_test, ASendThatNobodyTakesEndsWithTheDeadline) {
    options o = dataflow_options(GetParam(), 0);
    o.timeout_seconds = 0.1;
    const auto sent = numbers(5);
    flow::context ctx(o);
    const flow::router router(ctx, flow::any_available());
    const flow::link feed(ctx, ctx.host(), router, {4, 1}), out(ctx, router, ctx.devices()[0], {4, 2});
    const event done = feed.send(segment::of(sent));
    const auto stuck = thrown<timeout_error>([&] { feed.wait(done); });
    EXPECT_NE(stuck.find("link host -> router: a send was not received"), std::string::npos) << stuck;
    EXPECT_NE(stuck.find(out.name() + ": 3 packets wait for a buffer"), std::string::npos) << stuck;
}

LANEWAY_ON_DEVICES(routers_test, device_lists());

}  // namespace
}  // namespace laneway::test
