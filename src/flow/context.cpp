#include "laneway/flow/context.hpp"

#include "flow/context_core.hpp"
#include "laneway/base/error.hpp"
#include "laneway/simt/cuda/support.hpp"

namespace laneway::flow {

context::context(const options& options) : core_(std::make_shared<context_core>(options)) {}

context::~context() { core_->close(); }

void context::close() { core_->close(); }

endpoint context::host() const { return *core_->host_endpoint; }

const std::vector<endpoint>& context::devices() const { return core_->device_endpoints; }

endpoint context::add_endpoint(const endpoint& of, const std::string& name) {
    core_->require_own(of);
    if (of.is_router()) throw usage_error(of.name() + " has no endpoints of its own: make another router");
    return core_->make_endpoint(of.device(), of.name() + " (" + name + ")");
}

const topology& context::paths() const { return *core_->paths; }

device_stream context::make_stream(const endpoint& of, const std::string& name) {
    core_->require_own(of);
    if (of.is_router()) throw usage_error(of.name() + " has no streams: it is no device");
    core_->check();
    return core_->make_stream(of.device(), "stream '" + name + "' of " + of.name(), false);
}

std::shared_ptr<std::byte> context::allocate_bytes(const endpoint& of, std::size_t count, std::size_t size) {
    core_->require_own(of);
    if (of.is_router()) throw usage_error(of.name() + " has no memory: it is no device");
    if (count > ~std::size_t{0} / size) {
        throw usage_error(of.name() + ": no memory holds " + std::to_string(count) + " elements of " +
                          std::to_string(size) + " bytes");
    }
    return core_->allocate(of.device(), count * size);
}

std::shared_ptr<void> context::pin(const void* memory, std::size_t bytes) {
    if (!core_->has_gpus() || bytes == 0) return {};
    try {
        return cuda_backend::pin_host_memory(const_cast<void*>(memory), bytes);
    } catch (const cuda_error&) {
        return {};
    }
}

std::uint64_t context::peak_bytes(const endpoint& of) const {
    core_->require_own(of);
    if (of.device() == host_memory) throw usage_error(of.name() + " is no device: its memory is not counted");
    return core_->devices[static_cast<std::size_t>(of.device())]->peak_bytes();
}

void context::start_worker(const endpoint& of, std::function<void(device_stream&)> work) {
    (void)core_->start_worker(of, std::move(work));
}

void context::join() { core_->join(core_->running()); }

void context::wait(const event& mark, const std::string& what) const {
    core_->wait(mark, [&] { return what + " did not end within " + core_->seconds(); });
}

void context::fail(const std::exception_ptr& why) { core_->fail(why); }

void context::check() const { core_->check(); }

}  // namespace laneway::flow
