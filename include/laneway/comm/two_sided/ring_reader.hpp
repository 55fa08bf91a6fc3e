// Reading a shard's rings: which ticket is next, what has come in before its turn, and which slots hold what waits.
#pragma once

#include "laneway/comm/two_sided/message_delivery.hpp"

namespace laneway {

/// Lanes at the start of the warp for which this holds, without a gap. The whole warp, together.
template <class Ctx>
[[nodiscard]] LANEWAY_FN int leading_lanes(Ctx& ctx, bool holds) {
    const lane_mask rest = full_warp<Ctx> & ~ctx.ballot(full_warp<Ctx>, holds);
    return rest == 0 ? Ctx::warp_lanes : Ctx::first_lane(rest);
}

/// Whoever has locked the shard uses it, but for what one lane may ask at any time, as it says there.
template <class Ctx>
class ring_reader {
public:
    LANEWAY_FN ring_reader(const two_sided_ref& view, const message_shard_ref& shard)
        : view_(view), shard_(shard), delivery_(view) {}

    /// The ticket to read next; that message has not been taken. Any lane, at any time.
    [[nodiscard]] LANEWAY_FN std::uint64_t next(Ctx& ctx, int source) const {
        return ring_progress::ticket_of(ctx.load(&shard_.read[source].next, order::relaxed, scope::device));
    }
    /// Whether that message has come. The same.
    [[nodiscard]] LANEWAY_FN bool has_come(Ctx& ctx, int source) const {
        const std::uint64_t ticket = next(ctx, source);
        return chunk_receiver::label_of(shard_.from[source].peek(ctx, ticket), ticket).bits != 0;
    }
    /// Whether the next message of a ring cannot come, as its slot holds what waits. Of any other slot it is about to
    /// come, as soon as it has been sent.
    [[nodiscard]] LANEWAY_FN bool is_held_up(Ctx& ctx, int source, std::uint64_t first) const {
        return ctx.load(shard_.kept + slot_number(shard_.from[source], source, first), order::relaxed, scope::device) !=
               0;
    }
    /// Whether a message has come behind one that cannot. One lane, at any time; it looks through rings that are held
    /// up, no others.
    [[nodiscard]] LANEWAY_FN bool is_any_past_kept_slots(Ctx& ctx) const {
        if (ctx.load(&shard_.state->kept_slots, order::relaxed, scope::device) == 0) return false;
        for (int source = 0; source < ctx.n_pes(); ++source) {
            const chunk_receiver& in = shard_.from[source];
            const std::uint64_t first = next(ctx, source);
            if (!is_held_up(ctx, source, first)) continue;
            for (std::uint64_t at = 0; at < in.n_slots; ++at) {
                const std::uint32_t taken =
                    ctx.load(shard_.taken + slot_number(in, source, first + at), order::relaxed, scope::device);
                const std::uint64_t ticket = first + at + std::uint64_t{taken} * in.n_slots;
                if (chunk_receiver::label_of(in.peek(ctx, ticket), ticket).bits != 0) return true;
            }
        }
        return false;
    }

    /// Lanes take from no ring any more without the lock. The whole warp, together, at the beginning of a turn.
    LANEWAY_FN void close_all(Ctx& ctx) const {
        const bool may_be_open = shard_.state->opened != 0;
        ctx.sync(full_warp<Ctx>);
        if (!may_be_open) return;
        for (int source = ctx.lane(); source < ctx.n_pes(); source += Ctx::warp_lanes) (void)close(ctx, source);
        if (ctx.lane() == 0) shard_.state->opened = 0;
        ctx.sync(full_warp<Ctx>);
    }
    /// They may again, from rings of which no message came before its turn. The same, at its end: ahead of the fence
    /// behind which the shard is given back.
    LANEWAY_FN void open_all(Ctx& ctx) const {
        for (int source = ctx.lane(); source < ctx.n_pes(); source += Ctx::warp_lanes) {
            if (shard_.read[source].overtaken == 0) open(ctx, source);
        }
        if (ctx.lane() == 0) shard_.state->opened = 1;
    }
    /// The same of one ring, by one lane. What its word was.
    LANEWAY_FN std::uint64_t close(Ctx& ctx, int source) const {
        // Partner: the compare-and-swap in direct_receive, which fails from now on. An acquire, as what a turn stores
        // next, and who takes without the lock looks at, has to come behind it.
        return ctx.fetch_and(&shard_.read[source].next, ~ring_progress::open, order::acquire, scope::device);
    }
    LANEWAY_FN void open(Ctx& ctx, int source) const {
        ctx.fetch_or(&shard_.read[source].next, ring_progress::open, order::relaxed, scope::device);
    }
    /// Whether rings may be open, once the shard is given back. Any lane.
    [[nodiscard]] LANEWAY_FN bool may_open() const {
        const matching_engine_ref& engine = shard_.engine;
        return !view_.rules.is_unordered() && !view_.rules.no_unexpected && engine.posted.length() == 0 &&
               engine.unexpected.length() == 0;
    }

    /// The ticket to read next: this one, or the first behind it that has not been taken before its turn. One lane.
    LANEWAY_FN void go_on(Ctx& ctx, const chunk_receiver& in, int source, std::uint64_t ticket) const {
        for (; taken_at(in, source, ticket) != 0; ++ticket) {
            set_taken(ctx, in, source, ticket, taken_at(in, source, ticket) - 1);
            --shard_.read[source].overtaken;
        }
        ctx.store(&shard_.read[source].next, ticket, order::relaxed, scope::device);
    }

    /// What is in the slot of a ticket: a message that suits; others, or what came in before its turn; or nothing as
    /// yet.
    enum class content { suits, other, nothing };

    /// A message in a slot that may come in before its turn and that `suits(message)`, and its ticket: a later one than
    /// this where the slot has been used anew, which counts where messages have no order. Each lane another.
    template <class Suits>
    LANEWAY_FN content find_in_slot(Ctx& ctx, const chunk_receiver& in, int source, std::uint64_t& ticket,
                                    incoming_message& message, const Suits& suits) const {
        const std::uint32_t taken = taken_at(in, source, ticket);
        if (taken != 0 && !view_.rules.is_unordered()) return content::other;
        ticket += std::uint64_t{taken} * in.n_slots;
        const chunk_label label = in.poll(ctx, ticket);
        if (label.bits == 0) return content::nothing;
        if (!is_shared(label)) {
            if (!delivery_.read(ctx, in, ticket, label, source, message)) return content::nothing;
            return suits(message) ? content::suits : content::other;
        }
        const std::uint32_t gone = taken_of_slot(in, source, ticket);
        for (std::uint32_t i = 0; i < label.messages(); ++i) {
            if ((gone >> i & 1) != 0) continue;
            delivery_.read_one(ctx, in, ticket, i, label.messages(), source, message);
            if (suits(message)) return content::suits;
        }
        return content::other;
    }

    /// Whether messages share the slot of a chunk.
    [[nodiscard]] static LANEWAY_FN bool is_shared(chunk_label label) {
        return label.bits != 0 && label.kind() == static_cast<std::uint32_t>(message_form::together);
    }
    /// Which of these have come in, a bit each.
    [[nodiscard]] LANEWAY_FN std::uint32_t taken_of_slot(const chunk_receiver& in, int source,
                                                         std::uint64_t ticket) const {
        return shard_.taken_of[slot_number(in, source, ticket)];
    }
    /// Some have come in, of so many. Whether those were the last: then the slot is free. One lane.
    LANEWAY_FN bool note_taken_of_slot(const chunk_receiver& in, int source, std::uint64_t ticket, std::uint32_t some,
                                       std::uint32_t sharing) const {
        std::uint32_t& gone = shard_.taken_of[slot_number(in, source, ticket)];
        const bool all = (gone | some) == lane_message::all_of(sharing);
        gone = all ? 0 : gone | some;
        return all;
    }
    /// Nobody knows what will come there, and it has its turn before what is behind it.
    [[nodiscard]] LANEWAY_FN bool ends_search(content seen) const {
        return seen == content::nothing && !view_.rules.is_unordered();
    }
    /// A message has come in before its turn. Its lane.
    LANEWAY_FN void note_taken(Ctx& ctx, int source, std::uint64_t ticket) const {
        const chunk_receiver& in = shard_.from[source];
        set_taken(ctx, in, source, ticket, taken_at(in, source, ticket) + 1);
        ++shard_.read[source].overtaken;
    }
    /// How many messages of a ticket's slot came in before their turn.
    [[nodiscard]] LANEWAY_FN std::uint32_t taken_at(const chunk_receiver& in, int source, std::uint64_t ticket) const {
        return shard_.read[source].overtaken == 0 ? 0 : shard_.taken[slot_number(in, source, ticket)];
    }
    /// Of all slots of the shard.
    [[nodiscard]] LANEWAY_FN std::uint64_t slot_number(const chunk_receiver& in, int source,
                                                       std::uint64_t ticket) const {
        return static_cast<std::uint64_t>(source) * in.n_slots + in.slot_of(ticket);
    }

private:
    /// Others look at it, see is_any_past_kept_slots. One lane.
    LANEWAY_FN void set_taken(Ctx& ctx, const chunk_receiver& in, int source, std::uint64_t ticket,
                              std::uint32_t taken) const {
        ctx.store(shard_.taken + slot_number(in, source, ticket), taken, order::relaxed, scope::device);
    }

    const two_sided_ref& view_;
    const message_shard_ref& shard_;
    message_delivery<Ctx> delivery_;
};

}  // namespace laneway
