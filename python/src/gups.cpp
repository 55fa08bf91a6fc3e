// Random updates of a distributed table.
#include "gups/gups.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include "arrays.hpp"
#include "interruptible.hpp"
#include "module.hpp"
#include "session.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using apps::gups_check;
using apps::gups_result;
using apps::gups_table;

/// A table, for calls of any thread as long as the session is open.
using shared_table = in_session<gups_table>;

void make_table(shared_table* made, std::shared_ptr<session> owner, const std::string& mode, unsigned log2_words,
                std::optional<std::uint64_t> updates, std::uint64_t look_ahead, std::uint64_t region_bytes,
                std::optional<std::uint64_t> round_updates, const options& job) {
    const interruptible guard;
    apps::gups_options o;
    o.job = job;
    o.mode = apps::parse_gups_mode(mode);
    o.log2_words = log2_words;
    o.updates = updates;
    o.look_ahead = look_ahead;
    o.region_bytes = region_bytes;
    o.round_updates = round_updates;
    new (made) shared_table(std::move(owner), [&](apps::workspace& workspace) {
        return workspace.run(
            [&](const std::shared_ptr<runtime>& devices) { return std::make_shared<gups_table>(o, devices); });
    });
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
    const nb::call_guard<interruptible> guard;
    nb::class_<shared_table>(module, "GupsTable")
        .def("__init__", &make_table, "session"_a, "mode"_a, "log2_words"_a, "updates"_a.none(), "look_ahead"_a,
             "region_bytes"_a, "round_updates"_a.none(), "job"_a)
        .def(
            "run", [](const shared_table& t) { return t.call([](gups_table& table) { return table.run(); }); }, guard)
        .def(
            "check", [](const shared_table& t) { return t.call([](gups_table& table) { return table.check(); }); },
            guard)
        .def(
            "words",
            [](const shared_table& t) {
                std::vector<std::uint64_t> words;
                {
                    const interruptible released;
                    words = t.call([](const gups_table& table) { return table.words(); });
                }
                return give(std::move(words));
            },
            nb::sig("def words(self) -> numpy.typing.NDArray[numpy.uint64]"));
    module.def(
        "gups_reference",
        [](unsigned log2_words, std::uint64_t updates) {
            std::vector<std::uint64_t> words;
            {
                const interruptible released;
                words = apps::gups_reference(log2_words, updates);
            }
            return give(std::move(words));
        },
        "log2_words"_a, "updates"_a,
        nb::sig("def gups_reference(log2_words: int, updates: int) -> numpy.typing.NDArray[numpy.uint64]"));
}

}  // namespace laneway::python
