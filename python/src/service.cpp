// What a service costs.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "interruptible.hpp"
#include "module.hpp"
#include "service/service_study.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

void register_service(nb::module_& module) {
    using apps::service_study_result;
    nb::class_<service_study_result>(module, "ServiceStudy")
        .def_ro("round_trip_ns", &service_study_result::round_trip_ns)
        .def_ro("seconds", &service_study_result::seconds)
        .def_ro("requests", &service_study_result::requests)
        .def_ro("slots", &service_study_result::slots)
        .def_ro("joules", &service_study_result::joules);
    module.def(
        "measure_service",
        [](const options& job, const std::string& by, int pe, int threads, std::uint32_t bytes, std::uint64_t warps,
           std::uint64_t rounds, std::uint64_t requests, double min_seconds) {
            apps::service_study_options how;
            how.job = job;
            how.bytes = bytes;
            how.warps = warps;
            how.rounds = rounds;
            how.requests = requests;
            how.min_seconds = min_seconds;
            how.service.by = apps::parse_servers(by);
            how.service.pe = pe;
            how.service.threads = threads;
            const interruptible guard;
            return apps::measure_service(how);
        },
        "job"_a, "by"_a, "pe"_a, "threads"_a, "bytes"_a, "warps"_a, "rounds"_a, "requests"_a, "min_seconds"_a);
}

}  // namespace laneway::python
