// Paths between the devices of a dataflow, and collectives over their buffers: laneway.flow is made of it.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "flow.hpp"
#include "laneway/flow/group.hpp"
#include "laneway/flow/topology.hpp"
#include "module.hpp"
#include "strings.hpp"
#include "workspace/array_group.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using addresses = std::vector<std::uintptr_t>;

flow::shape known_shape(const std::string& name) {
    if (name == "direct") return flow::shape::direct;
    if (name == "ring") return flow::shape::ring;
    if (name == "tree") return flow::shape::tree;
    throw usage_error("shape must be direct, ring or tree, not " + name);
}

apps::array_reduction known_reduction(const std::string& type, const std::string& op) {
    apps::array_reduction made;
    if (op == "sum" || op == "min" || op == "max") {
        made.how = op == "sum" ? apps::reduction::sum : op == "min" ? apps::reduction::min : apps::reduction::max;
    } else {
        throw usage_error("op must be sum, min or max, not " + op);
    }
    constexpr std::pair<const char*, apps::element_type> types[] = {
        {"int32", apps::element_type::int32},     {"uint32", apps::element_type::uint32},
        {"int64", apps::element_type::int64},     {"uint64", apps::element_type::uint64},
        {"float32", apps::element_type::float32}, {"float64", apps::element_type::float64}};
    for (const auto& [name, known] : types) {
        if (type == name) {
            made.type = known;
            return made;
        }
    }
    throw usage_error("arrays that are combined must be int32, uint32, int64, uint64, float32 or float64, not " + type);
}

/// A group of a dataflow. Its buffers are addresses of arrays, which the caller keeps.
class flow_group {
public:
    flow_group(const std::shared_ptr<dataflow>& of, const std::vector<flow_endpoint>& members, std::size_t packet_bytes,
               int buffers)
        : of_(of) {
        std::vector<flow::endpoint> ends;
        for (const auto& member : members) ends.push_back(member.end);
        group_ = std::make_unique<flow::group>(of->context(), std::move(ends),
                                               flow::link_options{packet_bytes, buffers, {}, {}});
    }
    ~flow_group() {
        if (of_->foreign()) (void)group_.release();
    }
    flow_group(const flow_group&) = delete;
    flow_group& operator=(const flow_group&) = delete;

    void broadcast(const addresses& to, std::uint64_t bytes, std::size_t root, const std::string& how) {
        call([&, shape = known_shape(how)] { group_->broadcast(pointers<std::byte>(to), bytes, root, shape); });
    }
    void scatter(const addresses& to, std::uint64_t bytes, std::size_t root, const std::string& how) {
        call([&, shape = known_shape(how)] { group_->scatter(pointers<std::byte>(to), bytes, root, shape); });
    }
    void gather(const addresses& to, std::uint64_t bytes, std::size_t root, const std::string& how) {
        call([&, shape = known_shape(how)] { group_->gather(pointers<std::byte>(to), bytes, root, shape); });
    }
    void all_gather(const addresses& to, std::uint64_t bytes, const std::string& how) {
        call([&, shape = known_shape(how)] { group_->all_gather(pointers<std::byte>(to), bytes, shape); });
    }
    /// `bytes[i][j]` go from member i to member j.
    void all_to_all(const addresses& from, const addresses& to, const std::vector<std::vector<std::uint64_t>>& bytes,
                    const std::string& how) {
        call([&, shape = known_shape(how)] {
            group_->all_to_all(pointers<const std::byte>(from), pointers<std::byte>(to), bytes, shape);
        });
    }
    void reduce(const addresses& to, std::uint64_t count, std::size_t root, const std::string& type,
                const std::string& op, const std::string& how) {
        call([&, what = known_reduction(type, op), shape = known_shape(how)] {
            apps::reduce(*group_, pointers<void>(to), count, root, what, shape);
        });
    }
    void reduce_scatter(const addresses& to, std::uint64_t count, const std::string& type, const std::string& op,
                        const std::string& how) {
        call([&, what = known_reduction(type, op), shape = known_shape(how)] {
            apps::reduce_scatter(*group_, pointers<void>(to), count, what, shape);
        });
    }
    void all_reduce(const addresses& to, std::uint64_t count, const std::string& type, const std::string& op,
                    const std::string& how) {
        call([&, what = known_reduction(type, op), shape = known_shape(how)] {
            apps::all_reduce(*group_, pointers<void>(to), count, what, shape);
        });
    }

private:
    template <class T>
    static std::vector<T*> pointers(const addresses& all) {
        std::vector<T*> made;
        for (const std::uintptr_t each : all) made.push_back(reinterpret_cast<T*>(each));
        return made;
    }
    template <class Do>
    void call(const Do& run) const {
        const flow_call running(*of_);
        run();
    }

    std::shared_ptr<dataflow> of_;
    std::unique_ptr<flow::group> group_;
};

void require_device(const flow_endpoint& end) {
    if (end.end.is_router()) throw usage_error("a path joins devices or the host, not " + end.end.name());
}

}  // namespace

void register_flow_groups(nb::module_& module) {
    nb::class_<flow::path_info>(module, "FlowPath", "How bytes get from one memory to another.")
        .def_prop_ro("kind", [](const flow::path_info& p) { return std::string(to_string(p.kind)); })
        .def_ro("peer_access", &flow::path_info::peer_access)
        .def_ro("rank", &flow::path_info::rank);
    module.def(
        "flow_path",
        [](const std::shared_ptr<dataflow>& of, const flow_endpoint& from, const flow_endpoint& to) {
            from.require(of);
            to.require(of);
            require_device(from);
            require_device(to);
            return from.of->context().paths().path(from.end.device(), to.end.device());
        },
        "of"_a, "source"_a, "target"_a);
    module.def(
        "flow_bandwidth",
        [](const flow_endpoint& from, const flow_endpoint& to) {
            const flow_call measuring(*from.of);
            return measuring.context().paths().bandwidth(from.end.device(), to.end.device());
        },
        "source"_a, "target"_a);
    nb::class_<flow_group>(module, "FlowGroup", "Endpoints that do collectives together.")
        .def(nb::init<const std::shared_ptr<dataflow>&, const std::vector<flow_endpoint>&, std::size_t, int>(), "of"_a,
             "members"_a, "packet_bytes"_a, "buffers"_a)
        .def("broadcast", &flow_group::broadcast, "buffers"_a, "nbytes"_a, "root"_a, "shape"_a)
        .def("scatter", &flow_group::scatter, "buffers"_a, "nbytes"_a, "root"_a, "shape"_a)
        .def("gather", &flow_group::gather, "buffers"_a, "nbytes"_a, "root"_a, "shape"_a)
        .def("all_gather", &flow_group::all_gather, "buffers"_a, "nbytes"_a, "shape"_a)
        .def("all_to_all", &flow_group::all_to_all, "sources"_a, "targets"_a, "nbytes"_a, "shape"_a)
        .def("reduce", &flow_group::reduce, "buffers"_a, "count"_a, "root"_a, "type"_a, "op"_a, "shape"_a)
        .def("reduce_scatter", &flow_group::reduce_scatter, "buffers"_a, "count"_a, "type"_a, "op"_a, "shape"_a)
        .def("all_reduce", &flow_group::all_reduce, "buffers"_a, "count"_a, "type"_a, "op"_a, "shape"_a);
}

}  // namespace laneway::python
