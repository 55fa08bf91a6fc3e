#include "laneway/task/task_queue.hpp"

#include <algorithm>
#include <cstring>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

constexpr std::uint32_t min_window = 2;          // entries a worker
constexpr std::uint32_t default_max_ahead = 32;  // entries a worker
constexpr auto measured_span = std::chrono::microseconds(100);
constexpr auto min_nap = std::chrono::microseconds(200), max_nap = std::chrono::microseconds(5000);

double seconds_of(std::chrono::steady_clock::duration span) { return std::chrono::duration<double>(span).count(); }
std::chrono::steady_clock::duration span_of(double seconds) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

task_queue::task_queue(std::vector<task_shape> shapes, const task_pool_options& options)
    : shapes_(std::move(shapes)), options_(options) {
    if (options_.capacity < 1) throw usage_error("capacity: a pool holds one task at least");
    if (options_.bundle_tasks < 1) throw usage_error("bundle_tasks: 1 or more");
    if (!(options_.ahead_seconds >= 0)) throw usage_error("ahead_seconds: 0 or more");
    if (!(options_.bundle_seconds >= 0)) throw usage_error("bundle_seconds: 0 or more");
    std::size_t result_bytes = 0;
    for (const task_shape& shape : shapes_) {
        argument_bytes_ = std::max(argument_bytes_, shape.argument_bytes);
        result_bytes = std::max(result_bytes, shape.result_bytes);
    }
    data_bytes_ = (std::max(argument_bytes_, result_bytes) + 15) / 16 * 16;
    outcome_bytes_ = task_slot::outcome_bytes(result_bytes);
}

task_queue::~task_queue() { disconnect(); }

void task_queue::attach(machine& machine, const comm_plan& plan) {
    const std::lock_guard lock(mutex_);
    if (program_ != nullptr) throw usage_error("the pool belongs to a session that has not been stopped");
    pes_.clear();
    workers_ = 0;
    std::uint32_t outcomes = 0;
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        const pe_grid& grid = plan.grids[static_cast<std::size_t>(pe)];
        const auto workers = static_cast<std::uint32_t>(grid.worker_warps());
        const std::uint32_t ahead = options_.max_ahead != 0 ? options_.max_ahead : default_max_ahead * workers;
        const task_rings_plan rings{static_cast<std::uint32_t>(grid.worker_blocks()), workers,
                                    std::max(argument_bytes_, sizeof(task_piece)), workers + ahead};
        pe_state& made = *pes_.emplace_back(std::make_unique<pe_state>(machine.device(pe), rings, &failures_));
        made.window = std::min(made.max_open, min_window * workers);
        workers_ += workers;
        outcomes += made.max_open;
    }
    // Every PE stores outcomes and reads batches: memory that GPUs reach, if there is one.
    int user = 0;
    while (machine.has_gpus() && !machine.device(user)->is_gpu()) ++user;
    outcomes_ = allocate_host_visible(machine.device(user), outcomes * outcome_bytes_);
    free_outcomes_.clear();
    for (std::uint32_t i = outcomes; i > 0; --i) free_outcomes_.push_back(i - 1);
    if (batches_ == nullptr || batches_->statistics().live_allocations == 0) {
        batch_memory_ = allocate_host_visible(machine.device(user), options_.batch_bytes);
        batches_ = std::make_unique<sub_allocator>(batch_memory_.get(), options_.batch_bytes);
    }
}

void task_queue::connect(resident_program& program) {
    const std::lock_guard lock(mutex_);
    program_ = &program;
    closing_ = false;
    thread_ = std::thread([this] { keep(); });
}

void task_queue::disconnect() noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (program_ == nullptr) return;
        for (const auto& pe : pes_) drain(*pe);
        lose_all();
        program_ = nullptr;
        closing_ = true;
    }
    changed_.notify_all();
    heard_.notify_all();
    thread_.join();
}

/// Ends what no PE will do any more.
void task_queue::lose_all() {
    for (std::uint32_t number = 0; number < records_.size(); ++number) {
        record& r = records_[number];
        if (r.now == stage::free) continue;
        if (r.open > 0 && r.companion != nullptr) left_behind_.push_back(r.companion);  // a lane may still use it
        r.open = 0;
        finish(number, ending::lost);
        if (!r.wanted) release(number);
    }
    ready_.clear();
    limits_ = {};
    open_ = 0;
}

void task_queue::refuse_without_session() const {
    if (program_ == nullptr) throw usage_error("the pool has no session: tasks run from runtime::start to stop");
}

task_queue::record& task_queue::at(task_id id) {
    if (id.generation == 0 || id.record >= records_.size() || records_[id.record].generation != id.generation) {
        throw unknown_task("the pool has no such task");
    }
    return records_[id.record];
}

/// Takes a record for a task that is about to be submitted.
task_id task_queue::add(std::unique_lock<std::mutex>& lock, std::uint32_t type, const task_request& request) {
    refuse_without_session();
    if (type >= shapes_.size()) {
        throw usage_error("task type " + std::to_string(type) + ": the pool has " + std::to_string(shapes_.size()));
    }
    if (!(request.timeout_seconds >= 0)) throw usage_error("timeout_seconds: 0 or more");
    for (const task_id before : request.after) (void)at(before);
    if (undone_ >= options_.capacity) {
        progress();
        if (undone_ >= options_.capacity && !request.wait) {
            throw task_queue_full("the pool holds " + std::to_string(undone_) +
                                  " tasks that are not done, as many as it can: see task_pool_options::capacity");
        }
        work_until(lock, [&] { return undone_ < options_.capacity; });
    }
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(records_.size()));
        if (records_.size() % chunk_records == 0) {
            data_.push_back(std::make_unique<std::byte[]>(chunk_records * data_bytes_));
        }
        records_.emplace_back();
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    record& r = records_[number];
    const std::uint32_t generation = r.generation;
    r = record{};
    r.generation = generation;
    r.wanted = true;
    r.type = type;
    r.priority = request.priority;
    r.timeout_seconds = request.timeout_seconds;
    return {number, generation};
}

/// Lets a task wait for others, or for a PE.
task_id task_queue::enqueue(task_id id, const task_request& request) {
    record& r = records_[id.record];
    ++undone_;
    ++not_given_;
    statistics_.submitted += std::max(r.count, 1u);
    r.now = stage::held;
    if (request.companion != nullptr) {
        r.companion = request.companion;
        if (listened_for_++ == 0) heard_.notify_all();
    }
    bool in_vain = false;
    for (const task_id before : request.after) {
        record& other = at(before);
        if (other.now != stage::done) {
            other.followers.push_back(id);
            ++r.waits_for;
        } else {
            in_vain = in_vain || other.end != ending::well;
        }
    }
    if (in_vain) {
        finish(id.record, ending::after_failure);
    } else if (r.waits_for == 0) {
        r.now = stage::ready;
        ready_[r.priority].push_back(id);
        progress();
        if (idle_) changed_.notify_all();
    }
    return id;
}

task_id task_queue::submit(std::uint32_t type, const void* arguments, const task_request& request) {
    std::unique_lock lock(mutex_);
    const task_id id = add(lock, type, request);
    std::memcpy(data_of(id.record), arguments, shapes_[type].argument_bytes);
    return enqueue(id, request);
}

task_id task_queue::submit_batch(std::uint32_t type, const void* arguments, std::uint32_t count,
                                 const task_request& request) {
    std::unique_lock lock(mutex_);
    const task_id id = add(lock, type, request);
    const task_shape& shape = shapes_[type];
    const std::size_t results_at = rounded(count * shape.argument_bytes);
    const std::size_t statuses_at = results_at + rounded(count * shape.result_bytes);
    const std::size_t bytes = statuses_at + count * sizeof(std::uint32_t);
    std::byte* memory = nullptr;
    const auto found = [&] { return (memory = static_cast<std::byte*>(batches_->try_allocate(bytes, 64))) != nullptr; };
    try {
        if (!found() && undone_ > 0 && request.wait) work_until(lock, [&] { return found() || undone_ == 0; });
        if (memory == nullptr) {
            throw task_queue_full("a batch of " + std::to_string(count) + " tasks takes " + std::to_string(bytes) +
                                  " bytes: task_pool_options::batch_bytes is " + std::to_string(options_.batch_bytes) +
                                  ", of which futures hold " + std::to_string(batches_->statistics().used_bytes));
        }
    } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        release(id.record);
        throw;
    }
    std::memcpy(memory, arguments, count * shape.argument_bytes);
    record& r = records_[id.record];
    r.count = count;
    r.piece = {memory, reinterpret_cast<std::uint32_t*>(memory + statuses_at), memory + results_at};
    return enqueue(id, request);
}

void task_queue::forget(task_id id) noexcept {
    const std::lock_guard lock(mutex_);
    record& r = records_[id.record];
    if (r.generation != id.generation) return;
    r.wanted = false;
    if (r.now == stage::done && r.open == 0) release(id.record);
}

/// Makes a record free. With the mutex.
void task_queue::release(std::uint32_t number) {
    record& r = records_[number];
    if (r.piece.arguments != nullptr) batches_->deallocate(const_cast<std::byte*>(r.piece.arguments));
    r.piece = {};
    r.now = stage::free;
    r.thrown = nullptr;
    r.companion = nullptr;
    if (++r.generation == 0) r.generation = 1;
    free_.push_back(number);
}

bool task_queue::is_done(task_id id) {
    const std::lock_guard lock(mutex_);
    if (program_ != nullptr) progress();
    return at(id).now == stage::done;
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
        if (!r.wanted) release(number);
    }
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
    return std::exchange(ended_, {});
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

void task_queue::wait(task_id id) {
    std::unique_lock lock(mutex_);
    work_until(lock, [&] { return at(id).now == stage::done; });
    if (at(id).end != ending::well) throw_ending(id);
}

void task_queue::wait_each(const std::vector<task_id>& ids, const task_visit& visit) {
    watch seen;
    std::unique_lock lock(mutex_);
    const auto leave = [&] {
        for (const task_id id : ids) std::erase_if(at(id).watches, [&](const auto& w) { return w.first == &seen; });
    };
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (record& r = at(ids[i]); r.now == stage::done) {
            seen.done.push_back(i);
        } else {
            r.watches.emplace_back(&seen, i);
        }
    }
    try {
        for (std::size_t left = ids.size(); left > 0; --left) {
            work_until(lock, [&] { return !seen.done.empty(); });
            const std::size_t position = seen.done.front();
            seen.done.pop_front();
            lock.unlock();
            visit(position);
            lock.lock();
        }
    } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        leave();
        throw;
    }
}

const std::byte* task_queue::result(task_id id) {
    const std::lock_guard lock(mutex_);
    const record& r = at(id);
    return r.piece.arguments != nullptr ? r.piece.results : data_of(id.record);
}

const std::uint32_t* task_queue::statuses(task_id id) {
    const std::lock_guard lock(mutex_);
    return at(id).piece.statuses;
}

void task_queue::throw_ending(task_id id) {
    const record& r = records_[id.record];
    const std::string name = "task " + std::to_string(id.record) + "." + std::to_string(id.generation);
    if (r.end == ending::cancelled) throw task_cancelled(name + " was cancelled");
    if (r.end == ending::lost) throw task_failed(name + ": the pool's session ended before it was done", 0);
    if (r.end == ending::after_failure) throw task_failed(name + ": a task that it was to follow has failed", 0);
    if (r.end == ending::late) {
        throw timeout_error(name + " was not done " + std::to_string(r.timeout_seconds) +
                            " s after a device had been given it");
    }
    if (r.thrown != nullptr) std::rethrow_exception(r.thrown);
    const std::string which = r.count == 0 ? "" : ": number " + std::to_string(r.culprit) + " of its batch";
    throw task_failed(name + " failed with " + std::to_string(r.status) + which, r.status);
}

task_statistics task_queue::statistics() {
    const std::lock_guard lock(mutex_);
    task_statistics all = statistics_;
    for (const auto& pe : pes_) all.entries.push_back(pe->given);
    return all;
}

// The pool's work. All of it with the mutex.

/// Works until it is so. The deadline is that of the session, from the last task on that was done.
template <class Until>
void task_queue::work_until(std::unique_lock<std::mutex>& lock, const Until& until) {
    if (until()) return;
    refuse_without_session();
    auto waiting = program_->waiting();
    std::uint64_t seen = statistics_.done;
    for (;;) {
        progress();
        if (until()) return;
        if (statistics_.done != seen) {
            seen = statistics_.done;
            waiting = program_->waiting();
        }
        lock.unlock();
        waiting();
        lock.lock();
        if (until()) return;
        if (program_ == nullptr) throw usage_error("the pool's session ended before the task was done");
    }
}

void task_queue::progress() {
    const auto now = clock::now();
    for (const auto& pe : pes_) {
        if (pe->open == 0) continue;
        drain(*pe);
        set_window(*pe, now);
    }
    give();
    publish(now, false);
    if (!limits_.empty()) end_late(now);
}

void task_queue::drain(pe_state& pe) {
    const std::uint32_t heard = pe.rings.drain([&](std::uint32_t number) { hear(number); });
    pe.open -= heard;
    pe.done_lately += heard;
    open_ -= heard;
}

/// A PE is done with a task, or a piece of a batch.
void task_queue::hear(std::uint32_t number) {
    record& r = records_[number];
    --r.open;
    if (r.piece.arguments != nullptr) {
        if (r.open > 0 || r.given < r.count) return;
        if (r.now == stage::given) finish(number, read_batch(number));
    } else {
        const std::byte* const outcome = outcomes_.get() + r.outcome * outcome_bytes_;
        std::memcpy(&r.status, outcome, sizeof r.status);
        const bool well = r.status == task_status::done;
        if (well) std::memcpy(data_of(number), outcome + task_slot::result_at, shapes_[r.type].result_bytes);
        if (r.status == task_status::threw) r.thrown = failures_.take(number, 0);
        free_outcomes_.push_back(r.outcome);
        if (r.now == stage::given) finish(number, well ? ending::well : ending::failed);
    }
    if (r.now == stage::done && !r.wanted) release(number);
}

/// How a batch has ended. The first task that has failed is named.
task_queue::ending task_queue::read_batch(std::uint32_t number) {
    record& r = records_[number];
    ending end = ending::well;
    for (std::uint32_t i = r.count; i > 0; --i) {
        const std::uint32_t status = r.piece.statuses[i - 1];
        if (status == task_status::done) continue;
        end = ending::failed;
        r.status = status;
        r.culprit = i - 1;
        if (status == task_status::threw) r.thrown = failures_.take(number, i - 1);
    }
    return end;
}

/// How many entries a PE may have: what its workers run and what they will have done before the host looks again.
void task_queue::set_window(pe_state& pe, clock::time_point now) {
    if (now - pe.measured < measured_span) return;
    const double rate = pe.done_lately / seconds_of(now - pe.measured);
    pe.measured = now;
    pe.done_lately = 0;
    const double ahead = std::min(rate * options_.ahead_seconds, static_cast<double>(pe.max_open));
    const std::uint32_t least = std::min(pe.max_open, min_window * pe.workers);
    pe.window = std::clamp(pe.workers + static_cast<std::uint32_t>(ahead), least, pe.max_open);
}

/// Gives PEs what is ready, as far as they may have more.
void task_queue::give() {
    while (!ready_.empty()) {
        auto& first = ready_.begin()->second;
        if (first.empty()) {
            ready_.erase(ready_.begin());
            continue;
        }
        const task_id id = first.front();
        record& r = records_[id.record];
        if (r.generation != id.generation || r.now != stage::ready) {  // cancelled
            first.pop_front();
            continue;
        }
        if (r.piece.arguments != nullptr && r.count == 0) {  // a batch of none
            finish(id.record, ending::well);
            continue;
        }
        pe_state* const pe = roomiest();
        if (pe == nullptr || !give_entry(id.record, *pe)) return;
        if (r.now == stage::given) first.pop_front();
    }
}

/// The PE that may have most more, in proportion; null: none.
task_queue::pe_state* task_queue::roomiest() {
    pe_state* best = nullptr;
    for (const auto& pe : pes_) {
        if (pe->open >= pe->window) continue;
        if (best == nullptr || std::uint64_t{pe->open} * best->window < std::uint64_t{best->open} * pe->window) {
            best = pe.get();
        }
    }
    return best;
}

/// Tasks in the next piece of a batch: pieces shrink towards its end, as devices and tasks differ in speed.
std::uint32_t task_queue::piece_of(const record& r) const {
    constexpr std::uint64_t max_piece = 4096;
    const std::uint64_t share = (r.count - r.given) / (4 * workers_);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(share, 1, max_piece));
}

/// Gives a PE a task or the next piece of a batch; false where its rings are full.
bool task_queue::give_entry(std::uint32_t number, pe_state& pe) {
    record& r = records_[number];
    const task_shape& shape = shapes_[r.type];
    task_entry entry{number, r.type};
    task_piece piece = r.piece;
    if (r.piece.arguments == nullptr) {
        r.outcome = free_outcomes_.back();
        entry.outcome = outcomes_.get() + r.outcome * outcome_bytes_;
        entry.behind = data_of(number);
        entry.behind_bytes = shape.argument_bytes;
    } else {
        entry.count = piece_of(r);
        entry.first = r.given;
        piece.arguments += r.given * shape.argument_bytes;
        piece.statuses += r.given;
        piece.results += r.given * shape.result_bytes;
        entry.behind = &piece;
        entry.behind_bytes = sizeof piece;
    }
    if (!pe.rings.put(entry)) return false;
    if (r.timeout_seconds > 0 && r.given == 0) {
        limits_.push({clock::now() + span_of(r.timeout_seconds), {number, r.generation}});
    }
    if (entry.count == 0) free_outcomes_.pop_back();
    r.given += entry.count;
    ++r.open;
    if (r.given >= r.count) {
        r.now = stage::given;
        --not_given_;
    }
    if (pe.rings.unpublished() == 1) pe.oldest = clock::now();
    ++pe.open;
    ++pe.given;
    ++open_;
    return true;
}

/// Shows PEs what they have been given, where it is much, or enough beside what they have to do, or old.
void task_queue::publish(clock::time_point now, bool all) {
    bool any = false;
    for (const auto& pe : pes_) {
        const std::uint32_t waits = pe->rings.unpublished();
        if (waits == 0) continue;
        const bool due = waits >= options_.bundle_tasks || 4 * waits >= pe->open - waits ||
                         seconds_of(now - pe->oldest) >= options_.bundle_seconds;
        if (!all && !due) continue;
        pe->rings.publish();
        ++statistics_.bundles;
        any = true;
    }
    if (any) program_->wake();
}

void task_queue::end_late(clock::time_point now) {
    while (!limits_.empty() && limits_.top().end <= now) {
        const task_id id = limits_.top().id;
        limits_.pop();
        record& r = records_[id.record];
        if (r.generation != id.generation || r.now == stage::done) continue;
        // What no PE has of a batch is not given any more.
        if (r.now == stage::ready) r.count = r.given;
        finish(id.record, ending::late);
    }
}

/// A task is done, in whatever way: tells who waits for it.
void task_queue::finish(std::uint32_t number, ending end) {
    std::vector<std::pair<std::uint32_t, ending>> ends{{number, end}};  // followers of a failed task end with it
    while (!ends.empty()) {
        const auto [which, how] = ends.back();
        ends.pop_back();
        record& r = records_[which];
        if (r.now == stage::done) continue;
        if (r.now != stage::given) --not_given_;
        r.now = stage::done;
        r.end = how;
        --undone_;
        statistics_.done += std::max(r.count, 1u);
        if (how != ending::well) ++statistics_.failed;
        if (r.companion != nullptr) {
            ended_.push_back({{which, r.generation}, how == ending::well, how == ending::lost, r.companion});
        }
        for (const auto& [seen, position] : r.watches) seen->done.push_back(position);
        r.watches.clear();
        for (const task_id follower : r.followers) {
            record& f = records_[follower.record];
            if (f.generation != follower.generation || f.now == stage::done) continue;
            if (how != ending::well) {
                ends.emplace_back(follower.record, ending::after_failure);
            } else if (--f.waits_for == 0) {
                f.now = stage::ready;
                ready_[f.priority].push_back(follower);
            }
        }
        r.followers.clear();
        if (which != number && !r.wanted) release(which);
    }
}

void task_queue::hand_over(const while_waiting& waiting) {
    for (;;) {
        {
            const std::lock_guard lock(mutex_);
            if (program_ == nullptr) return;
            progress();
            if (not_given_ == 0) return publish(clock::now(), true);
        }
        waiting();
    }
}

std::uint64_t task_queue::filled() const {
    std::uint64_t sum = 0;
    for (const auto& pe : pes_) sum += pe->rings.filled();
    return sum;
}

bool task_queue::any_wait() const {
    return std::any_of(pes_.begin(), pes_.end(), [](const auto& pe) { return pe->rings.any_wait(); });
}

// The pool's own thread: for bundles that grow old, tasks that follow others and tasks that are late while no thread of
// the application is at the pool.
void task_queue::keep() {
    std::unique_lock lock(mutex_);
    auto nap = min_nap;
    try {
        while (!closing_) {
            const std::uint64_t before = statistics_.done;
            progress();
            idle_ = open_ == 0 && ready_.empty();
            nap = statistics_.done != before || idle_ ? min_nap : std::min(2 * nap, max_nap);
            if (idle_) {
                changed_.wait(lock, [&] { return closing_ || !ready_.empty() || open_ > 0; });
                idle_ = false;
            } else {
                changed_.wait_for(lock, nap);
            }
        }
    } catch (...) {
        // The session has failed or ends: whoever waits for a task is told by it.
    }
}

}  // namespace laneway
