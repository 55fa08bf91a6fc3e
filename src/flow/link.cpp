#include "laneway/flow/link.hpp"

#include "flow/link_core.hpp"
#include "laneway/base/error.hpp"

namespace laneway::flow {

link::link(context& of, const endpoint& source, const endpoint& destination, const link_options& options)
    : core_(std::make_shared<link_core>(of.core(), source, destination, options)) {
    core_->open();
}

event link::send(const segment& what) const { return core_->send(what, {}); }

event link::send(const segment& what, device_stream& stream) const { return core_->send(what, stream.record()); }

void link::wait(const event& sent) const { core_->wait(sent); }

void link::shutdown() const { core_->shutdown(); }

pending_receive link::receive() const { return {core_, core_->receive()}; }

void link::release(const pending_segment& packet) const { core_->release(packet, nullptr); }

void link::release(const pending_segment& packet, device_stream& stream) const { core_->release(packet, &stream); }

void link::unpack(const pending_segment& packet, const target& into, device_stream& stream) const {
    core_->unpack(packet, into, stream);
}

const std::string& link::name() const { return core_->name; }

link::counts link::count() const {
    const std::lock_guard lock(core_->mutex);
    return core_->counts;
}

pending_segment pending_receive::get() const {
    link_->context->wait(state_->given, [this] {
        return link_->name + ": no packet came within " + link_->context->seconds() + ": " + link_->account() +
               link_->open_inputs_text();
    });
    const std::lock_guard lock(state_->mutex);
    state_->taken = true;
    return *state_->packet;
}

bool pending_receive::ready() const { return state_->given.done(); }

const event& pending_receive::arrived() const { return state_->arrived; }

}  // namespace laneway::flow
