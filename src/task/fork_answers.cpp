#include "laneway/task/fork_answers.hpp"

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

constexpr std::uint64_t submits_to_gather = 64;

}  // namespace

std::pair<fork_answers::call_id, int> fork_answers::begin() {
    const std::uint64_t session = host_->sessions();
    const std::lock_guard lock(mutex_);
    const std::uint64_t ticket = next_++;
    calls_.emplace(ticket, std::nullopt);
    return {{ticket, session}, static_cast<int>(ticket % n_pes_)};
}

void fork_answers::submit(const call_id& call, std::uint32_t channel, const void* element, std::size_t bytes, int pe) {
    try {
        // Answers that nobody waits for must not pile up where threads only submit.
        if (call.ticket % submits_to_gather == 0) gather();
        host_->enqueue(channel, element, bytes, pe);
    } catch (...) {
        forget(call);
        throw;
    }
}

/// Takes what devices have given, whatever call it is of, and drops what nobody wants.
void fork_answers::gather() {
    // Over both steps: a thread that finds an answer in neither place must be able to tell that it is not there yet.
    const std::lock_guard lock(mutex_);
    for (const fork_answer_channel& from : channels_) {
        std::vector<std::byte> element(from.element_bytes);
        while (host_->take(from.channel, element.data(), from.element_bytes, false)) {
            std::uint64_t ticket = 0;
            std::memcpy(&ticket, element.data() + from.ticket_at, sizeof ticket);
            const std::byte* const value = element.data() + from.value_at;
            const auto call = calls_.find(ticket);
            if (call != calls_.end()) call->second.emplace(value, value + from.value_bytes);
        }
    }
}

bool fork_answers::copy(const call_id& call, void* result) {
    const std::lock_guard lock(mutex_);
    const auto& found = calls_.at(call.ticket);
    if (!found.has_value()) return false;
    if (result != nullptr) std::memcpy(result, found->data(), found->size());
    return true;
}

bool fork_answers::is_done(const call_id& call) {
    gather();
    return copy(call, nullptr);
}

void fork_answers::wait(const call_id& call, void* result) {
    gather();
    if (copy(call, result)) return;
    if (host_->sessions() != call.session) {
        throw usage_error("the session of this call has ended, and its result has not been taken before the next");
    }
    try {
        const auto done = [&] {
            gather();
            return copy(call, result);
        };
        host_->wait(done, true);
    } catch (const usage_error&) {
        gather();  // the answer may have come between the last look and the end of the session
        if (!copy(call, result)) throw;
    }
}

void fork_answers::forget(const call_id& call) noexcept {
    const std::lock_guard lock(mutex_);
    calls_.erase(call.ticket);
}

}  // namespace laneway
