// Graph colouring.
#include "color/color.hpp"

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "session.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

using apps::color_result;

void register_color(nb::module_& module) {
    nb::class_<color_result>(module, "Coloring")
        .def(
            "take_color", [](color_result& r) { return give(std::move(r.color)); },
            nb::sig("def take_color(self) -> numpy.typing.NDArray[numpy.uint32]"))
        .def_ro("colors", &color_result::colors)
        .def_ro("rounds", &color_result::rounds)
        .def_ro("partition_seconds", &color_result::partition_seconds)
        .def_ro("report", &color_result::report);
    module.def(
        "color",
        [](const resident& graph, std::uint64_t order, const std::optional<parts_array>& parts) {
            const apps::color_options options{{}, order, parts_of(parts)};
            const interruptible guard;
            return graph.call([&](auto& on_devices) { return apps::color(on_devices, options); });
        },
        "graph"_a, "order"_a, "parts"_a.none());
    module.def(
        "color_greedily",
        [](const graph::graph& graph, std::uint64_t order) {
            std::vector<std::uint32_t> color;
            {
                const interruptible guard;
                color = apps::color_greedily(graph, order).color;
            }
            return give(std::move(color));
        },
        "graph"_a, "order"_a,
        nb::sig("def color_greedily(graph: Graph, order: int) -> numpy.typing.NDArray[numpy.uint32]"));
}

}  // namespace laneway::python
