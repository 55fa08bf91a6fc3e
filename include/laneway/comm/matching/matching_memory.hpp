// The host half of a matching engine: its memory on one PE, and what it has counted.
#pragma once

#include "laneway/comm/matching/matching_engine.hpp"
#include "laneway/comm/matching/unordered_table.hpp"
#include "laneway/simt/device.hpp"

namespace laneway {

struct matching_options {
    std::uint32_t posted = 1024;      ///< receives that wait at once
    std::uint32_t unexpected = 1024;  ///< messages that wait at once
    /// Of each kind of key in each queue, a power of two; 0: twice as many as the longer queue has entries. Fewer take
    /// less memory, and are searched for longer where queues are full.
    std::uint32_t chains = 0;
    match_rules rules;
};

/// What an engine has done so far.
struct matching_statistics {
    match_counts counts{};
    std::uint32_t posted = 0, unexpected = 0;          ///< waiting now
    std::uint32_t max_posted = 0, max_unexpected = 0;  ///< at once, so far
};

/// One engine on one PE. Queues keep what waits in them from run to run.
class matching_engine {
public:
    /// Throws usage_error for queues of fewer than 32 entries, or of more than 2^24.
    matching_engine(const std::shared_ptr<device>& owner, const matching_options& options);

    [[nodiscard]] matching_engine_ref ref() const;
    /// Memory of such an engine.
    [[nodiscard]] static std::uint64_t bytes_of(const matching_options& options);
    /// Host, between runs.
    [[nodiscard]] matching_statistics statistics() const;
    /// Messages that wait for receives, in their order. Host, between runs.
    [[nodiscard]] std::vector<match_entry> waiting() const;

private:
    struct queue_memory {
        queue_memory(const std::shared_ptr<device>& owner, std::uint32_t capacity, const matching_options& options);

        [[nodiscard]] match_queue_ref ref() const;

        buffer<match_entry> entries;
        buffer<match_chain> chains;
        buffer<std::uint32_t> free_entries;
        buffer<match_queue_state> state;
        std::uint32_t n_chains;  ///< of each kind
    };

    match_rules rules_;
    queue_memory posted_;
    queue_memory unexpected_;
    buffer<match_counts> counts_;
};

/// A table for matching without an order, on one PE. It keeps what waits from run to run.
class unordered_table {
public:
    /// How many messages and how many receives may wait at once: up to 2^24, at least 1. `buckets`: a power of two; 0:
    /// twice as many as the larger of these.
    unordered_table(const std::shared_ptr<device>& owner, std::uint32_t messages, std::uint32_t receives,
                    std::uint32_t buckets = 0);

    [[nodiscard]] unordered_table_ref ref() const;
    /// Memory of such a table.
    [[nodiscard]] static std::uint64_t bytes_of(std::uint32_t messages, std::uint32_t receives, std::uint32_t buckets);
    /// What waits, in no order. Host, between runs.
    struct waiting_entry {
        match_key key;
        std::uint32_t handle = 0;
        bool is_message = false;
    };
    [[nodiscard]] std::vector<waiting_entry> waiting() const;

private:
    std::uint32_t messages_, receives_;
    buffer<std::uint64_t> buckets_;
    buffer<unordered_entry> entries_;
};

}  // namespace laneway
