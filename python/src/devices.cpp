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
        .def_ro("reason", &device_finding::reason, "Why not, where it is not usable; else empty.");
    module.def("find_devices", &find_devices);
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
