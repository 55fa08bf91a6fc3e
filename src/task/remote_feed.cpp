// What host threads do with a remote queue while a session runs.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "laneway/base/error.hpp"
#include "laneway/run/resident_program.hpp"
#include "laneway/task/remote_memory.hpp"

namespace laneway {

void remote_memory::refuse(int pe, const remote_request& request) const {
    if (remote_kernels::runs_here()) {
        throw usage_error(
            "remote queue: the function of a kernel posts nothing, as an epoch waits for its return; its "
            "completion signal tells lanes, and they go on");
    }
    const auto must_exist = [&](int named, const char* what) {
        if (named >= 0 && named < machine_.n_pes()) return;
        throw usage_error(std::string("remote queue: ") + what + std::to_string(named) + " does not exist; there are " +
                          std::to_string(machine_.n_pes()));
    };
    must_exist(pe, "PE ");
    if (request.queue >= options_.priorities.size()) {
        throw usage_error("remote queue: queue " + std::to_string(request.queue) + " of PE " + std::to_string(pe) +
                          ", where there are 0 to " + std::to_string(options_.priorities.size() - 1));
    }
    const completion_signal& signal = request.signal;
    if (signal.pe == completion_signal::nobody) return;
    must_exist(signal.pe, "for a signal: PE ");
    if (signal.index < signals_.size()) return;
    throw usage_error("remote queue: signal " + std::to_string(signal.index) + " of PE " + std::to_string(signal.pe) +
                      ", where there are " +
                      (signals_.empty() ? "none" : "0 to " + std::to_string(signals_.size() - 1)));
}

/// As remote_names_ref::store, for what the host knows.
void remote_memory::refuse_payload(int pe, const host_payload* payload) const {
    if (payload == nullptr) return;
    const auto refused = [&](status code, const std::string& more) {
        return usage_error(std::string("remote queue: ") + to_string(code) +
                           " while storing the payload of a command on PE " + std::to_string(pe) + ": target buffer " +
                           std::to_string(payload->buffer()) + more);
    };
    if (payload->buffer() >= buffers_.size()) {
        throw refused(
            status::bad_index,
            ", where there are " + (buffers_.empty() ? "none" : "0 to " + std::to_string(buffers_.size() - 1)));
    }
    const remote_range& target = buffers_[payload->buffer()];
    const std::uint64_t count = payload->count(), at = payload->at();
    if (payload->type() != target.first.type())
        throw refused(status::bad_range, ", which has elements of another type");
    if (at <= target.count && count <= target.count - at && count <= ~std::uint32_t{0}) return;
    throw refused(status::bad_range, ", " + std::to_string(count) + " elements from " + std::to_string(at) +
                                         " on, where there are " + std::to_string(target.count));
}

void remote_memory::refuse_kernel(std::uint32_t kernel) const {
    const std::uint32_t all = kernels_ == nullptr ? 0 : kernels_->size();
    if (kernel < all) return;
    throw usage_error("remote queue: kernel " + std::to_string(kernel) + ", where there are " +
                      (all == 0 ? "none" : "0 to " + std::to_string(all - 1)));
}

void remote_memory::post(int pe, std::uint32_t kind, remote_header& record, std::size_t bytes,
                         const host_payload* payload, const remote_request& request, bool ends) {
    refuse(pe, request);
    refuse_payload(pe, payload);
    const program_access::use mine =
        access_.hold("remote queue: host threads post while a session runs, from runtime::start to stop");
    resident_program& program = mine.program();
    const resident_program::visit visiting(program);
    host_inboxes& inbox = *inboxes_[request.queue];
    const auto waiting = program.waiting();
    if (payload != nullptr) {
        record.landed = {payload->buffer(), static_cast<std::uint32_t>(payload->count()), payload->at()};
    }
    const auto data = payload == nullptr ? std::span<const std::byte>{} : payload->data();
    staged_payloads::room room(*payloads_, data, waiting);  // before what commands without a payload wait for
    std::optional<host_inboxes::awaited> answer;
    if (ends) {
        answer.emplace(inbox, waiting);
        record.signal_pe = completion_signal::host;
        record.signal = answer->reply() - 1;
        record.value = request.queue;
    }
    {
        host_inboxes::place place(inbox, pe, waiting);
        // Atomic: a lane may look before it knows whether it is the one that takes it.
        std::atomic_ref(place.slot().kind).store(kind, std::memory_order_relaxed);
        place.slot().reply = 0;
        auto& posted = *place.slot().message<remote_posted>();
        posted.payload = room.staged();
        std::memcpy(posted.record<std::byte>(), static_cast<const void*>(&record), bytes);
        room.hand_over();
        place.publish();
    }
    program.wake();
    if (answer) {
        while (!answer->wait(waiting)) waiting();
    }
}

std::uint64_t remote_memory::filled() const {
    std::uint64_t sum = 0;
    for (const auto& inbox : inboxes_) sum += inbox->filled();
    return sum;
}

bool remote_memory::any_wait() const {
    return std::any_of(inboxes_.begin(), inboxes_.end(), [](const auto& inbox) { return inbox->any_wait(); });
}

void remote_memory::attach(machine& machine, const comm_plan&) {
    refuse_in_session();
    begin(machine);
    std::size_t bytes = sizeof(remote_record<remote_bytes>);
    for (const remote_shape& f : functions_) bytes = std::max(bytes, f.record_bytes);
    inboxes_.clear();
    for (std::size_t q = 0; q < options_.priorities.size(); ++q) {
        inboxes_.push_back(
            std::make_unique<host_inboxes>(machine, sizeof(remote_posted) + bytes, 0, options_.host_slots));
    }
    payloads_ = std::make_unique<staged_payloads>(machine, buffers_.empty() ? 0 : options_.host_payload_bytes,
                                                  "remote_queue_options::host_payload_bytes");
}

}  // namespace laneway
