// The queue of a channel: elements that any lanes produce one by one and whole warps consume.
//
// Follows the SIMT-direct channel of Orr (Fine-grain Task Aggregation and Coordination on GPUs, 2016, chapter 4): a
// data array, a control array that says which of its elements are ready, and an array that says which are done. An
// element is available, reserved by its producer, ready, dispatched to a consumer, done, and available again. One
// atomic operation of a warp serves all its lanes. Whoever reserves an element first need not be ready first: producers
// never wait for each other, and none waits for space.
//
// What differs from the thesis: a consumer reads the control array before it claims its part, so that entries need not
// outlive the claim and the array is as long as the data array, not twice; an entry says by the parity of its lap that
// it is written, so that no second tail follows the first; and the done-count is a bit for each element, whose meaning
// changes from lap to lap, so that it need not be cleared and an element that is freed twice is seen.
//
// Fences are what takes long on GPUs, so enq and tfree come in parts as well, with one release fence for all that a
// warp does at once (docs/design/0108): enq is take_entries, the fence, store_entries; tfree is the fence, free, check.
// What follows a word that is read without a fence depends on its value.
#pragma once

#include "laneway/simt/fail.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

/// Counters of one queue, in PE memory, zeroed before use. They only grow.
struct channel_words {
    std::uint64_t reserved;    ///< elements that producers have reserved
    std::uint64_t released;    ///< elements that are available again: all before this one
    std::uint64_t ready;       ///< entries of the control array that producers have taken
    std::uint64_t dispatched;  ///< entries that consumers have claimed
};

/// Entries of a queue that are ready, and the one that is claimed next, as a lane has seen them at one moment.
struct ready_entries {
    std::uint64_t count, next;
};
template <class Ctx>
[[nodiscard]] LANEWAY_FN ready_entries ready_in(Ctx& ctx, const channel_words& words) {
    // Dispatched first: it is never more than what is ready.
    const std::uint64_t dispatched = ctx.load(&words.dispatched, order::relaxed, scope::device);
    return {ctx.load(&words.ready, order::relaxed, scope::device) - dispatched, dispatched};
}

/// Device view of a queue; all its memory is the PE's. Trivially copyable, cheap to make.
class channel_queue_ref {
public:
    static constexpr std::uint32_t max_width = std::uint32_t{1} << 30;
    static constexpr std::uint64_t unseen = ~std::uint64_t{0};
    [[nodiscard]] static constexpr std::uint32_t done_words(std::uint32_t width) { return (width + 31) / 32; }

    /// `width`: elements, a power of two; `data`: for so many of `element_bytes`; `control`: as many words, `done`:
    /// done_words(width), all zeroed before use. `number`, `level`: of the channel, for faults. `created`: null, or a
    /// word that also counts entries, for several queues together.
    LANEWAY_FN channel_queue_ref(channel_words* words, std::byte* data, std::uint32_t* control, std::uint32_t* done,
                                 std::uint32_t width, std::uint32_t element_bytes, std::uint32_t number,
                                 std::uint32_t level, std::uint64_t* created = nullptr)
        : words_(words), data_(data), control_(control), done_(done), width_(width), element_bytes_(element_bytes),
          number_(number), level_(level), created_(created) {}

    [[nodiscard]] LANEWAY_FN std::uint32_t width() const { return width_; }

    /// A place names an element while it is reserved, ready or dispatched: its index, and the parity of its lap.
    [[nodiscard]] LANEWAY_FN std::uint32_t place_of(std::uint64_t position) const {
        return static_cast<std::uint32_t>(position & (width_ - 1)) | (is_odd(position) ? odd_lap : 0);
    }
    [[nodiscard]] LANEWAY_FN std::byte* element(std::uint32_t place) const {
        return data_ + static_cast<std::size_t>(place & (width_ - 1)) * element_bytes_;
    }

    /// The control word that an entry has when the element at a position is ready.
    [[nodiscard]] LANEWAY_FN std::uint32_t control_word(std::uint64_t entry, std::uint64_t position) const {
        return place_of(position) | written(entry);
    }

    /// talloc: reserves `n` elements for each lane of the mask, 1 to width(), from position `first` on; called by
    /// exactly these lanes, together. Lower lanes come first; false for those for which no space is left. Does not
    /// wait. The last `margin` elements, the same for all lanes, are left to others.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool reserve(Ctx& ctx, lane_mask mask, std::uint32_t n, std::uint64_t& first,
                                          std::uint32_t margin = 0) const {
        const std::uint32_t sum = inclusive_scan(ctx, mask, n);
        const bool is_leader = elected(ctx, mask);
        for (bool may_advance = true;;) {
            std::uint64_t tail = 0, room = 0;
            if (is_leader) {
                tail = ctx.load(&words_->reserved, order::relaxed, scope::device);
                // Partner: the maximum in advance. What consumers have read is not overwritten: on GPUs, as a lane
                // stores behind a branch on this word.
                const std::uint64_t used = tail - ctx.load(&words_->released, dependent_acquire<Ctx>, scope::device);
                room = used > width_ ? width_ : width_ - used;  // more than all: the tail is old, and cannot be taken
                room -= room < margin ? room : margin;
            }
            tail = ctx.shuffle(mask, tail, Ctx::first_lane(mask));
            room = ctx.shuffle(mask, room, Ctx::first_lane(mask));
            lane_mask fits = ctx.ballot(mask, sum <= room);
            // Of the lanes behind the first without space some sums may have wrapped around.
            if (const lane_mask others = mask & ~fits; others != 0) fits &= (others & (~others + 1)) - 1;
            if (fits != mask && may_advance) {
                may_advance = once(ctx, mask, [&] { return std::uint32_t{advance(ctx)}; }) != 0;
                continue;
            }
            if (fits == 0) return false;
            const std::uint32_t taken = ctx.shuffle(mask, sum, last_lane(ctx, mask, fits));
            if (once(ctx, mask, [&]() -> std::uint32_t {
                    return ctx.compare_exchange(&words_->reserved, tail, tail + taken, order::relaxed, scope::device);
                }) == 0) {
                continue;
            }
            first = tail + sum - n;
            ctx.sync(mask);  // what the leader acquired holds for all
            return (fits >> ctx.lane() & 1) != 0;
        }
    }

    /// enq: `n` elements from position `first` on, which this lane has reserved and written, are ready. Called by
    /// exactly the lanes of the mask, together. Does not wait.
    template <class Ctx>
    LANEWAY_FN void publish(Ctx& ctx, lane_mask mask, std::uint64_t first, std::uint32_t n) const {
        const std::uint64_t entry = take_entries(ctx, mask, n);
        shared_fence(ctx, order::release, scope::device);
        store_entries(ctx, entry, first, n);
    }
    /// The parts of it. Counts `n` elements of each lane as ready, before they can be seen; the lane's first entry.
    /// Called by exactly the lanes of the mask, together.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t take_entries(Ctx& ctx, lane_mask mask, std::uint32_t n) const {
        const std::uint32_t sum = inclusive_scan(ctx, mask, n);
        const std::uint32_t all = ctx.shuffle(mask, sum, last_lane(ctx, mask, mask));
        const std::uint64_t first = once(ctx, mask, [&] {
            if (created_ != nullptr) ctx.fetch_add(created_, all, order::relaxed, scope::device);
            return ctx.fetch_add(&words_->ready, all, order::relaxed, scope::device);
        });
        ctx.sync(mask);  // the count comes before the entries that the other lanes store
        return first + sum - n;
    }
    /// Behind a release shared_fence: consumers see the elements from position `first` on. Any lane.
    template <class Ctx>
    LANEWAY_FN void store_entries(Ctx& ctx, std::uint64_t entry, std::uint64_t first, std::uint32_t n) const {
        for (std::uint32_t i = 0; i < n; ++i) {
            // Partner: the load in claim. There are no more entries than elements that are ready, so this one has been
            // claimed in the lap before.
            ctx.store(control_ + ((entry + i) & (width_ - 1)), control_word(entry + i, first + i), behind_fence<Ctx>,
                      scope::device);
        }
    }
    /// A position of the element at a place; those of the elements reserved with it follow.
    [[nodiscard]] LANEWAY_FN std::uint64_t position_of(std::uint32_t place) const {
        return (place & (width_ - 1)) | ((place & odd_lap) != 0 ? width_ : 0);
    }

    /// In a queue whose places others than `reserve` hand out: so many elements have come, and were freed. One lane.
    template <class Ctx>
    LANEWAY_FN void count_reserved(Ctx& ctx, std::uint64_t n) const {
        ctx.fetch_add(&words_->reserved, n, order::relaxed, scope::device);
    }
    template <class Ctx>
    LANEWAY_FN void count_released(Ctx& ctx, std::uint64_t n) const {
        ctx.fetch_add(&words_->released, n, order::relaxed, scope::device);
    }

    /// deq: claims ready elements, at most `limit` and one a lane, in the order in which they became ready, and only
    /// among the first `end` that ever did; returns how many, and lanes below that get a place. A whole warp, together;
    /// does not wait, and gets none where another warp claims at the same moment. `next`: what queue_view has seen, for
    /// all lanes.
    template <class Ctx>
    LANEWAY_FN int claim(Ctx& ctx, std::uint32_t limit, std::uint32_t& place, std::uint64_t end = ~std::uint64_t{0},
                         std::uint64_t next = unseen) const {
        constexpr lane_mask all = full_warp<Ctx>;
        const auto lane = static_cast<std::uint32_t>(ctx.lane());
        std::uint64_t first = next;
        if (next == unseen) {
            first = once(ctx, all, [&] { return ctx.load(&words_->dispatched, order::relaxed, scope::device); });
        }
        const std::uint64_t mine = first + lane;
        const bool may = lane < limit && lane < width_ && mine < end;
        // Partner: the store in store_entries. What is read here stays as it is if the claim below succeeds.
        const std::uint32_t entry =
            may ? ctx.load(control_ + (mine & (width_ - 1)), before_fence<Ctx>, scope::device) : 0;
        const bool is_written = may && (entry & written_even) == written(mine);
        const lane_mask missing = ~ctx.ballot(all, is_written) & all;
        const int count = missing == 0 ? Ctx::warp_lanes : Ctx::first_lane(missing);
        if (count == 0) return 0;
        const bool claimed =
            once(ctx, all, [&]() -> std::uint32_t {
                return ctx.compare_exchange(&words_->dispatched, first, first + static_cast<std::uint64_t>(count),
                                            order::relaxed, scope::device);
            }) != 0;
        if (!claimed) return 0;
        shared_fence(ctx, order::acquire, scope::device);
        place = entry & ~written_even;
        return count;
    }

    /// tfree: the element of each lane of the mask, reserved or dispatched, is done. Called by exactly these lanes,
    /// together; does not wait. freed_twice, and a fault, where an element was done already.
    template <class Ctx>
    LANEWAY_FN status release(Ctx& ctx, lane_mask mask, std::uint32_t place) const {
        ctx.sync(mask);  // what lanes have read comes before what their leader tells
        shared_fence(ctx, order::release, scope::device);
        return check(ctx, place, free(ctx, mask, place));
    }
    /// What the word of an element's bit was before, for the lanes whose elements share it.
    struct freed_bits {
        lane_mask same = 0;
        std::uint32_t before = 0;
        bool differ = false;
    };
    /// The parts of it, behind a release shared_fence of lanes that have met: what comes between need not wait for
    /// what the bits were. Both by exactly the lanes of the mask, together.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN freed_bits free(Ctx& ctx, lane_mask mask, std::uint32_t place) const {
        const std::uint32_t index = place & (width_ - 1);
        freed_bits made;
        made.same = ctx.match(mask, index / 32);
        const std::uint32_t bits = bits_of(ctx, made.same, index);
        made.differ = Ctx::count_lanes(bits) == Ctx::count_lanes(made.same);
        if (elected(ctx, made.same)) {
            // Partner: the load in advance.
            made.before = ctx.fetch_xor(done_ + index / 32, bits, behind_fence<Ctx>, scope::device);
        }
        return made;
    }
    template <class Ctx>
    LANEWAY_FN status check(Ctx& ctx, std::uint32_t place, const freed_bits& made) const {
        const std::uint32_t before = ctx.shuffle(made.same, made.before, Ctx::first_lane(made.same));
        const bool was_odd = (before >> (place & (width_ - 1)) % 32 & 1) != 0;
        if (made.differ && was_odd == ((place & odd_lap) != 0)) return status::ok;
        return fail(ctx, status::freed_twice, operation::consume, -1, number_, level_);
    }

    /// Whether all elements before a dispatched one are done, so that its own end is what makes space. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool is_first(Ctx& ctx, std::uint32_t place) const {
        while (advance(ctx)) {
        }
        return place_of(ctx.load(&words_->released, order::relaxed, scope::device)) == place;
    }

    /// What a lane has seen of a queue at one moment.
    struct queue_view {
        std::uint32_t ready;  ///< elements
        std::uint64_t next;   ///< the entry that is claimed next
    };
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN queue_view look(Ctx& ctx) const {
        const ready_entries seen = ready_in(ctx, *words_);
        return {seen.count < width_ ? static_cast<std::uint32_t>(seen.count) : width_, seen.next};
    }
    /// Elements that are ready, as far as this lane knows. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t fill(Ctx& ctx) const {
        return look(ctx).ready;
    }

private:
    static constexpr std::uint32_t odd_lap = std::uint32_t{1} << 30;
    static constexpr std::uint32_t written_even = std::uint32_t{1} << 31;  ///< of entries in laps 0, 2, ...

    [[nodiscard]] LANEWAY_FN bool is_odd(std::uint64_t position) const { return (position & width_) != 0; }
    [[nodiscard]] LANEWAY_FN std::uint32_t written(std::uint64_t position) const {
        return is_odd(position) ? 0 : written_even;
    }

    /// The highest lane of `part`, the lowest lanes of the mask.
    template <class Ctx>
    static LANEWAY_FN int last_lane(Ctx& ctx, lane_mask mask, lane_mask part) {
        return Ctx::first_lane(ctx.ballot(mask, rank_in(ctx, mask) == Ctx::count_lanes(part) - 1));
    }

    /// Bits of the lanes' elements in the word that they share. Their elements mostly lie side by side.
    template <class Ctx>
    static LANEWAY_FN std::uint32_t bits_of(Ctx& ctx, lane_mask same, std::uint32_t index) {
        const auto count = static_cast<std::uint32_t>(Ctx::count_lanes(same));
        const std::uint32_t lowest = ctx.shuffle(same, index, Ctx::first_lane(same));
        const bool in_line = index - lowest == static_cast<std::uint32_t>(rank_in(ctx, same));
        if (ctx.ballot(same, in_line) == same) {
            return (count == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << count) - 1) << lowest % 32;
        }
        return reduce(ctx, same, std::uint32_t{1} << index % 32,
                      [](std::uint32_t a, std::uint32_t b) { return a | b; });
    }

    /// Makes elements available that are done, from the first on that is not, as far as so many words of bits tell,
    /// which are looked at together. Whether there were any. One lane.
    template <class Ctx>
    LANEWAY_FN bool advance(Ctx& ctx) const {
        return advance(ctx, words_, done_, width_);
    }
    template <class Ctx>
    static LANEWAY_SLOW bool advance(Ctx& ctx, channel_words* counts, const std::uint32_t* done_bits,
                                     std::uint32_t width) {
        constexpr std::uint32_t words = 8;
        // Partner: the maximum below. The bits are read after it: older ones, of the lap before the one that begins
        // there, would say that this one's elements are done.
        const std::uint64_t first = ctx.load(&counts->released, before_fence<Ctx>, scope::device);
        shared_fence(ctx, order::acquire, scope::device);
        const std::uint32_t all = done_words(width), at = static_cast<std::uint32_t>(first & (width - 1)) / 32;
        std::uint32_t seen[words];
        LANEWAY_UNROLLED
        for (std::uint32_t i = 0; i < words; ++i) {
            // Partner: the XOR in free. A head that is old sees bits of later laps, which say of its own lap no more
            // than is true.
            seen[i] =
                i <= all ? ctx.load(done_bits + ((at + i) & (all - 1)), dependent_acquire<Ctx>, scope::device) : 0;
        }
        std::uint64_t head = first;
        LANEWAY_UNROLLED
        for (const std::uint32_t word : seen) {
            const auto index = static_cast<std::uint32_t>(head & (width - 1));
            const std::uint32_t open = ((head & width) != 0 ? word : ~word) >> index % 32;
            std::uint32_t end = 32 - index % 32;
            if (end > width - index) end = width - index;
            const std::uint32_t done = open == 0 ? end : static_cast<std::uint32_t>(Ctx::first_lane(open));
            head += done < end ? done : end;
            if (done < end || head - first >= width) break;
        }
        if (head == first) return false;
        // Partners: the load in reserve, and the first one here. On GPUs it comes after the bits, as it is made of
        // them.
        ctx.fetch_max(&counts->released, head, dependent_release<Ctx>, scope::device);
        return true;
    }

    channel_words* words_;
    std::byte* data_;
    std::uint32_t* control_;
    std::uint32_t* done_;
    std::uint32_t width_;
    std::uint32_t element_bytes_;
    std::uint32_t number_;
    std::uint32_t level_;
    std::uint64_t* created_;
};

}  // namespace laneway
