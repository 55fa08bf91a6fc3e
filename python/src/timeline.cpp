// What a job does over time, and ranges that profilers show.
#include "laneway/base/timeline.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <string>
#include <utility>

#include "laneway/simt/cuda/profiler_range.hpp"
#include "module.hpp"
#include "released_gil.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

void register_timeline(nb::module_& module) {
    nb::class_<timeline::counts>(module, "TimelineCounts", "How much a timeline has.")
        .def_ro("runs", &timeline::counts::runs)
        .def_ro("samples", &timeline::counts::samples)
        .def_ro("waits", &timeline::counts::waits, "Kept,")
        .def_ro("lasting_waits", &timeline::counts::lasting_waits, "of so many.")
        .def_ro("operations", &timeline::counts::operations, "Of streams of dataflows, and packets.")
        .def_ro("left_out", &timeline::counts::left_out, "Runs without samples and waits, and spans: no room.");
    nb::class_<timeline>(module, "Timeline", "Collects what the runs do whose options name it.")
        .def(nb::init<>())
        .def_static("now_ns", &timeline::now_ns, "The clock of spans.")
        .def("note", &timeline::note, "name"_a, "value"_a, "Something that is told with the timeline.")
        .def(
            "add_span",
            [](timeline& all, std::string track, std::string name, std::uint64_t begin_ns, std::uint64_t end_ns) {
                all.add_span({std::move(track), std::move(name), begin_ns, end_ns});
            },
            "track"_a, "name"_a, "begin_ns"_a, "end_ns"_a, "Something that the host did.")
        .def("count", &timeline::count)
        .def(
            "json",
            [](const timeline& all) {
                std::string text;
                {
                    const released_gil released;
                    text = all.json();
                }
                return nb::bytes(text.data(), text.size());
            },
            "The whole of it in Chrome's trace event format.");
    nb::class_<profiler_range>(module, "ProfilerRange", "Shown by NVIDIA's profilers as long as the object lives.")
        .def(nb::init<const char*>(), "name"_a);
}

}  // namespace laneway::python
