// Items for which none of a PE's queues has room: a thread of the host keeps them until lanes ask for them.
//
// What goes there is a message in a work-group queue to the host (queue/work_group_queue.hpp), and so is the wish to
// have some of it back. A lane waits only for that thread, which waits for nobody: so a handler may put as well. One
// warp of the PE at a time takes; where nothing is left of what was given last, it asks for those that came last. A
// queue to the host has one line, so it carries what is put before it carries a wish for it: what lanes may ask for is
// counted only when it has a ticket.
#pragma once

#include "laneway/flow/item_entry.hpp"
#include "laneway/queue/work_group_queue.hpp"

namespace laneway {

/// What lanes tell the host's thread.
template <class Entry>
struct overflow_message {
    Entry entry;
    std::uint32_t wanted;  ///< 0: the entry is to be kept; else so many are to be given back
};

/// Entries that the host gives back at once, at most. What it has given lanes take without it.
inline constexpr std::uint32_t max_given = 256;

/// The lanes' side, in PE memory.
struct item_overflow_words {
    item_queue_words entries;  ///< of its channel words `ready` and `dispatched`: that were put, and taken
    alignas(destructive_bytes) std::uint32_t taking = 0;  ///< 1 while a warp does, which alone changes what follows
    std::uint64_t given_from = 0;                         ///< of what was given last: the number of its first entry,
    std::uint64_t given_to = 0;                           ///< and that behind its last one
    const std::byte* given = nullptr;                     ///< host-visible, max_given entries; written by the host
    work_group_layout to_host;
    std::uint64_t max_items = 0;  ///< that the host keeps

    /// Entries that the host keeps, or has given and nobody has taken. Any lane.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t count(Ctx& ctx) const {
        return ready_in(ctx, entries.channel).count;
    }

    /// Has the host keep an entry. Any lane, also in a handler. Waits while the queue to the host is full; fails with
    /// stopped or timeout when the run ends.
    template <class Ctx, class Entry>
    LANEWAY_FN status put(Ctx& ctx, const Entry& entry) {
        const status sent = queue<Entry>().push(ctx, {entry, 0});
        // Partner: the load in ready_to. The ticket has been drawn, so that of a wish for this entry is a later one.
        if (sent == status::ok) ctx.fetch_add(&entries.channel.ready, 1, order::release, scope::device);
        return sent;
    }

    /// Takes entries for the lowest lanes of the warp, and returns for how many; none while another warp does. May wait
    /// for the host. The whole warp, together.
    template <class Ctx, class Entry>
    LANEWAY_FN int take(Ctx& ctx, Entry& taken) {
        const std::uint32_t n = once(ctx, full_warp<Ctx>, [&] { return begin_taking<Ctx, Entry>(ctx); });
        if (n == 0) return 0;
        ctx.sync(full_warp<Ctx>);  // what the elected lane acquired is visible to all
        const std::uint64_t next = ctx.load(&entries.channel.dispatched, order::relaxed, scope::device);
        if (static_cast<std::uint32_t>(ctx.lane()) < n) {
            taken = reinterpret_cast<const Entry*>(given)[next - given_from + static_cast<unsigned>(ctx.lane())];
        }
        ctx.sync(full_warp<Ctx>);
        if (ctx.lane() == 0) {
            ctx.store(&entries.channel.dispatched, next + n, order::relaxed, scope::device);
            end_taking(ctx);
        }
        return static_cast<int>(n);
    }

private:
    template <class Entry>
    [[nodiscard]] LANEWAY_FN work_group_sender<overflow_message<Entry>> queue() const {
        work_group_sender<overflow_message<Entry>> made;
        static_cast<work_group_layout&>(made) = to_host;
        return made;
    }

    /// The end of what the run may take so far.
    template <class Ctx>
    LANEWAY_FN std::uint64_t ready_to(Ctx& ctx) const {
        // Partner: the addition in put.
        const std::uint64_t ready = ctx.load(&entries.channel.ready, order::acquire, scope::device);
        return ready < entries.end ? ready : entries.end;
    }

    /// Sees to it that the host has given something; of how much of it the warp takes its part, which ends the taking.
    /// One lane.
    template <class Ctx, class Entry>
    LANEWAY_SLOW std::uint32_t begin_taking(Ctx& ctx) {
        const std::uint64_t seen = ctx.load(&entries.channel.dispatched, order::relaxed, scope::device);
        if (ready_to(ctx) <= seen || ctx.load(&taking, order::relaxed, scope::device) != 0) return 0;
        // Partner: end_taking. Nobody else takes, nor reads what was given, from here on.
        if (ctx.exchange(&taking, 1u, order::acquire, scope::device) != 0) return 0;
        const std::uint64_t next = ctx.load(&entries.channel.dispatched, order::relaxed, scope::device);
        const std::uint64_t there = ready_to(ctx) - next;
        if (there == 0) {
            end_taking(ctx);
            return 0;
        }
        // Where it fails the run ends, and the host may have given what nobody takes: nobody asks again.
        if (next == given_to && !ask<Ctx, Entry>(ctx, next, there)) return 0;
        const std::uint64_t left = given_to - next;
        return static_cast<std::uint32_t>(left < Ctx::warp_lanes ? left : Ctx::warp_lanes);
    }

    /// Has the host give entries, of so many. One lane.
    template <class Ctx, class Entry>
    LANEWAY_FN bool ask(Ctx& ctx, std::uint64_t next, std::uint64_t there) {
        const auto wanted = static_cast<std::uint32_t>(there < max_given ? there : max_given);
        const auto to = queue<Entry>();
        column_position position;
        if (to.reserve(ctx, position) != status::ok) return false;
        to.write(position.slot, 0, {{}, wanted});
        to.publish(ctx, lane_mask{1} << ctx.lane(), position, 1);
        const status waited =
            wait_until(ctx, {operation::host_answer, -1, position.ticket}, [&] { return to.is_served(ctx, position); });
        if (waited != status::ok) return false;
        given_from = next;
        given_to = next + wanted;
        return true;
    }

    template <class Ctx>
    LANEWAY_FN void end_taking(Ctx& ctx) {
        // Partner: the exchange in begin_taking.
        ctx.store(&taking, 0u, order::release, scope::device);
    }
};

}  // namespace laneway
