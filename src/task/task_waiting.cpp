// How threads wait for tasks.
#include <algorithm>
#include <utility>

#include "laneway/task/task_queue.hpp"

namespace laneway {

namespace {

constexpr auto renewed_after = std::chrono::milliseconds(50);  // a deadline, where devices get on

/// Locks again at its end, however that comes.
class relocked {
public:
    explicit relocked(std::unique_lock<std::mutex>& lock) : lock_(lock) {}
    ~relocked() { lock_.lock(); }
    relocked(const relocked&) = delete;
    relocked& operator=(const relocked&) = delete;

private:
    std::unique_lock<std::mutex>& lock_;
};

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

/// While it lives, `done` gathers the positions of those that are done, in that order. With the mutex.
class task_queue::watching {
public:
    watching(task_queue& queue, const std::vector<task_id>& ids) : watching(queue, ids, queue.done_among(ids)) {
        // Of what is done from here on the destructor takes care, also where this throws.
        for (std::size_t i = 0; i < ids.size(); ++i) {
            record& r = queue.records_[ids[i].record];
            if (r.now != stage::done) r.detailed().watches.emplace_back(&seen_, i);
        }
    }
    ~watching() {
        for (const task_id id : ids_) {  // some may be gone: their futures have been dropped
            record_details* const details = queue_.records_[id.record].details.get();
            if (details != nullptr) std::erase_if(details->watches, [&](const auto& w) { return w.first == &seen_; });
        }
    }
    watching(const watching&) = delete;
    watching& operator=(const watching&) = delete;

    /// Waits for the next.
    [[nodiscard]] std::size_t next(std::unique_lock<std::mutex>& lock) {
        queue_.work_until(lock, [&] { return !seen_.done.empty(); });
        const std::size_t position = seen_.done.front();
        seen_.done.pop_front();
        return position;
    }

private:
    watching(task_queue& queue, const std::vector<task_id>& ids, const std::vector<std::size_t>& done)
        : queue_(queue), ids_(ids), seen_{{done.begin(), done.end()}} {}

    task_queue& queue_;
    const std::vector<task_id>& ids_;
    watch seen_;
};

/// Positions of those that are done, in that order. With the mutex.
std::vector<std::size_t> task_queue::done_among(const std::vector<task_id>& ids) {
    std::vector<std::size_t> done;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (at(ids[i]).now == stage::done) done.push_back(i);
    }
    std::sort(done.begin(), done.end(), [&](std::size_t a, std::size_t b) {
        return records_[ids[a].record].epoch < records_[ids[b].record].epoch;
    });
    return done;
}

std::vector<std::size_t> task_queue::poll(const std::vector<task_id>& ids) {
    const std::lock_guard lock(mutex_);
    if (program_ != nullptr) progress();
    return done_among(ids);
}

std::size_t task_queue::wait_any(const std::vector<task_id>& ids) {
    if (ids.empty()) throw usage_error("there is no task to wait for");
    std::unique_lock lock(mutex_);
    return watching(*this, ids).next(lock);
}

void task_queue::wait_each(const std::vector<task_id>& ids, const task_visit& visit) {
    std::unique_lock lock(mutex_);
    watching seen(*this, ids);
    for (std::size_t left = ids.size(); left > 0; --left) {
        const std::size_t position = seen.next(lock);
        lock.unlock();
        const relocked after(lock);
        visit(position);
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

/// Changes whenever a device has been done with a task.
std::uint64_t task_queue::signs_of_life() const {
    std::uint64_t all = heard_entries_;
    for (const auto& pe : pes_) all += pe->rings.life();
    return all;
}

/// Works until it is so, or the session has ended. The deadline is that of the session, from the last time on that a
/// device was done with a task, or was given nothing for hold_back's sake.
void task_queue::work_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& until) {
    if (until()) return;
    refuse_without_session();
    const std::uint64_t session = session_;
    auto waiting = program_->waiting();
    std::uint64_t seen = signs_of_life();
    auto renewed = clock::now();
    for (;;) {
        progress();
        if (until()) return;
        // Not each time: one that has waited for a while looks less often, and leaves the core to others.
        if (const auto now = clock::now(); now - renewed > renewed_after) {
            const std::uint64_t signs = signs_of_life();
            if (signs != seen || holder_ != std::thread::id{}) waiting = program_->waiting();
            seen = signs;
            renewed = now;
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
