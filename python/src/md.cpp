// Molecular dynamics of many universes.
#include "md/md.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "session.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using apps::md_atoms;
using apps::md_energies;
using apps::md_outcome;
using apps::md_result;
template <int Axes>
using coordinates_array = nb::ndarray<const double, nb::ndim<Axes>, nb::c_contig, nb::device::cpu>;

/// Universes that have the same number of atoms, in arrays whose first axis counts them.
std::vector<md_atoms> universes_of(const coordinates_array<3>& boxes, const coordinates_array<3>& positions,
                                   const coordinates_array<3>& velocities) {
    const std::size_t count = positions.shape(0), numbers = 3 * positions.shape(1);
    if (boxes.shape(0) != count || boxes.shape(1) != 3 || boxes.shape(2) != 2 || positions.shape(2) != 3 ||
        velocities.size() != positions.size()) {
        throw usage_error("boxes, positions and velocities do not fit together");
    }
    std::vector<md_atoms> universes(count);
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t axis = 0; axis < 3; ++axis) {
            universes[i].box_low[axis] = boxes.data()[6 * i + 2 * axis];
            universes[i].box_high[axis] = boxes.data()[6 * i + 2 * axis + 1];
        }
        universes[i].positions.assign(positions.data() + i * numbers, positions.data() + (i + 1) * numbers);
        universes[i].velocities.assign(velocities.data() + i * numbers, velocities.data() + (i + 1) * numbers);
    }
    return universes;
}

apps::md_list_rule parse_rule(const std::string& name) {
    if (name == "moved") return apps::md_list_rule::moved;
    if (name == "steps") return apps::md_list_rule::steps;
    throw usage_error("list rule '" + name + "' is none of moved, steps");
}

void make_model(apps::md_model* made, double cutoff, double skin, double dt, const std::string& rule,
                std::uint32_t rebuild_steps, std::uint32_t sample_steps) {
    new (made) apps::md_model{cutoff, skin, dt, parse_rule(rule), rebuild_steps, sample_steps};
}

md_result run_md(session& session, const coordinates_array<3>& boxes, const coordinates_array<3>& positions,
                 const coordinates_array<3>& velocities, std::uint64_t steps, const apps::md_model& model,
                 const std::vector<double>& temperatures, std::uint64_t exchange_steps, std::uint64_t exchange_seed,
                 double spent_seconds, const options& job) {
    const interruptible guard;
    const auto start = std::chrono::steady_clock::now();
    const std::vector<md_atoms> universes = universes_of(boxes, positions, velocities);
    apps::md_options options{job, model, steps, temperatures, exchange_steps, exchange_seed, spent_seconds};
    return session.call([&](apps::workspace& workspace) {
        return workspace.run([&](const std::shared_ptr<runtime>& devices) {
            const std::chrono::duration<double> until_now = std::chrono::steady_clock::now() - start;
            options.spent_seconds = spent_seconds + until_now.count();
            return apps::md(*devices, universes, options);
        });
    });
}

using coordinates = std::vector<double>;

/// Numbers of all universes, one behind the other: `part(universe)` gives those of one.
template <class Part>
vector_array<double> all_of(const md_result& result, const Part& part) {
    coordinates values;
    for (const md_outcome& universe : result.universes) {
        const coordinates& more = part(universe);
        values.insert(values.end(), more.begin(), more.end());
    }
    return give(std::move(values));
}

vector_array<double> samples_of(const md_result& result, double md_energies::*which) {
    coordinates values;
    for (const md_outcome& universe : result.universes) {
        for (const md_energies& sample : universe.samples) values.push_back(sample.*which);
    }
    return give(std::move(values));
}

/// Those of the first universe, which all have.
vector_array<std::uint64_t> steps_of(const md_result& result) {
    std::vector<std::uint64_t> steps;
    for (const md_energies& sample : result.universes[0].samples) steps.push_back(sample.step);
    return give(std::move(steps));
}

vector_array<std::uint64_t> builds_of(const md_result& result) {
    std::vector<std::uint64_t> builds;
    for (const md_outcome& universe : result.universes) builds.push_back(universe.state.builds);
    return give(std::move(builds));
}

matrix_array<std::uint32_t> rungs_of(const md_result& result) {
    return give_matrix(std::vector<std::uint32_t>(result.rungs), result.universes.size());
}

}  // namespace

void register_md(nb::module_& module) {
    nb::class_<apps::md_model>(module, "MdModel", "What atoms do to each other, and how time goes on.")
        .def("__init__", &make_model, "cutoff"_a, "skin"_a, "dt"_a, "rule"_a, "rebuild_steps"_a, "sample_steps"_a);
    auto made = nb::class_<md_result>(module, "MdRun", "Numbers of all universes, one behind the other.");
    const auto add = [&]<class Get>(const char* name, const Get& get, const char* signature) {
        made.def(name, get, nb::sig(signature));
    };
    add(
        "positions",
        [](const md_result& r) { return all_of(r, [](auto& u) -> const coordinates& { return u.atoms.positions; }); },
        "def positions(self) -> numpy.typing.NDArray[numpy.float64]");
    add(
        "velocities",
        [](const md_result& r) { return all_of(r, [](auto& u) -> const coordinates& { return u.atoms.velocities; }); },
        "def velocities(self) -> numpy.typing.NDArray[numpy.float64]");
    add(
        "forces", [](const md_result& r) { return all_of(r, [](auto& u) -> const coordinates& { return u.forces; }); },
        "def forces(self) -> numpy.typing.NDArray[numpy.float64]");
    add("steps", &steps_of, "def steps(self) -> numpy.typing.NDArray[numpy.uint64]");
    add(
        "potential", [](const md_result& r) { return samples_of(r, &md_energies::potential); },
        "def potential(self) -> numpy.typing.NDArray[numpy.float64]");
    add(
        "kinetic", [](const md_result& r) { return samples_of(r, &md_energies::kinetic); },
        "def kinetic(self) -> numpy.typing.NDArray[numpy.float64]");
    add(
        "virial", [](const md_result& r) { return samples_of(r, &md_energies::virial); },
        "def virial(self) -> numpy.typing.NDArray[numpy.float64]");
    add("builds", &builds_of, "def builds(self) -> numpy.typing.NDArray[numpy.uint64]");
    add("rungs", &rungs_of, "def rungs(self) -> numpy.typing.NDArray[numpy.uint32]");
    made.def_ro("pairs", &md_result::pairs)
        .def_ro("accepted", &md_result::accepted)
        .def_ro("report", &md_result::report);
    const char* const rows = "numpy.typing.NDArray[numpy.float64]";
    const std::string signature = std::string("def md(session: Session, boxes: ") + rows + ", positions: " + rows +
                                  ", velocities: " + rows +
                                  ", steps: int, model: MdModel, temperatures: Sequence[float], exchange_steps: int, "
                                  "exchange_seed: int, spent_seconds: float, job: Options) -> MdRun";
    module.def("md", &run_md, "session"_a, "boxes"_a.noconvert(), "positions"_a.noconvert(), "velocities"_a.noconvert(),
               "steps"_a, "model"_a, "temperatures"_a, "exchange_steps"_a, "exchange_seed"_a, "spent_seconds"_a,
               "job"_a, nb::sig(signature.c_str()));
}

}  // namespace laneway::python
