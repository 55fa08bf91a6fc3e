// A future that host threads and streams of devices wait for alike. Host only.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace laneway {

/// Something that happens once: a copy has ended, a kernel has returned, a buffer is free. It may be handed out before
/// anybody knows which operation of which device it stands for. Host threads wait for its end; a stream of a GPU can
/// wait on the GPU as soon as the operation is in that GPU's queue. Copies of an event are one event. Any thread.
class event {
public:
    /// Has happened.
    event() = default;
    /// Happens when somebody calls complete() or fail(): the first call counts.
    [[nodiscard]] static event pending();

    void complete() const;
    /// The operation did not end well: who waits for it gets `why`.
    void fail(std::exception_ptr why) const;
    /// The operation is in the queue of a GPU, behind which `native`, a cudaEvent_t, stands.
    void enter_queue(std::shared_ptr<void> native) const;

    /// Whether it has happened or failed.
    [[nodiscard]] bool done() const;
    /// Null where it did not fail.
    [[nodiscard]] std::exception_ptr failure() const;
    /// See enter_queue; null before, and where the operation is none of a GPU.
    [[nodiscard]] std::shared_ptr<void> native() const;

    /// Waits no longer than `wait`; returns done().
    bool wait_for(std::chrono::milliseconds wait) const;
    /// Calls `call` once, when it is done: now, or later on the thread that ends it. `call` never waits.
    void then(std::function<void()> call) const;
    /// Calls `call` at each change until it is done. The same rules.
    void watch(std::function<void()> call) const;

private:
    struct state;
    void end(std::exception_ptr why) const;

    std::shared_ptr<state> state_;  ///< null: has happened
};

/// One event that is done when all of some are, and then fails with what the first of them failed with, if one did:
/// what the others stand for still goes on until then.
[[nodiscard]] event when_all(const std::vector<event>& events);

}  // namespace laneway
