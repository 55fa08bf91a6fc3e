// Label propagation.
#include "cdlp/cdlp.hpp"

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "session.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

using apps::cdlp_result;

void register_cdlp(nb::module_& module) {
    nb::class_<cdlp_result>(module, "Labelling")
        .def(
            "take_label", [](cdlp_result& r) { return give(std::move(r.label)); },
            nb::sig("def take_label(self) -> numpy.typing.NDArray[numpy.uint32]"))
        .def_ro("labels", &cdlp_result::labels)
        .def_ro("rounds", &cdlp_result::rounds)
        .def_ro("converged", &cdlp_result::converged)
        .def_ro("partition_seconds", &cdlp_result::partition_seconds)
        .def_ro("report", &cdlp_result::report);
    module.def(
        "label_propagation",
        [](const resident& graph, std::uint64_t rounds, const std::optional<parts_array>& parts,
           const std::optional<parts_array>& classes) {
            const apps::cdlp_options options{{}, rounds, parts_of(parts), parts_of(classes)};
            const interruptible guard;
            return graph.call([&](auto& on_devices) { return apps::label_propagation(on_devices, options); });
        },
        "graph"_a, "rounds"_a, "parts"_a.none(), "classes"_a.none());
    module.def(
        "labels_by_sorting",
        [](const graph::graph& graph, std::uint64_t rounds) {
            cdlp_result result;
            {
                const interruptible guard;
                result = apps::labels_by_sorting(graph, rounds);
            }
            return give(std::move(result.label));
        },
        "graph"_a, "rounds"_a,
        nb::sig("def labels_by_sorting(graph: Graph, rounds: int) -> numpy.typing.NDArray[numpy.uint32]"));
}

}  // namespace laneway::python
