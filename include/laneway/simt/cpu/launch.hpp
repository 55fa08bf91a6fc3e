// Launching on CPU devices in threads mode.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/simt/cpu/context.hpp"
#include "laneway/simt/fail.hpp"
#include "laneway/simt/running.hpp"

namespace laneway::cpu {

/// Threads of one PE that run a program. Program and environment are kept alive by the threads themselves, so that a
/// run which never ends can be left behind.
template <class Program>
class thread_run final : public running {
public:
    thread_run(const pe_environment& env, const launch_shape& shape, const Program& program)
        : state_(std::make_shared<state>(env, shape, program)) {
        for (int block = 0; block < shape.blocks; ++block) {
            try {
                threads_.emplace_back([s = state_, block] { s->run_block(block); });
            } catch (const std::system_error& failed) {
                // Other threads may already run on memory that only a run which ends in order keeps alive.
                state_->give_up_from(block, failed.code().message());
                return;
            }
        }
    }
    ~thread_run() override {
        for (auto& t : threads_) t.detach();
    }

    bool done(std::chrono::microseconds wait) override {
        std::unique_lock lock(state_->mutex);
        return state_->changed.wait_for(lock, wait, [&] { return state_->left == 0; });
    }
    void join() override {
        for (auto& t : threads_) t.join();
        threads_.clear();
        if (state_->thrown) std::rethrow_exception(state_->thrown);
    }

private:
    struct state {
        state(const pe_environment& e, const launch_shape& s, const Program& p)
            : env(e), shape(s), program(p), left(s.blocks) {}

        void run_block(int block) {
            struct alignas(128) line {
                std::byte bytes[128];
            };
            try {
                std::vector<line> shared(shape.shared_bytes / sizeof(line) + 1);
                context ctx(env, block, shape.blocks, shared.data()->bytes);
                program(ctx);
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
        Program program;
        std::mutex mutex;
        std::condition_variable changed;
        int left;
        std::exception_ptr thrown;
    };

    std::shared_ptr<state> state_;
    std::vector<std::thread> threads_;
};

}  // namespace laneway::cpu
