// Matching of messages and receives.

#include "arrays.hpp"
#include "interruptible.hpp"
#include "matching/replay.hpp"
#include "module.hpp"
#include "session.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

template <class T>
using column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Wildcards are negative numbers in Python, and the largest ones here.
static_assert(static_cast<std::uint32_t>(-1) == any_source && static_cast<std::uint32_t>(-1) == any_tag);

struct replayed {
    apps::matching_replay replay;
    std::vector<std::uint32_t> partners;  ///< of all queues, one behind the other
};

replayed replay(session& session, const column<std::uint8_t>& is_message, const column<std::int32_t>& sources,
                const column<std::int32_t>& tags, const column<std::uint64_t>& starts, bool no_any_source,
                bool no_any_tag, bool no_unexpected, double timeout) {
    std::vector<apps::match_events> queues(starts.size() - 1);
    for (std::size_t q = 0; q < queues.size(); ++q) {
        for (std::uint64_t i = starts.data()[q]; i < starts.data()[q + 1]; ++i) {
            queues[q].push_back(
                {{static_cast<std::uint32_t>(sources.data()[i]), static_cast<std::uint32_t>(tags.data()[i])},
                 is_message.data()[i]});
        }
    }
    const interruptible guard;
    replayed result;
    result.replay = session.call([&](apps::workspace& workspace) {
        return workspace.run([&](const std::shared_ptr<runtime>& devices) {
            return apps::replay_matches(*devices, queues, {no_any_source, no_any_tag, no_unexpected}, timeout);
        });
    });
    for (const auto& of_queue : result.replay.partners) {
        result.partners.insert(result.partners.end(), of_queue.begin(), of_queue.end());
    }
    return result;
}

}  // namespace

void register_matching(nb::module_& module) {
    nb::class_<replayed>(module, "MatchingReplay")
        .def(
            "take_partners", [](replayed& r) { return give(std::move(r.partners)); },
            nb::sig("def take_partners(self) -> numpy.typing.NDArray[numpy.uint32]"))
        .def(
            "take_max_posted", [](replayed& r) { return give(std::move(r.replay.max_posted)); },
            nb::sig("def take_max_posted(self) -> numpy.typing.NDArray[numpy.uint32]"))
        .def(
            "take_max_unexpected", [](replayed& r) { return give(std::move(r.replay.max_unexpected)); },
            nb::sig("def take_max_unexpected(self) -> numpy.typing.NDArray[numpy.uint32]"))
        .def_prop_ro("matches", [](const replayed& r) { return r.replay.matches; })
        .def_prop_ro("searches", [](const replayed& r) { return r.replay.searches; })
        .def_prop_ro("looks", [](const replayed& r) { return r.replay.looks; })
        .def_prop_ro("max_depth", [](const replayed& r) { return r.replay.max_depth; })
        .def_prop_ro("seconds", [](const replayed& r) { return r.replay.seconds; });
    module.def("replay_matches", &replay, "session"_a, "is_message"_a.noconvert(), "sources"_a.noconvert(),
               "tags"_a.noconvert(), "starts"_a.noconvert(), "no_any_source"_a, "no_any_tag"_a, "no_unexpected"_a,
               "timeout"_a,
               nb::sig("def replay_matches(session: Session, is_message: numpy.typing.NDArray[numpy.uint8], "
                       "sources: numpy.typing.NDArray[numpy.int32], tags: numpy.typing.NDArray[numpy.int32], "
                       "starts: numpy.typing.NDArray[numpy.uint64], no_any_source: bool, no_any_tag: bool, "
                       "no_unexpected: bool, timeout: float) -> MatchingReplay"));
}

}  // namespace laneway::python
