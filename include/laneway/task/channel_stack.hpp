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

/// In the memory of a block, for each of its warps.
struct warp_stack_shared {
    std::uint32_t top;     ///< position behind the highest element
    std::uint32_t ready;   ///< continuations in `next`
    std::uint32_t unused;  ///< frames in `frames`
    std::uint32_t closed;  ///< continuations in `parents`, and those for which there was no room
    std::byte* parents[channel_stacks_ref::max_closed];
    ready_frame next[64];  ///< a warp runs some as soon as they fill it, and each of its lanes ends one at a time
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
    LANEWAY_FN void open(Ctx& ctx) const {
        constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < all_.frames; i += lanes) {
            shared_->frames[i] = static_cast<std::uint16_t>(all_.frames - 1 - i);
        }
        if (ctx.lane() == 0) {
            shared_->top = shared_->ready = shared_->closed = 0;
            shared_->unused = all_.frames;
        }
        ctx.sync(full_warp<Ctx>);
    }

    // Any lanes, also in divergent code.

    /// Takes `n` slots for the lane, from position `first` on; false where they are not left. What fails takes them as
    /// well, until the lanes are through: see reclaim.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool reserve(Ctx& ctx, std::uint32_t n, std::uint32_t& first) const {
        first = ctx.fetch_add(&shared_->top, n, order::relaxed, scope::block);
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
        const std::uint32_t left = ctx.fetch_add(&shared_->unused, ~std::uint32_t{0}, order::relaxed, scope::block);
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
        shared_->next[ctx.fetch_add(&shared_->ready, 1u, order::relaxed, scope::block) % 64] = {tag, place};
    }

    /// A child of a continuation that others may see has ended; false where there is no room to tell of it later.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool note_closed(Ctx& ctx, std::byte* parent) const {
        if (all_.frames == 0) return false;
        const std::uint32_t at = ctx.fetch_add(&shared_->closed, 1u, order::relaxed, scope::block);
        if (at >= channel_stacks_ref::max_closed) return false;
        shared_->parents[at] = parent;
        return true;
    }

    // The whole warp, together, while none of its lanes runs an element.

    /// How many are to be told of.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t n_closed(Ctx& ctx) const {
        if (all_.frames == 0) return 0;
        const std::uint32_t noted =
            once(ctx, full_warp<Ctx>, [&] { return ctx.load(&shared_->closed, order::relaxed, scope::block); });
        return noted < channel_stacks_ref::max_closed ? noted : channel_stacks_ref::max_closed;
    }
    [[nodiscard]] LANEWAY_FN std::byte* closed(std::uint32_t i) const { return shared_->parents[i]; }
    template <class Ctx>
    LANEWAY_FN void clear_closed(Ctx& ctx) const {
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) ctx.store(&shared_->closed, 0u, order::relaxed, scope::block);
        ctx.sync(full_warp<Ctx>);
    }

    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t size(Ctx& ctx) const {
        return once(ctx, full_warp<Ctx>, [&] { return ctx.load(&shared_->top, order::relaxed, scope::block); }) -
               bottom_;
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t n_ready(Ctx& ctx) const {
        return once(ctx, full_warp<Ctx>, [&] { return ctx.load(&shared_->ready, order::relaxed, scope::block); });
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t bottom() const { return bottom_; }
    /// The elements below `position` are gone.
    LANEWAY_FN void set_bottom(std::uint32_t position) { bottom_ = position; }
    /// The lanes have run: gives back what failed to get slots or frames had taken. `end`: behind the last slot of this
    /// lane; the stack's top before, where it has none.
    template <class Ctx>
    LANEWAY_FN void reclaim(Ctx& ctx, std::uint32_t end) const {
        if (size(ctx) > space_) {
            const std::uint64_t most = ~warp_min(ctx, ~std::uint64_t{end - bottom_});
            set_top(ctx, bottom_ + static_cast<std::uint32_t>(most));
        }
        if (ctx.lane() == 0 && static_cast<std::int32_t>(shared_->unused) < 0) shared_->unused = 0;
        ctx.sync(full_warp<Ctx>);
    }
    template <class Ctx>
    LANEWAY_FN void set_top(Ctx& ctx, std::uint32_t position) const {
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) ctx.store(&shared_->top, position, order::relaxed, scope::block);
        ctx.sync(full_warp<Ctx>);
    }
    /// Takes up to one continuation for each lane; returns how many, and lanes below that get one.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t pop_ready(Ctx& ctx, ready_frame& mine) const {
        constexpr auto lanes = static_cast<std::uint32_t>(Ctx::warp_lanes);
        const std::uint32_t all = n_ready(ctx);
        const std::uint32_t count = all < lanes ? all : lanes;
        if (static_cast<std::uint32_t>(ctx.lane()) < count) {
            mine = shared_->next[all - count + static_cast<std::uint32_t>(ctx.lane())];
        }
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) ctx.store(&shared_->ready, all - count, order::relaxed, scope::block);
        ctx.sync(full_warp<Ctx>);
        return count;
    }
    /// The frames at the places of lanes that are `mine` are free.
    template <class Ctx>
    LANEWAY_FN void free_frames(Ctx& ctx, bool mine, std::uint32_t place) const {
        const std::uint32_t owner = place >> ready_frame::frame_bits;
        const std::uint32_t index = place % (1u << ready_frame::frame_bits);
        if (mine && owner != warp_) {
            // Partner: the acquire exchange in collect_frames.
            ctx.fetch_or(all_.returned + std::uint64_t{owner} * all_.returned_words() + index / 32,
                         std::uint32_t{1} << index % 32, order::release, scope::device);
        }
        const lane_mask own = ctx.ballot(full_warp<Ctx>, mine && owner == warp_);
        const std::uint32_t unused = shared_->unused;
        ctx.sync(full_warp<Ctx>);
        if (mine && owner == warp_) {
            shared_->frames[unused + static_cast<std::uint32_t>(rank_in(ctx, own))] = static_cast<std::uint16_t>(index);
        }
        if (ctx.lane() == 0) shared_->unused = unused + static_cast<std::uint32_t>(Ctx::count_lanes(own));
        ctx.sync(full_warp<Ctx>);
    }
    /// Takes back the frames that other warps have freed.
    template <class Ctx>
    LANEWAY_FN void collect_frames(Ctx& ctx) const {
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
            const std::uint32_t end = shared_->unused + inclusive_scan(ctx, full_warp<Ctx>, count);
            for (std::uint32_t i = end - count; bits != 0; bits &= bits - 1, ++i) {
                shared_->frames[i] =
                    static_cast<std::uint16_t>(32 * w + static_cast<std::uint32_t>(Ctx::first_lane(bits)));
            }
            ctx.sync(full_warp<Ctx>);
            if (ctx.lane() == Ctx::warp_lanes - 1) shared_->unused = end;
            ctx.sync(full_warp<Ctx>);
        }
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t unused_frames() const { return shared_->unused; }
    /// Calls `each(frame)` for the frames that are in use, on any of the lanes. At the end, as the words of frames that
    /// other warps have freed mark all that are free from then on.
    template <class Ctx, class Each>
    LANEWAY_FN void each_used_frame(Ctx& ctx, Each&& each) const {
        collect_frames(ctx);
        if (shared_->unused == all_.frames) return;
        std::uint32_t* const words = all_.returned + std::uint64_t{warp_} * all_.returned_words();
        for (auto i = static_cast<std::uint32_t>(ctx.lane()); i < shared_->unused; i += Ctx::warp_lanes) {
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
    const channel_stacks_ref& all_;
    bool keeps_;
    warp_stack_shared* shared_;
    std::uint32_t warp_;
    std::uint32_t* tags_;
    std::byte* slots_;
    std::uint32_t bottom_ = 0;  ///< position of the lowest element
    std::uint32_t space_;       ///< elements that lanes may produce; the rest is for what is put back
};

}  // namespace laneway
