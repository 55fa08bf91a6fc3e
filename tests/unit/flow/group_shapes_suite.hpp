// Every collective of a group in every shape that it has: for members of devices and of the host, in any order, from
// every root, of no elements, of one, and of odd numbers, in packets of one element and of more.
#pragma once

#include <functional>

#include "dataflow_job.hpp"
#include "laneway/flow/group.hpp"

namespace laneway::test {
namespace {

class group_shapes_test : public testing::TestWithParam<std::string> {};

using elements = std::vector<std::uint32_t>;

/// A group, and what its members' buffers hold before and after a collective.
struct shaped_group {
    shaped_group(flow::context& c, std::vector<flow::endpoint> m, const flow::link_options& sizes)
        : ctx(c), members(std::move(m)), group(c, members, sizes) {}

    /// Element k of member i is 10,000 * i + k at the start.
    std::vector<elements> start(std::size_t count) const {
        std::vector<elements> all;
        for (std::size_t i = 0; i < members.size(); ++i)
            all.push_back(numbers(count, static_cast<std::uint32_t>(10000 * i)));
        return all;
    }
    std::vector<elements> after(const std::vector<elements>& before,
                                const std::function<void(const std::vector<std::uint32_t*>&)>& collective) const {
        std::vector<std::shared_ptr<std::uint32_t>> memory;
        std::vector<std::uint32_t*> buffers;
        for (std::size_t i = 0; i < members.size(); ++i) {
            memory.push_back(place(ctx, members[i], before[i]));
            buffers.push_back(memory.back().get());
        }
        collective(buffers);
        std::vector<elements> all;
        for (std::size_t i = 0; i < members.size(); ++i)
            all.push_back(fetch(ctx, members[i], buffers[i], before[i].size()));
        return all;
    }

    flow::context& ctx;
    std::vector<flow::endpoint> members;
    flow::group group;
};

/// The host alone, a device alone, the devices, and all of them with the host and two more endpoints, in turn.
std::vector<flow::endpoint> some_members(flow::context& ctx, std::uint64_t round) {
    std::vector<flow::endpoint> all = ctx.devices();
    if (round % 5 == 0) return {ctx.host()};
    if (round % 5 == 1) return {all[0]};
    if (round % 5 == 2) return all;
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(round % 2), ctx.host());
    for (std::uint64_t i = 3; i < round % 5 + 2; ++i)
        all.push_back(ctx.add_endpoint(i % 2 ? ctx.host() : ctx.devices()[0], std::to_string(i)));
    return all;
}

/// Calls `body(group, count)`, each time in a context of its own.
void each_size(const std::string& devices, const std::function<void(shaped_group&, std::size_t count)>& body) {
    for (std::uint64_t round = 0; round < 5; ++round) {
        SCOPED_TRACE("devices " + devices + ", round " + std::to_string(round));
        flow::context ctx(dataflow_options(devices, round));
        shaped_group all(ctx, some_members(ctx, round), {4 + round % 3 * 24, 1 + static_cast<int>(round % 2)});
        for (const std::size_t count : {0u, 1u, 7u, 33u}) {
            SCOPED_TRACE(std::to_string(all.members.size()) + " members, " + std::to_string(count) + " elements");
            ASSERT_NO_THROW(body(all, count));
            if (testing::Test::HasFailure()) return;
        }
    }
}

std::uint32_t sum_at(const std::vector<elements>& all, std::size_t k) {
    std::uint32_t sum = 0;
    for (const auto& each : all) sum += each[k];
    return sum;
}

TEST_P(group_shapes_test, FromOneAndToOne) {
    each_size(GetParam(), [](shaped_group& all, std::size_t count) {
        const auto before = all.start(count);
        for (const auto how : {flow::shape::direct, flow::shape::ring, flow::shape::tree}) {
            for (std::size_t root = 0; root < all.members.size(); ++root) {
                const auto spread = all.after(before, [&](auto& b) { all.group.broadcast(b, count, root, how); });
                for (const auto& each : spread) EXPECT_EQ(each, before[root]);
                const auto sums =
                    all.after(before, [&](auto& b) { all.group.reduce(b, count, root, flow::plus{}, how); });
                for (std::size_t k = 0; k < count; ++k) EXPECT_EQ(sums[root][k], sum_at(before, k));
            }
        }
    });
}

TEST_P(group_shapes_test, ScatterAndGatherDirectlyAndByATree) {
    each_size(GetParam(), [](shaped_group& all, std::size_t count) {
        const std::size_t n = all.members.size();
        const auto before = all.start(n * count);
        const auto block = [&](const elements& of, std::size_t i) {
            const auto first = of.begin() + static_cast<std::ptrdiff_t>(i * count);
            return elements(first, first + static_cast<std::ptrdiff_t>(count));
        };
        for (std::size_t root = 0; root < n; ++root) {
            for (const auto how : {flow::shape::direct, flow::shape::tree}) {
                const auto parts = all.after(before, [&](auto& b) { all.group.scatter(b, count, root, how); });
                const auto whole = all.after(before, [&](auto& b) { all.group.gather(b, count, root, how); });
                EXPECT_EQ(parts[root], before[root]);
                for (std::size_t i = 0; i < n; ++i) {
                    EXPECT_EQ(block(parts[i], i), block(before[root], i)) << "to " << i << " from " << root;
                    EXPECT_EQ(block(whole[root], i), block(before[i], i)) << "to " << root << " from " << i;
                    for (std::size_t other = 0; other < n && how == flow::shape::direct; ++other) {
                        if (i == root || other == i) continue;
                        EXPECT_EQ(block(parts[i], other), block(before[i], other)) << "other blocks are left alone";
                        EXPECT_EQ(block(whole[i], other), block(before[i], other));
                    }
                }
            }
        }
    });
}

TEST_P(group_shapes_test, FromAllToAll) {
    each_size(GetParam(), [](shaped_group& all, std::size_t count) {
        const std::size_t n = all.members.size();
        const auto before = all.start(n * count), short_ones = all.start(count);
        for (const auto how : {flow::shape::direct, flow::shape::ring, flow::shape::tree}) {
            const auto whole = all.after(before, [&](auto& b) { all.group.all_gather(b, count, how); });
            const auto parts =
                all.after(before, [&](auto& b) { all.group.reduce_scatter(b, count, flow::plus{}, how); });
            const auto sums =
                all.after(short_ones, [&](auto& b) { all.group.all_reduce(b, count, flow::plus{}, how); });
            for (std::size_t i = 0; i < n; ++i) {
                for (std::size_t k = 0; k < n * count; ++k) EXPECT_EQ(whole[i][k], before[k / count][k]);
                for (std::size_t k = i * count; k < (i + 1) * count; ++k) EXPECT_EQ(parts[i][k], sum_at(before, k));
                for (std::size_t k = 0; k < count; ++k) EXPECT_EQ(sums[i][k], sum_at(short_ones, k));
            }
        }
    });
}

/// What all members send and what each is to get, of numbers of elements that differ, many of them none.
struct uneven_exchange {
    uneven_exchange(std::size_t n, std::size_t most, std::size_t turn) : counts(n, std::vector<std::uint64_t>(n)) {
        from.resize(n);
        to.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                counts[i][j] = (i * 5 + j * 3 + turn) % 4 == 0 ? 0 : (i * 7 + j * 11 + turn) % (most + 1);
                for (std::uint64_t k = 0; k < counts[i][j]; ++k)
                    from[i].push_back(static_cast<std::uint32_t>(10000 * i + 100 * j + k));
                to[j].insert(to[j].end(), from[i].end() - static_cast<std::ptrdiff_t>(counts[i][j]), from[i].end());
            }
        }
    }

    std::vector<std::vector<std::uint64_t>> counts;
    std::vector<elements> from, to;
};

TEST_P(group_shapes_test, EachSendsEachItsPartDirectlyAndRoundARing) {
    each_size(GetParam(), [](shaped_group& all, std::size_t count) {
        for (std::size_t turn = 0; turn < 3; ++turn) {
            const uneven_exchange job(all.members.size(), count, turn);
            std::vector<elements> unset = job.to;
            for (auto& each : unset) each.assign(each.size(), 77);
            for (const auto how : {flow::shape::direct, flow::shape::ring}) {
                const auto got = all.after(unset, [&](const std::vector<std::uint32_t*>& targets) {
                    const auto kept = all.after(job.from, [&](auto& b) {
                        all.group.all_to_all(std::vector<const std::uint32_t*>(b.begin(), b.end()), targets, job.counts,
                                             how);
                    });
                    EXPECT_EQ(kept, job.from) << "sources are only read";
                });
                EXPECT_EQ(got, job.to) << "turn " << turn << ", shape " << static_cast<int>(how);
            }
        }
    });
}

/// What links take of the first device: one buffer for each that sends to it.
TEST_P(group_shapes_test, RoundARingEachSendsToTheNextAlone) {
    constexpr std::uint64_t buffer = 1 << 20;
    std::uint64_t taken[2] = {};
    std::size_t members = 0;
    for (const auto how : {flow::shape::direct, flow::shape::ring}) {
        flow::context ctx(dataflow_options(GetParam(), 0));
        std::vector<flow::endpoint> all = ctx.devices();
        all.push_back(ctx.host());
        all.push_back(ctx.add_endpoint(ctx.host(), "another"));
        members = all.size();
        shaped_group group(ctx, all, {buffer, 1});
        const std::vector<std::vector<std::uint64_t>> one_each(members, std::vector<std::uint64_t>(members, 1));
        group.after(group.start(members), [&](auto& targets) {
            group.after(group.start(members), [&](auto& b) {
                group.group.all_to_all(std::vector<const std::uint32_t*>(b.begin(), b.end()), targets, one_each, how);
            });
        });
        taken[how == flow::shape::ring] = ctx.peak_bytes(all[0]);
    }
    EXPECT_GE(taken[0], (members - 1) * buffer);
    EXPECT_GE(taken[1], buffer);
    EXPECT_LT(taken[1], 2 * buffer);
}

TEST_P(group_shapes_test, AShapeThatACollectiveLacksIsRefused) {
    flow::context ctx(dataflow_options(GetParam(), 0));
    flow::group group(ctx, {ctx.devices()[0], ctx.host()});
    const std::vector<int*> none(2);
    const std::vector<const int*> sources(2);
    EXPECT_EQ(thrown<usage_error>([&] { group.scatter(none, 0, 0, flow::shape::ring); }),
              "scatter has the shapes direct and tree, not ring");
    EXPECT_EQ(thrown<usage_error>([&] { group.gather(none, 0, 0, flow::shape::ring); }),
              "gather has the shapes direct and tree, not ring");
    EXPECT_EQ(thrown<usage_error>([&] {
                  group.all_to_all(sources, none, {{0, 0}, {0, 0}}, flow::shape::tree);
              }),
              "all_to_all has the shapes direct and ring, not tree");
    group.scatter(none, 0, 0);  // and it goes on
}

/// Few members and many, of one part of a list and of two.
std::vector<std::string> shape_lists() {
#if defined(__CUDACC__)
    return device_lists();
#else
    return {"cpu:1", "cpu:4", "cpu:2,cpu:1", "checked:3"};
#endif
}

LANEWAY_ON_DEVICES(group_shapes_test, shape_lists());

}  // namespace
}  // namespace laneway::test
