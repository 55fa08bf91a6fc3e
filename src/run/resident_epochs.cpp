// Of a resident program, what host threads wait for: epochs, and how their waits end.
#include <sstream>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/base/timeline.hpp"
#include "laneway/run/resident_program.hpp"
#include "laneway/simt/cuda/profiler_range.hpp"

namespace laneway {

void audit_epoch(std::uint64_t epoch, std::uint64_t left, const epoch_totals& all) {
    if (all.taken >= left && all.host_served == all.taken && all.served == all.carried) return;
    throw device_fault("audit mismatch in epoch " + std::to_string(epoch) + ": " + std::to_string(left) +
                       " messages of host threads left, " + std::to_string(all.taken) + " taken, " +
                       std::to_string(all.host_served) + " served; " + std::to_string(all.carried) +
                       " messages carried between PEs, " + std::to_string(all.served) + " served");
}

epoch_words resident_program::epochs() const {
    return {reinterpret_cast<const std::uint64_t*>(words_.get()),
            reinterpret_cast<std::uint64_t*>(words_.get() + done_at),
            reinterpret_cast<epoch_totals*>(words_.get() + totals_at), lease_ns_, done()};
}

while_waiting resident_program::waiting() {
    return [this, limit = limit_of_waits(), looks = 0u, late = false]() mutable {
        if (++looks % 64 != 0) {
            std::this_thread::yield();
            return;
        }
        for (host_feed* const feed : feeds_) feed->collect();
        if (has_failed_) {
            const std::lock_guard lock(mutex_);
            throw_failure();
        }
        if (over_) throw usage_error("the session was stopped before it did what a host thread waited for");
        interruption::poll();
        // What is waited for may have come since the last look, which the caller does once more.
        if (limit.is_over() && std::exchange(late, true)) pass_deadline();
        // Longer where it has lasted for a tenth of a second.
        if (looks > 4096) std::this_thread::sleep_for(std::chrono::microseconds(looks > 65'536 ? 500 : 20));
    };
}

void resident_program::await(const std::function<bool()>& done) {
    if (done()) return;
    const auto wait = waiting();
    do {
        wake();  // it may have left, with nothing else to do
        wait();
    } while (!done());
}

epoch_report resident_program::quiesce() {
    const auto start = clock::now();
    const std::uint64_t begin_ns = timeline::now_ns();
    const profiler_range range("epoch");
    hand_over();
    epoch_report report;
    std::uint64_t messages = 0;
    {
        const std::lock_guard lock(mutex_);
        throw_failure();
        const std::uint64_t left = filled();
        for (const host_feed* const feed : feeds_) messages += feed->messages();
        report.posted = left - told_;
        told_ = left;
        report.number = close_epoch();
    }
    wake();
    const auto wait = waiting();
    while (done() < report.number) wait();
    account(report, messages);
    report.seconds = std::chrono::duration<double>(clock::now() - start).count();
    if (timeline_) {
        timeline_->add_span({"epochs", "epoch " + std::to_string(report.number), begin_ns, timeline::now_ns()});
    }
    return report;
}

/// Tells what has become of messages by the last epoch that is done, and audits it; host threads had left so many
/// before.
void resident_program::account(epoch_report& report, std::uint64_t left) {
    const auto wait = waiting();
    std::unique_lock lock(mutex_);
    // Where many threads close epochs at once, PEs may be about to store what is read here.
    for (; epoch_ - done() >= epoch_words::kept; lock.lock()) {
        lock.unlock();
        wait();
    }
    throw_failure();
    const std::uint64_t last = done();
    const auto* const kept = reinterpret_cast<const epoch_totals*>(words_.get() + totals_at);
    const epoch_totals now = kept[last % epoch_words::kept];
    try {
        audit_epoch(last, left, now);
    } catch (...) {
        end_with(lock, std::current_exception());
    }
    report.carried = now.carried - totals_.carried;
    report.served = now.served - totals_.served;
    totals_ = now;
}

/// Closes an epoch and returns its number. With the mutex.
std::uint64_t resident_program::close_epoch() {
    // Partner: the coordinator's acquire load, see epoch_words.
    word(0).store(++epoch_ * 2 + (leaving_ > 0 || closing_ ? 1 : 0), std::memory_order_release);
    return epoch_;
}

std::uint64_t resident_program::done() const { return word(done_at).load(std::memory_order_acquire); }

void resident_program::throw_failure() {
    if (failure_) std::rethrow_exception(failure_);
}

void resident_program::pass_deadline() {
    std::unique_lock lock(mutex_);
    const wait_limit of_its_own(grace);
    // Only while the program is there: others may run on the devices. Said again and again, as it may just be on its
    // way.
    while (resident_ && !failure_ && !(past_deadline_ && past_deadline_->is_over())) {
        if (!past_deadline_) past_deadline_.emplace(time_to_give_up);
        machine_.pass_deadline(timeout_seconds_);
        if (of_its_own.is_over()) machine_.end_soon();
        changed_.wait_for(lock, look);
    }
    if (past_deadline_ && !failure_) failure_ = late();
    has_failed_ = failure_ != nullptr;
    std::rethrow_exception(failure_ ? failure_ : late());
}

std::exception_ptr resident_program::late() const {
    std::ostringstream text;
    text << "the session did not do in time what a host thread waited for: the deadline is " << timeout_seconds_
         << " s, " << epoch_ - done() << " epochs are open, and no lane waited for anything";
    return std::make_exception_ptr(timeout_error(text.str()));
}

void resident_program::throw_late(const char* what) const {
    std::ostringstream text;
    text << what << ", for longer than the deadline of " << timeout_seconds_ << " s";
    throw timeout_error(text.str());
}

/// A failure, with what feeds say of themselves where it is a deadline.
std::exception_ptr resident_program::with_accounts(const std::exception_ptr& failure) const {
    if (!failure) return failure;
    try {
        std::rethrow_exception(failure);
    } catch (const timeout_error& late) {
        std::string text = late.what();
        try {
            for (const host_feed* const feed : feeds_) text += feed->account();
        } catch (const error&) {
            return failure;  // the devices cannot be read
        }
        return std::make_exception_ptr(timeout_error(text, late.where()));
    } catch (...) {
        return failure;
    }
}

}  // namespace laneway
