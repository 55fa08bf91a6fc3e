// The ticketed chunk ring: one direction between two PEs.
//
// Many warps of the source send, warps of the destination receive. Every shared word has one writing PE, so no remote
// atomic is needed: a slot's flag and payload are written by the source, its credit by the destination. Tickets are
// drawn from a counter in the source's own memory; ticket t uses slot t mod n_slots, a power of two. Slots are filled
// and drained independently: the ring keeps no order between chunks.
//
// A chunk of a few small messages travels in tagged words, beside its slot, where the ring has such
// words: it needs no fence, and the destination reads it with one load.
//
// Flags and credits bear the whole ticket. A word bears its lower 32 bits, and lies there until a chunk in words needs
// it again: it could be 2^32 tickets old, or never written where the tag is 0. So once in words_period tickets the
// destination renews all words of a slot, after its last read and before it frees the slot (docs/design/0058).
#pragma once

#include "laneway/queue/tagged_words.hpp"
#include "laneway/simt/group.hpp"
#include "laneway/simt/wait.hpp"

namespace laneway {

inline constexpr std::uint32_t max_chunk_messages = 0xffff;
inline constexpr std::uint32_t max_chunk_kinds = 16;
inline constexpr std::uint32_t chunk_words = 16;  ///< that prove themselves, of a small chunk
/// Tickets in which the words of each slot are renewed once; a power of two.
inline constexpr std::uint64_t words_period = std::uint64_t{1} << 20;

/// Where the parts of one ring lie. Each pointer is valid on the side that the view belongs to.
struct chunk_ring_layout {
    std::byte* slots = nullptr;        ///< n_slots × slot_bytes, readable by the destination
    std::uint64_t* flags = nullptr;    ///< n_slots, see chunk_label::flag; beside the slots
    std::uint64_t* credits = nullptr;  ///< n_slots; ticket + 1 of the last chunk served there, readable by the source
    std::uint64_t* tail = nullptr;     ///< next ticket; source memory
    std::uint32_t n_slots = 0;         ///< a power of two
    std::uint32_t slot_bytes = 0;      ///< multiple of 16
    std::uint64_t* words = nullptr;    ///< n_slots × chunk_words for small chunks, beside the slots; null: none

    [[nodiscard]] LANEWAY_FN std::uint32_t slot_of(std::uint64_t ticket) const {
        return static_cast<std::uint32_t>(ticket) & (n_slots - 1);
    }
    [[nodiscard]] LANEWAY_FN std::byte* slot(std::uint64_t ticket) const {
        return slots + std::size_t{slot_of(ticket)} * slot_bytes;
    }
    /// Whether chunks can travel in words.
    [[nodiscard]] LANEWAY_FN bool has_words() const { return words != nullptr; }
    /// Names the chunk with this ticket to checked devices (simt/message_order.hpp).
    [[nodiscard]] LANEWAY_FN const void* place(std::uint64_t ticket) const { return flags + slot_of(ticket); }
    /// Whether words of the ticket's slot are renewed with this ticket: in the lap before the last one of a period.
    [[nodiscard]] LANEWAY_FN bool renews_words(std::uint64_t ticket) const {
        return ((ticket + 2 * std::uint64_t{n_slots}) & (words_period - 1)) < n_slots;
    }
    /// Whether they have been renewed before the ticket's slot is free: who sends words then stores behind that.
    [[nodiscard]] LANEWAY_FN bool has_renewed_words(std::uint64_t ticket) const {
        return ticket >= n_slots && renews_words(ticket - n_slots);
    }
};

/// What a chunk's flag says of it: `in_words << 20 | kind << 16 | messages`; 0 where nothing has arrived.
struct chunk_label {
    static constexpr int bits_used = 21;

    std::uint32_t bits = 0;

    static LANEWAY_FN chunk_label of(std::uint32_t messages, std::uint32_t kind, bool in_words = false) {
        return {(in_words ? 1u << 20 : 0) | kind << 16 | messages};
    }
    /// What a flag says.
    static LANEWAY_FN chunk_label in(std::uint64_t flag) {
        return {static_cast<std::uint32_t>(flag & ((std::uint64_t{1} << bits_used) - 1))};
    }
    [[nodiscard]] LANEWAY_FN std::uint32_t messages() const { return bits & max_chunk_messages; }
    [[nodiscard]] LANEWAY_FN std::uint32_t kind() const { return bits >> 16 & (max_chunk_kinds - 1); }
    [[nodiscard]] LANEWAY_FN bool in_words() const { return bits >> 20 != 0; }
    /// The flag of the chunk with this ticket.
    [[nodiscard]] LANEWAY_FN std::uint64_t flag(std::uint64_t ticket) const { return (ticket + 1) << bits_used | bits; }
    /// Whether a flag is of that chunk. Each lap writes it, so it does not matter that the highest bits are cut.
    [[nodiscard]] static LANEWAY_FN bool is_of(std::uint64_t flag, std::uint64_t ticket) {
        return ((ticket + 1) << bits_used ^ flag) >> bits_used == 0;
    }
    /// Whether it is of a chunk of a later lap: that one has been served.
    [[nodiscard]] static LANEWAY_FN bool is_behind(std::uint64_t flag, std::uint64_t ticket) {
        const std::uint64_t ahead = (flag >> bits_used << bits_used) - ((ticket + 1) << bits_used);
        return ahead != 0 && ahead >> 63 == 0;
    }
};

/// Whether a chunk of so many messages can travel in words.
template <class Message>
LANEWAY_FN constexpr bool fits_words(std::uint32_t messages) {
    return std::is_default_constructible_v<Message> && messages * tagged_words<Message> <= chunk_words;
}

/// The source's view of a ring. It does not give away where the words lie that the destination reads.
class chunk_sender : chunk_ring_layout {
public:
    using chunk_ring_layout::n_slots, chunk_ring_layout::slot_bytes;
    using chunk_ring_layout::slot, chunk_ring_layout::slot_of, chunk_ring_layout::has_words, chunk_ring_layout::place;

    chunk_sender() = default;
    LANEWAY_FN explicit chunk_sender(const chunk_ring_layout& layout) : chunk_ring_layout(layout) {}

    /// Draws a ticket and waits until its slot is free, calling `idle()` meanwhile. Called by exactly the lanes of the
    /// mask, together; all get the same answer. On ok `ticket` holds the place; it must be published, as a ticket that
    /// is never published blocks the ring.
    template <class Ctx, class Idle>
    [[nodiscard]] LANEWAY_FN status reserve(Ctx& ctx, lane_mask mask, int peer, std::uint64_t& ticket,
                                            Idle&& idle) const {
        ticket = once(ctx, mask, [&] { return draw(ctx); });
        return wait_together(
            ctx, mask, {operation::reserve_slot, peer, ticket}, [&] { return is_free(ctx, ticket); },
            static_cast<Idle&&>(idle));
    }

    /// The two halves of reserve, for one lane: draws a ticket, or the first of several, and tells whether the slot of
    /// one is free. Neither waits.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t draw(Ctx& ctx, std::uint64_t tickets = 1) const {
        return ctx.fetch_add(tail, tickets, order::relaxed, scope::device);
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool is_free(Ctx& ctx, std::uint64_t ticket) const {
        const std::uint64_t* const credit = credits + slot_of(ticket);
        if (ticket < n_slots) return ctx.load(credit, order::relaxed, scope::system) == 0;
        // Partner: chunk_receiver::release. The payload of the last lap has been read before we overwrite it.
        return has_come(ctx, credit, scope::system, [&](std::uint64_t seen) { return seen == free_at(ticket); });
    }

    /// The same by one load of an order that the caller chooses: acquire, or, for who sends words alone,
    /// tagged_load_order; renewed words are acquired all the same.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool is_free(Ctx& ctx, std::uint64_t ticket, order o) const {
        // Partner: chunk_receiver::release.
        const std::uint64_t* const credit = credits + slot_of(ticket);
        if (has_renewed_words(ticket)) return ctx.load(credit, order::acquire, scope::system) == free_at(ticket);
        return ctx.load(credit, o, scope::system) == free_at(ticket);
    }

    /// Both at once, for a lane in a hurry that sends words: looks at the slot of the `guess` while the ticket is on
    /// its way, and sets `words_free` where it was the right one and free, with no word renewed. An acquire would take
    /// as long as the load: words are atomics whose laps their tags tell apart, and GPUs store nothing before the
    /// branch that it hangs on.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t draw(Ctx& ctx, std::uint64_t guess, bool& words_free) const {
        const std::uint64_t ticket = draw(ctx);
        // Partner: chunk_receiver::release.
        const std::uint64_t credit = ctx.load(credits + slot_of(guess), tagged_load_order<Ctx>, scope::system);
        words_free = ticket == guess && credit == free_at(ticket) && !has_renewed_words(ticket);
        return ticket;
    }

    /// The ticket that is drawn next, as it seems. Any lane; does not wait.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t drawn(Ctx& ctx, order o = order::relaxed) const {
        return ctx.load(tail, o, scope::device);
    }
    /// Draws so many tickets from `next` on, unless another lane has drawn some meanwhile; then `next` is the one that
    /// is drawn next. Any lane; does not wait.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool try_draw(Ctx& ctx, std::uint64_t& next, std::uint64_t tickets) const {
        return ctx.compare_exchange(tail, next, next + tickets, order::relaxed, scope::device);
    }
    /// Whether the chunk with this ticket has been served. What its handlers have done is seen then. Any lane; does not
    /// wait.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN bool is_served(Ctx& ctx, std::uint64_t ticket) const {
        // Partner: chunk_receiver::release, also of a later lap.
        return ctx.load(credits + slot_of(ticket), order::acquire, scope::system) > ticket;
    }

    /// Makes the chunk visible. Called by exactly the lanes of the mask, which wrote the slot between them.
    template <class Ctx>
    LANEWAY_FN void publish(Ctx& ctx, lane_mask mask, std::uint64_t ticket, std::uint32_t messages,
                            std::uint32_t kind = 0) const {
        ctx.sync(mask);
        if (elected(ctx, mask)) {
            // Partner: chunk_receiver::poll. Cumulative over the other lanes' writes through the barrier.
            ctx.store(flags + slot_of(ticket), chunk_label::of(messages, kind).flag(ticket), order::release,
                      scope::system);
        }
    }

    /// The same for a chunk that fits words, which nobody wrote to the slot. `counted` of the elected lane: what an
    /// atomic has returned that others must see before the chunk; its highest bit is 0.
    template <class Ctx, class Message>
    LANEWAY_FN void publish_in_words(Ctx& ctx, lane_mask mask, std::uint64_t ticket, const Message* messages,
                                     std::uint32_t n, std::uint32_t kind, std::uint64_t counted) const {
        const auto stride = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
        for (auto i = static_cast<std::uint32_t>(rank_in(ctx, mask)); i < n; i += stride) {
            store_words(ctx, ticket, i, messages[i]);
        }
        ctx.sync(mask);
        if (elected(ctx, mask)) raise_flag(ctx, ticket, chunk_label::of(n, kind, true), counted);
    }

    /// The two halves of publish_in_words, for one lane: stores message i, and raises the flag when all are stored.
    template <class Ctx, class Message>
    LANEWAY_FN void store_words(Ctx& ctx, std::uint64_t ticket, std::uint32_t i, const Message& message) const {
        store_tagged(ctx, words + slot_of(ticket) * chunk_words + i * tagged_words<Message>,
                     static_cast<std::uint32_t>(ticket + 1), message, Ctx::tagged_order);
    }
    template <class Ctx>
    LANEWAY_FN void raise_flag(Ctx& ctx, std::uint64_t ticket, chunk_label label, std::uint64_t counted) const {
        // Partner: chunk_receiver::poll. The flag is made of the count, so it is not stored before that has come.
        ctx.store(flags + slot_of(ticket), label.flag(ticket) | counted >> 63, Ctx::tagged_order, scope::system);
    }

private:
    /// The credit of a slot that is free for this ticket.
    [[nodiscard]] LANEWAY_FN std::uint64_t free_at(std::uint64_t ticket) const {
        return ticket < n_slots ? 0 : ticket - n_slots + 1;
    }
};

/// The destination's view of a ring: the same.
class chunk_receiver : chunk_ring_layout {
public:
    using chunk_ring_layout::n_slots, chunk_ring_layout::slot_bytes;
    using chunk_ring_layout::slot, chunk_ring_layout::slot_of, chunk_ring_layout::has_words, chunk_ring_layout::place;

    chunk_receiver() = default;
    LANEWAY_FN explicit chunk_receiver(const chunk_ring_layout& layout) : chunk_ring_layout(layout) {}

    /// Label of the chunk with this ticket, 0 while it has not arrived (an empty chunk is never sent). Any lane; does
    /// not wait. The caller owns the ticket: tickets are shared out among the receiving warps beforehand, or claimed.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN chunk_label poll(Ctx& ctx, std::uint64_t ticket) const {
        return poll(ctx, ticket, peek(ctx, ticket));
    }
    /// The two halves of it, for who looks at several places at once: what the flag of the ticket's slot says, which
    /// orders nothing; and what follows from that.
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint64_t peek(Ctx& ctx, std::uint64_t ticket) const {
        return ctx.load(flags + slot_of(ticket), order::relaxed, scope::system);
    }
    template <class Ctx>
    [[nodiscard]] LANEWAY_FN chunk_label poll(Ctx& ctx, std::uint64_t ticket, std::uint64_t seen) const {
        const chunk_label label = label_of(seen, ticket);
        if (label.bits == 0 || label.in_words()) return label;  // the words are loaded with acquire
        // Partner: chunk_sender::publish. Acquired only on arrival, as in has_come.
        if constexpr (acquires_by_fence<Ctx>) {
            ctx.fence(order::acquire, scope::system);
            return label;
        }
        return label_of(ctx.load(flags + slot_of(ticket), order::acquire, scope::system), ticket);
    }
    /// What a flag has said of the chunk with this ticket.
    [[nodiscard]] static LANEWAY_FN chunk_label label_of(std::uint64_t seen, std::uint64_t ticket) {
        if (!chunk_label::is_of(seen, ticket)) return {};
        return chunk_label::in(seen);
    }

    /// The first messages, of a word each, in the words of the ticket's slot, and how many of them are of that ticket,
    /// up to the first that is not. Any lane; does not wait. On GPUs it orders nothing: a fence does, where they are.
    template <std::uint32_t Most, class Ctx>
    [[nodiscard]] LANEWAY_FN std::uint32_t peek_words(Ctx& ctx, std::uint64_t ticket,
                                                      std::uint64_t (&messages)[Most]) const {
        constexpr order o = acquires_by_fence<Ctx> ? order::relaxed : order::acquire;
        const std::uint64_t* const from = words + slot_of(ticket) * chunk_words;
        std::uint64_t seen[2 * Most];
        // Partner: the stores of store_words.
        for (std::uint32_t i = 0; i < 2 * Most; ++i) seen[i] = ctx.load(from + i, o, scope::system);
        std::uint32_t whole = 0;
        for (std::uint32_t i = 0; i < Most; ++i) {
            messages[i] = (seen[2 * i] & 0xffff'ffff) | seen[2 * i + 1] << 32;
            const auto tag = static_cast<std::uint32_t>(ticket + 1);
            const bool here = seen[2 * i] >> 32 == tag && seen[2 * i + 1] >> 32 == tag;
            whole += here && whole == i ? 1 : 0;
        }
        return whole;
    }

    /// Message i of the chunk with this ticket, which has arrived in words. Any lane. Waits for words that are still on
    /// their way; false when the run ends.
    template <class Ctx, class Message>
    [[nodiscard]] LANEWAY_FN bool load_words(Ctx& ctx, std::uint64_t ticket, std::uint32_t i, Message& message) const {
        const std::uint64_t* from = words + slot_of(ticket) * chunk_words + i * tagged_words<Message>;
        const status here = wait_until(ctx, {operation::serve, -1, ticket}, [&] {
            return load_tagged(ctx, from, static_cast<std::uint32_t>(ticket + 1), message, order::acquire);
        });
        return here == status::ok;
    }

    /// The first `n` of these messages, of a word each, at once: all loads are on their way before the first word is
    /// looked at, and on GPUs one fence stands for an acquire of each. The same.
    template <std::uint32_t Most, class Ctx>
    [[nodiscard]] LANEWAY_FN bool load_words(Ctx& ctx, std::uint64_t ticket, std::uint32_t n,
                                             std::uint64_t (&messages)[Most]) const {
        const std::uint64_t* const from = words + slot_of(ticket) * chunk_words;
        const auto tag = static_cast<std::uint32_t>(ticket + 1);
        const status here = wait_until(ctx, {operation::serve, -1, ticket}, [&] {
            std::uint64_t seen[2 * Most];
            // Partner: the stores of store_words.
            for (std::uint32_t i = 0; i < 2 * Most; ++i) {
                seen[i] = i < 2 * n ? ctx.load(from + i, before_fence<Ctx>, scope::system) : std::uint64_t{tag} << 32;
            }
            std::uint32_t differs = 0;
            for (std::uint32_t i = 0; i < 2 * Most; ++i) differs |= static_cast<std::uint32_t>(seen[i] >> 32) ^ tag;
            for (std::uint32_t i = 0; i < Most; ++i) {
                messages[i] = (seen[2 * i] & 0xffff'ffff) | seen[2 * i + 1] << 32;
            }
            return differs == 0;
        });
        shared_fence(ctx, order::acquire, scope::system);
        return here == status::ok;
    }

    /// Frees the slot. Called by exactly the lanes of the mask, after their last read of it.
    template <class Ctx>
    LANEWAY_FN void release(Ctx& ctx, lane_mask mask, std::uint64_t ticket) const {
        ctx.sync(mask);
        renew_words(ctx, mask, ticket);
        if (elected(ctx, mask)) {
            // Partner: chunk_sender::reserve and quiet.
            ctx.store(credits + slot_of(ticket), ticket + 1, order::release, scope::system);
        }
    }

    /// Part of release, for who frees slots in another way: gives all words of the slot the tag of this ticket, if
    /// that is due. Nobody reads or writes them until the slot is free. Called by exactly the lanes of the mask, after
    /// they have met behind their last read.
    template <class Ctx>
    LANEWAY_FN void renew_words(Ctx& ctx, lane_mask mask, std::uint64_t ticket) const {
        if (words == nullptr || !renews_words(ticket)) return;
        const auto stride = static_cast<std::uint32_t>(Ctx::count_lanes(mask));
        std::uint64_t* const mine = words + slot_of(ticket) * chunk_words;
        for (auto i = static_cast<std::uint32_t>(rank_in(ctx, mask)); i < chunk_words; i += stride) {
            // Partner: the load in load_words, of a lap that must not take what stood there for its own.
            ctx.store(mine + i, std::uint64_t{static_cast<std::uint32_t>(ticket + 1)} << 32, order::relaxed,
                      scope::system);
        }
        ctx.sync(mask);
    }

    /// release without an order of its own: behind a fence that the elected lane has made after the last read; or of
    /// a chunk that came in words, in a ring where a relaxed look at the credit is enough for the next one in words
    /// (chunk_sender::is_free, docs/design/0085).
    template <class Ctx>
    LANEWAY_FN void release_relaxed(Ctx& ctx, lane_mask mask, std::uint64_t ticket) const {
        if (renews_words(ticket)) return release(ctx, mask, ticket);  // new words come before the credit
        ctx.sync(mask);
        if (elected(ctx, mask)) ctx.store(credits + slot_of(ticket), ticket + 1, Ctx::tagged_order, scope::system);
    }
};

}  // namespace laneway
