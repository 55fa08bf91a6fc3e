// What PEs are given, and when.
#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/task/task_queue.hpp"

namespace laneway {

namespace {

constexpr std::size_t looked_ahead = 8;
constexpr auto measured_span = std::chrono::microseconds(100);
constexpr auto min_nap = std::chrono::microseconds(200), max_nap = std::chrono::microseconds(5000);

double seconds_of(std::chrono::steady_clock::duration span) { return std::chrono::duration<double>(span).count(); }
std::chrono::steady_clock::duration span_of(double seconds) {
    seconds = std::min(seconds, 1e9);  // what the clock can tell
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

std::string not_done_within(double seconds) {
    std::ostringstream text;
    text << "devices are not done with their tasks after " << seconds
         << " s, for which a program that is to take over waits: the pool goes on as before";
    return text.str();
}

}  // namespace

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

/// What a thread does that submits one task after the other. News lie in memory that devices write, which is slow to
/// look at: PEs that have enough to do are heard now and then.
void task_queue::progress_by_submitter() {
    constexpr std::uint64_t submits_a_look = 32;
    if (++submits_ % submits_a_look == 0) return progress();
    give();
    publish({}, false);  // by their number only: the clock is slow as well
}

void task_queue::drain(pe_state& pe) {
    news_.clear();
    pe.rings.take_news(news_);
    for (std::size_t i = 0; i < news_.size(); ++i) {
        if (i + looked_ahead < news_.size()) prefetch(news_[i + looked_ahead].record);
        hear(pe, news_[i]);
    }
    const auto heard = static_cast<std::uint32_t>(news_.size());
    pe.open -= heard;
    pe.done_lately += heard;
    heard_entries_ += heard;
}

/// How many entries a PE may have: what its workers run and what they will have done before the host looks again.
void task_queue::set_window(pe_state& pe, clock::time_point now) {
    if (now - pe.measured < measured_span) return;
    const double rate = pe.done_lately / seconds_of(now - pe.measured);
    pe.measured = now;
    pe.done_lately = 0;
    const double ahead = std::min(rate * options_.ahead_seconds, static_cast<double>(pe.plan.max_open));
    pe.window = std::clamp(pe.plan.worker_warps + static_cast<std::uint32_t>(ahead), min_window(pe), pe.plan.max_open);
}

/// Gives PEs what is ready, as far as they may have more.
void task_queue::give() {
    if (holder_ != std::thread::id{}) return;
    ready_.hand_out(devices_,
                    [&](std::deque<ready_task>& line, task_devices among) { return give_first(line, among); });
}

/// Takes the first task of the line away, or a range of it; false where devices of these kinds may have no more.
bool task_queue::give_first(std::deque<ready_task>& line, task_devices among) {
    const task_id id = line.front().id;
    if (line.size() > looked_ahead) prefetch(line[looked_ahead].id.record);
    record& r = records_[id.record];
    if (r.generation != id.generation || r.now != stage::ready) {  // cancelled
        line.pop_front();
        return true;
    }
    if (r.is_batch && r.count == 0) {
        line.pop_front();
        finish(id.record, ending::well);
        release_if_unused(id.record);
        return true;
    }
    if (r.is_batch && r.details->copied == r.given) return false;  // its arguments are on their way
    pe_state* const pe = roomiest(among, r.is_batch);
    if (pe == nullptr || !give_entry(id.record, *pe)) return false;
    if (r.now == stage::given) line.pop_front();
    return true;
}

/// The same for a task that has just been submitted, where no other waits and a PE may have it.
bool task_queue::give_at_once(task_id id) {
    if (!ready_.empty() || holder_ != std::thread::id{} || records_[id.record].is_batch) return false;
    pe_state* const pe = roomiest(devices_for(records_[id.record]), false);
    return pe != nullptr && give_entry(id.record, *pe);
}

/// It waits for nothing but a PE.
void task_queue::make_ready(task_id id) {
    record& r = records_[id.record];
    r.now = stage::ready;
    ready_.push(id, r.priority, devices_for(r));
}

/// The PE of these kinds that may have most more; null: none. A single task goes where workers have none, and no batch
/// is, in proportion to their number, else where most may wait.
task_queue::pe_state* task_queue::roomiest(task_devices among, bool for_range) {
    const auto has_resting_workers = [](const pe_state& pe) {
        return pe.open < pe.plan.worker_warps && pe.free_ranges.size() == max_task_ranges;
    };
    const auto is_roomier = [&](const pe_state& a, const pe_state& b) {
        if (for_range) return a.free_ranges.size() > b.free_ranges.size();
        const bool a_rests = has_resting_workers(a), b_rests = has_resting_workers(b);
        if (a_rests != b_rests) return a_rests;
        const std::uint64_t a_room = a_rests ? a.plan.worker_warps : a.window;
        const std::uint64_t b_room = b_rests ? b.plan.worker_warps : b.window;
        return a.open * b_room < b.open * a_room;
    };
    pe_state* best = nullptr;
    for (const auto& pe : pes_) {
        if ((pe->kind & among) == task_devices::none) continue;
        if (pe->open >= pe->window || (for_range && pe->free_ranges.empty())) continue;
        if (best == nullptr || is_roomier(*pe, *best)) best = pe.get();
    }
    return best;
}

/// The next range of a batch: so many tasks, of which a warp takes a part at a time. Parts shrink towards the batch's
/// end, as devices and tasks differ in speed; but none takes less time than it costs to take it, nor more than half of
/// that which the PE may have tasks ahead. What tasks take is not known until some of the batch are done: then other
/// batches of their type tell, if they have not changed.
task_queue::range_size task_queue::next_range(const record& r, const pe_state& pe) const {
    constexpr std::uint64_t min_ns = 20'000, first_tasks = 8, guessed_tasks = 64, parts_each = 2;
    const bool is_guess = r.details->task_ns == 0;
    const std::uint64_t left = r.count - r.given, task_ns = is_guess ? task_ns_[r.type] : r.details->task_ns;
    const auto max_ns = static_cast<std::uint64_t>(options_.ahead_seconds * 1e9 / 2);
    std::uint64_t most = task_ns == 0 ? first_tasks : max_ns / task_ns;
    std::uint64_t least = task_ns == 0 ? 1 : std::max<std::uint64_t>(min_ns / task_ns, 1);
    if (is_guess) least = std::min(least, first_tasks);
    most = std::max(is_guess ? std::min(most, guessed_tasks) : most, least);
    const std::uint64_t copied = r.details->copied - r.given;  // of which all workers have some
    const std::uint64_t workers = workers_on_[static_cast<std::size_t>(devices_for(r))];
    const std::uint64_t share = std::min(left / (2 * parts_each * workers), copied / pe.plan.worker_warps);
    const std::uint64_t part = std::clamp(share, least, most);
    const std::uint64_t tasks = std::min(copied, parts_each * part * pe.plan.worker_warps);
    return {static_cast<std::uint32_t>(std::min<std::uint64_t>(tasks, task_range::max_tasks)),
            static_cast<std::uint32_t>(part)};
}

/// Gives a PE a task or the next range of a batch; false where its rings are full.
bool task_queue::give_entry(std::uint32_t number, pe_state& pe) {
    record& r = records_[number];
    const task_shape& shape = shapes_[r.type];
    task_entry entry{{number, r.type, 0, 0}};
    task_piece piece{};
    auto& places = r.is_batch ? pe.free_ranges : pe.free_outcomes;
    entry.head.place = places.back();
    if (!r.is_batch) {
        entry.behind = data_of(number);
        entry.behind_bytes = shape.argument_bytes;
    } else {
        const range_size next = next_range(r, pe);
        entry.head.count = next.tasks;
        piece = r.details->piece;
        if (r.same_arguments) {
            entry.head.type |= task_slot::same_arguments;
        } else {
            piece.arguments += r.given * shape.argument_bytes;
        }
        piece.results += r.given * shape.result_bytes;
        piece.statuses += r.given;
        piece.first = r.given;
        piece.part = next.part;
        entry.behind = &piece;
        entry.behind_bytes = sizeof piece;
    }
    if (!pe.rings.put(entry)) return false;
    places.pop_back();
    r.outcome = entry.head.place;
    if (r.details != nullptr && r.details->timeout_seconds > 0 && r.given == 0) {
        limits_.push({clock::now() + span_of(r.details->timeout_seconds), {number, r.generation}});
    }
    r.given += entry.head.count;
    ++r.open;
    if (r.given >= r.count) {
        r.now = stage::given;
        give_up_place(r);
    }
    if (pe.rings.unpublished() == 1) pe.oldest = clock::now();
    ++pe.open;
    ++pe.given;
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

void task_queue::hand_over() {
    std::unique_lock lock(mutex_);
    if (program_ == nullptr || holder_ == std::this_thread::get_id()) return;
    const std::uint64_t last = epoch_++;  // what others submit meanwhile is of the next
    if (not_given_now_ != 0) not_given_[last] = std::exchange(not_given_now_, 0);
    work_until(lock, [&] { return not_given_.empty() || not_given_.begin()->first > last; });
    if (program_ != nullptr) publish(clock::now(), true);
}

void task_queue::hold_back(double seconds, const std::function<void()>& use) {
    std::unique_lock lock(mutex_);
    refuse_without_session();
    holder_ = std::this_thread::get_id();
    struct held {
        ~held() {
            if (!lock.owns_lock()) lock.lock();
            holder = {};
            queue_changed.notify_all();
        }
        std::unique_lock<std::mutex>& lock;
        std::thread::id& holder;
        std::condition_variable& queue_changed;
    } const until_left{lock, holder_, changed_};
    const auto end = clock::now() + span_of(seconds);
    work_until(lock, [&] { return has_none() || clock::now() > end; });
    if (!has_none()) throw timeout_error(not_done_within(seconds));
    lock.unlock();
    use();
}

/// Whether no device has a task.
bool task_queue::has_none() const {
    return std::all_of(pes_.begin(), pes_.end(), [](const auto& pe) { return pe->open == 0; });
}
bool task_queue::is_idle() const { return ready_.empty() && has_none(); }

// The pool's own thread: for bundles that grow old, tasks that follow others and tasks that are late while no thread of
// the application is at the pool.
void task_queue::keep() {
    std::unique_lock lock(mutex_);
    auto nap = min_nap;
    try {
        while (!closing_) {
            const std::uint64_t before = statistics_.done;
            progress();
            idle_ = is_idle();
            nap = statistics_.done != before || idle_ ? min_nap : std::min(2 * nap, max_nap);
            if (idle_) {
                changed_.wait(lock, [&] { return closing_ || !is_idle(); });
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
