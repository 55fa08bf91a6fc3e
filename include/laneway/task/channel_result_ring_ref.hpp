// The ring of results of a PE: elements that a graph of channels has produced for host threads, as its lanes see it.
//
// A ring in memory that the PE and the host share. Lanes take places by one operation of a warp, store their elements
// and mark them; the host reads them in order and counts what it has read in a word, which the control warp passes on
// to PE memory as places that may be used.
#pragma once

#include "laneway/memory/copy_bytes.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

/// Before each element of the ring; it follows, aligned to 16 bytes.
struct result_slot {
    alignas(
        16) std::uint64_t filled;  ///< 1 more than the number of what lies here. Written by the lane that stored it.
    std::uint32_t channel;

    static constexpr std::size_t header_bytes = 16;
    static constexpr std::size_t bytes_of(std::size_t element_bytes) {
        return (header_bytes + element_bytes + 63) / 64 * 64;
    }
    [[nodiscard]] LANEWAY_FN std::byte* element() { return reinterpret_cast<std::byte*>(this) + header_bytes; }
};

struct channel_result_ring_ref {
    std::byte* slots = nullptr;            ///< host-visible
    const std::uint64_t* taken = nullptr;  ///< host-visible: elements that the host has read
    std::uint64_t* granted = nullptr;      ///< PE memory: places that may be used so far, written by the control warp
    std::uint64_t* reserved = nullptr;     ///< PE memory: of these, those that lanes have taken
    std::uint64_t capacity = 1;            ///< slots, a power of two
    std::uint64_t slot_bytes = 64;

    [[nodiscard]] LANEWAY_FN result_slot& slot(std::uint64_t number) const {
        return *reinterpret_cast<result_slot*>(slots + number % capacity * slot_bytes);
    }

    /// Lets lanes use what the host has read. One lane of the control warp.
    template <class Ctx>
    LANEWAY_FN void pass_on(Ctx& ctx) const {
        // Partner: the host's release store.
        const std::uint64_t now = ctx.load(taken, order::acquire, scope::system) + capacity;
        // Partner: the acquire load in reserve.
        if (now != ctx.load(granted, order::relaxed, scope::device)) {
            ctx.store(granted, now, order::release, scope::device);
        }
    }

    /// A place for an element of each lane of the mask, the lower ones first; false for those for which there is none.
    /// Called by exactly these lanes, together; does not wait.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool reserve(Ctx& ctx, lane_mask mask, std::uint64_t& place) const {
        std::uint64_t first = 0;
        const std::uint32_t count = once(ctx, mask, [&]() -> std::uint32_t {
            first = ctx.load(reserved, order::relaxed, scope::device);
            for (;;) {
                // Partner: the release store in pass_on. What the host has read is not overwritten before.
                const std::uint64_t end = ctx.load(granted, order::acquire, scope::device);
                if (first >= end) return 0;
                const auto wanted = static_cast<std::uint64_t>(Ctx::count_lanes(mask));
                const std::uint64_t n = end - first < wanted ? end - first : wanted;
                if (ctx.compare_exchange(reserved, first, first + n, order::relaxed, scope::device)) {
                    return static_cast<std::uint32_t>(n);
                }
            }
        });
        first = ctx.shuffle(mask, first, Ctx::first_lane(mask));
        ctx.sync(mask);  // what the leader acquired holds for all
        place = first + static_cast<std::uint64_t>(rank_in(ctx, mask));
        return static_cast<std::uint32_t>(rank_in(ctx, mask)) < count;
    }

    /// Fills a place that this lane has reserved.
    template <class Ctx>
    LANEWAY_FN void fill(Ctx& ctx, std::uint64_t place, std::uint32_t channel, const std::byte* element,
                         std::size_t bytes) const {
        result_slot& to = slot(place);
        to.channel = channel;
        copy_bytes(to.element(), element, bytes);
        // Partner: the host's acquire load.
        ctx.store(&to.filled, place + 1, order::release, scope::system);
    }
};

}  // namespace laneway
