// Breadth-first search by levels.
#include "bfs/bfs.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "session.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

using apps::bfs_result;

void register_bfs(nb::module_& module) {
    nb::class_<bfs_result>(module, "Levels")
        .def(
            "take_distance", [](bfs_result& r) { return give(std::move(r.distance)); },
            nb::sig("def take_distance(self) -> numpy.typing.NDArray[numpy.int64]"))
        .def_ro("reached", &bfs_result::reached)
        .def_ro("levels", &bfs_result::levels)
        .def_ro("pulled", &bfs_result::pulled)
        .def_ro("partition_seconds", &bfs_result::partition_seconds)
        .def_ro("report", &bfs_result::report);
    module.def(
        "bfs_by_levels",
        [](const resident& graph, const std::vector<std::uint64_t>& sources, const std::optional<parts_array>& parts) {
            apps::bfs_options options;
            options.parts = parts_of(parts);
            const interruptible guard;
            return graph.call([&](auto& on_devices) { return apps::bfs_by_levels(on_devices, sources, options); });
        },
        "graph"_a, "sources"_a, "parts"_a.none());
}

}  // namespace laneway::python
