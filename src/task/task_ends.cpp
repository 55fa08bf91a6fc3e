// How tasks end, and what becomes of their records.
#include <algorithm>
#include <cstring>
#include <utility>

#include "laneway/task/task_queue.hpp"

namespace laneway {

/// Ends what no PE will do any more.
void task_queue::lose_all() {
    for (std::uint32_t number = 0; number < records_.size(); ++number) {
        record& r = records_[number];
        if (r.now == stage::free) continue;
        if (r.open > 0 && r.details != nullptr && r.details->companion != nullptr) {
            left_behind_.push_back(r.details->companion);  // a lane may still use it
        }
        r.open = 0;
        finish(number, ending::lost);
        release_if_unused(number);
    }
    failures_.clear();
    ready_.clear();
    limits_ = {};
}

void task_queue::forget(task_id id) noexcept {
    const std::lock_guard lock(mutex_);
    record& r = records_[id.record];
    if (r.generation != id.generation) return;
    r.wanted = false;
    release_if_unused(id.record);
}

/// Makes the record of a task free that is done, that no device and no thread works on, and whose result nobody wants.
void task_queue::release_if_unused(std::uint32_t number) {
    const record& r = records_[number];
    if (r.now == stage::done && r.open == 0 && !r.wanted && !r.copying) release(number);
}

/// Makes a record free. With the mutex.
void task_queue::release(std::uint32_t number) {
    record& r = records_[number];
    if (r.details != nullptr && r.details->memory != nullptr) {
        r.details->memory->pieces.deallocate(const_cast<std::byte*>(r.details->piece.arguments));
    }
    if (r.end == ending::failed || r.is_batch) failures_.forget(number);
    r.details.reset();
    r.now = stage::free;
    if (++r.generation == 0) r.generation = 1;
    free_.push_back(number);
}

bool task_queue::cancel(task_id id) {
    const std::lock_guard lock(mutex_);
    record& r = at(id);
    if (r.now == stage::done) return r.end == ending::cancelled;
    if (r.now == stage::given || r.given > 0) return false;
    finish(id.record, ending::cancelled);
    return true;
}

void task_queue::cancel_all() {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t number = 0; number < records_.size(); ++number) {
        const record& r = records_[number];
        if ((r.now != stage::held && r.now != stage::ready) || r.given != 0) continue;
        finish(number, ending::cancelled);
        release_if_unused(number);
    }
}

void task_queue::throw_ending(task_id id) {
    const record& r = records_[id.record];
    const std::string name = "task " + std::to_string(id.record) + "." + std::to_string(id.generation);
    if (r.end == ending::cancelled) throw task_cancelled(name + " was cancelled");
    if (r.end == ending::lost) throw task_failed(name + ": the pool's session ended before it was done", 0);
    if (r.end == ending::after_failure) throw task_failed(name + ": a task that it was to follow has failed", 0);
    if (r.end == ending::late) {
        throw timeout_error(name + " was not done " + std::to_string(r.details->timeout_seconds) +
                            " s after a device had been given it");
    }
    if (r.details != nullptr && r.details->thrown != nullptr) std::rethrow_exception(r.details->thrown);
    const std::string which = r.count == 0 ? "" : ": number " + std::to_string(r.details->culprit) + " of its batch";
    throw task_failed(name + " failed with " + std::to_string(r.status) + which, r.status);
}

/// A PE is done with a task, or a range of a batch.
void task_queue::hear(pe_state& pe, const task_news& told) {
    record& r = records_[told.record];
    --r.open;
    if ((told.info & 0xff) == task_news::range) {
        pe.free_ranges.push_back(told.value[0]);
        const std::uint32_t ns = told.info >> 8;
        std::uint32_t& task_ns = r.details->task_ns;
        task_ns = task_ns == 0 ? ns : (3 * task_ns + ns + 3) / 4;
        task_ns_[r.type] = task_ns;
        if (r.open > 0) return;
        if (r.now == stage::given) finish(told.record, read_batch(told.record));
    } else {
        hear_single(pe, told);
    }
    release_if_unused(told.record);
}

void task_queue::hear_single(pe_state& pe, const task_news& told) {
    record& r = records_[told.record];
    pe.free_outcomes.push_back(r.outcome);
    if ((told.info & 0xff) == task_news::result) {
        std::memcpy(data_of(told.record), told.value, std::min(sizeof told.value, data_bytes_));
    } else {
        const std::byte* const outcome = pe.rings.outcome(r.outcome);
        std::memcpy(&r.status, outcome, sizeof r.status);
        if (r.status == task_status::done) {
            std::memcpy(data_of(told.record), outcome + task_outcome::result_at, shapes_[r.type].result_bytes);
        }
        if (r.status == task_status::threw) r.detailed().thrown = failures_.take(told.record, 0);
    }
    if (r.now == stage::given) finish(told.record, r.status == task_status::done ? ending::well : ending::failed);
}

bool task_queue::has_failed(const record& r) { return r.now == stage::done && r.end != ending::well; }

/// How a batch has ended. The first task that has failed is named.
task_queue::ending task_queue::read_batch(std::uint32_t number) {
    record& r = records_[number];
    ending end = ending::well;
    // Where none has ever failed there is nothing to look for in millions of words.
    if (std::none_of(pes_.begin(), pes_.end(), [](const auto& pe) { return pe->rings.has_failed(); })) return end;
    for (std::uint32_t i = r.count; i > 0; --i) {
        const std::uint32_t status = r.details->piece.statuses[i - 1];
        if (status == task_status::done) continue;
        end = ending::failed;
        r.status = status;
        r.details->culprit = i - 1;
        if (status == task_status::threw) r.details->thrown = failures_.take(number, i - 1);
    }
    return end;
}

void task_queue::end_late(clock::time_point now) {
    while (!limits_.empty() && limits_.top().end <= now) {
        const task_id id = limits_.top().id;
        limits_.pop();
        record& r = records_[id.record];
        if (r.generation != id.generation || r.now == stage::done) continue;
        finish(id.record, ending::late);  // what no PE has of a batch is not given any more
        release_if_unused(id.record);
    }
}

/// A task is done, in whatever way: tells who waits for it.
void task_queue::finish(std::uint32_t number, ending end) {
    if (records_[number].details == nullptr) return finish_one(number, end);  // nothing follows it
    std::vector<std::pair<std::uint32_t, ending>> ends{{number, end}};        // followers of a failed task end with it
    while (!ends.empty()) {
        const auto [which, how] = ends.back();
        ends.pop_back();
        record& r = records_[which];
        if (r.now == stage::done) continue;
        finish_one(which, how);
        for (const task_id follower :
             r.details != nullptr ? std::exchange(r.details->followers, {}) : std::vector<task_id>{}) {
            record& f = records_[follower.record];
            if (f.generation != follower.generation || f.now == stage::done) continue;
            if (how != ending::well) {
                ends.emplace_back(follower.record, ending::after_failure);
            } else if (--f.waits_for == 0) {
                make_ready(follower);
            }
        }
        if (which != number) release_if_unused(which);
    }
}

void task_queue::finish_one(std::uint32_t number, ending end) {
    record& r = records_[number];
    if (r.now == stage::done) return;
    if (r.now != stage::given) give_up_place(r);
    r.now = stage::done;
    r.end = end;
    r.epoch = ended_tasks_++;
    --undone_;
    statistics_.done += std::max(r.count, 1u);
    if (end != ending::well) ++statistics_.failed;
    if (r.details == nullptr) return;
    if (r.details->companion != nullptr) {
        ended_.push_back({{number, r.generation}, end == ending::well, end == ending::lost, r.details->companion});
    }
    for (const auto& [seen, position] : std::exchange(r.details->watches, {})) seen->done.push_back(position);
}

/// The task waits on the host from now on,
void task_queue::take_place(record& r) {
    r.epoch = epoch_;
    ++not_given_now_;
}
/// and now no more.
void task_queue::give_up_place(const record& r) {
    if (r.epoch == epoch_) {
        --not_given_now_;
        return;
    }
    const auto found = not_given_.find(r.epoch);
    if (--found->second == 0) not_given_.erase(found);
}

}  // namespace laneway
