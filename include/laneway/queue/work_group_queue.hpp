// The work-group queue: from all lanes of one PE to a few threads of the host.
//
// After Gravel's producer/consumer queue (Orr 2016, ch. 5.2 and A.2): lanes that arrive together share one slot, which
// holds their messages as a two-dimensional array. Word f of the message in column c stands at [f][c], so a warp's
// stores fill whole sectors and the host reads rows. One ticket and one flag serve the whole group. Unlike Gravel's,
// the queue needs no atomics between host and device: every shared word has one writer. The PE writes slots and flags,
// the host threads write how much they have served, tickets are drawn in the PE's own memory.
//
// A line is a residue of the tickets, with slots of its own, and belongs to one host thread. Ticket t is number
// t / n_lines of line t mod n_lines.
#pragma once

#if !defined(__CUDACC_RTC__)
#include <cstring>
#endif

#include "laneway/simt/group.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

/// Where the parts of one queue lie; the same on both sides, as host-visible memory has one address.
struct work_group_layout {
    static constexpr std::size_t line_stride = destructive_bytes / sizeof(std::uint64_t);

    std::byte* slots = nullptr;       ///< host-visible, n_lines << log2_slots of slot_bytes; written by the PE
    std::uint64_t* flags = nullptr;   ///< host-visible, one a slot: (ticket + 1) << 16 | messages; written by the PE
    std::uint64_t* served = nullptr;  ///< host-visible, one a line, line_stride apart; slots served, by its host thread
    std::uint64_t* known = nullptr;   ///< PE memory, two a line: what lanes have seen of `served`; 1 while one looks
    std::uint64_t* tail = nullptr;    ///< PE memory; next ticket
    std::uint32_t n_lines = 1;
    std::uint32_t log2_slots = 0;  ///< of each line
    std::uint32_t columns = 1;     ///< messages that a slot holds, at most
    std::uint32_t slot_bytes = 0;

    /// Slots of all lines.
    [[nodiscard]] LANEWAY_FN std::size_t all_slots() const { return std::size_t{n_lines} << log2_slots; }
    [[nodiscard]] LANEWAY_FN std::uint32_t slot_of(std::uint32_t line, std::uint64_t turn) const {
        const std::uint32_t mask = (std::uint32_t{1} << log2_slots) - 1;
        return line << log2_slots | (static_cast<std::uint32_t>(turn) & mask);
    }
};

inline constexpr std::uint32_t max_group_messages = 0xffff;

/// How a message is cut into the words of its column.
template <class Message>
struct message_words {
    static_assert(trivially_copyable<Message>);
    using word = std::conditional_t<sizeof(Message) % sizeof(std::uint64_t) == 0, std::uint64_t, std::uint32_t>;
    static constexpr std::uint32_t count = (sizeof(Message) + sizeof(word) - 1) / sizeof(word);
};

/// A slot that a group owns from reserve() to publish().
struct column_position {
    std::uint64_t ticket = 0;
    std::uint64_t turn = 0;  ///< of the ticket on its line
    std::uint32_t line = 0;
    std::uint32_t slot = 0;
};

/// What the warps of a block tell each other in push_block; in shared memory, no start value needed.
struct group_state {
    std::uint32_t messages[32];  ///< of each warp
    std::uint32_t slot;
    status reserved;
};

/// The PE's view of a queue.
template <class Message>
class work_group_sender : public work_group_layout {
public:
    /// Hands messages to the host: the lanes that arrive at a queue together share a slot. Any lane, also in divergent
    /// code. Waits while the queue is full; fails with stopped, or timeout past the run's deadline.
    template <class Ctx>
    LANEWAY_FN status push(Ctx& ctx, const Message& message) const {
        const lane_mask group = mates(ctx, ctx.converged(), tail);
        column_position position;
        const status reserved = once(ctx, group, [&] { return reserve(ctx, position); });
        if (reserved != status::ok) return reserved;
        const std::uint32_t slot = ctx.shuffle(group, position.slot, Ctx::first_lane(group));
        write(slot, static_cast<std::uint32_t>(rank_in(ctx, group)), message);
        publish(ctx, group, position, static_cast<std::uint32_t>(Ctx::count_lanes(group)));
        return status::ok;
    }

    /// The same for a work-group: the `active` lanes of all warps of the block share one slot. All lanes of the block
    /// together; `columns` holds them all. Work-group-level semantics with an explicit predicate (Orr 2016, 5.3.1).
    template <class Ctx>
    LANEWAY_FN status push_block(Ctx& ctx, group_state* state, bool active, const Message& message) const {
        const lane_mask group = ctx.ballot(full_warp<Ctx>, active);
        if (ctx.lane() == 0) state->messages[ctx.warp()] = static_cast<std::uint32_t>(Ctx::count_lanes(group));
        ctx.sync_block();
        std::uint32_t before = 0;
        std::uint32_t total = 0;
        for (int warp = 0; warp < ctx.n_warps(); ++warp) {
            if (warp < ctx.warp()) before += state->messages[warp];
            total += state->messages[warp];
        }
        column_position position;
        const bool leads = ctx.warp() == 0 && ctx.lane() == 0;
        if (leads) {
            state->reserved = total == 0 ? status::ok : reserve(ctx, position);
            state->slot = position.slot;
        }
        ctx.sync_block();
        const status reserved = state->reserved;
        if (active && reserved == status::ok) {
            write(state->slot, before + static_cast<std::uint32_t>(rank_in(ctx, group)), message);
        }
        ctx.sync_block();
        if (leads && total > 0 && reserved == status::ok) publish(ctx, 1, position, total);
        return reserved;
    }

    /// Draws a ticket and waits until its slot is free, calling `idle()` meanwhile. One lane. On ok the place must be
    /// published: a ticket that never is blocks its line.
    template <class Ctx, class Idle>
    [[nodiscard]] LANEWAY_FN status reserve(Ctx& ctx, column_position& position, Idle&& idle) const {
        position.ticket = ctx.fetch_add(tail, 1, order::relaxed, scope::device);
        position.turn = position.ticket / n_lines;
        position.line = static_cast<std::uint32_t>(position.ticket - position.turn * n_lines);
        position.slot = slot_of(position.line, position.turn);
        return wait_until(
            ctx, {operation::host_slot, -1, position.ticket}, [&] { return is_free(ctx, position); },
            static_cast<Idle&&>(idle));
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN status reserve(Ctx& ctx, column_position& position) const {
        return reserve(ctx, position, [] {});
    }

    /// Writes one column of a reserved slot. Any lane; a column has one writer.
    LANEWAY_FN void write(std::uint32_t slot, std::uint32_t column, const Message& message) const {
        using words = message_words<Message>;
        typename words::word cut[words::count] = {};
        memcpy(cut, &message, sizeof(Message));
        auto* first = reinterpret_cast<typename words::word*>(slots + std::size_t{slot} * slot_bytes) + column;
        for (std::uint32_t f = 0; f < words::count; ++f) first[std::size_t{f} * columns] = cut[f];
    }

    /// Makes columns 0 to messages − 1 visible to the host, at least one. Exactly the lanes of the mask, which wrote
    /// them, or have met those that did at a barrier; the elected one knows the position.
    template <class Ctx>
    LANEWAY_FN void publish(Ctx& ctx, lane_mask mask, const column_position& position, std::uint32_t messages) const {
        ctx.sync(mask);
        if (elected(ctx, mask)) {
            // Partner: work_group_receiver::peek. Cumulative over the other lanes' writes through the barrier.
            ctx.store(flags + position.slot, (position.ticket + 1) << 16 | messages, order::release, scope::system);
        }
    }

    /// Whether the host has served this position; what it wrote for the group is visible afterwards. One lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool is_served(Ctx& ctx, const column_position& position) const {
        return has_served(ctx, position.line, position.turn + 1);
    }

private:
    template <class Ctx>
    LANEWAY_FN bool is_free(Ctx& ctx, const column_position& position) const {
        // The host has read the last lap before we overwrite it.
        const std::uint64_t lap = std::uint64_t{1} << log2_slots;
        return position.turn < lap || has_served(ctx, position.line, position.turn - lap + 1);
    }

    /// Whether the host has served `count` slots of the line. Reads over PCIe are slow, and many of one word slow down
    /// its writer: of all lanes that wait for a line one at a time looks at the host's word, and tells the others.
    template <class Ctx>
    LANEWAY_FN bool has_served(Ctx& ctx, std::uint32_t line, std::uint64_t count) const {
        std::uint64_t* seen = known + line * line_stride;
        std::uint64_t* looking = seen + 1;
        // Partner: the release store of `seen` below, after another lane's look.
        if (ctx.load(seen, order::acquire, scope::device) >= count) return true;
        if (ctx.load(looking, order::relaxed, scope::device) != 0) return false;
        // Partner: the release store of `looking` below. So `seen` only ever grows.
        if (ctx.exchange(looking, 1, order::acquire, scope::device) != 0) return false;
        // Partner: work_group_receiver::release.
        const std::uint64_t now = ctx.load(served + line * line_stride, order::acquire, scope::system);
        ctx.store(seen, now, order::release, scope::device);
        ctx.store(looking, 0, order::release, scope::device);
        return now >= count;
    }
};

}  // namespace laneway
