// Host threads that carry out the requests of a service. Thread t serves the queues of the blocks congruent to t.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "laneway/base/error.hpp"
#include "laneway/base/one_line.hpp"
#include "laneway/simt/cpu/context.hpp"
#include "laneway/simt/host_service.hpp"
#include "laneway/task/service_copies.hpp"
#include "laneway/task/service_memory.hpp"
#include "laneway/task/service_server.hpp"

namespace laneway {

/// A host thread that serves: one lane, with the place of the block whose request it carries out.
class service_host_lane : public cpu::context {
public:
    static constexpr bool serves_on_host = true;

    service_host_lane(const pe_environment& of_pe, int block, int n_blocks, sub_allocator* heap, service_copies* copies)
        : cpu::context(of_pe, block, n_blocks, nullptr), heap_(heap), copies_(copies) {}

    /// In place of loads and stores of symmetric memory; null where the thread reaches it.
    [[nodiscard]] service_copies* copies() const { return copies_; }
    /// Before anybody hears of what requests have done.
    void wait_all() const {
        if (copies_ != nullptr) copies_->wait_all();
    }

    /// What a request throws leaves the run through the thread.
    template <class Call>
    decltype(auto) guard(const user_code&, Call&& call) {
        return call();
    }
    [[nodiscard]] bool threw() const { return false; }
    [[nodiscard]] bool run_ends() {
        return load(environment().host_stop, order::relaxed, scope::system) != stop_word::none;
    }
    [[noreturn]] void fail_request() const { throw host_call_error("the request failed"); }

    [[nodiscard]] void* allocate(std::uint64_t bytes) {
        return heap_->try_allocate(static_cast<std::size_t>(bytes), destructive_bytes);
    }
    [[nodiscard]] bool deallocate(void* piece) {
        try {
            heap_->deallocate(piece);
        } catch (const usage_error&) {
            return false;
        }
        return true;
    }

private:
    sub_allocator* heap_;
    service_copies* copies_;
};

/// The threads of one service.
template <class... Types>
class service_threads final : public host_service {
public:
    service_threads(std::shared_ptr<service_memory> memory, const task_types<Types...>& types)
        : memory_(std::move(memory)), types_(types),
          threads_(std::make_unique<thread[]>(static_cast<std::size_t>(memory_->options().threads))) {
        if (!memory_->by_copies()) return;
        const auto changing = std::make_shared<std::timed_mutex>();
        for (int t = 0; t < threads(); ++t) of(t).copies = std::make_unique<service_copies>(memory_->job(), changing);
    }

    /// Before the run that is about to begin; its queues are there, and have been cleared where they begin `anew`.
    /// Host.
    void begin(bool anew) {
        rings_.clear();
        for (int pe = 0; pe < memory_->job().n_pes(); ++pe) rings_.push_back(memory_->rings(pe));
        begun_ = true;
        for (int t = 0; t < threads(); ++t) {
            if (of(t).copies != nullptr) of(t).copies->prepare();
        }
        if (!anew) return;
        for (int t = 0; t < threads(); ++t) {
            thread& mine = of(t);
            mine.heads.assign(rings_.size() * rings_.front().n_blocks, 0);
            mine.requests = mine.slots = mine.refused = mine.copied = 0;
        }
    }

    /// Since the queues have been cleared.
    [[nodiscard]] service_statistics statistics() const {
        service_statistics sum;
        for (int t = 0; t < threads(); ++t) {
            sum.requests += of(t).requests;
            sum.slots += of(t).slots;
            sum.refused += of(t).refused;
            sum.copies += of(t).copied;
        }
        return sum;
    }

    [[nodiscard]] int threads() const override { return memory_->options().threads; }
    void open() override {
        if (!begun_) rings_.clear();  // a run without the service: what lies in its queues is of an earlier one
        begun_ = false;
        const double seconds = static_cast<double>(memory_->job().environment(0).timeout_ns) * 1e-9;
        for (int t = 0; t < threads(); ++t) {
            if (of(t).copies != nullptr) of(t).copies->open(seconds);
        }
    }
    bool turn(host_context& ctx, int number) override {
        thread& mine = of(number);
        // What is left when the run ends is of a run that has failed.
        const auto* const stop = memory_->job().environment(0).host_stop;
        if (ctx.load(stop, order::relaxed, scope::system) != stop_word::none) return false;
        bool any = false;
        for (std::size_t pe = 0; pe < rings_.size(); ++pe) {
            const auto blocks = static_cast<int>(rings_[pe].n_blocks);
            for (int block = number; block < blocks; block += threads()) {
                std::uint64_t& head = mine.heads[pe * rings_[pe].n_blocks + static_cast<std::size_t>(block)];
                any = serve(ctx, mine, static_cast<int>(pe), block, head) || any;
            }
        }
        return any;
    }
    [[nodiscard]] std::string account() const override { return {}; }  // the component tells it
    void audit() const override {}                                     // the same

private:
    struct alignas(destructive_bytes) thread {
        std::vector<std::uint64_t> heads;  ///< by PE and block: next ticket
        std::atomic<std::uint64_t> requests = 0;
        std::atomic<std::uint64_t> slots = 0;
        std::atomic<std::uint64_t> refused = 0;
        std::atomic<std::uint64_t> copied = 0;
        std::unique_ptr<service_copies> copies;  ///< null where the thread reaches symmetric memory
    };

    [[nodiscard]] thread& of(int number) const { return threads_[static_cast<std::size_t>(number)]; }

    bool serve(host_context& ctx, thread& mine, int pe, int block, std::uint64_t& head) {
        const service_rings_ref& rings = rings_[static_cast<std::size_t>(pe)];
        machine& job = memory_->job();
        const service_ring ring = rings.host_ring(block);
        const chunk_receiver requests(ring.requests);
        const service_label label{requests.poll(ctx, head)};
        if (label.label.bits == 0) return false;
        service_host_lane lane(job.environment(pe), block, static_cast<int>(rings.n_blocks), memory_->host_heap(pe),
                               mine.copies.get());
        const service_call whose(pe, block, mine.copies == nullptr);
        service_served done;
        const std::uint64_t copies_before = mine.copies == nullptr ? 0 : mine.copies->copies();
        try {
            const no_forwards none;
            done = serve_slot(lane, rings, types_, {ring, head, label}, whose, none);
        } catch (...) {
            if (mine.copies != nullptr) mine.copies->give_up();
            tell(label.label.kind(), pe, block);
        }
        ++head;
        mine.requests += done.requests;
        mine.refused += done.refused;
        ++mine.slots;
        if (mine.copies != nullptr) mine.copied += mine.copies->copies() - copies_before;
        return true;
    }

    /// Throws what is being handled again, and says whose request it was.
    [[noreturn]] void tell(std::uint32_t type, int pe, int block) const {
        const std::string whose = "service: request type " + std::to_string(type) + " '" + memory_->name(type) +
                                  "' of PE " + std::to_string(pe) + ", block " + std::to_string(block) + ": ";
        try {
            throw;
        } catch (const std::exception& thrown) {
            std::throw_with_nested(host_call_error(whose + one_line(thrown.what(), ' ')));
        } catch (...) {
            std::throw_with_nested(host_call_error(whose + "unknown exception"));
        }
    }

    std::shared_ptr<service_memory> memory_;
    task_types<Types...> types_;
    std::vector<service_rings_ref> rings_;  ///< by PE; none in a run without the service
    bool begun_ = false;
    std::unique_ptr<thread[]> threads_;
};

}  // namespace laneway
