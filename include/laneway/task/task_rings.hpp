// The host half of a PE's part of a pool: rings of tasks to it and of news from it, and nodes for tasks of its own.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "laneway/memory/symmetric_bytes.hpp"
#include "laneway/simt/machine.hpp"
#include "laneway/task/task_pool_ref.hpp"

namespace laneway {

/// What is known of a PE when its rings are made.
struct task_rings_plan {
    std::uint32_t worker_blocks = 1;
    std::uint32_t worker_warps = 1;
    std::size_t argument_bytes = 0;  ///< of the longest type
    std::uint32_t max_open = 1;      ///< entries that the PE has at once, at most: put and not heard of
    bool spawns = false;             ///< whether tasks spawn others
    std::uint32_t nodes = 0;         ///< for these and their joins
};

/// What put() takes.
struct task_entry {
    std::uint32_t record = 0;
    std::uint32_t type = 0;
    std::uint32_t count = 0;  ///< 0: a single task
    std::uint32_t first = 0;
    std::byte* outcome = nullptr;
    const void* behind = nullptr;  ///< arguments of a single task, else its task_piece
    std::size_t behind_bytes = 0;
};

/// One thread at a time uses it, but for filled() and any_wait(), which are for any.
class task_rings {
public:
    task_rings(const std::shared_ptr<device>& user, const task_rings_plan& plan);

    [[nodiscard]] task_rings_ref ref() const;
    [[nodiscard]] task_nodes_ref nodes() const;
    /// Stores an entry, which the PE does not see before publish(). False where no shard has room: it has when lanes
    /// have taken more.
    [[nodiscard]] bool put(const task_entry& entry);
    void publish();
    [[nodiscard]] std::uint32_t unpublished() const { return unpublished_; }
    /// Appends the news of entries that have been done since the last call.
    void take_news(std::vector<std::uint64_t>& news);

    /// Entries that have been published.
    [[nodiscard]] std::uint64_t filled() const;
    /// Whether one of them waits that no lane has taken, for a time when no program takes any.
    [[nodiscard]] bool any_wait() const;

private:
    struct shard_state {
        std::uint64_t next = 0;   ///< entry to put
        std::uint64_t heard = 0;  ///< news so far
    };

    void make_nodes(const std::shared_ptr<device>& user, std::uint32_t count, std::uint32_t workers);
    [[nodiscard]] task_slot& slot(std::uint32_t shard, std::uint64_t number) const;
    [[nodiscard]] std::uint64_t* filled_words() const { return reinterpret_cast<std::uint64_t*>(filled_.get()); }
    [[nodiscard]] std::uint64_t* news_words() const { return reinterpret_cast<std::uint64_t*>(news_.get()); }

    std::uint32_t n_shards_;
    std::uint32_t warps_a_shard_;
    std::uint64_t slots_;       ///< of a shard
    std::uint64_t news_slots_;  ///< of a shard
    std::uint64_t slot_bytes_;
    std::uint64_t node_bytes_;
    std::uint32_t worker_blocks_;
    std::uint32_t cached_nodes_ = 0;
    std::uint32_t turn_ = 0;  ///< shard of the next entry
    std::uint32_t unpublished_ = 0;
    std::shared_ptr<std::byte> entries_;
    std::shared_ptr<std::byte> filled_;
    std::shared_ptr<std::byte> news_;
    buffer<std::byte> words_;
    buffer<std::byte> nodes_;
    buffer<task_block_words> blocks_;
    buffer<task_deque> deques_;
    buffer<std::uint64_t> hints_;
    std::vector<shard_state> shards_;
};

}  // namespace laneway
