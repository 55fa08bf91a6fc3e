// Shortest paths as work items.
#include "sssp/near_far.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "session.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

using apps::near_far_result;

void register_near_far(nb::module_& module) {
    nb::class_<near_far_result>(module, "NearFar")
        .def(
            "take_distance", [](near_far_result& r) { return give(std::move(r.distance)); },
            nb::sig("def take_distance(self) -> numpy.typing.NDArray[numpy.int64]"))
        .def_ro("delta", &near_far_result::delta)
        .def_ro("min_items", &near_far_result::min_items)
        .def_prop_ro("done", [](const near_far_result& r) { return r.work.done; })
        .def_prop_ro("useful", [](const near_far_result& r) { return r.work.useful; })
        .def_prop_ro("sent", [](const near_far_result& r) { return r.work.sent; })
        .def_prop_ro("suppressed", [](const near_far_result& r) { return r.work.suppressed; })
        .def_prop_ro("waves", [](const near_far_result& r) { return r.work.waves; })
        .def_prop_ro("overflowed", [](const near_far_result& r) { return r.work.overflowed; })
        .def_ro("partition_seconds", &near_far_result::partition_seconds)
        .def_ro("report", &near_far_result::report);
    module.def(
        "near_far",
        [](const resident& graph, const std::vector<std::uint64_t>& sources, std::optional<std::uint64_t> delta,
           const std::optional<parts_array>& parts, bool priorities, bool fused) {
            apps::near_far_options options;
            options.delta = delta;
            options.priorities = priorities;
            options.fused = fused;
            options.parts = parts_of(parts);
            const interruptible guard;
            return graph.call([&](auto& on_devices) { return apps::near_far(on_devices, sources, options); });
        },
        "graph"_a, "sources"_a, "delta"_a.none(), "parts"_a.none(), "priorities"_a, "fused"_a);
}

}  // namespace laneway::python
