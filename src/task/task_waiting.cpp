// How threads wait for tasks.
#include <algorithm>
#include <utility>

#include "laneway/task/task_queue.hpp"

namespace laneway {

namespace {

constexpr auto renewed_after = std::chrono::milliseconds(50);  // a deadline, where devices get on

}  // namespace

bool task_queue::is_done(task_id id) {
    const std::lock_guard lock(mutex_);
    if (program_ != nullptr) progress();
    return at(id).now == stage::done;
}

bool task_queue::is_given(task_id id) {
    const std::lock_guard lock(mutex_);
    const record& r = at(id);
    return r.now == stage::given || (r.now != stage::done && r.given > 0);
}

std::vector<ended_task> task_queue::take_ended() {
    std::unique_lock lock(mutex_);
    const auto due = [&] { return !ended_.empty() || listener_woken_ || program_ == nullptr; };
    heard_.wait(lock, [&] { return due() || listened_for_ > 0; });
    work_until(lock, due);
    listener_woken_ = false;
    listened_for_ -= ended_.size();
    const std::deque<ended_task> all = std::exchange(ended_, {});
    return {all.begin(), all.end()};
}

bool task_queue::take_one_ended(ended_task& ended) {
    const std::lock_guard lock(mutex_);
    if (program_ != nullptr) progress();
    if (ended_.empty()) return false;
    ended = std::move(ended_.front());
    ended_.pop_front();
    --listened_for_;
    return true;
}

void task_queue::wake_listener() {
    const std::lock_guard lock(mutex_);
    listener_woken_ = true;
    heard_.notify_all();
}

std::uint64_t task_queue::listened_for() {
    const std::lock_guard lock(mutex_);
    return listened_for_;
}

const std::byte* task_queue::wait(task_id id) {
    std::unique_lock lock(mutex_);
    if (at(id).now != stage::done) work_until(lock, [&] { return at(id).now == stage::done; });
    const record& r = at(id);
    if (r.end != ending::well) throw_ending(id);
    return r.is_batch ? r.details->piece.results : data_of(id.record);
}

void task_queue::wait_each(const std::vector<task_id>& ids, const task_visit& visit) {
    watch seen;
    std::unique_lock lock(mutex_);
    struct watching {
        ~watching() {
            if (!held.owns_lock()) held.lock();
            for (const task_id id : all) {  // some may be gone: visit drops futures
                if (id.record >= queue.records_.size()) continue;
                record_details* const details = queue.records_[id.record].details.get();
                if (details == nullptr) continue;
                std::erase_if(details->watches, [&](const auto& w) { return w.first == &mine; });
            }
        }
        task_queue& queue;
        const std::vector<task_id>& all;
        const watch& mine;
        std::unique_lock<std::mutex>& held;
    } const leaves{*this, ids, seen, lock};
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (record& r = at(ids[i]); r.now == stage::done) {
            seen.done.push_back(i);
        } else {
            r.detailed().watches.emplace_back(&seen, i);
        }
    }
    for (std::size_t left = ids.size(); left > 0; --left) {
        work_until(lock, [&] { return !seen.done.empty(); });
        const std::size_t position = seen.done.front();
        seen.done.pop_front();
        lock.unlock();
        visit(position);
        lock.lock();
    }
}

const std::uint32_t* task_queue::statuses(task_id id) {
    std::unique_lock lock(mutex_);
    work_until(lock, [&] { return at(id).now == stage::done; });
    const record& r = at(id);
    if (r.end != ending::well && r.end != ending::failed) throw_ending(id);  // some have not run
    return r.details->piece.statuses;
}

task_statistics task_queue::statistics() {
    const std::lock_guard lock(mutex_);
    task_statistics all = statistics_;
    all.workers = workers_;
    for (const auto& pe : pes_) all.entries.push_back(pe->given);
    return all;
}

/// Works until it is so, or the session has ended. The deadline is that of the session, from the last time on that a
/// device was done with something, or was given nothing for hold_back's sake.
void task_queue::work_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& until) {
    if (until()) return;
    refuse_without_session();
    const std::uint64_t session = session_;
    auto waiting = program_->waiting();
    std::uint64_t seen = heard_entries_;
    auto renewed = clock::now();
    for (;;) {
        progress();
        if (until()) return;
        // Not each time: one that has waited for a while looks less often, and leaves the core to others.
        const bool gets_on = heard_entries_ != seen || holder_ != std::thread::id{};
        if (gets_on && clock::now() - renewed > renewed_after) {
            seen = heard_entries_;
            renewed = clock::now();
            waiting = program_->waiting();
        }
        wait_outside(lock, waiting);
        if (until()) return;
        if (session != session_ || program_ == nullptr) {
            throw usage_error("the pool's session ended before the task was done");
        }
    }
}

/// Calls `waiting` without the mutex; the session does not go meanwhile.
void task_queue::wait_outside(std::unique_lock<std::mutex>& lock, const while_waiting& waiting) {
    ++away_;
    lock.unlock();
    const auto back = [&] {
        lock.lock();
        if (--away_ == 0) changed_.notify_all();
    };
    try {
        waiting();
    } catch (...) {
        back();
        throw;
    }
    back();
}

}  // namespace laneway
