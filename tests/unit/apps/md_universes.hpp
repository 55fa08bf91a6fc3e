// Universes for tests: seeded ones, those of LAMMPS's dumps, and their forces by a direct sum.
#pragma once

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "laneway/input/text_source.hpp"
#include "md/packing.hpp"

namespace laneway::test {

/// Velocities from a normal distribution, without a common momentum, at exactly that temperature.
inline void set_temperature(apps::md_atoms& atoms, double temperature, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    atoms.velocities.resize(atoms.positions.size());
    for (double& v : atoms.velocities) v = normal(random);
    double squares = 0;
    const auto count = static_cast<double>(atoms.size());
    for (std::size_t axis = 0; axis < 3; ++axis) {
        double mean = 0;
        for (std::size_t i = axis; i < atoms.velocities.size(); i += 3) mean += atoms.velocities[i] / count;
        for (std::size_t i = axis; i < atoms.velocities.size(); i += 3) {
            atoms.velocities[i] -= mean;
            squares += atoms.velocities[i] * atoms.velocities[i];
        }
    }
    const double factor = std::sqrt(temperature * (3 * count - 3) / squares);
    for (double& v : atoms.velocities) v *= factor;
}

/// A crystal of cubes with four atoms each (face-centred cubic), so many cubes a side.
inline apps::md_atoms crystal(std::array<int, 3> cubes, double density, double temperature, std::uint64_t seed) {
    const double side = std::cbrt(4 / density);
    apps::md_atoms atoms;
    for (std::size_t axis = 0; axis < 3; ++axis) atoms.box_high[axis] = cubes[axis] * side;
    const double corners[4][3] = {{0, 0, 0}, {0, 0.5, 0.5}, {0.5, 0, 0.5}, {0.5, 0.5, 0}};
    for (int z = 0; z < cubes[2]; ++z) {
        for (int y = 0; y < cubes[1]; ++y) {
            for (int x = 0; x < cubes[0]; ++x) {
                for (const auto& at : corners) {
                    atoms.positions.insert(atoms.positions.end(),
                                           {(x + at[0]) * side, (y + at[1]) * side, (z + at[2]) * side});
                }
            }
        }
    }
    set_temperature(atoms, temperature, seed);
    return atoms;
}

/// The way from one atom to another by the nearest images.
inline double nearest(const apps::md_atoms& atoms, std::size_t axis, double apart) {
    const double length = atoms.box_high[axis] - atoms.box_low[axis];
    return apart - length * std::round(apart / length);
}

/// Atoms anywhere, but none nearer to another than `apart`.
inline apps::md_atoms gas(std::array<double, 3> low, std::array<double, 3> lengths, std::size_t count, double apart,
                          std::uint64_t seed) {
    apps::md_atoms atoms;
    std::mt19937_64 random(seed);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        atoms.box_low[axis] = low[axis];
        atoms.box_high[axis] = low[axis] + lengths[axis];
    }
    for (int tries = 0; atoms.size() < count && tries < 1'000'000; ++tries) {
        double x[3];
        for (std::size_t axis = 0; axis < 3; ++axis) {
            x[axis] = std::uniform_real_distribution<double>(low[axis], low[axis] + lengths[axis])(random);
        }
        bool free = true;
        for (std::size_t i = 0; free && i < atoms.size(); ++i) {
            double square = 0;
            for (std::size_t axis = 0; axis < 3; ++axis) {
                square += std::pow(nearest(atoms, axis, x[axis] - atoms.positions[3 * i + axis]), 2);
            }
            free = square >= apart * apart;
        }
        if (free) atoms.positions.insert(atoms.positions.end(), x, x + 3);
    }
    set_temperature(atoms, 1, seed);
    return atoms;
}

struct direct_sum {
    std::vector<double> forces;
    double potential = 0;
    double virial = 0;
};

/// Of every atom with every other and all of its images next door.
inline direct_sum sum_directly(const apps::md_atoms& atoms, double cutoff) {
    direct_sum made{std::vector<double>(atoms.positions.size())};
    for (std::size_t a = 0; a < atoms.size(); ++a) {
        for (std::size_t b = 0; b < atoms.size(); ++b) {
            for (int image = 0; a != b && image < 27; ++image) {
                const int at[3] = {image % 3 - 1, image / 3 % 3 - 1, image / 9 - 1};
                double d[3];
                double square = 0;
                for (std::size_t axis = 0; axis < 3; ++axis) {
                    d[axis] = atoms.positions[3 * a + axis] - atoms.positions[3 * b + axis] +
                              at[axis] * (atoms.box_high[axis] - atoms.box_low[axis]);
                    square += d[axis] * d[axis];
                }
                if (square >= cutoff * cutoff) continue;
                const double sixth = std::pow(square, -3);
                const double force = 24 * (2 * sixth * sixth - sixth) / square;
                for (std::size_t axis = 0; axis < 3; ++axis) made.forces[3 * a + axis] += force * d[axis];
                made.potential += 2 * (sixth * sixth - sixth);
                made.virial += 0.5 * force * square;
            }
        }
    }
    return made;
}

/// Velocity Verlet with forces by direct sums.
inline void advance_directly(apps::md_atoms& atoms, double cutoff, double dt, int steps) {
    direct_sum now = sum_directly(atoms, cutoff);
    for (int step = 0; step < steps; ++step) {
        for (std::size_t i = 0; i < atoms.positions.size(); ++i) {
            atoms.velocities[i] += 0.5 * dt * now.forces[i];
            atoms.positions[i] += dt * atoms.velocities[i];
            const double low = atoms.box_low[i % 3], length = atoms.box_high[i % 3] - low;
            atoms.positions[i] -= length * std::floor((atoms.positions[i] - low) / length);
        }
        now = sum_directly(atoms, cutoff);
        for (std::size_t i = 0; i < atoms.velocities.size(); ++i) atoms.velocities[i] += 0.5 * dt * now.forces[i];
    }
}

/// Greatest distance, along an axis, between positions of the same atoms.
inline double greatest_distance(const apps::md_atoms& a, const apps::md_atoms& b) {
    double greatest = 0;
    for (std::size_t i = 0; i < a.positions.size(); ++i) {
        greatest = std::fmax(greatest, std::fabs(nearest(a, i % 3, a.positions[i] - b.positions[i])));
    }
    return greatest;
}

/// Atoms of a dump of LAMMPS, sorted by number, with columns `id type x y z vx vy vz`, and perhaps forces.
inline apps::md_atoms lammps_dump(const std::filesystem::path& path, std::vector<double>* forces = nullptr) {
    text_source text(path);
    std::string_view line;
    const auto numbers = [&] {
        if (!text.next_line(line)) throw std::runtime_error(path.string() + " ends early");
        std::istringstream words{std::string(line)};
        std::vector<double> found;
        for (std::string word; words >> word;) found.push_back(std::strtod(word.c_str(), nullptr));
        return found;
    };
    for (int skipped = 0; skipped < 3; ++skipped) (void)numbers();
    const auto count = static_cast<std::size_t>(numbers()[0]);
    (void)numbers();
    apps::md_atoms atoms;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto bounds = numbers();
        atoms.box_low[axis] = bounds[0];
        atoms.box_high[axis] = bounds[1];
    }
    (void)numbers();
    for (std::size_t i = 0; i < count; ++i) {
        const auto row = numbers();
        atoms.positions.insert(atoms.positions.end(), row.begin() + 2, row.begin() + 5);
        atoms.velocities.insert(atoms.velocities.end(), row.begin() + 5, row.begin() + 8);
        if (forces != nullptr) forces->insert(forces->end(), row.begin() + 8, row.begin() + 11);
    }
    return atoms;
}

}  // namespace laneway::test
