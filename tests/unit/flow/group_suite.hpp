// Collectives over large buffers: every shape gives what a loop of the host gives, from any root, at any size.
#pragma once

#include "dataflow_job.hpp"
#include "laneway/flow/group.hpp"

namespace laneway::test {
namespace {

class group_test : public testing::TestWithParam<std::string> {};

constexpr flow::shape shapes[] = {flow::shape::direct, flow::shape::ring, flow::shape::tree};

/// A buffer of each member: element k of member i is 1000 * i + k at the start.
struct buffers_of {
    buffers_of(flow::context& c, std::vector<flow::endpoint> m, std::size_t count) : ctx(c), members(std::move(m)) {
        for (std::size_t i = 0; i < members.size(); ++i) {
            memory.push_back(place(ctx, members[i], numbers(count, static_cast<std::uint32_t>(1000 * i))));
            data.push_back(memory.back().get());
        }
    }
    [[nodiscard]] std::vector<std::uint32_t> of(std::size_t member, std::size_t count, std::size_t from = 0) const {
        return fetch(ctx, members[member], data[member] + from, count);
    }

    flow::context& ctx;
    std::vector<flow::endpoint> members;
    std::vector<std::shared_ptr<std::uint32_t>> memory;
    std::vector<std::uint32_t*> data;
};

/// The devices, the host, and one more endpoint or two: up to six members.
std::vector<flow::endpoint> members_of(flow::context& ctx, std::uint64_t seed) {
    std::vector<flow::endpoint> all = ctx.devices();
    all.push_back(ctx.host());
    for (std::uint64_t i = 0; i < seed % 3; ++i) all.push_back(ctx.add_endpoint(ctx.devices()[0], std::to_string(i)));
    return all;
}

std::uint32_t sum_of(std::size_t n, std::size_t k) {
    return static_cast<std::uint32_t>(n * (n - 1) / 2 * 1000 + n * k);
}

/// Calls `body(ctx, group, n, shape, root)` for every shape of a round, each in a context of its own.
template <class Body>
void each_shape(const std::string& devices, Body&& body) {
    dataflow_rounds(devices, [&](const options& o) {
        for (const auto how : shapes) {
            SCOPED_TRACE("shape " + std::to_string(static_cast<int>(how)));
            flow::context ctx(o);
            const auto members = members_of(ctx, o.seed);
            flow::group group(ctx, members, {64 + o.seed % 4 * 20, 1 + static_cast<int>(o.seed % 2)});
            body(ctx, group, members, how, o.seed % members.size());
        }
    });
}

TEST_P(group_test, AllHaveWhatTheRootHad) {
    each_shape(GetParam(), [](auto& ctx, auto& group, auto& members, flow::shape how, std::size_t root) {
        const buffers_of buffers(ctx, members, 300);
        group.broadcast(buffers.data, 299, root, how);
        for (std::size_t i = 0; i < members.size(); ++i) {
            auto expected = numbers(299, static_cast<std::uint32_t>(1000 * root));
            expected.push_back(static_cast<std::uint32_t>(1000 * i + 299));
            EXPECT_EQ(buffers.of(i, 300), expected) << "and no more than that";
        }
    });
}

TEST_P(group_test, TheRootHasTheSum) {
    each_shape(GetParam(), [](auto& ctx, auto& group, auto& members, flow::shape how, std::size_t root) {
        const buffers_of buffers(ctx, members, 200);
        group.reduce(buffers.data, 200, root, flow::plus{}, how);
        const auto got = buffers.of(root, 200);
        for (std::size_t k = 0; k < got.size(); ++k) ASSERT_EQ(got[k], sum_of(members.size(), k));
    });
}

TEST_P(group_test, AllHaveTheSum) {
    each_shape(GetParam(), [](auto& ctx, auto& group, auto& members, flow::shape how, std::size_t) {
        for (const std::size_t count : {0u, 1u, 2u, 333u}) {  // fewer than members, too
            const buffers_of buffers(ctx, members, count);
            group.all_reduce(buffers.data, count, flow::plus{}, how);
            for (std::size_t i = 0; i < members.size(); ++i) {
                const auto got = buffers.of(i, count);
                for (std::size_t k = 0; k < count; ++k) ASSERT_EQ(got[k], sum_of(members.size(), k)) << i << ' ' << k;
            }
        }
        const buffers_of buffers(ctx, members, 50);
        group.all_reduce(buffers.data, 50, flow::maximum{}, how);
        for (std::size_t i = 0; i < members.size(); ++i) {
            EXPECT_EQ(buffers.of(i, 50), numbers(50, static_cast<std::uint32_t>(1000 * (members.size() - 1))));
        }
    });
}

TEST_P(group_test, BlocksGoWhereTheyBelong) {
    each_shape(GetParam(), [](auto& ctx, auto& group, auto& members, flow::shape how, std::size_t root) {
        const std::size_t n = members.size(), count = 70;
        const buffers_of buffers(ctx, members, n * count);
        group.all_gather(buffers.data, count, how);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t block = 0; block < n; ++block) {
                EXPECT_EQ(buffers.of(i, count, block * count),
                          numbers(count, static_cast<std::uint32_t>(1000 * block + block * count)));
            }
        }
        const buffers_of sums(ctx, members, n * count);
        group.reduce_scatter(sums.data, count, flow::plus{}, how);
        for (std::size_t i = 0; i < n; ++i) {
            const auto got = sums.of(i, count, i * count);
            for (std::size_t k = 0; k < count; ++k) ASSERT_EQ(got[k], sum_of(n, i * count + k));
        }
        const buffers_of others(ctx, members, n * count);
        group.scatter(others.data, count, root);
        for (std::size_t i = 0; i < n; ++i) {
            EXPECT_EQ(others.of(i, count, i * count),
                      numbers(count, static_cast<std::uint32_t>(1000 * root + i * count)));
        }
        const buffers_of back(ctx, members, n * count);
        group.gather(back.data, count, root);
        for (std::size_t i = 0; i < n; ++i) {
            EXPECT_EQ(back.of(root, count, i * count),
                      numbers(count, static_cast<std::uint32_t>(1000 * i + i * count)));
        }
    });
}

TEST_P(group_test, EachHasItsPartFromEach) {
    dataflow_rounds(GetParam(), [](const options& o) {
        flow::context ctx(o);
        const auto members = members_of(ctx, o.seed);
        flow::group group(ctx, members, {64, 2});
        const std::size_t n = members.size();
        std::vector<std::vector<std::uint64_t>> counts(n, std::vector<std::uint64_t>(n));
        std::vector<std::size_t> sent(n), got(n);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                counts[i][j] = (i * 7 + j * 13 + o.seed) % 50 * (i + j != 1);
                sent[i] += counts[i][j];
                got[j] += counts[i][j];
            }
        }
        std::vector<std::shared_ptr<std::uint32_t>> from, to;
        std::vector<const std::uint32_t*> sources;
        std::vector<std::uint32_t*> targets;
        for (std::size_t i = 0; i < n; ++i) {
            from.push_back(place(ctx, members[i], numbers(sent[i], static_cast<std::uint32_t>(1000 * i))));
            to.push_back(ctx.allocate<std::uint32_t>(members[i], got[i]));
            sources.push_back(from[i].get());
            targets.push_back(to[i].get());
        }
        group.all_to_all(sources, targets, counts);
        for (std::size_t j = 0; j < n; ++j) {
            std::vector<std::uint32_t> expected;
            for (std::size_t i = 0; i < n; ++i) {
                std::uint64_t first = 1000 * i;
                for (std::size_t k = 0; k < j; ++k) first += counts[i][k];
                for (std::uint64_t k = 0; k < counts[i][j]; ++k)
                    expected.push_back(static_cast<std::uint32_t>(first + k));
            }
            EXPECT_EQ(fetch(ctx, members[j], targets[j], got[j]), expected) << j;
        }
    });
}

TEST_P(group_test, OneMemberIsEnough) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    flow::group group(ctx, {ctx.devices()[0]});
    const buffers_of buffers(ctx, {ctx.devices()[0]}, 10);
    for (const auto how : shapes) {
        group.broadcast(buffers.data, 10, 0, how);
        group.all_reduce(buffers.data, 10, flow::plus{}, how);
        group.all_gather(buffers.data, 10, how);
    }
    EXPECT_EQ(buffers.of(0, 10), numbers(10));
}

TEST_P(group_test, WrongArgumentsAreRefused) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const auto& device = ctx.devices()[0];
    EXPECT_NE(thrown<usage_error>([&] { flow::group none(ctx, {}); }).find("one member"), std::string::npos);
    EXPECT_NE(thrown<usage_error>([&] {
                  flow::group twice(ctx, {device, device});
              }).find("member of the group twice"),
              std::string::npos);
    flow::group group(ctx, {device, ctx.host()});
    const std::vector<int*> none;
    EXPECT_NE(thrown<usage_error>([&] { group.broadcast(none, 1, 2); }).find("no member 2 in a group of 2"),
              std::string::npos);
    EXPECT_NE(thrown<usage_error>([&] { group.all_gather(none, 1); }).find("got 0 buffers"), std::string::npos);
    const std::vector<int*> two(2);
    const std::vector<const int*> sources(2);
    EXPECT_NE(thrown<usage_error>([&] {
                  group.all_to_all(sources, two, {{1, 1}});
              }).find("a count for each pair"),
              std::string::npos);
    EXPECT_NE(thrown<usage_error>([&] {
                  group.all_gather(two, 1);
              }).find("member 0 of a collective, " + device.name() + ", has no buffer"),
              std::string::npos);
    EXPECT_NE(thrown<usage_error>([&] {
                  group.all_to_all(sources, two, {{1, 1}, {1, 1}});
              }).find("has no buffer"),
              std::string::npos);
    const auto here = ctx.allocate<int>(device, 4), there = ctx.allocate<int>(ctx.host(), 4);
    EXPECT_NE(thrown<usage_error>([&] {
                  group.all_to_all(std::vector<const int*>{here.get(), there.get()}, {here.get() + 1, there.get() + 2},
                                   {{1, 1}, {1, 1}});
              }).find("what member 0 sends and receives overlaps in memory"),
              std::string::npos);
    flow::context other(dataflow_options(GetParam(), 0));
    EXPECT_THROW(flow::group(other, {device}), usage_error);
}

TEST_P(group_test, ACollectiveWaitsForItsOwnWorkersOnly) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    const event over = event::pending();
    ctx.start_worker(ctx.host(), [&, over](device_stream&) { ctx.wait(over); });
    const std::vector<flow::endpoint> members{ctx.devices()[0], ctx.host()};
    flow::group group(ctx, members);
    const buffers_of buffers(ctx, members, 10);
    group.broadcast(buffers.data, 10, 0);
    EXPECT_EQ(buffers.of(1, 10), numbers(10));
    over.complete();
    ctx.join();
}

#if !defined(__CUDACC__)
struct throwing_sum {
    int operator()(int, int) const { throw std::runtime_error("overflow"); }
};

TEST_P(group_test, AnOperatorThatThrowsEndsIt) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    flow::group group(ctx, {ctx.devices()[0], ctx.host()});
    const auto memory = ctx.allocate<int>(ctx.devices()[0], 4), mine = ctx.allocate<int>(ctx.host(), 4);
    const auto why = thrown<lane_error>([&] {
        group.all_reduce(std::vector<int*>{memory.get(), mine.get()}, 4, throwing_sum{});
    });
    EXPECT_NE(why.find("overflow"), std::string::npos) << why;
    EXPECT_NE(why.find("worker of "), std::string::npos) << why;
}
#endif

LANEWAY_ON_DEVICES(group_test, device_lists());

}  // namespace
}  // namespace laneway::test
