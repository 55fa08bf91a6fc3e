// The threads that carry out what streams of devices have been given. Host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

namespace laneway {

/// One thread that serves queues of operations. The operations of a queue are done in their order, those of several
/// queues in turn, or in an order drawn from a seed. Any thread may call it.
class stream_engine {
public:
    /// A queue of the engine. After an operation that throws, those behind it are given the exception instead of being
    /// done.
    struct queue;
    struct operation {
        /// Whether it can be done now; called under the engine's lock, again at each wake(). Null: yes.
        std::function<bool()> ready;
        /// Does it. `failed`: null, or why an earlier operation of the queue failed.
        std::function<void(const std::exception_ptr& failed)> run;
    };

    /// `seed`: 0: queues have their turns one after the other.
    explicit stream_engine(std::uint64_t seed = 0);
    /// Drops what has not begun, by calling it with an exception; waits a second for what has, and leaves the thread
    /// behind if it does not return.
    ~stream_engine();
    stream_engine(const stream_engine&) = delete;
    stream_engine& operator=(const stream_engine&) = delete;

    /// `on_failure`: called with the first exception of the queue.
    [[nodiscard]] std::shared_ptr<queue> add(std::function<void(std::exception_ptr)> on_failure);
    void push(const std::shared_ptr<queue>& to, operation what);
    /// What operations of the engine wait for may have come. Outlives the engine.
    [[nodiscard]] std::function<void()> waker() const;
    /// Operations of the queue that have not begun.
    [[nodiscard]] std::size_t waiting(const std::shared_ptr<queue>& in) const;
    /// From now on no queue's operations are done: they are given `why`. What has begun goes on.
    void fail(const std::exception_ptr& why);
    /// Waits until no operation is being done, no longer than `seconds`; whether none is. Not for its own thread, which
    /// does not wait.
    bool wait_until_idle(double seconds) const;
    /// Ends the thread as the destructor does; whether it has ended.
    bool stop();

private:
    struct state;
    std::shared_ptr<state> state_;
};

}  // namespace laneway
