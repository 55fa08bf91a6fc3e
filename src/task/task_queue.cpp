#include "laneway/task/task_queue.hpp"

#include <algorithm>
#include <cstring>
#include <system_error>

#include "laneway/base/error.hpp"

namespace laneway {

namespace {

constexpr std::uint32_t max_max_ahead = 1 << 24;
constexpr std::uint32_t default_max_ahead = 32;  // entries a worker

std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

task_queue::task_queue(std::vector<task_shape> shapes, task_nodes_use nodes, const task_pool_options& options)
    : shapes_(std::move(shapes)), task_ns_(shapes_.size()), nodes_(nodes), options_(options) {
    if (options_.capacity < 1) throw usage_error("capacity: a pool holds one task at least");
    if (options_.bundle_tasks < 1) throw usage_error("bundle_tasks: 1 or more");
    for (const auto& [seconds, name] :
         {std::pair{options_.ahead_seconds, "ahead_seconds"}, {options_.bundle_seconds, "bundle_seconds"}}) {
        if (!(seconds >= 0 && seconds <= 3600)) throw usage_error(std::string(name) + ": between 0 and 3600");
    }
    if (std::max({options_.max_ahead, options_.spawned_tasks, options_.triggered_tasks}) > max_max_ahead) {
        throw usage_error("max_ahead, spawned_tasks, triggered_tasks: " + std::to_string(max_max_ahead) + " at most");
    }
    for (const task_shape& shape : shapes_) {
        argument_bytes_ = std::max(argument_bytes_, shape.argument_bytes);
        result_bytes_ = std::max(result_bytes_, shape.result_bytes);
    }
    data_bytes_ = (std::max(argument_bytes_, result_bytes_) + 15) / 16 * 16;
}

task_queue::~task_queue() { disconnect(true); }

void task_queue::attach(machine& machine, const comm_plan& plan) {
    const std::lock_guard lock(mutex_);
    refuse_second_user();
    make_pes(machine, plans_for(plan, true));
    // Every PE reads batches: memory that GPUs reach, if there is one.
    int user = 0;
    while (machine.has_gpus() && !machine.device(user)->is_gpu()) ++user;
    // Futures that outlive their session keep its memory, which other devices may not reach.
    batches_ = std::make_shared<batch_memory>(machine.device(user), options_.batch_bytes);
}

void task_queue::begin_run(machine& machine, const comm_plan& plan) {
    if (!nodes_.from_lanes) {
        throw usage_error(
            "a pool of tasks in a run: host threads submit in sessions alone, and none of its types is from_lanes");
    }
    const std::lock_guard lock(mutex_);
    refuse_second_user();
    const auto plans = plans_for(plan, false);
    if (pes_are_clean_ && has_pes(machine, plans)) {
        for (const auto& pe : pes_) pe->rings.renew();
    } else {
        make_pes(machine, plans);
    }
    pes_are_clean_ = false;
}

void task_queue::end_run() {
    const std::lock_guard lock(mutex_);
    pes_are_clean_ = true;
}

void task_queue::refuse_second_user() const {
    if (program_ != nullptr) throw usage_error("the pool belongs to a session that has not been stopped");
}

/// `for_host`: host threads submit tasks.
std::vector<task_rings_plan> task_queue::plans_for(const comm_plan& plan, bool for_host) const {
    std::vector<task_rings_plan> plans;
    for (const pe_grid& grid : plan.grids) {
        const auto workers = static_cast<std::uint32_t>(grid.worker_warps());
        const std::uint32_t ahead = options_.max_ahead != 0 ? options_.max_ahead : default_max_ahead * workers;
        plans.push_back({static_cast<std::uint32_t>(grid.worker_blocks()), workers, argument_bytes_, result_bytes_,
                         for_host ? workers + ahead : 1, nodes_.spawned ? options_.spawned_tasks : 0,
                         nodes_.from_lanes ? options_.triggered_tasks : 0, nodes_});
    }
    return plans;
}

/// Whether what is there was made for these devices and plans.
bool task_queue::has_pes(const machine& machine, const std::vector<task_rings_plan>& plans) const {
    if (pes_.size() != plans.size()) return false;
    for (std::size_t p = 0; p < plans.size(); ++p) {
        if (pes_[p]->user != machine.device(static_cast<int>(p)) || !(pes_[p]->plan == plans[p])) return false;
    }
    return true;
}

void task_queue::make_pes(machine& machine, const std::vector<task_rings_plan>& plans) {
    pes_are_clean_ = false;
    pes_.clear();
    workers_ = 0;
    devices_ = task_devices::none;
    workers_on_ = {};
    for (int pe = 0; pe < machine.n_pes(); ++pe) {
        const task_rings_plan& plan = plans[static_cast<std::size_t>(pe)];
        pe_state& made = *pes_.emplace_back(std::make_unique<pe_state>(machine.device(pe), plan));
        made.window = min_window(made);
        workers_ += plan.worker_warps;
        devices_ = devices_ | made.kind;
        for (const auto some : {task_devices::cpu, task_devices::gpu, task_devices::all}) {
            if ((made.kind & some) != task_devices::none)
                workers_on_[static_cast<std::size_t>(some)] += plan.worker_warps;
        }
    }
}

void task_queue::connect(resident_program& program) {
    const std::lock_guard lock(mutex_);
    closing_ = false;
    program_ = &program;
    ++session_;
    try {
        thread_ = std::thread([this] { keep(); });
    } catch (const std::system_error& failed) {
        program_ = nullptr;
        throw system_error("the thread of a pool of tasks: " + failed.code().message());
    }
}

void task_queue::disconnect(bool) noexcept {
    {
        std::unique_lock lock(mutex_);
        if (program_ == nullptr) return;
        for (const auto& pe : pes_) drain(*pe);
        lose_all();
        program_ = nullptr;
        closing_ = true;
        changed_.notify_all();
        heard_.notify_all();
        changed_.wait(lock, [&] { return away_ == 0; });  // threads that look at the program without the mutex
    }
    thread_.join();
}

void task_queue::refuse_without_session() const {
    if (program_ == nullptr) throw usage_error("the pool has no session: tasks run from runtime::start to stop");
}

/// Throws where no device of the session runs tasks of this type.
void task_queue::refuse_elsewhere(std::uint32_t type) const {
    const task_devices devices = shapes_[type].devices;
    if ((devices & devices_) != task_devices::none) return;
    throw usage_error("task type " + std::to_string(type) + " runs on " +
                      (devices == task_devices::gpu ? "GPUs" : "CPU devices") + " only, and the session has none");
}

task_queue::record& task_queue::at(task_id id) {
    if (id.generation == 0 || id.record >= records_.size() || records_[id.record].generation != id.generation ||
        records_[id.record].now == stage::free) {
        throw unknown_task("the pool has no such task: its future is gone, or it is of another pool");
    }
    return records_[id.record];
}

/// Takes a record for a task that is about to be submitted.
task_id task_queue::add(std::unique_lock<std::mutex>& lock, std::uint32_t type, const task_request& request) {
    refuse_without_session();
    program_->refuse_after_failure();
    program_->refuse_after_stop();
    if (type >= shapes_.size()) {
        throw usage_error("task type " + std::to_string(type) + ": the pool has " + std::to_string(shapes_.size()));
    }
    refuse_elsewhere(type);
    if (!(request.timeout_seconds >= 0)) throw usage_error("timeout_seconds: 0 or more");
    for (const task_id before : request.after) (void)at(before);
    if (undone_ >= options_.capacity) {
        progress();
        if (undone_ >= options_.capacity && !request.wait) {
            throw task_queue_full("the pool holds " + std::to_string(undone_) +
                                  " tasks that are not done, as many as its capacity");
        }
        work_until(lock, [&] { return undone_ < options_.capacity; });
        refuse_without_session();
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
    r.begin();
    r.type = type;
    r.priority = request.priority;
    if (request.timeout_seconds > 0) r.detailed().timeout_seconds = request.timeout_seconds;
    return {number, r.generation};
}

/// Lets a task wait for others, or for a PE. Where this throws, the task has not been submitted.
task_id task_queue::enqueue(task_id id, const task_request& request) {
    record& r = records_[id.record];
    bool in_vain = false;
    try {
        // Looked at again: futures may have gone while this one waited for room.
        for (const task_id before : request.after) in_vain = in_vain || has_failed(at(before));
    } catch (...) {
        release(id.record);
        throw;
    }
    r.now = stage::held;
    ++undone_;
    take_place(r);
    statistics_.submitted += std::max(r.count, 1u);
    if (request.companion != nullptr) {
        r.detailed().companion = request.companion;
        if (listened_for_++ == 0) heard_.notify_all();
    }
    if (in_vain) {
        finish(id.record, ending::after_failure);
        return id;
    }
    for (const task_id before : request.after) {
        record& other = records_[before.record];
        if (other.now == stage::done) continue;
        other.detailed().followers.push_back(id);
        ++r.waits_for;
    }
    if (r.waits_for == 0) {
        r.now = stage::ready;
        try {
            if (!give_at_once(id)) make_ready(id);
            progress_by_submitter();
        } catch (...) {
            // The session fails or ends: the task is lost with it, and whoever waits for it is told.
        }
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
                                 const task_request& request, bool same) {
    std::unique_lock lock(mutex_);
    const task_id id = add(lock, type, request);
    const task_shape& shape = shapes_[type];
    const std::size_t results_at = rounded((same ? 1 : count) * shape.argument_bytes);
    const std::size_t statuses_at = results_at + rounded(count * shape.result_bytes);
    const std::size_t bytes = statuses_at + count * sizeof(std::uint32_t);
    std::byte* memory = nullptr;
    const std::shared_ptr<batch_memory> from = batches_;
    const auto found = [&] {
        memory = static_cast<std::byte*>(from->pieces.try_allocate(bytes, 64));
        return memory != nullptr;
    };
    try {
        const bool may_wait = request.wait && bytes <= options_.batch_bytes && undone_ > 0;
        if (!found() && may_wait) work_until(lock, [&] { return found() || undone_ == 0; });
        refuse_without_session();
        if (memory == nullptr) {
            throw task_queue_full("a batch of " + std::to_string(count) + " tasks takes " + std::to_string(bytes) +
                                  " bytes: batch_bytes is " + std::to_string(options_.batch_bytes) +
                                  ", of which futures hold " + std::to_string(from->pieces.statistics().used_bytes));
        }
    } catch (...) {
        if (memory != nullptr) from->pieces.deallocate(memory);
        release(id.record);
        throw;
    }
    record& r = records_[id.record];
    r.is_batch = true;
    r.same_arguments = same;
    r.count = count;
    r.copying = true;
    r.detailed().memory = from;
    r.details->piece = {memory, memory + results_at, reinterpret_cast<std::uint32_t*>(memory + statuses_at), 0, 0};
    (void)enqueue(id, request);
    copy_arguments(lock, id, arguments);
    return id;
}

/// Copies the arguments of a batch to where devices read them, without the mutex, and gives them what has been copied
/// meanwhile. The batch may end at any time, also before it has begun.
void task_queue::copy_arguments(std::unique_lock<std::mutex>& lock, task_id id, const void* arguments) {
    constexpr std::size_t at_once = 2 << 20;
    record& r = records_[id.record];
    const std::size_t bytes = shapes_[r.type].argument_bytes;
    const auto some = static_cast<std::uint32_t>(std::max<std::size_t>(at_once / bytes, 1));
    auto* const to = const_cast<std::byte*>(r.details->piece.arguments);
    const auto* const from = static_cast<const std::byte*>(arguments);
    for (std::uint32_t& n = r.details->copied; n < r.count && r.now != stage::done;) {
        const std::uint32_t next = r.same_arguments ? r.count : std::min(some, r.count - n);
        const std::size_t at = n * bytes, size = (r.same_arguments ? 1 : next) * bytes;
        lock.unlock();
        std::memcpy(to + at, from + at, size);
        lock.lock();
        n += next;
        try {
            if (program_ != nullptr) progress();
        } catch (...) {
            // As in enqueue.
        }
    }
    r.copying = false;
    release_if_unused(id.record);
}

std::uint64_t task_queue::filled() const {
    std::uint64_t sum = 0;
    for (const auto& pe : pes_) sum += pe->rings.filled();
    return sum;
}

bool task_queue::any_wait() const {
    return std::any_of(pes_.begin(), pes_.end(), [](const auto& pe) { return pe->rings.any_wait(); });
}

}  // namespace laneway
