#include "laneway/run/session.hpp"

#include <sstream>
#include <system_error>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"

namespace laneway {

namespace {

constexpr std::chrono::seconds grace{1};
constexpr std::size_t done_at = destructive_bytes;

std::atomic_ref<std::uint64_t> word(const std::shared_ptr<std::byte>& words, std::size_t at) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(words.get() + at));
}

}  // namespace

resident_program::resident_program(machine& machine, const options& options, host_inboxes& inboxes, launch start)
    : machine_(machine), timeout_seconds_(run_deadline(options.timeout_seconds).seconds()),
      lease_ns_(static_cast<std::uint64_t>(options.lease_seconds * 1e9)), inboxes_(inboxes), start_(std::move(start)),
      words_(allocate_host_visible(machine.device(0), 2 * destructive_bytes)) {
    machine_.set_give_back([this] {
        if (std::this_thread::get_id() == owner_) release();
    });
    try {
        thread_ = std::thread([this] { keep(); });
    } catch (const std::system_error& failed) {
        machine_.set_give_back({});
        throw system_error("a session's thread: " + failed.code().message());
    }
}

resident_program::~resident_program() {
    try {
        stop();
    } catch (...) {
        // Whoever wants to know calls stop.
    }
}

epoch_words resident_program::epochs() const {
    return {reinterpret_cast<const std::uint64_t*>(words_.get()),
            reinterpret_cast<std::uint64_t*>(words_.get() + done_at), lease_ns_};
}

// The thread's part: the program is on the devices, or nothing is left for it.
void resident_program::keep() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return wanted_ || closing_; });
        if (!wanted_ || past_deadline_) return;
        resident_ = true;
        lock.unlock();
        std::exception_ptr thrown;
        try {
            start_();
        } catch (...) {
            thrown = std::current_exception();
        }
        lock.lock();
        resident_ = false;
        left_after_ = done();
        // Where some lane waited, what the run threw names it.
        failure_ = thrown == nullptr && past_deadline_ ? late() : thrown;
        has_failed_ = failure_ != nullptr;
        // A thread that has left a message before it could see this is heard here, any other one wakes the program.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        wanted_ = !failure_ && (inboxes_.any_wait() || done() < epoch_);
        changed_.notify_all();
        if (failure_) return;
    }
}

void resident_program::wake() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (resident_) return;
    const std::lock_guard lock(mutex_);
    throw_failure();
    if (closing_) throw usage_error("the session has been stopped");
    wanted_ = true;
    changed_.notify_all();
}

host_inboxes::while_waiting resident_program::waiting() {
    const auto end =
        clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(timeout_seconds_));
    return [this, end, looks = 0u]() mutable {
        if (++looks % 64 != 0) {
            std::this_thread::yield();
            return;
        }
        if (has_failed_) {
            const std::lock_guard lock(mutex_);
            throw_failure();
        }
        interruption::poll();
        if (clock::now() > end) pass_deadline();
        if (looks > 4096) std::this_thread::sleep_for(std::chrono::microseconds(20));
    };
}

epoch_report resident_program::quiesce() {
    const auto start = clock::now();
    epoch_report report;
    {
        const std::lock_guard lock(mutex_);
        throw_failure();
        const std::uint64_t filled = inboxes_.filled();
        report.posted = filled - told_;
        told_ = filled;
        report.number = close_epoch();
    }
    wake();
    const auto wait = waiting();
    while (done() < report.number) wait();
    report.seconds = std::chrono::duration<double>(clock::now() - start).count();
    return report;
}

void resident_program::release() {
    std::unique_lock lock(mutex_);
    throw_failure();
    if (!resident_ && !wanted_) return;
    await_leave(lock);
    // The next time it stays.
    if (leaving_ == 0) word(words_, 0).store(epoch_ * 2, std::memory_order_release);
}

void resident_program::stop() {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) return;
    std::exception_ptr thrown;
    try {
        throw_failure();
        if (resident_ || wanted_ || inboxes_.any_wait()) await_leave(lock);
    } catch (...) {
        thrown = std::current_exception();
    }
    if (!lock.owns_lock()) lock.lock();
    closing_ = true;
    wanted_ = false;
    changed_.notify_all();
    lock.unlock();
    thread_.join();
    machine_.set_give_back({});
    if (thrown) std::rethrow_exception(thrown);
}

/// Closes an epoch with which the program leaves, and waits until it has left. Others may close epochs meanwhile.
void resident_program::await_leave(std::unique_lock<std::mutex>& lock) {
    ++leaving_;
    const std::uint64_t number = close_epoch();
    wanted_ = true;
    changed_.notify_all();
    lock.unlock();
    std::exception_ptr thrown;
    try {
        const auto wait = waiting();
        while (left_after_ < number) wait();
    } catch (...) {
        thrown = std::current_exception();
    }
    lock.lock();
    --leaving_;
    if (thrown) std::rethrow_exception(thrown);
}

/// Closes an epoch and returns its number. With the mutex.
std::uint64_t resident_program::close_epoch() {
    // Partner: the coordinator's acquire load, see epoch_words.
    word(words_, 0).store(++epoch_ * 2 + (leaving_ > 0 ? 1 : 0), std::memory_order_release);
    return epoch_;
}

std::uint64_t resident_program::done() const { return word(words_, done_at).load(std::memory_order_acquire); }

void resident_program::throw_failure() {
    if (failure_) std::rethrow_exception(failure_);
}

void resident_program::pass_deadline() {
    {
        const std::lock_guard lock(mutex_);
        past_deadline_ = true;
    }
    // Said again and again, as the program may just be on its way to the devices.
    const auto start = clock::now();
    do {
        machine_.pass_deadline(timeout_seconds_);
        if (clock::now() > start + grace) machine_.end_soon();
    } while (!await_end(clock::now() + std::chrono::milliseconds(20)) && clock::now() < start + 4 * grace);
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = late();
    has_failed_ = true;
    std::rethrow_exception(failure_);
}

std::exception_ptr resident_program::late() const {
    std::ostringstream text;
    text << "epoch " << epoch_ << " of the session did not end within the deadline of " << timeout_seconds_
         << " s, and no lane waited for anything";
    return std::make_exception_ptr(timeout_error(text.str()));
}

bool resident_program::await_end(clock::time_point limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, limit, [&] { return !resident_ || failure_; });
}

}  // namespace laneway
