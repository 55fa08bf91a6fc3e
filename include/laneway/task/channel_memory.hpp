// Host half of channels: what the host says of each, and their memory on one PE.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "laneway/comm/comm_plan.hpp"
#include "laneway/memory/symmetric_array.hpp"
#include "laneway/simt/device.hpp"
#include "laneway/simt/host_service.hpp"
#include "laneway/simt/run_deadline.hpp"
#include "laneway/task/channel_moving.hpp"
#include "laneway/task/channel_statistics.hpp"

namespace laneway {

struct channel_options {
    std::uint32_t width = 1 << 15;  ///< elements of a level on a PE; rounded up to a power of two
    /// What is produced for an element of one level lies in the next. A recursion whose levels have channels of their
    /// own cannot block itself, however small `width` is; it may be so many levels deep.
    std::uint32_t levels = 1;
    std::uint32_t at_once = 1;  ///< elements that one lane reserves together, at most; the least width
    /// Elements that are worth a dispatch while there is other work; 0: a warp's lanes, and one that takes a block.
    std::uint32_t at_least = 0;
    /// Fewer go after so many turns of a warp, rounded down to a power of two, or when nothing else can; 0: only then.
    std::uint32_t max_age = 64;
    std::string name = {};  ///< for messages

    friend bool operator==(const channel_options&, const channel_options&) = default;
};

/// A channel as its graph keeps it.
struct channel_plan {
    channel_options options;
    std::size_t element_bytes = 0;
    bool is_after = false;       ///< see channel_layout
    bool is_arrivals = false;    ///< the same; each shard has its whole width
    std::uint32_t consumer = 0;  ///< number of the kernel
    /// Where elements lie that came in rooms: rooms that each PE has of each level; 0: it is another channel. Its width
    /// is that of all PEs' rooms.
    std::uint32_t rooms_a_pe = 0;
    std::uint32_t of_channel = 0;  ///< then: number of the channel that they were sent to
    bool is_kept = false;          ///< see channel_layout
    bool takes_block = false;      ///< the same

    friend bool operator==(const channel_plan&, const channel_plan&) = default;
};

/// What the warps of a PE, or its blocks, do by themselves.
struct warp_plan {
    bool choose = true;  ///< each decides what it serves
    /// What they may keep of what they produce, see channel_stack.hpp: for all of a PE.
    std::uint64_t stack_bytes = 0;
    bool by_block = false;        ///< a block keeps something, not each of its warps
    std::size_t slot_bytes = 0;   ///< of an element there
    std::size_t frame_bytes = 0;  ///< of a continuation; 0: there are none

    friend bool operator==(const warp_plan&, const warp_plan&) = default;
};

/// Text for messages: `channel 1 "frames"`, or `channel 1 "frames" of graph 0`. `graph`: see channel_in_fault.
std::string channel_name(std::uint32_t number, const channel_plan& plan, std::uint32_t graph = 0);

/// Channels of one PE. Host only; not thread-safe; between runs.
class channel_memory {
public:
    /// Throws usage_error where it cannot be had.
    channel_memory(const std::shared_ptr<device>& owner, const std::vector<channel_plan>& plans, const warp_plan& warps,
                   const pe_grid& grid);

    /// Before a run. `are_empty`: the last one has left nothing in the channels, so they go on as they are; else they
    /// are emptied.
    void begin(bool are_empty);
    /// Puts elements into an empty channel, `count` at `elements`. Throws usage_error where they have no room.
    void init(std::uint32_t number, const std::byte* elements, std::uint64_t count);

    /// By what faults name the graph, see channel_in_fault.
    void set_graph(std::uint32_t graph);
    /// Makes orders and reports for the warps of such a grid, unless every warp decides for itself.
    void set_board(const pe_grid& grid, channel_scheduler by);
    /// Where the elements go that host threads consume, in a session.
    void set_result_ring(const channel_result_ring_ref& results);

    [[nodiscard]] const channel_set_ref& ref() const { return set_; }
    /// The same in PE memory, and what lets elements move between PEs.
    [[nodiscard]] const channel_set_ref* ref_on_device() const { return set_copy_.data(); }
    [[nodiscard]] moving_words* moving() const { return moving_; }
    [[nodiscard]] std::uint64_t* finished() const { return finished_; }
    [[nodiscard]] std::uint32_t worker_blocks() const { return worker_blocks_; }
    [[nodiscard]] std::uint32_t warp_lanes() const { return warp_lanes_; }

    void add_to(channel_statistics& sum) const;
    /// Elements that a level of a channel has room for.
    [[nodiscard]] std::uint64_t room(std::uint32_t number) const;
    /// Elements of a channel that were reserved and never freed.
    [[nodiscard]] std::uint64_t unfreed(std::uint32_t number) const;
    /// Elements of each level of a channel that are reserved, ready or dispatched.
    [[nodiscard]] std::vector<std::uint64_t> occupancy(std::uint32_t number) const;
    /// Elements of each level that warps had kept and nobody freed by the end of the run.
    [[nodiscard]] std::vector<std::uint64_t> unfreed_by_warps(std::uint32_t number) const;
    /// Rooms of each class that have gone out with elements and not come back; empty where there are none.
    [[nodiscard]] std::vector<std::uint64_t> rooms_out() const;
    [[nodiscard]] bool is_lost() const { return owner_->abandoned(); }

    /// Bytes that channels take on a PE where so many may have a shard of their own.
    static std::uint64_t bytes_of(const std::vector<channel_plan>& plans, std::uint32_t sharers);

private:
    void make_stacks(const warp_plan& plan, const pe_grid& grid);
    void make_counts();
    void clear();
    /// Of the PE's memory, to the host's.
    template <class T>
    [[nodiscard]] std::vector<T> copy_out(const T* from, std::uint64_t count) const {
        std::vector<T> host(count);
        if (count != 0) owner_->copy_out(host.data(), from, count * sizeof(T));
        return host;
    }
    [[nodiscard]] std::uint64_t open_in(std::uint32_t number, std::uint32_t shard, std::uint32_t level,
                                        const std::vector<channel_words>& words,
                                        const std::vector<std::uint32_t>& done) const;
    void add_queues_to(one_channel_statistics& sum, std::uint32_t number, const std::vector<channel_words>& words,
                       const std::vector<std::uint64_t>& stalls, const std::vector<std::uint64_t>& peaks) const;

    std::shared_ptr<device> owner_;
    std::vector<channel_plan> plans_;
    std::uint32_t worker_blocks_;
    std::uint32_t warp_lanes_;
    channel_set_ref set_;
    buffer<channel_words> words_;
    buffer<std::byte> data_;
    buffer<std::uint32_t> control_;
    buffer<std::uint32_t> done_;
    buffer<std::uint32_t> rooms_;
    buffer<std::byte> counts_;  ///< what each run begins with as zero, together
    std::uint64_t* finished_ = nullptr;
    moving_words* moving_ = nullptr;
    std::vector<channel_words> before_;  ///< words_ as the run before has left them; empty: all zero
    buffer<std::uint32_t> tags_;
    buffer<std::byte> slots_;
    buffer<std::byte> frames_;
    buffer<channel_set_ref> set_copy_;
    buffer<std::uint64_t> board_words_;      ///< orders and reports, where a warp gives orders
    std::shared_ptr<std::byte> host_board_;  ///< the same where a thread of the host does, with fills
    buffer<std::uint32_t> shown_;            ///< then
};

/// The channels of all PEs of a job, kept from run to run. Host only; not thread-safe; between runs.
class channel_store {
public:
    /// Takes memory for channels of these plans, which are empty then.
    void prepare(machine& machine, const comm_plan& plan, const std::vector<channel_plan>& plans,
                 const warp_plan& warps, const run_deadline& until);

    /// By what faults of the next run name the graph, see channel_in_fault.
    void set_graph(std::uint32_t graph);
    [[nodiscard]] std::uint32_t graph() const { return memories_.empty() ? 0 : memories_.front().ref().graph; }
    /// The run, or session, for which they were prepared has left nothing in them.
    void note_emptied() { are_empty_ = true; }

    /// Has warps get their orders from this scheduler in the next run.
    void set_boards(const comm_plan& plan, channel_scheduler by);
    /// Keeps what gives orders on these boards, until nullptr or the next prepare(): no longer than the boards.
    void keep_scheduling(std::shared_ptr<host_service> scheduling) { scheduling_ = std::move(scheduling); }

    /// Of the run, with the channels that it has added.
    [[nodiscard]] const std::vector<channel_plan>& plans() const { return plans_; }
    [[nodiscard]] std::vector<channel_memory>& memories() { return memories_; }
    [[nodiscard]] const std::vector<channel_memory>& memories() const { return memories_; }
    /// What PEs ask each other for work with; see moving_ref.
    [[nodiscard]] symmetric_ref<std::uint32_t> requests() const;

private:
    std::vector<channel_plan> plans_;
    warp_plan warps_;
    std::vector<pe_grid> grids_;
    std::vector<channel_memory> memories_;
    bool are_empty_ = false;
    std::unique_ptr<symmetric_array<std::uint32_t>> requests_;
    std::shared_ptr<host_service> scheduling_;
};

/// What they have done since the run, or session, began.
channel_statistics statistics_of(const std::vector<channel_memory>& memories);

}  // namespace laneway
