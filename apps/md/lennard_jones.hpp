// Molecular dynamics of Lennard-Jones atoms, by velocity Verlet, as one worker advances one universe.
//
// Forces are those of LAMMPS's `pair_style lj/cut` with epsilon, sigma and masses 1, integration is that of its
// `fix nve`. All that is summed has one order, so that a worker of any width gets the same bits where the compiler
// fuses no multiply-adds.
#pragma once

#include "neighbours.hpp"

namespace laneway::apps {

/// What a call of advance leaves behind.
struct md_report {
    md_status status = md_status::ok;
    md_energies energies;  ///< after the last step, where the status is ok
};

template <class Ctx, lane_worker Worker>
class md_integrator {
public:
    LANEWAY_FN md_integrator(Ctx& ctx, const Worker& worker, const md_universe_ref& universe)
        : ctx_(ctx), worker_(worker), u_(universe), now_(*universe.state()) {}

    LANEWAY_FN md_report advance(std::uint64_t steps) {
        worker_.sync();  // all have read the state
        const bool fresh = now_.built == 0;
        md_energies energies;
        md_status end = now_.status;
        // Step 0 moves nothing: it finds what forces and energies are.
        for (std::uint64_t k = fresh || steps == 0 ? 0 : 1; k <= steps && end == md_status::ok; ++k) {
            if (k > 0) kick_and_drift();
            worker_.sync();
            if (now_.built == 0 || (k > 0 && build_due())) end = build();
            if (end != md_status::ok) break;
            const bool sampled = sample_due() && (k > 0 || fresh);
            const bool measured = sampled || k == steps;
            push(k > 0 ? 0.5 * u_.model.dt : 0, measured);
            worker_.sync();
            if (measured) energies = sum_energies();
            if (measured && !(energies.total() - energies.total() == 0)) end = md_status::lost_atom;  // not finite
            if (sampled && end == md_status::ok) end = keep(energies);
        }
        now_.status = end;
        worker_.sync();  // all have read what the last build said
        if (worker_.lane() == 0) store_state();
        worker_.sync();
        return {end, energies};
    }

private:
    /// Force on an atom, and its halves of its pairs' energies and virials.
    struct pull {
        double x = 0, y = 0, z = 0, potential = 0, virial = 0;
    };

    LANEWAY_FN double* column(md_column first, std::uint32_t axis) const {
        return u_.column(first) + axis * u_.shape.padded_atoms();
    }

    /// The first half of a step. Tells of atoms that have moved more than half the skin.
    LANEWAY_FN void kick_and_drift() {
        ++now_.step;
        ++now_.steps_since_build;
        const double half_dt = 0.5 * u_.model.dt;
        bool far = false;
        for (std::uint32_t atom = worker_.lane(); atom < u_.shape.atoms; atom += worker_.lanes()) {
            double moved = 0;
            for (std::uint32_t axis = 0; axis < 3; ++axis) {
                double& x = column(md_column::x, axis)[atom];
                double& v = column(md_column::vx, axis)[atom];
                v += half_dt * column(md_column::fx, axis)[atom];
                x += u_.model.dt * v;
                const double d = x - column(md_column::built_x, axis)[atom];
                moved += d * d;
            }
            far = far || !(moved <= 0.25 * u_.model.skin * u_.model.skin);
        }
        // Read behind the next barrier. As it holds a step, nobody needs to take it back.
        if (far) ctx_.store(&u_.state()->moved_at, now_.step, order::relaxed, scope::block);
    }

    LANEWAY_FN bool build_due() {
        if (u_.model.rule == md_list_rule::steps) return now_.steps_since_build >= u_.model.rebuild_steps;
        return ctx_.load(&u_.state()->moved_at, order::relaxed, scope::block) == now_.step;
    }

    LANEWAY_FN md_status build() {
        now_.built = 1;
        now_.steps_since_build = 0;
        ++now_.builds;
        return md_list_builder<Ctx, Worker>(ctx_, worker_, u_).build();
    }

    /// Forces at the new positions, and the second half of the step.
    LANEWAY_FN void push(double half_dt, bool measured) {
        for (std::uint32_t row = worker_.lane(); row < u_.shape.atoms; row += worker_.lanes()) {
            const std::uint32_t atom = u_.atom_of_row()[row];
            const pull on = pull_on(row, atom);
            const double force[3] = {on.x, on.y, on.z};
            double squares = 0;
            for (std::uint32_t axis = 0; axis < 3; ++axis) {
                double& v = column(md_column::vx, axis)[atom];
                column(md_column::fx, axis)[atom] = force[axis];
                v += half_dt * force[axis];
                squares += v * v;
            }
            if (!measured) continue;
            u_.column(md_column::potential)[atom] = on.potential;
            u_.column(md_column::kinetic)[atom] = 0.5 * squares;
            u_.column(md_column::virial)[atom] = on.virial;
        }
    }

    LANEWAY_FN pull pull_on(std::uint32_t row, std::uint32_t atom) const {
        const double* const x = u_.column(md_column::x);
        const double* const y = u_.column(md_column::y);
        const double* const z = u_.column(md_column::z);
        const double at_x = x[atom], at_y = y[atom], at_z = z[atom];
        const double cutoff_square = u_.model.cutoff * u_.model.cutoff;
        const std::uint32_t* const list = u_.list_of_row(row);
        const std::uint32_t count = u_.row_neighbours()[row];
        pull on;
        for (std::uint32_t k = 0; k < count; ++k) {
            const std::uint32_t other = list[k * md_shape::tile];
            const double dx = nearest_image(at_x - x[other], u_.shape.box[0]);
            const double dy = nearest_image(at_y - y[other], u_.shape.box[1]);
            const double dz = nearest_image(at_z - z[other], u_.shape.box[2]);
            const double square = dx * dx + dy * dy + dz * dz;
            if (square >= cutoff_square) continue;
            const double inverse = 1 / square;
            const double inverse6 = inverse * inverse * inverse;
            const double work = inverse6 * (48 * inverse6 - 24);  // distance times force
            const double force = work * inverse;
            on.x += force * dx;
            on.y += force * dy;
            on.z += force * dz;
            on.potential += inverse6 * (2 * inverse6 - 2);
            on.virial += 0.5 * work;
        }
        return on;
    }

    LANEWAY_FN bool sample_due() const { return u_.model.sample_steps != 0 && now_.step % u_.model.sample_steps == 0; }

    /// By halves, in the columns themselves: an order that does not depend on how many lanes there are.
    LANEWAY_FN md_energies sum_energies() {
        double* const sums[3] = {u_.column(md_column::potential), u_.column(md_column::kinetic),
                                 u_.column(md_column::virial)};
        for (std::uint32_t rest = u_.shape.atoms; rest > 1; rest = (rest + 1) / 2) {
            const std::uint32_t half = (rest + 1) / 2;
            for (std::uint32_t i = worker_.lane(); i < rest - half; i += worker_.lanes()) {
                for (double* const column : sums) column[i] += column[half + i];
            }
            worker_.sync();
        }
        return {now_.step, sums[0][0], sums[1][0], sums[2][0]};
    }

    LANEWAY_FN md_status keep(const md_energies& energies) {
        if (now_.samples == u_.shape.samples) return md_status::samples_full;
        if (worker_.lane() == 0) u_.samples()[now_.samples] = energies;
        ++now_.samples;
        return md_status::ok;
    }

    /// All but what builds and drifts have written themselves. Lane 0.
    LANEWAY_FN void store_state() const {
        md_state* const to = u_.state();
        to->step = now_.step;
        to->builds = now_.builds;
        to->built = now_.built;
        to->steps_since_build = now_.steps_since_build;
        to->samples = now_.samples;
        to->status = now_.status;
    }

    Ctx& ctx_;
    const Worker& worker_;
    const md_universe_ref& u_;
    md_state now_;  ///< the same in all lanes
};

/// Advances a universe by so many steps; 0: finds energies only. Every lane of a worker, together, which has the
/// universe alone; all get the same report. Waits for nobody but each other. Two calls give the same trajectory as one
/// of all their steps. A universe whose status is not ok stays as it is: its positions are those of a step that was not
/// finished.
template <class Ctx, lane_worker Worker>
LANEWAY_FN md_report advance(Ctx& ctx, const Worker& worker, const md_universe_ref& universe, std::uint64_t steps) {
    return md_integrator<Ctx, Worker>(ctx, worker, universe).advance(steps);
}

/// Multiplies all velocities, as a replica's that gets another temperature. Every lane of a worker, together, which has
/// the universe alone.
template <lane_worker Worker>
LANEWAY_FN void scale_velocities(const Worker& worker, const md_universe_ref& universe, double factor) {
    double* const velocities = universe.column(md_column::vx);  // the three columns stand one behind the other
    for (std::uint64_t i = worker.lane(); i < 3 * universe.shape.padded_atoms(); i += worker.lanes()) {
        velocities[i] *= factor;
    }
    worker.sync();
}

}  // namespace laneway::apps
