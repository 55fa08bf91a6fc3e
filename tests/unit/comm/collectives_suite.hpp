// Collectives against a reference of the host: all operations, types, groups and sizes, on one to five PEs.
#pragma once

#include "collectives_job.hpp"

namespace laneway::test {

class collectives_test : public testing::TestWithParam<std::string> {};

constexpr group all_groups[] = {group::warp, group::block, group::grid};

/// What a PE's member of a group brings for an element: of all magnitudes, so that the order of a sum shows.
template <class T>
LANEWAY_FN T contribution(std::uint64_t pe, std::uint64_t number, std::uint64_t element) {
    std::uint64_t x = (pe * 1'000'003 + number) * 1'000'033 + element + 1;
    for (int i = 0; i < 3; ++i) x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    if constexpr (std::is_floating_point_v<T>) {
        constexpr std::uint64_t powers = 12;
        const auto scale = static_cast<T>(std::uint64_t{1} << x % powers * 4);
        return (static_cast<T>(x >> 40) - static_cast<T>(1 << 23)) / scale;
    } else {
        return static_cast<T>(x);
    }
}

/// Every group reduces an array of its own by the operation with this number.
template <class T>
struct reduce_arrays {
    T* arrays;  ///< `count` elements for each member
    std::uint32_t count;
    group kind;
    std::uint32_t op;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        T* const values = arrays + std::uint64_t{number_of_member(kind, position)} * count;
        if (op == reduction::sum::number) (void)sums.all_reduce(ctx, values, count, reduction::sum{}, kind);
        if (op == reduction::min::number) (void)sums.all_reduce(ctx, values, count, reduction::min{}, kind);
        if (op == reduction::max::number) (void)sums.all_reduce(ctx, values, count, reduction::max{}, kind);
        if constexpr (std::is_integral_v<T>) {
            if (op == reduction::bit_and::number) (void)sums.all_reduce(ctx, values, count, reduction::bit_and{}, kind);
            if (op == reduction::bit_or::number) (void)sums.all_reduce(ctx, values, count, reduction::bit_or{}, kind);
        }
    }
};

template <class T>
void expect_same_bits(const std::vector<T>& found, const std::vector<T>& wanted, const std::string& what) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(std::memcmp(&found[i], &wanted[i], sizeof(T)), 0)
            << what << " element " << i << ": " << found[i] << " is not " << wanted[i];
    }
}

/// The reference, with operations of its own.
template <class T>
T combine(std::uint32_t op, T a, T b) {
    switch (op) {
        case reduction::min::number: return std::min(a, b);
        case reduction::max::number: return std::max(a, b);
        default: break;
    }
    if constexpr (std::is_integral_v<T>) {
        if (op == reduction::bit_and::number) return static_cast<T>(a & b);
        if (op == reduction::bit_or::number) return static_cast<T>(a | b);
        return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    } else {
        return a + b;
    }
}
/// In order of PEs, of those of one's team that have such a member.
template <class T>
T combined(const collectives_job& job, std::size_t of, std::uint32_t op, group kind, std::uint32_t number,
           std::uint64_t element) {
    T sum{};
    bool any = false;
    for (std::size_t pe = 0; pe < job.counts.size(); ++pe) {
        if (number >= job.counts[pe].groups(kind) || !job.memory->plan().same_team(of, pe)) continue;
        const T value = contribution<T>(pe, number, element);
        sum = any ? combine(op, sum, value) : value;
        any = true;
    }
    return sum;
}

template <class T>
void reduce_and_compare(collectives_job& job, std::uint32_t op, group kind, std::uint64_t elements) {
    const auto count = static_cast<std::uint32_t>(elements);
    SCOPED_TRACE("operation " + std::to_string(op) + ", group " + std::to_string(static_cast<int>(kind)) + ", " +
                 std::to_string(count) + " elements");
    std::vector<buffer<T>> arrays;
    for (std::size_t pe = 0; pe < job.counts.size(); ++pe) {
        std::vector<T> values;
        for (std::uint32_t number = 0; number < job.counts[pe].groups(kind); ++number) {
            for (std::uint32_t e = 0; e < count; ++e) values.push_back(contribution<T>(pe, number, e));
        }
        arrays.emplace_back(job.machine.device(static_cast<int>(pe)), values.size()).copy_in(values);
    }
    job.run([&](int pe) { return reduce_arrays<T>{arrays[static_cast<std::size_t>(pe)].data(), count, kind, op}; });
    for (std::size_t pe = 0; pe < job.counts.size(); ++pe) {
        std::vector<T> wanted;
        for (std::uint32_t number = 0; number < job.counts[pe].groups(kind); ++number) {
            for (std::uint32_t e = 0; e < count; ++e) wanted.push_back(combined<T>(job, pe, op, kind, number, e));
        }
        expect_same_bits(arrays[pe].copy_out(), wanted, "PE " + std::to_string(pe));
    }
}

template <class T>
void reduce_by_all_operations(collectives_job& job, std::uint32_t count) {
    const std::uint32_t ops = std::is_integral_v<T> ? 5 : 3;
    for (const group kind : all_groups) {
        for (std::uint32_t op = 1; op <= ops; ++op) reduce_and_compare<T>(job, op, kind, count);
    }
}

/// In pieces, and by one step where one team of all PEs would take two. PEs of two teams are alike, of three they are
/// not.
TEST_P(collectives_test, TeamsReduceArraysOfTheirOwn) {
    for (const int teams : {2, 3}) {
        collective_options small;
        small.warp_bytes = small.block_bytes = small.grid_bytes = 64;
        small.block_two_shot_bytes = small.grid_two_shot_bytes = 100;
        const options o = options_of(GetParam(), 4);
        for (int pe = 0; pe < laneway::machine(o.devices).n_pes(); ++pe) small.teams.push_back(pe % teams);
        collectives_job job(o, small, [teams](int pe) { return teams == 2 ? 2 : 1 + pe % 2; });
        for (const group kind : all_groups) {
            reduce_and_compare<double>(job, reduction::sum::number, kind, 1);
            reduce_and_compare<double>(job, reduction::sum::number, kind, 70);
            reduce_and_compare<std::int32_t>(job, reduction::max::number, kind, 300);
        }
    }
}

TEST_P(collectives_test, ArraysOfAllTypesByAllOperations) {
    collectives_job job(options_of(GetParam(), 4));
    for (const std::uint32_t count : {1u, 35u}) {
        reduce_by_all_operations<std::int32_t>(job, count);
        reduce_by_all_operations<std::uint32_t>(job, count);
        reduce_by_all_operations<std::int64_t>(job, count);
        reduce_by_all_operations<std::uint64_t>(job, count);
        reduce_by_all_operations<float>(job, count);
        reduce_by_all_operations<double>(job, count);
    }
}

/// One element to the limit, across pieces and across the step from one way to the other, and none at all.
TEST_P(collectives_test, ArraysOfAllSizes) {
    collective_options sizes;
    sizes.block_bytes = 1 << 10;
    sizes.block_two_shot_bytes = 2 << 10;
    sizes.grid_two_shot_bytes = 3 << 10;
    collectives_job job(options_of(GetParam(), 4), sizes);
    std::vector<std::uint32_t> counts{0,  2,   3,   7,   8,   9,   31,  32,  33,   63,
                                      65, 127, 129, 255, 257, 383, 385, 769, 1000, 1025};
    if (!is_checked(GetParam())) counts.insert(counts.end(), {4095, 4096, 4097, 8191, 8192});
    for (const std::uint32_t count : counts) {
        for (const group kind : all_groups) {
            if (kind == group::warp && count > 300) continue;
            reduce_and_compare<double>(job, reduction::sum::number, kind, count);
        }
    }
    if (!is_checked(GetParam())) reduce_and_compare<float>(job, reduction::sum::number, group::grid, 16384);
}

/// Sums of small shapes under many seeds: all ways of a call, and what each reads of memory that others have written.
TEST_P(collectives_test, ArraysUnderManySeeds) {
    collective_options sizes;
    sizes.warp_bytes = 16;
    sizes.block_bytes = 64;
    sizes.grid_bytes = 64;
    sizes.block_two_shot_bytes = sizes.grid_two_shot_bytes = 100;
    every_round(GetParam(), [&](const options& o) {
        collectives_job job(o, sizes);
        reduce_and_compare<double>(job, reduction::sum::number, group::warp, 3 + o.seed % 3);
        reduce_and_compare<double>(job, reduction::sum::number, group::block, 1 + o.seed % 29);
        reduce_and_compare<double>(job, reduction::sum::number, group::grid, 1 + o.seed % 67);
    });
}

/// Where PEs differ in size, a group has those as members that have such a part.
TEST_P(collectives_test, PesOfDifferentSizes) {
    collectives_job job(options_of(GetParam(), 3), {}, [](int pe) { return 1 + (pe * 2 + 2) % 4; });
    for (int run = 0; run < 2; ++run) {
        for (const group kind : all_groups) {
            reduce_and_compare<double>(job, reduction::sum::number, kind, 5);
            reduce_and_compare<double>(job, reduction::sum::number, kind, 2500);
        }
    }
}

LANEWAY_ON_DEVICES(collectives_test, with_proxies(device_lists_to_five()));

}  // namespace laneway::test
