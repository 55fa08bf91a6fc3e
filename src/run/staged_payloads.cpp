#include "laneway/task/host_payloads.hpp"

#include <atomic>
#include <cstring>
#include <new>
#include <string>

#include "laneway/base/error.hpp"

namespace laneway {

host_payloads::host_payloads(const machine& machine, std::size_t bytes) : bytes_(bytes / 16 * 16) {
    if (bytes_ == 0) return;
    int user = 0;  // lanes of every PE read it: memory that GPUs reach, if there is one
    while (machine.has_gpus() && !machine.device(user)->is_gpu()) ++user;
    memory_ = allocate_host_visible(machine.device(user), bytes_);
    free_.add_region(memory_.get(), bytes_);
}

void* host_payloads::try_take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::erase_if(on_their_way_, [&](remote_staged* staged) {
        // Partner: the release store in remote_runner::land.
        if (std::atomic_ref(staged->has_landed).load(std::memory_order_acquire) == 0) return false;
        free_.deallocate(staged);
        return true;
    });
    return free_.try_allocate(bytes);
}

host_payloads::room::room(host_payloads& all, const host_payload* payload, const while_waiting& waiting) : all_(all) {
    const auto data = payload == nullptr ? std::span<const std::byte>{} : payload->data();
    if (data.empty()) return;
    const std::size_t most = all.bytes_ < sizeof(remote_staged) ? 0 : all.bytes_ - sizeof(remote_staged);
    if (data.size() > most) {
        throw usage_error("remote queue: a payload of " + std::to_string(data.size()) +
                          " bytes, where remote_queue_options::host_payload_bytes leaves room for " +
                          std::to_string(most));
    }
    std::unique_lock turn(all.turn_, std::defer_lock);
    while (!turn.try_lock()) waiting();
    void* place = nullptr;
    while ((place = all.try_take(sizeof(remote_staged) + data.size())) == nullptr) waiting();
    staged_ = new (place) remote_staged{};
    std::memcpy(staged_->data(), data.data(), data.size());
}

host_payloads::room::~room() {
    if (!is_mine_ || staged_ == nullptr) return;
    const std::lock_guard lock(all_.mutex_);
    all_.free_.deallocate(staged_);
}

void host_payloads::room::hand_over() {
    if (staged_ == nullptr) return;
    const std::lock_guard lock(all_.mutex_);
    all_.on_their_way_.push_back(staged_);
    is_mine_ = false;
}

}  // namespace laneway
