// A universe of Lennard-Jones atoms as lanes see it: one piece of memory of a PE, and how it is divided.
//
// Reduced units throughout: lengths in sigma, energies in epsilon, masses 1, temperatures in epsilon / k_B, times in
// sigma * sqrt(mass / epsilon).
#pragma once

#include "laneway/base/config.hpp"

namespace laneway::apps {

/// When neighbour lists are built anew.
enum class md_list_rule : std::uint32_t {
    moved,  ///< once an atom has moved more than half the skin since the last build: no pair is ever missed
    /// After so many steps, without a look at how far atoms have moved: pairs that come within the cutoff meanwhile are
    /// missed. As LAMMPS with `neigh_modify every N delay 0 check no`.
    steps,
};

/// What atoms do to each other, and how time goes on.
struct md_model {
    double cutoff = 2.5;  ///< pairs further apart have no force and no energy; the energy is not shifted
    double skin = 0.3;    ///< neighbour lists hold the pairs within cutoff + skin
    double dt = 0.005;    ///< time of a step
    md_list_rule rule = md_list_rule::moved;
    std::uint32_t rebuild_steps = 20;  ///< of md_list_rule::steps; at least 1
    std::uint32_t sample_steps = 0;    ///< a sample of the energies at each multiple of so many steps; 0: none
};

/// A coordinate moved into the box, from at most a box's length outside of it.
LANEWAY_FN double wrapped(double x, double length) {
    if (x < 0) {
        x += length;
    } else if (x >= length) {
        x -= length;
    }
    return x == length ? 0 : x;  // the sum of the length and a tiny negative number
}

/// How the integration ended. The greater of two is the one that is kept.
enum class [[nodiscard]] md_status : std::uint32_t{
    ok = 0,
    samples_full,     ///< there are more samples than the universe has room for
    neighbours_full,  ///< an atom has more neighbours than its list has room for
    lost_atom,        ///< an atom's position is no number, or it has moved further than the box between two builds
};

constexpr const char* to_string(md_status s) {
    switch (s) {
        case md_status::ok: return "ok";
        case md_status::samples_full: return "no room left for samples of the energies";
        case md_status::neighbours_full: return "an atom has more neighbours than its list has room for";
        case md_status::lost_atom: return "an atom moved further than the box: dt is too long, or atoms overlap";
    }
    return "unknown status";
}

/// Energies of all atoms together after a step.
struct md_energies {
    std::uint64_t step = 0;
    double potential = 0;
    double kinetic = 0;
    double virial = 0;  ///< sum over pairs of distance times force

    [[nodiscard]] LANEWAY_FN double total() const { return potential + kinetic; }
    /// With 3 N - 3 degrees of freedom, as the momentum is constant.
    [[nodiscard]] LANEWAY_FN double temperature(std::uint32_t atoms) const {
        return 2 * kinetic / (3 * static_cast<double>(atoms) - 3);
    }
    [[nodiscard]] LANEWAY_FN double pressure(double volume) const { return (2 * kinetic + virial) / (3 * volume); }
};

/// What a universe knows of its past. All bytes zero: of nothing, so the next call builds lists and forces.
struct md_state {
    std::uint64_t step;
    std::uint64_t builds;    ///< of neighbour lists
    std::uint64_t moved_at;  ///< the last step in which an atom was found to have moved more than half the skin
    std::uint32_t built;     ///< whether there are lists and forces
    std::uint32_t steps_since_build;
    std::uint32_t samples;     ///< taken so far
    std::uint32_t neighbours;  ///< of the atom that has most, over all builds; may exceed what lists hold
    md_status status;
    std::uint32_t leaves;  ///< whether the worker that has it leaves its task before the end
};

/// Sizes of a universe: with them, memory and a model it is whole. Made by shape_of (packing.hpp).
struct md_shape {
    /// Entries of the lists of so many neighbouring rows stand together, so that neighbouring lanes load them at once.
    static constexpr std::uint32_t tile = 32;

    double box[3] = {};           ///< lengths of the periodic box, whose low corner is 0
    std::uint32_t cells[3] = {};  ///< 4 or more a side; a cell's sides are half of cutoff + skin, or longer
    std::uint32_t atoms = 0;
    std::uint32_t neighbours = 0;  ///< that an atom's list has room for
    std::uint32_t samples = 0;     ///< that there is room for

    [[nodiscard]] LANEWAY_FN double volume() const { return box[0] * box[1] * box[2]; }
    [[nodiscard]] LANEWAY_FN std::uint32_t n_cells() const { return cells[0] * cells[1] * cells[2]; }
    [[nodiscard]] LANEWAY_FN std::uint64_t padded_atoms() const {
        return (std::uint64_t{atoms} + tile - 1) / tile * tile;
    }
};

enum class md_column : std::uint32_t {
    x,
    y,
    z,  ///< positions
    vx,
    vy,
    vz,  ///< velocities
    fx,
    fy,
    fz,  ///< forces
    built_x,
    built_y,
    built_z,  ///< positions at the last build
    potential,
    kinetic,
    virial,  ///< of each atom, and scratch for their sums
};
inline constexpr std::uint32_t md_columns = 15;

/// View of a universe in memory of `bytes(shape)`, aligned to 128 bytes. Whoever advances it has it alone.
struct md_universe_ref {
    std::byte* memory = nullptr;
    md_shape shape;
    md_model model;

    [[nodiscard]] LANEWAY_FN md_state* state() const { return reinterpret_cast<md_state*>(memory); }
    /// One number an atom.
    [[nodiscard]] LANEWAY_FN double* column(md_column which) const {
        return reinterpret_cast<double*>(memory + state_bytes) +
               static_cast<std::uint32_t>(which) * shape.padded_atoms();
    }
    [[nodiscard]] LANEWAY_FN md_energies* samples() const {
        return reinterpret_cast<md_energies*>(memory + samples_at(shape));
    }
    /// Rows: the atoms cell by cell, by number within a cell.
    [[nodiscard]] LANEWAY_FN std::uint32_t* atom_of_row() const { return words(); }
    [[nodiscard]] LANEWAY_FN std::uint32_t* cell_of_atom() const { return words() + shape.padded_atoms(); }
    /// How many neighbours are in the list of a row.
    [[nodiscard]] LANEWAY_FN std::uint32_t* row_neighbours() const { return words() + 2 * shape.padded_atoms(); }
    /// List of a row, whose entry k stands at k * md_shape::tile.
    [[nodiscard]] LANEWAY_FN std::uint32_t* list_of_row(std::uint32_t row) const {
        return words() + 3 * shape.padded_atoms() +
               std::uint64_t{row / md_shape::tile} * md_shape::tile * shape.neighbours + row % md_shape::tile;
    }
    /// First row of a cell; one more than there are cells.
    [[nodiscard]] LANEWAY_FN std::uint32_t* cell_begin() const { return words() + cells_at(shape); }

    /// Size of the memory, a multiple of 128.
    [[nodiscard]] LANEWAY_FN static std::uint64_t bytes(const md_shape& shape) {
        const std::uint64_t n_words = cells_at(shape) + shape.n_cells() + 1;
        const std::uint64_t used = words_at(shape) + n_words * sizeof(std::uint32_t);
        return (used + destructive_bytes - 1) / destructive_bytes * destructive_bytes;
    }

private:
    static constexpr std::uint64_t state_bytes = destructive_bytes;
    static_assert(sizeof(md_state) <= state_bytes);

    [[nodiscard]] LANEWAY_FN static std::uint64_t samples_at(const md_shape& shape) {
        return state_bytes + md_columns * shape.padded_atoms() * sizeof(double);
    }
    [[nodiscard]] LANEWAY_FN static std::uint64_t words_at(const md_shape& shape) {
        return samples_at(shape) + std::uint64_t{shape.samples} * sizeof(md_energies);
    }
    /// In words.
    [[nodiscard]] LANEWAY_FN static std::uint64_t cells_at(const md_shape& shape) {
        return (3 + std::uint64_t{shape.neighbours}) * shape.padded_atoms();
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t* words() const {
        return reinterpret_cast<std::uint32_t*>(memory + words_at(shape));
    }
};

}  // namespace laneway::apps
