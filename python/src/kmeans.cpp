// The k-means program.
#include "kmeans/kmeans.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "kmeans/columns.hpp"
#include "module.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

template <class Real>
using rows_array = nb::ndarray<const Real, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Real>
apps::kmeans_result<Real> run(const rows_array<Real>& points, const rows_array<Real>& centroids,
                              std::uint32_t max_rounds, double tolerance, const options& job) {
    const auto dimensions = static_cast<std::uint32_t>(points.shape(1));
    const std::vector<Real> initial(centroids.data(), centroids.data() + centroids.size());
    const interruptible guard;
    return apps::kmeans<Real>({points.data(), points.shape(0), dimensions}, initial, {job, max_rounds, tolerance});
}

template <class Real>
void require_finite(const std::string& what, const rows_array<Real>& rows) {
    const interruptible guard;
    apps::require_finite(what, rows.data(), rows.shape(0), static_cast<std::uint32_t>(rows.shape(1)));
}

template <class Real>
void register_for(nb::module_& module, const char* name, const char* signature) {
    using result = apps::kmeans_result<Real>;
    nb::class_<result>(module, name)
        .def(
            "take_labels", [](result& r) { return give(std::move(r.labels)); },
            nb::sig("def take_labels(self) -> numpy.typing.NDArray[numpy.uint32]"))
        .def(
            "take_centroids",
            [](result& r, std::size_t dimensions) { return give_matrix(std::move(r.centroids), dimensions); },
            "dimensions"_a,
            nb::sig("def take_centroids(self, dimensions: int) -> "
                    "numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64]"))
        .def(
            "take_sizes", [](result& r) { return give(std::move(r.sizes)); },
            nb::sig("def take_sizes(self) -> numpy.typing.NDArray[numpy.uint64]"))
        .def_ro("inertia", &result::inertia)
        .def_ro("rounds", &result::rounds)
        .def_ro("converged", &result::converged)
        .def_ro("empties", &result::empties)
        .def_ro("report", &result::report);
    module.def("kmeans", &run<Real>, "points"_a.noconvert(), "centroids"_a.noconvert(), "max_rounds"_a, "tolerance"_a,
               "job"_a, nb::sig(signature));
    module.def("require_finite", &require_finite<Real>, "what"_a, "rows"_a.noconvert());
}

}  // namespace

// Both return the same in the stub: type checkers cannot tell arrays of different numbers apart.
void register_kmeans(nb::module_& module) {
    register_for<float>(module, "Kmeans32",
                        "def kmeans(points: numpy.typing.NDArray[numpy.float32], "
                        "centroids: numpy.typing.NDArray[numpy.float32], max_rounds: int, tolerance: float, "
                        "job: Options) -> Kmeans32 | Kmeans64");
    register_for<double>(module, "Kmeans64",
                         "def kmeans(points: numpy.typing.NDArray[numpy.float64], "
                         "centroids: numpy.typing.NDArray[numpy.float64], max_rounds: int, tolerance: float, "
                         "job: Options) -> Kmeans32 | Kmeans64");
}

}  // namespace laneway::python
