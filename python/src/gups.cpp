// Random updates of a distributed table.
#include "gups/gups.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using apps::gups_check;
using apps::gups_result;
using apps::gups_table;

void make_table(gups_table* made, const std::string& mode, unsigned log2_words, std::optional<std::uint64_t> updates,
                std::uint64_t look_ahead, std::uint64_t region_bytes, std::optional<std::uint64_t> round_updates,
                const options& job) {
    const interruptible guard;
    apps::gups_options o;
    o.job = job;
    o.mode = apps::parse_gups_mode(mode);
    o.log2_words = log2_words;
    o.updates = updates;
    o.look_ahead = look_ahead;
    o.region_bytes = region_bytes;
    o.round_updates = round_updates;
    new (made) gups_table(o);
}

}  // namespace

void register_gups(nb::module_& module) {
    nb::class_<gups_result>(module, "GupsRun")
        .def_ro("words", &gups_result::words)
        .def_ro("updates", &gups_result::updates)
        .def_ro("rounds", &gups_result::rounds)
        .def_ro("refused", &gups_result::refused)
        .def_ro("report", &gups_result::report);
    nb::class_<gups_check>(module, "GupsCheck", "Outcome of applying all updates again, without messages.")
        .def_ro("errors", &gups_check::errors, "Words that are not what the updates make of them.")
        .def_ro("first_error", &gups_check::first_error, "Number of the first of them.")
        .def_ro("seconds", &gups_check::seconds, "Time of applying all updates once.");
    nb::class_<gups_table>(module, "GupsTable")
        .def("__init__", &make_table, "mode"_a, "log2_words"_a, "updates"_a.none(), "look_ahead"_a, "region_bytes"_a,
             "round_updates"_a.none(), "job"_a)
        .def("run", &gups_table::run, nb::call_guard<interruptible>())
        .def("check", &gups_table::check, nb::call_guard<interruptible>())
        .def(
            "words",
            [](const gups_table& table) {
                std::vector<std::uint64_t> words;
                {
                    const interruptible guard;
                    words = table.words();
                }
                return give(std::move(words));
            },
            nb::sig("def words(self) -> numpy.typing.NDArray[numpy.uint64]"));
    module.def(
        "gups_reference",
        [](unsigned log2_words, std::uint64_t updates) {
            std::vector<std::uint64_t> words;
            {
                const interruptible guard;
                words = apps::gups_reference(log2_words, updates);
            }
            return give(std::move(words));
        },
        "log2_words"_a, "updates"_a,
        nb::sig("def gups_reference(log2_words: int, updates: int) -> numpy.typing.NDArray[numpy.uint64]"));
}

}  // namespace laneway::python
