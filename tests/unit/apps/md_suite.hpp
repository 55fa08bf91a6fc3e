// Molecular dynamics on any device, by workers of several widths: against direct sums, conservation laws and LAMMPS.
#pragma once

#include <cstring>

#include "md/lennard_jones.hpp"
#include "unit/apps/md_universes.hpp"
#include "unit/test_devices.hpp"
#include "unit/test_files.hpp"

namespace laneway::test {

using apps::md_atoms;
using apps::md_energies;
using apps::md_list_rule;
using apps::md_model;
using apps::md_outcome;
using apps::md_report;
using apps::md_shape;
using apps::md_status;
using apps::md_universe_ref;

/// A universe each for the warps of a grid, or for its blocks.
struct advance_universes {
    static constexpr int cuda_warps = 2;

    const md_universe_ref* universes;
    md_report* reports;
    std::uint32_t* wrong;  ///< lanes that were told something else than the first of their worker
    std::uint32_t count;
    std::uint64_t steps;
    double factor;  ///< of velocities, before the first step
    bool by_blocks;

    template <class Ctx>
    LANEWAY_FN void operator()(Ctx& ctx) const {
        if (by_blocks) {
            run(ctx, apps::block_worker<Ctx>(ctx), ctx.block(), ctx.n_blocks());
        } else {
            run(ctx, apps::warp_worker<Ctx>(ctx), ctx.block() * ctx.n_warps() + ctx.warp(),
                ctx.n_blocks() * ctx.n_warps());
        }
    }

private:
    template <class Ctx, class Worker>
    LANEWAY_FN void run(Ctx& ctx, const Worker& worker, int first, int workers) const {
        for (auto i = static_cast<std::uint32_t>(first); i < count; i += static_cast<std::uint32_t>(workers)) {
            const md_universe_ref universe = universes[i];
            if (factor != 1) apps::scale_velocities(worker, universe, factor);
            const md_report made = apps::advance(ctx, worker, universe, steps);
            const bool stored = made.status != md_status::ok || universe.state()->step == made.energies.step;
            if (worker.lane() == 0) reports[i] = made;
            worker.sync();
            const md_report& told = reports[i];
            const bool same = stored && told.status == made.status && told.energies.step == made.energies.step &&
                              told.energies.potential == made.energies.potential &&
                              told.energies.kinetic == made.energies.kinetic &&
                              told.energies.virial == made.energies.virial;
            if (!same) ctx.fetch_add(wrong, 1, order::relaxed, scope::device);
        }
    }
};

/// Universes on a device, with other bytes between them, which must stay as they are.
class universes_on {
public:
    explicit universes_on(const options& o, int warps = 0) : options_(o), machine_(o.devices, o.seed) {
        shape_ = small_grid(machine_);
        if (warps != 0 && is_checked(o.devices)) shape_.warps_per_block = warps;
    }

    void add(const md_atoms& atoms, const md_model& model, std::uint32_t samples = 0, std::uint32_t neighbours = 0) {
        const md_shape shape = apps::shape_of(atoms, model, samples, neighbours);
        auto bytes = apps::pack(atoms, shape);
        bytes.resize(bytes.size() + guard_bytes, guard);
        memory_.emplace_back(machine_.device(0), bytes.size());
        memory_.back().copy_in(bytes);
        universes_.push_back({memory_.back().data(), shape, model});
        lows_.push_back(atoms.box_low);
    }

    const std::vector<md_report>& advance(std::uint64_t steps, bool by_blocks = false, double factor = 1) {
        const auto count = universes_.size();
        buffer<md_universe_ref> universes(machine_.device(0), count);
        universes.copy_in(universes_);
        buffer<md_report> reports(machine_.device(0), count);
        buffer<std::uint32_t> wrong(machine_.device(0), 1);
        run_programs(machine_, shape_, never_seconds, [&](int) {
            return advance_universes{
                universes.data(), reports.data(), wrong.data(), static_cast<std::uint32_t>(count), steps,
                factor,           by_blocks};
        });
        EXPECT_EQ(wrong.copy_out()[0], 0u);
        reports_ = reports.copy_out();
        return reports_;
    }

    [[nodiscard]] md_outcome outcome(std::size_t i) const {
        const auto bytes = memory_[i].copy_out();
        EXPECT_EQ(std::count(bytes.end() - guard_bytes, bytes.end(), guard), guard_bytes);
        return apps::unpack(bytes.data(), universes_[i].shape, lows_[i]);
    }
    [[nodiscard]] const md_shape& shape(std::size_t i) const { return universes_[i].shape; }

private:
    static constexpr std::ptrdiff_t guard_bytes = 4096;
    static constexpr std::byte guard{0xa5};

    options options_;
    machine machine_;
    launch_shape shape_;
    std::vector<buffer<std::byte>> memory_;
    std::vector<md_universe_ref> universes_;
    std::vector<std::array<double, 3>> lows_;
    std::vector<md_report> reports_;
};

class md_test : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] options first_options() const { return options_of(GetParam(), 0); }
};

inline double relative(double a, double b) { return std::fabs(a - b) / std::fmax(1, std::fabs(b)); }

/// The shortest side that is allowed, and just above, where a cell and its images touch; long and flat boxes; few atoms
/// in much room; boxes that do not begin at 0.
inline std::vector<md_atoms> small_universes() {
    const double range = 2.8;
    return {gas({0, 0, 0}, {2 * range, 2 * range, 2 * range}, 90, 0.95, 1),
            gas({0, 0, 0}, {2.1 * range, 2.49 * range, 2.51 * range}, 120, 0.95, 2),
            gas({-3, 5, 100}, {3 * range, 2 * range, 3.3 * range}, 150, 0.95, 3),
            gas({0, 0, 0}, {2 * range, 2 * range, 40}, 200, 0.95, 4),
            gas({-500, -500, -500}, {1000, 1000, 1000}, 40, 0.9, 5),
            gas({0, 0, 0}, {6, 6, 6}, 2, 1.1, 6),
            gas({0, 0, 0}, {9, 9, 9}, 33, 0.9, 7),
            crystal({4, 4, 4}, 0.8442, 3, 8)};
}

TEST_P(md_test, ForcesMeetDirectSums) {
    const auto all = small_universes();
    for (const bool by_blocks : {false, true}) {
        universes_on universes(first_options());
        for (const md_atoms& atoms : all) universes.add(atoms, {});
        const auto reports = universes.advance(0, by_blocks);
        for (std::size_t i = 0; i < all.size(); ++i) {
            SCOPED_TRACE("universe " + std::to_string(i));
            const direct_sum expected = sum_directly(all[i], 2.5);
            const md_outcome made = universes.outcome(i);
            ASSERT_EQ(reports[i].status, md_status::ok);
            EXPECT_LT(relative(reports[i].energies.potential, expected.potential), 1e-12);
            EXPECT_LT(relative(reports[i].energies.virial, expected.virial), 1e-12);
            for (std::size_t k = 0; k < expected.forces.size(); ++k) {
                ASSERT_LT(relative(made.forces[k], expected.forces[k]), 1e-10) << "atom " << k / 3;
            }
            EXPECT_NEAR(reports[i].energies.temperature(universes.shape(i).atoms), i == 7 ? 3 : 1, 1e-12);
            EXPECT_LT(greatest_distance(made.atoms, all[i]), 1e-12);
        }
    }
}

TEST_P(md_test, NoPairIsMissedWhereListsFollowMovements) {
    auto hot = crystal({4, 4, 4}, 0.8442, 6, 11);
    universes_on universes(first_options());
    md_model model;
    universes.add(hot, model);
    model.skin = 0;  // lists are built in every step
    universes.add(hot, model);
    model = {.rule = md_list_rule::steps, .rebuild_steps = 1000};
    universes.add(hot, model);
    for (const md_report& report : universes.advance(40)) ASSERT_EQ(report.status, md_status::ok);
    advance_directly(hot, 2.5, 0.005, 40);
    EXPECT_LT(greatest_distance(universes.outcome(0).atoms, hot), 1e-10);
    EXPECT_LT(greatest_distance(universes.outcome(1).atoms, hot), 1e-10);
    EXPECT_GT(greatest_distance(universes.outcome(2).atoms, hot), 1e-6) << "the atoms are too slow for this test";
    EXPECT_GT(universes.outcome(0).state.builds, 3u);
    EXPECT_LT(universes.outcome(0).state.builds, 20u);
    EXPECT_EQ(universes.outcome(1).state.builds, 41u);
    EXPECT_EQ(universes.outcome(2).state.builds, 1u);
}

TEST_P(md_test, MomentumAndEnergyOfAColdCrystalStay) {
    const auto cold = crystal({4, 4, 4}, 1.0, 0.01, 21);
    universes_on universes(first_options());
    // Between two shells of neighbours, at 2.245 and 2.510: no pair comes across the step of the energy.
    universes.add(cold, {.cutoff = 2.38, .dt = 0.002, .sample_steps = 50}, 100);
    ASSERT_EQ(universes.advance(1000)[0].status, md_status::ok);
    const md_outcome made = universes.outcome(0);
    ASSERT_EQ(made.samples.size(), 21u);
    for (const md_energies& sample : made.samples) {
        EXPECT_NEAR(sample.total(), made.samples[0].total(), 1e-5 * 256) << "step " << sample.step;
    }
    EXPECT_LT(made.samples.back().kinetic, 0.9 * made.samples.front().kinetic) << "half of it becomes potential energy";
    for (std::size_t axis = 0; axis < 3; ++axis) {
        double momentum = 0;
        for (std::size_t i = axis; i < made.atoms.velocities.size(); i += 3) momentum += made.atoms.velocities[i];
        EXPECT_NEAR(momentum, 0, 1e-11);
    }
}

TEST_P(md_test, TimeRunsBackwards) {
    const auto begin = crystal({4, 4, 4}, 0.8442, 1, 31);
    universes_on universes(first_options(), 3);  // in blocks whose lanes do not divide the atoms evenly
    universes.add(begin, {});
    ASSERT_EQ(universes.advance(100)[0].status, md_status::ok);
    EXPECT_GT(greatest_distance(universes.outcome(0).atoms, begin), 0.1);
    ASSERT_EQ(universes.advance(100, true, -1)[0].status, md_status::ok);
    const md_outcome made = universes.outcome(0);
    EXPECT_LT(greatest_distance(made.atoms, begin), 1e-10);
    for (std::size_t i = 0; i < begin.velocities.size(); ++i) {
        ASSERT_NEAR(made.atoms.velocities[i], -begin.velocities[i], 1e-9);
    }
}

/// The same bytes of positions and energies from whole calls and from pieces, and from warps and from blocks.
TEST_P(md_test, SamplesFollowStepsWhateverTheCalls) {
    const auto begin = crystal({4, 4, 4}, 0.8442, 3, 41);
    const md_model model{.rule = md_list_rule::steps, .rebuild_steps = 7, .sample_steps = 5};
    universes_on whole(first_options()), parts(first_options());
    whole.add(begin, model, 6);
    parts.add(begin, model, 6);
    const md_energies end = whole.advance(26)[0].energies;
    md_energies last;
    for (const std::uint64_t steps : {0, 1, 9, 0, 5, 11}) last = parts.advance(steps, steps % 2 == 1)[0].energies;
    const md_outcome a = whole.outcome(0), b = parts.outcome(0);
    EXPECT_EQ(a.state.builds, 4u);
    EXPECT_EQ(b.state.builds, 4u);
    ASSERT_EQ(a.samples.size(), 6u);
    ASSERT_EQ(b.samples.size(), 6u);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(a.samples[i].step, 5 * i);
        EXPECT_EQ(b.samples[i].step, 5 * i);
        EXPECT_LT(relative(a.samples[i].potential, b.samples[i].potential), 1e-12);
    }
    EXPECT_EQ(end.step, 26u);
    EXPECT_EQ(last.step, 26u);
    EXPECT_LT(greatest_distance(a.atoms, b.atoms), 1e-11);
    if (GetParam().starts_with("cuda")) return;  // GPUs fuse multiply-adds, in each kernel in its own way
    EXPECT_EQ(a.atoms.positions, b.atoms.positions);
    EXPECT_EQ(a.atoms.velocities, b.atoms.velocities);
    EXPECT_EQ(end.potential, last.potential);
    EXPECT_EQ(end.kinetic, last.kinetic);
    EXPECT_EQ(end.virial, last.virial);
}

/// Whatever the interleaving of lanes, and however many there are, the bits are those of one lane.
TEST_P(md_test, AnyWidthGivesTheSameBits) {
    if (GetParam().starts_with("cuda")) GTEST_SKIP() << "GPUs fuse multiply-adds, in each kernel in its own way";
    const md_atoms begin = gas({0, 0, 0}, {6, 7, 8}, 45, 0.95, 51);
    options lone = first_options();
    lone.devices = "cpu:1";
    universes_on one(lone);
    one.add(begin, {});
    const md_report expected = one.advance(12)[0];
    ASSERT_EQ(expected.status, md_status::ok);
    const md_outcome end = one.outcome(0);
    every_round_within(GetParam(), [&](const options& o) {
        universes_on many(o, 1 + static_cast<int>(o.seed % 3));
        many.add(begin, {});
        const md_report made = many.advance(12, o.seed % 4 != 0)[0];
        EXPECT_EQ(made.energies.potential, expected.energies.potential);
        EXPECT_EQ(made.energies.kinetic, expected.energies.kinetic);
        EXPECT_EQ(made.energies.virial, expected.energies.virial);
        EXPECT_EQ(many.outcome(0).atoms.positions, end.atoms.positions);
        EXPECT_EQ(many.outcome(0).state.builds, end.state.builds);
    });
}

TEST_P(md_test, FullListsAreTold) {
    const auto dense = crystal({4, 4, 4}, 0.8442, 1, 61);
    const std::size_t known = 78;  // atoms of a crystal within 2.8: shells of 12, 6, 24, 12 and 24
    universes_on universes(first_options());
    universes.add(dense, {}, 0, known);
    universes.add(dense, {}, 0, known - 1);
    universes.add(dense, {}, 0, 1);
    auto reports = universes.advance(0, true);
    EXPECT_EQ(reports[0].status, md_status::ok);
    EXPECT_EQ(reports[1].status, md_status::neighbours_full);
    EXPECT_EQ(reports[2].status, md_status::neighbours_full);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(universes.outcome(i).state.neighbours, known);
    reports = universes.advance(10);  // it stays so, and the others go on until they have more neighbours
    EXPECT_EQ(reports[1].status, md_status::neighbours_full);
    EXPECT_EQ(universes.outcome(1).state.step, 0u);
    EXPECT_EQ(universes.outcome(1).atoms.positions, dense.positions);
    reports = universes.advance(200);
    EXPECT_EQ(reports[0].status, md_status::neighbours_full);
    EXPECT_GT(universes.outcome(0).state.neighbours, known);
}

/// Few atoms have too many neighbours, so one lane finds out, and all must leave together.
TEST_P(md_test, AFullListIsToldToAllLanes) {
    md_atoms drop = gas({0, 0, 0}, {30, 30, 30}, 12, 6, 62);
    const md_atoms near = gas({0, 0, 0}, {2.8, 2.8, 2.8}, 6, 0.95, 63);
    drop.positions.insert(drop.positions.end(), near.positions.begin(), near.positions.end());
    drop.velocities.insert(drop.velocities.end(), near.velocities.begin(), near.velocities.end());
    for (std::size_t axis = 0; axis < 3; ++axis) drop.positions[axis] = near.positions[axis] + (axis == 0 ? 2.5 : 0);
    every_round_within(GetParam(), [&](const options& o) {
        universes_on universes(o, 1 + static_cast<int>(o.seed % 3));
        universes.add(drop, {}, 0, 5);
        EXPECT_EQ(universes.advance(3, o.seed % 2 == 0)[0].status, md_status::neighbours_full);
        EXPECT_EQ(universes.outcome(0).state.neighbours, 6u);
    });
}

TEST_P(md_test, LostAtomsAreTold) {
    const auto sound = gas({0, 0, 0}, {6, 6, 6}, 30, 0.95, 71);
    auto fast = sound, together = sound, near = sound;
    fast.velocities[5] = 1e7;
    std::copy_n(together.positions.begin() + 3, 3, together.positions.begin());
    near.positions[0] = near.positions[3] + 1e-9;
    std::copy_n(near.positions.begin() + 4, 2, near.positions.begin() + 1);
    for (const auto rule : {md_list_rule::moved, md_list_rule::steps}) {
        universes_on universes(first_options());
        for (const auto& atoms : {sound, fast, together, near}) {
            universes.add(atoms, {.rule = rule, .rebuild_steps = 5});
        }
        const auto reports = universes.advance(10);
        EXPECT_EQ(reports[0].status, md_status::ok);
        for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(reports[i].status, md_status::lost_atom) << i;
        for (std::size_t i = 0; i < 4; ++i) (void)universes.outcome(i);  // looks at the bytes behind
    }
}

TEST_P(md_test, FullSamplesAreTold) {
    universes_on universes(first_options());
    universes.add(gas({0, 0, 0}, {6, 6, 6}, 10, 1, 81), {.sample_steps = 2}, 3);
    EXPECT_EQ(universes.advance(5)[0].status, md_status::ok);
    EXPECT_EQ(universes.advance(5)[0].status, md_status::samples_full);
    EXPECT_EQ(universes.outcome(0).samples.size(), 3u);
    EXPECT_EQ(universes.outcome(0).state.step, 6u);
}

/// Values of `thermo 10` in LAMMPS's log: step, temperature, potential and total energy an atom, pressure.
inline std::vector<std::array<double, 5>> lammps_thermo(const std::filesystem::path& path) {
    text_source text(path);
    std::vector<std::array<double, 5>> rows;
    bool inside = false;
    for (std::string_view line; text.next_line(line);) {
        if (line.find("Step") != line.npos && line.find("TotEng") != line.npos) {
            inside = true;
            rows.clear();  // of `run 0`
        } else if (line.starts_with("Loop time")) {
            inside = false;
        } else if (inside) {
            std::istringstream words{std::string(line)};
            std::array<double, 5> row{};
            double bonds = 0;
            words >> row[0] >> row[1] >> row[2] >> bonds >> row[3] >> row[4];
            rows.push_back(row);
        }
    }
    return rows;
}

// LAMMPS built its lists every 20 steps, unchecked, while atoms moved further than the skin allows: pairs are missed.
TEST_P(md_test, LammpsMelt) {
    LANEWAY_NEED_SHARED_DATA(first, "md/melt4000.initial.dump.xz");
    LANEWAY_NEED_SHARED_DATA(last, "md/melt4000.final250.dump.xz");
    LANEWAY_NEED_SHARED_DATA(log, "md/log.melt4000");
    std::vector<double> forces;
    const md_atoms begin = lammps_dump(first), end = lammps_dump(last, &forces);
    const auto thermo = lammps_thermo(log);
    ASSERT_EQ(thermo.size(), 26u);
    universes_on universes(first_options());
    universes.add(begin, {.rule = md_list_rule::steps, .rebuild_steps = 20, .sample_steps = 10}, 26);
    universes.add(begin, {});
    const auto reports = universes.advance(250, true);
    ASSERT_EQ(reports[0].status, md_status::ok);
    ASSERT_EQ(reports[1].status, md_status::ok);
    const md_outcome made = universes.outcome(0);
    ASSERT_EQ(made.samples.size(), 26u);
    const double n = 4000, volume = universes.shape(0).volume();
    for (std::size_t i = 0; i < 26; ++i) {
        const md_energies& sample = made.samples[i];
        SCOPED_TRACE("step " + std::to_string(sample.step));
        EXPECT_EQ(static_cast<double>(sample.step), thermo[i][0]);
        // The log has 12 digits.
        EXPECT_LT(relative(sample.temperature(4000), thermo[i][1]), 1e-11);
        EXPECT_LT(relative(sample.potential / n, thermo[i][2]), 1e-11);
        EXPECT_LT(relative(sample.total() / n, thermo[i][3]), 1e-11);
        EXPECT_LT(relative(sample.pressure(volume), thermo[i][4]), 1e-11);
    }
    EXPECT_LT(greatest_distance(made.atoms, end), 1e-11);
    for (std::size_t i = 0; i < forces.size(); ++i) {
        ASSERT_LT(relative(made.atoms.velocities[i], end.velocities[i]), 1e-9) << "atom " << i / 3 + 1;
        ASSERT_LT(relative(made.forces[i], forces[i]), 1e-8) << "atom " << i / 3 + 1;
    }
    EXPECT_EQ(made.state.builds, 13u);
    // Without missed pairs the energy stays better.
    EXPECT_GT(greatest_distance(universes.outcome(1).atoms, end), 1e-3);
    EXPECT_LT(std::fabs(reports[1].energies.total() / n - thermo[0][3]),
              std::fabs(reports[0].energies.total() / n - thermo[0][3]));
}

LANEWAY_ON_DEVICES(md_test, lone_device());

}  // namespace laneway::test
