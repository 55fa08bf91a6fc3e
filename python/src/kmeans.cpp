// The k-means program.
#include "kmeans/kmeans.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "kmeans/columns.hpp"
#include "module.hpp"
#include "session.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

template <class Real>
using rows_array = nb::ndarray<const Real, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using weights_array = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Real>
apps::kmeans_result<Real> run_kmeans(session& session, const rows_array<Real>& points,
                                     const std::optional<weights_array>& sample_weight, const rows_array<Real>& initial,
                                     std::uint32_t n_init, std::uint32_t max_iter, double tol) {
    const auto dimensions = static_cast<std::uint32_t>(points.shape(1));
    const std::vector<Real> centers(initial.data(), initial.data() + initial.size());
    const double* const weights = sample_weight ? sample_weight->data() : nullptr;
    if (weights != nullptr && sample_weight->size() != points.shape(0)) throw usage_error("sample_weight: one a point");
    const interruptible guard;
    const apps::kmeans_options options{{}, n_init, max_iter, tol};
    return session.call([&](apps::workspace& workspace) {
        return workspace.run([&](const std::shared_ptr<runtime>& devices) {
            return apps::kmeans<Real>(*devices, {points.data(), points.shape(0), dimensions, weights}, centers,
                                      options);
        });
    });
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
            nb::sig("def take_labels(self) -> numpy.typing.NDArray[numpy.int32]"))
        .def(
            "take_cluster_centers",
            [](result& r, std::size_t dimensions) { return give_matrix(std::move(r.cluster_centers), dimensions); },
            "dimensions"_a,
            nb::sig("def take_cluster_centers(self, dimensions: int) -> "
                    "numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64]"))
        .def(
            "take_sizes", [](result& r) { return give(std::move(r.sizes)); },
            nb::sig("def take_sizes(self) -> numpy.typing.NDArray[numpy.uint64]"))
        .def_ro("inertia", &result::inertia)
        .def_ro("n_iter", &result::n_iter)
        .def_ro("converged", &result::converged)
        .def_ro("empties", &result::empties)
        .def_ro("start", &result::start)
        .def_ro("report", &result::report);
    module.def("kmeans", &run_kmeans<Real>, "session"_a, "points"_a.noconvert(), "sample_weight"_a.noconvert().none(),
               "initial"_a.noconvert(), "n_init"_a, "max_iter"_a, "tol"_a, nb::sig(signature));
    module.def("require_finite", &require_finite<Real>, "what"_a, "rows"_a.noconvert());
}

}  // namespace

// Both return the same in the stub: type checkers cannot tell arrays of different numbers apart.
void register_kmeans(nb::module_& module) {
    register_for<float>(module, "Kmeans32",
                        "def kmeans(session: Session, points: numpy.typing.NDArray[numpy.float32], "
                        "sample_weight: numpy.typing.NDArray[numpy.float64] | None, "
                        "initial: numpy.typing.NDArray[numpy.float32], n_init: int, max_iter: int, tol: float) "
                        "-> Kmeans32 | Kmeans64");
    register_for<double>(module, "Kmeans64",
                         "def kmeans(session: Session, points: numpy.typing.NDArray[numpy.float64], "
                         "sample_weight: numpy.typing.NDArray[numpy.float64] | None, "
                         "initial: numpy.typing.NDArray[numpy.float64], n_init: int, max_iter: int, tol: float) "
                         "-> Kmeans32 | Kmeans64");
}

}  // namespace laneway::python
