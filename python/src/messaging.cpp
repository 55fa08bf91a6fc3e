// What a message costs by the model of communication.
#include <nanobind/stl/vector.h>

#include "interruptible.hpp"
#include "messaging/messaging_study.hpp"
#include "module.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

void register_messaging(nb::module_& module) {
    using apps::messaging_result;
    nb::class_<messaging_result>(module, "MessagingStudy")
        .def_ro("round_trip_ns", &messaging_result::round_trip_ns)
        .def_ro("groups", &messaging_result::groups)
        .def_ro("available", &messaging_result::available)
        .def_ro("rounds", &messaging_result::rounds)
        .def_ro("messages", &messaging_result::messages)
        .def_ro("seconds", &messaging_result::seconds);
    module.def(
        "measure_messaging",
        [](const options& job, const std::string& model, const std::string& pattern, const std::string& lanes,
           std::uint64_t groups, std::uint64_t bytes, std::uint64_t rounds, std::uint32_t window,
           std::uint32_t engines) {
            apps::messaging_options how;
            how.job = job;
            how.model = apps::parse_message_model(model);
            how.pattern = apps::parse_message_pattern(pattern);
            how.lanes = apps::parse_width(lanes);
            how.groups = groups;
            how.bytes = bytes;
            how.rounds = rounds;
            how.window = window;
            how.engines = engines;
            const interruptible guard;
            return apps::measure_messaging(how);
        },
        "job"_a, "model"_a, "pattern"_a, "lanes"_a, "groups"_a, "bytes"_a, "rounds"_a, "window"_a, "engines"_a);
}

}  // namespace laneway::python
