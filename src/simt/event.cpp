#include "laneway/simt/event.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace laneway {

struct event::state {
    std::mutex mutex;
    std::condition_variable changed;
    std::atomic<bool> done = false;  ///< set under the mutex, looked at without: who acquires it sees `failure`
    std::exception_ptr failure;      ///< stays as it is from then on
    std::shared_ptr<void> native;
    std::vector<std::function<void()>> at_end;
    std::vector<std::function<void()>> at_change;

    [[nodiscard]] bool is_done() const { return done.load(std::memory_order_acquire); }  // partner: end
};

event event::pending() {
    event made;
    made.state_ = std::make_shared<state>();
    return made;
}

void event::end(std::exception_ptr why) const {
    if (!state_) return;
    std::vector<std::function<void()>> calls, more;
    {
        const std::lock_guard lock(state_->mutex);
        if (state_->done.load(std::memory_order_relaxed)) return;  // it changes under the mutex only
        state_->failure = std::move(why);
        state_->done.store(true, std::memory_order_release);  // partner: is_done
        calls.swap(state_->at_end);
        more.swap(state_->at_change);
    }
    state_->changed.notify_all();
    // Without the lock: what is called may look at this event.
    for (const auto& call : calls) call();
    for (const auto& call : more) call();
}

void event::complete() const { end({}); }

void event::fail(std::exception_ptr why) const { end(std::move(why)); }

void event::enter_queue(std::shared_ptr<void> native) const {
    if (!state_) return;
    std::vector<std::function<void()>> calls;
    {
        const std::lock_guard lock(state_->mutex);
        state_->native = std::move(native);
        calls = state_->at_change;
    }
    for (const auto& call : calls) call();
}

bool event::done() const { return !state_ || state_->is_done(); }

std::exception_ptr event::failure() const {
    if (!state_ || !state_->is_done()) return {};
    return state_->failure;
}

std::shared_ptr<void> event::native() const {
    if (!state_) return {};
    const std::lock_guard lock(state_->mutex);
    return state_->native;
}

bool event::wait_for(std::chrono::milliseconds wait) const {
    if (done()) return true;
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, wait, [this] { return state_->is_done(); });
}

void event::then(std::function<void()> call) const {
    if (!done()) {
        const std::lock_guard lock(state_->mutex);
        if (!state_->is_done()) {
            state_->at_end.push_back(std::move(call));
            return;
        }
    }
    call();
}

void event::watch(std::function<void()> call) const {
    if (done()) return;
    const std::lock_guard lock(state_->mutex);
    if (!state_->is_done()) state_->at_change.push_back(std::move(call));
}

event when_all(const std::vector<event>& events) {
    struct count {
        std::mutex mutex;
        std::size_t left;
        std::exception_ptr failure;  ///< the first
    };
    const event all = event::pending();
    const auto open = std::make_shared<count>();
    open->left = events.size() + 1;  // one for this function itself
    const auto one_less = [all, open](const std::exception_ptr& why) {
        std::exception_ptr first;
        {
            const std::lock_guard lock(open->mutex);
            if (!open->failure) open->failure = why;
            if (--open->left > 0) return;
            first = open->failure;
        }
        first ? all.fail(first) : all.complete();
    };
    for (const event& one : events) {
        one.then([one, one_less] { one_less(one.failure()); });
    }
    one_less({});
    return all;
}

}  // namespace laneway
