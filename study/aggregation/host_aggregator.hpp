// Host threads as aggregators: they take groups of messages from the PEs' queues, repack them by destination, and place
// chunks in memory that the destination's lanes poll (Gravel's CPU aggregator, Orr 2016, section 5.1).
//
// Thread i owns line i of every PE's queue and a ring into each PE. It never waits: where a ring is full it stops in
// the middle of a group and goes on there at its next turn.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>

#include "aggregation_agent.hpp"
#include "device_indirect.hpp"
#include "laneway/queue/chunk_ring.hpp"
#include "laneway/queue/work_group_queue_memory.hpp"
#include "laneway/transport/transport.hpp"

namespace laneway::study {

/// One thread's ring into one PE, with the buffer that fills for it.
template <class Message>
class host_outlet {
public:
    host_outlet(const std::shared_ptr<device>& host, const std::shared_ptr<device>& reader, chunk_shape<Message> shape,
                std::uint32_t slots)
        : reader_(reader), chunk_messages_(shape.messages()) {
        const std::size_t payload = std::size_t{slots} * shape.bytes();
        payload_ = find_transport(*host, *reader).allocate(host, reader, payload + slots * sizeof(std::uint64_t));
        credits_ = find_transport(*reader, *host).allocate(reader, host, slots * sizeof(std::uint64_t));
        ring_.slots = payload_.get();
        ring_.flags = reinterpret_cast<std::uint64_t*>(payload_.get() + payload);
        ring_.credits = reinterpret_cast<std::uint64_t*>(credits_.get());
        ring_.n_slots = slots;
        ring_.slot_bytes = shape.bytes();
    }

    void reset() {
        waiting_.clear();
        waiting_.reserve(chunk_messages_);
        ticket_ = 0;
        reader_->fill(ring_.flags, 0, ring_.n_slots * sizeof(std::uint64_t));
        reader_->fill(ring_.credits, 0, ring_.n_slots * sizeof(std::uint64_t));
    }

    /// Whether it took the message; not, while a full buffer cannot leave.
    bool add(host_context& ctx, const Message& message) {
        if (waiting_.size() == chunk_messages_ && !send(ctx)) return false;
        if (waiting_.empty()) opened_ = std::chrono::steady_clock::now();
        waiting_.push_back(message);
        return true;
    }
    /// Sends a buffer that is full or has waited for the age; age 0: when the thread has nothing else to do. Returns
    /// whether it sent one.
    bool send_due(host_context& ctx, std::uint64_t age_ns, bool busy) {
        if (waiting_.empty()) return false;
        const auto old = [&] { return std::chrono::steady_clock::now() - opened_ > std::chrono::nanoseconds(age_ns); };
        const bool due = waiting_.size() == chunk_messages_ || (age_ns == 0 ? !busy : old());
        return due && send(ctx);
    }

    [[nodiscard]] bool empty() const { return waiting_.empty(); }
    [[nodiscard]] std::uint64_t chunks() const { return ticket_; }
    [[nodiscard]] const chunk_ring_layout& ring() const { return ring_; }
    [[nodiscard]] std::size_t bytes() const { return std::size_t{ring_.n_slots + 1} * ring_.slot_bytes; }

private:
    bool send(host_context& ctx) {
        const std::uint64_t place = ticket_ % ring_.n_slots;
        const std::uint64_t free_at = ticket_ < ring_.n_slots ? 0 : ticket_ - ring_.n_slots + 1;
        // Partner: chunk_receiver::release.
        if (ctx.load(ring_.credits + place, order::acquire, scope::system) != free_at) return false;
        std::memcpy(ring_.slots + place * ring_.slot_bytes, waiting_.data(), waiting_.size() * sizeof(Message));
        // Partner: chunk_receiver::poll.
        ctx.store(ring_.flags + place, chunk_label::of(static_cast<std::uint32_t>(waiting_.size()), 0).flag(ticket_),
                  order::release, scope::system);
        ++ticket_;
        waiting_.clear();
        return true;
    }

    std::shared_ptr<device> reader_;
    std::size_t chunk_messages_;
    std::shared_ptr<std::byte> payload_;
    std::shared_ptr<std::byte> credits_;
    chunk_ring_layout ring_;
    std::vector<Message> waiting_;
    std::chrono::steady_clock::time_point opened_;
    std::uint64_t ticket_ = 0;
};

template <class Message>
class host_aggregator final : public host_service {
public:
    using record = addressed<Message>;

    host_aggregator(machine& machine, const study_options& options, chunk_shape<Message> shape,
                    const std::vector<study_grid>& grids)
        : age_ns_(options.job.age_ns) {
        constexpr std::uint32_t ring_slots = 16;
        const auto host = open_device({device_kind::cpu, 0});
        for (int pe = 0; pe < machine.n_pes(); ++pe) {
            work_group_queue_shape queue;
            queue.lines = options.job.host_threads;
            queue.slots = options.job.host_slots;
            queue.columns = static_cast<std::uint32_t>(grids[static_cast<std::size_t>(pe)].lanes);
            queues_.emplace_back(machine.device(pe), queue);
        }
        for (int t = 0; t < options.job.host_threads; ++t) {
            threads_.push_back(std::make_unique<thread_state>());
            for (int pe = 0; pe < machine.n_pes(); ++pe) {
                threads_.back()->outlets.emplace_back(host, machine.device(pe), shape, ring_slots);
            }
        }
    }

    [[nodiscard]] work_group_sender<record> sender(int pe) const {
        return queues_[static_cast<std::size_t>(pe)].sender();
    }
    [[nodiscard]] const host_outlet<Message>& outlet(int thread, int pe) const {
        return threads_[static_cast<std::size_t>(thread)]->outlets[static_cast<std::size_t>(pe)];
    }
    /// Messages repacked, chunks placed. Host, between runs.
    [[nodiscard]] std::uint64_t taken() const {
        return sum([](const thread_state& t) { return t.taken.load(); });
    }
    [[nodiscard]] std::uint64_t chunks() const {
        return sum([](const thread_state& t) {
            std::uint64_t placed = 0;
            for (const auto& outlet : t.outlets) placed += outlet.chunks();
            return placed;
        });
    }
    [[nodiscard]] std::size_t queue_bytes(int pe) const {
        const work_group_layout& queue = queues_[static_cast<std::size_t>(pe)].layout();
        return (std::size_t{queue.n_lines} << queue.log2_slots) * queue.slot_bytes;
    }

    [[nodiscard]] int threads() const override { return static_cast<int>(threads_.size()); }
    void open() override {
        for (auto& queue : queues_) queue.reset();
        for (std::size_t t = 0; t < threads_.size(); ++t) {
            thread_state& mine = *threads_[t];
            mine.from.clear();
            for (const auto& queue : queues_) mine.from.push_back(queue.receiver(static_cast<int>(t)));
            mine.next_column.assign(queues_.size(), 0);
            mine.taken = 0;
            for (auto& outlet : mine.outlets) outlet.reset();
        }
    }
    bool turn(host_context& ctx, int thread) override {
        thread_state& mine = *threads_[static_cast<std::size_t>(thread)];
        bool busy = false;
        for (std::size_t pe = 0; pe < queues_.size(); ++pe) busy = repack(ctx, mine, pe) || busy;
        bool any = busy;
        for (auto& outlet : mine.outlets) any = outlet.send_due(ctx, age_ns_, busy) || any;
        return any;
    }
    [[nodiscard]] std::string account() const override {
        return "; host aggregators: " + std::to_string(taken()) + " messages repacked into " +
               std::to_string(chunks()) + " chunks";
    }
    void audit() const override {
        for (const auto& t : threads_) {
            for (const auto& outlet : t->outlets) {
                if (!outlet.empty()) throw device_fault("audit mismatch: messages are left on the host" + account());
            }
        }
    }

private:
    struct alignas(destructive_bytes) thread_state {
        std::vector<work_group_receiver<record>> from;  ///< by PE
        std::vector<std::uint32_t> next_column;         ///< of the slot at hand, by PE
        std::vector<host_outlet<Message>> outlets;      ///< by PE
        std::atomic<std::uint64_t> taken{0};            ///< written by the thread alone
    };

    /// Goes on with the slot at hand of one PE's line; returns whether it took a message.
    bool repack(host_context& ctx, thread_state& mine, std::size_t pe) {
        const auto batch = mine.from[pe].peek(ctx);
        std::uint32_t& column = mine.next_column[pe];
        const std::uint32_t first = column;
        for (; column < batch.size(); ++column) {
            const record next = batch[column];
            if (!mine.outlets[next.pe].add(ctx, next.message)) break;
        }
        const bool any = column != first;
        mine.taken.store(mine.taken.load(std::memory_order_relaxed) + column - first, std::memory_order_relaxed);
        if (!batch.empty() && column == batch.size()) {
            mine.from[pe].release(ctx);
            column = 0;
        }
        return any;
    }

    template <class Of>
    [[nodiscard]] std::uint64_t sum(Of&& of) const {
        std::uint64_t all = 0;
        for (const auto& t : threads_) all += of(*t);
        return all;
    }

    std::uint64_t age_ns_;
    std::vector<work_group_queue<record>> queues_;
    std::vector<std::unique_ptr<thread_state>> threads_;
};

}  // namespace laneway::study
