// Links and routers: laneway.flow is made of it.
#include "flow.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "module.hpp"
#include "strings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace laneway::python {

namespace {

using piece_list = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

/// Where the elements of an array are. Threads of the library share what it points to, not the Python object.
struct flow_layout {
    std::shared_ptr<const flow::layout> where;

    static flow_layout strided(std::size_t row_bytes,
                               const std::vector<std::pair<std::uint64_t, std::int64_t>>& levels) {
        std::vector<flow::stride> all;
        for (const auto& [count, bytes] : levels) all.push_back({count, bytes});
        return {std::make_shared<const flow::layout>(flow::layout::strided(row_bytes, std::move(all)))};
    }
    static flow_layout scattered(std::size_t element_bytes, std::int64_t extent, const piece_list& list) {
        std::vector<flow::piece> pieces;
        for (std::size_t i = 0; i < list.shape(0); ++i) pieces.push_back({list(i, 0), list(i, 1)});
        return {std::make_shared<const flow::layout>(flow::layout::scattered(element_bytes, extent, pieces))};
    }
};

flow::routing_policy known_policy(const std::string& name) {
    if (name == "available") return flow::any_available();
    if (name == "broadcast") return flow::broadcast();
    if (name == "owner") return flow::by_owner();
    if (name == "even") return flow::even_split();
    if (name == "ring") return flow::ring();
    if (name == "tree") return flow::tree();
    throw usage_error("policy must be available, broadcast, owner, even, ring, tree or a function, not " + name);
}

flow::copy_path known_path(const std::string& name) {
    if (name == "rule") return flow::copy_path::by_rule;
    if (name == "engine") return flow::copy_path::engine;
    if (name == "kernel") return flow::copy_path::kernel;
    throw usage_error("copies must be rule, engine or kernel, not " + name);
}

/// A router needs no object of its own: its links know it.
flow_endpoint make_router(const std::shared_ptr<dataflow>& of, flow::routing_policy policy, const std::string& name) {
    return {of, flow::router(of->context(), std::move(policy), name).endpoint()};
}

/// A send that goes on.
struct flow_send {
    std::shared_ptr<flow_link> on;
    event sent;

    void wait() const {
        const flow_call waiting(on->of());
        on->link().wait(sent);
    }
};

/// A packet in a buffer of its link, which is free again when the last share of it goes, if not before.
class flow_segment {
public:
    flow_segment(std::shared_ptr<flow_link> on, flow::pending_segment packet)
        : on_(std::move(on)), packet_(std::move(packet)) {}
    ~flow_segment() {
        if (released_ || on_->of().foreign()) return;
        try {
            on_->link().release(packet_);
        } catch (const error&) {  // the next packet's copy could not begin: the dataflow ends with that
        }
    }
    flow_segment(const flow_segment&) = delete;
    flow_segment& operator=(const flow_segment&) = delete;

    [[nodiscard]] const flow::packet_info& info() const { return packet_.info(); }
    [[nodiscard]] flow_endpoint source() const { return {on_->owner(), packet_.source()}; }
    [[nodiscard]] bool released() const { return released_; }
    [[nodiscard]] const flow_link& on() const { return *on_; }
    [[nodiscard]] const flow::pending_segment& packet() const { return packet_; }

    /// Behind what a stream of another library has been given so far, where there is one.
    void release(std::optional<std::uintptr_t> behind) {
        take();
        bool marked = false;
        try {
            const flow_call releasing(on_->of());
            std::optional<device_stream> stream;
            if (behind) stream.emplace(on_->behind(releasing.context(), on_->destination(), behind));
            marked = true;
            stream ? on_->link().release(packet_, *stream) : on_->link().release(packet_);
        } catch (...) {
            if (!marked) give_back();
            throw;
        }
    }
    /// Where its bytes lie.
    [[nodiscard]] std::uintptr_t address() const {
        require_held();
        return reinterpret_cast<std::uintptr_t>(packet_.as<std::uint8_t>());
    }
    /// From now on somebody else releases it. Under the interpreter's lock, as all that looks at `released_`: of two
    /// threads that release it one is told.
    void take() {
        require_held();
        released_ = true;
    }
    /// The same does not release it, after all.
    void give_back() { released_ = false; }
    [[nodiscard]] vector_array<std::uint8_t> bytes() const {
        require_held();
        std::shared_ptr<std::vector<std::uint8_t>> memory;
        {
            const flow_call copying(on_->of());
            memory = on_->copy(copying.context(), packet_);
        }
        auto* const data = memory->data();
        const std::size_t size = memory->size();
        auto owned = std::make_unique<std::shared_ptr<std::vector<std::uint8_t>>>(std::move(memory));
        const nb::capsule owner(owned.release(), [](void* p) noexcept {
            delete static_cast<std::shared_ptr<std::vector<std::uint8_t>>*>(p);
        });
        return {data, {size}, owner};
    }

    /// Puts its bytes into an array of the host's, and returns when they are there.
    void unpack(const nb::object& array, std::uintptr_t address, const flow_layout& order) const {
        require_held();
        const auto into = flow::target::of(reinterpret_cast<std::byte*>(address), *order.where);
        event done;
        {
            const flow_call beginning(on_->of());
            done = on_->unpack(beginning.context(), packet_, into);
        }
        on_->of().hold(done, array);  // where the wait is left, they may still come
        const flow_call waiting(on_->of());
        waiting.context().wait(done, "unpacking a segment of " + on_->link().name());
    }

private:
    void require_held() const {
        if (released_) throw usage_error(on_->link().name() + ": the segment has been released");
    }

    std::shared_ptr<flow_link> on_;
    flow::pending_segment packet_;
    bool released_ = false;
};

/// A packet that is to come.
struct flow_receive {
    std::shared_ptr<flow_link> on;
    flow::pending_receive coming;

    std::shared_ptr<flow_segment> come;  ///< once somebody has waited for it; under the interpreter's lock

    /// Waits for its bytes as well, or has a stream of another library wait for them. The same for all that wait, null
    /// at the end.
    [[nodiscard]] std::shared_ptr<flow_segment> wait(std::optional<std::uintptr_t> stream) {
        flow::pending_segment packet;
        {
            const flow_call waiting(on->of());
            std::optional<device_stream> before;
            if (stream) before.emplace(on->before(waiting.context()));  // what is refused has waited for nothing
            packet = coming.get();
            if (!before) {
                waiting.context().wait(coming.arrived(), on->link().name() + ": the bytes of a packet");
            } else if (packet) {
                on->hold_back(waiting.context(), *before, *stream, packet.arrived());
            }
        }
        if (packet && !come) come = std::make_shared<flow_segment>(on, packet);
        return come;
    }
};

/// Behind what a stream of another library has been given so far, where there is one, or where another library has
/// filled memory of the GPU; and behind `arrived`.
event send_now(const flow_link& on, const flow::segment& what, std::optional<std::uintptr_t> behind, bool of_gpu,
               const event& arrived = {}) {
    policy_call policies;
    try {
        const flow_call sending(on.of());
        const bool of_others = behind || of_gpu;
        if (!of_others && arrived.done()) return on.link().send(what);
        device_stream stream = of_others
                                   ? on.behind(sending.context(), on.source(), behind, of_gpu ? what.data : nullptr)
                                   : sending.context().make_stream(on.source(), "passing a packet on");
        stream.wait(arrived);
        return on.link().send(what, stream);
    } catch (const usage_error& told) {
        policies.rethrow(told);
        throw;
    }
}

/// Of the memory of `array`, which is kept until it has been received.
flow_send send_array(const std::shared_ptr<flow_link>& on, const nb::object& array, std::uintptr_t address,
                     const flow_layout& order, std::size_t element_bytes, std::uint64_t tag,
                     std::optional<std::uintptr_t> behind, bool of_gpu) {
    flow::segment what{reinterpret_cast<const void*>(address), order.where->bytes(), element_bytes, tag, order.where};
    const event sent = send_now(*on, what, behind, of_gpu);
    on->of().hold(sent, array);
    return {on, sent};
}

/// The buffer is free when its bytes have gone on, or will not; where nothing was sent the segment is the caller's.
flow_send pass_on(const std::shared_ptr<flow_link>& on, const std::shared_ptr<flow_segment>& segment, std::uint64_t tag,
                  std::optional<std::uintptr_t> behind) {
    const flow_link& in = segment->on();
    if (in.owner() != on->owner() || in.destination().device() != on->source().device()) {
        throw usage_error(on->link().name() + ": a segment that lies at " + in.destination().name() +
                          " is sent from there");
    }
    segment->take();
    event sent;
    try {
        const flow::pending_segment& packet = segment->packet();
        const flow::segment what{packet.as<std::uint8_t>(), packet.bytes(), 1, tag, {}};
        sent = send_now(*on, what, behind, false, packet.arrived());
    } catch (...) {
        segment->give_back();
        throw;
    }
    sent.then([from = in.link(), packet = segment->packet()] {
        try {
            from.release(packet);
        } catch (const error&) {  // the dataflow has ended, or ends with that
        }
    });
    return {on, sent};
}

void register_ends(nb::module_& module) {
    nb::class_<flow_endpoint>(module, "FlowEndpoint", "The host, a device or a router.")
        .def_prop_ro("id", [](const flow_endpoint& e) { return e.end.id(); })
        .def_prop_ro("name", [](const flow_endpoint& e) { return e.end.name(); })
        .def_prop_ro("is_host", [](const flow_endpoint& e) { return e.end.is_host(); })
        .def_prop_ro("is_router", [](const flow_endpoint& e) { return e.end.is_router(); })
        .def(
            "is_same",
            [](const flow_endpoint& e, const flow_endpoint& other) { return e.of == other.of && e.end == other.end; },
            "other"_a);
    nb::class_<dataflow>(module, "Dataflow", "Devices, their streams, and the first error.")
        .def("close", &dataflow::close)
        .def_prop_ro("inside", &dataflow::inside)
        .def("check",
             [](dataflow& d) {
                 const flow_call looking(d);
                 looking.context().check();
             })
        .def(
            "fail",
            [](dataflow& d, const std::string& why, bool is_late) {
                const auto error =
                    is_late ? std::make_exception_ptr(timeout_error(why)) : std::make_exception_ptr(lane_error(why));
                const flow_call failing(d);
                failing.context().fail(error);
            },
            "why"_a, "is_late"_a);
    module.def(
        "make_dataflow", [](const options& job) { return std::make_shared<dataflow>(job); }, "job"_a);
    module.def("close_dataflows", &dataflow::close_all);
    module.def("flow_host", [](const std::shared_ptr<dataflow>& d) { return flow_endpoint{d, d->context().host()}; });
    module.def("flow_devices", [](const std::shared_ptr<dataflow>& d) {
        std::vector<flow_endpoint> all;
        for (const auto& end : d->context().devices()) all.push_back({d, end});
        return all;
    });
    module.def(
        "flow_add_endpoint",
        [](const std::shared_ptr<dataflow>& flow, const flow_endpoint& of, const std::string& name) {
            of.require(flow);
            return flow_endpoint{flow, flow->context().add_endpoint(of.end, name)};
        },
        "flow"_a, "of"_a, "name"_a);
    module.def(
        "flow_router",
        [](const std::shared_ptr<dataflow>& of, const std::string& policy, const std::string& name) {
            return make_router(of, known_policy(policy), name);
        },
        "of"_a, "policy"_a, "name"_a);
    module.def(
        "flow_router",
        [](const std::shared_ptr<dataflow>& of, nb::callable policy, const std::string& name) {
            return make_router(of, policy_call::of(of, of->add_policy(std::move(policy))), name);
        },
        "of"_a, "policy"_a, "name"_a);
}

}  // namespace

void register_flow(nb::module_& module) {
    register_ends(module);
    nb::class_<flow_segment>(module, "FlowSegment", "A packet that has been received.")
        .def_prop_ro("message", [](const flow_segment& s) { return s.info().message; })
        .def_prop_ro("tag", [](const flow_segment& s) { return s.info().tag; })
        .def_prop_ro("offset", [](const flow_segment& s) { return s.info().offset; })
        .def_prop_ro("nbytes", [](const flow_segment& s) { return s.info().bytes; })
        .def_prop_ro("message_nbytes", [](const flow_segment& s) { return s.info().message_bytes; })
        .def_prop_ro("source", &flow_segment::source)
        .def_prop_ro("released", &flow_segment::released)
        .def_prop_ro("address", &flow_segment::address)
        .def_prop_ro("place", [](const flow_segment& s) { return s.on().destination().name(); })
        .def("release", &flow_segment::release, "behind"_a.none() = nb::none())
        .def("unpack", &flow_segment::unpack, "array"_a, "address"_a, "order"_a)
        .def("bytes", &flow_segment::bytes, nb::sig("def bytes(self) -> numpy.typing.NDArray[numpy.uint8]"));
    nb::class_<flow_send>(module, "FlowSend", "A send that goes on.")
        .def("done", [](const flow_send& s) { return s.sent.done(); })
        .def("wait", &flow_send::wait);
    nb::class_<flow_receive>(module, "FlowReceive", "A packet that is to come.")
        .def("done", [](const flow_receive& r) { return r.coming.arrived().done(); })
        .def("wait", &flow_receive::wait, "stream"_a.none() = nb::none(),
             nb::sig("def wait(self, stream: int | None = None) -> FlowSegment | None"));
    nb::class_<flow_link>(module, "FlowLink", "Joins two endpoints.")
        .def(
            "__init__",
            [](flow_link* made, const flow_endpoint& source, const flow_endpoint& destination, std::size_t packet_bytes,
               int buffers, const std::string& copies) {
                new (made) flow_link(source, destination, {packet_bytes, buffers, known_path(copies), {}});
            },
            "source"_a, "destination"_a, "packet_bytes"_a, "buffers"_a, "copies"_a)
        .def_prop_ro("packets",
                     [](const flow_link& l) {
                         const auto counted = l.link().count();
                         return std::pair(counted.packets, counted.by_kernel);
                     })
        .def_prop_ro("name", [](const flow_link& l) { return l.link().name(); })
        .def("shutdown", [](const flow_link& l) {
            const flow_call ending(l.of());
            l.link().shutdown();
        });
    nb::class_<flow_layout>(module, "FlowLayout", "Where the elements of an array are.")
        .def_prop_ro("nbytes", [](const flow_layout& l) { return l.where->bytes(); });
    module.def("flow_strided", &flow_layout::strided, "row_bytes"_a, "levels"_a);
    module.def("flow_scattered", &flow_layout::scattered, "element_bytes"_a, "extent"_a, "pieces"_a,
               nb::sig("def flow_scattered(element_bytes: int, extent: int, pieces: numpy.typing.NDArray[numpy.int64]) "
                       "-> FlowLayout"));
    module.def("flow_send", &send_array, "link"_a, "array"_a, "address"_a, "order"_a, "element_bytes"_a, "tag"_a,
               "behind"_a.none() = nb::none(), "of_gpu"_a = false);
    module.def("flow_pass_on", &pass_on, "link"_a, "segment"_a, "tag"_a, "behind"_a.none() = nb::none());
    module.def(
        "flow_receive",
        [](const std::shared_ptr<flow_link>& on) {
            const flow_call receiving(on->of());
            return flow_receive{on, on->link().receive(), nullptr};
        },
        "link"_a);
}

}  // namespace laneway::python
