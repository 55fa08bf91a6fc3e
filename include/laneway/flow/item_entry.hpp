// An item as it waits in the queues of a PE, and the counters of such a queue.
#pragma once

#include "laneway/queue/channel_queue.hpp"

namespace laneway {

/// The PE that an entry was taken from; -1: none. Takes no room where items do not move.
template <bool Moves>
struct entry_lender {
    [[nodiscard]] LANEWAY_FN int lender() const { return -1; }
    LANEWAY_FN void set_lender(int) {}
};
template <>
struct entry_lender<true> {
    [[nodiscard]] LANEWAY_FN int lender() const { return lender_; }
    LANEWAY_FN void set_lender(int pe) { lender_ = pe; }

private:
    std::int32_t lender_ = -1;
};

/// An item as it waits: whole, some of its parts, or packed for another PE.
template <class Item, class Packed, bool Moves>
struct item_entry : entry_lender<Moves> {
    static constexpr std::uint32_t whole = 0xffffffff;
    static constexpr std::uint32_t passing = 0xfffffffe;

    std::uint32_t first = 0;      ///< of some parts the first; of a packed one the PE that it goes to
    std::uint32_t count = whole;  ///< parts, or one of the above
    static constexpr std::size_t align = alignof(Item) > alignof(Packed) ? alignof(Item) : alignof(Packed);
    alignas(align) std::byte content[sizeof(Item) > sizeof(Packed) ? sizeof(Item) : sizeof(Packed)] = {};

    static LANEWAY_FN item_entry of(const Item& item, std::uint32_t first = 0, std::uint32_t count = whole) {
        return holding(item, first, count);
    }
    static LANEWAY_FN item_entry to_pass(const Packed& packed, int pe) {
        return holding(packed, static_cast<std::uint32_t>(pe), passing);
    }
    [[nodiscard]] LANEWAY_FN const Item& item() const { return *reinterpret_cast<const Item*>(content); }
    [[nodiscard]] LANEWAY_FN const Packed& packed() const { return *reinterpret_cast<const Packed*>(content); }

private:
    template <class Content>
    static LANEWAY_FN item_entry holding(const Content& content, std::uint32_t first, std::uint32_t count) {
        item_entry made;
        made.first = first;
        made.count = count;
        __builtin_memcpy(made.content, &content, sizeof(Content));
        return made;
    }
};

/// A queue's counters, and the part of its entries that a run works on: all that become ready, or those of a wave.
struct item_queue_words {
    alignas(destructive_bytes) channel_words channel = {};
    std::uint64_t start = 0;                ///< entries that were taken before the run
    std::uint64_t end = ~std::uint64_t{0};  ///< the run takes none from here on

    /// Entries of this run so far.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t created(Ctx& ctx) const {
        const std::uint64_t ready = ctx.load(&channel.ready, order::relaxed, scope::device);
        return (ready < end ? ready : end) - start;
    }
};

}  // namespace laneway
