// See flow.hpp.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "errors.hpp"
#include "flow.hpp"
#include "laneway/simt/cuda/support.hpp"
#include "module.hpp"
#include "strings.hpp"

namespace nb = nanobind;

namespace laneway::python {

namespace {
/// As in __cuda_array_interface__: cudaStreamLegacy.
constexpr std::uintptr_t legacy_stream = 1;
}  // namespace

std::set<dataflow*> dataflow::all_;

dataflow::dataflow(const options& job) {
    {
        const interruptible released;
        context_ = std::make_unique<flow::context>(job);
    }
    all_.insert(this);
}

dataflow::~dataflow() {
    all_.erase(this);
    if (foreign()) {
        (void)context_.release();
        return;
    }
    close();
    const released_gil released;
    context_.reset();
}

flow::context& dataflow::context() const {
    if (foreign()) {
        throw usage_error("the dataflow belongs to process " + std::to_string(process_) +
                          ", which this one was forked from: make a context here");
    }
    if (closed_) throw usage_error("the context of the dataflow has been closed");
    return *context_;
}

void dataflow::close() {
    if (foreign()) return;
    closed_ = true;
    {
        const released_gil released;
        context_->close();
    }
    const auto things = std::exchange(held_, {});  // nothing reads them any more
    const auto policies = std::exchange(policies_, {});
}

void dataflow::close_all() {
    std::vector<std::shared_ptr<dataflow>> open;
    for (dataflow* each : all_) open.push_back(each->shared_from_this());
    for (const auto& each : open) each->close();
    const auto busy = [&] {
        return std::any_of(open.begin(), open.end(), [](const auto& d) { return !d->foreign() && d->inside_ > 0; });
    };
    for (int left = 2000; left > 0 && busy(); --left) {
        const released_gil released;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void dataflow::hold(event until, nb::object thing) {
    let_go();
    held_.push_back({std::move(until), std::move(thing)});
}

/// What goes may have Python code of its own, so it goes when the list is whole again.
void dataflow::let_go() {
    std::vector<held> staying, going;
    for (held& each : std::exchange(held_, {})) (each.until.done() ? going : staying).push_back(std::move(each));
    held_ = std::move(staying);
}

std::size_t dataflow::add_policy(nb::callable policy) {
    policies_.push_back(std::move(policy));
    return policies_.size() - 1;
}

flow_link::flow_link(const flow_endpoint& source, const flow_endpoint& destination, const flow::link_options& sizes)
    : of_(source.of), source_(source.end), destination_(destination.end) {
    if (source.of != destination.of) {
        throw usage_error("link " + source_.name() + " -> " + destination_.name() +
                          ": its ends belong to different contexts");
    }
    link_ = std::make_unique<flow::link>(of_->context(), source_, destination_, sizes);
}

flow_link::~flow_link() {
    if (!of_->foreign()) return;
    (void)link_.release();
    (void)copies_.release();
    new flow::endpoint(source_);  // which would end its router's part of the other process's dataflow
    new flow::endpoint(destination_);
}

device_stream& flow_link::copies(flow::context& context) {
    if (!copies_) copies_ = std::make_unique<device_stream>(context.make_stream(destination_, "copying segments"));
    return *copies_;
}

event flow_link::unpack(flow::context& context, const flow::pending_segment& packet, const flow::target& into) {
    const std::lock_guard lock(copying_);
    device_stream& stream = copies(context);
    link_->unpack(packet, into, stream);
    return stream.record();
}

device_stream flow_link::behind(flow::context& context, const flow::endpoint& at, std::optional<std::uintptr_t> stream,
                                const void* memory) const {
    device_stream made = context.make_stream(at, "behind another library's stream");
    const device_id& where = made.device().id();
    if (where.kind != device_kind::cuda && !stream) return made;
    require_gpu(made, at);
    if (const auto gpu = memory == nullptr ? std::nullopt : cuda_backend::gpu_of(memory); gpu && *gpu != where.index) {
        throw usage_error(link_->name() + ": the array lies on cuda:" + std::to_string(*gpu) +
                          ", and is sent from there");
    }
    void* const before = reinterpret_cast<void*>(stream.value_or(legacy_stream));
    made.call([mark = cuda_backend::mark_stream(where.index, before)](void* native) {
        cuda_backend::wait_for_mark(native, mark);
    });
    return made;
}

void flow_link::require_gpu(const device_stream& made, const flow::endpoint& at) const {
    if (made.device().id().kind == device_kind::cuda) return;
    throw usage_error(link_->name() + ": streams of CUDA are of GPUs, and " + at.name() + " is none");
}

device_stream flow_link::before(flow::context& context) const {
    device_stream made = context.make_stream(destination_, "before another library's stream");
    require_gpu(made, destination_);
    return made;
}

void flow_link::hold_back(flow::context& context, device_stream& before, std::uintptr_t stream,
                          const event& arrived) const {
    const event told = event::pending();
    before.wait(arrived);
    before.call([told, gpu = before.device().id().index, after = reinterpret_cast<void*>(stream)](void* native) {
        cuda_backend::wait_for_mark(after, cuda_backend::mark_stream(gpu, native));
        told.complete();
    });
    context.wait(told, link_->name() + ": a packet's copy");
}

std::shared_ptr<std::vector<std::uint8_t>> flow_link::copy(flow::context& context,
                                                           const flow::pending_segment& packet) {
    const auto memory = std::make_shared<std::vector<std::uint8_t>>(packet.bytes());
    event done;
    {
        const std::lock_guard lock(copying_);
        device_stream& stream = copies(context);
        stream.wait(packet.arrived());
        stream.copy(memory->data(), packet.as<std::uint8_t>(), memory->size());
        done = stream.record();
    }
    done.then([memory] {});  // where the wait is left, the copy may still come
    context.wait(done, "copying a segment of " + link_->name());
    return memory;
}

thread_local policy_call* policy_call::current_ = nullptr;

flow::routing_policy policy_call::of(const std::shared_ptr<dataflow>& owner, std::size_t number) {
    // Threads of the library may drop the last copy of it: it owns nothing of Python's.
    return [weak = std::weak_ptr(owner), number](const flow::packet_info& packet, const flow::endpoint& source,
                                                 const std::vector<flow::endpoint>& outputs) {
        const nb::gil_scoped_acquire held;
        const auto flow = weak.lock();
        const nb::object function = flow ? flow->policy(number) : nb::object();
        if (!function.is_valid()) throw usage_error("the context of the dataflow has been closed");
        try {
            nb::list ends;
            for (const auto& end : outputs) ends.append(nb::cast(flow_endpoint{flow, end}));
            const nb::tuple what =
                nb::make_tuple(packet.message, packet.tag, packet.offset, packet.bytes, packet.message_bytes);
            const auto chosen = nb::cast<std::pair<std::vector<std::size_t>, bool>>(
                function(what, nb::cast(flow_endpoint{flow, source}), ends));
            return flow::route{chosen.first, chosen.second};
        } catch (nb::python_error& raised) {
            const std::string words = nb::cast<std::string>(nb::str(raised.value()));
            const std::string type = nb::cast<std::string>(raised.type().attr("__name__"));
            if (current_ != nullptr) current_->raised_.emplace(raised);
            throw usage_error(words.empty() ? type : type + ": " + words);
        }
    };
}

void policy_call::rethrow(const usage_error& told) {
    if (!raised_) return;
    nb::python_error raised = std::move(*raised_);
    raised_.reset();
    if (!raised.matches(PyExc_Exception)) throw raised;  // KeyboardInterrupt, say
    const nb::object type = nb::module_::import_("laneway.errors").attr("UsageError");
    nb::raise_from(raised, type, "%s", told.what());
    throw nb::python_error();
}

}  // namespace laneway::python
