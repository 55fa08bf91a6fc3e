// Host owner of the queues of one PE's item worklist.
#pragma once

#include <memory>

#include "laneway/flow/item_arrivals.hpp"
#include "laneway/simt/device.hpp"

namespace laneway {

struct item_worklist_options {
    /// Items that wait on a PE in its own memory, at least: so many of those that run now, and as many again of those
    /// that wait for a higher threshold.
    std::uint64_t items = 1 << 20;
    /// Items for which the PE has no room: so many have some in host memory that lanes reach.
    std::uint64_t reserve_items = 1 << 22;
    /// Items of a PE for which neither has room: the host keeps them in its ordinary memory, which it takes as they
    /// come. With so many there the run ends with an error. 0: as many as half of the host's memory holds, shared
    /// evenly by the PEs.
    std::uint64_t overflow_items = 0;
    /// Whether items wait for the threshold; else all run as they come.
    bool priorities = true;
    /// Less than `first` runs at once, see threshold_policy; `step` is the application's to know.
    threshold_policy policy{1, 1, 0};
    /// Whether one run does all. Else each run does what waited when it began, and the host starts one after the other.
    bool fused = true;
    /// Whether PEs that have nothing to do take items of others, which items_move of the application has to allow.
    bool stealing = false;
};

/// What waits on a PE, between runs.
struct waiting_items {
    std::uint64_t near = 0;
    std::uint64_t far = 0;
    std::uint64_t reserve = 0;
    std::uint64_t overflow = 0;                 ///< that the host keeps
    std::uint64_t spilled = 0;                  ///< that went into the reserve or to the host since the start
    std::uint64_t overflowed = 0;               ///< of these, to the host
    std::uint64_t min_far = ~std::uint64_t{0};  ///< priority of those put into far queues in the last wave
    std::uint64_t ended_ns = 0;                 ///< see item_pe_words

    [[nodiscard]] std::uint64_t all() const { return near + far + reserve + overflow; }
};

/// Where lanes reach the host's thread that keeps what finds no room.
struct item_overflow_view {
    work_group_layout to_host;
    const std::byte* given = nullptr;
};

/// Host only; between runs.
class item_queues_memory {
public:
    /// `rings`: working blocks of the PE; `n_pes`: of the machine. Throws usage_error for sizes that cannot be.
    item_queues_memory(const std::shared_ptr<device>& owner, std::uint32_t entry_bytes, std::uint32_t rings, int n_pes,
                       const item_worklist_options& options);

    /// Empties all queues: before the first run, and behind one that did not end well.
    void clear();
    /// Puts whole entries, `count` at `entries`, into the empty queues. Throws usage_error where they have no room.
    void start_with(const std::byte* entries, std::uint64_t count);
    /// Before a run: of all entries, or in a wave of those that are there; far ones only where `looks_through`.
    void begin(bool in_waves, bool looks_through, std::uint64_t threshold, const item_overflow_view& overflow);

    [[nodiscard]] const item_queues_ref& ref() const { return ref_; }
    [[nodiscard]] waiting_items waiting() const;
    [[nodiscard]] bool is_lost() const { return owner_->abandoned(); }

private:
    void fill(std::uint32_t ring, channel_words& words, const std::byte* entries, std::uint64_t count);

    std::shared_ptr<device> owner_;
    item_queues_ref ref_;
    buffer<item_block> blocks_;
    buffer<item_pe_words> pe_;
    buffer<std::byte> data_;
    std::shared_ptr<std::byte> reserve_data_;
    buffer<std::uint32_t> control_;
    buffer<std::uint32_t> done_;
    std::uint64_t max_overflow_items_;
    std::uint64_t spilled_before_ = 0;     ///< into the reserve
    std::uint64_t overflowed_before_ = 0;  ///< to the host
};

}  // namespace laneway
