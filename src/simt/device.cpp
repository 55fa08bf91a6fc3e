#include "laneway/simt/device.hpp"

#include <utility>

namespace laneway {

void device::count_allocated(std::size_t bytes) noexcept {
    const std::uint64_t held = held_bytes_ += bytes;
    std::uint64_t peak = peak_bytes_;
    while (peak < held && !peak_bytes_.compare_exchange_weak(peak, held)) {
    }
}

void device::set_give_back(std::function<hold()> give_back) {
    std::unique_lock lock(giving_back_);
    give_back_ = std::move(give_back);
    gave_back_.wait(lock, [this] { return calls_ == 0; });
}

/// Calls the function without the lock: it may take as long as the program on the device.
device::hold device::give_back() const {
    std::function<hold()> call;
    {
        const std::lock_guard lock(giving_back_);
        if (!give_back_) return {};
        call = give_back_;
        ++calls_;
    }
    const auto end = [this](const void*) {
        const std::lock_guard lock(giving_back_);
        --calls_;
        gave_back_.notify_all();
    };
    const std::unique_ptr<const void, decltype(end)> ended(this, end);
    return call();
}

void device::release(void* memory, std::size_t bytes) noexcept {
    held_bytes_ -= bytes;
    const std::lock_guard lock(releasing_);
    if (running_ && !abandoned_) {
        released_.push_back(memory);
    } else {
        let_go(memory);
    }
}

void device::set_running(bool running) noexcept {
    const std::lock_guard lock(releasing_);
    running_ = running;
    if (running) return;
    for (void* memory : std::exchange(released_, {})) let_go(memory);
}

void device::let_go(void* memory) noexcept {
    if (abandoned_) {
        keep_for_good({memory, [](void*) {}});
    } else {
        free(memory);
    }
}

}  // namespace laneway
