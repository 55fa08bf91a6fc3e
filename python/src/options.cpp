// What every program takes besides its own arguments.
#include "laneway/base/options.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <utility>

#include "laneway/base/timeline.hpp"
#include "module.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

constexpr std::uint32_t max_samples = 4096;  // more than a picture of a run has columns

void make_options(options* made, std::string devices, std::uint64_t seed, double timeout_seconds, bool progress,
                  std::uint64_t buffer_bytes, std::shared_ptr<run_meter> meter, std::shared_ptr<timeline> kept_in) {
    new (made) options;
    made->devices = std::move(devices);
    made->seed = seed;
    made->timeout_seconds = timeout_seconds;
    made->progress_samples = progress ? max_samples : 0;
    made->buffer_bytes = buffer_bytes;
    made->meter = std::move(meter);
    made->timeline = std::move(kept_in);
}

options with_blocks(options job, int blocks) {
    job.gpu_blocks = blocks;
    if (blocks != 0) job.cpu_threads = job.checked_blocks = blocks;
    return job;
}

}  // namespace

void register_options(nb::module_& module) {
    nb::class_<run_meter>(module, "Meter", "Tells how far a run is, while it goes on in another thread.")
        .def(nb::init<>())
        .def_prop_ro(
            "served", [](const run_meter& meter) { return meter.read().served; },
            "Messages between devices served so far.")
        .def_prop_ro(
            "open", [](const run_meter& meter) { return meter.read().open; }, "Work created and not yet done.");
    nb::class_<options>(module, "Options",
                        "Devices, seed, deadline and memory of a run, and whether its report has samples.")
        .def("__init__", &make_options, "devices"_a, "seed"_a, "timeout_seconds"_a, "progress"_a, "buffer_bytes"_a,
             "meter"_a.none(), "timeline"_a.none())
        .def(
            "with_blocks", &with_blocks, "blocks"_a,
            "The same for so many blocks on each device: threads of a CPU device, blocks of a GPU. 0: as many as a GPU "
            "holds, and as usual on CPU devices.");
    module.attr("default_buffer_bytes") = options{}.buffer_bytes;
}

}  // namespace laneway::python
