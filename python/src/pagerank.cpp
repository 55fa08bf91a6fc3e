// PageRank.
#include "pagerank/pagerank.hpp"

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "session.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

using apps::pagerank_result;

namespace {

using numbers_array = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// One number a vertex; empty where there is none.
std::vector<double> numbers_of(const std::optional<numbers_array>& numbers) {
    if (!numbers) return {};
    return {numbers->data(), numbers->data() + numbers->size()};
}

}  // namespace

void register_pagerank(nb::module_& module) {
    nb::class_<pagerank_result>(module, "PageRank")
        .def(
            "take_rank", [](pagerank_result& r) { return give(std::move(r.rank)); },
            nb::sig("def take_rank(self) -> numpy.typing.NDArray[numpy.float64]"))
        .def_ro("rounds", &pagerank_result::rounds)
        .def_ro("residual", &pagerank_result::residual)
        .def_ro("converged", &pagerank_result::converged)
        .def_ro("looks", &pagerank_result::looks)
        .def_ro("pushes", &pagerank_result::pushes)
        .def_ro("adds", &pagerank_result::adds)
        .def_ro("sent", &pagerank_result::sent)
        .def_ro("suppressed", &pagerank_result::suppressed)
        .def_ro("partition_seconds", &pagerank_result::partition_seconds)
        .def_ro("report", &pagerank_result::report);
    module.def(
        "pagerank",
        [](const resident& graph, double alpha, double tol, std::uint64_t max_iter, std::optional<std::uint64_t> rounds,
           bool weighted, const std::optional<numbers_array>& personalization,
           const std::optional<numbers_array>& dangling, const std::optional<numbers_array>& nstart,
           const std::optional<parts_array>& parts, bool push, bool priorities, bool fused) {
            using apps::pagerank_method;
            const apps::pagerank_options options{{},
                                                 alpha,
                                                 tol,
                                                 max_iter,
                                                 rounds,
                                                 weighted,
                                                 numbers_of(personalization),
                                                 numbers_of(dangling),
                                                 numbers_of(nstart),
                                                 parts_of(parts),
                                                 push ? pagerank_method::push : pagerank_method::pull,
                                                 priorities,
                                                 fused};
            const interruptible guard;
            return graph.call([&](auto& on_devices) { return apps::pagerank(on_devices, options); });
        },
        "graph"_a, "alpha"_a, "tol"_a, "max_iter"_a, "rounds"_a.none(), "weighted"_a, "personalization"_a.none(),
        "dangling"_a.none(), "nstart"_a.none(), "parts"_a.none(), "push"_a = false, "priorities"_a = true,
        "fused"_a = true);
}

}  // namespace laneway::python
