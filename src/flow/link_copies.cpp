// How a link's packets get into their buffers and out of them.
#include <utility>
#include <vector>

#include "flow/link_core.hpp"
#include "laneway/base/error.hpp"
#include "laneway/simt/cuda/profiler_range.hpp"

namespace laneway::flow {

std::string words_of(const packet_info& packet) {
    return "message " + std::to_string(packet.message) + " from byte " + std::to_string(packet.offset);
}

std::optional<int> link_core::kernel_device(const endpoint& sender, const void* data) const {
    for (const int device : {destination.device(), sender.device()}) {
        if (context->lanes_reach(device, sender, data, destination, buffers_.front().memory.get())) return device;
    }
    return std::nullopt;
}

void link_core::require_path(const endpoint& sender, const segment& whole) const {
    if (sizes.copies != copy_path::kernel || whole.bytes == 0 || kernel_device(sender, whole.data)) return;
    throw usage_error(name + ": no device has lanes that reach both the memory of " + sender.name() + " and that of " +
                      destination.name() + ", so kernels cannot copy");
}

copy_rule link_core::rule_for(const endpoint& sender) const {
    if (sizes.rule) return *sizes.rule;
    const bool gpus = context->is_gpu(sender.device()) || context->is_gpu(destination.device());
    return gpus ? copy_rule{} : copy_rule::of_cpu();
}

std::optional<int> link_core::copier_of(const sent_message& message, const packet_copy& what) const {
    copy_path path = sizes.copies;
    if (path == copy_path::by_rule) {
        const device_load& load = context->load_of(destination.device());
        path = choose_copy(what.size(), {load.by_engine, load.by_kernel}, rule_for(message.source));
    }
    if (path != copy_path::kernel || what.bytes == 0) return std::nullopt;
    return kernel_device(message.source, message.whole.data);
}

event link_core::carry(const std::shared_ptr<send_op>& op, packet_buffer& before) {
    const profiler_range range(name.c_str());
    const sent_message& message = *op->message;
    // Nothing is stored there; one type describes both directions.
    auto* const from = static_cast<std::byte*>(const_cast<void*>(message.whole.data));
    const packet_copy what{{before.memory.get(), from, true}, message.whole.where, op->info.offset, op->info.bytes};
    const std::optional<int> by = copier_of(message, what);
    device_stream& stream = stream_from(message.source, by);
    if (stream.is_recorded()) stream.label(words_of(op->info));
    stream.wait(message.ready);
    // The stream's own copies are behind each other anyway.
    if (std::exchange(before.copied_on, stream.identity()) != stream.identity()) stream.wait(before.arrived);
    stream.wait(before.read);
    std::vector<std::shared_ptr<void>> used;
    try {
        if (by) used = copy_by_kernel(*context, *by, stream, what);
        if (!by) copy_by_engine(stream, what);
    } catch (...) {  // no memory for a table, say: who waits for the packet is told
        const event failed = event::pending();
        failed.fail(named_failure(std::current_exception(), name));
        context->fail(failed.failure());
        op->message->end_packet(failed.failure());
        return failed;
    }
    const event arrived = stream.record();
    device_load& load = context->load_of(destination.device());
    std::atomic<int>& under_way = by ? load.by_kernel : load.by_engine;
    ++under_way;
    arrived.then([self = shared_from_this(), op, arrived, &under_way, used = std::move(used)] {
        --under_way;  // of the context, which the link keeps; and the copy goes to the link's buffer
        op->message->end_packet(arrived.failure());
    });
    if (by) {
        const std::lock_guard lock(mutex);
        ++counts.by_kernel;
    }
    return arrived;
}

/// Each sender's packets have a stream of their own, and those that kernels copy another: one that is not ready yet
/// keeps no other sender waiting.
device_stream& link_core::stream_from(const endpoint& sender, std::optional<int> by) {
    const std::pair key(sender.id(), by.has_value());
    const auto found = streams_.find(key);
    if (found != streams_.end()) return found->second;
    const bool pulls = context->is_gpu(destination.device()) || !context->is_gpu(sender.device());
    const int device = by ? *by : pulls ? destination.device() : sender.device();
    return streams_.emplace(key, context->make_stream(device, name, !by)).first->second;
}

void link_core::unpack(const pending_segment& packet, const target& into, device_stream& stream) {
    if (!packet || packet.owner_ != this) throw usage_error(name + ": only packets of this link can be unpacked by it");
    const packet_info& info = packet.info();
    if (into.where()->bytes() != info.message_bytes) {
        throw usage_error(name + ": a message of " + std::to_string(info.message_bytes) + " bytes and a target of " +
                          std::to_string(into.where()->bytes()));
    }
    const profiler_range range(name.c_str());
    auto* const memory = static_cast<std::byte*>(into.data());
    const packet_copy what{{packet.as<std::byte>(), memory, false}, into.where(), info.offset, info.bytes};
    const int at = destination.device();
    copy_path path = sizes.copies;
    if (path == copy_path::by_rule) path = choose_copy(what.size(), {}, rule_for(destination));
    if (path == copy_path::kernel && what.bytes > 0) {
        const bool runs_there =
            at != host_memory && &stream.device() == context->devices[static_cast<std::size_t>(at)].get();
        const bool reaches = runs_there && context->lanes_reach(at, destination, memory, destination, what.ends.packed);
        if (!reaches && sizes.copies == copy_path::kernel) {
            throw usage_error(name + ": lanes of the stream's device do not reach the target, so kernels cannot copy");
        }
        if (!reaches) path = copy_path::engine;
    }
    if (stream.is_recorded()) stream.label("unpacking " + words_of(info));
    stream.wait(packet.arrived());
    if (path == copy_path::kernel) {
        const auto used = copy_by_kernel(*context, at, stream, what);
        stream.record().then([used] {});
    } else {
        copy_by_engine(stream, what);
    }
    stream.label({});
}

}  // namespace laneway::flow
