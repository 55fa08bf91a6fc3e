// The host's part of a pool of tasks: what has been submitted, what each PE has, and what is done.
//
// Whoever submits or waits also does the pool's work, if nobody else is at it: hears what is done, and gives PEs more.
// So a lone task takes no thread's wake-up, and a thread of the pool's own is needed only where all others are away.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <queue>
#include <thread>

#include "laneway/memory/sub_allocator.hpp"
#include "laneway/run/resident_program.hpp"
#include "laneway/task/ready_tasks.hpp"
#include "laneway/task/task_options.hpp"
#include "laneway/task/task_rings.hpp"

namespace laneway {

/// Sizes of a type of task, and where it runs.
struct task_shape {
    std::size_t argument_bytes = 0;
    std::size_t result_bytes = 0;
    task_devices devices = task_devices::all;
};

/// What a pool has done so far.
struct task_statistics {
    std::uint64_t submitted = 0;         ///< tasks, those of batches included
    std::uint64_t done = 0;              ///< of these, those that ended in any way
    std::uint64_t failed = 0;            ///< of these, entries whose future throws
    std::vector<std::uint64_t> entries;  ///< by PE: tasks and pieces of batches that it was given
    std::uint64_t bundles = 0;           ///< times that entries were shown to a PE
    std::uint64_t workers = 0;           ///< of all PEs; 0 before the first session
};

/// A task with a companion, after its end.
struct ended_task {
    task_id id;
    bool well = false;  ///< else task_queue::wait throws why
    bool lost = false;  ///< the session ended before it was done
    std::shared_ptr<void> companion;
};

/// Called with tasks as they are done, in that order, on the thread that waits for them.
using task_visit = std::function<void(std::size_t)>;

/// Any thread may use it.
class task_queue : public session_feed {
public:
    task_queue(std::vector<task_shape> shapes, task_nodes_use nodes, const task_pool_options& options);
    ~task_queue() override;
    task_queue(const task_queue&) = delete;
    task_queue& operator=(const task_queue&) = delete;

    /// Throws usage_error while another session has the pool.
    void attach(machine& machine, const comm_plan& plan) override;
    /// The same for a run, in which lanes alone submit tasks. Behind one of the same devices and sizes that has ended
    /// well it finds what that one had.
    void begin_run(machine& machine, const comm_plan& plan);
    /// The run has ended well.
    void end_run();
    /// Of the session for which attach has been called.
    [[nodiscard]] const task_rings& rings(int pe) const { return pes_[static_cast<std::size_t>(pe)]->rings; }
    [[nodiscard]] task_failures& failures() { return failures_; }
    void connect(resident_program& program) override;
    /// Tasks that have not been done end without a result.
    void disconnect(bool) noexcept override;

    /// Submits a task of a type, or a batch of `count`, whose arguments lie one after the other, or are the `same` for
    /// all. Throws usage_error for what cannot be, task_queue_full, and what the session throws.
    task_id submit(std::uint32_t type, const void* arguments, const task_request& request);
    task_id submit_batch(std::uint32_t type, const void* arguments, std::uint32_t count, const task_request& request,
                         bool same = false);
    /// No more is asked of the task: its place is free when it is done.
    void forget(task_id id) noexcept;

    [[nodiscard]] bool is_done(task_id id);
    /// Whether it has been cancelled: it is on the host, and never starts. False where a device has it, or had it.
    bool cancel(task_id id);
    /// Cancels all that no device has.
    void cancel_all();
    /// Waits until it is done; throws what it threw, task_failed, task_cancelled or timeout_error. Returns its result,
    /// or the results of a batch; valid until it is forgotten.
    const std::byte* wait(task_id id);
    /// Waits for a batch; the status of each of its tasks, see task_status. Throws as wait where some have not run.
    [[nodiscard]] const std::uint32_t* statuses(task_id id);
    /// Waits for all of them, and calls `visit` with the position of each when it is done.
    void wait_each(const std::vector<task_id>& ids, const task_visit& visit);
    /// Waits for one of them; the position of that which was done first.
    [[nodiscard]] std::size_t wait_any(const std::vector<task_id>& ids);
    /// Positions of those that are done, in that order; does not wait.
    [[nodiscard]] std::vector<std::size_t> poll(const std::vector<task_id>& ids);

    /// Whether a device has it, or a part of it, and it is not done.
    [[nodiscard]] bool is_given(task_id id);

    /// Waits until a task with a companion has ended, or the session, or wake_listener is called, and gives all such
    /// tasks that have ended since the last call, in that order. One thread at a time. Throws what ended the session.
    [[nodiscard]] std::vector<ended_task> take_ended();
    /// The first of these, if there is one; does not wait.
    [[nodiscard]] bool take_one_ended(ended_task& ended);
    /// Lets take_ended return, now or, where no thread is in it, the next time.
    void wake_listener();
    /// Tasks with a companion whose end take_ended has not given.
    [[nodiscard]] std::uint64_t listened_for();

    [[nodiscard]] task_statistics statistics();

    /// Waits until devices are done with the tasks that they have, and calls `use` before they are given others; what
    /// the session has beside the pool goes on. No deadline of the session passes meanwhile. One thread at a time.
    /// Throws timeout_error where devices have tasks for longer than so many seconds, which then go on, what ended the
    /// session, and what `use` throws.
    void hold_back(double seconds, const std::function<void()>& use);

    [[nodiscard]] std::uint64_t filled() const override;
    [[nodiscard]] bool any_wait() const override;
    void hand_over() override;

private:
    using clock = std::chrono::steady_clock;
    static constexpr std::uint32_t chunk_records = 1024;

    enum class stage : std::uint8_t { free, held, ready, given, done };
    enum class ending : std::uint8_t { well, failed, cancelled, after_failure, late, lost };

    struct watch {
        std::deque<std::size_t> done;  ///< positions
    };
    class watching;
    /// For arguments, results and statuses of batches.
    struct batch_memory {
        batch_memory(const std::shared_ptr<device>& user, std::size_t size)
            : bytes(allocate_host_visible(user, size)), pieces(bytes.get(), size) {}

        std::shared_ptr<std::byte> bytes;
        sub_allocator pieces;
    };
    /// What few tasks have, or batches.
    struct record_details {
        std::shared_ptr<batch_memory> memory;  ///< of a batch
        task_piece piece{};                    ///< of the whole batch
        std::uint32_t copied = 0;              ///< tasks of the batch whose arguments devices can read
        std::uint32_t culprit = 0;             ///< number of the task that has failed in its batch
        std::uint32_t task_ns = 0;             ///< of a batch: the same as task_ns_
        double timeout_seconds = 0;
        std::exception_ptr thrown;  ///< by its body
        std::vector<task_id> followers;
        std::shared_ptr<void> companion;
        std::vector<std::pair<watch*, std::size_t>> watches;
    };
    /// One cache line: there may be a million of them, which are seen in the order in which devices end them.
    struct alignas(64) record {
        std::uint32_t generation = 1;
        stage now = stage::free;
        ending end = ending::well;
        bool wanted = false;  ///< a future exists
        bool is_batch = false;
        bool same_arguments = false;  ///< of a batch
        bool copying = false;         ///< its arguments, by the thread that submits it: the record stays
        int priority = 0;
        std::uint32_t type = 0;
        std::uint32_t count = 0;  ///< of a batch
        std::uint32_t given = 0;  ///< tasks of the batch that PEs have been given
        std::uint32_t open = 0;   ///< entries that PEs have been given and not done
        std::uint32_t waits_for = 0;
        std::uint32_t outcome = 0;  ///< of a single task that a PE has
        std::uint32_t status = 0;   ///< of a task that has failed
        /// Until it is given: its epoch, see hand_over. Once it is done: how many were done before it.
        std::uint64_t epoch = 0;
        std::unique_ptr<record_details> details;

        record_details& detailed() {
            if (details == nullptr) details = std::make_unique<record_details>();
            return *details;
        }
        /// The record of another task, with nothing of the last one. It is none until it has been submitted.
        void begin() {
            end = ending::well;
            wanted = true;
            is_batch = same_arguments = copying = false;
            count = given = open = waits_for = status = 0;
        }
    };
    struct pe_state {
        pe_state(const std::shared_ptr<device>& device, const task_rings_plan& made_by)
            : user(device), plan(made_by), rings(user, plan),
              kind(user->is_gpu() ? task_devices::gpu : task_devices::cpu) {
            for (std::uint32_t i = plan.max_open; i > 0; --i) free_outcomes.push_back(i - 1);
            for (std::uint32_t i = max_task_ranges; i > 0; --i) free_ranges.push_back(i - 1);
        }

        std::shared_ptr<device> user;
        task_rings_plan plan;
        task_rings rings;
        task_devices kind;
        std::uint32_t open = 0;    ///< entries given and not done
        std::uint32_t window = 0;  ///< how many there may be
        std::uint64_t given = 0;
        std::vector<std::uint32_t> free_outcomes, free_ranges;
        std::uint32_t done_lately = 0;
        clock::time_point measured{};
        clock::time_point oldest{};  ///< of those that are not published
    };
    struct limit {
        clock::time_point end;
        task_id id;
        bool operator>(const limit& other) const { return end > other.end; }
    };

    [[nodiscard]] record& at(task_id id);
    task_id add(std::unique_lock<std::mutex>& lock, std::uint32_t type, const task_request& request);
    task_id enqueue(task_id id, const task_request& request);
    // What follows is called with the mutex.
    void work_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& until);
    [[nodiscard]] std::uint64_t signs_of_life() const;
    void wait_outside(std::unique_lock<std::mutex>& lock, const while_waiting& waiting);
    void progress();
    void progress_by_submitter();
    void drain(pe_state& pe);
    /// One entry for each worker, and one that it finds when it is through.
    [[nodiscard]] static std::uint32_t min_window(const pe_state& pe) {
        return std::min(pe.plan.max_open, 2 * pe.plan.worker_warps);
    }
    void set_window(pe_state& pe, clock::time_point now);
    void give();
    [[nodiscard]] bool give_first(std::deque<ready_task>& line, task_devices among);
    [[nodiscard]] bool give_at_once(task_id id);
    void make_ready(task_id id);
    [[nodiscard]] task_devices devices_for(const record& r) const { return shapes_[r.type].devices & devices_; }
    [[nodiscard]] pe_state* roomiest(task_devices among, bool for_range);
    [[nodiscard]] bool give_entry(std::uint32_t number, pe_state& pe);
    void hear(pe_state& pe, const task_news& told);
    void hear_single(pe_state& pe, const task_news& told);
    [[nodiscard]] ending read_batch(std::uint32_t number);
    void publish(clock::time_point now, bool all);
    void end_late(clock::time_point now);
    void finish(std::uint32_t number, ending end);
    void finish_one(std::uint32_t number, ending end);
    void release_if_unused(std::uint32_t number);
    void release(std::uint32_t number);
    void take_place(record& r);
    void give_up_place(const record& r);
    [[nodiscard]] static bool has_failed(const record& r);
    struct range_size {
        std::uint32_t tasks, part;
    };
    [[nodiscard]] range_size next_range(const record& r, const pe_state& pe) const;
    void copy_arguments(std::unique_lock<std::mutex>& lock, task_id id, const void* arguments);
    [[noreturn]] void throw_ending(task_id id);
    [[nodiscard]] std::vector<task_rings_plan> plans_for(const comm_plan& plan, bool for_host) const;
    [[nodiscard]] bool has_pes(const machine& machine, const std::vector<task_rings_plan>& plans) const;
    void make_pes(machine& machine, const std::vector<task_rings_plan>& plans);
    void refuse_second_user() const;
    void refuse_without_session() const;
    void refuse_elsewhere(std::uint32_t type) const;
    [[nodiscard]] std::vector<std::size_t> done_among(const std::vector<task_id>& ids);
    void lose_all();
    [[nodiscard]] bool has_none() const;
    [[nodiscard]] bool is_idle() const;
    void keep();

    /// A task will soon be looked at: records are many, and few of them are in this core's cache.
    void prefetch(std::uint32_t number) const {
        __builtin_prefetch(&records_[number], 1);
        __builtin_prefetch(data_of(number), 1);
    }
    /// Arguments of a single task until a PE has it, then its result.
    [[nodiscard]] std::byte* data_of(std::uint32_t number) const {
        return data_[number / chunk_records].get() + number % chunk_records * data_bytes_;
    }

    std::vector<task_shape> shapes_;
    std::vector<std::uint32_t> task_ns_;  ///< by type: what a task of a batch has lately taken; 0: not known
    task_nodes_use nodes_;
    task_pool_options options_;
    std::size_t argument_bytes_ = 0;  ///< of the longest type
    std::size_t result_bytes_ = 0;    ///< the same
    std::size_t data_bytes_ = 0;      ///< of the longest arguments or result

    std::mutex mutex_;
    std::condition_variable changed_;  ///< for the pool's own thread
    resident_program* program_ = nullptr;
    task_failures failures_;
    std::vector<std::unique_ptr<pe_state>> pes_;
    bool pes_are_clean_ = false;  ///< a run has had them, and has ended well
    std::shared_ptr<batch_memory> batches_;
    std::deque<record> records_;
    std::vector<std::unique_ptr<std::byte[]>> data_;  ///< of the records, chunk by chunk
    std::vector<std::uint32_t> free_;                 ///< records
    ready_tasks ready_;
    std::priority_queue<limit, std::vector<limit>, std::greater<>> limits_;
    std::uint32_t undone_ = 0;                          ///< records
    std::map<std::uint64_t, std::uint64_t> not_given_;  ///< by epoch before this one: those that wait on the host
    std::uint64_t epoch_ = 0;                           ///< of what is submitted now
    std::uint64_t not_given_now_ = 0;                   ///< of this epoch: the same
    std::uint64_t session_ = 0;                         ///< sessions so far
    std::uint64_t heard_entries_ = 0;                   ///< that PEs are done with, so far
    std::vector<task_news> news_;                       ///< of the PE that is being heard
    std::uint64_t submits_ = 0;                         ///< tasks that could start at once, so far
    std::uint32_t away_ = 0;                            ///< threads in wait_outside
    std::uint64_t workers_ = 0;
    task_devices devices_ = task_devices::none;  ///< of the session
    std::array<std::uint64_t, 4> workers_on_{};  ///< by kinds of devices
    std::uint64_t ended_tasks_ = 0;              ///< records that were done, so far
    task_statistics statistics_;
    std::deque<ended_task> ended_;                    ///< that take_ended has not given
    std::vector<std::shared_ptr<void>> left_behind_;  ///< companions of tasks that a device had when the session ended
    std::uint64_t listened_for_ = 0;
    std::condition_variable heard_;  ///< for take_ended
    bool listener_woken_ = false;
    std::thread::id holder_{};  ///< who is in hold_back
    bool idle_ = false;         ///< the pool's own thread waits for work
    bool closing_ = false;
    std::thread thread_;
};

}  // namespace laneway
