// The account of a run.
#include "laneway/base/report.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "module.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

matrix_array<std::uint64_t> traffic_of(const run_report& report, std::uint64_t traffic::*count) {
    std::vector<std::uint64_t> values;
    for (const auto& cell : report.traffic_matrix) values.push_back(cell.*count);
    return give_matrix(std::move(values), report.devices.size());
}

matrix_array<std::uint64_t> progress_of(const run_report& report) {
    std::vector<std::uint64_t> values;
    for (const auto& sample : report.progress)
        values.insert(values.end(), {sample.time_ns, sample.served, sample.open});
    return give_matrix(std::move(values), 3);
}

}  // namespace

void register_report(nb::module_& module) {
    constexpr auto by_owner = nb::rv_policy::reference;  // the array keeps its memory alive itself
    nb::class_<run_report>(module, "Report", "Account of one run: posted = direct + carried, carried = served.")
        .def_ro("devices", &run_report::devices, "One name a PE, in PE order.")
        .def_ro("run_seconds", &run_report::run_seconds, "From the launch until the last device was done.")
        .def_ro("posted", &run_report::posted, "Messages posted by lanes.")
        .def_ro("direct", &run_report::direct, "Of these, served at once because poster and owner are one PE.")
        .def_ro("carried", &run_report::carried, "Messages that left in chunks.")
        .def_ro("served", &run_report::served, "Carried messages whose handler has run.")
        .def_ro("rises", &run_report::rises, "Rises of the threshold of a priority flow, as shortest paths have it.")
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
        .def_ro("buffer_bytes", &run_report::buffer_bytes,
                "Bytes that the library's buffers and rings take, one number a PE.")
        .def_prop_ro("progress", &progress_of, by_owner,
                     nb::sig("def progress(self) -> numpy.typing.NDArray[numpy.uint64]"),
                     "Samples k × 3: nanoseconds since the start, messages served so far, work still open.");
}

}  // namespace laneway::python
