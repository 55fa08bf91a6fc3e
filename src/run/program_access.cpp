#include "laneway/run/program_access.hpp"

#include "laneway/base/error.hpp"

namespace laneway {

void program_access::connect(resident_program& program) {
    const std::lock_guard lock(mutex_);
    program_ = &program;
}

void program_access::disconnect() noexcept {
    std::unique_lock lock(mutex_);
    program_ = nullptr;
    changed_.wait(lock, [&] { return uses_ == 0; });
}

bool program_access::is_connected() const {
    const std::lock_guard lock(mutex_);
    return program_ != nullptr;
}

program_access::use program_access::hold(const std::string& without) {
    const std::lock_guard lock(mutex_);
    if (program_ == nullptr) throw usage_error(without);
    ++uses_;
    return {*this, *program_};
}

void program_access::leave() {
    const std::lock_guard lock(mutex_);
    --uses_;
    changed_.notify_all();
}

}  // namespace laneway
