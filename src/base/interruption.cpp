#include "laneway/base/interruption.hpp"

#include <utility>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

constexpr auto period = std::chrono::milliseconds(20);
thread_local interruption* innermost = nullptr;

}  // namespace

interruption::interruption(std::function<void()> look) : look_(std::move(look)), outer_(innermost) { innermost = this; }

interruption::interruption(std::stop_token stop)
    : interruption([stop = std::move(stop)] {
          if (stop.stop_requested()) throw interrupted("the call was left before it was done, as its caller asked");
      }) {}

interruption::~interruption() { innermost = outer_; }

void interruption::poll() {
    if (innermost == nullptr) return;
    const auto now = clock::now();
    if (now < innermost->due_) return;
    innermost->due_ = now + period;
    innermost->look_();
}

}  // namespace laneway
