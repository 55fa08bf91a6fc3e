// The filter program.
#include "filter/filter.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "filter/condition.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "session.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

template <class T>
using values_array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
apps::filter_result<T> run_filter(session& on, const values_array<T>& values, const std::string& condition,
                                  std::size_t packet_bytes, int buffers, const std::string& policy) {
    const apps::filter_options options{{}, condition, packet_bytes, buffers, apps::parse_filter_policy(policy)};
    const interruptible guard;
    return on.call(
        [&](apps::workspace& devices) { return apps::filter<T>(devices, values.data(), values.size(), options); });
}

/// `type`: NumPy's name of T.
template <class T>
void register_for(nb::module_& module, const std::string& type) {
    using result = apps::filter_result<T>;
    const std::string name = "Filtered_" + type, array = "numpy.typing.NDArray[numpy." + type + "]";
    const std::string take = "def take_kept(self) -> " + array;
    nb::class_<result>(module, name.c_str())
        .def(
            "take_kept", [](result& r) { return give(std::move(r.kept)); }, nb::sig(take.c_str()))
        .def_ro("elements", &result::elements)
        .def_ro("packets", &result::packets)
        .def_ro("report", &result::report);
    // Any: an array's type is known when it is called only.
    const std::string call = "def filter(session: Session, values: " + array +
                             ", condition: str, packet_bytes: int, buffers: int, policy: str) -> typing.Any";
    module.def("filter", &run_filter<T>, "session"_a, "values"_a.noconvert(), "condition"_a, "packet_bytes"_a,
               "buffers"_a, "policy"_a, nb::sig(call.c_str()));
}

}  // namespace

void register_filter(nb::module_& module) {
    register_for<std::int8_t>(module, "int8");
    register_for<std::uint8_t>(module, "uint8");
    register_for<std::int16_t>(module, "int16");
    register_for<std::uint16_t>(module, "uint16");
    register_for<std::int32_t>(module, "int32");
    register_for<std::uint32_t>(module, "uint32");
    register_for<std::int64_t>(module, "int64");
    register_for<std::uint64_t>(module, "uint64");
    register_for<float>(module, "float32");
    register_for<double>(module, "float64");
}

}  // namespace laneway::python
