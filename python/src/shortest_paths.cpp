// The shortest-paths program.
#include "sssp/shortest_paths.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "laneway/base/interruption.hpp"
#include "module.hpp"
#include "session.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using apps::shortest_paths_result;
using ids = std::vector<std::uint64_t>;
using distances = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Σ (i + 1) · d_i mod (2^61 − 1) over reached vertices: what published reference answers are compared by.
std::uint64_t checksum(const distances& distance) {
    __extension__ using wide = unsigned __int128;
    constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;
    const interruptible guard;
    interruption_counter counter;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < distance.size(); ++i) {
        counter.poll();
        const std::int64_t d = distance.data()[i];
        if (d >= 0) sum = static_cast<std::uint64_t>((wide{i + 1} * static_cast<std::uint64_t>(d) + sum) % prime);
    }
    return sum;
}

shortest_paths_result search(const resident& graph, const ids& sources, std::optional<std::uint64_t> delta,
                             const std::optional<parts_array>& parts, bool priorities, bool fused) {
    apps::shortest_paths_options options;
    options.delta = delta;
    options.priorities = priorities;
    options.fused = fused;
    options.parts = parts_of(parts);
    const interruptible guard;
    return graph.call([&](auto& on_devices) { return apps::shortest_paths(on_devices, sources, options); });
}

}  // namespace

void register_shortest_paths(nb::module_& module) {
    nb::class_<shortest_paths_result>(module, "ShortestPaths")
        .def(
            "take_distance", [](shortest_paths_result& r) { return give(std::move(r.distance)); },
            nb::sig("def take_distance(self) -> numpy.typing.NDArray[numpy.int64]"))
        .def_ro("delta", &shortest_paths_result::delta)
        .def_ro("items", &shortest_paths_result::items)
        .def_ro("min_items", &shortest_paths_result::min_items)
        .def_ro("waves", &shortest_paths_result::waves)
        .def_ro("partition_seconds", &shortest_paths_result::partition_seconds)
        .def_ro("report", &shortest_paths_result::report);
    module.def("shortest_paths", &search, "graph"_a, "sources"_a, "delta"_a.none(), "parts"_a.none(), "priorities"_a,
               "fused"_a);
    module.def(
        "dijkstra",
        [](const graph::graph& graph, const ids& sources, bool unit_weights) {
            std::vector<std::int64_t> distance;
            {
                const interruptible guard;
                distance = apps::dijkstra(graph, sources, unit_weights);
            }
            return give(std::move(distance));
        },
        "graph"_a, "sources"_a, "unit_weights"_a,
        nb::sig("def dijkstra(graph: Graph, sources: collections.abc.Sequence[int], unit_weights: bool) -> "
                "numpy.typing.NDArray[numpy.int64]"));
    module.def(
        "predecessors",
        [](const graph::graph& graph, const distances& distance, const ids& sources, bool unit_weights) {
            std::vector<std::int64_t> before;
            {
                const interruptible guard;
                before = apps::predecessors(graph, {distance.data(), distance.size()}, sources, unit_weights);
            }
            return give(std::move(before));
        },
        "graph"_a, "distance"_a, "sources"_a, "unit_weights"_a,
        nb::sig("def predecessors(graph: Graph, distance: numpy.typing.NDArray[numpy.int64], sources: "
                "collections.abc.Sequence[int], unit_weights: bool) -> numpy.typing.NDArray[numpy.int64]"));
    module.def("checksum", &checksum, "distance"_a,
               nb::sig("def checksum(distance: numpy.typing.NDArray[numpy.int64]) -> int"));
}

}  // namespace laneway::python
