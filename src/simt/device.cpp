#include "laneway/simt/device.hpp"

#include <utility>

namespace laneway {

void device::count_allocated(std::size_t bytes) noexcept {
    const std::uint64_t held = held_bytes_ += bytes;
    std::uint64_t peak = peak_bytes_;
    while (peak < held && !peak_bytes_.compare_exchange_weak(peak, held)) {
    }
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
