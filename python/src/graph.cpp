// Graphs: read, generated, looked at through NumPy views, written as DIMACS text.
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "graph_data.hpp"
#include "interruptible.hpp"
#include "laneway/base/draft_file.hpp"
#include "laneway/base/error.hpp"
#include "laneway/graph/cache.hpp"
#include "laneway/graph/generate.hpp"
#include "laneway/graph/partition.hpp"
#include "laneway/graph/read.hpp"
#include "module.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using csr_graph = graph::graph;

template <class T>
nb::object view(const std::vector<T>& values, nb::handle owner) {
    return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(values.data(), {values.size()}, owner),
                    nb::rv_policy::reference);
}

// One NumPy view of the CSR; `pick` names the member.
template <class Pick>
nb::object view_of(nb::handle self, Pick pick) {
    const auto& arcs = nb::cast<const csr_graph&>(self).arcs;
    return std::visit([&](const auto& csr) { return view(pick(csr), self); }, arcs);
}

// `bits` is 32 or 64 where it is given.
graph::id_width width_of(std::optional<int> bits) {
    if (!bits) return graph::id_width::automatic;
    return *bits == 32 ? graph::id_width::bits32 : graph::id_width::bits64;
}

graph::read_options options_of(const std::optional<std::string>& format, std::optional<int> ids,
                               std::optional<bool> directed, bool unweighted) {
    graph::read_options options;
    if (format) options.format = graph::parse_format(*format);
    options.ids = width_of(ids);
    options.directed = directed;
    options.unweighted = unweighted;
    return options;
}

graph_data read(const std::filesystem::path& path, const std::optional<std::string>& format, std::optional<int> ids,
                const std::optional<std::filesystem::path>& cache, std::optional<bool> directed, bool unweighted,
                const std::function<void(const std::string&)>& tell) {
    const graph::read_options options = options_of(format, ids, directed, unweighted);
    const interruptible guard;  // `tell` takes Python's lock back
    return graph_data(cache ? graph::read_graph_cached(path, options, *cache, tell) : graph::read_graph(path, options));
}

// What `read` opens, and the cache's entry.
std::vector<std::filesystem::path> input_files(const std::filesystem::path& path,
                                               const std::optional<std::string>& format, std::optional<int> ids,
                                               const std::optional<std::filesystem::path>& cache,
                                               std::optional<bool> directed, bool unweighted) {
    const graph::read_options options = options_of(format, ids, directed, unweighted);
    std::vector<std::filesystem::path> files = graph::source_files(path, options);
    if (cache) files.push_back(graph::cache_entry(path, options, *cache));
    return files;
}

std::string describe_graph(const csr_graph& g) {
    return "<laneway.Graph: " + std::to_string(g.vertices()) + " vertices, " + std::to_string(g.arc_count()) +
           (g.weighted() ? " weighted arcs>" : " arcs>");
}

void append(std::string& text, std::uint64_t number, char end) {
    char digits[20];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    text.push_back(end);
}

// DIMACS lines of the arcs of CSR rows [first, last); vertices are numbered from 1 there.
nb::bytes dimacs_lines(const csr_graph& g, std::uint64_t first, std::uint64_t last) {
    std::string text;
    std::visit(
        [&](const auto& csr) {
            last = std::min(last, csr.vertices());
            for (std::uint64_t row = first; row < last; ++row) {
                for (std::uint64_t arc = csr.offsets[row]; arc < csr.offsets[row + 1]; ++arc) {
                    text += "a ";
                    append(text, row + 1, ' ');
                    append(text, csr.heads[arc] + std::uint64_t{1}, ' ');
                    append(text, csr.weight(arc), '\n');
                }
            }
        },
        g.arcs);
    return nb::bytes(text.data(), text.size());
}

void register_generators(nb::module_& module) {
    module.def(
        "generate_grid",
        [](std::uint64_t width, std::uint64_t height, double keep, std::uint64_t arcs, std::uint32_t max_weight,
           std::uint64_t seed) {
            return graph_data(graph::generate_grid({width, height, keep, arcs, max_weight, seed}));
        },
        "width"_a, "height"_a, "keep"_a, "arcs"_a, "max_weight"_a, "seed"_a, nb::call_guard<interruptible>());
    module.def(
        "generate_kronecker",
        [](unsigned scale, std::uint64_t arcs, bool symmetric, std::uint32_t max_weight, std::uint64_t seed) {
            return graph_data(graph::generate_kronecker({scale, arcs, symmetric, max_weight, seed}));
        },
        "scale"_a, "arcs"_a, "symmetric"_a, "max_weight"_a, "seed"_a, nb::call_guard<interruptible>());
    module.def(
        "generate_uniform",
        [](std::uint64_t vertices, std::uint64_t arcs, bool symmetric, std::uint32_t max_weight, std::uint64_t seed) {
            return graph_data(graph::generate_uniform({vertices, arcs, symmetric, max_weight, seed}));
        },
        "vertices"_a, "arcs"_a, "symmetric"_a, "max_weight"_a, "seed"_a, nb::call_guard<interruptible>());
}

}  // namespace

void register_graph(nb::module_& module) {
    constexpr auto offsets = [](const auto& csr) -> const auto& { return csr.offsets; };
    constexpr auto heads = [](const auto& csr) -> const auto& { return csr.heads; };
    constexpr auto weights = [](const auto& csr) -> const auto& { return csr.weights; };

    nb::class_<graph_data>(module, "GraphData", "What a Graph is made of, to be taken once.");
    nb::class_<csr_graph>(module, "Graph", "A directed graph in compressed sparse rows.")
        .def(
            "__init__", [](csr_graph* made, graph_data& data) { new (made) csr_graph(data.take()); }, "data"_a)
        .def_prop_ro("vertices", &csr_graph::vertices, "Number of vertices n.")
        .def_prop_ro("arcs", &csr_graph::arc_count, "Number of arcs m.")
        .def_prop_ro("weighted", &csr_graph::weighted, "Whether arcs have weights; without, every arc weighs 1.")
        .def_prop_ro(
            "weight_scale", [](const csr_graph& g) { return g.weight_scale; },
            "What decimal weights were multiplied by; distances are too.")
        .def_prop_ro(
            "weights_rounded", [](const csr_graph& g) { return g.weights_rounded; },
            "Whether some weight had more decimals than weight_scale has, and was rounded to it.")
        .def_prop_ro(
            "first", [](const csr_graph& g) { return g.ids.first; }, "Id of the first vertex.")
        .def_prop_ro(
            "labels", [](nb::handle self) { return view(nb::cast<const csr_graph&>(self).ids.labels, self); },
            nb::sig("def labels(self) -> numpy.typing.NDArray[numpy.uint64]"),
            "View of n entries: each vertex's id, ascending; empty where ids are first, first + 1 and so on.")
        .def_prop_ro(
            "offsets", [=](nb::handle self) { return view_of(self, offsets); },
            nb::sig("def offsets(self) -> numpy.typing.NDArray[numpy.uint64]"),
            "View of n + 1 entries: the arcs of vertex v are [offsets[v], offsets[v + 1]).")
        .def_prop_ro(
            "heads", [=](nb::handle self) { return view_of(self, heads); },
            nb::sig("def heads(self) -> numpy.typing.NDArray[numpy.uint32 | numpy.uint64]"),
            "View of m entries: the vertex each arc leads to.")
        .def_prop_ro(
            "weights", [=](nb::handle self) { return view_of(self, weights); },
            nb::sig("def weights(self) -> numpy.typing.NDArray[numpy.uint32]"),
            "View of m entries: each arc's weight; empty where the graph has none.")
        .def("__repr__", &describe_graph)
        .def("dimacs_lines", &dimacs_lines, "first"_a, "last"_a,
             "The arcs of rows [first, last) as DIMACS `a u v w` lines, ids from 1.");

    module.def("read_graph", &read, "path"_a, "format"_a.none(), "ids"_a.none(), "cache"_a.none(), "directed"_a.none(),
               "unweighted"_a, "tell"_a);
    module.def("input_files", &input_files, "path"_a, "format"_a.none(), "ids"_a.none(), "cache"_a.none(),
               "directed"_a.none(), "unweighted"_a, "Every file that read_graph would read with these arguments.");
    module.def("remove_drafts", &draft_file::remove_all,
               "Remove files that this process is writing: for who ends it without a return from the calls.");
    register_generators(module);
    module.attr("dealt_pieces") = graph::dealt_pieces;
    module.def(
        "dealt_parts",
        [](const csr_graph& g, std::uint64_t n_parts) {
            return give(std::visit([&](const auto& csr) { return graph::dealt_parts(csr, n_parts); }, g.arcs));
        },
        "graph"_a, "n_parts"_a, "PE of each vertex, where each PE gets several ranges of vertices in turn.");
}

}  // namespace laneway::python
