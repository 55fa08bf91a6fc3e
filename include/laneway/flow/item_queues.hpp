// The queues in which a PE's items wait: a near and a far one for each working block, and a reserve in host memory.
//
// They are channel queues: nobody waits for space in them, also not in a handler. What finds no room in the block's
// turn goes to the queues of some other blocks, then to the reserve, then to any queue that has room, and where all of
// them are full to a thread of the host, which has room in its ordinary memory (item_overflow_ref.hpp). A PE that has
// something in its reserve or with the host tells the others, which then start no items until that is over: what they
// have made waits where it is. What is to be told counts as work of the PE, or the run might end while such messages
// are on their way.
#pragma once

#include "laneway/flow/item_overflow_ref.hpp"
#include "laneway/flow/threshold_scan.hpp"
#include "laneway/simt/message_order.hpp"

namespace laneway {

/// One working block's counters in PE memory.
struct item_block : threshold_counters {
    item_queue_words near;
    item_queue_words far;
    alignas(destructive_bytes) std::uint64_t turn = 0;  ///< of those who put something, among the blocks
    std::uint64_t min_far = ~std::uint64_t{0};          ///< key that was put into far queues since the host set it
};

/// What the other PEs know of a PE's reserve: a count of changes, from one of these to the next and then to the first.
struct reserve_epoch {
    static constexpr std::uint64_t states = 3;
    enum state : std::uint64_t {
        unused,  ///< and they know it
        untold,  ///< something has been put into it
        told,    ///< and they know it
    };
    static LANEWAY_FN state of(std::uint64_t epoch) { return static_cast<state>(epoch % states); }
    /// How often the others have to be told until the reserve is unused again: twice for each use.
    static LANEWAY_FN std::uint64_t tellings(std::uint64_t epoch) { return 2 * ((epoch + states - 1) / states); }
};

/// The same of the PE.
struct item_pe_words {
    item_queue_words reserve;
    item_overflow_words overflow;
    alignas(destructive_bytes) std::uint64_t threshold = 0;  ///< written by the control lane; it only grows
    alignas(destructive_bytes) std::uint64_t told = 0;       ///< a reserve_epoch
    std::uint64_t ended_ns = 0;  ///< when the lanes of a wave were done with it, by their clock

    /// Entries of this run that went to the reserve and the host so far, and what the other PEs are to be told of it.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t created(Ctx& ctx) const {
        return reserve.created(ctx) + overflow.entries.created(ctx) +
               reserve_epoch::tellings(ctx.load(&told, order::relaxed, scope::device));
    }
};

/// Whether an item runs now. A threshold of all ones holds nothing back: the greatest priority is not below it.
LANEWAY_FN bool runs_below(std::uint64_t threshold, std::uint64_t priority) {
    return priority < threshold || threshold == ~std::uint64_t{0};
}

enum class item_place : std::uint32_t { rejected, near, far, reserve, host };

/// Device view; all memory but the reserve's data is the PE's.
struct item_queues_ref {
    item_block* blocks = nullptr;
    item_pe_words* pe = nullptr;
    std::byte* data = nullptr;          ///< of near queues, then of far ones
    std::byte* reserve_data = nullptr;  ///< host memory
    std::uint32_t* control = nullptr;   ///< as data, then the reserve's
    std::uint32_t* done = nullptr;      ///< the same
    std::uint32_t rings = 1;            ///< working blocks
    std::uint32_t near_width = 1;
    std::uint32_t far_width = 0;  ///< 0: there are no priorities
    std::uint32_t reserve_width = 1;
    std::uint32_t entry_bytes = 0;
    bool tells = false;  ///< whether other PEs are told of the reserve

    [[nodiscard]] LANEWAY_FN channel_queue_ref near(std::uint32_t ring) const {
        return made(blocks[ring].near, data, 0, near_width, ring);
    }
    [[nodiscard]] LANEWAY_FN channel_queue_ref far(std::uint32_t ring) const {
        return made(blocks[ring].far, data, rings, far_width, ring);
    }
    [[nodiscard]] LANEWAY_FN channel_queue_ref reserve() const {
        const std::uint64_t before = std::uint64_t{rings} * (near_width + far_width);
        const std::uint64_t words = std::uint64_t{rings} * (channel_queue_ref::done_words(near_width) +
                                                            channel_queue_ref::done_words(far_width));
        return {&pe->reserve.channel, reserve_data, control + before, done + words, reserve_width, entry_bytes, 0, 0};
    }
    [[nodiscard]] LANEWAY_FN std::uint64_t places() const {
        return std::uint64_t{rings} * (near_width + far_width) + reserve_width;
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t threshold(Ctx& ctx) const {
        return ctx.load(&pe->threshold, order::relaxed, scope::device);
    }
    /// Whether the reserve, or the host, holds something. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool uses_reserve(Ctx& ctx) const {
        return reserve().fill(ctx) != 0 || pe->overflow.count(ctx) != 0;
    }

    /// Puts an entry of each lane of the mask where there is room, near or far ones as each lane says; called by
    /// exactly these lanes, together. Waits for the host alone. Returns where it went; rejected only as the run ends,
    /// where the host has kept as much as it may, or for another reason.
    template <class Ctx, class Entry>
    LANEWAY_FN item_place put(Ctx& ctx, lane_mask mask, bool is_near, const Entry& entry) const {
        const std::uint32_t first = next_ring(ctx, mask);
        const lane_mask near_lanes = ctx.ballot(mask, is_near);
        bool placed = false;
        if (is_near) {
            placed = offer(ctx, near_lanes, true, first, few, entry);
        } else {
            placed = offer(ctx, mask & ~near_lanes, false, first, few, entry);
        }
        const lane_mask left = ctx.ballot(mask, !placed);
        if (placed) return is_near ? item_place::near : item_place::far;
        return put_aside(ctx, left, first, entry);
    }

    /// The same for near queues only, some of them; false where they have no room: the caller keeps it.
    template <class Ctx, class Entry>
    [[nodiscard]] LANEWAY_FN bool try_put(Ctx& ctx, lane_mask mask, const Entry& entry) const {
        return offer(ctx, mask, true, next_ring(ctx, mask), few, entry);
    }

private:
    static constexpr std::uint32_t few = 4;  ///< queues that are looked at before the reserve is

    [[nodiscard]] LANEWAY_FN channel_queue_ref made(item_queue_words& words, std::byte* of, std::uint32_t before,
                                                    std::uint32_t width, std::uint32_t ring) const {
        const std::uint64_t places = std::uint64_t{before} * near_width + std::uint64_t{ring} * width;
        const std::uint64_t bits = std::uint64_t{before} * channel_queue_ref::done_words(near_width) +
                                   std::uint64_t{ring} * channel_queue_ref::done_words(width);
        return {&words.channel, of + places * entry_bytes, control + places, done + bits, width, entry_bytes, ring, 0};
    }

    /// The blocks get what is put in turn, a warp's lanes together: so one atomic serves them, and all have work.
    template <class Ctx>
    LANEWAY_FN std::uint32_t next_ring(Ctx& ctx, lane_mask mask) const {
        const auto block = static_cast<std::uint32_t>(ctx.block()) % rings;
        return once(ctx, mask, [&] {
            const std::uint64_t turn = ctx.fetch_add(&blocks[block].turn, 1, order::relaxed, scope::device);
            return static_cast<std::uint32_t>((block + turn) % rings);
        });
    }

    /// Whether a queue among `count` has taken the lane's entry.
    template <class Ctx, class Entry>
    LANEWAY_FN bool offer(Ctx& ctx, lane_mask mask, bool is_near, std::uint32_t first, std::uint32_t count,
                          const Entry& entry) const {
        bool placed = false;
        for (std::uint32_t i = 0; i < count && i < rings; ++i) {
            const lane_mask rest = ctx.ballot(mask, !placed);
            if (rest == 0) break;
            const std::uint32_t ring = (first + i) % rings;
            if (!placed) placed = store(ctx, rest, is_near ? near(ring) : far(ring), entry);
        }
        return placed;
    }

    template <class Ctx, class Entry>
    LANEWAY_FN static bool store(Ctx& ctx, lane_mask mask, const channel_queue_ref& queue, const Entry& entry) {
        std::uint64_t at = 0;
        const bool has_room = queue.reserve(ctx, mask, 1, at);
        const lane_mask taken = ctx.ballot(mask, has_room);
        if (!has_room) return false;
        std::byte* const element = queue.element(queue.place_of(at));
        *reinterpret_cast<Entry*>(element) = entry;
        go_before(ctx, element);
        queue.publish(ctx, taken, at, 1);
        return true;
    }

    template <class Ctx, class Entry>
    LANEWAY_SLOW item_place put_aside(Ctx& ctx, lane_mask mask, std::uint32_t first, const Entry& entry) const {
        bool placed = store(ctx, mask, reserve(), entry);
        lane_mask left = ctx.ballot(mask, !placed);
        if (placed) {
            begin_use(ctx);
            return item_place::reserve;
        }
        placed = offer(ctx, left, true, first, rings, entry);
        left = ctx.ballot(left, !placed);
        if (placed) return item_place::near;
        if (far_width != 0) placed = offer(ctx, left, false, first, rings, entry);
        if (placed) return item_place::far;
        return give_to_host(ctx, entry);
    }

    /// Any lane.
    template <class Ctx, class Entry>
    LANEWAY_FN item_place give_to_host(Ctx& ctx, const Entry& entry) const {
        if (pe->overflow.count(ctx) >= pe->overflow.max_items) {
            const std::uint64_t all = places() + pe->overflow.max_items;
            (void)fail(ctx, status::no_room, operation::put_item, -1, all, all);
            return item_place::rejected;
        }
        if (pe->overflow.put(ctx, entry) != status::ok) return item_place::rejected;
        begin_use(ctx);
        return item_place::host;
    }

    /// Notes that the reserve is in use. Any lane. While another warp is about to tell that it is unused a use may go
    /// unnoticed: the next entry notes it, and until then others only do not wait. Relaxed: it comes before whatever
    /// made the entry counts as done. Partner: threshold_scan::acquired, behind which `created` is read.
    template <class Ctx>
    LANEWAY_FN void begin_use(Ctx& ctx) const {
        if (!tells) return;
        std::uint64_t epoch = ctx.load(&pe->told, order::relaxed, scope::device);
        if (reserve_epoch::of(epoch) != reserve_epoch::unused) return;
        // Where it fails another lane has noted it.
        (void)ctx.compare_exchange(&pe->told, epoch, epoch + 1, order::relaxed, scope::device);
    }
};

}  // namespace laneway
