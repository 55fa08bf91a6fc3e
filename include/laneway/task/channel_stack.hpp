// What a warp keeps of what its lanes produce, so that most elements of a recursion never leave it.
//
// A warp has a stack of elements and frames for continuations, in PE memory, where no other warp puts anything. What
// its lanes produce lies on the stack, and the warp runs what is on top, an element for each lane; so no word is shared
// and nothing is fenced. Where others have no work, it gives them its lowest elements, through the channels. A
// continuation waits in a frame of the warp that forked, and runs in the warp that has ended the last of its children.
//
// The words that lanes of a warp share among themselves lie in the memory of their block. Space is bounded: where a
// stack or the frames are full, elements lie in their channels.
//
// Where whole blocks do all the work a block has one stack, in place of its warps. Lanes of all of them produce onto
// it, and its first warp does the rest: see channel_kept_work.hpp.
#pragma once

#include "laneway/simt/fail.hpp"
#include "laneway/simt/group.hpp"

namespace laneway {

inline constexpr std::size_t max_kept_bytes = 128;  ///< of an element that a warp may keep

/// Memory for the stacks of a PE's warps; trivially copyable. Zeroed before a run.
struct channel_stacks_ref {
    static constexpr std::uint32_t max_warps = 16;  ///< of a block
    static constexpr std::uint32_t max_frames = 1024;
    static constexpr std::uint32_t max_ready = 64;   ///< continuations of a warp that run next
    static constexpr std::uint32_t max_closed = 32;  ///< children of others' continuations that a warp tells of at once

    std::uint32_t capacity = 0;  ///< elements of a stack, a power of two; 0: warps keep nothing
    std::uint32_t slot_bytes = 0;
    std::uint32_t frames = 0;  ///< of a warp
    std::uint32_t frame_bytes = 0;
    std::uint32_t warps_a_block = 1;  ///< that have a stack
    std::uint32_t warps = 0;
    std::uint32_t* tags = nullptr;      ///< one an element, see stack_tag
    std::byte* slots = nullptr;         ///< the elements
    std::byte* frame_data = nullptr;    ///< the frames
    std::uint32_t* returned = nullptr;  ///< a bit for each frame that another warp has freed
    std::uint32_t* asking = nullptr;    ///< a bit for each warp, or block, that has kept little: channel_requests.hpp
    std::uint32_t* unfreed = nullptr;   ///< one a queue of a shard: elements that warps had kept and nobody freed

    [[nodiscard]] LANEWAY_FN std::uint32_t returned_words() const { return frames / 32; }
    [[nodiscard]] LANEWAY_FN std::uint32_t asking_words() const { return (warps + 31) / 32; }
    [[nodiscard]] LANEWAY_FN std::byte* frame(std::uint32_t warp, std::uint32_t index) const {
        return frame_data + (std::uint64_t{warp} * frames + index) * frame_bytes;
    }
};

/// Says of an element outside of a channel's queues which channel and level it belongs to. It takes the place of a
/// queue's number, from all of which its highest bit tells it apart.
struct stack_tag {
    static constexpr std::uint32_t kept = std::uint32_t{1} << 31;
    static constexpr std::uint32_t level_bits = 24, channel_bits = 4;
    static constexpr std::uint32_t states = std::uint32_t{3} << (level_bits + channel_bits);
    static constexpr std::uint32_t ready = std::uint32_t{1} << (level_bits + channel_bits);
    static constexpr std::uint32_t freed = std::uint32_t{2} << (level_bits + channel_bits);

    [[nodiscard]] static LANEWAY_FN std::uint32_t of(std::uint32_t channel, std::uint32_t level) {
        return kept | channel << level_bits | level;
    }
    [[nodiscard]] static LANEWAY_FN std::uint32_t channel(std::uint32_t tag) {
        return tag >> level_bits & ((1u << channel_bits) - 1);
    }
    [[nodiscard]] static LANEWAY_FN std::uint32_t level(std::uint32_t tag) { return tag & ((1u << level_bits) - 1); }
};

/// A continuation that runs next: its frame's tag, and the warp and number of the frame.
struct ready_frame {
    std::uint32_t tag;
    std::uint32_t place;

    static constexpr std::uint32_t frame_bits = 16;
};

/// What lanes of a warp take and put by an addition each.
struct warp_stack_words {
    std::uint32_t top = 0;     ///< position behind the highest element
    std::uint32_t ready = 0;   ///< continuations in `next`
    std::uint32_t unused = 0;  ///< frames in `frames`
    std::uint32_t closed = 0;  ///< continuations in `parents`, and those for which there was no room
};
/// In the memory of a block, for each of its warps.
struct warp_stack_shared {
    warp_stack_words words;
    std::byte* parents[channel_stacks_ref::max_closed];
    ready_frame next[channel_stacks_ref::max_ready];  ///< a warp runs some as soon as they fill it, and each of its
                                                      ///< lanes ends one at a time
    std::uint16_t frames[channel_stacks_ref::max_frames];  ///< numbers of frames that are free; the last is used first
};
static_assert(sizeof(warp_stack_shared) % 16 == 0);

/// A warp's stack and frames.
class warp_stack {
public:
    /// `keeps`: else there is none, and lanes only ask that. `warp`: among those of the PE; `lanes`: of the warp.
    LANEWAY_FN warp_stack(const channel_stacks_ref& all, bool keeps, warp_stack_shared* shared, std::uint32_t warp,
                          int lanes)
        : all_(all), keeps_(keeps), shared_(shared), warp_(warp), tags_(all.tags + std::uint64_t{warp} * all.capacity),
          slots_(all.slots + std::uint64_t{warp} * all.capacity * all.slot_bytes),
          space_(all.capacity - static_cast<std::uint32_t>(lanes)) {}

    /// Whether there is one: else what lanes produce lies in channels.
    [[nodiscard]] LANEWAY_FN bool keeps() const { return keeps_; }

    template <class Ctx>
    LANEWAY_FN void open(Ctx& ctx) {
        constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < all_.frames; i += lanes) {
            shared_->frames[i] = static_cast<std::uint16_t>(all_.frames - 1 - i);
        }
        seen_ = {.unused = all_.frames};
        if (ctx.lane() == 0) shared_->words = seen_;
        ctx.sync(full_warp<Ctx>);
    }

    // Any lanes, also in divergent code.

    /// Takes `n` slots for the lane, from position `first` on; false where they are not left. What fails takes them as
    /// well, until the lanes are through: see reclaim.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool reserve(Ctx& ctx, std::uint32_t n, std::uint32_t& first) const {
        first = ctx.fetch_add(&shared_->words.top, n, order::relaxed, scope::block);
        return first + n - bottom_ <= space_;
    }
    [[nodiscard]] LANEWAY_FN std::byte* slot(std::uint32_t position) const {
        return slots_ + static_cast<std::size_t>(position & (all_.capacity - 1)) * all_.slot_bytes;
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t& tag(std::uint32_t position) const {
        return tags_[position & (all_.capacity - 1)];
    }
    [[nodiscard]] LANEWAY_FN std::byte* slots() const { return slots_; }
    [[nodiscard]] LANEWAY_FN std::uint32_t capacity() const { return all_.capacity; }
    [[nodiscard]] LANEWAY_FN std::uint32_t slot_bytes() const { return all_.slot_bytes; }
    /// A slot that was reserved is not needed: a gap, until the stack goes below it. False where it was freed before.
    [[nodiscard]] LANEWAY_FN bool free(std::uint32_t position) const {
        std::uint32_t& at = tag(position);
        const bool was_reserved = (at & stack_tag::states) == 0;
        at |= stack_tag::freed;
        return was_reserved;
    }
    /// A frame for the lane; false where none is left.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool take_frame(Ctx& ctx, std::uint32_t& place) const {
        const std::uint32_t left =
            ctx.fetch_add(&shared_->words.unused, ~std::uint32_t{0}, order::relaxed, scope::block);
        if (static_cast<std::int32_t>(left) <= 0) return false;
        place = warp_ << ready_frame::frame_bits | shared_->frames[left - 1];
        return true;
    }
    [[nodiscard]] LANEWAY_FN std::byte* frame(std::uint32_t place) const {
        return all_.frame(place >> ready_frame::frame_bits, place % (1u << ready_frame::frame_bits));
    }
    /// Whether something is a frame of this warp.
    [[nodiscard]] LANEWAY_FN bool owns(const std::byte* frame) const {
        const std::byte* const first = all_.frame(warp_, 0);
        return frame >= first && frame < first + std::uint64_t{all_.frames} * all_.frame_bytes;
    }
    /// A continuation runs next, in this warp. Each lane that runs an element calls it once at most.
    template <class Ctx>
    LANEWAY_FN void push_ready(Ctx& ctx, std::uint32_t tag, std::uint32_t place) const {
        const std::uint32_t at = ctx.fetch_add(&shared_->words.ready, 1u, order::relaxed, scope::block);
        shared_->next[at % channel_stacks_ref::max_ready] = {tag, place};
    }

    /// A child of a continuation that others may see has ended; false where there is no room to tell of it later.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool note_closed(Ctx& ctx, std::byte* parent) const {
        if (all_.frames == 0) return false;
        const std::uint32_t at = ctx.fetch_add(&shared_->words.closed, 1u, order::relaxed, scope::block);
        if (at >= channel_stacks_ref::max_closed) return false;
        shared_->parents[at] = parent;
        return true;
    }

    // The whole warp, together, while none of its lanes runs an element. It knows the words that its lanes share then,
    // and looks at them once, behind the elements; what it changes it also stores, before lanes run the next ones.

    /// Lanes have run: looks at what they have taken and put.
    template <class Ctx>
    LANEWAY_FN void look(Ctx& ctx) {
        ctx.sync(full_warp<Ctx>);
        seen_ = shared_->words;
        ctx.sync(full_warp<Ctx>);
    }

    /// Children that are to be told of.
    [[nodiscard]] LANEWAY_FN std::uint32_t n_closed() const {
        return seen_.closed < channel_stacks_ref::max_closed ? seen_.closed : channel_stacks_ref::max_closed;
    }
    [[nodiscard]] LANEWAY_FN std::byte* closed(std::uint32_t i) const { return shared_->parents[i]; }
    template <class Ctx>
    LANEWAY_FN void clear_closed(Ctx& ctx) {
        ctx.sync(full_warp<Ctx>);
        set(ctx, seen_.closed, shared_->words.closed, 0);
    }
    /// Children of these lanes have ended, of continuations that others may see. The lanes for which there is no room
    /// to tell of it later.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN lane_mask note_all_closed(Ctx& ctx, lane_mask ended, std::byte* parent) {
        if (all_.frames == 0) return ended;
        const std::uint32_t at = n_closed() + static_cast<std::uint32_t>(rank_in(ctx, ended));
        const bool mine = (ended >> ctx.lane() & 1) != 0, is_noted = mine && at < channel_stacks_ref::max_closed;
        if (is_noted) shared_->parents[at] = parent;
        set(ctx, seen_.closed, shared_->words.closed, n_closed() + static_cast<std::uint32_t>(Ctx::count_lanes(ended)));
        return ctx.ballot(full_warp<Ctx>, mine && !is_noted);
    }

    [[nodiscard]] LANEWAY_FN std::uint32_t size() const { return seen_.top - bottom_; }
    [[nodiscard]] LANEWAY_FN std::uint32_t n_ready() const { return seen_.ready; }
    [[nodiscard]] LANEWAY_FN std::uint32_t top() const { return seen_.top; }
    [[nodiscard]] LANEWAY_FN std::uint32_t bottom() const { return bottom_; }
    /// The elements below `position` are gone.
    LANEWAY_FN void set_bottom(std::uint32_t position) { bottom_ = position; }
    /// The lanes have run: looks, and gives back what failed to get slots or frames had taken. `end`: behind the last
    /// slot of this lane; the stack's top before, where it has none.
    template <class Ctx>
    LANEWAY_FN void reclaim(Ctx& ctx, std::uint32_t end) {
        look(ctx);
        if (size() > space_) {
            const std::uint64_t most = ~warp_min(ctx, ~std::uint64_t{end - bottom_});
            set_top(ctx, bottom_ + static_cast<std::uint32_t>(most));
        }
        if (static_cast<std::int32_t>(seen_.unused) < 0) set(ctx, seen_.unused, shared_->words.unused, 0);
    }
    template <class Ctx>
    LANEWAY_FN void set_top(Ctx& ctx, std::uint32_t position) {
        set(ctx, seen_.top, shared_->words.top, position);
    }
    /// Continuations of these lanes run next, in this warp.
    template <class Ctx>
    LANEWAY_FN void push_all_ready(Ctx& ctx, lane_mask pushed, std::uint32_t tag, std::uint32_t place) {
        if ((pushed >> ctx.lane() & 1) != 0) {
            const std::uint32_t at = seen_.ready + static_cast<std::uint32_t>(rank_in(ctx, pushed));
            shared_->next[at % channel_stacks_ref::max_ready] = {tag, place};
        }
        set(ctx, seen_.ready, shared_->words.ready, seen_.ready + static_cast<std::uint32_t>(Ctx::count_lanes(pushed)));
    }
    /// Takes up to one continuation for each lane; returns how many, and lanes below that get one.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t pop_ready(Ctx& ctx, ready_frame& mine) {
        constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
        const std::uint32_t count = seen_.ready < lanes ? seen_.ready : lanes, left = seen_.ready - count;
        ctx.sync(full_warp<Ctx>);  // another lane may have put it there
        if (static_cast<std::uint32_t>(ctx.lane()) < count) {
            mine = shared_->next[left + static_cast<std::uint32_t>(ctx.lane())];
        }
        ctx.sync(full_warp<Ctx>);
        set(ctx, seen_.ready, shared_->words.ready, left);
        return count;
    }
    /// The frames at the places of lanes that are `mine` are free.
    template <class Ctx>
    LANEWAY_FN void free_frames(Ctx& ctx, bool mine, std::uint32_t place) {
        const std::uint32_t owner = place >> ready_frame::frame_bits;
        const std::uint32_t index = place % (1u << ready_frame::frame_bits);
        if (mine && owner != warp_) {
            // Partner: the acquire exchange in collect_frames.
            ctx.fetch_or(all_.returned + std::uint64_t{owner} * all_.returned_words() + index / 32,
                         std::uint32_t{1} << index % 32, order::release, scope::device);
        }
        const lane_mask own = ctx.ballot(full_warp<Ctx>, mine && owner == warp_);
        if (mine && owner == warp_) {
            const std::uint32_t at = seen_.unused + static_cast<std::uint32_t>(rank_in(ctx, own));
            shared_->frames[at] = static_cast<std::uint16_t>(index);
        }
        set(ctx, seen_.unused, shared_->words.unused, seen_.unused + static_cast<std::uint32_t>(Ctx::count_lanes(own)));
    }
    /// Takes back the frames that other warps have freed.
    template <class Ctx>
    LANEWAY_FN void collect_frames(Ctx& ctx) {
        constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
        std::uint32_t* const words = all_.returned + std::uint64_t{warp_} * all_.returned_words();
        for (std::uint32_t first = 0; first < all_.returned_words(); first += lanes) {
            const std::uint32_t w = first + static_cast<std::uint32_t>(ctx.lane());
            std::uint32_t bits = 0;
            if (w < all_.returned_words() && ctx.load(words + w, order::relaxed, scope::device) != 0) {
                // Partner: the release operation in free_frames.
                bits = ctx.exchange(words + w, 0u, order::acquire, scope::device);
            }
            const auto count = static_cast<std::uint32_t>(Ctx::count_lanes(bits));
            const std::uint32_t end = seen_.unused + inclusive_scan(ctx, full_warp<Ctx>, count);
            for (std::uint32_t i = end - count; bits != 0; bits &= bits - 1, ++i) {
                shared_->frames[i] =
                    static_cast<std::uint16_t>(32 * w + static_cast<std::uint32_t>(Ctx::first_lane(bits)));
            }
            set(ctx, seen_.unused, shared_->words.unused, ctx.shuffle(full_warp<Ctx>, end, Ctx::warp_lanes - 1));
        }
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t unused_frames() const { return seen_.unused; }
    /// Calls `each(frame)` for the frames that are in use, on any of the lanes. At the end, as the words of frames that
    /// other warps have freed mark all that are free from then on.
    template <class Ctx, class Each>
    LANEWAY_FN void each_used_frame(Ctx& ctx, Each&& each) {
        collect_frames(ctx);
        if (seen_.unused == all_.frames) return;
        ctx.sync(full_warp<Ctx>);
        std::uint32_t* const words = all_.returned + std::uint64_t{warp_} * all_.returned_words();
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < seen_.unused; i += Ctx::warp_lanes) {
            const std::uint32_t index = shared_->frames[i];
            ctx.fetch_or(words + index / 32, std::uint32_t{1} << index % 32, order::relaxed, scope::device);
        }
        ctx.sync(full_warp<Ctx>);
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < all_.frames; i += Ctx::warp_lanes) {
            const std::uint32_t free = ctx.load(words + i / 32, order::relaxed, scope::device);
            if ((free >> i % 32 & 1) == 0) each(all_.frame(warp_, i));
        }
    }

private:
    /// One of the words, as the warp has seen it and as lanes share it.
    template <class Ctx>
    static LANEWAY_FN void set(Ctx& ctx, std::uint32_t& seen, std::uint32_t& shared, std::uint32_t value) {
        seen = value;
        if (ctx.lane() == 0) shared = value;
    }

    const channel_stacks_ref& all_;
    bool keeps_;
    warp_stack_shared* shared_;
    std::uint32_t warp_;
    std::uint32_t* tags_;
    std::byte* slots_;
    std::uint32_t bottom_ = 0;  ///< position of the lowest element
    warp_stack_words seen_;     ///< as the warp has left them
    std::uint32_t space_;       ///< elements that lanes may produce; the rest is for what is put back
};

}  // namespace laneway
