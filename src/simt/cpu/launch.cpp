#include "laneway/simt/cpu/launch.hpp"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/base/wait_limit.hpp"
#include "laneway/simt/fail.hpp"
#include "laneway/simt/host_memory.hpp"
#include "laneway/simt/run_limits.hpp"

namespace laneway::cpu {

namespace {

class thread_run final : public running {
public:
    thread_run(const pe_environment& env, const launch_shape& shape, const pe_program& program)
        : state_(std::make_shared<state>(env, shape, program)) {
        threads_.reserve(static_cast<std::size_t>(shape.blocks));
        // Where one is not to be had, others may already run on memory that only a run which ends in order keeps alive.
        for (int block = 0; block < shape.blocks; ++block) {
            try {
                threads_.emplace_back([s = state_, block] { s->run_block(block); });
            } catch (const std::system_error& failed) {
                state_->give_up_from(block, failed.code().message());
                return;
            } catch (const std::bad_alloc&) {
                state_->give_up_from(block, "out of memory");
                return;
            }
        }
    }
    ~thread_run() override {
        state_->start(0);
        for (auto& t : threads_) t.detach();
    }

    void start(std::uint64_t timeout_ns) override { state_->start(timeout_ns); }
    bool done(std::chrono::microseconds wait) override {
        std::unique_lock lock(state_->mutex);
        return state_->changed.wait_for(lock, wait, [&] { return state_->left == 0; });
    }
    bool had_its_chance() override {
        if (!last_) {
            last_.emplace(longest_held_back);
            for (auto& t : threads_) had_.push_back(processor_time(t).value_or(std::chrono::nanoseconds(0)));
        }
        if (last_->is_over()) return true;
        for (std::size_t i = 0; i < threads_.size(); ++i) {
            const auto has = processor_time(threads_[i]);
            if (has && *has - had_[i] < std::chrono::seconds(1)) return false;
        }
        return true;
    }
    void join() override {
        for (auto& t : threads_) t.join();
        threads_.clear();
        if (state_->thrown) std::rethrow_exception(state_->thrown);
    }

private:
    struct state {
        state(const pe_environment& e, const launch_shape& s, const pe_program& p)
            : env(e), shape(s), program(p), left(s.blocks) {
            for (int block = 0; block < s.blocks; ++block) {
                shared.emplace_back(allocate_zeroed(s.shared_bytes, "PE " + std::to_string(e.pe)), free_zeroed);
            }
        }

        void start(std::uint64_t timeout_ns) {
            const std::lock_guard lock(mutex);
            if (started) return;
            started = true;
            env.timeout_ns = timeout_ns;
            changed.notify_all();
        }

        void run_block(int block) {
            {
                std::unique_lock lock(mutex);
                changed.wait(lock, [this] { return started; });
            }
            try {
                context ctx(env, block, shape.blocks, shared[static_cast<std::size_t>(block)].get());
                if (env.timeout_ns != 0) program(ctx);  // else the run has ended before it began
            } catch (...) {
                stop_others(block, std::current_exception());
            }
            const std::lock_guard lock(mutex);
            --left;
            changed.notify_all();
        }

        // The blocks from `block` on do not start.
        void give_up_from(int block, const std::string& why) {
            const std::string name = "PE " + std::to_string(env.pe) + ": ";
            stop_others(block, std::make_exception_ptr(system_error(name + "a thread could not be started: " + why)));
            const std::lock_guard lock(mutex);
            left -= shape.blocks - block;
            changed.notify_all();
        }

        // The fault record lets the host stop the other PEs.
        void stop_others(int block, std::exception_ptr why) {
            context ctx(env, block, shape.blocks, nullptr);
            (void)fail(ctx, status::handler_failed, operation::user_code);
            const std::lock_guard lock(mutex);
            thrown = std::move(why);
        }

        pe_environment env;
        launch_shape shape;
        pe_program program;
        std::mutex mutex;
        std::condition_variable changed;
        bool started = false;
        int left;
        std::vector<std::shared_ptr<std::byte>> shared;  ///< of each block
        std::exception_ptr thrown;
    };

    /// Of a thread that goes on.
    static std::optional<std::chrono::nanoseconds> processor_time(std::thread& thread) {
        clockid_t clock;
        timespec time;
        if (pthread_getcpuclockid(thread.native_handle(), &clock) != 0 || clock_gettime(clock, &time) != 0) return {};
        return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
    }

    std::shared_ptr<state> state_;
    std::vector<std::thread> threads_;
    std::optional<wait_limit> last_;             ///< of had_its_chance
    std::vector<std::chrono::nanoseconds> had_;  ///< each thread's processor time when it was first asked
};

}  // namespace

std::unique_ptr<running> launch(const pe_environment& env, const launch_shape& shape, const pe_program& program) {
    return std::make_unique<thread_run>(env, shape, program);
}

}  // namespace laneway::cpu
