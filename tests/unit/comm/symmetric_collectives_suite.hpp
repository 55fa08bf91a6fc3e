// Collectives over symmetric arrays against a reference of the host: all operations, groups, sizes and places, on one
// to five PEs, and under seeds.
#pragma once

#include <algorithm>
#include <array>

#include "collectives_job.hpp"
#include "laneway/memory/symmetric_array.hpp"

namespace laneway::test {

enum class move_kind : std::uint32_t {
    all_reduce,
    reduce_scatter,
    reduce,
    broadcast,
    scatter,
    gather,
    all_gather,
    all_to_all
};
constexpr move_kind all_moves[] = {move_kind::all_reduce, move_kind::reduce_scatter, move_kind::reduce,
                                   move_kind::broadcast,  move_kind::scatter,        move_kind::gather,
                                   move_kind::all_gather, move_kind::all_to_all};
constexpr bool is_reduction(move_kind kind) { return kind <= move_kind::reduce; }

/// Something that is not as large as any word.
struct three_words {
    std::uint32_t words[3];
    friend bool operator==(const three_words&, const three_words&) = default;
};

template <class T>
LANEWAY_FN T made_of(std::uint64_t x) {
    if constexpr (std::is_same_v<T, three_words>) {
        const auto word = static_cast<std::uint32_t>(x);
        return {{word, word * 3, word * 7}};
    } else if constexpr (std::is_floating_point_v<T>) {
        // Of all magnitudes, so that the order of a sum shows.
        return (static_cast<T>(x * 2654435761u % 1000003) - 500000) / static_cast<T>(std::uint64_t{1} << x % 7 * 8);
    } else {
        return static_cast<T>(x * 2654435761u);
    }
}

/// What is to be done by each group of a kind, in elements of its own: group g has `room` elements from g * room on, of
/// which the first `skip` are left alone.
struct movement {
    move_kind kind;
    group who;
    std::uint64_t count;
    std::uint64_t skip;
    std::uint64_t room;
    int root;
};

template <class T>
struct move_elements {
    movement what;
    symmetric_ref<T> array;
    symmetric_ref<T> other;
    std::uint32_t* failed;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        const std::uint64_t begin = number_of_member(what.who, position) * what.room + what.skip;
        // Twice: what the second call loads the first has stored.
        for (int repeat = 0; repeat < 2; ++repeat) {
            if (move(ctx, sums, array[begin], other[begin]) != status::ok) {
                ctx.fetch_add(failed, 1u, order::relaxed, scope::device);
            }
        }
    }

private:
    template <class Ctx, class Sums>
    LANEWAY_FN status move(Ctx& ctx, Sums& sums, symmetric_ptr<T> first, symmetric_ptr<T> to) const {
        switch (what.kind) {
            case move_kind::broadcast: return sums.broadcast(ctx, first, what.count, what.root, what.who);
            case move_kind::scatter: return sums.scatter(ctx, first, what.count, what.root, what.who);
            case move_kind::gather: return sums.gather(ctx, first, what.count, what.root, what.who);
            case move_kind::all_gather: return sums.all_gather(ctx, first, what.count, what.who);
            case move_kind::all_to_all: return sums.all_to_all(ctx, first, to, what.count, what.who);
            default: break;
        }
        if constexpr (reducible<T>) {
            if (what.kind == move_kind::all_reduce) {
                return sums.all_reduce(ctx, first, what.count, reduction::sum{}, what.who);
            }
            if (what.kind == move_kind::reduce) {
                return sums.reduce(ctx, first, what.count, reduction::sum{}, what.root, what.who);
            }
            return sums.reduce_scatter(ctx, first, what.count, reduction::max{}, what.who);
        }
        return status::ok;
    }
};

/// The parts of all PEs, before and after one call; the host's own way to move elements.
template <class T>
struct parts {
    std::vector<std::vector<T>> array, other;

    void move(const movement& m, std::uint64_t begin) {
        const std::size_t n = array.size(), count = m.count;
        const auto old = array;
        for (std::size_t pe = 0; pe < n; ++pe) {
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t at = begin + i;
                const auto root = static_cast<std::size_t>(m.root);
                if (m.kind == move_kind::broadcast) array[pe][at] = old[root][at];
                const std::size_t part = begin + pe * count + i;
                if (m.kind == move_kind::scatter) array[pe][part] = old[root][part];
                if (m.kind == move_kind::gather) array[root][part] = old[pe][part];
                for (std::size_t q = 0; q < n; ++q) {
                    const std::size_t of_q = begin + q * count + i, of_pe = begin + pe * count + i;
                    if (m.kind == move_kind::all_gather) array[pe][of_q] = old[q][of_q];
                    if (m.kind == move_kind::all_to_all) other[q][of_pe] = old[pe][of_q];
                }
                if constexpr (reducible<T>) reduce(m, old, pe, i, at);
            }
        }
    }

private:
    void reduce(const movement& m, const std::vector<std::vector<T>>& old, std::size_t pe, std::size_t i,
                std::size_t at) {
        if (!is_reduction(m.kind)) return;
        // A part begins where 16 bytes do; the first parts have one pack more.
        const std::size_t pack = 16 / sizeof(T), packs = (m.count + pack - 1) / pack, n = old.size();
        std::size_t owner = 0;
        for (std::size_t left = i / pack; left >= packs / n + (owner < packs % n ? 1 : 0); ++owner) {
            left -= packs / n + (owner < packs % n ? 1 : 0);
        }
        if (m.kind == move_kind::reduce_scatter && owner != pe) return;
        if (m.kind == move_kind::reduce && pe != static_cast<std::size_t>(m.root)) return;
        T result = old[0][at];
        for (std::size_t q = 1; q < n; ++q) {
            result = m.kind != move_kind::reduce_scatter ? result + old[q][at] : std::max(result, old[q][at]);
        }
        array[pe][at] = result;
    }
};

template <class T>
void move_and_compare(collectives_job& job, movement m) {
    SCOPED_TRACE("movement " + std::to_string(static_cast<int>(m.kind)) + ", group " +
                 std::to_string(static_cast<int>(m.who)) + ", " + std::to_string(m.count) + " elements of " +
                 std::to_string(sizeof(T)) + " bytes behind " + std::to_string(m.skip));
    const auto n = static_cast<std::size_t>(job.machine.n_pes());
    const std::uint32_t groups = job.common_groups(m.who);
    m.room = m.skip + n * m.count + 3;
    const std::uint64_t size = m.room * groups;
    symmetric_array<T> array(job.machine, size), other(job.machine, size);
    parts<T> expected;
    std::vector<buffer<std::uint32_t>> failed;
    for (std::size_t pe = 0; pe < n; ++pe) {
        std::vector<T> values;
        for (std::uint64_t i = 0; i < size; ++i) values.push_back(made_of<T>(pe * 10'007 + i));
        array.copy_in(static_cast<int>(pe), values);
        other.copy_in(static_cast<int>(pe), values);
        expected.array.push_back(values);
        expected.other.push_back(values);
        failed.emplace_back(job.machine.device(static_cast<int>(pe)), 1).fill_bytes(0);
    }
    job.run([&](int pe) {
        return move_elements<T>{m, array.ref(), other.ref(), failed[static_cast<std::size_t>(pe)].data()};
    });
    for (std::uint32_t g = 0; g < groups; ++g) {
        for (int repeat = 0; repeat < 2; ++repeat) expected.move(m, g * m.room + m.skip);
    }
    for (std::size_t pe = 0; pe < n; ++pe) {
        EXPECT_EQ(failed[pe].copy_out()[0], 0u);
        ASSERT_EQ(array.copy_out(static_cast<int>(pe)), expected.array[pe]) << "PE " << pe;
        ASSERT_EQ(other.copy_out(static_cast<int>(pe)), expected.other[pe]) << "PE " << pe;
    }
}

class symmetric_collectives_test : public testing::TestWithParam<std::string> {};

template <class T>
void move_all_sizes(collectives_job& job, const std::vector<std::uint64_t>& counts) {
    for (const move_kind kind : all_moves) {
        if (is_reduction(kind) && !reducible<T>) continue;
        for (const std::uint64_t count : counts) {
            for (const std::uint64_t skip : {0, 4, 5}) {
                move_and_compare<T>(job, {kind, group::grid, count, skip, 0, job.machine.n_pes() - 1});
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

TEST_P(symmetric_collectives_test, ElementsOfAllSizes) {
    collectives_job job(options_of(GetParam(), 4));
    const std::vector<std::uint64_t> counts =
        is_checked(GetParam()) ? std::vector<std::uint64_t>{0, 3, 37} : std::vector<std::uint64_t>{0, 1, 4, 37, 5000};
    move_all_sizes<std::uint8_t>(job, counts);
    move_all_sizes<std::uint32_t>(job, counts);
    move_all_sizes<double>(job, counts);
    move_all_sizes<three_words>(job, counts);
}

TEST_P(symmetric_collectives_test, EachGroupOfAKindForItself) {
    collectives_job job(options_of(GetParam(), 4));
    for (const group who : {group::warp, group::block, group::grid}) {
        for (const move_kind kind : all_moves) {
            move_and_compare<std::uint64_t>(job, {kind, who, is_checked(GetParam()) ? 21u : 333u, 2, 0, 0});
        }
    }
}

TEST_P(symmetric_collectives_test, UnderManySeeds) {
    every_round(GetParam(), [&](const options& o) {
        collectives_job job(o);
        const move_kind kind = all_moves[o.seed % std::size(all_moves)];
        const group who = o.seed % 3 == 0 ? group::block : group::grid;
        move_and_compare<std::uint32_t>(job, {kind, who, 1 + o.seed % 29, o.seed % 2, 0, 0});
    });
}

/// Group g of each PE p gives PE q (3 * p + q + seed) % 5 elements, or none, whose values are made of all three. PEs
/// that have no part in group g, which is one of `groups`, are asked for as many and get none.
struct give_by_counts {
    group who;
    std::uint32_t seed;
    std::uint64_t room;  ///< of a group
    symmetric_ref<std::uint32_t> from, to;
    symmetric_ref<std::uint64_t> counts;
    std::uint32_t* failed;
    std::array<std::uint64_t, 5> groups;  ///< of each PE

    [[nodiscard]] static LANEWAY_FN std::uint64_t count(std::uint32_t seed, std::uint64_t p, std::uint64_t q) {
        return (3 * p + q + seed) % 5;
    }
    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        const std::uint64_t g = number_of_member(who, position), begin = g * room;
        const auto pes = static_cast<std::uint64_t>(ctx.n_pes());
        std::uint64_t expected = 0;
        for (std::uint64_t p = 0; p < pes; ++p) {
            if (g < groups[p]) expected += count(seed, p, static_cast<std::uint64_t>(ctx.pe()));
        }
        const auto got = sums.all_to_all_v(ctx, from[begin], counts[g * pes], to[begin], who);
        if (!got || got.value != expected) ctx.fetch_add(failed, 1u, order::relaxed, scope::device);
    }
};

inline void give_and_compare(collectives_job& job, group who, std::uint32_t seed) {
    const auto n = static_cast<std::uint64_t>(job.machine.n_pes());
    std::array<std::uint64_t, 5> of_pe{};
    for (std::uint64_t p = 0; p < n; ++p) of_pe[p] = job.counts[p].groups(who);
    const std::uint64_t groups = *std::max_element(of_pe.begin(), of_pe.end());
    const std::uint64_t room = 4 * n + 3;
    symmetric_array<std::uint32_t> from(job.machine, room * groups), to(job.machine, room * groups);
    symmetric_array<std::uint64_t> counts(job.machine, n * groups);
    std::vector<std::vector<std::uint32_t>> expected(n, std::vector<std::uint32_t>(room * groups));
    std::vector<buffer<std::uint32_t>> failed;
    for (std::uint64_t p = 0; p < n; ++p) {
        std::vector<std::uint32_t> given(room * groups);
        std::vector<std::uint64_t> told;
        for (std::uint64_t g = 0; g < groups; ++g) {
            std::uint64_t at = g * room;
            for (std::uint64_t q = 0; q < n; ++q) {
                const std::uint64_t count = give_by_counts::count(seed, p, q);
                told.push_back(count);
                if (g >= of_pe[p] || g >= of_pe[q]) continue;
                std::uint64_t there = g * room;
                for (std::uint64_t before = 0; before < p; ++before)
                    there += (g < of_pe[before] ? 1 : 0) * give_by_counts::count(seed, before, q);
                for (std::uint64_t i = 0; i < count; ++i) {
                    given[at] = static_cast<std::uint32_t>(1000 * (p + 1) + at);
                    expected[q][there + i] = given[at++];
                }
            }
        }
        from.copy_in(static_cast<int>(p), given);
        to.copy_in(static_cast<int>(p), std::vector<std::uint32_t>(room * groups));
        counts.copy_in(static_cast<int>(p), told);
        failed.emplace_back(job.machine.device(static_cast<int>(p)), 1).fill_bytes(0);
    }
    job.run([&](int pe) {
        return give_by_counts{
            who, seed, room, from.ref(), to.ref(), counts.ref(), failed[static_cast<std::size_t>(pe)].data(), of_pe};
    });
    for (std::uint64_t p = 0; p < n; ++p) {
        EXPECT_EQ(failed[p].copy_out()[0], 0u);
        EXPECT_EQ(to.copy_out(static_cast<int>(p)), expected[p]) << "PE " << p;
    }
}

TEST_P(symmetric_collectives_test, ANumberOfElementsForEachPair) {
    collectives_job job(options_of(GetParam(), 4));
    for (const group who : {group::warp, group::block, group::grid}) give_and_compare(job, who, 2);
}

TEST_P(symmetric_collectives_test, ANumberOfElementsForEachPairOfSomePes) {
    collectives_job job(options_of(GetParam(), 4), {}, [](int pe) { return 1 + (pe * 2 + 2) % 4; });
    for (const group who : {group::warp, group::block}) give_and_compare(job, who, 2);
}

TEST_P(symmetric_collectives_test, ANumberOfElementsForEachPairUnderSeeds) {
    every_round(GetParam(), [&](const options& o) {
        if (o.seed % 4 != 0) return;  // the others are for what moves elsewhere
        collectives_job job(o);
        give_and_compare(job, o.seed % 8 == 0 ? group::block : group::grid, static_cast<std::uint32_t>(o.seed));
    });
}

LANEWAY_ON_DEVICES(symmetric_collectives_test, equal_devices_to_five());

/// Asks for more elements than there are, also where so many times the PEs is no number.
struct take_too_many {
    symmetric_ref<std::uint32_t> array;
    symmetric_ref<std::uint64_t> counts;
    int call;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position&) const {
        if (call == 0) (void)sums.all_gather(ctx, array[0], ~std::uint64_t{0} / 2 + 1);
        if (call == 1) (void)sums.all_reduce(ctx, array[8], 3, reduction::sum{});
        if (call == 2) (void)sums.all_to_all_v(ctx, array[0], counts[0], array[5]);
        if (call == 3) (void)sums.all_to_all_v(ctx, array[0], counts[1], array[5]);
    }
};

class symmetric_collective_limits : public testing::TestWithParam<std::string> {};

TEST_P(symmetric_collective_limits, ElementsThatDoNotExistEndTheRun) {
    collectives_job job(options_of(GetParam(), 4));
    const symmetric_array<std::uint32_t> array(job.machine, 10);
    symmetric_array<std::uint64_t> counts(job.machine, static_cast<std::uint64_t>(job.machine.n_pes()));
    for (int pe = 0; pe < job.machine.n_pes(); ++pe) counts.copy_in(pe, std::vector<std::uint64_t>(counts.size(), 6));
    for (const int call : {0, 1, 2, 3}) {
        try {
            job.run([&](int) { return take_too_many{array.ref(), counts.ref(), call}; });
            ADD_FAILURE() << "more elements were taken than there are";
        } catch (const device_fault& e) {
            EXPECT_NE(std::string(e.what()).find("an address outside symmetric memory"), std::string::npos) << e.what();
            EXPECT_NE(std::string(e.what()).find("collective"), std::string::npos) << e.what();
        }
    }
}

LANEWAY_ON_DEVICES(symmetric_collective_limits, device_lists());

}  // namespace laneway::test
