// Neighbour lists by cells (Verlet, Phys. Rev. 159, 1967; Hockney, Goel and Eastwood, J. Comput. Phys. 14, 1974).
//
// Lists are full: a pair stands in the lists of both atoms, so lanes write to their own atoms only. Their order follows
// from positions alone, so sums over them are the same, to the bit, for workers of any width.
#pragma once

#include "universe.hpp"
#include "worker.hpp"

namespace laneway::apps {

/// The shorter way from atom to atom in a periodic box, along one axis: `apart` is between -3/2 and 3/2 of its length.
LANEWAY_FN double nearest_image(double apart, double length) {
    const double half = 0.5 * length;
    if (apart > half) return apart - length;
    return apart < -half ? apart + length : apart;
}

/// Builds the lists of a universe. Every lane of a worker, together.
template <class Ctx, lane_worker Worker>
class md_list_builder {
public:
    LANEWAY_FN md_list_builder(Ctx& ctx, const Worker& worker, const md_universe_ref& universe)
        : ctx_(ctx), worker_(worker), u_(universe) {}

    /// Wraps all atoms into the box and lists the neighbours of each. The same status for all lanes.
    LANEWAY_FN md_status build() {
        for (std::uint32_t cell = worker_.lane(); cell <= u_.shape.n_cells(); cell += worker_.lanes()) {
            u_.cell_begin()[cell] = 0;
        }
        worker_.sync();
        for (std::uint32_t atom = worker_.lane(); atom < u_.shape.atoms; atom += worker_.lanes()) place(atom);
        worker_.sync();
        if (worker_.lane() == 0) find_ends();
        worker_.sync();
        for (std::uint32_t atom = worker_.lane(); atom < u_.shape.atoms; atom += worker_.lanes()) {
            const std::uint32_t cell = u_.cell_of_atom()[atom];
            u_.atom_of_row()[add(&u_.cell_begin()[cell], ~std::uint32_t{0}) - 1] = atom;
        }
        worker_.sync();
        for (std::uint32_t cell = worker_.lane(); cell < u_.shape.n_cells(); cell += worker_.lanes()) sort(cell);
        worker_.sync();
        list_all();
        worker_.sync();
        // Nobody writes the status again before the barrier behind the forces, so all lanes see the same.
        return static_cast<md_status>(ctx_.load(status_word(), order::relaxed, scope::block));
    }

private:
    LANEWAY_FN std::uint32_t add(std::uint32_t* word, std::uint32_t value) {
        return ctx_.fetch_add(word, value, order::relaxed, scope::block);
    }
    LANEWAY_FN std::uint32_t* status_word() const { return reinterpret_cast<std::uint32_t*>(&u_.state()->status); }
    LANEWAY_FN void report(md_status found) {
        ctx_.fetch_max(status_word(), static_cast<std::uint32_t>(found), order::relaxed, scope::block);
    }

    /// Wraps an atom and counts it in its cell. A lost one counts in some cell, so that nothing lies out of bounds.
    LANEWAY_FN void place(std::uint32_t atom) {
        std::uint32_t cell = 0;
        for (std::uint32_t axis = 3; axis-- > 0;) {
            double& moved = u_.column(md_column::x)[axis * u_.shape.padded_atoms() + atom];
            const double length = u_.shape.box[axis];
            const double x = moved = wrapped(moved, length);
            std::uint32_t at = 0;
            if (x >= 0 && x < length) {
                at = static_cast<std::uint32_t>(x / length * u_.shape.cells[axis]);
                if (at >= u_.shape.cells[axis]) at = u_.shape.cells[axis] - 1;
            } else {
                report(md_status::lost_atom);
            }
            u_.column(md_column::built_x)[axis * u_.shape.padded_atoms() + atom] = x;
            cell = cell * u_.shape.cells[axis] + at;
        }
        u_.cell_of_atom()[atom] = cell;
        add(&u_.cell_begin()[cell], 1);
    }

    /// From the sizes of cells to their ends. Lane 0.
    LANEWAY_FN void find_ends() {
        std::uint32_t end = 0;
        for (std::uint32_t cell = 0; cell <= u_.shape.n_cells(); ++cell) {
            end += u_.cell_begin()[cell];
            u_.cell_begin()[cell] = end;
        }
    }

    /// Atoms come into a cell in any order. By insertion, as they are few.
    LANEWAY_FN void sort(std::uint32_t cell) {
        const std::uint32_t begin = u_.cell_begin()[cell];
        for (std::uint32_t row = begin + 1; row < u_.cell_begin()[cell + 1]; ++row) {
            const std::uint32_t atom = u_.atom_of_row()[row];
            std::uint32_t to = row;
            for (; to > begin && u_.atom_of_row()[to - 1] > atom; --to) u_.atom_of_row()[to] = u_.atom_of_row()[to - 1];
            u_.atom_of_row()[to] = atom;
        }
    }

    LANEWAY_FN void list_all() {
        std::uint32_t most = 0;
        for (std::uint32_t row = worker_.lane(); row < u_.shape.atoms; row += worker_.lanes()) {
            const std::uint32_t found = list(row);
            u_.row_neighbours()[row] = found < u_.shape.neighbours ? found : u_.shape.neighbours;
            most = found > most ? found : most;
        }
        ctx_.fetch_max(&u_.state()->neighbours, most, order::relaxed, scope::block);
        if (most > u_.shape.neighbours) report(md_status::neighbours_full);
    }

    /// Lists the neighbours of a row's atom, as many as there is room for; returns how many it has.
    LANEWAY_FN std::uint32_t list(std::uint32_t row) {
        const std::uint32_t atom = u_.atom_of_row()[row];
        const std::uint32_t* const cells = u_.shape.cells;
        const std::uint32_t cell = u_.cell_of_atom()[atom];
        const std::uint32_t at[3] = {cell % cells[0], cell / cells[0] % cells[1], cell / cells[0] / cells[1]};
        std::uint32_t found = 0;
        for (std::uint32_t k = 0; k < visited(2); ++k) {
            const std::uint32_t plane = visit(2, at[2], k) * cells[1];
            for (std::uint32_t j = 0; j < visited(1); ++j) {
                const std::uint32_t line = (plane + visit(1, at[1], j)) * cells[0];
                for (std::uint32_t i = 0; i < visited(0); ++i) {
                    found = list_cell(row, atom, line + visit(0, at[0], i), found);
                }
            }
        }
        return found;
    }

    /// Atoms within the range are at most two cells away, on either side; where there are four cells, the second one on
    /// both sides is the same.
    LANEWAY_FN std::uint32_t visited(std::uint32_t axis) const { return u_.shape.cells[axis] < 5 ? 4 : 5; }
    LANEWAY_FN std::uint32_t visit(std::uint32_t axis, std::uint32_t at, std::uint32_t number) const {
        const std::uint32_t cells = u_.shape.cells[axis];
        std::uint32_t cell = at + cells - 2 + number;
        while (cell >= cells) cell -= cells;  // twice at most
        return cell;
    }

    LANEWAY_FN std::uint32_t list_cell(std::uint32_t row, std::uint32_t atom, std::uint32_t cell, std::uint32_t found) {
        const double* const x = u_.column(md_column::x);
        const double* const y = u_.column(md_column::y);
        const double* const z = u_.column(md_column::z);
        const double range = u_.model.cutoff + u_.model.skin;
        std::uint32_t* const to = u_.list_of_row(row);
        const std::uint32_t end = u_.cell_begin()[cell + 1];
        for (std::uint32_t other_row = u_.cell_begin()[cell]; other_row < end; ++other_row) {
            const std::uint32_t other = u_.atom_of_row()[other_row];
            const double dx = nearest_image(x[atom] - x[other], u_.shape.box[0]);
            const double dy = nearest_image(y[atom] - y[other], u_.shape.box[1]);
            const double dz = nearest_image(z[atom] - z[other], u_.shape.box[2]);
            if (other == atom || !(dx * dx + dy * dy + dz * dz <= range * range)) continue;
            if (found < u_.shape.neighbours) to[found * md_shape::tile] = other;
            ++found;
        }
        return found;
    }

    Ctx& ctx_;
    const Worker& worker_;
    const md_universe_ref& u_;
};

}  // namespace laneway::apps
