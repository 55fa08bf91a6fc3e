#include "packing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "laneway/base/error.hpp"

namespace laneway::apps {

namespace {

constexpr std::size_t max_atoms = std::size_t{1} << 27;  ///< a universe is one task; rows are numbered in 32 bits
constexpr double dense = 1.6;                            ///< atoms per unit of volume, see shape_of
constexpr double pi = 3.14159265358979323846;

std::string shown(double value) {
    std::string text(32, '\0');
    text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.6g", value)));
    return text;
}

std::string axis_name(std::size_t axis) { return std::string(1, "xyz"[axis]); }

void require_sound(const md_model& model) {
    if (!(model.cutoff > 0 && std::isfinite(model.cutoff))) {
        throw usage_error("cutoff is " + shown(model.cutoff) + ", not finite and above 0");
    }
    if (!(model.skin >= 0 && std::isfinite(model.skin))) {
        throw usage_error("skin is " + shown(model.skin) + ", not finite and 0 or more");
    }
    if (!(model.dt > 0 && std::isfinite(model.dt))) {
        throw usage_error("dt is " + shown(model.dt) + ", not finite and above 0");
    }
    if (model.rule == md_list_rule::steps && model.rebuild_steps == 0) {
        throw usage_error("neighbour lists must be built anew after 1 step or more, not 0");
    }
}

void require_finite(const char* what, const std::vector<double>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (std::isfinite(rows[i])) continue;
        throw usage_error(std::string(what) + " of atom " + std::to_string(i / 3 + 1) + " along " + axis_name(i % 3) +
                          " is " + (std::isnan(rows[i]) ? "not a number" : "infinite"));
    }
}

void require_sound(const md_atoms& atoms, const md_model& model) {
    const std::size_t count = atoms.size();
    if (count < 2 || count > max_atoms) {
        throw usage_error(std::to_string(count) + " atoms: a universe has from 2 to " + std::to_string(max_atoms));
    }
    if (atoms.positions.size() != 3 * count || atoms.velocities.size() != 3 * count) {
        throw usage_error(std::to_string(atoms.positions.size()) + " coordinates and " +
                          std::to_string(atoms.velocities.size()) + " components of velocities, not three an atom");
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const double length = atoms.box_high[axis] - atoms.box_low[axis];
        const double range = model.cutoff + model.skin;
        if (length >= 2 * range && std::isfinite(length)) continue;
        throw usage_error("the box is " + shown(length) + " long along " + axis_name(axis) +
                          ", not finite and at least 2 (cutoff + skin) = " + shown(2 * range));
    }
    require_finite("position", atoms.positions);
    require_finite("velocity", atoms.velocities);
    for (std::size_t i = 0; i < 3 * count; ++i) {
        const double low = atoms.box_low[i % 3], high = atoms.box_high[i % 3], x = atoms.positions[i];
        if (x >= low - (high - low) && x < high + (high - low)) continue;
        throw usage_error("atom " + std::to_string(i / 3 + 1) + " is at " + shown(x) + " along " + axis_name(i % 3) +
                          ", more than the box's length outside of " + shown(low) + " to " + shown(high));
    }
}

/// Cells a side: as small as half of the range, so that few atoms are looked at in vain, but not many more than atoms.
void choose_cells(md_shape& shape, double range) {
    const double limit = 64 + 4.0 * shape.atoms;
    for (double side = range / 2;; side *= 1.25) {
        double cells = 1;
        for (const double length : shape.box) cells *= std::max(4.0, std::floor(length / side));
        if (cells > limit && side < *std::max_element(shape.box, shape.box + 3)) continue;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            shape.cells[axis] = static_cast<std::uint32_t>(std::max(4.0, std::floor(shape.box[axis] / side)));
        }
        return;
    }
}

}  // namespace

md_shape shape_of(const md_atoms& atoms, const md_model& model, std::uint32_t samples, std::uint32_t neighbours) {
    require_sound(model);
    require_sound(atoms, model);
    md_shape shape;
    for (std::size_t axis = 0; axis < 3; ++axis) shape.box[axis] = atoms.box_high[axis] - atoms.box_low[axis];
    shape.atoms = static_cast<std::uint32_t>(atoms.size());
    shape.samples = samples;
    const double range = model.cutoff + model.skin;
    choose_cells(shape, range);
    const double density = std::max(dense, dense * shape.atoms / shape.volume());
    const double room = std::ceil(16 + density * 4 / 3 * pi * range * range * range);
    shape.neighbours = neighbours != 0 ? neighbours : static_cast<std::uint32_t>(std::min(room, shape.atoms - 1.0));
    return shape;
}

std::vector<std::byte> pack(const md_atoms& atoms, const md_shape& shape) {
    std::vector<std::byte> memory(md_universe_ref::bytes(shape));
    const md_universe_ref universe{memory.data(), shape, {}};
    for (std::size_t i = 0; i < atoms.positions.size(); ++i) {
        const std::size_t axis = i % 3, to = axis * shape.padded_atoms() + i / 3;
        universe.column(md_column::x)[to] = wrapped(atoms.positions[i] - atoms.box_low[axis], shape.box[axis]);
        universe.column(md_column::vx)[to] = atoms.velocities[i];
    }
    return memory;
}

md_outcome unpack(const std::byte* memory, const md_shape& shape, const std::array<double, 3>& box_low) {
    const md_universe_ref universe{const_cast<std::byte*>(memory), shape, {}};  // read only
    md_outcome made;
    made.state = *universe.state();
    made.samples.assign(universe.samples(), universe.samples() + made.state.samples);
    made.atoms.box_low = box_low;
    for (std::size_t axis = 0; axis < 3; ++axis) made.atoms.box_high[axis] = box_low[axis] + shape.box[axis];
    const std::size_t numbers = std::size_t{3} * shape.atoms;
    made.atoms.positions.resize(numbers);
    made.atoms.velocities.resize(numbers);
    made.forces.resize(numbers);
    for (std::size_t i = 0; i < numbers; ++i) {
        const std::size_t axis = i % 3, from = axis * shape.padded_atoms() + i / 3;
        const double x = wrapped(universe.column(md_column::x)[from], shape.box[axis]);
        made.atoms.positions[i] = box_low[axis] + x;
        made.atoms.velocities[i] = universe.column(md_column::vx)[from];
        made.forces[i] = universe.column(md_column::fx)[from];
    }
    return made;
}

void require_ok(const std::string& what, const md_state& state, const md_shape& shape) {
    if (state.status == md_status::ok) return;
    std::string text = what + ": step " + std::to_string(state.step) + ": " + to_string(state.status);
    if (state.status == md_status::neighbours_full) {
        text += ": " + std::to_string(state.neighbours) + ", and the list holds " + std::to_string(shape.neighbours);
    }
    throw device_fault(text);
}

}  // namespace laneway::apps
