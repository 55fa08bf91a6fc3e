// A pool of tasks with its devices and its session, for callers that know the types of tasks by number: Python above
// all. The host's view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "laneway/base/options.hpp"
#include "laneway/task/task_options.hpp"
#include "laneway/task/task_queue.hpp"

namespace laneway::apps {

/// The types that the pool has; each has a header.
enum class built_in : std::uint32_t { adder, spin, matmul, mandelbrot, call_body, call_body_cpu, call_body_gpu };

struct task_service_options {
    options job;  ///< devices; the deadline is the longest time in which no task is done while some are open
    task_pool_options pool;
    /// For operands, where the pool has GPUs: those of CPU devices come from the heap.
    std::uint64_t operand_bytes = 256 << 20;
};

/// One task of a type, or a batch of them.
struct task_submission {
    built_in type = built_in::adder;
    std::uint32_t count = 0;  ///< of a batch; 0: a single task
    /// Of all tasks, one after the other: arguments, or inputs where the type takes operands.
    std::span<const std::byte> inputs;
    std::uint64_t setting = 0;       ///< where the type takes operands, as the two above; see task_operands
    std::uint64_t output_bytes = 0;  ///< of a task
    task_request request;            ///< but for its companion
    void* tag = nullptr;             ///< comes back with the task's end
};

/// Bodies for tasks of the types call_body and call_body_gpu, as GPUs have them.
struct linked_bodies {
    /// By the task's setting: its number, with which linked code knows it.
    std::unordered_map<std::uint64_t, std::uint32_t> numbers;
    /// By architecture: linkable_pool() and all bodies, as machine code. None: GPUs have what they need.
    std::map<int, std::vector<std::byte>> code;
};

/// A task, or a batch, that has ended.
struct task_end {
    void* tag = nullptr;
    std::exception_ptr failure;            ///< null where it ended well; of a batch, the first task's that has failed
    bool is_cancelled = false;             ///< and so it has failed
    std::size_t failed_task = 0;           ///< its number, where `in_task` says that it is one
    bool in_task = false;                  ///< whether `failure` is that of one task of a batch
    const std::byte* results = nullptr;    ///< of all tasks; until the next call of take_ended, unless `memory` is kept
    std::size_t result_bytes = 0;          ///< of all tasks
    std::shared_ptr<const void> memory{};  ///< that holds the results; null: the pool does
};

/// Devices are opened, and the session is started, by the constructor. Any thread, but for what says otherwise.
class task_service {
public:
    /// Throws as runtime and runtime::start do.
    explicit task_service(const task_service_options& options);
    /// As end(), where close() was not called. Devices on which a task did not end stay open for good.
    ~task_service();
    task_service(const task_service&) = delete;
    task_service& operator=(const task_service&) = delete;

    /// One name a PE.
    [[nodiscard]] std::vector<std::string> devices() const;
    [[nodiscard]] bool has_gpus() const;
    /// Of its GPUs, each once: 90 where the compute capability is 9.0.
    [[nodiscard]] std::vector<int> architectures() const;

    /// Has a program with these bodies, in the place of all before, take over: GPUs finish what they have, and what is
    /// submitted meanwhile waits. Throws what ended the session, timeout_error where devices have tasks for longer than
    /// the deadline, and cuda_error for code that a GPU does not take; then the pool goes on with the bodies of before.
    void link(const linked_bodies& bodies);
    /// Throws as task_queue::submit; usage_error for inputs of a wrong size, and a body that GPUs have not;
    /// unknown_task where a task that it is to follow has ended and been taken.
    task_id submit(const task_submission& submission);
    /// Waits until tasks have ended, the session has, or wake() is called, and gives those that have. One thread at a
    /// time. Throws what ended the session; the next call, after close(), gives the tasks that this has ended.
    [[nodiscard]] std::vector<task_end> take_ended();
    void wake();
    /// Tasks and batches whose end take_ended has not given.
    [[nodiscard]] std::uint64_t open();
    /// As task_queue; false for a task that has ended and been taken.
    bool cancel(task_id id);
    void cancel_all();
    [[nodiscard]] bool is_given(task_id id);
    [[nodiscard]] task_statistics statistics();

    /// Waits until all is done and ends the session. Throws what has ended it before. One thread at a time, as end().
    void close();
    /// Ends the session at once: what is not done is lost.
    void end();

    class implementation;

private:
    std::unique_ptr<implementation> implementation_;
};

}  // namespace laneway::apps
