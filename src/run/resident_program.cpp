#include "laneway/run/resident_program.hpp"

#include <algorithm>
#include <system_error>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"

namespace laneway {

namespace {

std::uint64_t nanoseconds_of_lease(double seconds) {
    if (!(seconds >= 0) || seconds > 1e9) throw usage_error("lease_seconds: expected 0 or more, 1e9 at most");
    return static_cast<std::uint64_t>(seconds * 1e9);
}

}  // namespace

resident_program::resident_program(machine& machine, const options& options, std::vector<host_feed*> feeds,
                                   launch start)
    : machine_(machine), timeout_seconds_(run_deadline(options.timeout_seconds).seconds()),
      lease_ns_(nanoseconds_of_lease(options.lease_seconds)), feeds_(std::move(feeds)), start_(std::move(start)),
      timeline_(options.timeline), words_(allocate_host_visible(machine.device(0), all_words)) {
    machine_.set_give_back([this]() -> device::hold {
        if (std::this_thread::get_id() != owner_ || has_failed_) return {};
        try {
            do_all();  // before the devices are held, as the program may have to come back for it
            device::hold mine = hold_devices();
            leave();
            return mine;
        } catch (const usage_error&) {
            if (!over_) throw;
            return {};  // another thread has stopped the session meanwhile
        }
    });
    try {
        thread_ = std::thread([this] { keep(); });
    } catch (const std::system_error& failed) {
        machine_.set_give_back({});
        throw system_error("a session's thread: " + failed.code().message());
    }
}

resident_program::visit::visit(resident_program& program) : program_(program) {
    ++program_.visits_;  // in one order with `closing_`: either stop waits for this thread, or it is refused
    if (!program_.closing_) return;
    --program_.visits_;
    program_.refuse_after_stop();
}

resident_program::~resident_program() { end(); }

void resident_program::end() noexcept {
    try {
        refuse_within_use("stop");
        stop();
    } catch (...) {
        // Whoever wants to know calls stop. Where it goes on, what it uses must not go, and waiting would be for ever.
        if (!over_) std::terminate();  // which says why
    }
}

// The thread's part: the program is on the devices, or nothing is left for it.
void resident_program::keep() {
    std::unique_lock lock(mutex_);
    for (;;) {
        // Also while the session is being stopped: what visits leave then is done.
        changed_.wait(lock, [&] { return wanted_ || given_up_; });
        if (!wanted_) return;
        lock.unlock();
        {
            device::hold mine(using_, std::defer_lock);  // the owner may be at work with the devices
            while (!mine.try_lock_for(look)) {
                if (given_up_) return;
            }
            lock.lock();
            resident_ = wanted_ && !failure_;
            if (!resident_) return;
            lock.unlock();
        }
        std::exception_ptr thrown;
        try {
            start_();
        } catch (...) {
            thrown = std::current_exception();
        }
        lock.lock();
        // Where some lane waited, what the run threw names it. Nobody else uses the devices until it has left.
        if (!failure_) failure_ = with_accounts(thrown == nullptr && past_deadline_.has_value() ? late() : thrown);
        // From here on a thread that leaves a message wakes the program; those of before are seen below.
        resident_ = false;
        left_after_ = done();
        has_failed_ = failure_ != nullptr;
        wanted_ = !failure_ && !given_up_ && (any_wait() || done() < epoch_);
        changed_.notify_all();
        if (failure_) return;
    }
}

std::uint64_t resident_program::filled() const {
    std::uint64_t sum = 0;
    for (const host_feed* const feed : feeds_) sum += feed->filled();
    return sum;
}

bool resident_program::any_wait() const {
    return std::any_of(feeds_.begin(), feeds_.end(), [](const host_feed* feed) { return feed->any_wait(); });
}

void resident_program::hand_over() {
    for (host_feed* const feed : feeds_) feed->hand_over();
}

void resident_program::refuse_after_stop() const {
    if (closing_) throw usage_error("the session has been stopped");
}

void resident_program::refuse_after_failure() {
    if (!has_failed_) return;
    const std::lock_guard lock(mutex_);
    throw_failure();
}

void resident_program::wake() {
    if (resident_) return;
    const std::lock_guard lock(mutex_);
    throw_failure();
    if (given_up_) refuse_after_stop();
    wanted_ = true;
    changed_.notify_all();
}

/// Ends the program for what a host thread has found.
void resident_program::end_with(std::unique_lock<std::mutex>& lock, const std::exception_ptr& failure) {
    failure_ = failure;
    has_failed_ = true;
    (void)expel(lock);
    std::rethrow_exception(failure);
}

/// Has the program leave the devices whatever it does; false where it has not in time, part of which may be over. The
/// machine gives lanes up that do not return, but not those of checked devices, which its own thread runs.
bool resident_program::expel(std::unique_lock<std::mutex>& lock) {
    const wait_limit limit = past_deadline_ ? *past_deadline_ : last_limit(), least(grace);
    while (resident_ && !(limit.is_over() && least.is_over())) {
        machine_.end_soon();
        changed_.wait_for(lock, look);
    }
    return !resident_;
}

/// Closes an epoch with which the program leaves, and waits until `left(number)`. Others may close epochs meanwhile.
template <class Left>
void resident_program::await_leave(std::unique_lock<std::mutex>& lock, const Left& left) {
    ++leaving_;
    const std::uint64_t number = close_epoch();
    lock.unlock();
    std::exception_ptr thrown;
    try {
        const auto wait = waiting();
        while (!left(number)) wait();
    } catch (...) {
        thrown = std::current_exception();
    }
    lock.lock();
    --leaving_;
    if (thrown) std::rethrow_exception(thrown);
}

/// Waits until no other thread uses the devices.
device::hold resident_program::hold_devices() {
    device::hold mine(using_, std::defer_lock);
    const wait_limit limit = last_limit();
    while (!mine.try_lock_for(look)) {
        interruption::poll();
        if (limit.is_over()) throw_late("another thread uses the session's devices");
    }
    return mine;
}

void resident_program::while_away(const std::function<void()>& use) {
    do_all();
    const device::hold mine = hold_devices();
    leave();
    use();
}

/// Waits until all that has been left for the program is done, also where it has to come back for that, and has left.
void resident_program::do_all() {
    // Inside of another use of the devices the program has left, and comes back only behind that.
    if (using_.is_mine()) return;
    hand_over();
    std::unique_lock lock(mutex_);
    throw_failure();
    if (!resident_ && !wanted_ && !any_wait()) return;
    wanted_ = true;
    changed_.notify_all();
    await_leave(lock, [&](std::uint64_t number) { return left_after_ >= number; });
    stay();
}

/// The next time the program stays. With the mutex.
void resident_program::stay() {
    if (leaving_ == 0) word(0).store(epoch_ * 2, std::memory_order_release);
}

/// Has the program leave the devices, to which others may have brought it back.
void resident_program::leave() {
    const device::hold mine = hold_devices();  // it does not come back meanwhile
    std::unique_lock lock(mutex_);
    throw_failure();
    if (!resident_) return;
    await_leave(lock, [&](std::uint64_t) { return !resident_; });
    stay();
}

void resident_program::refuse_within_use(const std::string& what) const {
    if (using_.is_mine()) throw usage_error(what + ": called by a function that uses the session's devices meanwhile");
}

void resident_program::stop() {
    std::exception_ptr thrown;
    try {
        if (!closing_) {
            hand_over();
            for (host_feed* const feed : feeds_) feed->take_back();
        }
    } catch (...) {
        thrown = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    await_other_stop(lock);
    if (stopped_) return throw_failure();
    stopping_ = true;
    try {
        if (!closing_.exchange(true)) leave_for_good(lock);
    } catch (...) {
        if (!thrown) thrown = std::current_exception();
    }
    if (!lock.owns_lock()) lock.lock();
    try {
        finish(lock);
    } catch (...) {
        if (!thrown || !over_) thrown = std::current_exception();
    }
    if (!lock.owns_lock()) lock.lock();
    if (!thrown) thrown = failure_;
    stopping_ = false;
    changed_.notify_all();
    lock.unlock();
    if (thrown) std::rethrow_exception(thrown);
}

/// Until no other thread is at stopping the session. With the mutex.
void resident_program::await_other_stop(std::unique_lock<std::mutex>& lock) {
    const wait_limit limit = last_limit();
    while (stopping_) {
        if (limit.is_over()) throw_late("another thread stops the session");
        changed_.wait_for(lock, look);
    }
}

/// Waits until all is done, also what host threads have begun, and the program has left. With the mutex.
void resident_program::leave_for_good(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const auto wait = waiting();
    while (visits_ != 0) wait();
    lock.lock();
    throw_failure();
    const wait_limit limit = limit_of_waits();
    while (resident_ || wanted_ || any_wait()) {  // what it has not taken before it leaves brings it back
        if (limit.is_over()) std::rethrow_exception(late());
        wanted_ = true;
        changed_.notify_all();
        await_leave(lock, [&](std::uint64_t number) { return left_after_ >= number; });
    }
}

/// The program has ended, or is ended; then nobody is at work with it any more. Throws timeout_error where that is not
/// so in time, and may be called again.
void resident_program::finish(std::unique_lock<std::mutex>& lock) {
    wanted_ = false;
    given_up_ = true;
    changed_.notify_all();
    // It has left, unless the wait was: then it is ended.
    if (!expel(lock)) throw_late("the session's program goes on, though it was told to end");
    lock.unlock();
    if (thread_.joinable()) {
        thread_.join();  // it has nothing left to wait for
        over_ = true;
        machine_.set_give_back({});
    }
    { const device::hold last = hold_devices(); }  // whoever had the devices given back has used them
    // They are told so.
    for (wait_limit limit = last_limit(); visits_ != 0;) {
        if (limit.is_over()) throw_late("a host thread is at work with the session");
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    lock.lock();
    stopped_ = true;
}

}  // namespace laneway
