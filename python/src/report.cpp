// The account of a run.
#include "laneway/base/report.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdio>
#include <tuple>

#include "arrays.hpp"
#include "laneway/base/error.hpp"
#include "module.hpp"
#include "strings.hpp"

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

using fields = std::vector<std::uint64_t>;
using pickled = std::tuple<std::vector<std::string>, double, fields, fields, fields, fields, fields>;

pickled state_of(const run_report& r) {
    fields traffic, progress;
    for (const auto& cell : r.traffic_matrix) traffic.insert(traffic.end(), {cell.messages, cell.chunks, cell.bytes});
    for (const auto& sample : r.progress) progress.insert(progress.end(), {sample.time_ns, sample.served, sample.open});
    return {r.devices,     r.run_seconds, {r.posted, r.direct, r.carried, r.served, r.replies, r.rises},
            traffic,       progress,      r.buffer_bytes,
            r.device_bytes};
}

void restore(run_report& made, const pickled& state) {
    const auto& [devices, seconds, counts, traffic, progress, buffers, held] = state;
    const std::size_t n_pes = devices.size();
    if (counts.size() != 6 || progress.size() % 3 != 0 || (!buffers.empty() && buffers.size() != n_pes) ||
        (!held.empty() && held.size() != n_pes) || (!traffic.empty() && traffic.size() != 3 * n_pes * n_pes)) {
        throw usage_error("the pickle is not that of a report: its numbers do not fit together");
    }
    run_report r;
    r.devices = devices;
    r.run_seconds = seconds;
    r.posted = counts[0];
    r.direct = counts[1];
    r.carried = counts[2];
    r.served = counts[3];
    r.replies = counts[4];
    r.rises = counts[5];
    for (std::size_t i = 0; i + 2 < traffic.size(); i += 3)
        r.traffic_matrix.push_back({traffic[i], traffic[i + 1], traffic[i + 2]});
    for (std::size_t i = 0; i + 2 < progress.size(); i += 3)
        r.progress.push_back({progress[i], progress[i + 1], progress[i + 2]});
    r.buffer_bytes = buffers;
    r.device_bytes = held;
    new (&made) run_report(std::move(r));
}

std::string describe_report(const run_report& r) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3g", r.run_seconds);
    const std::size_t n = r.devices.size();
    return "<laneway.Report: " + std::to_string(n) + (n == 1 ? " device, " : " devices, ") + seconds + " s, " +
           std::to_string(r.posted) + " messages posted, " + std::to_string(r.carried) + " carried, " +
           std::to_string(r.served) + " served>";
}

}  // namespace

void register_report(nb::module_& module) {
    constexpr auto by_owner = nb::rv_policy::reference;  // the array keeps its memory alive itself
    nb::class_<run_report>(module, "Report", "Account of one run: posted = direct + carried, carried = served.")
        .def("__repr__", &describe_report)
        .def("__getstate__", &state_of)
        .def("__setstate__", &restore)
        .def_ro("devices", &run_report::devices, "One name a PE, in PE order.")
        .def_ro("run_seconds", &run_report::run_seconds, "From the launch until the last device was done.")
        .def_ro("posted", &run_report::posted, "Messages posted by lanes.")
        .def_ro("direct", &run_report::direct, "Of these, served at once because poster and owner are one PE.")
        .def_ro("carried", &run_report::carried, "Messages that left in chunks.")
        .def_ro("served", &run_report::served, "Carried messages whose handler has run.")
        .def_ro("rises", &run_report::rises, "Rises of the threshold of a worklist, as shortest paths have it.")
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
        .def_ro("device_bytes", &run_report::device_bytes,
                "The most memory that each PE's device has held at once since it was opened, in bytes.")
        .def_prop_ro("progress", &progress_of, by_owner,
                     nb::sig("def progress(self) -> numpy.typing.NDArray[numpy.uint64]"),
                     "Samples k × 3: nanoseconds since the start, messages served so far, work still open.");
}

}  // namespace laneway::python
