// PageRank.
#include "pagerank/pagerank.hpp"

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

using apps::pagerank_result;

void register_pagerank(nb::module_& module) {
    nb::class_<pagerank_result>(module, "PageRank")
        .def(
            "take_rank", [](pagerank_result& r) { return give(std::move(r.rank)); },
            nb::sig("def take_rank(self) -> numpy.typing.NDArray[numpy.float64]"))
        .def_ro("rounds", &pagerank_result::rounds)
        .def_ro("change", &pagerank_result::change)
        .def_ro("partition_seconds", &pagerank_result::partition_seconds)
        .def_ro("report", &pagerank_result::report);
    module.def(
        "pagerank",
        [](const graph::graph& graph, double damping, std::uint64_t rounds, double tolerance,
           const std::optional<parts_array>& parts, const options& job) {
            const apps::pagerank_options options{job, damping, rounds, tolerance, parts_of(parts)};
            const interruptible guard;
            return apps::pagerank(graph, options);
        },
        "graph"_a, "damping"_a, "rounds"_a, "tolerance"_a, "parts"_a.none(), "job"_a);
}

}  // namespace laneway::python
