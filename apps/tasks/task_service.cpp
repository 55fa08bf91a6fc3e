#include "task_service.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "adder.hpp"
#include "call_body.hpp"
#include "laneway/base/interruption.hpp"
#include "laneway/runtime.hpp"
#include "laneway/task/task_pool.hpp"
#include "mandelbrot.hpp"
#include "matmul.hpp"
#include "spin.hpp"

namespace laneway::apps {

namespace {

constexpr std::size_t line_bytes = 64;

std::size_t rounded(std::size_t bytes) { return (bytes + line_bytes - 1) / line_bytes * line_bytes; }

/// What the pool keeps of a task until no device works on it.
struct submitted {
    void* tag = nullptr;
    std::uint32_t count = 0;
    std::size_t result_bytes = 0;       ///< of all tasks
    std::shared_ptr<std::byte> memory;  ///< task_operands, inputs and outputs; null where the arguments are in the slot
    std::byte* outputs = nullptr;
};

/// Memory for operands that the devices of a machine reach.
class operand_memory {
public:
    operand_memory(machine& devices, std::uint64_t bytes) {
        if (!devices.has_gpus()) return;
        int gpu = 0;
        while (!devices.device(gpu)->is_gpu()) ++gpu;
        region_ = allocate_host_visible(devices.device(gpu), bytes);
        pieces_ = std::make_shared<sub_allocator>(region_.get(), bytes);
    }
    /// Null where a region is full.
    [[nodiscard]] std::shared_ptr<std::byte> try_allocate(std::size_t bytes) const {
        if (pieces_ == nullptr) {
            constexpr auto line = std::align_val_t{line_bytes};
            return {static_cast<std::byte*>(::operator new(bytes, line)), [](void* p) { ::operator delete(p, line); }};
        }
        auto* const piece = static_cast<std::byte*>(pieces_->try_allocate(bytes, line_bytes));
        if (piece == nullptr) return nullptr;
        return {piece, [pieces = pieces_, region = region_](std::byte* p) { pieces->deallocate(p); }};
    }
    /// Whether it is a region, of which results must not stay for long.
    [[nodiscard]] bool is_bounded() const { return pieces_ != nullptr; }

private:
    std::shared_ptr<std::byte> region_;
    std::shared_ptr<sub_allocator> pieces_;
};

bool takes_operands(built_in type) { return type != built_in::adder && type != built_in::spin; }

}  // namespace

class task_service::implementation {
    using anywhere = call_body<task_devices::all>;
    using on_cpu = call_body<task_devices::cpu>;
    using on_gpu = call_body<task_devices::gpu>;
    using pool_type = task_pool<adder, spin, matmul, mandelbrot, anywhere, on_cpu, on_gpu>;
    using session_type = decltype(std::declval<runtime&>().start(std::declval<pool_type&>()));

public:
    explicit implementation(const task_service_options& options)
        : options_(options), runtime_(options.job), operands_(runtime_.machine(), options.operand_bytes),
          pool_(options.pool, adder{}, spin{}, matmul{}, mandelbrot{}, anywhere{}, on_cpu{}, on_gpu{}),
          session_(runtime_.start(pool_)) {}

    [[nodiscard]] machine& devices() { return runtime_.machine(); }
    [[nodiscard]] task_queue& queue() { return *pool_.feed(); }

    void link(const linked_bodies& bodies) {
        const std::lock_guard one_by_one(linking_);
        if (!bodies.code.empty()) {
            queue().hold_back(options_.job.timeout_seconds, [&] {
                (void)session_.quiesce();  // so the program has been on the devices before
                session_.while_away([&] { replace_kernels(bodies); });
            });
        }
        const std::lock_guard lock(numbers_mutex_);
        numbers_ = bodies.numbers;
    }

    task_id submit(const task_submission& given) {
        const task_id id = pass_on(given);
        ++kept_;
        return id;
    }

    std::vector<task_end> take_ended() {
        listener_ = std::this_thread::get_id();
        for (const task_id id : told_) queue().forget(id);
        kept_ -= static_cast<std::int64_t>(told_.size());
        told_.clear();
        std::vector<task_end> ends;
        for (const ended_task& ended : next_ended()) {
            told_.push_back(ended.id);
            ends.push_back(end_of(ended, *std::static_pointer_cast<submitted>(ended.companion)));
        }
        return ends;
    }

    void close() {
        try {
            session_.stop();
        } catch (...) {
            note_failure();
            throw;
        }
    }

    void end() {
        std::stop_source now;
        now.request_stop();
        const interruption leaves(now.get_token());
        close();
    }

private:
    /// What it throws is what ends the pool, and so what is told of tasks that are lost.
    std::vector<ended_task> next_ended() {
        try {
            return queue().take_ended();
        } catch (const interrupted&) {
            throw;  // the caller leaves, and may come back
        } catch (...) {
            note_failure();
            throw;
        }
    }
    /// Of what is thrown now: the first is kept. The session may be closed while another thread is in take_ended.
    void note_failure() {
        const std::lock_guard lock(failure_mutex_);
        if (!failure_) failure_ = std::current_exception();
    }
    [[nodiscard]] std::exception_ptr failure() {
        const std::lock_guard lock(failure_mutex_);
        return failure_;
    }

    void replace_kernels(const linked_bodies& bodies) {
        for (int pe = 0; pe < devices().n_pes(); ++pe) {
            if (!devices().device(pe)->is_gpu()) continue;
            const auto code = bodies.code.find(cuda_backend::architecture(devices().device(pe)->id().index));
            if (code == bodies.code.end())
                throw usage_error("no bodies are linked for " + devices().device(pe)->name());
            devices().replace_kernel(pe, code->second);
        }
    }

    /// Number of the body of a task; 0 where no GPU needs it.
    std::uint32_t linked_body(const task_submission& given) {
        const bool may_be_there = given.type == built_in::call_body || given.type == built_in::call_body_gpu;
        if (!may_be_there || !devices().has_gpus()) return 0;
        const std::lock_guard lock(numbers_mutex_);
        const auto found = numbers_.find(given.setting);
        if (found == numbers_.end()) throw usage_error("the body is not linked for the GPUs of the pool");
        return found->second;
    }

    task_id pass_on(const task_submission& given) {
        const auto kept = std::make_shared<submitted>();
        kept->tag = given.tag;
        kept->count = given.count;
        task_request request = given.request;
        request.companion = kept;
        if (takes_operands(given.type)) {
            const task_operands* const operands = store(given, *kept);
            if (given.count == 0) return queue().submit(number_of(given), &operands, request);
            const std::vector<const task_operands*> all(given.count, operands);
            return submit_batch(given, all.data(), request);
        }
        const std::size_t size = given.type == built_in::adder ? sizeof(adder::arguments) : sizeof(spin::arguments);
        if (given.inputs.size() != size * tasks_of(given)) throw usage_error("arguments of a wrong size");
        kept->result_bytes = tasks_of(given) * sizeof(std::uint64_t);
        if (given.count == 0) return queue().submit(number_of(given), given.inputs.data(), request);
        return submit_batch(given, given.inputs.data(), request);
    }

    static std::uint32_t number_of(const task_submission& given) { return static_cast<std::uint32_t>(given.type); }
    static std::size_t tasks_of(const task_submission& given) { return given.count == 0 ? 1 : given.count; }

    /// Waits for memory, as requests say, while some may come free: batches that have ended keep theirs until the next
    /// call of take_ended.
    task_id submit_batch(const task_submission& given, const void* arguments, const task_request& request) {
        for (memory_wait wait(*this);; wait()) {
            const bool may_come = memory_may_come();
            try {
                return queue().submit_batch(number_of(given), arguments, given.count, request);
            } catch (const task_queue_full&) {
                if (!request.wait || !may_come) throw;
            }
        }
    }
    [[nodiscard]] bool memory_may_come() {
        const bool listens = std::this_thread::get_id() == listener_;  // and is at what it has been told
        return kept_ > (listens ? static_cast<std::int64_t>(told_.size()) : 0);
    }
    /// Between two looks for memory; throws timeout_error where for as long as the deadline no task is done, and the
    /// end of none taken.
    class memory_wait {
    public:
        explicit memory_wait(implementation& of) : of_(of) {}
        void operator()() {
            interruption::poll();
            const std::chrono::duration<double> waited = clock::now() - began_;
            if (!seen_ || waited.count() > of_.options_.job.timeout_seconds) {
                if (const auto now = seen_now(); now == std::exchange(seen_, now)) throw_late();
                began_ = clock::now();
            }
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }

    private:
        using clock = std::chrono::steady_clock;

        [[nodiscard]] std::pair<std::int64_t, std::uint64_t> seen_now() const {
            return {of_.kept_, of_.queue().statistics().done};
        }
        [[noreturn]] void throw_late() const {
            std::ostringstream text;
            text << "a task waits for memory of others, of which " << seen_->first
                 << " are not done or their ends not taken: the deadline is " << of_.options_.job.timeout_seconds
                 << " s";
            throw timeout_error(text.str());
        }

        implementation& of_;
        std::optional<std::pair<std::int64_t, std::uint64_t>> seen_;  ///< tasks that keep memory, and tasks done
        clock::time_point began_;
    };

    /// Copies inputs to where devices read them.
    const task_operands* store(const task_submission& given, submitted& kept) {
        const std::uint32_t body = linked_body(given);
        const std::size_t tasks = tasks_of(given);
        kept.result_bytes = tasks * given.output_bytes;
        const std::size_t inputs_at = rounded(sizeof(task_operands));
        const std::size_t outputs_at = inputs_at + rounded(given.inputs.size());
        kept.memory = allocate(outputs_at + kept.result_bytes, given.request.wait);
        std::byte* const memory = kept.memory.get();
        kept.outputs = memory + outputs_at;
        if (!given.inputs.empty()) std::memcpy(memory + inputs_at, given.inputs.data(), given.inputs.size());
        return new (memory) task_operands{
            given.setting, memory + inputs_at, kept.outputs, given.inputs.size() / tasks, given.output_bytes, body};
    }

    std::shared_ptr<std::byte> allocate(std::size_t bytes, bool wait) {
        const bool fits = bytes <= options_.operand_bytes || !operands_.is_bounded();
        for (memory_wait room(*this);; room()) {
            const bool may_come = fits && memory_may_come();
            auto memory = operands_.try_allocate(bytes);
            if (memory != nullptr) return memory;
            if (!wait || !may_come) {
                throw task_queue_full("operands of " + std::to_string(bytes) + " bytes: operand_bytes is " +
                                      std::to_string(options_.operand_bytes));
            }
        }
    }

    task_end end_of(const ended_task& ended, const submitted& kept) {
        task_end end;
        end.tag = kept.tag;
        if (!ended.well) {
            if (ended.lost) end.failure = failure();
            if (end.failure == nullptr) end.failure = failure_of(ended.id);
            look_at_failure(ended.id, kept.count, end);
            return end;
        }
        end.result_bytes = kept.result_bytes;
        if (kept.memory == nullptr) {
            end.results = queue().wait(ended.id);
        } else if (operands_.is_bounded()) {
            const auto copy = std::make_shared<std::vector<std::byte>>(kept.outputs, kept.outputs + kept.result_bytes);
            end.results = copy->data();
            end.memory = copy;
        } else {
            end.results = kept.outputs;
            end.memory = kept.memory;
        }
        return end;
    }

    std::exception_ptr failure_of(task_id id) {
        try {
            queue().wait(id);  // it has ended
        } catch (...) {
            return std::current_exception();
        }
        return nullptr;
    }

    void look_at_failure(task_id id, std::uint32_t count, task_end& end) {
        try {
            std::rethrow_exception(end.failure);
        } catch (const task_cancelled&) {
            end.is_cancelled = true;
        } catch (const body_error&) {
            find_failed_task(id, count, end);
        } catch (const task_failed& failed) {
            if (failed.number() != 0) find_failed_task(id, count, end);
        } catch (...) {
            // Else the batch has failed as a whole, and its statuses may not be there.
        }
    }

    void find_failed_task(task_id id, std::uint32_t count, task_end& end) {
        if (count == 0) return;
        const std::uint32_t* const statuses = queue().statuses(id);
        while (end.failed_task < count && statuses[end.failed_task] == task_status::done) ++end.failed_task;
        end.in_task = end.failed_task < count;
    }

    task_service_options options_;
    runtime runtime_;
    operand_memory operands_;
    pool_type pool_;
    session_type session_;
    std::mutex linking_;                                        ///< held by who has a program take over
    std::mutex numbers_mutex_;                                  ///< of numbers_
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  ///< of linked bodies
    std::vector<task_id> told_;                ///< ended tasks of the last take_ended, which may still be followed
    std::atomic<std::int64_t> kept_ = 0;       ///< tasks that were submitted and are not forgotten; a moment late
    std::atomic<std::thread::id> listener_{};  ///< who is in take_ended
    std::mutex failure_mutex_;                 ///< of failure_
    std::exception_ptr failure_;               ///< what ended the session, first
};

task_service::task_service(const task_service_options& options)
    : implementation_(std::make_unique<implementation>(options)) {}

task_service::~task_service() {
    try {
        end();
    } catch (...) {
        // Whoever wants to know calls close.
    }
    if (implementation_->devices().abandoned()) (void)implementation_.release();
}

std::vector<std::string> task_service::devices() const {
    std::vector<std::string> names;
    machine& all = implementation_->devices();
    for (int pe = 0; pe < all.n_pes(); ++pe) names.push_back(all.device(pe)->name());
    return names;
}

bool task_service::has_gpus() const { return implementation_->devices().has_gpus(); }

std::vector<int> task_service::architectures() const {
    std::set<int> found;
    machine& all = implementation_->devices();
    for (int pe = 0; pe < all.n_pes(); ++pe) {
        if (all.device(pe)->is_gpu()) found.insert(cuda_backend::architecture(all.device(pe)->id().index));
    }
    return {found.begin(), found.end()};
}

void task_service::link(const linked_bodies& bodies) { implementation_->link(bodies); }

task_id task_service::submit(const task_submission& submission) { return implementation_->submit(submission); }

std::vector<task_end> task_service::take_ended() { return implementation_->take_ended(); }

void task_service::wake() { implementation_->queue().wake_listener(); }

std::uint64_t task_service::open() { return implementation_->queue().listened_for(); }

bool task_service::cancel(task_id id) {
    try {
        return implementation_->queue().cancel(id);
    } catch (const unknown_task&) {
        return false;
    }
}

void task_service::cancel_all() { implementation_->queue().cancel_all(); }

bool task_service::is_given(task_id id) {
    try {
        return implementation_->queue().is_given(id);
    } catch (const unknown_task&) {
        return false;
    }
}

task_statistics task_service::statistics() { return implementation_->queue().statistics(); }

void task_service::close() { implementation_->close(); }

void task_service::end() { implementation_->end(); }

}  // namespace laneway::apps
