#include "laneway/simt/stream_engine.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"

namespace laneway {

struct stream_engine::queue {
    std::deque<operation> operations;
    std::exception_ptr failed;
    std::function<void(std::exception_ptr)> on_failure;
};

/// Shared with the thread, which may be left behind.
struct stream_engine::state {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::shared_ptr<queue>> queues;  ///< one that nobody else holds goes when it is empty
    std::uint64_t random;
    bool seeded;
    std::size_t turn = 0;
    std::exception_ptr failure;  ///< of all queues
    bool stopping = false;
    bool running = false;  ///< an operation
    bool ended = false;
    std::thread thread;

    explicit state(std::uint64_t seed) : random(seed * 0x9e3779b97f4a7c15u + 1), seeded(seed != 0) {}

    std::uint64_t next_random() {  // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return random;
    }

    /// The queue whose first operation is to be done next; null where none can be. Under the lock.
    std::shared_ptr<queue> choose() {
        std::erase_if(queues, [](const auto& q) { return q.use_count() == 1 && q->operations.empty(); });
        std::vector<std::shared_ptr<queue>> able;
        const std::size_t n = queues.size();
        for (std::size_t i = 0; i < n; ++i) {
            auto q = queues[(turn + i) % n];
            if (q->operations.empty()) continue;
            const auto& front = q->operations.front();
            if (!failure && !q->failed && front.ready && !front.ready()) continue;
            if (!seeded) {
                turn = (turn + i + 1) % n;
                return q;
            }
            able.push_back(std::move(q));
        }
        return able.empty() ? nullptr : able[next_random() % able.size()];
    }

    void serve() {
        std::unique_lock lock(mutex);
        for (;;) {
            const std::shared_ptr<queue> chosen = choose();
            if (!chosen) {
                if (stopping) break;
                changed.wait(lock);
                continue;
            }
            operation next = std::move(chosen->operations.front());
            chosen->operations.pop_front();
            const std::exception_ptr failed = chosen->failed ? chosen->failed : failure;
            running = true;
            lock.unlock();
            std::exception_ptr thrown;
            try {
                next.run(failed);
            } catch (...) {
                thrown = std::current_exception();
            }
            next = {};  // what it holds goes without the lock
            if (thrown && !failed && chosen->on_failure) chosen->on_failure(thrown);
            lock.lock();
            if (thrown && !chosen->failed) chosen->failed = thrown;
            running = false;
            if (failure) changed.notify_all();  // somebody may wait for that
        }
        ended = true;
        changed.notify_all();
    }
};

stream_engine::stream_engine(std::uint64_t seed) : state_(std::make_shared<state>(seed)) {
    try {
        state_->thread = std::thread([s = state_] { s->serve(); });
    } catch (const std::system_error& refused) {
        throw system_error("the thread of a device's streams could not be started: " + refused.code().message());
    }
}

stream_engine::~stream_engine() { stop(); }

void stream_engine::fail(const std::exception_ptr& why) {
    const std::lock_guard lock(state_->mutex);
    if (!state_->failure) state_->failure = why;
    state_->changed.notify_all();
}

bool stream_engine::wait_until_idle(double seconds) const {
    std::unique_lock lock(state_->mutex);
    if (state_->thread.get_id() == std::this_thread::get_id()) return true;
    return state_->changed.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return !state_->running; });
}

bool stream_engine::stop() {
    std::unique_lock lock(state_->mutex);
    state_->stopping = true;
    if (!state_->failure) {
        state_->failure =
            std::make_exception_ptr(usage_error("the stream was closed before the operation had its turn"));
    }
    state_->changed.notify_all();
    if (!state_->thread.joinable()) return state_->ended;
    const bool own = state_->thread.get_id() == std::this_thread::get_id();  // where an operation held the last owner
    if (!own) state_->changed.wait_for(lock, std::chrono::seconds(1), [this] { return state_->ended; });
    const bool ended = state_->ended;
    std::thread thread = std::move(state_->thread);
    lock.unlock();
    if (ended) {
        thread.join();
    } else {
        thread.detach();
    }
    return ended || own;
}

std::shared_ptr<stream_engine::queue> stream_engine::add(std::function<void(std::exception_ptr)> on_failure) {
    auto made = std::make_shared<queue>();
    made->on_failure = std::move(on_failure);
    const std::lock_guard lock(state_->mutex);
    state_->queues.push_back(made);
    return made;
}

void stream_engine::push(const std::shared_ptr<queue>& to, operation what) {
    {
        const std::lock_guard lock(state_->mutex);
        if (!state_->ended) {
            to->operations.push_back(std::move(what));
            state_->changed.notify_all();
            return;
        }
    }
    what.run(std::make_exception_ptr(usage_error("the device's streams have been closed")));
}

std::function<void()> stream_engine::waker() const {
    return [weak = std::weak_ptr(state_)] {
        if (const auto s = weak.lock()) {
            const std::lock_guard lock(s->mutex);
            s->changed.notify_all();
        }
    };
}

std::size_t stream_engine::waiting(const std::shared_ptr<queue>& in) const {
    const std::lock_guard lock(state_->mutex);
    return in->operations.size();
}

}  // namespace laneway
