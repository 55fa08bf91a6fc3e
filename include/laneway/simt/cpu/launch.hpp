// Launching on CPU devices in threads mode.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "laneway/simt/cpu/context.hpp"
#include "laneway/simt/fail.hpp"
#include "laneway/simt/running.hpp"

namespace laneway::cpu {

/// Threads of one PE that run a program. What they use is kept alive by the threads themselves, so that a run which
/// never ends can be left behind.
template <class Program>
class thread_run final : public running {
public:
    thread_run(const pe_environment& env, const launch_shape& shape, const Program& program)
        : state_(std::make_shared<state>(env, shape, program)) {
        for (int block = 0; block < shape.blocks; ++block) {
            threads_.emplace_back([s = state_, block] { s->run_block(block); });
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
            std::vector<line> shared(shape.shared_bytes / sizeof(line) + 1);
            context ctx(env, block, shape.blocks, shared.data()->bytes);
            try {
                program(ctx);
            } catch (...) {
                // The fault record lets the host stop the other PEs.
                (void)fail(ctx, status::handler_failed, operation::user_code);
                const std::lock_guard lock(mutex);
                thrown = std::current_exception();
            }
            const std::lock_guard lock(mutex);
            --left;
            changed.notify_all();
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
