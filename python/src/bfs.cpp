// Breadth-first search.
#include "bfs/bfs.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "session.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

using apps::bfs_method;
using apps::bfs_result;

namespace {

bfs_method method_named(const std::string& name) {
    if (name == "levels") return bfs_method::levels;
    return name == "asynchronous" ? bfs_method::asynchronous : bfs_method::automatic;
}

}  // namespace

void register_bfs(nb::module_& module) {
    nb::class_<bfs_result>(module, "Bfs")
        .def(
            "take_distance", [](bfs_result& r) { return give(std::move(r.distance)); },
            nb::sig("def take_distance(self) -> numpy.typing.NDArray[numpy.int64]"))
        .def_prop_ro("method",
                     [](const bfs_result& r) { return r.method == bfs_method::levels ? "levels" : "asynchronous"; })
        .def_ro("reached", &bfs_result::reached)
        .def_ro("items", &bfs_result::items)
        .def_ro("delta", &bfs_result::delta)
        .def_ro("waves", &bfs_result::waves)
        .def_ro("levels", &bfs_result::levels)
        .def_ro("pulled", &bfs_result::pulled)
        .def_ro("partition_seconds", &bfs_result::partition_seconds)
        .def_ro("report", &bfs_result::report);
    module.def(
        "bfs",
        [](const resident& graph, const std::vector<std::uint64_t>& sources, const std::string& method,
           std::optional<std::uint64_t> delta, const std::optional<parts_array>& parts, bool priorities, bool fused) {
            apps::bfs_options options;
            options.method = method_named(method);
            options.delta = delta;
            options.priorities = priorities;
            options.fused = fused;
            options.parts = parts_of(parts);
            const interruptible guard;
            return graph.call([&](auto& on_devices) { return apps::bfs(on_devices, sources, options); });
        },
        "graph"_a, "sources"_a, "method"_a, "delta"_a.none(), "parts"_a.none(), "priorities"_a, "fused"_a);
}

}  // namespace laneway::python
