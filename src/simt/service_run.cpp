#include "laneway/simt/service_run.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "laneway/base/error.hpp"
#include "laneway/simt/run_end.hpp"

namespace laneway {

namespace {

constexpr unsigned spins_before_yielding = 256;
constexpr unsigned yields_before_sleeping = 20'000;  // about 10 ms
constexpr auto nap = std::chrono::microseconds(50);
constexpr auto grace = std::chrono::seconds(1);

}  // namespace

void host_context::pause(unsigned idle) {
    if (scheduler_ != nullptr) return scheduler_->yield();
    if (idle < spins_before_yielding) return;
    if (idle < spins_before_yielding + yields_before_sleeping) return std::this_thread::yield();
    std::this_thread::sleep_for(nap);
}

struct service_run::state {
    void serve(host_context& ctx, host_service& service, int thread) {
        try {
            unsigned idle = 0;
            // Partner: the release store in end(). What lanes have published before their end is visible afterwards.
            while (!ended.load(std::memory_order_acquire) && !failed) {
                idle = service.turn(ctx, thread) ? 0 : idle + 1;
                if (idle > 0) ctx.pause(idle);
            }
            while (!failed && service.turn(ctx, thread)) {
            }
        } catch (const checked::run_over&) {
            throw;  // of the scheduler, which ends all of its fibers
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!thrown) thrown = std::current_exception();
            failed = true;
        }
    }

    std::vector<std::shared_ptr<host_service>> services;
    std::vector<std::thread> threads;
    std::atomic<bool> ended{false};
    std::atomic<bool> failed{false};
    std::mutex mutex;
    std::condition_variable changed;
    int running = 0;  ///< threads that have not returned; under the mutex
    std::exception_ptr thrown;
};

service_run::service_run(std::vector<std::shared_ptr<host_service>> services) : state_(std::make_shared<state>()) {
    state_->services = std::move(services);
    for (const auto& service : state_->services) {
        service->open();
        for (int thread = 0; thread < service->threads(); ++thread) unstarted_.push_back({service, thread});
    }
}

service_run::~service_run() {
    end();
    (void)returned(grace);
    (void)join();  // false: it has left them behind
}

void service_run::start_due() {
    host_context ctx;
    for (auto one = unstarted_.begin(); one != unstarted_.end();) {
        if (one->service->is_due(ctx, one->thread)) {
            start_one(*one);
            one = unstarted_.erase(one);
        } else {
            ++one;
        }
    }
}

void service_run::start_one(const place& one) {
    const std::lock_guard lock(state_->mutex);
    try {
        state_->threads.emplace_back([s = state_, one] {
            host_context ctx;
            s->serve(ctx, *one.service, one.thread);
            const std::lock_guard ending(s->mutex);
            --s->running;
            s->changed.notify_all();
        });
    } catch (const std::system_error& refused) {
        throw system_error("a host thread could not be started: " + refused.code().message());
    }
    ++state_->running;
}

void service_run::serve_unstarted() {
    host_context ctx;
    for (const place& one : std::exchange(unstarted_, {})) state_->serve(ctx, *one.service, one.thread);
}

std::vector<std::function<void(host_context&)>> service_run::bodies() const {
    std::vector<std::function<void(host_context&)>> made;
    for (const auto& service : state_->services) {
        for (int thread = 0; thread < service->threads(); ++thread) {
            made.emplace_back([s = state_, service, thread](host_context& ctx) { s->serve(ctx, *service, thread); });
        }
    }
    return made;
}

// Partner: the acquire load in serve.
void service_run::end() { state_->ended.store(true, std::memory_order_release); }

bool service_run::failed() const { return state_->failed; }

bool service_run::returned(std::chrono::steady_clock::duration wait) const {
    std::unique_lock lock(state_->mutex);
    if (state_->threads.empty()) wait = {};  // left behind, or there are none
    return state_->changed.wait_for(lock, wait, [&] { return state_->running == 0; });
}

bool service_run::join() {
    const bool all = returned({});
    auto threads = std::exchange(state_->threads, {});
    for (auto& thread : threads) {
        if (all) {
            thread.join();
        } else {
            thread.detach();
        }
    }
    return all;
}

std::exception_ptr service_run::thrown() const {
    const std::lock_guard lock(state_->mutex);
    return state_->thrown;
}

std::exception_ptr service_run::reason(const std::exception_ptr& first) const {
    const std::exception_ptr own = thrown();
    if (!first) return own;
    try {
        std::rethrow_exception(first);
    } catch (const cuda_error& failed) {
        std::string text = own ? "; " + reason_of(own) : std::string{};
        for (const auto& service : state_->services) text += service->beside();
        return text.empty() ? first : std::make_exception_ptr(cuda_error(failed.what() + text, failed.where()));
    } catch (...) {
        return first;
    }
}

std::string service_run::account() const {
    std::string text;
    for (const auto& service : state_->services) text += service->account();
    return text;
}

std::vector<checked::carried_memory> service_run::carries() const {
    std::vector<checked::carried_memory> all;
    for (const auto& service : state_->services) {
        for (const auto& one : service->carries()) all.push_back(one);
    }
    return all;
}

bool service_run::empty() const { return state_->services.empty(); }

void service_run::audit() const {
    for (const auto& service : state_->services) service->audit();
}

}  // namespace laneway
