// Runs of the shortest-paths program and their reports.
#include "sssp/shortest_paths.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <span>
#include <utility>

#include "module.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using apps::shortest_paths_result;
using parts_array = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr std::uint32_t most_samples = 4096;  // more than a picture of a run has columns

template <class T>
using vector_array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using matrix_array = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<2>>;

// Hands a vector's memory to NumPy without a copy.
template <class T>
vector_array<T> give(std::vector<T>&& values) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T* const data = owned->data();
    const std::size_t size = owned->size();
    nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return vector_array<T>(data, {size}, owner);
}

matrix_array give_matrix(std::vector<std::uint64_t>&& values, std::size_t columns) {
    const std::size_t rows = columns == 0 ? 0 : values.size() / columns;
    auto owned = std::make_unique<std::vector<std::uint64_t>>(std::move(values));
    std::uint64_t* const data = owned->data();
    nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<std::vector<std::uint64_t>*>(p); });
    return matrix_array(data, {rows, columns}, owner);
}

matrix_array traffic_of(const run_report& report, std::uint64_t traffic::*count) {
    std::vector<std::uint64_t> values;
    for (const auto& cell : report.traffic_matrix) values.push_back(cell.*count);
    return give_matrix(std::move(values), report.devices.size());
}

matrix_array progress_of(const run_report& report) {
    std::vector<std::uint64_t> values;
    for (const auto& sample : report.progress)
        values.insert(values.end(), {sample.time_ns, sample.served, sample.open});
    return give_matrix(std::move(values), 3);
}

// Σ (i + 1) · d_i mod (2^61 − 1) over reached vertices: what published reference answers are compared by.
std::uint64_t checksum(nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> distance) {
    __extension__ using wide = unsigned __int128;
    constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < distance.size(); ++i) {
        const std::int64_t d = distance.data()[i];
        if (d >= 0) sum = static_cast<std::uint64_t>((wide{i + 1} * static_cast<std::uint64_t>(d) + sum) % prime);
    }
    return sum;
}

shortest_paths_result run(const graph::graph& graph, std::uint64_t source, bool unit_weights,
                          const std::string& devices, std::optional<std::uint64_t> delta,
                          const std::optional<parts_array>& parts, std::uint64_t seed, double timeout_seconds,
                          bool progress) {
    apps::shortest_paths_options options;
    options.job.devices = devices;
    options.job.timeout_seconds = timeout_seconds;
    options.job.seed = seed;
    options.job.progress_samples = progress ? most_samples : 0;
    options.unit_weights = unit_weights;
    options.delta = delta;
    if (parts) options.parts.assign(parts->data(), parts->data() + parts->size());
    const nb::gil_scoped_release release;
    return apps::shortest_paths(graph, source, options);
}

void register_report(nb::module_& module) {
    constexpr auto by_owner = nb::rv_policy::reference;  // the array keeps its memory alive itself
    nb::class_<run_report>(module, "Report", "Account of one run: posted = direct + carried, carried = served.")
        .def_ro("devices", &run_report::devices, "One name a PE, in PE order.")
        .def_ro("run_seconds", &run_report::run_seconds, "From the launch until the last device was done.")
        .def_ro("posted", &run_report::posted, "Messages posted by lanes.")
        .def_ro("direct", &run_report::direct, "Of these, served at once because poster and owner are one PE.")
        .def_ro("carried", &run_report::carried, "Messages that left in chunks.")
        .def_ro("served", &run_report::served, "Carried messages whose handler has run.")
        .def_prop_ro(
            "messages", [](const run_report& r) { return traffic_of(r, &traffic::messages); }, by_owner,
            nb::sig("def messages(self) -> numpy.typing.NDArray[numpy.uint64]"),
            "Messages carried, n_pes × n_pes: [source, destination].")
        .def_prop_ro(
            "chunks", [](const run_report& r) { return traffic_of(r, &traffic::chunks); }, by_owner,
            nb::sig("def chunks(self) -> numpy.typing.NDArray[numpy.uint64]"), "Chunks carried, n_pes × n_pes.")
        .def_prop_ro(
            "bytes", [](const run_report& r) { return traffic_of(r, &traffic::bytes); }, by_owner,
            nb::sig("def bytes(self) -> numpy.typing.NDArray[numpy.uint64]"), "Payload bytes carried, n_pes × n_pes.")
        .def_prop_ro("progress", &progress_of, by_owner,
                     nb::sig("def progress(self) -> numpy.typing.NDArray[numpy.uint64]"),
                     "Samples k × 3: nanoseconds since the start, messages served so far, work still open.");
}

}  // namespace

void register_shortest_paths(nb::module_& module) {
    register_report(module);
    nb::class_<shortest_paths_result>(module, "ShortestPaths")
        .def(
            "take_distance", [](shortest_paths_result& r) { return give(std::move(r.distance)); },
            nb::sig("def take_distance(self) -> numpy.typing.NDArray[numpy.int64]"))
        .def_ro("delta", &shortest_paths_result::delta)
        .def_ro("items", &shortest_paths_result::items)
        .def_ro("least_items", &shortest_paths_result::least_items)
        .def_ro("partition_seconds", &shortest_paths_result::partition_seconds)
        .def_ro("report", &shortest_paths_result::report);
    module.def("shortest_paths", &run, "graph"_a, "source"_a, "unit_weights"_a, "devices"_a, "delta"_a.none(),
               "parts"_a.none(), "seed"_a, "timeout_seconds"_a, "progress"_a);
    module.def(
        "dijkstra",
        [](const graph::graph& graph, std::uint64_t source, bool unit_weights) {
            std::vector<std::int64_t> distance;
            {
                const nb::gil_scoped_release release;
                distance = apps::dijkstra(graph, source, unit_weights);
            }
            return give(std::move(distance));
        },
        "graph"_a, "source"_a, "unit_weights"_a,
        nb::sig("def dijkstra(graph: Graph, source: int, unit_weights: bool) -> numpy.typing.NDArray[numpy.int64]"));
    module.def("checksum", &checksum, "distance"_a,
               nb::sig("def checksum(distance: numpy.typing.NDArray[numpy.int64]) -> int"));
}

}  // namespace laneway::python
