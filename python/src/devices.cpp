// Devices found on this host, and lists of them as users write them.
#include <nanobind/stl/vector.h>

#include "laneway/simt/device_list.hpp"
#include "module.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

void register_devices(nb::module_& module) {
    nb::class_<device_finding>(module, "Device", "A device that can be used, or why a kind of device cannot.")
        .def_ro("name", &device_finding::name, "What `devices=` calls it: \"cuda:0\", \"cpu\".")
        .def_ro("description", &device_finding::description, "Model and size.")
        .def_ro("usable", &device_finding::usable, "Whether runs can use it.")
        .def_ro("reason", &device_finding::reason, "Why not, where it is not usable; else empty.")
        .def("__repr__", [](const device_finding& one) {
            return "Device(name='" + one.name + "', " +
                   (one.usable ? "description='" + one.description : "usable=False, reason='" + one.reason) + "')";
        });
    module.def("find_devices", [] {
        std::vector<device_finding> found = find_devices();
        for (device_finding& one : found) {
            if (one.name == "checked" && !LANEWAY_CHECKED) {
                one.description += "; in this build for task pools and links alone, not for programs";
            }
        }
        return found;
    });
    module.def(
        "parse_devices",
        [](const std::string& text) {
            std::vector<std::string> names;
            for (const device_id& id : parse_devices(text)) names.push_back(to_string(id));
            return names;
        },
        "text"_a);
}

}  // namespace laneway::python
