// Triangles and clustering.
#include "triangles/triangles.hpp"

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "session.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

using apps::clustering_result;
using apps::triangles_result;

namespace {

void register_results(nb::module_& module) {
    nb::class_<triangles_result>(module, "TriangleCounts")
        .def(
            "take_triangles", [](triangles_result& r) { return give(std::move(r.triangles)); },
            nb::sig("def take_triangles(self) -> numpy.typing.NDArray[numpy.uint64]"))
        .def_ro("total", &triangles_result::total)
        .def_ro("partition_seconds", &triangles_result::partition_seconds)
        .def_ro("report", &triangles_result::report);
    nb::class_<clustering_result>(module, "Clustering")
        .def(
            "take_coefficient", [](clustering_result& r) { return give(std::move(r.coefficient)); },
            nb::sig("def take_coefficient(self) -> numpy.typing.NDArray[numpy.float64]"))
        .def_ro("average", &clustering_result::average)
        .def_ro("partition_seconds", &clustering_result::partition_seconds)
        .def_ro("report", &clustering_result::report);
}

}  // namespace

void register_triangles(nb::module_& module) {
    register_results(module);
    module.def(
        "triangles",
        [](const resident& graph) {
            const interruptible guard;
            return graph.call([](auto& on_devices) { return apps::triangles(on_devices); });
        },
        "graph"_a);
    module.def(
        "local_clustering",
        [](const resident& graph) {
            const interruptible guard;
            return graph.call([](auto& on_devices) { return apps::local_clustering(on_devices); });
        },
        "graph"_a);
    module.def(
        "triangles_by_marking",
        [](const graph::graph& graph) {
            const interruptible guard;
            return apps::triangles_by_marking(graph);
        },
        "graph"_a);
    module.def(
        "clustering_by_marking",
        [](const graph::graph& graph) {
            const interruptible guard;
            return apps::clustering_by_marking(graph);
        },
        "graph"_a);
}

}  // namespace laneway::python
