// Collectives of single values, broadcasts, all-gathers and barriers, mixed over many rounds and runs.
#pragma once

#include "collectives_job.hpp"

namespace laneway::test {

class collective_values_test : public testing::TestWithParam<std::string> {};

/// Counts what is wrong; PE memory.
struct error_count {
    std::uint32_t* errors;

    template <class Ctx>
    LANEWAY_FN void expect(Ctx& ctx, bool right) const {
        if (!right) ctx.fetch_add(errors, 1u, order::relaxed, scope::device);
    }
};

/// Runs a body made of an error_count, and expects none.
template <class Make>
void run_without_errors(collectives_job& job, Make&& make) {
    std::vector<buffer<std::uint32_t>> errors;
    for (int pe = 0; pe < job.machine.n_pes(); ++pe) errors.emplace_back(job.machine.device(pe), 1);
    job.run([&](int pe) { return make(pe, error_count{errors[static_cast<std::size_t>(pe)].data()}); });
    for (int pe = 0; pe < job.machine.n_pes(); ++pe) {
        ASSERT_EQ(errors[static_cast<std::size_t>(pe)].copy_out()[0], 0u) << "wrong values on PE " << pe;
    }
}

LANEWAY_FN std::uint32_t member_number(group kind, const group_position& position) {
    return static_cast<std::uint32_t>(kind == group::warp    ? position.pe_warp
                                      : kind == group::block ? position.block
                                                             : 0);
}
/// Lanes of one member of a group.
template <class Ctx>
LANEWAY_FN std::uint64_t lanes_of_member(group kind, const group_position& position, const working_counts& pe) {
    const std::uint64_t warps = kind == group::warp    ? 1
                                : kind == group::block ? static_cast<std::uint64_t>(position.warps)
                                                       : pe.warps;
    return warps * Ctx::warp_lanes;
}

/// In each round a group does one of these, all different in what they send; groups run on independently.
struct mixed_rounds {
    error_count check;
    collectives_ref ref;
    std::uint32_t rounds;
    std::uint64_t seed;
    double* block_arrays;     ///< max_count for each block
    double* grid_array;       ///< max_count
    std::uint64_t* gathered;  ///< n_pes for each warp
    static constexpr std::uint32_t max_count = 40;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            // The PE's blocks agree on all rounds; which they are depends on nothing but the round.
            std::uint64_t x = seed * 7919 + round;
            for (int i = 0; i < 3; ++i) x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
            const auto kind = static_cast<group>(x >> 20 & 3) == static_cast<group>(3)
                                  ? group::grid
                                  : static_cast<group>(x >> 20 & 3);
            if (!one(ctx, sums, position, kind, x >> 32, round)) return;
        }
    }

private:
    template <class Ctx, class Sums>
    LANEWAY_FN bool one(Ctx& ctx, Sums& sums, const group_position& position, group kind, std::uint64_t x,
                        std::uint64_t round) const {
        switch (x % 6) {
            case 0: return add_values(ctx, sums, position, kind, round);
            case 1: return most(ctx, sums, position, kind, round);
            case 2: return send_value(ctx, sums, position, kind, x, round);
            case 3: return gather(ctx, sums, position, round);
            case 4: return add_arrays(ctx, sums, position, kind, 1 + x / 8 % max_count, round);
            default: return sums.barrier(ctx, kind) == status::ok;
        }
    }

    /// Every lane adds its PE's number, its member's and the round, all small integers.
    template <class Ctx, class Sums>
    LANEWAY_FN bool add_values(Ctx& ctx, Sums& sums, const group_position& position, group kind,
                               std::uint64_t round) const {
        const std::uint64_t number = member_number(kind, position);
        const auto mine = static_cast<double>(static_cast<std::uint64_t>(ctx.pe()) + number + round);
        const answered<double> sum = sums.all_reduce(ctx, mine, reduction::sum{}, kind);
        if (!sum) return false;
        double wanted = 0;
        for (int pe = 0; pe < ctx.n_pes(); ++pe) {
            wanted += static_cast<double>((static_cast<std::uint64_t>(pe) + number + round) *
                                          lanes_of_member<Ctx>(kind, position, ref.mine));
        }
        check.expect(ctx, sum.value == wanted);
        return true;
    }
    /// One lane of the group, another one each round, brings the most.
    template <class Ctx, class Sums>
    LANEWAY_FN bool most(Ctx& ctx, Sums& sums, const group_position& position, group kind, std::uint64_t round) const {
        const auto slot = static_cast<std::uint64_t>(position.pe_warp * Ctx::warp_lanes + ctx.lane());
        const std::int32_t mine = -static_cast<std::int32_t>((slot + static_cast<unsigned>(ctx.pe()) + round) % 11) - 1;
        const answered<std::int32_t> least = sums.all_reduce(ctx, mine, reduction::min{}, kind);
        if (!least) return false;
        // Every lane's own value bounds it, and it is the same for all: the sum of what all got says so.
        check.expect(ctx, least.value <= mine && least.value >= -11);
        const answered<std::int64_t> sum = sums.all_reduce(ctx, std::int64_t{least.value}, reduction::sum{}, kind);
        if (!sum) return false;
        const auto lanes = static_cast<std::int64_t>(lanes_of_member<Ctx>(kind, position, ref.mine)) * ctx.n_pes();
        check.expect(ctx, sum.value == least.value * lanes);
        return true;
    }
    template <class Ctx, class Sums>
    LANEWAY_FN bool send_value(Ctx& ctx, Sums& sums, const group_position& position, group kind, std::uint64_t x,
                               std::uint64_t round) const {
        const int root = static_cast<int>(x / 8 % static_cast<unsigned>(ctx.n_pes()));
        const auto mine = static_cast<std::uint32_t>(round * 64 + static_cast<unsigned>(ctx.pe())) * 1000 +
                          member_number(kind, position);
        const answered<std::uint32_t> got = sums.broadcast(ctx, mine, root, kind);
        if (!got) return false;
        check.expect(ctx, got.value == mine + static_cast<std::uint32_t>(root - ctx.pe()) * 1000);
        return true;
    }
    template <class Ctx, class Sums>
    LANEWAY_FN bool gather(Ctx& ctx, Sums& sums, const group_position& position, std::uint64_t round) const {
        std::uint64_t* const all = gathered + position.pe_warp * ctx.n_pes();
        const std::uint64_t base = round << 32 | static_cast<std::uint64_t>(position.pe_warp) << 8;
        if (sums.all_gather(ctx, base + static_cast<std::uint64_t>(ctx.pe()), all, group::warp) != status::ok)
            return false;
        for (int pe = 0; pe < ctx.n_pes(); ++pe) check.expect(ctx, all[pe] == base + static_cast<std::uint64_t>(pe));
        ctx.sync(full_warp<Ctx>);
        return true;
    }
    template <class Ctx, class Sums>
    LANEWAY_FN bool add_arrays(Ctx& ctx, Sums& sums, const group_position& position, group kind, std::uint64_t count,
                               std::uint64_t round) const {
        if (kind == group::warp) return true;
        const bool grid = kind == group::grid;
        double* const values = grid ? grid_array : block_arrays + position.block * max_count;
        const int mine = (grid ? position.pe_warp : position.warp) * Ctx::warp_lanes + ctx.lane();
        const auto lanes = static_cast<unsigned>(lanes_of_member<Ctx>(kind, position, ref.mine));
        // Each lane fills some elements, others have read them before, and others will read the results.
        if (sums.barrier(ctx, kind) != status::ok) return false;
        for (unsigned e = static_cast<unsigned>(mine); e < count; e += lanes) {
            values[e] = static_cast<double>(round * e + static_cast<unsigned>(ctx.pe()));
        }
        if (sums.all_reduce(ctx, values, count, reduction::sum{}, kind) != status::ok) return false;
        const auto n = static_cast<std::uint64_t>(ctx.n_pes());
        for (std::uint64_t e = 0; e < count; ++e) {
            check.expect(ctx, values[e] == static_cast<double>(round * e * n + n * (n - 1) / 2));
        }
        return true;
    }
};

/// The memory of mixed_rounds, and runs of them.
class mixed_job {
public:
    explicit mixed_job(collectives_job& job) : job_(job) {
        for (int pe = 0; pe < job.machine.n_pes(); ++pe) {
            const auto& counts = job.counts[static_cast<std::size_t>(pe)];
            const auto& device = job.machine.device(pe);
            blocks_.emplace_back(device, counts.blocks * mixed_rounds::max_count);
            grids_.emplace_back(device, mixed_rounds::max_count);
            gathered_.emplace_back(device, counts.warps * static_cast<std::size_t>(job.machine.n_pes()));
        }
    }
    void run(std::uint32_t rounds, std::uint64_t seed) {
        run_without_errors(job_, [&](int pe, error_count check) {
            const auto p = static_cast<std::size_t>(pe);
            return mixed_rounds{
                check, job_.memory->ref(pe), rounds, seed, blocks_[p].data(), grids_[p].data(), gathered_[p].data()};
        });
    }

private:
    collectives_job& job_;
    std::vector<buffer<double>> blocks_, grids_;
    std::vector<buffer<std::uint64_t>> gathered_;
};

inline collective_options small_words() {
    collective_options sizes;
    sizes.warp_bytes = 16;
    sizes.block_bytes = sizes.grid_bytes = 64;
    sizes.block_two_shot_bytes = sizes.grid_two_shot_bytes = 100;
    return sizes;
}

TEST_P(collective_values_test, AThousandRoundsOfAllKinds) {
    options o = options_of(GetParam(), 4);
    o.timeout_seconds = is_checked(GetParam()) ? 10 : 60;
    collectives_job job(o, small_words());
    mixed_job(job).run(1000, 1);
}
TEST_P(collective_values_test, MixedRoundsUnderManySeeds) {
    every_round(GetParam(), [](const options& o) {
        collectives_job job(o, small_words());
        mixed_job(job).run(12, o.seed);
    });
}
/// Nothing is cleared between runs: rounds go on.
TEST_P(collective_values_test, RunAfterRun) {
    collectives_job job(options_of(GetParam(), 4), small_words());
    mixed_job mixed(job);
    for (std::uint64_t run = 1; run <= 10; ++run) mixed.run(7, run);
}

/// A sum of doubles of all magnitudes: each lane has its own, and how soon it comes changes no bit.
struct rough_sum {
    double* results;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        const int slot = position.pe_warp * Ctx::warp_lanes + ctx.lane();
        double mine = 1.0 / (3 + ctx.pe() * 1000 + slot);
        for (int i = 0; i < slot % 7; ++i) mine *= 1e5;
        const auto sum = sums.all_reduce(ctx, mine, reduction::sum{});
        if (sum && ctx.lane() == 0) results[position.pe_warp] = sum.value;
    }
};

TEST_P(collective_values_test, SumsOfAllLanesHaveTheSameBitsWhateverTheTiming) {
    double first = 0;
    repeat_rounds(GetParam(), 20, [&](options o) {
        o.cpu_threads = 3;
        o.checked_warps = 3;
        o.gpu_blocks = 4;
        collectives_job job(o);
        std::vector<buffer<double>> results;
        for (int pe = 0; pe < job.machine.n_pes(); ++pe) {
            results.emplace_back(job.machine.device(pe), job.counts[static_cast<std::size_t>(pe)].warps);
        }
        job.run([&](int pe) { return rough_sum{results[static_cast<std::size_t>(pe)].data()}; });
        if (o.seed == 1) first = results[0].copy_out()[0];
        for (const auto& pe : results) {
            for (const double sum : pe.copy_out()) ASSERT_EQ(std::memcmp(&sum, &first, sizeof sum), 0) << sum;
        }
    });
}

/// Arrays of one PE that all others get, of elements of three words, and all PEs' arrays one behind the other.
struct point {
    std::int32_t x, y, z;
};
struct spread_points {
    point* points;  ///< count for each member
    point* all;     ///< n_pes * count for each member
    std::uint32_t count;
    int root;
    group kind;

    template <class Ctx, class Sums>
    LANEWAY_FN void operator()(Ctx& ctx, Sums& sums, const group_position& position) const {
        const std::uint64_t first = std::uint64_t{member_number(kind, position)} * count;
        point* const behind = all + first * static_cast<std::uint64_t>(ctx.n_pes());
        if (sums.all_gather(ctx, points + first, count, behind, kind) != status::ok) return;
        (void)sums.broadcast(ctx, points + first, count, root, kind);
    }
};

TEST_P(collective_values_test, BroadcastAndAllGatherMoveArrays) {
    const options o = options_of(GetParam(), 4);
    collectives_job job(o, small_words());
    const auto n = static_cast<std::uint32_t>(job.machine.n_pes());
    const auto value = [](std::uint32_t pe, std::uint32_t i) {
        return point{static_cast<std::int32_t>(pe), -static_cast<std::int32_t>(i),
                     static_cast<std::int32_t>(pe * 1000 + i)};
    };
    for (const std::uint32_t count : {1u, 2u, 5u, 61u, 300u}) {
        for (const group kind : {group::warp, group::block, group::grid}) {
            const int root = static_cast<int>(count % n);
            std::vector<buffer<point>> points, all;
            for (std::uint32_t pe = 0; pe < n; ++pe) {
                std::vector<point> values(job.counts[pe].groups(kind) * count);
                for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = value(pe, i);
                points.emplace_back(job.machine.device(static_cast<int>(pe)), values.size()).copy_in(values);
                all.emplace_back(job.machine.device(static_cast<int>(pe)), values.size() * n);
            }
            job.run([&](int pe) {
                const auto p = static_cast<std::size_t>(pe);
                return spread_points{points[p].data(), all[p].data(), count, root, kind};
            });
            for (std::uint32_t pe = 0; pe < n; ++pe) {
                const auto got = points[pe].copy_out(), behind = all[pe].copy_out();
                const std::uint32_t members = job.common_groups(kind);
                for (std::uint32_t i = 0; i < members * count; ++i) {
                    const point wanted = value(static_cast<std::uint32_t>(root), i);
                    ASSERT_EQ(std::memcmp(&got[i], &wanted, sizeof wanted), 0) << "PE " << pe << " element " << i;
                    for (std::uint32_t from = 0; from < n; ++from) {
                        const point theirs = value(from, i);
                        const auto at = i / count * count * n + from * count + i % count;
                        ASSERT_EQ(std::memcmp(&behind[at], &theirs, sizeof theirs), 0)
                            << "PE " << pe << " place " << at;
                    }
                }
            }
        }
    }
}

LANEWAY_ON_DEVICES(collective_values_test, equal_devices_to_five());

}  // namespace laneway::test
