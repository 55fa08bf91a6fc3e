// Universes on the host: what is refused, what memory they take, and that packing loses nothing.
#include "md/packing.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "laneway/base/error.hpp"
#include "unit/apps/md_universes.hpp"

namespace laneway::test {

using namespace apps;

TEST(MdPacking, WhatIsPackedComesBack) {
    const md_atoms atoms = gas({-3, 0, 1e3}, {6, 7, 1e2}, 50, 0.9, 1);
    const md_shape shape = shape_of(atoms, {}, 4);
    const auto memory = pack(atoms, shape);
    EXPECT_EQ(memory.size() % 128, 0u);
    const md_outcome made = unpack(memory.data(), shape, atoms.box_low);
    EXPECT_EQ(made.atoms.velocities, atoms.velocities);
    EXPECT_LT(greatest_distance(made.atoms, atoms), 1e-12);
    EXPECT_EQ(made.atoms.box_low, atoms.box_low);
    EXPECT_EQ(made.forces, std::vector<double>(150));
    EXPECT_TRUE(made.samples.empty());
    EXPECT_EQ(made.state.step, 0u);
}

TEST(MdPacking, PositionsAreWrapped) {
    md_atoms atoms = gas({2, 2, 2}, {6, 6, 6}, 3, 1, 2);
    atoms.positions = {2, 8, 13.75, 1, 9, -3.9, std::nextafter(2.0, 0.0), 5, 7.999};
    const md_shape shape = shape_of(atoms, {});
    const md_outcome made = unpack(pack(atoms, shape).data(), shape, atoms.box_low);
    const std::vector<double> expected{2, 2, 7.75, 7, 3, 2.1, 2, 5, 7.999};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(made.atoms.positions[i], expected[i], i == 6 ? 6.1 : 1e-14) << i;
        EXPECT_GE(made.atoms.positions[i], 2);
        EXPECT_LE(made.atoms.positions[i], 8);
    }
}

/// The parts of the memory follow each other without holes that grow, and without overlaps.
TEST(MdPacking, PartsDoNotOverlap) {
    for (const std::size_t count : {2u, 31u, 32u, 33u, 100u}) {
        const md_atoms atoms = gas({0, 0, 0}, {9, 9, 12}, count, 0.5, count);
        const md_shape shape = shape_of(atoms, {}, 7, 20);
        std::vector<std::byte> memory(md_universe_ref::bytes(shape));
        const md_universe_ref u{memory.data(), shape, {}};
        const auto at = [&](const void* part) { return static_cast<const std::byte*>(part) - memory.data(); };
        EXPECT_GE(at(u.column(md_column::x)), static_cast<std::ptrdiff_t>(sizeof(md_state)));
        EXPECT_GE(at(u.samples()), at(u.column(md_column::virial) + shape.atoms));
        EXPECT_GE(at(u.atom_of_row()), at(u.samples() + 7));
        EXPECT_GE(at(u.cell_of_atom()), at(u.atom_of_row() + shape.atoms));
        EXPECT_GE(at(u.row_neighbours()), at(u.cell_of_atom() + shape.atoms));
        EXPECT_GE(at(u.list_of_row(0)), at(u.row_neighbours() + shape.atoms));
        const auto last = u.list_of_row(shape.atoms - 1) + 19 * md_shape::tile;
        EXPECT_GE(at(u.cell_begin()), at(last + 1));
        EXPECT_GE(static_cast<std::ptrdiff_t>(memory.size()), at(u.cell_begin() + shape.n_cells() + 1));
    }
}

TEST(MdPacking, CellsAreHalfTheRangeAndNotManyMoreThanAtoms) {
    const auto cells = [](std::array<double, 3> lengths, std::size_t count) {
        const md_shape shape = shape_of(gas({0, 0, 0}, lengths, count, 0, 3), {});
        return std::array<std::uint32_t, 3>{shape.cells[0], shape.cells[1], shape.cells[2]};
    };
    using three = std::array<std::uint32_t, 3>;
    EXPECT_EQ(cells({5.6, 5.6, 5.6}, 100), (three{4, 4, 4}));
    EXPECT_EQ(cells({6.9, 7.1, 8.5}, 100), (three{4, 5, 6}));
    EXPECT_EQ(cells({5.6, 5.6, 40}, 100), (three{4, 4, 28}));
    const three sparse = cells({1e6, 1e6, 1e6}, 100);
    EXPECT_LE(sparse[0] * sparse[1] * sparse[2], 464u);
    EXPECT_GE(sparse[0], 4u);
    const three rod = cells({6, 6, 1e9}, 100);
    EXPECT_LE(rod[2], 29u);
    EXPECT_GE(rod[2], 20u);
}

TEST(MdPacking, ListsHaveRoomForDenseLiquids) {
    // A crystal at density 1.3, far denser than the melt, has 134 atoms within 2.8.
    const md_shape shape = shape_of(crystal({5, 5, 5}, 1.3, 1, 1), {});
    EXPECT_GT(shape.neighbours, 150u);
    EXPECT_LT(shape.neighbours, 300u);
    EXPECT_EQ(shape_of(gas({0, 0, 0}, {6, 6, 6}, 20, 0.9, 1), {}).neighbours, 19u) << "there are no more atoms";
}

TEST(MdPacking, UnsoundUniversesAreRefused) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    struct unsound {
        const char* reason;
        std::function<void(md_atoms&, md_model&)> spoil;
    };
    const std::vector<unsound> cases{
        {"cutoff is 0, not finite and above 0", [](auto&, auto& m) { m.cutoff = 0; }},
        {"cutoff is nan", [](auto&, auto& m) { m.cutoff = nan; }},
        {"skin is -0.1, not finite and 0 or more", [](auto&, auto& m) { m.skin = -0.1; }},
        {"dt is inf, not finite and above 0", [](auto&, auto& m) { m.dt = infinity; }},
        {"after 1 step or more, not 0",
         [](auto&, auto& m) {
             m.rule = md_list_rule::steps;
             m.rebuild_steps = 0;
         }},
        {"1 atoms: a universe has from 2", [](auto& a, auto&) { a.positions.resize(3), a.velocities.resize(3); }},
        {"30 coordinates and 27 components", [](auto& a, auto&) { a.velocities.resize(27); }},
        {"29 coordinates", [](auto& a, auto&) { a.positions.resize(29); }},
        {"the box is 5.59 long along y, not finite and at least 2 (cutoff + skin) = 5.6",
         [](auto& a, auto&) { a.box_high[1] = a.box_low[1] + 5.59; }},
        {"at least 2 (cutoff + skin) = 6.6", [](auto&, auto& m) { m.cutoff = 3; }},
        {"the box is -6 long along z", [](auto& a, auto&) { std::swap(a.box_low[2], a.box_high[2]); }},
        {"the box is inf long along x", [](auto& a, auto&) { a.box_high[0] = infinity; }},
        {"position of atom 4 along y is not a number", [](auto& a, auto&) { a.positions[10] = nan; }},
        {"velocity of atom 10 along z is infinite", [](auto& a, auto&) { a.velocities[29] = -infinity; }},
        {"atom 2 is at 12 along x, more than the box's length outside of 0 to 6",
         [](auto& a, auto&) { a.positions[3] = 12; }},
        {"atom 2 is at -6.01 along x", [](auto& a, auto&) { a.positions[3] = -6.01; }},
    };
    for (const unsound& each : cases) {
        md_atoms atoms = gas({0, 0, 0}, {6, 6, 6}, 10, 0.9, 4);
        md_model model;
        EXPECT_NO_THROW((void)shape_of(atoms, model));
        each.spoil(atoms, model);
        try {
            (void)shape_of(atoms, model);
            ADD_FAILURE() << "taken: " << each.reason;
        } catch (const usage_error& e) {
            EXPECT_NE(std::string(e.what()).find(each.reason), std::string::npos) << e.what();
        }
    }
}

TEST(MdPacking, AFailedUniverseSaysWhatWouldDo) {
    const md_shape shape = shape_of(gas({0, 0, 0}, {6, 6, 6}, 10, 0.9, 5), {}, 0, 3);
    md_state state{};
    EXPECT_NO_THROW(require_ok("universe 3", state, shape));
    state.step = 40;
    state.status = md_status::neighbours_full;
    state.neighbours = 7;
    try {
        require_ok("universe 3", state, shape);
        ADD_FAILURE();
    } catch (const device_fault& e) {
        EXPECT_STREQ(e.what(),
                     "universe 3: step 40: an atom has more neighbours than its list has room for: 7, and the list "
                     "holds 3");
    }
}

}  // namespace laneway::test
