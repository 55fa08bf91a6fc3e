// Schedules of triggered operations: prepared once, run by triggers alone for many rounds.
#pragma once

#include "laneway/run/schedules/halo_exchange.hpp"
#include "laneway/run/schedules/ring_all_reduce.hpp"
#include "laneway/run/schedules/tree_broadcast.hpp"
#include "triggers_job.hpp"

namespace laneway::test {
namespace {

class trigger_schedules_test : public testing::TestWithParam<std::string> {
protected:
    void TearDown() override {
        for (const auto& one : wrong_) EXPECT_EQ(one, 0u);
    }
    void count_wrong(const symmetric_array<std::uint64_t>& wrong, int pes) {
        for (int pe = 0; pe < pes; ++pe) wrong_.push_back(wrong.copy_out(pe)[0]);
    }
    std::vector<std::uint64_t> wrong_;
};

/// Whether this is the one lane of its PE that has a part in a schedule.
template <class Ctx>
LANEWAY_FN bool leads(const Ctx& ctx) {
    return ctx.local_rank() == 0;
}

/// What PE `pe` brings for element i: a number that single precision adds up exactly.
LANEWAY_FN std::uint64_t brought(int pe, std::uint64_t i, std::uint64_t round) {
    return static_cast<std::uint64_t>(pe + 1) * 100 + i % 50 + round;
}

template <class T>
struct reduce_in_rounds {
    ring_all_reduce_ref ring;
    symmetric_ref<T> data;
    symmetric_ref<std::uint64_t> wrong;
    std::uint64_t first;  ///< round
    std::uint64_t last;

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (!leads(ctx)) return;
        const auto mine = data.local(ctx);
        for (std::uint64_t round = first; round <= last; ++round) {
            for (std::uint64_t i = 0; i < data.size(); ++i) mine[i] = static_cast<T>(brought(ctx.pe(), i, round));
            if (ring.start(ctx, triggers) != status::ok) return;
            if (ring.wait(ctx, triggers, round) != status::ok) return;
            for (std::uint64_t i = 0; i < data.size(); ++i) {
                std::uint64_t sum = 0;
                for (int pe = 0; pe < ctx.n_pes(); ++pe) sum += brought(pe, i, round);
                const T found = mine[i];
                if (found != static_cast<T>(sum)) atomic_add(ctx, wrong[0], 1);
            }
        }
    }
};

TEST_P(trigger_schedules_test, ARingAddsUpInManyRounds) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const std::uint64_t counts[] = {1, 10, 64, 300}, count = counts[o.seed % 4];
        const auto data = rt.allocate<float>(count);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        const std::uint32_t n_tags = ring_all_reduce_ref::n_tags(rt.n_pes());
        auto tags = rt.triggers({.tags = n_tags + 2, .alone_bytes = o.seed % 2 * 256});
        const ring_all_reduce<float> ring(rt.machine(), tags, data.ref(), count, 2);
        rt.run(reduce_in_rounds<float>{ring.ref(), data.ref(), wrong.ref(), 1, 3}, tags);
        rt.run(reduce_in_rounds<float>{ring.ref(), data.ref(), wrong.ref(), 4, 5}, tags);
        EXPECT_TRUE(tags.waiting().empty());
        count_wrong(wrong, rt.n_pes());
    });
}

TEST_P(trigger_schedules_test, LongArraysAreSharedOut) {
    runtime rt(options_of(GetParam(), 1));
    constexpr std::uint64_t count = 12'345;
    const auto data = rt.allocate<std::uint64_t>(count);
    const auto wrong = rt.allocate<std::uint64_t>(1);
    auto tags = rt.triggers();
    const ring_all_reduce<std::uint64_t> ring(rt.machine(), tags, data.ref(), count);
    rt.run(reduce_in_rounds<std::uint64_t>{ring.ref(), data.ref(), wrong.ref(), 1, 2}, tags);
    count_wrong(wrong, rt.n_pes());
}

TEST_P(trigger_schedules_test, HostThreadsHaveArraysAddedUpInASession) {
    runtime rt(options_of(GetParam(), 1));
    constexpr std::uint64_t count = 100;
    auto data = rt.allocate<std::uint64_t>(count);
    const std::uint32_t n_tags = ring_all_reduce_ref::n_tags(rt.n_pes());
    auto tags = rt.triggers({.tags = n_tags + 3});
    const ring_all_reduce<std::uint64_t> ring(rt.machine(), tags, data.ref(), count, 3);
    auto session = rt.start(tags);
    for (std::uint64_t round = 1; round <= 3; ++round) {
        std::vector<std::uint64_t> sums(count);
        for (int pe = 0; pe < rt.n_pes(); ++pe) {
            std::vector<std::uint64_t> mine(count);
            for (std::uint64_t i = 0; i < count; ++i) sums[i] += mine[i] = brought(pe, i, round);
            data.copy_in(pe, mine);
        }
        ring.start(tags);
        session.quiesce();
        for (int pe = 0; pe < rt.n_pes(); ++pe) EXPECT_EQ(data.copy_out(pe), sums);
    }
    session.stop();
    EXPECT_TRUE(tags.waiting().empty());
}

struct broadcast_in_rounds {
    tree_broadcast_ref tree;
    symmetric_ref<std::uint32_t> data;
    symmetric_ref<std::uint64_t> wrong;
    std::uint64_t rounds;

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (!leads(ctx)) return;
        const auto mine = data.local(ctx);
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            if (ctx.pe() == 0) {
                for (std::uint64_t i = 0; i < data.size(); ++i) mine[i] = static_cast<std::uint32_t>(round * 1000 + i);
                if (tree.start(ctx, triggers) != status::ok) return;
            }
            if (tree.wait(ctx, triggers, round) != status::ok) return;
            for (std::uint64_t i = 0; i < data.size(); ++i) {
                const std::uint32_t found = mine[i];
                if (found != round * 1000 + i) atomic_add(ctx, wrong[0], 1);
            }
            if (tree.used(ctx, triggers) != status::ok) return;
            if (ctx.pe() == 0 && tree.wait_used(ctx, triggers, round) != status::ok) return;
        }
    }
};

TEST_P(trigger_schedules_test, ATreeBringsDataToAllInManyRounds) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        const auto data = rt.allocate<std::uint32_t>(o.seed % 3 * 50 + 1);
        const auto wrong = rt.allocate<std::uint64_t>(1);
        auto tags = rt.triggers({.tags = tree_broadcast_ref::n_tags});
        const tree_broadcast<std::uint32_t> tree(rt.machine(), tags, data.ref(), data.size());
        rt.run(broadcast_in_rounds{tree.ref(), data.ref(), wrong.ref(), 4}, tags);
        count_wrong(wrong, rt.n_pes());
    });
}

constexpr std::uint64_t cells = 12, width = 2;

/// Each cell becomes the sum of those at most `width` away; beyond the ends there is nothing.
struct sum_neighbours {
    halo_exchange_ref halo;
    symmetric_ref<std::uint64_t> row;
    std::uint64_t rounds;

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (!leads(ctx)) return;
        const auto mine = row.local(ctx);
        if (halo.free(ctx, triggers) != status::ok) return;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            if (halo.send(ctx, triggers) != status::ok) return;
            if (halo.wait(ctx, triggers, round) != status::ok) return;
            std::uint64_t next[cells];
            for (std::uint64_t i = 0; i < cells; ++i) {
                next[i] = 0;
                for (std::uint64_t k = 0; k <= 2 * width; ++k) next[i] += mine[i + k];
            }
            if (halo.free(ctx, triggers) != status::ok) return;
            for (std::uint64_t i = 0; i < cells; ++i) mine[i + width] = next[i];
        }
    }
};

/// The same by two arrays in turn, and borders that are written in parts: halos are free without a word.
struct sum_in_turn {
    halo_exchange_ref halos[2];
    symmetric_ref<std::uint64_t> rows[2];
    std::uint64_t rounds;

    template <class Ctx, class Triggers>
    LANEWAY_FN void operator()(Ctx& ctx, Triggers& triggers) const {
        if (ctx.local_rank() >= static_cast<std::uint64_t>(Ctx::warp_lanes)) return;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            const auto from = rows[round % 2].local(ctx), to = rows[(round + 1) % 2].local(ctx);
            for (auto i = static_cast<std::uint64_t>(ctx.lane()); i < cells; i += Ctx::warp_lanes) {
                std::uint64_t sum = 0;
                for (std::uint64_t k = 0; k <= 2 * width; ++k) sum += from[i + k];
                to[i + width] = sum;
            }
            const halo_exchange_ref& halo = halos[(round + 1) % 2];
            for (const std::uint32_t some : {1u, 0u, parts - 1}) {
                if (halo.wrote_left(ctx, triggers, some) != status::ok) return;
                if (halo.wrote_right(ctx, triggers, some) != status::ok) return;
            }
            if (halo.wait(ctx, triggers, round / 2 + 1) != status::ok) return;
            ctx.sync(full_warp<Ctx>);
        }
    }

    static constexpr std::uint32_t parts = 3;
};

/// A row of all PEs, with nothing beyond its ends.
std::vector<std::uint64_t> cells_of_all(std::uint64_t pes) {
    std::vector<std::uint64_t> all(pes * cells + 2 * width);
    for (std::uint64_t i = 0; i < pes * cells; ++i) all[width + i] = i % 7 + 1;
    return all;
}
void give_parts(symmetric_array<std::uint64_t>& row, const std::vector<std::uint64_t>& all, bool with_halo) {
    const auto pes = static_cast<int>((all.size() - 2 * width) / cells);
    for (int pe = 0; pe < pes; ++pe) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(pe) * static_cast<std::ptrdiff_t>(cells);
        std::vector<std::uint64_t> part(first, first + static_cast<std::ptrdiff_t>(cells + 2 * width));
        if (!with_halo) {
            std::fill_n(part.begin(), width, 0);
            std::fill_n(part.end() - static_cast<std::ptrdiff_t>(width), width, 0);
        }
        row.copy_in(pe, part);
    }
}
/// Cells of all PEs after so many rounds, beside those of one row.
void expect_sums(const symmetric_array<std::uint64_t>& row, std::vector<std::uint64_t> all, std::uint64_t rounds) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
        std::vector<std::uint64_t> next(all.size());
        for (std::uint64_t i = width; i < all.size() - width; ++i) {
            for (std::uint64_t k = 0; k <= 2 * width; ++k) next[i] += all[i - width + k];
        }
        all = next;
    }
    const std::uint64_t pes = (all.size() - 2 * width) / cells;
    for (std::uint64_t pe = 0; pe < pes; ++pe) {
        const auto part = row.copy_out(static_cast<int>(pe));
        for (std::uint64_t i = 0; i < cells; ++i) ASSERT_EQ(part[width + i], all[width + pe * cells + i]) << i;
    }
}

TEST_P(trigger_schedules_test, HalosOfAStencilAreExchangedInManyRounds) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        constexpr std::uint64_t rounds = 6;
        auto row = rt.allocate<std::uint64_t>(cells + 2 * width);
        const auto all = cells_of_all(static_cast<std::uint64_t>(rt.n_pes()));
        give_parts(row, all, false);
        auto tags = rt.triggers({.tags = halo_exchange_ref::n_tags});
        const halo_exchange<std::uint64_t> halo(rt.machine(), tags, row.ref(), cells, width);
        rt.run(sum_neighbours{halo.ref(), row.ref(), rounds}, tags);
        expect_sums(row, all, rounds);
    });
}

TEST_P(trigger_schedules_test, BordersAreWrittenInPartsAndHalosFreedByTheOtherArray) {
    every_round(GetParam(), [&](const options& o) {
        runtime rt(o);
        constexpr std::uint64_t rounds = 7;
        auto a = rt.allocate<std::uint64_t>(cells + 2 * width), b = rt.allocate<std::uint64_t>(cells + 2 * width);
        const auto all = cells_of_all(static_cast<std::uint64_t>(rt.n_pes()));
        give_parts(a, all, true);
        give_parts(b, std::vector<std::uint64_t>(all.size()), true);
        auto tags = rt.triggers({.tags = 2 * halo_exchange_ref::n_tags});
        const auto exchange = [&](const auto& row, std::uint32_t first_tag) {
            return halo_exchange<std::uint64_t>(
                rt.machine(), tags, row.ref(), cells, width,
                {.first_tag = first_tag, .parts = sum_in_turn::parts, .waits_for_free = false});
        };
        const auto of_a = exchange(a, 0), of_b = exchange(b, halo_exchange_ref::n_tags);
        rt.run(sum_in_turn{{of_a.ref(), of_b.ref()}, {a.ref(), b.ref()}, rounds}, tags);
        expect_sums(b, all, rounds);
    });
}

/// Those lists, and on CPU devices more PEs: trees of three levels.
inline std::vector<std::string> schedule_devices() {
    auto lists = trigger_devices();
#if !defined(__CUDACC__)
    for (const char* more : {"cpu:5", "checked:5"}) lists.emplace_back(more);
#endif
    return lists;
}

INSTANTIATE_TEST_SUITE_P(devices, trigger_schedules_test, testing::ValuesIn(schedule_devices()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(trigger_schedules_test);

}  // namespace
}  // namespace laneway::test
