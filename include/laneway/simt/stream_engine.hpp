// The threads that carry out what streams of devices have been given. Host only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

#include "laneway/base/wait_limit.hpp"

namespace laneway {

/// One thread that serves queues of operations. The operations of a queue are done in their order, those of several
/// queues in turn, or in an order drawn from a seed. Operations may hand their work over, to a stream of CUDA for one:
/// the thread looks from time to time at what has become of that. Any thread may call it.
class stream_engine {
public:
    using clock = std::chrono::steady_clock;
    /// A queue of the engine. After an operation that throws, those behind it are given the exception instead of being
    /// done.
    struct queue;
    struct operation {
        /// Whether it can be done now; called under the engine's lock, again at each wake(). Null: yes.
        std::function<bool()> ready;
        /// Does it. `failed`: null, or why an earlier operation of the queue failed.
        std::function<void(const std::exception_ptr& failed)> run;
        bool polled = false;  ///< nobody wakes the engine when it is ready: the thread asks from time to time
    };

    /// What has become of the work that a queue's operations have handed over.
    struct outlook {
        bool busy = false;           ///< some of it still goes on
        bool ended_some = false;     ///< the look has ended events, for which other queues' may have waited
        std::exception_ptr failure;  ///< of it, since the last look
    };

    /// `seed`: 0: queues have their turns one after the other.
    explicit stream_engine(std::uint64_t seed = 0);
    /// As stop, within a second.
    ~stream_engine();
    stream_engine(const stream_engine&) = delete;
    stream_engine& operator=(const stream_engine&) = delete;

    /// `on_failure`: called with the first exception of the queue. `look`: called on the engine's thread after an
    /// operation and while something is busy, ends events, and does not wait; with `again` where another queue's look
    /// has just ended events, and then asks no device. Null: operations hand nothing over.
    [[nodiscard]] std::shared_ptr<queue> add(std::function<void(std::exception_ptr)> on_failure,
                                             std::function<outlook(bool again)> look = {});
    void push(const std::shared_ptr<queue>& to, operation what);
    /// What operations of the engine wait for may have come. Outlives the engine.
    [[nodiscard]] std::function<void()> waker() const;
    /// Operations of the queue that have not begun.
    [[nodiscard]] std::size_t waiting(const std::shared_ptr<queue>& in) const;
    /// From now on no queue's operations are done: they are given `why`. What has begun goes on.
    void fail(const std::exception_ptr& why);
    /// Whether the caller is the engine's thread.
    [[nodiscard]] bool is_own_thread() const;
    /// Waits until no operation is being done and nothing goes on that one has handed over; whether that is so by
    /// `limit`. Not for its own thread.
    bool wait_until_idle(const wait_limit& limit) const;
    /// Drops what has not begun, by calling it with an exception, waits for what has, and ends the thread; whether it
    /// has ended by `limit`. Else the thread is left behind. Its own thread does not wait.
    bool stop(const wait_limit& limit);

private:
    struct state;
    std::shared_ptr<state> state_;
};

}  // namespace laneway
