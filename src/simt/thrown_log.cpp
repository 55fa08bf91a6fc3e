#include "laneway/simt/thrown_log.hpp"

#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/simt/run_end.hpp"

namespace laneway {

namespace {

std::string name_of(const user_code& code) {
    const std::string type = std::to_string(code.type);
    const std::string serving = " while serving PE " + std::to_string(code.source);
    switch (code.part) {
        case user_code::handler: return "the handler of message type " + type + serving;
        case user_code::allocate: return "allocate of the handler of message type " + type + serving;
        case user_code::arcs: return "arcs of the worklist";
        case user_code::visit: return "visit of the worklist";
        case user_code::remote:
            return "function " + type + " of a remote queue" + (code.source < 0 ? " for the host" : serving);
        case user_code::request:
            return "request type " + type + " of a service" +
                   (code.source < 0 ? " for the host" : serving + ", block " + std::to_string(code.block));
        case user_code::task: return "task type " + type + " of a pool, submitted by a lane";
        case user_code::parts: return "parts of the item worklist";
        case user_code::work: return "work of the item worklist";
        case user_code::pack: return "pack of the item worklist";
        case user_code::unpack: return "unpack of the item worklist";
        case user_code::on_send: return "on_send of the item worklist";
        case user_code::on_receive: return "on_receive of the item worklist";
        case user_code::priority: return "priority of the item worklist";
        default: return "the functor";
    }
}

std::string describe(const thrown_in_lane& thrown, const std::vector<std::string>& devices) {
    return "PE " + std::to_string(thrown.pe) + " (" + devices[static_cast<std::size_t>(thrown.pe)] + ") block " +
           std::to_string(thrown.block) + " warp " + std::to_string(thrown.warp) + " lane " +
           std::to_string(thrown.lane) + ": exception in " + name_of(thrown.what) + ": " + reason_of(thrown.exception);
}

}  // namespace

void thrown_log::clear() {
    const std::lock_guard lock(mutex_);
    first_ = {};
}

void thrown_log::keep(thrown_in_lane thrown) {
    const std::lock_guard lock(mutex_);
    if (first_.exception) return;
    first_ = std::move(thrown);
    as_it_is_ = false;
}

void thrown_log::keep_as_it_is(std::exception_ptr thrown) {
    const std::lock_guard lock(mutex_);
    if (first_.exception) return;
    first_.exception = std::move(thrown);
    as_it_is_ = true;
}

thrown_in_lane thrown_log::first() const {
    const std::lock_guard lock(mutex_);
    return first_;
}

bool thrown_log::any() const {
    const std::lock_guard lock(mutex_);
    return first_.exception != nullptr;
}

std::string thrown_log::text(const std::vector<std::string>& devices) const {
    const thrown_in_lane thrown = first();
    if (!thrown.exception) return {};
    return as_it_is_ ? reason_of(thrown.exception) : describe(thrown, devices);
}

void thrown_log::rethrow(const std::vector<std::string>& devices) const {
    const thrown_in_lane thrown = first();
    if (!thrown.exception) return;
    if (as_it_is_) std::rethrow_exception(thrown.exception);
    const std::string told = describe(thrown, devices);
    try {
        std::rethrow_exception(thrown.exception);
    } catch (...) {
        std::throw_with_nested(lane_error(told));
    }
}

}  // namespace laneway
