// Kernels for programs in C: tasks.h has the functions that they call.
//
//   struct matrix_multiply : lw::c_kernel {
//       template <class Ctx, class Worker>
//       LANEWAY_FN void operator()(Ctx& ctx, void* const& boxed, Worker& worker) const { ... }
//   };
//   LANEWAY_TASK_KERNELS(matrix_multiply, md_lite)
#pragma once

#include <cstdlib>
#include <cstring>
#include <optional>

#include "laneway/runtime.hpp"
#include "laneway/simt/staged_copies.hpp"
#include "laneway/task/task_pool.hpp"
#include "laneway/tasks.h"

namespace laneway {

/// Base of kernels: they are given a pointer to their boxed parameters, and leave their results there.
struct c_kernel {};

/// What a kernel has of its worker: the first so many lanes of a warp, as laneway_push says.
template <class Worker>
class c_worker {
public:
    LANEWAY_FN c_worker(Worker& all, int threads) : all_(all), lanes_(threads < all.lanes() ? threads : all.lanes()) {}

    [[nodiscard]] LANEWAY_FN int lane() const { return all_.lane(); }
    [[nodiscard]] LANEWAY_FN int lanes() const { return lanes_; }
    /// As of a task_worker, among these lanes.
    template <class Ctx>
    LANEWAY_FN bool sync(Ctx& ctx) const {
        ctx.sync(full_warp<Ctx> >> (Ctx::warp_lanes - lanes_));
        return true;
    }
    LANEWAY_FN void fail(std::uint32_t number) { all_.fail(number); }

private:
    Worker& all_;
    int lanes_;
};

struct c_arguments {
    void* params;
    int threads;
};

/// A kernel as a task.
template <class Kernel>
struct c_task : Kernel {
    static_assert(std::is_base_of_v<c_kernel, Kernel>, "a kernel is derived from lw::c_kernel");
    using arguments = c_arguments;
    using result = void;
    static_assert(width_of<Kernel> == task_width::warp, "a kernel runs on lanes of a warp: it has no width of its own");

    template <class Ctx, class Worker>
    LANEWAY_FN void operator()(Ctx& ctx, const arguments& pushed, Worker& worker) const {
        c_worker<Worker> some(worker, pushed.threads);
        if (some.lane() < some.lanes()) Kernel::operator()(ctx, pushed.params, some);
    }
};

/// The memory of laneway_malloc: of the GPU, or of the first one, where all devices are GPUs, else of the
/// host. Copies go by a stream, beside the workers. Any thread.
class c_memory {
public:
    c_memory(runtime& job, std::size_t bytes) {
        if (is_of_gpu(job.machine())) {
            constexpr std::size_t staged_bytes = 8 << 20;
            on_gpu_ = std::make_shared<buffer<std::byte>>(job.machine().device(0), bytes);
            copies_.emplace(job.stream(0, "of laneway_memcpy"), allocate_host_visible(staged_bytes, true), staged_bytes,
                            on_gpu_, run_deadline(options{}.timeout_seconds).seconds());
        } else {
            on_host_ = allocate_host_visible(bytes, job.machine().has_gpus());
        }
        pieces_.emplace(first(), bytes);
        bytes_ = bytes;
    }

    [[nodiscard]] void* allocate(std::size_t bytes) { return pieces_->allocate(bytes, 64); }
    /// Waits for a copy that was late, whose memory would be handed out again: up to the deadline of a copy.
    void deallocate(void* memory) {
        if (copies_) copies_->await_late();
        pieces_->deallocate(memory);
    }
    void copy_to_device(void* to, const void* from, std::size_t bytes) {
        check(to, bytes);
        copies_ ? copies_->to_device(to, from, bytes) : copy_on_host(to, from, bytes);
    }
    void copy_to_host(void* to, const void* from, std::size_t bytes) {
        check(from, bytes);
        copies_ ? copies_->to_host(to, from, bytes) : copy_on_host(to, from, bytes);
    }

private:
    static bool is_of_gpu(const machine& job) {
        for (int pe = 0; pe < job.n_pes(); ++pe) {
            if (!job.device(pe)->is_gpu()) return false;  // GPUs of a job reach each other's memory
        }
        return true;
    }
    [[nodiscard]] std::byte* first() const { return copies_ ? on_gpu_->data() : on_host_.get(); }
    void check(const void* of_device, std::size_t bytes) const {
        const auto at = reinterpret_cast<std::uintptr_t>(of_device) - reinterpret_cast<std::uintptr_t>(first());
        if (at > bytes_ || bytes > bytes_ - at) throw usage_error("a copy beyond the memory of laneway_malloc");
    }
    static void copy_on_host(void* to, const void* from, std::size_t bytes) {
        if (bytes != 0) std::memcpy(to, from, bytes);
    }

    std::size_t bytes_ = 0;
    std::shared_ptr<buffer<std::byte>> on_gpu_;  ///< copies that are late keep it
    std::shared_ptr<std::byte> on_host_;
    std::optional<sub_allocator> pieces_;
    std::optional<staged_copies<>> copies_;  ///< null: memory of the host
};

/// What stands behind the functions of tasks.h.
template <class... Kernels>
class c_tasks {
public:
    explicit c_tasks(int queue_size)
        : runtime_(options_of_environment()), bytes_(bytes_of_environment()), memory_(runtime_, bytes_),
          pool_(task_pool_options{.capacity = checked_size(queue_size)}, c_task<Kernels>{}...),
          session_(runtime_.start(pool_)) {}

    void stop() { session_.stop(); }
    [[nodiscard]] void* allocate(std::size_t bytes) { return memory_.allocate(bytes); }
    void deallocate(void* memory) { memory_.deallocate(memory); }
    [[nodiscard]] c_memory& memory() { return memory_; }

    void push(int type, int threads, int id, void* params) {
        if (type < 0) throw usage_error("task type " + std::to_string(type) + " is negative");
        if (threads < 1 || threads > 32) throw usage_error("threads: between 1 and 32, not " + std::to_string(threads));
        task_request request;
        request.companion = std::make_shared<pushed>(pushed{id, params});
        const c_arguments arguments{params, threads};
        (void)pool_.feed()->submit(static_cast<std::uint32_t>(type), &arguments,
                                   request);  // poll has it when it is done
    }
    /// Whether a task is done that has not been told. Throws what it threw, when `id` and `params` are stored.
    bool poll(int& id, void*& params) {
        ended_task ended;
        if (!pool_.feed()->take_one_ended(ended)) return false;
        const auto& told = *static_cast<const pushed*>(ended.companion.get());
        id = told.id;
        params = told.params;
        const task_handle done(pool_.feed(), ended.id);  // its place is free behind this
        done.wait();
        return true;
    }

private:
    using pool_type = laneway::task_pool<c_task<Kernels>...>;

    struct pushed {
        int id;
        void* params;
    };

    static options options_of_environment() {
        options o;
        if (const char* const devices = std::getenv("LANEWAY_DEVICES")) o.devices = devices;
        return o;
    }
    static std::size_t bytes_of_environment() {
        const char* const said = std::getenv("LANEWAY_TASK_BYTES");
        if (said == nullptr) return std::size_t{256} << 20;
        char* end = nullptr;
        const unsigned long long bytes = std::strtoull(said, &end, 10);
        if (end == said || *end != 0 || *said == '-' || bytes == 0) {
            throw usage_error("LANEWAY_TASK_BYTES: expected a number of bytes, not " + std::string(said));
        }
        return bytes;
    }
    static std::uint32_t checked_size(int queue_size) {
        if (queue_size < 1) throw usage_error("queue_size: 1 or more, not " + std::to_string(queue_size));
        return static_cast<std::uint32_t>(queue_size);
    }

    runtime runtime_;
    std::size_t bytes_;
    c_memory memory_;
    pool_type pool_;
    decltype(std::declval<runtime&>().start(std::declval<pool_type&>())) session_;
};

/// The tasks of the program, and what the functions of tasks.h do with them.
template <class... Kernels>
class c_interface {
public:
    static int setup(int queue_size) {
        return tried([&] {
            if (tasks_.has_value()) throw usage_error("laneway_setup has been called already");
            tasks_.emplace(queue_size);
        });
    }
    static int cleanup() {
        return tried([&] {
            c_tasks<Kernels...>& tasks = open();
            try {
                tasks.stop();
            } catch (...) {
                tasks_.reset();
                throw;
            }
            tasks_.reset();
        });
    }
    /// 0 where `use(tasks)` does not throw.
    template <class Use>
    static int with(const Use& use) {
        return tried([&] { use(open()); });
    }
    static const char* last_error() { return error_text().c_str(); }

private:
    static c_tasks<Kernels...>& open() {
        if (!tasks_.has_value()) throw usage_error("laneway_setup has not been called");
        return *tasks_;
    }
    template <class Try>
    static int tried(const Try& attempt) {
        try {
            attempt();
            return 0;
        } catch (const std::exception& e) {
            error_text() = e.what();
        } catch (...) {
            error_text() = "unknown error";
        }
        return -1;
    }
    static std::string& error_text() {
        static thread_local std::string text;
        return text;
    }

    inline static std::optional<c_tasks<Kernels...>> tasks_;
};

}  // namespace laneway

/// Defines the functions of tasks.h for these kernels, whose places in the list are the types of their tasks.
#define LANEWAY_TASK_KERNELS(...)                                                                           \
    namespace {                                                                                             \
    using laneway_c_interface = ::laneway::c_interface<__VA_ARGS__>;                                        \
    }                                                                                                       \
    extern "C" {                                                                                            \
    int laneway_setup(int queue_size) { return laneway_c_interface::setup(queue_size); }                    \
    int laneway_cleanup(void) { return laneway_c_interface::cleanup(); }                                    \
    void* laneway_malloc(size_t bytes) {                                                                    \
        void* memory = nullptr;                                                                             \
        (void)laneway_c_interface::with([&](auto& tasks) { memory = tasks.allocate(bytes); });              \
        return memory;                                                                                      \
    }                                                                                                       \
    int laneway_free(void* memory) {                                                                        \
        return laneway_c_interface::with([&](auto& tasks) { tasks.deallocate(memory); });                   \
    }                                                                                                       \
    int laneway_memcpy_to_device(void* to, const void* from, size_t bytes) {                                \
        return laneway_c_interface::with([&](auto& t) { t.memory().copy_to_device(to, from, bytes); });     \
    }                                                                                                       \
    int laneway_memcpy_to_host(void* to, const void* from, size_t bytes) {                                  \
        return laneway_c_interface::with([&](auto& t) { t.memory().copy_to_host(to, from, bytes); });       \
    }                                                                                                       \
    int laneway_push(int type, int threads, int id, void* params) {                                         \
        return laneway_c_interface::with([&](auto& tasks) { tasks.push(type, threads, id, params); });      \
    }                                                                                                       \
    int laneway_poll(int* id, void** params) {                                                              \
        bool any = false;                                                                                   \
        const int failed = laneway_c_interface::with([&](auto& tasks) { any = tasks.poll(*id, *params); }); \
        return failed != 0 ? failed : any ? 1 : 0;                                                          \
    }                                                                                                       \
    const char* laneway_last_error(void) { return laneway_c_interface::last_error(); }                      \
    }
