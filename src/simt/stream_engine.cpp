#include "laneway/simt/stream_engine.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/simt/run_limits.hpp"

namespace laneway {

namespace {

using clock = stream_engine::clock;

/// Until the next look at what goes on elsewhere: some of the time that has passed since something last happened there,
/// so that short operations are seen to end soon, and long ones cost few looks.
clock::duration pause_after(clock::duration quiet) {
    return std::clamp<clock::duration>(quiet / 4, std::chrono::microseconds(10), std::chrono::milliseconds(1));
}

/// Between two looks while operations have their turn: a look asks the device about each queue, which takes as long as
/// to hand it an operation.
constexpr auto look_pause = std::chrono::microseconds(25);

/// So long after something has happened the thread of a GPU's streams stays awake: to wake it would take about as long,
/// and whoever gives it an operation would have to. That of a CPU device leaves its core to the lanes.
constexpr auto awake_time = std::chrono::microseconds(20);

}  // namespace

struct stream_engine::queue {
    std::deque<operation> operations;
    std::exception_ptr failed;
    std::function<void(std::exception_ptr)> on_failure;
    std::function<outlook(bool again)> look;
    bool busy = false;  ///< what its operations have handed over still goes on
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
    bool hands_over = false;     ///< one of the queues does
    bool stopping = false;
    bool running = false;  ///< an operation, or a look
    clock::time_point last_look;
    clock::time_point next_look;
    clock::time_point last_change;        ///< of what goes on elsewhere, or is polled
    std::atomic<std::uint64_t> news = 0;  ///< changes under the lock; the thread looks at it without, while awake
    bool ended = false;
    std::thread thread;
    std::thread::id own;  ///< of the thread, also when it has been left behind

    explicit state(std::uint64_t seed) : random(seed * 0x9e3779b97f4a7c15u + 1), seeded(seed != 0) {}

    /// Whether it is so within the limit.
    template <class Condition>
    bool await(std::unique_lock<std::mutex>& lock, const wait_limit& limit, const Condition& is_so) {
        while (!changed.wait_for(lock, std::chrono::milliseconds(20), is_so)) {
            if (limit.is_over()) return false;
        }
        return true;
    }

    std::uint64_t next_random() {  // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return random;
    }

    /// The queue whose first operation is to be done next; null where none can be. Under the lock.
    std::shared_ptr<queue> choose() {
        std::erase_if(queues, [](const auto& q) { return q.use_count() == 1 && q->operations.empty() && !q->busy; });
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

    [[nodiscard]] bool busy() const {
        return std::any_of(queues.begin(), queues.end(), [](const auto& q) { return q->busy; });
    }
    /// Whether an operation has its turn that nobody announces.
    [[nodiscard]] bool polls() const {
        return std::any_of(queues.begin(), queues.end(),
                           [](const auto& q) { return !q->operations.empty() && q->operations.front().polled; });
    }

    /// Calls `call` without the lock; what it throws, or returns as a failure, ends the queue.
    template <class Call>
    void run(std::unique_lock<std::mutex>& lock, queue& of, Call&& call) {
        const bool known = of.failed || failure;
        running = true;
        lock.unlock();
        std::exception_ptr thrown;
        try {
            thrown = call();
        } catch (...) {
            thrown = std::current_exception();
        }
        if (thrown && !known && of.on_failure) of.on_failure(thrown);
        lock.lock();
        if (thrown && !of.failed) of.failed = thrown;
        running = false;
    }

    /// Looks at what a queue's operations have handed over. Whether that has ended events.
    bool look_at(std::unique_lock<std::mutex>& lock, queue& of, bool again) {
        outlook seen;
        seen.busy = true;  // where the look throws
        run(lock, of, [&] {
            seen = of.look(again);
            return seen.failure;
        });
        of.busy = seen.busy;
        return seen.ended_some;
    }

    void look_around(std::unique_lock<std::mutex>& lock) {
        const std::vector all(queues);
        bool again = false;
        for (bool ended_some = true; ended_some; again = true) {
            ended_some = false;
            for (const auto& q : all) {
                if (!q->busy) continue;
                ended_some = look_at(lock, *q, again) || ended_some;
                if (!q->busy) last_change = clock::now();
            }
        }
        last_look = clock::now();
        next_look = last_look + pause_after(last_look - last_change);
        changed.notify_all();  // somebody may wait until nothing is busy
    }

    void do_next(std::unique_lock<std::mutex>& lock, queue& of) {
        operation next = std::move(of.operations.front());
        of.operations.pop_front();
        const std::exception_ptr failed = of.failed ? of.failed : failure;
        run(lock, of, [&]() -> std::exception_ptr {
            const operation mine = std::move(next);  // what it holds goes without the lock
            mine.run(failed);
            return {};
        });
        last_change = clock::now();
        if (of.look) {
            of.busy = true;
            next_look = last_change;
        }
        changed.notify_all();  // somebody may wait until nothing is being done
    }

    /// Whoever changes what the thread looks at calls it, under the lock.
    void tell() {
        news.fetch_add(1, std::memory_order_relaxed);  // the lock orders what it tells of
        changed.notify_all();
    }

    /// Until there is news, or that time has come: awake at first.
    void rest(std::unique_lock<std::mutex>& lock, clock::time_point until) {
        const std::uint64_t known = news.load(std::memory_order_relaxed);
        const auto is_news = [&] { return news.load(std::memory_order_relaxed) != known; };
        const auto awake_until = std::min(until, last_change + awake_time);
        if (hands_over && clock::now() < awake_until) {
            lock.unlock();
            while (!is_news() && clock::now() < awake_until) {
            }
            lock.lock();
        }
        if (until == clock::time_point::max()) {
            changed.wait(lock, is_news);
        } else {
            changed.wait_until(lock, until, is_news);
        }
    }

    void serve() {
        std::unique_lock lock(mutex);
        own = std::this_thread::get_id();
        for (;;) {
            if (busy() && clock::now() >= last_look + look_pause) look_around(lock);
            if (const std::shared_ptr<queue> chosen = choose()) {
                do_next(lock, *chosen);
            } else if (busy()) {
                clock::now() < next_look ? rest(lock, next_look) : look_around(lock);
            } else if (polls()) {
                const auto now = clock::now();
                rest(lock, now + pause_after(now - last_change));
            } else if (stopping) {
                break;
            } else {
                rest(lock, clock::time_point::max());
            }
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

stream_engine::~stream_engine() { stop(wait_limit(time_to_leave)); }

void stream_engine::fail(const std::exception_ptr& why) {
    const std::lock_guard lock(state_->mutex);
    if (!state_->failure) state_->failure = why;
    state_->tell();
}

bool stream_engine::is_own_thread() const {
    const std::lock_guard lock(state_->mutex);
    return state_->own == std::this_thread::get_id();
}

bool stream_engine::wait_until_idle(const wait_limit& limit) const {
    std::unique_lock lock(state_->mutex);
    return state_->await(lock, limit, [this] { return !state_->running && !state_->busy(); });
}

bool stream_engine::stop(const wait_limit& limit) {
    std::unique_lock lock(state_->mutex);
    state_->stopping = true;
    if (!state_->failure) {
        state_->failure =
            std::make_exception_ptr(usage_error("the stream was closed before the operation had its turn"));
    }
    state_->tell();
    if (!state_->thread.joinable()) return state_->ended;
    const bool own = state_->own == std::this_thread::get_id();  // where an operation held the last owner
    if (!own) (void)state_->await(lock, limit, [this] { return state_->ended; });
    const bool ended = state_->ended;
    std::thread thread = std::move(state_->thread);  // none where another caller has taken it meanwhile
    lock.unlock();
    if (!thread.joinable()) return ended || own;
    if (ended) {
        thread.join();
    } else {
        thread.detach();
    }
    return ended || own;
}

std::shared_ptr<stream_engine::queue> stream_engine::add(std::function<void(std::exception_ptr)> on_failure,
                                                         std::function<outlook(bool again)> look) {
    auto made = std::make_shared<queue>();
    made->on_failure = std::move(on_failure);
    made->look = std::move(look);
    const std::lock_guard lock(state_->mutex);
    state_->hands_over = state_->hands_over || made->look;
    state_->queues.push_back(made);
    return made;
}

void stream_engine::push(const std::shared_ptr<queue>& to, operation what) {
    {
        const std::lock_guard lock(state_->mutex);
        if (!state_->ended) {
            to->operations.push_back(std::move(what));
            state_->tell();
            return;
        }
    }
    what.run(std::make_exception_ptr(usage_error("the device's streams have been closed")));
}

std::function<void()> stream_engine::waker() const {
    return [weak = std::weak_ptr(state_)] {
        if (const auto s = weak.lock()) {
            const std::lock_guard lock(s->mutex);
            s->tell();
        }
    };
}

std::size_t stream_engine::waiting(const std::shared_ptr<queue>& in) const {
    const std::lock_guard lock(state_->mutex);
    return in->operations.size();
}

}  // namespace laneway
