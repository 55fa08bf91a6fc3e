// In-degrees of a graph.
#include "indegree/indegree.hpp"

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "session.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

using apps::indegree_result;

void register_indegree(nb::module_& module) {
    nb::class_<indegree_result>(module, "InDegree")
        .def(
            "take_in_degree", [](indegree_result& r) { return give(std::move(r.in_degree)); },
            nb::sig("def take_in_degree(self) -> numpy.typing.NDArray[numpy.uint64]"))
        .def_ro("partition_seconds", &indegree_result::partition_seconds)
        .def_ro("report", &indegree_result::report);
    module.def(
        "indegree",
        [](const resident& graph, const std::string& walk) {
            const interruptible guard;
            const apps::indegree_options options{{}, apps::parse_arc_walk(walk)};
            return graph.call([&](auto& on_devices) { return apps::indegree(on_devices, options); });
        },
        "graph"_a, "walk"_a);
}

}  // namespace laneway::python
