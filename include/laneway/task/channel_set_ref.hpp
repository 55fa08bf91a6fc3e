// All channels of a PE, as its lanes see them.
//
// A channel has a queue for each of its levels, and that in each shard of the PE: warps produce into their own shard,
// or one that a few of them share, and consume from it first, so that no word is shared by all. The queues of a shard
// are numbered channel by channel, the levels of one after the other; those of a PE shard by shard.
#pragma once

#include "laneway/queue/channel_queue.hpp"
#include "laneway/task/channel_board.hpp"
#include "laneway/task/channel_result_ring_ref.hpp"
#include "laneway/task/channel_rooms.hpp"
#include "laneway/task/channel_stack.hpp"

namespace laneway {

inline constexpr std::uint32_t max_channels = 16;

struct channel_layout {
    std::uint32_t element_bytes = 0;
    std::uint32_t width = 1;  ///< of each queue, a power of two
    std::uint32_t levels = 1;
    std::uint32_t first_queue = 0;  ///< of a shard
    std::uint32_t at_once = 1;      ///< elements that a lane may reserve together
    dispatch_rule rule;
    /// Elements that are kept for kernels whose own element stands in the way of freeing others: half of them for the
    /// first elements of all queues, the rest for that of this one.
    std::uint32_t margin = 0;
    std::uint32_t consumer = 0;     ///< number of the kernel
    std::uint32_t is_after = 0;     ///< 1: deeper than other channels of the same level
    std::uint32_t is_kept = 0;      ///< 1: a warp may keep its elements, see channel_stack.hpp
    std::uint32_t takes_block = 0;  ///< 1: a whole block works on each element
    std::uint32_t is_arrivals = 0;  ///< 1: holds work that has moved here, see channel_moving.hpp
    /// Where elements lie that came in rooms, see channel_remote.hpp: number of that channel; none. Of such a one: that
    /// of the channel which they were sent to.
    std::uint32_t remote = channel_rooms_ref::none;
    std::uint32_t is_remote = 0;    ///< 1: it is such a one, whose places are those of rooms
    std::uint64_t first_data = 0;   ///< bytes from the shard's data on
    std::uint64_t first_entry = 0;  ///< words from the shard's control words on
    std::uint64_t first_done = 0;   ///< words from the shard's done words on
};

/// Totals of a PE, for reports; relaxed.
struct channel_totals {
    std::uint64_t dispatches;       ///< warps' worth of elements
    std::uint64_t full_dispatches;  ///< of these, with an element for every lane
    std::uint64_t yields;           ///< elements that were put back
    std::uint64_t moved;            ///< elements that were sent to PEs without work
    std::uint64_t sent;             ///< elements that kernels have produced for other PEs
    std::uint64_t received;         ///< elements that came from kernels of other PEs
    std::uint64_t given;            ///< elements that warps had kept and gave to others
    std::uint64_t idle_turns;       ///< turns of warps that found nothing to run
};
/// The same of a channel.
struct channel_tally {
    std::uint64_t dispatches;
    std::uint64_t kept;       ///< elements that ended where warps had kept them
    std::uint64_t kept_runs;  ///< elements that warps took from there; those that were put back each time
};

struct channel_set_ref {
    channel_layout channels[max_channels];
    std::uint32_t n_channels = 0;
    std::uint32_t graph = 0;  ///< see channel_in_fault
    std::uint32_t n_shards = 1;
    std::uint32_t by_blocks = 0;  ///< 1: whole blocks do the work, so that the warps of one have the same shard
    std::uint32_t queues_a_shard = 0;
    std::uint32_t min_age = 64;      ///< turns between those in which a warp looks for what has waited
    std::uint64_t data_a_shard = 0;  ///< bytes
    std::uint64_t entries_a_shard = 0;
    std::uint64_t done_a_shard = 0;
    channel_words* words = nullptr;  ///< one a queue
    std::byte* data = nullptr;
    std::uint32_t* control = nullptr;
    std::uint32_t* done = nullptr;
    /// A bit for each queue of a shard that seems to hold ready elements; a hint, as a warp that looks at all queues of
    /// a deep recursion does little else.
    std::uint32_t* flags = nullptr;
    std::uint64_t* created = nullptr;  ///< words_a_shard a shard: entries of all its queues
    channel_totals* totals = nullptr;
    channel_tally* tallies = nullptr;  ///< one a channel
    // Of each queue, beside what its own words count. Apart from these and from each other: peaks are hardly ever
    // written, but stalls as often as a queue is full.
    std::uint64_t* stalls = nullptr;  ///< requests for space that found none
    std::uint64_t* peaks = nullptr;   ///< most elements that a warp has seen ready
    channel_rooms_ref rooms;          ///< for elements that travel between PEs
    channel_board_ref board;          ///< where warps get orders what to serve
    channel_result_ring_ref results;  ///< in a session: where elements for host threads go
    channel_stacks_ref stacks;        ///< what warps keep of what they produce

    static constexpr std::uint32_t words_a_shard = destructive_bytes / sizeof(std::uint64_t);

    [[nodiscard]] LANEWAY_FN std::uint32_t flags_a_shard() const { return (queues_a_shard + 31) / 32; }

    /// Even, and no other queue's, also of another graph in the run: what lanes match that call at once for one queue.
    [[nodiscard]] LANEWAY_FN std::uint64_t identity_of(std::uint32_t queue) const {
        return reinterpret_cast<std::uint64_t>(words + queue);
    }
    /// Number of the channel that a queue of a shard belongs to.
    [[nodiscard]] LANEWAY_FN std::uint32_t channel_of(std::uint32_t queue) const {
        std::uint32_t c = 0;
        while (c + 1 < n_channels && queue >= channels[c + 1].first_queue) ++c;
        return c;
    }
    [[nodiscard]] LANEWAY_FN channel_queue_ref queue(std::uint32_t shard, std::uint32_t number,
                                                     std::uint32_t level) const {
        const channel_layout& layout = channels[number];
        const std::uint64_t places = std::uint64_t{level} * layout.width;
        return {words + shard * queues_a_shard + layout.first_queue + level,
                data + shard * data_a_shard + layout.first_data + places * layout.element_bytes,
                control + shard * entries_a_shard + layout.first_entry + places,
                done + shard * done_a_shard + layout.first_done +
                    std::uint64_t{level} * channel_queue_ref::done_words(layout.width),
                layout.width,
                layout.element_bytes,
                in_faults(number),
                level,
                created + shard * words_a_shard};
    }
    /// The same by the queue's number in the PE.
    [[nodiscard]] LANEWAY_FN channel_queue_ref queue(std::uint32_t of_pe) const {
        const std::uint32_t shard = of_pe / queues_a_shard, inside = of_pe % queues_a_shard;
        const std::uint32_t number = channel_of(inside);
        return queue(shard, number, inside - channels[number].first_queue);
    }
    /// Where an element lies that has come in a room of the job: 32 rooms that follow each other lie in one shard, as
    /// what a warp sends together is consumed together.
    [[nodiscard]] LANEWAY_FN std::uint32_t shard_of_room(std::uint32_t room) const { return room / 32 % n_shards; }
    [[nodiscard]] LANEWAY_FN std::uint32_t place_of_room(std::uint32_t room) const {
        return room / 32 / n_shards * 32 + room % 32;
    }
    /// The room whose element lies at a place of such a queue of the PE.
    [[nodiscard]] LANEWAY_FN std::uint32_t room_at(std::uint32_t of_pe, const channel_queue_ref& queue,
                                                   std::uint32_t place) const {
        const std::uint32_t index = place & (queue.width() - 1);
        return (index / 32 * n_shards + of_pe / queues_a_shard) * 32 + index % 32;
    }
    /// The queues of a shard from `first` to before `end` whose flags are in this word: a bit for each.
    [[nodiscard]] LANEWAY_FN std::uint32_t bits_between(std::uint32_t word, std::uint32_t first,
                                                        std::uint32_t end) const {
        std::uint32_t bits = ~std::uint32_t{0};
        if (first > 32 * word) bits <<= first - 32 * word;
        if (end - 32 * word < 32) bits &= (std::uint32_t{1} << (end - 32 * word)) - 1;
        return bits;
    }
    /// Elements have become ready in a queue of the PE. One lane.
    template <class Ctx>
    LANEWAY_FN void raise_flag(Ctx& ctx, std::uint32_t of_pe) const {
        const std::uint32_t inside = of_pe % queues_a_shard;
        std::uint32_t* const word = flags + of_pe / queues_a_shard * flags_a_shard() + inside / 32;
        const std::uint32_t bit = std::uint32_t{1} << inside % 32;
        // Relaxed: a flag that is lost to a lane that lowers it is found by the next look at all queues.
        if ((ctx.load(word, order::relaxed, scope::device) & bit) != 0) return;
        ctx.fetch_or(word, bit, order::relaxed, scope::device);
    }
    /// A queue was seen to be empty. One lane.
    template <class Ctx>
    LANEWAY_FN void lower_flag(Ctx& ctx, std::uint32_t shard, std::uint32_t inside) const {
        const std::uint32_t bit = std::uint32_t{1} << inside % 32;
        ctx.fetch_and(flags + shard * flags_a_shard() + inside / 32, ~bit, order::relaxed, scope::device);
    }
    /// A warp has seen so many ready elements in a queue of the PE. One lane.
    template <class Ctx>
    LANEWAY_FN void note_ready(Ctx& ctx, std::uint32_t of_pe, std::uint64_t ready) const {
        // Without a look whether it is more, for which the warp would wait.
        ctx.fetch_max(peaks + of_pe, ready, order::relaxed, scope::device);
    }
    /// By which the user knows a channel.
    [[nodiscard]] LANEWAY_FN std::uint32_t users_number(std::uint32_t number) const {
        return channels[number].is_remote != 0 ? channels[number].remote : number;
    }
    /// The number by which faults name a channel.
    [[nodiscard]] LANEWAY_FN std::uint32_t in_faults(std::uint32_t number) const {
        return channel_in_fault{number, graph}.number();
    }
    /// What a policy is told of a queue of a shard that holds so many ready elements.
    [[nodiscard]] LANEWAY_FN channel_load load(std::uint32_t number, std::uint32_t queue, std::uint64_t ready) const {
        const channel_layout& layout = channels[number];
        const std::uint32_t level = queue - layout.first_queue;
        const auto waiting = static_cast<std::uint32_t>(ready < layout.width ? ready : layout.width);
        return {users_number(number), level, layout.levels, depth(number, level), waiting, layout.width, false};
    }
    /// Deeper queues depend on nothing that is less deep.
    [[nodiscard]] LANEWAY_FN std::uint32_t depth(std::uint32_t number, std::uint32_t level) const {
        return channels[number].is_arrivals != 0 ? 0 : 2 * level + channels[number].is_after;
    }
};

}  // namespace laneway
