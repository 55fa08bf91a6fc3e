// Graphs from NumPy arrays.
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>

#include "graph_data.hpp"
#include "interruptible.hpp"
#include "laneway/graph/from_arrays.hpp"
#include "module.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using graph::numbering;
using graph::whole_weights;

template <class T>
using input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span_of(const input<T>& array) {
    return {array.data(), array.size()};
}

numbering numbered(std::uint64_t vertices, std::uint64_t first, const input<std::uint64_t>& labels) {
    numbering ids;
    ids.vertices = vertices;
    ids.first = first;
    ids.labels.assign(labels.data(), labels.data() + labels.size());
    return ids;
}

template <class Number>
void register_weights(nb::module_& module) {
    module.def(
        "make_weights",
        [](const input<Number>& numbers, const std::function<std::string(std::uint64_t)>& name) {
            const interruptible guard;  // `name` takes Python's lock back
            return graph::make_weights(span_of(numbers), name);
        },
        "numbers"_a.noconvert(), "name"_a);
}

}  // namespace

void register_graph_arrays(nb::module_& module) {
    nb::class_<whole_weights>(module, "Weights", "Weights as a graph holds them.")
        .def(
            "__init__",
            [](whole_weights* made, const input<std::uint32_t>& values, std::uint64_t scale, bool rounded) {
                new (made) whole_weights{{values.data(), values.data() + values.size()}, scale, rounded};
            },
            "values"_a, "scale"_a, "rounded"_a);
    register_weights<std::int64_t>(module);
    register_weights<std::uint64_t>(module);
    register_weights<float>(module);
    register_weights<double>(module);
    module.def(
        "graph_from_csr",
        [](const input<std::int64_t>& offsets, const input<std::int64_t>& heads, const whole_weights* weights,
           std::uint64_t first, const input<std::uint64_t>& labels, bool wide) {
            const auto width = wide ? graph::id_width::bits64 : graph::id_width::automatic;
            const interruptible guard;
            return graph_data(graph::from_csr(span_of(offsets), span_of(heads),
                                              weights == nullptr ? whole_weights{} : *weights,
                                              numbered(offsets.size() - 1, first, labels), width));
        },
        "offsets"_a, "heads"_a, "weights"_a.none(), "first"_a, "labels"_a, "wide"_a);
    module.def(
        "graph_from_arcs",
        [](const input<std::int64_t>& tails, const input<std::int64_t>& heads, const whole_weights* weights,
           std::uint64_t vertices, std::uint64_t first, const input<std::uint64_t>& labels, bool mirrored) {
            const interruptible guard;
            return graph_data(graph::from_arcs(span_of(tails), span_of(heads),
                                               weights == nullptr ? whole_weights{} : *weights,
                                               numbered(vertices, first, labels), mirrored));
        },
        "tails"_a, "heads"_a, "weights"_a.none(), "vertices"_a, "first"_a, "labels"_a, "mirrored"_a);
}

}  // namespace laneway::python
