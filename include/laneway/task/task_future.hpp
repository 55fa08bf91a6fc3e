// What a host thread has of a task that it has submitted.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "laneway/task/task_queue.hpp"

namespace laneway {

/// Owner of a task's place in the pool: when it is gone, the task still runs, and its result goes nowhere. Bears the
/// end of the pool and of the session.
class task_handle {
public:
    task_handle() = default;
    task_handle(std::shared_ptr<task_queue> queue, task_id id) : queue_(std::move(queue)), id_(id) {}
    task_handle(task_handle&& other) noexcept : queue_(std::move(other.queue_)), id_(other.id_) {}
    task_handle& operator=(task_handle&& other) noexcept {
        task_handle taken(std::move(other));  // and lets its own task go
        std::swap(queue_, taken.queue_);
        std::swap(id_, taken.id_);
        return *this;
    }
    ~task_handle() {
        if (queue_ != nullptr) queue_->forget(id_);
    }

    [[nodiscard]] task_id id() const { return id_; }
    /// Does not wait.
    [[nodiscard]] bool is_done() const { return queue().is_done(id_); }
    /// Whether the task has been cancelled and never starts: false where a device has been given it.
    bool cancel() { return queue().cancel(id_); }
    /// Waits until it is done. Throws what it threw on a CPU device; task_failed where its body said fail(), or a task
    /// that it follows has failed; task_cancelled; timeout_error past its own deadline; what ended the session.
    void wait() const { queue().wait(id_); }

protected:
    [[nodiscard]] task_queue& queue() const {
        if (queue_ == nullptr) throw usage_error("this future has no task");
        return *queue_;
    }

private:
    std::shared_ptr<task_queue> queue_;
    task_id id_;
};

/// Of a single task.
template <class Result>
class task_future : public task_handle {
public:
    using task_handle::task_handle;

    /// Waits, and throws as wait() does. May be called again.
    Result get() const {
        [[maybe_unused]] const std::byte* const result = queue().wait(id());
        if constexpr (!std::is_void_v<Result>) return *reinterpret_cast<const Result*>(result);
    }
};

/// Of a batch.
template <class Result>
class batch_future : public task_handle {
public:
    batch_future() = default;
    batch_future(std::shared_ptr<task_queue> queue, task_id id, std::uint32_t count)
        : task_handle(std::move(queue), id), count_(count) {}

    [[nodiscard]] std::uint32_t count() const { return count_; }
    /// Results in the order of the arguments, in the pool's memory for as long as this future exists. Waits, and
    /// throws as wait() does if any task has failed.
    [[nodiscard]] std::span<const Result> get() const& requires(!std::is_void_v<Result>) {
        return {reinterpret_cast<const Result*>(queue().wait(id())), count_};
    }
    /// Status of each task; see task_status. Waits, and throws nothing where tasks have failed; but as wait() where
    /// some have not run.
    [[nodiscard]] std::span<const std::uint32_t> statuses() const& { return {queue().statuses(id()), count_}; }
    // Of a future that is about to go they would name memory that is not theirs any more.
    std::span<const Result> get() const&& requires(!std::is_void_v<Result>) = delete;
    std::span<const std::uint32_t> statuses() const&& = delete;

private:
    std::uint32_t count_ = 0;
};

}  // namespace laneway
