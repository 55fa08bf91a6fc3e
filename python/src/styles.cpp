// Programs in five styles, side by side.
#include "styles/study.hpp"

#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "interruptible.hpp"
#include "module.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using styles::study;

std::unique_ptr<study> open_study(const std::string& program, unsigned log2_messages, const options& job) {
    styles::study_options o;
    o.job = job;
    o.log2_messages = log2_messages;
    return study::open(program, o);
}

std::vector<std::string> style_names() {
    std::vector<std::string> names;
    for (int s = 0; s < styles::n_styles; ++s) names.push_back(to_string(static_cast<styles::style>(s)));
    return names;
}

}  // namespace

void register_styles(nb::module_& module) {
    nb::class_<study>(module, "StyleStudy", "One program with its input on the devices.")
        .def_prop_ro("messages", &study::messages, "Messages of a run, those to the own device too.")
        .def(
            "measure",
            [](study& s, const std::string& style, int runs) { return s.measure(styles::parse_style(style), runs); },
            "style"_a, "runs"_a, nb::call_guard<interruptible>(), "Seconds of each run in a style, checked.");
    module.def("open_style_study", &open_study, "program"_a, "log2_messages"_a, "job"_a,
               nb::call_guard<interruptible>());
    module.def("style_names", &style_names);
}

}  // namespace laneway::python
