// The host half of a PE's part of a pool: rings of tasks to it and of news from it, and nodes for tasks of its own.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "laneway/memory/symmetric_bytes.hpp"
#include "laneway/simt/machine.hpp"
#include "laneway/task/task_pool_ref.hpp"

namespace laneway {

/// Whether tasks of a pool spawn others, which wait in nodes of the PE, and whether lanes submit some, which do as
/// well.
struct task_nodes_use {
    bool spawned = false;
    bool from_lanes = false;

    friend bool operator==(const task_nodes_use&, const task_nodes_use&) = default;
};

/// What is known of a PE when its rings are made.
struct task_rings_plan {
    std::uint32_t worker_blocks = 1;
    std::uint32_t worker_warps = 1;
    std::size_t argument_bytes = 0;     ///< of the longest type
    std::size_t result_bytes = 0;       ///< the same
    std::uint32_t max_open = 1;         ///< entries that the PE has at once, at most: put and not heard of
    std::uint32_t nodes = 0;            ///< for tasks that others spawn, and their joins
    std::uint32_t nodes_for_lanes = 0;  ///< for tasks that lanes submit
    task_nodes_use uses_nodes = {};

    friend bool operator==(const task_rings_plan&, const task_rings_plan&) = default;
};

/// What put() takes.
struct task_entry {
    task_slot head{};
    const void* behind = nullptr;  ///< arguments of a single task, else its task_piece
    std::size_t behind_bytes = 0;
};

/// One thread at a time uses it, but for filled() and any_wait(), which are for any.
class task_rings {
public:
    task_rings(const std::shared_ptr<device>& user, const task_rings_plan& plan);

    [[nodiscard]] task_rings_ref ref() const;
    [[nodiscard]] task_nodes_ref nodes() const;
    /// Behind a run that has ended well, which has given all nodes back: for the next one, which counts anew.
    void renew();
    /// Stores an entry, which the PE does not see before publish(). False where there is no room: there is when lanes
    /// have taken more.
    [[nodiscard]] bool put(const task_entry& entry);
    void publish();
    [[nodiscard]] std::uint32_t unpublished() const { return static_cast<std::uint32_t>(next_ - published_); }
    /// Appends the news of entries that have been done since the last call.
    void take_news(std::vector<task_news>& news);
    /// Where a single task has told what is not in its news.
    [[nodiscard]] const std::byte* outcome(std::uint32_t place) const {
        return outcomes_.get() + std::size_t{place} * outcome_bytes_;
    }
    /// Whether any task of the PE has ever had a status that is not 0.
    [[nodiscard]] bool has_failed() const;

    /// Changes while tasks of the PE get done, also before their entry is: those of long ranges, and spawned ones.
    [[nodiscard]] std::uint64_t life() const;

    /// Entries that have been published.
    [[nodiscard]] std::uint64_t filled() const;
    /// Whether one of them waits that no lane has taken, for a time when no program takes any.
    [[nodiscard]] bool any_wait() const;

private:
    void make_nodes(const std::shared_ptr<device>& user, const task_rings_plan& plan);
    [[nodiscard]] std::uint64_t& entry_word(std::uint64_t entry, std::uint32_t word) const;
    /// On a cache line of its own each.
    [[nodiscard]] std::uint64_t& host_word(std::size_t number) const {
        return *reinterpret_cast<std::uint64_t*>(words_.get() + number * destructive_bytes);
    }
    static constexpr std::size_t filled_word = 0, taken_word = 1, failed_word = 2, life_word = 3, n_host_words = 4;

    std::uint32_t n_shards_;
    ring_size ring_;
    ring_size news_ring_;  ///< of a shard
    std::uint32_t slot_bytes_;
    std::uint32_t outcome_bytes_;
    std::uint32_t worker_blocks_;
    std::uint32_t cached_nodes_ = 0;
    std::uint32_t first_for_lanes_ = task_nodes_ref::none;
    std::uint64_t node_bytes_;
    std::uint64_t next_ = 0;  ///< entry to put
    std::uint64_t published_ = 0;
    std::uint64_t taken_ = 0;  ///< as last seen
    std::uint64_t heard_[max_news_shards] = {};
    std::shared_ptr<std::byte> entries_;
    std::shared_ptr<std::byte> tails_;
    std::shared_ptr<std::byte> words_;
    std::shared_ptr<std::byte> news_;
    std::shared_ptr<std::byte> outcomes_;
    buffer<std::byte> slots_;
    buffer<std::uint32_t> free_for_;
    buffer<task_ring_words> ring_words_;
    buffer<std::byte> nodes_;
    buffer<task_block_words> blocks_;
    buffer<task_deque> deques_;
    buffer<std::uint64_t> hints_;
};

}  // namespace laneway
