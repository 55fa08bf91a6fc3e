// Universes on the host: atoms, how much memory they take on a device, and the way there and back.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "universe.hpp"

namespace laneway::apps {

/// Atoms in a periodic box, in rows of three numbers.
struct md_atoms {
    std::array<double, 3> box_low{};
    std::array<double, 3> box_high{};
    std::vector<double> positions;
    std::vector<double> velocities;

    [[nodiscard]] std::size_t size() const { return positions.size() / 3; }
};

/// What a universe takes on a device. `samples`: how many samples of the energies it will have to hold. `neighbours`:
/// room in an atom's list; 0: for 1.6 atoms per unit of volume, or as much denser as the mean is, which the atoms'
/// cores hardly let them exceed.
///
/// Throws usage_error for fewer than two atoms or more than 2^27, velocities of another number, positions or velocities
/// that are not finite, positions more than the box's length outside of it, cutoff or dt not above 0, a negative skin,
/// and a box of which a side is shorter than 2 (cutoff + skin): there an atom may meet several images of another.
md_shape shape_of(const md_atoms& atoms, const md_model& model, std::uint32_t samples = 0,
                  std::uint32_t neighbours = 0);

/// The memory of a universe at the beginning, `md_universe_ref::bytes(shape)`; to be copied to a device as it is.
std::vector<std::byte> pack(const md_atoms& atoms, const md_shape& shape);

/// What has become of a universe.
struct md_outcome {
    md_atoms atoms;              ///< positions wrapped into the box
    std::vector<double> forces;  ///< in rows of three
    std::vector<md_energies> samples;
    md_state state{};
};

/// From memory that was copied back as it is. `box_low`: of the atoms that were packed.
md_outcome unpack(const std::byte* memory, const md_shape& shape, const std::array<double, 3>& box_low);

/// Throws device_fault where the status is not ok; `what` names the universe. Says how much room would have done.
void require_ok(const std::string& what, const md_state& state, const md_shape& shape);

}  // namespace laneway::apps
