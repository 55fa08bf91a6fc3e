// Functions of the host that lanes may call while a run goes on: the host's side.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "laneway/base/one_line.hpp"
#include "laneway/base/options.hpp"
#include "laneway/comm/host_calls_ref.hpp"
#include "laneway/memory/symmetric_array.hpp"
#include "laneway/queue/work_group_queue_memory.hpp"

namespace laneway {

/// One PE's part of a service: its queue, and the answers beside it.
template <class Request, class Reply>
class host_call_part {
public:
    host_call_part(const std::shared_ptr<device>& device, const work_group_queue_shape& shape)
        : queue_(device, shape), answers_(allocate_host_visible(device, answer_bytes(queue_.layout()))),
          released_(device, queue_.layout().all_slots()), posted_(device, 1) {}

    /// What a part takes, in host and PE memory.
    static std::uint64_t bytes(const work_group_queue_shape& shape) {
        const work_group_layout layout = work_group_queue<Request>::measure(shape);
        return work_group_queue<Request>::bytes(layout) + answer_bytes(layout) +
               (layout.all_slots() + 1) * sizeof(std::uint64_t);
    }

    void reset() {
        queue_.reset();
        released_.fill_bytes(0);
        posted_.fill_bytes(0);
    }
    [[nodiscard]] host_call_queue<Request, Reply> call_queue() const {
        return {queue_.sender(), answers(0), released_.data(), posted_.data()};
    }
    [[nodiscard]] work_group_receiver<Request> receiver(int line) const { return queue_.receiver(line); }
    /// Of the slot's columns.
    [[nodiscard]] Reply* answers(std::uint32_t slot) const {
        return reinterpret_cast<Reply*>(answers_.get()) + std::size_t{slot} * queue_.layout().columns;
    }
    [[nodiscard]] std::uint64_t posted() const { return posted_.copy_out()[0]; }

private:
    static std::size_t answer_bytes(const work_group_layout& layout) {
        return layout.all_slots() * layout.columns * sizeof(Reply);
    }

    work_group_queue<Request> queue_;
    std::shared_ptr<std::byte> answers_;
    buffer<std::uint64_t> released_;
    buffer<std::uint64_t> posted_;
};

/// A function of the host as its own threads call it; trivially copyable, and valid there only.
template <class Request, class Reply>
struct direct_host_call {
    const std::function<Reply(const Request&)>* function = nullptr;

    Reply operator()(const Request& request) const { return (*function)(request); }
};

/// Serves one function with host threads: thread i owns line i of every PE's queue.
template <class Request, class Reply>
class host_call_service final : public host_service {
public:
    using function = std::function<Reply(const Request&)>;

    host_call_service(machine& machine, const options& options, std::string name, function called)
        : name_(one_line(std::move(name), ' ')), called_(std::move(called)), threads_(options.host_threads),
          deaf_(options.fault == injected_fault::deaf_host), queues_(machine, 1) {
        for (int pe = 0; pe < machine.n_pes(); ++pe) {
            const auto& device = machine.device(pe);
            const work_group_queue_shape shape = shape_for(device->id().kind, options);
            bytes_.push_back(host_call_part<Request, Reply>::bytes(shape));
            if (bytes_.back() > options.buffer_bytes) {
                throw usage_error(
                    "buffer_bytes = " + std::to_string(options.buffer_bytes) + " is too little: host calls '" + name_ +
                    "' with host_slots = " + std::to_string(options.host_slots) + " take " +
                    std::to_string(bytes_.back()) + " for PE " + std::to_string(pe) + " (" + device->name() + ")");
            }
            parts_.emplace_back(device, shape);
            own_.push_back(machine.is_own(pe));
            queues_.copy_in(pe, {parts_.back().call_queue()});
        }
        lines_ = std::make_unique<line[]>(static_cast<std::size_t>(threads_));
    }

    [[nodiscard]] symmetric_ref<host_call_queue<Request, Reply>> queues() const { return queues_.ref(); }
    [[nodiscard]] direct_host_call<Request, Reply> direct() const { return {&called_}; }
    /// Requests of the last run that lanes of this process's PEs posted, and that were served. Host, between runs.
    [[nodiscard]] std::uint64_t posted() const {
        std::uint64_t sum = 0;
        for (std::size_t pe = 0; pe < parts_.size(); ++pe) sum += own_[pe] ? parts_[pe].posted() : 0;
        return sum;
    }
    [[nodiscard]] std::uint64_t served() const {
        std::uint64_t sum = 0;
        for (int i = 0; i < threads_; ++i) sum += lines_[static_cast<std::size_t>(i)].served;
        return sum;
    }

    [[nodiscard]] int threads() const override { return threads_; }
    [[nodiscard]] std::uint64_t buffer_bytes(int pe) const override { return bytes_[static_cast<std::size_t>(pe)]; }
    void open() override {
        for (auto& part : parts_) part.reset();
        for (int i = 0; i < threads_; ++i) {
            line& mine = lines_[static_cast<std::size_t>(i)];
            mine.from.clear();
            for (const auto& part : parts_) mine.from.push_back(part.receiver(i));
            mine.served = 0;
        }
    }
    bool turn(host_context& ctx, int thread) override {
        if (deaf_) return false;
        bool any = false;
        line& mine = lines_[static_cast<std::size_t>(thread)];
        for (std::size_t pe = 0; pe < parts_.size(); ++pe) {
            const auto batch = mine.from[pe].peek(ctx);
            if (batch.empty()) continue;
            any = true;
            serve(batch, parts_[pe].answers(batch.slot()), mine.served);
            mine.from[pe].release(ctx);
        }
        return any;
    }
    [[nodiscard]] std::string account() const override {
        return "; host calls '" + name_ + "': " + std::to_string(posted()) + " posted, " + std::to_string(served()) +
               " served";
    }
    void audit() const override {
        if (posted() != served()) throw device_fault("audit mismatch" + account());
    }

private:
    struct alignas(destructive_bytes) line {
        std::vector<work_group_receiver<Request>> from;  ///< by PE
        std::atomic<std::uint64_t> served{0};            ///< written by the thread alone
    };

    static work_group_queue_shape shape_for(device_kind kind, const options& options) {
        work_group_queue_shape shape;
        shape.lines = options.host_threads;
        shape.slots = options.host_slots;
        shape.columns = kind == device_kind::cuda ? 32 : kind == device_kind::cpu ? 1 : checked::context::warp_lanes;
        return shape;
    }

    void serve(const message_columns<Request>& batch, Reply* answers, std::atomic<std::uint64_t>& served) const {
        for (std::uint32_t c = 0; c < batch.size(); ++c) {
            try {
                answers[c] = called_(batch[c]);
            } catch (const std::exception& thrown) {
                std::throw_with_nested(host_call_error("host calls '" + name_ + "': " + one_line(thrown.what(), ' ')));
            } catch (...) {
                std::throw_with_nested(host_call_error("host calls '" + name_ + "': unknown exception"));
            }
            served.store(served.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        }
    }

    std::string name_;
    function called_;
    int threads_;
    bool deaf_;
    symmetric_array<host_call_queue<Request, Reply>> queues_;
    std::vector<std::uint64_t> bytes_;  ///< by PE
    std::vector<bool> own_;             ///< by PE: whether this process runs and serves it
    std::vector<host_call_part<Request, Reply>> parts_;
    std::unique_ptr<line[]> lines_;
};

/// A function of the host, as runtime::host_calls makes it, and what goes into functors: ref(). Runs of the machine
/// serve it for as long as this object exists; it must outlive every run that uses it.
template <class Request, class Reply = no_reply>
class host_calls {
public:
    /// `function(request)` is called by options.host_threads threads, on any of them at once; what it returns becomes a
    /// Reply. `name` stands in messages. Throws usage_error for options that cannot be. Host, between runs.
    template <class Function>
    host_calls(machine& machine, const options& options, std::string name, Function function)
        : service_(std::make_shared<host_call_service<Request, Reply>>(machine, options, std::move(name),
                                                                       answering(std::move(function)))) {
        machine.attach(service_);
    }

    [[nodiscard]] host_calls_ref<Request, Reply> ref() const {
        return host_calls_ref<Request, Reply>(service_->queues());
    }
    /// For other host threads that stand in for its own; as long as this object exists. With several threads in all
    /// the function must bear it.
    [[nodiscard]] direct_host_call<Request, Reply> direct() const { return service_->direct(); }
    /// Requests that the last run served. Host, between runs.
    [[nodiscard]] std::uint64_t served() const { return service_->served(); }

private:
    template <class Function>
    static std::function<Reply(const Request&)> answering(Function function) {
        if constexpr (std::is_same_v<Reply, no_reply>) {
            return [called = std::move(function)](const Request& request) mutable {
                called(request);
                return no_reply{};
            };
        } else {
            return function;
        }
    }

    std::shared_ptr<host_call_service<Request, Reply>> service_;
};

}  // namespace laneway
