#include "laneway/run/staged_payloads.hpp"

#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "laneway/base/error.hpp"

namespace laneway {

staged_payloads::staged_payloads(const machine& machine, std::size_t bytes, std::string bounded_by)
    : bytes_(bytes / 16 * 16), bounded_by_(std::move(bounded_by)) {
    if (bytes_ == 0) return;
    int user = 0;  // lanes of every PE read it: memory that GPUs reach, if there is one
    while (machine.has_gpus() && !machine.device(user)->is_gpu()) ++user;
    memory_ = allocate_host_visible(machine.device(user), bytes_);
    free_.add_region(memory_.get(), bytes_);
}

void* staged_payloads::try_take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::erase_if(on_their_way_, [&](staged_payload* staged) {
        // Partner: the release store of the lane that has used it.
        if (std::atomic_ref(staged->is_used).load(std::memory_order_acquire) == 0) return false;
        free_.deallocate(staged);
        return true;
    });
    return free_.try_allocate(bytes);
}

staged_payloads::room::room(staged_payloads& all, std::span<const std::byte> data, const while_waiting& waiting)
    : all_(all) {
    if (data.empty()) return;
    const std::size_t most = all.bytes_ < sizeof(staged_payload) ? 0 : all.bytes_ - sizeof(staged_payload);
    if (data.size() > most) {
        throw usage_error("a payload of " + std::to_string(data.size()) + " bytes, where " + all.bounded_by_ +
                          " leaves room for " + std::to_string(most));
    }
    std::unique_lock turn(all.turn_, std::defer_lock);
    while (!turn.try_lock()) waiting();
    void* place = nullptr;
    while ((place = all.try_take(sizeof(staged_payload) + data.size())) == nullptr) waiting();
    staged_ = new (place) staged_payload{};
    std::memcpy(staged_->data(), data.data(), data.size());
}

staged_payloads::room::~room() {
    if (!is_mine_ || staged_ == nullptr) return;
    const std::lock_guard lock(all_.mutex_);
    all_.free_.deallocate(staged_);
}

void staged_payloads::room::hand_over() {
    if (staged_ == nullptr) return;
    const std::lock_guard lock(all_.mutex_);
    all_.on_their_way_.push_back(staged_);
    is_mine_ = false;
}

}  // namespace laneway
