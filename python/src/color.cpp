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

namespace {

using places_array = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Empty where there are none.
std::vector<std::uint64_t> places_of(const std::optional<places_array>& places) {
    if (!places) return {};
    return {places->data(), places->data() + places->size()};
}

}  // namespace

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
        [](const resident& graph, std::uint64_t order, const std::optional<parts_array>& parts,
           const std::optional<places_array>& sequence) {
            const apps::color_options options{{}, order, parts_of(parts), places_of(sequence)};
            const interruptible guard;
            return graph.call([&](auto& on_devices) { return apps::color(on_devices, options); });
        },
        "graph"_a, "order"_a, "parts"_a.none(), "sequence"_a.none() = nb::none());
    module.def(
        "color_greedily",
        [](const graph::graph& graph, std::uint64_t order, const std::optional<places_array>& sequence) {
            const std::vector<std::uint64_t> places = places_of(sequence);
            std::vector<std::uint32_t> color;
            {
                const interruptible guard;
                color = apps::color_greedily(graph, order, places).color;
            }
            return give(std::move(color));
        },
        "graph"_a, "order"_a, "sequence"_a.none() = nb::none(),
        nb::sig("def color_greedily(graph: Graph, order: int, sequence: numpy.typing.NDArray[numpy.uint64] | None = "
                "None) -> numpy.typing.NDArray[numpy.uint32]"));
}

}  // namespace laneway::python
