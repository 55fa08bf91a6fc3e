// Recursive programs on channels.

#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "recursion/fibonacci.hpp"
#include "recursion/merge_sort.hpp"
#include "recursion/quadrature.hpp"
#include "recursion/queens.hpp"
#include "recursion/strassen.hpp"
#include "recursion/uts.hpp"
#include "session.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using apps::recursion_options;

using key_array = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<std::uint32_t> keys_of(const key_array& keys) { return {keys.data(), keys.data() + keys.size()}; }

/// `scheduler`: number of a channel_scheduler.
recursion_options options_of(std::uint32_t width, std::uint64_t memory_bytes, std::uint32_t grain,
                             std::uint32_t scheduler) {
    recursion_options made;
    made.width = width;
    made.memory_bytes = memory_bytes;
    made.grain = grain;
    made.scheduler = static_cast<channel_scheduler>(scheduler);
    return made;
}

/// What `run(runtime)` returns, on the devices of a session.
template <class Run>
auto on_devices(session& owner, const Run& run) {
    const interruptible guard;
    return owner.call([&](apps::workspace& workspace) {
        return workspace.run([&](const std::shared_ptr<runtime>& devices) { return run(*devices); });
    });
}

void register_channels(nb::module_& module) {
    nb::class_<channel_level_statistics>(module, "LevelStatistics", "What went through one level of a channel.")
        .def_ro("produced", &channel_level_statistics::produced)
        .def_ro("consumed", &channel_level_statistics::consumed)
        .def_ro("stalls", &channel_level_statistics::stalls)
        .def_ro("peak", &channel_level_statistics::peak);
    nb::class_<one_channel_statistics>(module, "OneChannelStatistics", "What one channel did on all devices.")
        .def_ro("name", &one_channel_statistics::name)
        .def_ro("produced", &one_channel_statistics::produced)
        .def_ro("consumed", &one_channel_statistics::consumed)
        .def_ro("dispatches", &one_channel_statistics::dispatches)
        .def_ro("stalls", &one_channel_statistics::stalls)
        .def_ro("peak", &one_channel_statistics::peak)
        .def_ro("kept", &one_channel_statistics::kept)
        .def_ro("levels", &one_channel_statistics::levels);
    nb::class_<channel_statistics>(module, "ChannelStatistics", "What the channels of all devices did in a run.")
        .def_ro("produced", &channel_statistics::produced, "Elements that found space.")
        .def_ro("consumed", &channel_statistics::consumed, "Elements dispatched, those put back again each time.")
        .def_ro("dispatches", &channel_statistics::dispatches, "Warps' worth of elements.")
        .def_ro("full_dispatches", &channel_statistics::full_dispatches, "With an element for every lane.")
        .def_ro("yields", &channel_statistics::yields, "Elements put back for want of space.")
        .def_ro("stalls", &channel_statistics::stalls, "Requests for space that found none.")
        .def_ro("moved", &channel_statistics::moved, "Elements sent to devices without work.")
        .def_ro("peak", &channel_statistics::peak, "Most elements that a warp has seen ready in one queue.")
        .def_ro("kept", &channel_statistics::kept, "Elements that never left the warp that had produced them.")
        .def_ro("given", &channel_statistics::given, "Elements that warps had kept and gave to others.")
        .def_ro("idle_turns", &channel_statistics::idle_turns, "Turns of warps that found nothing to run.")
        .def_ro("channels", &channel_statistics::channels, "By number.");
}

void register_recursion_results(nb::module_& module) {
    nb::class_<apps::recursion_report>(module, "RecursionReport")
        .def_ro("run", &apps::recursion_report::run)
        .def_ro("channels", &apps::recursion_report::channels)
        .def_ro("width", &apps::recursion_report::width);
    nb::class_<apps::fibonacci_result>(module, "FibonacciRun")
        .def_ro("value", &apps::fibonacci_result::value)
        .def_ro("calls", &apps::fibonacci_result::calls)
        .def_ro("report", &apps::fibonacci_result::report);
    nb::class_<apps::queens_result>(module, "QueensRun")
        .def_ro("solutions", &apps::queens_result::solutions)
        .def_ro("report", &apps::queens_result::report);
    nb::class_<apps::quadrature_result>(module, "QuadratureRun")
        .def_ro("area", &apps::quadrature_result::area)
        .def_ro("intervals", &apps::quadrature_result::intervals)
        .def_ro("report", &apps::quadrature_result::report);
    nb::class_<apps::merge_sort_result>(module, "SortRun")
        .def(
            "take_keys", [](apps::merge_sort_result& r) { return give(std::move(r.keys)); },
            nb::sig("def take_keys(self) -> numpy.typing.NDArray[numpy.uint32]"))
        .def_ro("report", &apps::merge_sort_result::report);
    nb::class_<apps::strassen_result>(module, "ProductRun")
        .def(
            "take_product", [](apps::strassen_result& r) { return give(std::move(r.product)); },
            nb::sig("def take_product(self) -> numpy.typing.NDArray[numpy.uint32]"))
        .def_ro("report", &apps::strassen_result::report);
    nb::class_<apps::uts_count>(module, "TreeCount")
        .def_ro("nodes", &apps::uts_count::nodes)
        .def_ro("leaves", &apps::uts_count::leaves)
        .def_ro("depth", &apps::uts_count::depth);
    nb::class_<apps::uts_result>(module, "TreeRun")
        .def_ro("count", &apps::uts_result::count)
        .def_ro("report", &apps::uts_result::report);
}

}  // namespace

void register_recursion(nb::module_& module) {
    register_channels(module);
    register_recursion_results(module);
    module.def(
        "fibonacci",
        [](session& s, std::uint32_t n, std::uint32_t width, std::uint64_t memory_bytes, std::uint32_t grain,
           std::uint32_t scheduler) {
            const auto how = options_of(width, memory_bytes, grain, scheduler);
            return on_devices(s, [&](runtime& rt) { return apps::fibonacci(rt, n, how); });
        },
        "session"_a, "n"_a, "width"_a, "memory_bytes"_a, "grain"_a, "scheduler"_a);
    module.def(
        "queens",
        [](session& s, std::uint32_t n, std::uint32_t width, std::uint64_t memory_bytes, std::uint32_t grain,
           std::uint32_t scheduler) {
            const auto how = options_of(width, memory_bytes, grain, scheduler);
            return on_devices(s, [&](runtime& rt) { return apps::queens(rt, n, how); });
        },
        "session"_a, "n"_a, "width"_a, "memory_bytes"_a, "grain"_a, "scheduler"_a);
    module.def(
        "quadrature",
        [](session& s, double from, double to, double tolerance, std::uint32_t width, std::uint64_t memory_bytes,
           std::uint32_t scheduler) {
            const auto how = options_of(width, memory_bytes, 0, scheduler);
            return on_devices(s, [&](runtime& rt) { return apps::quadrature(rt, from, to, tolerance, how); });
        },
        "session"_a, "start"_a, "end"_a, "tolerance"_a, "width"_a, "memory_bytes"_a, "scheduler"_a);
    module.def(
        "merge_sort",
        [](session& s, const key_array& keys, std::uint32_t width, std::uint64_t memory_bytes, std::uint32_t grain,
           std::uint32_t scheduler) {
            const auto how = options_of(width, memory_bytes, grain, scheduler);
            const auto all = keys_of(keys);
            return on_devices(s, [&](runtime& rt) { return apps::merge_sort(rt, all, how); });
        },
        "session"_a, "keys"_a.noconvert(), "width"_a, "memory_bytes"_a, "grain"_a, "scheduler"_a,
        nb::sig("def merge_sort(session: Session, keys: numpy.typing.NDArray[numpy.uint32], width: int, "
                "memory_bytes: int, grain: int, scheduler: int) -> SortRun"));
    module.def(
        "strassen",
        [](session& s, const key_array& a, const key_array& b, std::uint32_t n, std::uint32_t width,
           std::uint64_t memory_bytes, std::uint32_t grain, std::uint32_t scheduler) {
            const auto how = options_of(width, memory_bytes, grain, scheduler);
            const auto left = keys_of(a), right = keys_of(b);
            return on_devices(s, [&](runtime& rt) { return apps::strassen(rt, left, right, n, how); });
        },
        "session"_a, "a"_a.noconvert(), "b"_a.noconvert(), "n"_a, "width"_a, "memory_bytes"_a, "grain"_a, "scheduler"_a,
        nb::sig("def strassen(session: Session, a: numpy.typing.NDArray[numpy.uint32], "
                "b: numpy.typing.NDArray[numpy.uint32], n: int, width: int, memory_bytes: int, "
                "grain: int, scheduler: int) -> ProductRun"));
    module.def(
        "search_tree",
        [](session& s, const std::string& name, std::uint32_t width, std::uint64_t memory_bytes,
           std::uint32_t scheduler) {
            const auto how = options_of(width, memory_bytes, 0, scheduler);
            const apps::uts_sample& sample = apps::uts_sample_of(name);
            return on_devices(s, [&](runtime& rt) { return apps::uts(rt, sample.tree, how, sample.levels()); });
        },
        "session"_a, "name"_a, "width"_a, "memory_bytes"_a, "scheduler"_a);
    module.def(
        "published_tree", [](const std::string& name) { return apps::uts_sample_of(name).count; }, "name"_a);
}

}  // namespace laneway::python
