// Knobs of a pool of tasks, and of one task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "laneway/base/error.hpp"

namespace laneway {

struct task_pool_options {
    std::uint32_t capacity = 1 << 20;  ///< tasks and batches that are submitted and not done, at most
    /// For arguments and results of batches, until their futures are gone.
    std::uint64_t batch_bytes = 64 << 20;
    /// A PE is given tasks ahead of those that its workers run: one for each worker, and as many as it has lately done
    /// in this time. More hides the way from the host, less leaves more to other PEs, to priorities and to cancel.
    double ahead_seconds = 1e-3;
    std::uint32_t max_ahead = 0;  ///< of these tasks; 0: 32 for each worker of the PE
    /// Of tasks that others have spawned, and of those that have, so many find room on a PE, where some type spawns.
    std::uint32_t spawned_tasks = 1 << 18;
    /// The same for tasks that triggered operations have started, until their bodies run, where some type is from
    /// lanes.
    std::uint32_t triggered_tasks = 1 << 16;
    /// Tasks for a PE are gathered and shown to it together: when they are so many, or a quarter of what the PE still
    /// has to do, or at this age. 1 shows each at once.
    std::uint32_t bundle_tasks = 64;
    double bundle_seconds = 20e-6;
};

/// Names a task of a pool.
struct task_id {
    std::uint32_t record = 0;
    std::uint32_t generation = 0;  ///< of the record; 0: no task

    friend bool operator==(const task_id&, const task_id&) = default;
};

/// What may be said of one task, or batch, when it is submitted.
struct task_request {
    int priority = 0;            ///< higher ones are given to devices first
    std::vector<task_id> after;  ///< it starts when these are done; if one of them fails, it fails without a start
    /// It fails with timeout_error where it is not done so long after it was given to a device; 0: it may take for
    /// ever. Its worker is free only when the body returns.
    double timeout_seconds = 0;
    bool wait = true;  ///< while the pool is full; else task_queue_full is thrown
    /// Lives until no device works on the task any more: memory that its arguments point to, for instance. Where it is
    /// given, task_queue::take_ended tells of the task's end.
    std::shared_ptr<void> companion = nullptr;
};

/// No task of the pool has this id: it was another pool's, or nobody wants its result any more.
class unknown_task : public usage_error {
public:
    explicit unknown_task(const std::string& what, std::source_location where = std::source_location::current())
        : usage_error(what, where) {}
};

/// The body of a task said fail().
class task_failed : public error {
public:
    explicit task_failed(const std::string& what, std::uint32_t number,
                         std::source_location where = std::source_location::current())
        : error(what, where), number_(number) {}

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }

private:
    std::uint32_t number_;
};

/// The task was cancelled before a device had it.
class task_cancelled : public error {
public:
    explicit task_cancelled(const std::string& what, std::source_location where = std::source_location::current())
        : error(what, where) {}
};

/// The pool holds as many tasks as it can, and the request says not to wait.
class task_queue_full : public error {
public:
    explicit task_queue_full(const std::string& what, std::source_location where = std::source_location::current())
        : error(what, where) {}
};

}  // namespace laneway
