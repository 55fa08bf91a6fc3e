// Connected components.
#include "cc/cc.hpp"

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "cc/routed_components.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "session.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

using apps::cc_result;

void register_cc(nb::module_& module) {
    nb::class_<cc_result>(module, "Components")
        .def(
            "take_component", [](cc_result& r) { return give(std::move(r.component)); },
            nb::sig("def take_component(self) -> numpy.typing.NDArray[numpy.uint64]"))
        .def_ro("components", &cc_result::components)
        .def_ro("partition_seconds", &cc_result::partition_seconds)
        .def_ro("report", &cc_result::report);
    module.def(
        "connected_components",
        [](const resident& graph, const std::optional<parts_array>& parts) {
            const apps::cc_options options{{}, parts_of(parts)};
            const interruptible guard;
            return graph.call([&](auto& on_devices) { return apps::connected_components(on_devices, options); });
        },
        "graph"_a, "parts"_a.none());
    module.def(
        "components_by_router",
        [](session& on, const graph::graph& graph) {
            const interruptible guard;
            return on.call([&](apps::workspace& devices) { return apps::components_by_router(devices, graph, {}); });
        },
        "session"_a, "graph"_a);
    module.def(
        "components_by_union_find",
        [](const graph::graph& graph) {
            cc_result result;
            {
                const interruptible guard;
                result = apps::components_by_union_find(graph);
            }
            return give(std::move(result.component));
        },
        "graph"_a, nb::sig("def components_by_union_find(graph: Graph) -> numpy.typing.NDArray[numpy.uint64]"));
}

}  // namespace laneway::python
