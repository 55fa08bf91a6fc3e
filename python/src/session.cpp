// Devices that stay open, and graphs that stay on them.
#include "session.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "interruptible.hpp"
#include "module.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using counts = std::vector<std::uint64_t>;

}  // namespace

void register_session(nb::module_& module) {
    const nb::call_guard<interruptible> guard;
    nb::class_<session>(module, "Session", "Devices that are opened by the first call, for one call at a time.")
        .def(nb::init<options, std::uint64_t>(), "job"_a, "kept_bytes"_a)
        .def(
            "open", [](session& s) { s.call([](apps::workspace& w) { (void)w.devices(); }); }, guard,
            "Open the devices now.")
        .def("close", &session::close, guard, "Free everything, behind the call that goes on.")
        .def(
            "held_bytes",
            [](session& s) -> counts { return s.call([](apps::workspace& w) { return w.held_bytes(); }); }, guard,
            "Allocated on each device.")
        .def(
            "copied_bytes",
            [](session& s) -> counts { return s.call([](apps::workspace& w) { return w.copied_bytes(); }); }, guard,
            "Copied to each device so far.");
    nb::class_<resident>(module, "ResidentGraph", "What a session keeps of a graph, which outlives it.")
        .def(
            "__init__",
            [](resident* made, std::shared_ptr<session> owner, const graph::graph& graph) {
                const interruptible released;
                new (made) resident(std::move(owner), [&](apps::workspace& workspace) {
                    return std::make_shared<apps::resident_graph>(workspace, graph);
                });
            },
            "session"_a, "graph"_a)
        .def(
            "kept",
            [](const resident& r) { return r.call([](const apps::resident_graph& graph) { return graph.kept(); }); },
            guard, "Whether something of it is on the devices.");
    module.attr("default_kept_bytes") = apps::workspace::default_kept_bytes;
}

}  // namespace laneway::python
